/* SPDX-License-Identifier: Apache-2.0 */
/* See selftest_options.h. */
#include "selftest_options.h"

#include "base/cli.h"
#include "base/number.h"
#include "base/options.h"
#include "base/stop.h"
#include "cli/runopts.h"
#include "system/system.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static int usage(void)
{
    cli_say(
        "usage: mxoracle selftest [OPTION]...\n\n"
        "Judges a backend that is wrong on purpose: every fault must be caught "
        "by\na published case, every legal variant accepted.");
    options_help(OPTIONS_selftest, stdout);
    cli_say("\nExit status: 0 all killed and none rejected, 1 otherwise, "
            "124 the time\nbudget ran out.");
    return EXIT_PASS;
}

static int take_number(selftest_options *o, int code, const char *text)
{
    uint64_t n = 0;
    int status = -1;

    switch (code) {
    case OPT_selftest_level:
        status = number_option("level", text, 1, 3, &n);
        o->level = (int)n;
        break;
    case OPT_selftest_jobs:
        status = number_option("jobs", text, 1, 64, &n);
        o->jobs = (int)n;
        break;
    case OPT_selftest_legal_part:
        status = number_option("legal-part", text, 1, 1000, &o->legal_part);
        break;
    case OPT_selftest_seed:
        status = number_option("seed", text, 0, RUN_MAX_SEED, &o->seed);
        break;
    case OPT_selftest_timeout:
        status = number_option("timeout", text, 1, 3600, &n);
        o->timeout_s = (double)n;
        break;
    default:
        o->budget_s = stop_parse_budget(text);
        if (o->budget_s <= 0) {
            status = cli_refuse("--budget=%s is no time such as 90s, 10m or "
                                "2h",
                                text);
        }
        break;
    }
    return status;
}

static int take_report(selftest_options *o, int code, const char *text)
{
    switch (code) {
    case OPT_selftest_tap:
        return report_option(&o->reports, REPORT_TAP, text);
    case OPT_selftest_json:
        return report_option(&o->reports, REPORT_JSON, text);
    case OPT_selftest_html:
        return report_option(&o->reports, REPORT_HTML, text);
    default:
        return report_option(&o->reports, REPORT_JUNIT, text);
    }
}

static int take_option(selftest_options *o, int code, const char *text)
{
    switch (code) {
    case OPT_selftest_backend:
        o->backend = text;
        return -1;
    case OPT_selftest_class:
        o->class_glob = text;
        return -1;
    case OPT_selftest_id:
        o->id_glob = text;
        return -1;
    case OPT_selftest_kind:
        o->kind = text;
        return -1;
    case OPT_selftest_level:
    case OPT_selftest_jobs:
    case OPT_selftest_legal_part:
    case OPT_selftest_seed:
    case OPT_selftest_timeout:
    case OPT_selftest_budget:
        return take_number(o, code, text);
    case OPT_selftest_tap:
    case OPT_selftest_json:
    case OPT_selftest_junit:
    case OPT_selftest_html:
        return take_report(o, code, text);
    case OPT_selftest_quiet:
        o->quiet = 1;
        return -1;
    case OPT_selftest_help:
        return usage();
    default:
        return EXIT_USAGE; /* getopt has said why */
    }
}

int selftest_options_parse(selftest_options *o, int argc, char **argv)
{
    char *text = NULL;
    int code;

    *o = (selftest_options){.backend = "broken",
                            .class_glob = "*",
                            .id_glob = "*",
                            .level = 2,
                            .jobs = (int)system_cores(),
                            .legal_part = 1,
                            .seed = 1,
                            .timeout_s = 5};
    options_start();
    while ((code = options_next(OPTIONS_selftest, argc, argv, &text)) != -1) {
        const int status = take_option(o, code, text);
        if (status >= 0) {
            return status;
        }
    }
    if (optind < argc) {
        return cli_refuse("selftest takes no arguments, not %s", argv[optind]);
    }
    if (o->kind != NULL && strcmp(o->kind, "mutants") != 0 &&
        strcmp(o->kind, "legal") != 0) {
        return cli_refuse("--kind=%s is neither mutants nor legal", o->kind);
    }
    o->is_tap = o->reports.on_stdout[REPORT_TAP];
    return report_options_check(&o->reports) == EXIT_PASS ? -1 : EXIT_USAGE;
}
