/* SPDX-License-Identifier: Apache-2.0 */
/* mxoracle verify: golden vectors against the emulator. */
#include "base/cli.h"
#include "base/options.h"
#include "base/stop.h"
#include "run_vectors.h"
#include "runopts.h"

#include <mxoracle/mxoracle.h>

#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

static int usage(void)
{
    cli_say("usage: mxoracle verify [OPTION]... PATH...\n"
            "Recomputes every golden vector (files; folders recursively) with\n"
            "the emulator, or another backend, and compares every bit of its "
            "out.* tensors.\n");
    options_help(OPTIONS_verify, stdout);
    cli_say(
        "\nThe last line is \"N passed, N failed, N unknown\". Exit status: 0\n"
        "passed, 1 a file failed (or is no vector; with --strict: or is\n"
        "unknown), 2 bad usage, no such path or no vector in it, 77 every\n"
        "file is unknown, 124 the time budget ran out.");
    return EXIT_PASS;
}

/* Options that run has, too; -1 to go on. */
static int take_choice(run_options *o, int code, char *text)
{
    const struct {
        int here;
        int there;
    } same[] = {{OPT_verify_backend, OPT_run_backend},
                {OPT_verify_plugin, OPT_run_plugin},
                {OPT_verify_exec, OPT_run_exec},
                {OPT_verify_device, OPT_run_device},
                {OPT_verify_jobs, OPT_run_jobs},
                {OPT_verify_timeout, OPT_run_timeout}};

    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        if (same[i].here == code) {
            return run_options_take(o, same[i].there, text);
        }
    }
    return EXIT_USAGE;
}

/* All cores for the emulator; devices are shared only when that is asked. */
static int jobs_of(const run_options *o, int is_emulator)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int all = cores > 64 ? 64 : cores < 1 ? 1 : (int)cores;

    return o->pool.jobs > 0 ? o->pool.jobs : is_emulator ? all : 1;
}

static int verify_on(run_options *o, vector_options *options)
{
    static char emulator[] = "emu";
    static backend_list known;
    static backend_list chosen;

    const int is_emulator = o->n_backends + o->n_plugins + o->n_commands == 0;

    if (is_emulator) {
        o->backends[o->n_backends++] = emulator;
    }
    options->jobs = jobs_of(o, is_emulator);
    int status = run_options_backends(o, &known);

    if (status == EXIT_PASS) {
        status = run_options_choose(o, &known, &chosen);
    }
    return status == EXIT_PASS ? vectors_on(o, &chosen, options) : status;
}

/* -1 to go on, else the exit status. */
static int take(vector_options *o, report_options *r, run_options *choice,
                int code, char *text)
{
    switch (code) {
    case OPT_verify_strict:
        o->strict = 1;
        return -1;
    case OPT_verify_verbose:
        o->verbose = 1;
        return -1;
    case OPT_verify_quiet:
        o->quiet = 1;
        return -1;
    case OPT_verify_tap:
        return report_option(r, REPORT_TAP, text);
    case OPT_verify_json:
        return report_option(r, REPORT_JSON, text);
    case OPT_verify_junit:
        return report_option(r, REPORT_JUNIT, text);
    case OPT_verify_html:
        return report_option(r, REPORT_HTML, text);
    case OPT_verify_budget:
        stop_after(stop_parse_budget(text));
        return stop_parse_budget(text) > 0
                   ? -1
                   : cli_refuse("--budget=%s is no time such as 90s, 10m or 2h",
                                text);
    case OPT_verify_help:
        return usage();
    default:
        return take_choice(choice, code, text);
    }
}

int cmd_verify(int argc, char **argv)
{
    static run_options choice;
    report_options reports = {{0}, {NULL}};
    vector_options options = {.command = "verify", .reports = &reports};
    char *text = NULL;
    int code;

    run_options_begin(&choice);
    choice.pool.jobs = 0; /* not said */
    options_start();
    while ((code = options_next(OPTIONS_verify, argc, argv, &text)) != -1) {
        const int status = take(&options, &reports, &choice, code, text);
        if (status >= 0) {
            return status;
        }
    }
    if (optind == argc) {
        return cli_refuse("verify needs a file or folder of vectors");
    }
    choice.vectors = 1;
    choice.args = argv + optind;
    choice.n_args = argc - optind;
    return verify_on(&choice, &options);
}
