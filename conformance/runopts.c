/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the options; see runopts.h. */
#include "runopts.h"

#include "also.h"
#include "cli.h"
#include "number.h"
#include "prng.h"
#include "profile_cases.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum option_code {
    OPT_LEVEL = 256,
    OPT_SEED,
    OPT_REPEAT,
    OPT_MAX_FAIL,
    OPT_ISOLATE,
    OPT_TIMEOUT,
    OPT_PLUGIN,
    OPT_CANONICAL,
    OPT_TAP,
    OPT_JSON,
    OPT_JUNIT,
    OPT_COLOR,
    OPT_STRICT,
    OPT_DEVICE,
    OPT_VECTORS,
    OPT_SAVE,
    OPT_ALSO,
    OPT_PROFILE,
    OPT_LIST_OPS,
    OPT_LIST_BACKENDS,
    OPT_LIST_DEVICES,
    OPT_LIST_CASES
};

static const struct option long_options[] = {
    {"backend", required_argument, NULL, 'b'},
    {"op", required_argument, NULL, 'o'},
    {"jobs", required_argument, NULL, 'j'},
    {"verbose", no_argument, NULL, 'v'},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {"level", required_argument, NULL, OPT_LEVEL},
    {"seed", required_argument, NULL, OPT_SEED},
    {"repeat", required_argument, NULL, OPT_REPEAT},
    {"max-fail", required_argument, NULL, OPT_MAX_FAIL},
    {"isolate", required_argument, NULL, OPT_ISOLATE},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"plugin", required_argument, NULL, OPT_PLUGIN},
    {"canonical", no_argument, NULL, OPT_CANONICAL},
    {"tap", no_argument, NULL, OPT_TAP},
    {"json", optional_argument, NULL, OPT_JSON},
    {"junit", required_argument, NULL, OPT_JUNIT},
    {"color", required_argument, NULL, OPT_COLOR},
    {"strict", no_argument, NULL, OPT_STRICT},
    {"device", required_argument, NULL, OPT_DEVICE},
    {"vectors", no_argument, NULL, OPT_VECTORS},
    {"save", required_argument, NULL, OPT_SAVE},
    {"also-rule", required_argument, NULL, OPT_ALSO},
    {"profile", required_argument, NULL, OPT_PROFILE},
    {"list-ops", no_argument, NULL, OPT_LIST_OPS},
    {"list-backends", no_argument, NULL, OPT_LIST_BACKENDS},
    {"list-devices", no_argument, NULL, OPT_LIST_DEVICES},
    {"list-cases", no_argument, NULL, OPT_LIST_CASES},
    {NULL, 0, NULL, 0},
};

static const char help_text[] =
    "usage: mxoracle run|list|show|shrink [OPTION]... [CASE|@FILE|PATH]...\n"
    "\n"
    "Without cases, the grids of the level are judged on every built backend.\n"
    "  -b, --backend=GLOB      which backends; repeatable\n"
    "  -o, --op=GLOB           which operations; repeatable\n"
    "      --level=1|2|3       smoke, default, everything (default 2)\n"
    "      --seed=N|random     seed of data and drawn shapes (default 1)\n"
    "      --repeat=N          N successive seeds\n"
    "      --max-fail=N        failures shown in full (default 20, 0: all)\n"
    "      --isolate=case|batch|none   a worker per case, workers that judge\n"
    "                          many, or this process (default: batch for\n"
    "                          plugins, none for what is linked in)\n"
    "      --timeout=S         processor seconds for a case (default 60)\n"
    "  -j, --jobs=N            workers per backend\n"
    "      --plugin=FILE.so    a vendor's backend; repeatable\n"
    "      --device=N          which device (default 0)\n"
    "      --vectors           arguments are vector files and folders\n"
    "      --canonical         spell every default in case names\n"
    "      --also-rule=NAME|all    name who else would pass a failure\n"
    "      --profile=NAME[,key=value...]  a whole layer as a backend\n"
    "                          declares it, and as you do; repeatable\n"
    "      --strict            unsupported cases are red\n"
    "      --tap | --json[=F]  another report on standard output (or in F)\n"
    "      --junit=F           JUnit XML in F besides\n"
    "      --color=auto|always|never\n"
    "  -v, --verbose           a line for every case\n"
    "  -q, --quiet             failures and the last line only\n"
    "      --save=F            shrink: append the case to F\n"
    "      --list-ops, --list-backends, --list-devices, --list-cases\n"
    "\n"
    "A case is OP:key=value,...; \"mxoracle show OP\" explains the keys.\n";

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

    o->crew.isolate = (isolation)value;
    return status;
}

static int take_color(run_options *o, const char *text)
{
    static const char *const words[] = {"auto", "always", "never", NULL};
    static const int values[] = {0, 1, -1};

    return take_word("color", text, words, values, &o->color);
}

static int take_timeout(run_options *o, const char *text)
{
    if (!number_real(text, 0, 86400, &o->crew.timeout_s) ||
        o->crew.timeout_s == 0) {
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

static int take_also(run_options *o, const char *text)
{
    char names[sizeof o->also] = "";

    if (also_add(text, o->also, sizeof o->also)) {
        return -1;
    }
    (void)also_add("all", names, sizeof names);
    return cli_refuse("--also-rule=%s is not known; there are %s", text, names);
}

/* Options that take a number. */
static int take_numbers(run_options *o, int code, const char *text)
{
    uint64_t n = 0;
    int status = -1;

    switch (code) {
    case OPT_LEVEL:
        status = number_option("level", text, 1, 3, &n);
        o->level = (int)n;
        break;
    case OPT_REPEAT:
        status = number_option("repeat", text, 1, 1000000, &o->repeat);
        break;
    case OPT_MAX_FAIL:
        status = number_option("max-fail", text, 0, UINT32_MAX, &o->max_fail);
        break;
    case OPT_DEVICE:
        status = number_option("device", text, 0, 1023, &n);
        o->crew.device = (int)n;
        break;
    default:
        status = number_option("jobs", text, 1, 64, &n);
        o->crew.jobs = (int)n;
        break;
    }
    return status;
}

/* Options that are switches. */
static void take_switch(run_options *o, int code)
{
    static const char *const lists[] = {"ops", "backends", "devices", "cases"};

    switch (code) {
    case 'v':
        o->verbose = 1;
        break;
    case 'q':
        o->verbose = -1;
        break;
    case OPT_CANONICAL:
        o->canonical = 1;
        break;
    case OPT_STRICT:
        o->strict = 1;
        break;
    case OPT_TAP:
        o->tap = 1;
        break;
    case OPT_VECTORS:
        o->vectors = 1;
        break;
    default:
        o->list = lists[code - OPT_LIST_OPS];
        break;
    }
}

static int take(run_options *o, int code, char *text)
{
    switch (code) {
    case 'b':
        return take_listed(o->backends, &o->n_backends, RUN_MAX_GLOBS,
                           "backend", text);
    case 'o':
        return take_listed(o->ops, &o->n_ops, RUN_MAX_GLOBS, "op", text);
    case OPT_PLUGIN:
        return take_listed(o->plugins, &o->n_plugins, RUN_MAX_PLUGINS, "plugin",
                           text);
    case OPT_SEED:
        return take_seed(o, text);
    case OPT_ISOLATE:
        return take_isolate(o, text);
    case OPT_TIMEOUT:
        return take_timeout(o, text);
    case OPT_COLOR:
        return take_color(o, text);
    case OPT_JSON:
        o->json_file = text;
        o->json = text == NULL;
        return -1;
    case OPT_JUNIT:
        o->junit_file = text;
        return -1;
    case OPT_SAVE:
        o->save = text;
        return -1;
    case OPT_ALSO:
        return take_also(o, text);
    case OPT_PROFILE:
        return take_listed(o->profiles, &o->n_profiles, RUN_MAX_GLOBS,
                           "profile", text);
    case OPT_LEVEL:
    case OPT_REPEAT:
    case OPT_MAX_FAIL:
    case OPT_DEVICE:
    case 'j':
        return take_numbers(o, code, text);
    case 'h':
        fputs(help_text, stdout);
        return EXIT_PASS;
    case '?':
        return EXIT_USAGE;
    default:
        take_switch(o, code);
        return -1;
    }
}

int run_options_parse(run_options *o, int argc, char **argv)
{
    int code;

    memset(o, 0, sizeof *o);
    o->level = 2;
    o->seed = 1;
    o->repeat = 1;
    o->max_fail = 20;
    o->crew.jobs = 1;
    o->crew.timeout_s = 60;
    optind = 1;
    while ((code = getopt_long(argc, argv, "b:o:j:vqh", long_options, NULL)) !=
           -1) {
        const int status = take(o, code, optarg);
        if (status >= 0) {
            return status;
        }
    }
    if (o->tap && o->json) {
        return cli_refuse("--tap and --json both want standard output");
    }
    o->args = argv + optind;
    o->n_args = argc - optind;
    return -1;
}

int run_options_backends(const run_options *o, backend_list *known)
{
    backends_known(known);
    for (int i = 0; i < o->n_plugins; i++) {
        if (access(o->plugins[i], R_OK) != 0) {
            return cli_refuse("--plugin=%s cannot be read", o->plugins[i]);
        }
        if (!backends_is_library(o->plugins[i])) {
            return cli_refuse("--plugin=%s is not a shared library",
                              o->plugins[i]);
        }
        if (backends_add_plugin(known, o->plugins[i]) == NULL) {
            return cli_refuse("there are more than %d backends", BACKEND_MAX);
        }
    }
    return EXIT_PASS;
}

static int is_chosen(const run_options *o, const backend_list *known, int i)
{
    const int is_given = i >= known->n - o->n_plugins;

    for (int k = 0; k < o->n_backends; k++) {
        if (cli_matches(o->backends[k], known->ref[i].name)) {
            return 1;
        }
    }
    if (o->n_backends > 0) {
        return 0;
    }
    return o->n_plugins > 0 ? is_given : known->ref[i].by_default;
}

int run_options_choose(const run_options *o, const backend_list *known,
                       backend_list *chosen)
{
    char hint[96];

    chosen->n = 0;
    for (int i = 0; i < known->n; i++) {
        if (is_chosen(o, known, i)) {
            chosen->ref[chosen->n++] = known->ref[i];
        }
    }
    for (int k = 0; k < o->n_backends; k++) {
        cli_nearest near = {NULL, 0};
        int n = 0;
        for (int i = 0; i < known->n; i++) {
            n += cli_matches(o->backends[k], known->ref[i].name);
            cli_offer(&near, o->backends[k], known->ref[i].name);
        }
        if (n == 0) {
            return cli_refuse("no backend matches %s%s", o->backends[k],
                              cli_suggestion(&near, hint, sizeof hint));
        }
    }
    return chosen->n > 0 ? EXIT_PASS
                         : cli_refuse("no backend besides the emulator was "
                                      "built; -b emu judges it against "
                                      "itself");
}

static int check_ops(const run_options *o)
{
    char hint[96];

    for (int k = 0; k < o->n_ops; k++) {
        cli_nearest near = {NULL, 0};
        int n = 0;
        for (int i = 0; i < op_count(); i++) {
            n += cli_matches(o->ops[k], op_at(i)->info->name);
            cli_offer(&near, o->ops[k], op_at(i)->info->name);
        }
        if (n == 0) {
            return cli_refuse("no operation matches %s%s", o->ops[k],
                              cli_suggestion(&near, hint, sizeof hint));
        }
    }
    return EXIT_PASS;
}

static int add_argument(case_list *cases, const char *arg, uint64_t seed)
{
    char why[512];
    const mxo_text text = {why, sizeof why};
    char spelled[CASE_TEXT];
    test_case c;

    if (arg[0] == '@') {
        return grid_read_file(cases, arg + 1, seed, text) == 0
                   ? EXIT_PASS
                   : cli_refuse("%s", why);
    }
    if (case_parse(&c, arg, text) != 0) {
        return cli_refuse("%s", why);
    }
    case_print(&c, 0, spelled);
    return case_list_add(cases, spelled, seed) == MXO_OK ? EXIT_PASS
                                                         : EXIT_BROKEN;
}

int run_options_cases(const run_options *o, case_list *cases)
{
    char why[512];
    int status = check_ops(o);

    for (uint64_t r = 0; status == EXIT_PASS && r < o->repeat; r++) {
        const uint64_t seed = o->seed + r;
        for (int i = 0; status == EXIT_PASS && i < o->n_args; i++) {
            status = add_argument(cases, o->args[i], seed);
        }
        for (int i = 0; status == EXIT_PASS && i < o->n_profiles; i++) {
            status = profile_cases_append(cases, o->profiles[i], seed);
        }
        if (status == EXIT_PASS && o->n_profiles == 0 && o->n_args == 0 &&
            grid_append(cases, o->level, o->ops, (size_t)o->n_ops, seed,
                        (mxo_text){why, sizeof why}) != 0) {
            fprintf(stderr, "mxoracle: a grid is at fault: %s\n", why);
            status = EXIT_BROKEN;
        }
    }
    return status == EXIT_PASS && cases->n == 0 ? cli_refuse("no case matches")
                                                : status;
}

int run_options_color(const run_options *o, FILE *stream)
{
    const char *term = getenv("TERM");
    const char *no = getenv("NO_COLOR");

    if (o->color != 0) {
        return o->color > 0;
    }
    return isatty(fileno(stream)) && term != NULL &&
           strcmp(term, "dumb") != 0 && (no == NULL || no[0] == '\0');
}
