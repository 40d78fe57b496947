/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle select: what will vLLM run on this machine, and in which byte
 * order?  Selection is a pure function of the library with no backend to be
 * judged, so this command calls <mxoracle/select.h>.
 */
#include "base/cli.h"
#include "select/cases.h"
#include "select/replay.h"
#include "select/report.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct select_command {
    select_question q;
    int why, json, matrix, env, verbose;
    select_form form;
    const char *cases;
    const char *since;
    report_options reports; /* with --cases */
    int has_file;
} select_command;

static const char help_text[] =
    "usage: mxoracle select --platform=NAME [--model=NAME] [KEY=VALUE]...\n"
    "       mxoracle select --cases=FILE.json\n"
    "\n"
    "Which MXFP4 backend will vLLM run, how are sizes padded, activations\n"
    "quantised and weights laid out?\n"
    "      --platform=NAME   h100, b200, mi355x, xeon, ... or cuda:9.0,\n"
    "                        rocm:gfx942, xpu, cpu, tpu\n"
    "      --model=NAME      gpt-oss-120b, gpt-oss-20b, gpt-oss,\n"
    "                        deepseek-v4, generic\n"
    "      --vllm=VERSION    oracle-2026-11 (v0.33.0, the default),\n"
    "                        oracle-2026-09 (v0.29.0), oracle-2026-07\n"
    "                        (v0.26.0), oracle-2026-05, oracle-2026-03,\n"
    "                        env-2025-08\n"
    "      --since=VERSION   what changed on the platform since that one\n"
    "      --why             each class that was asked, and the reason\n"
    "      --env             read the real environment\n"
    "      --json            the answer as JSON\n"
    "      --matrix          platforms by backends\n"
    "      --format=FORM     of --matrix: text, markdown or csv\n"
    "      --cases=FILE      replay a file like vllm/selection.json\n"
    "  -v, --verbose         with --cases: name every case\n"
    "      --tap[=F], --json[=F], --junit=F, --html=F  reports of --cases\n"
    "\n"
    "Every key is also an option (--tp=2) and a variable of vLLM a key\n"
    "(VLLM_MXFP4_USE_MARLIN=1). Keys:\n";

enum option_code {
    OPT_WHY = 256,
    OPT_JSON,
    OPT_MATRIX,
    OPT_ENV,
    OPT_FORMAT,
    OPT_CASES,
    OPT_TAP,
    OPT_JUNIT,
    OPT_HTML,
    OPT_SINCE
};

/* Options of the command itself; all others are keys. */
static const struct {
    const char *name;
    int code;
} own_options[] = {
    {"--why", OPT_WHY},       {"--json", OPT_JSON},
    {"--matrix", OPT_MATRIX}, {"--env", OPT_ENV},
    {"--help", 'h'},          {"-h", 'h'},
    {"--verbose", 'v'},       {"-v", 'v'},
    {"--format", OPT_FORMAT}, {"--cases", OPT_CASES},
    {"--tap", OPT_TAP},       {"--junit", OPT_JUNIT},
    {"--html", OPT_HTML},     {"--since", OPT_SINCE},
};

static void print_help(void)
{
    const char *key;
    int column = 0;

    (void)fputs(help_text, stdout);
    for (int i = 0; (key = select_key_help(i)) != NULL; i++) {
        column += (int)strlen(key) + 1;
        if (column > 74) {
            column = (int)strlen(key) + 1;
            (void)fputs("\n", stdout);
        }
        printf("%s%s", column == (int)strlen(key) + 1 ? "  " : " ", key);
    }
    puts("\n\nExit status: 0 a backend is chosen (or every case passed), 1 a "
         "case failed,\n2 vLLM refuses or the question makes no sense.");
}

static int take_format(select_command *s, const char *value)
{
    static const char *const names[] = {"text", "markdown", "csv"};

    for (int i = 0; i < 3; i++) {
        if (strcmp(names[i], value) == 0) {
            s->form = (select_form)i;
            return -1;
        }
    }
    return cli_refuse("--format=%s is none of text, markdown and csv", value);
}

static int take_own(select_command *s, int code, const char *value)
{
    switch (code) {
    case OPT_WHY:
        s->why = 1;
        return -1;
    case OPT_JSON:
        s->json = value == NULL;
        s->has_file |= value != NULL;
        return report_option(&s->reports, REPORT_JSON, value);
    case OPT_TAP:
        s->has_file = 1;
        return report_option(&s->reports, REPORT_TAP, value);
    case OPT_JUNIT:
        s->has_file = 1;
        return report_option(&s->reports, REPORT_JUNIT, value);
    case OPT_HTML:
        s->has_file = 1;
        return report_option(&s->reports, REPORT_HTML, value);
    case OPT_MATRIX:
        s->matrix = 1;
        return -1;
    case OPT_ENV:
        s->env = 1;
        return -1;
    case OPT_FORMAT:
        return take_format(s, value);
    case OPT_CASES:
        s->cases = value;
        return -1;
    case OPT_SINCE:
        s->since = value;
        return -1;
    case 'v':
        s->verbose = 1;
        return -1;
    default:
        print_help();
        return EXIT_PASS;
    }
}

static int wants_value(int code)
{
    return code == OPT_FORMAT || code == OPT_CASES || code == OPT_JUNIT ||
           code == OPT_HTML || code == OPT_SINCE;
}

static int may_have_value(int code)
{
    return code == OPT_JSON || code == OPT_TAP;
}

/* "--key=value", "--key value" or "KEY=VALUE" at argv[*i]. */
static int take_argument(select_command *s, int argc, char **argv, int *i)
{
    char key[64] = "";
    char why[512] = "";
    const char *arg = argv[*i];
    const size_t dashes = strspn(arg, "-");
    const size_t n = strcspn(arg, "=");
    const char *value = arg[n] == '=' ? arg + n + 1 : NULL;
    int code = 0;

    if (n >= sizeof key || dashes > 2) {
        return cli_refuse("%.60s is not an option of select", arg);
    }
    memcpy(key, arg, n);
    for (size_t k = 0; k < sizeof own_options / sizeof own_options[0]; k++) {
        code =
            strcmp(own_options[k].name, key) == 0 ? own_options[k].code : code;
    }
    if (may_have_value(code)) {
        return take_own(s, code, value);
    }
    if (code != 0 && !wants_value(code)) {
        return value == NULL ? take_own(s, code, NULL)
                             : cli_refuse("%s takes no value", key);
    }
    if (code == 0 &&
        select_knows(key + dashes, (mxo_text){why, sizeof why}) != 0) {
        return cli_refuse("%s", why);
    }
    if (value == NULL && dashes > 0 && *i + 1 < argc) {
        value = argv[++*i];
    }
    if (value == NULL) {
        return cli_refuse("%s needs a value: %s=...", key, key);
    }
    if (code != 0) {
        return take_own(s, code, value);
    }
    return select_set(&s->q, key + dashes, value,
                      (mxo_text){why, sizeof why}) == 0
               ? -1
               : cli_refuse("%s", why);
}

static void read_environment(mxo_select_config *c)
{
    for (int e = 1; e < MXO_SEL_N_ENV; e++) {
        if (c->env[e] == NULL) {
            c->env[e] = getenv(mxo_select_word(MXO_SEL_WORDS_ENV, e));
        }
    }
}

/* vLLM's own sentence, as Python would print it. */
static int refused(const select_command *s, const mxo_sel_failure *f)
{
    char text[4096];

    (void)mxo_select_failure_text(&s->q.config, f,
                                  (mxo_text){text, sizeof text});
    (void)fflush(stdout);
    return cli_refuse("vLLM raises %s: %s", mxo_select_error_type(f->error),
                      text);
}

static int decide(select_command *s)
{
    char why[512] = "";
    mxo_select_result r;
    select_page page = {&s->q, &r, 0, s->why, s->env};
    mxo_sel_failure f;

    if (!s->q.has_platform) {
        return cli_refuse("select needs --platform=NAME (h100, mi355x, "
                          "cuda:9.0, cpu, ...)");
    }
    if (select_finish(&s->q, (mxo_text){why, sizeof why}) != 0) {
        return cli_refuse("%s", why);
    }
    page.asked_hidden = s->q.config.hidden;
    s->q.config.hidden = mxo_select_comm_hidden(&s->q.config, &f);
    if (f.error != MXO_SEL_ERROR_NONE) {
        return refused(s, &f);
    }
    mxo_select(&s->q.config, &r);
    if (s->json) {
        select_print_json(&page);
        return r.failure.error == MXO_SEL_ERROR_NONE ? EXIT_PASS : EXIT_USAGE;
    }
    if (r.failure.error != MXO_SEL_ERROR_NONE && !s->why) {
        return refused(s, &r.failure);
    }
    select_print_text(&page);
    return r.failure.error == MXO_SEL_ERROR_NONE ? EXIT_PASS
                                                 : refused(s, &r.failure);
}

/* What an upgrade changes. */
static int compare(const select_command *s)
{
    char why[512] = "";
    const mxo_text text = {why, sizeof why};
    const int from = select_version(s->since, text);

    if (from >= 0 && !s->q.has_platform) {
        return cli_refuse("--since needs --platform=NAME");
    }
    return from >= 0 &&
                   select_print_since(&s->q, (mxo_sel_version)from, text) == 0
               ? EXIT_PASS
               : cli_refuse("%s", why);
}

int cmd_select(int argc, char **argv)
{
    select_command s = {.form = SELECT_TEXT};
    char why[512] = "";

    select_question_init(&s.q);
    for (int i = 1; i < argc; i++) {
        const int status = take_argument(&s, argc, argv, &i);
        if (status >= 0) {
            return status;
        }
    }
    if (s.cases != NULL) {
        return report_options_check(&s.reports) == EXIT_PASS
                   ? select_replay(s.cases, s.verbose, &s.reports)
                   : EXIT_USAGE;
    }
    if (s.has_file) {
        return cli_refuse("a report in a file needs --cases=FILE");
    }
    if (s.env) {
        read_environment(&s.q.config);
    }
    if (s.since != NULL) {
        return compare(&s);
    }
    if (!s.matrix) {
        return decide(&s);
    }
    return select_print_matrix(&s.q, s.form, (mxo_text){why, sizeof why}) == 0
               ? EXIT_PASS
               : cli_refuse("%s", why);
}
