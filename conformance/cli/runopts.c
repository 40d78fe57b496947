/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the options; see runopts.h. */
#include "runopts.h"

#include "base/cli.h"
#include "base/number.h"
#include "base/options.h"
#include "base/prng.h"
#include "base/stop.h"
#include "base/strbuf.h"
#include "judge/third_party_tolerances.h"
#include "run/mutant_device.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void print_help(option_group group, const char *usage)
{
    strbuf text = {NULL, 0, 0};

    strbuf_add(&text, "usage: mxoracle %s", usage);
    cli_say(strbuf_text(&text));
    strbuf_clear(&text);
    options_help(group, stdout);
    cli_say("\nA case is OP:key=value,...; \"mxoracle show OP\" explains "
            "the keys.");
}

static int take_seed(run_options *o, const char *text)
{
    struct timespec t;

    if (strcmp(text, "random") == 0) {
        (void)clock_gettime(CLOCK_REALTIME, &t);
        uint64_t mix = (uint64_t)t.tv_sec * 1000000007u + (uint64_t)t.tv_nsec;
        /* Short enough to be typed again. */
        o->seed = splitmix64(&mix) % 1000000000;
        return -1;
    }
    return number_option("seed", text, 0, RUN_MAX_SEED, &o->seed);
}

static int take_word(const char *what, const char *text,
                     const char *const words[], const int values[], int *value)
{
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            *value = values[i];
            return -1;
        }
    }
    return cli_refuse("--%s=%s is not known; mxoracle run --help lists the "
                      "choices",
                      what, text);
}

static int take_isolate(run_options *o, const char *text)
{
    static const char *const words[] = {"case", "batch", "none", NULL};
    static const int values[] = {ISOLATE_CASE, ISOLATE_BATCH, ISOLATE_NONE};
    int value = ISOLATE_AUTO;
    const int status = take_word("isolate", text, words, values, &value);

    o->pool.isolate = (isolation)value;
    return status;
}

static int take_symbols(run_options *o, const char *text)
{
    static const char *const words[] = {"local", "global", NULL};
    static const int values[] = {0, 1};

    return take_word("plugin-symbols", text, words, values, &o->global_symbols);
}

static int take_color(run_options *o, const char *text)
{
    static const char *const words[] = {"auto", "always", "never", NULL};
    static const int values[] = {0, 1, -1};

    return take_word("color", text, words, values, &o->color);
}

static int take_timeout(run_options *o, const char *text)
{
    if (!number_real(text, 0, 86400, &o->pool.timeout_s) ||
        o->pool.timeout_s == 0) {
        return cli_refuse("--timeout=%s is not a number of seconds up to "
                          "86400",
                          text);
    }
    return -1;
}

static int take_listed(char **list, int *n, int limit, const char *what,
                       char *text)
{
    if (*n == limit) {
        return cli_refuse("--%s is given more than %d times", what, limit);
    }
    list[(*n)++] = text;
    return -1;
}

/* "A..B" */
static int take_seeds(run_options *o, const char *text)
{
    const char *dots = strstr(text, "..");
    char first[32];
    uint64_t last;

    if (dots != NULL && (size_t)(dots - text) < sizeof first) {
        (void)snprintf(first, sizeof first, "%.*s", (int)(dots - text), text);
        if (number_natural(first, 0, RUN_MAX_SEED, &o->seed) &&
            number_natural(dots + 2, o->seed, o->seed + 999999, &last)) {
            o->repeat = last - o->seed + 1;
            o->has_seeds = 1;
            return -1;
        }
    }
    return cli_refuse("--seeds=%s is not A..B with A up to B, at most a "
                      "million",
                      text);
}

/* "K/N" */
static int take_shard(run_options *o, const char *text)
{
    uint64_t n[2];

    if (o->n_shards > 0) {
        return cli_refuse("--shard is given twice");
    }
    if (number_list(text, "/", 65536, n, 2) != 2 || n[0] < 1 || n[0] > n[1]) {
        return cli_refuse("--shard=%s is not K/N with K from 1 to N", text);
    }
    o->shard = n[0];
    o->n_shards = n[1];
    return -1;
}

static int take_budget(run_options *o, const char *text)
{
    o->budget_s = stop_parse_budget(text);
    return o->budget_s > 0
               ? -1
               : cli_refuse("--budget=%s is no time such as 90s, 10m or 2h",
                            text);
}

static int take_also(run_options *o, const char *text)
{
    char names[sizeof o->also] = "";

    if (tolerance_add(text, o->also, sizeof o->also)) {
        return -1;
    }
    (void)tolerance_add("all", names, sizeof names);
    return cli_refuse("--also-rule=%s is not known; there are %s", text, names);
}

/* Options that take a number. */
static int take_number(run_options *o, int code, const char *text)
{
    uint64_t n = 0;
    int status = -1;

    switch (code) {
    case OPT_run_level:
        status = number_option("level", text, 1, GRID_LEVELS, &n);
        o->level = (int)n;
        break;
    case OPT_run_repeat:
        o->has_repeat = 1;
        status = number_option("repeat", text, 1, 1000000, &o->repeat);
        break;
    case OPT_run_max_fail:
        status = number_option("max-fail", text, 0, UINT32_MAX, &o->max_fail);
        break;
    case OPT_run_device:
        status = number_option("device", text, 0, 1023, &n);
        o->pool.device = (int)n;
        break;
    case OPT_run_jobs:
        status = number_option("jobs", text, 1, 64, &n);
        o->pool.jobs = (int)n;
        break;
    case OPT_run_soak:
        status = number_option("soak", text, 0, 100000000, &n);
        o->pool.soak = (uint32_t)n;
        (void)snprintf(o->soak_option, sizeof o->soak_option, " --soak=%s",
                       text);
        break;
    default:
        o->has_seed = 1;
        status = take_seed(o, text);
        break;
    }
    return status;
}

/* Options that are switches. */
static int take_switch(run_options *o, int code)
{
    switch (code) {
    case OPT_run_verbose:
        o->verbose = 1;
        break;
    case OPT_run_quiet:
        o->verbose = -1;
        break;
    case OPT_run_canonical:
        o->canonical = 1;
        break;
    case OPT_run_strict:
        o->strict = 1;
        break;
    case OPT_run_allow_declines:
        o->allow_declines = 1;
        break;
    case OPT_run_vectors:
        o->vectors = 1;
        break;
    case OPT_run_fail_fast:
        o->fail_fast = 1;
        break;
    case OPT_run_list_ops:
        o->list = "ops";
        break;
    case OPT_run_list_backends:
        o->list = "backends";
        break;
    case OPT_run_list_devices:
        o->list = "devices";
        break;
    case OPT_run_list_cases:
        o->list = "cases";
        break;
    default: /* getopt has said why */
        return EXIT_USAGE;
    }
    return -1;
}

/* -b broken, and the device that is the mutant. */
static int take_mutant(run_options *o, const char *id)
{
    static char broken[] = "broken";
    const int device = mutant_device(id);

    if (device < 0) {
        return cli_refuse("--mutant=%s is not an id of selftest", id);
    }
    o->pool.device = device;
    return take_listed(o->backends, &o->n_backends, RUN_MAX_GLOBS, "backend",
                       broken);
}

/* Options that may be repeated. */
static int take_pattern(run_options *o, int code, char *text)
{
    switch (code) {
    case OPT_run_backend:
        return take_listed(o->backends, &o->n_backends, RUN_MAX_GLOBS,
                           "backend", text);
    case OPT_run_op:
        return take_listed(o->ops, &o->n_ops, RUN_MAX_GLOBS, "op", text);
    case OPT_run_exclude:
        return take_listed(o->excludes, &o->n_excludes, RUN_MAX_GLOBS,
                           "exclude", text);
    case OPT_run_plugin:
        return take_listed(o->plugins, &o->n_plugins, RUN_MAX_PLUGINS, "plugin",
                           text);
    case OPT_run_exec:
        return take_listed(o->commands, &o->n_commands, RUN_MAX_PLUGINS, "exec",
                           text);
    default:
        return take_listed(o->profiles, &o->n_profiles, RUN_MAX_GLOBS,
                           "profile", text);
    }
}

/* Options that name files. */
static int take_beside(run_options *o, const char *text)
{
    if (op_by_name(text) == NULL) {
        return cli_refuse("--beside=%s: there is no such operation (mxoracle "
                          "list names them)",
                          text);
    }
    (void)snprintf(o->pool.beside, sizeof o->pool.beside, "%s", text);
    (void)snprintf(o->beside_option, sizeof o->beside_option, " --beside=%s",
                   text);
    return -1;
}

static int take_path(run_options *o, int code, const char *text)
{
    switch (code) {
    case OPT_run_tap:
        return report_option(&o->reports, REPORT_TAP, text);
    case OPT_run_json:
        return report_option(&o->reports, REPORT_JSON, text);
    case OPT_run_junit:
        return report_option(&o->reports, REPORT_JUNIT, text);
    case OPT_run_html:
        return report_option(&o->reports, REPORT_HTML, text);
    case OPT_run_resume:
        return cli_take_once(&o->journal, "resume", text);
    case OPT_run_baseline:
        return cli_take_once(&o->baseline, "baseline", text);
    default:
        return cli_take_once(&o->save, "save", text);
    }
}

/* One option, by the row of run, or what shrink alone has. */
static int take(run_options *o, int code, char *text)
{
    switch (code) {
    case OPT_run_backend:
    case OPT_run_op:
    case OPT_run_exclude:
    case OPT_run_plugin:
    case OPT_run_exec:
    case OPT_run_profile:
        return take_pattern(o, code, text);
    case OPT_run_level:
    case OPT_run_repeat:
    case OPT_run_max_fail:
    case OPT_run_device:
    case OPT_run_jobs:
    case OPT_run_soak:
    case OPT_run_seed:
        return take_number(o, code, text);
    case OPT_run_tap:
    case OPT_run_json:
    case OPT_run_junit:
    case OPT_run_html:
    case OPT_run_resume:
    case OPT_run_baseline:
    case OPT_shrink_save:
        return take_path(o, code, text);
    case OPT_run_mutant:
        return take_mutant(o, text);
    case OPT_run_seeds:
        return take_seeds(o, text);
    case OPT_run_shard:
        return take_shard(o, text);
    case OPT_run_beside:
        return take_beside(o, text);
    case OPT_run_budget:
        return take_budget(o, text);
    case OPT_run_isolate:
        return take_isolate(o, text);
    case OPT_run_timeout:
        return take_timeout(o, text);
    case OPT_run_color:
        return take_color(o, text);
    case OPT_run_plugin_symbols:
        return take_symbols(o, text);
    case OPT_run_also_rule:
        return take_also(o, text);
    default:
        return take_switch(o, code);
    }
}

/* No report may replace a file that the run reads. */
static int check_inputs(const run_options *o)
{
    int status = report_options_spare(&o->reports, o->journal);

    if (status == EXIT_PASS) {
        status = report_options_spare(&o->reports, o->baseline);
    }
    for (int i = 0; status == EXIT_PASS && i < o->n_plugins; i++) {
        status = report_options_spare(&o->reports, o->plugins[i]);
    }
    for (int i = 0; status == EXIT_PASS && i < o->n_args; i++) {
        const char *arg = o->args[i];
        status = report_options_spare(&o->reports, o->vectors      ? arg
                                                   : arg[0] == '@' ? arg + 1
                                                                   : NULL);
    }
    return status;
}

/* What names things judges nothing, and has nothing to report. */
static int check_list(const run_options *o)
{
    static const char *const forms[N_REPORT_FORMS] = {"json", "tap", "junit",
                                                      "html"};
    const char *vain = o->baseline != NULL  ? "baseline"
                       : o->journal != NULL ? "resume"
                                            : NULL;

    for (int i = 0; i < N_REPORT_FORMS; i++) {
        if (o->reports.on_stdout[i] || o->reports.file[i] != NULL) {
            vain = forms[i];
        }
    }
    return o->list == NULL || vain == NULL
               ? EXIT_PASS
               : cli_refuse("--list-%s judges nothing and takes no --%s",
                            o->list, vain);
}

/* Options that contradict each other. */
static int check(const run_options *o)
{
    if (o->has_seeds && (o->has_seed || o->has_repeat)) {
        return cli_refuse("--seeds says what --seed and --repeat say");
    }
    if (o->baseline != NULL && o->journal != NULL &&
        report_same_place(o->baseline, o->journal)) {
        return cli_refuse("--baseline and --resume name one file");
    }
    return check_list(o) == EXIT_PASS &&
                   report_options_check(&o->reports) == EXIT_PASS &&
                   check_inputs(o) == EXIT_PASS
               ? -1
               : EXIT_USAGE;
}

void run_options_begin(run_options *o)
{
    memset(o, 0, sizeof *o);
    o->level = 2;
    o->seed = 1;
    o->repeat = 1;
    o->max_fail = 20;
    o->pool.jobs = 1;
    o->pool.timeout_s = 60;
}

int run_options_take(run_options *o, int code, char *text)
{
    return take(o, code, text);
}

/* The row of run that means the same; the code itself where there is none,
   and of what getopt has refused. */
static int code_of_run(int code)
{
    const int same = code == '?' ? 0 : options_same(OPTIONS_run, code);

    return same == 0 ? code : same;
}

int run_options_parse(run_options *o, option_group group, const char *usage,
                      int argc, char **argv)
{
    char *text = NULL;
    int code;

    run_options_begin(o);
    options_start();
    while ((code = options_next(group, argc, argv, &text)) != -1) {
        const int same = code_of_run(code);
        if (same == OPT_run_help) {
            print_help(group, usage);
            return EXIT_PASS;
        }
        const int status = take(o, same, text);
        if (status >= 0) {
            return status;
        }
    }
    o->args = argv + optind;
    o->n_args = argc - optind;
    return check(o);
}
