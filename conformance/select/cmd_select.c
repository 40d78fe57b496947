/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle select: what will vLLM run on this machine, and in which byte
 * order?  Selection is a pure function of the library with no backend to be
 * judged, so this command calls <mxoracle/select.h>.
 */
#include "base/cli.h"
#include "base/options.h"
#include "base/stop.h"
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
    int why, json, matrix, env, verbose, has_form;
    int asks;      /* a key of the question was given */
    int is_replay; /* an option of --cases was given */
    select_form form;
    const char *cases;
    const char *since;
    report_options reports; /* with --cases */
    double budget_s;        /* the same; 0: none */
} select_command;

static int usage(void)
{
    cli_say(
        "usage: mxoracle select --platform=NAME [--model=NAME] "
        "[KEY=VALUE]...\n"
        "       mxoracle select --cases=FILE.json\n"
        "Which MXFP4 backend will vLLM run, how are sizes padded, activations\n"
        "quantised and weights laid out?\n");
    options_help(OPTIONS_select, stdout);
    cli_say(
        "\nWhat takes a value may also be written as a key, tp=2 for --tp=2.\n"
        "Variables of vLLM are keys: VLLM_MXFP4_USE_MARLIN=1.\n\n"
        "Exit status: 0 a backend is chosen (or every case passed), 1 a case\n"
        "failed, 2 vLLM refuses or the question makes no sense.");
    return EXIT_PASS;
}

static int take_format(select_command *s, const char *value)
{
    static const char *const names[] = {"text", "markdown", "csv"};

    s->has_form = 1;
    for (int i = 0; i < 3; i++) {
        if (strcmp(names[i], value) == 0) {
            s->form = (select_form)i;
            return -1;
        }
    }
    return cli_refuse("--format=%s is none of text, markdown and csv", value);
}

static int take_report(select_command *s, report_form form, const char *path)
{
    s->is_replay |= form != REPORT_JSON || path != NULL;
    s->json |= form == REPORT_JSON && path == NULL;
    return report_option(&s->reports, form, path);
}

static int take_budget(select_command *s, const char *value)
{
    s->is_replay = 1;
    s->budget_s = stop_parse_budget(value);
    return s->budget_s > 0
               ? -1
               : cli_refuse("--budget=%s is no time such as 90s, 10m or 2h",
                            value);
}

/* -1 to go on; *is_own: it is an option of the command, no key. */
static int take_own(select_command *s, int code, const char *value, int *is_own)
{
    *is_own = 1;
    switch (code) {
    case OPT_select_why:
        s->why = 1;
        return -1;
    case OPT_select_tap:
        return take_report(s, REPORT_TAP, value);
    case OPT_select_json:
        return take_report(s, REPORT_JSON, value);
    case OPT_select_junit:
        return take_report(s, REPORT_JUNIT, value);
    case OPT_select_html:
        return take_report(s, REPORT_HTML, value);
    case OPT_select_budget:
        return take_budget(s, value);
    case OPT_select_matrix:
        s->matrix = 1;
        return -1;
    case OPT_select_env:
        s->env = 1;
        return -1;
    case OPT_select_format:
        return take_format(s, value);
    case OPT_select_cases:
        s->cases = value;
        return -1;
    case OPT_select_since:
        s->since = value;
        return -1;
    case OPT_select_verbose:
        s->verbose = 1;
        return -1;
    case OPT_select_help:
        return usage();
    default:
        *is_own = 0;
        return -1;
    }
}

static int take_key(select_command *s, const char *key, const char *value)
{
    char why[512] = "";

    s->asks = 1;
    return select_set(&s->q, key, value, (mxo_text){why, sizeof why}) == 0
               ? -1
               : cli_refuse("%s", why);
}

/* "KEY=VALUE" */
static int take_argument(select_command *s, const char *arg)
{
    char key[64] = "";
    char why[512] = "";
    const size_t n = strcspn(arg, "=");

    if (n >= sizeof key) {
        return cli_refuse("%.60s is not a key of select", arg);
    }
    memcpy(key, arg, n);
    if (select_knows(key, (mxo_text){why, sizeof why}) != 0) {
        return cli_refuse("%s", why);
    }
    return arg[n] == '=' ? take_key(s, key, arg + n + 1)
                         : cli_refuse("%s needs a value: %s=...", key, key);
}

/* -1 to go on. */
static int read_options(select_command *s, int argc, char **argv)
{
    char *value;
    int is_own;
    int status = -1;
    int code;

    options_start();
    while (status < 0 &&
           (code = options_next(OPTIONS_select, argc, argv, &value)) != -1) {
        status = code == '?' ? EXIT_USAGE : take_own(s, code, value, &is_own);
        if (status < 0 && !is_own) {
            status = take_key(s, options_id(code), value);
        }
    }
    for (int i = optind; status < 0 && i < argc; i++) {
        status = take_argument(s, argv[i]);
    }
    return status;
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

/* Changes by an upgrade. */
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

/* What would be passed over in silence; NULL: nothing. */
static const char *left_over(const select_command *s)
{
    if (s->cases != NULL) {
        return s->asks || s->matrix || s->since != NULL || s->why || s->env ||
                       s->has_form
                   ? "--cases=FILE asks what the file asks: it takes no "
                     "question"
                   : NULL;
    }
    if (s->is_replay || s->verbose) {
        return "reports, --verbose and --budget need --cases=FILE";
    }
    if (s->has_form && (!s->matrix || s->since != NULL)) {
        return "--format is of --matrix alone";
    }
    if (s->since != NULL && (s->matrix || s->json || s->why)) {
        return "--since takes no --matrix, --json or --why";
    }
    return s->matrix && (s->json || s->why)
               ? "--matrix takes no --json or --why; it has --format=csv"
               : NULL;
}

int cmd_select(int argc, char **argv)
{
    select_command s = {.form = SELECT_TEXT};
    char why[512] = "";

    select_question_init(&s.q);
    const int status = read_options(&s, argc, argv);

    if (status >= 0) {
        return status;
    }
    const char *const sentence = left_over(&s);

    if (sentence != NULL) {
        return cli_refuse("%s", sentence);
    }
    if (s.cases != NULL) {
        stop_after(s.budget_s);
        return report_options_check(&s.reports) == EXIT_PASS &&
                       report_options_spare(&s.reports, s.cases) == EXIT_PASS
                   ? select_replay(s.cases, s.verbose, &s.reports)
                   : EXIT_USAGE;
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
