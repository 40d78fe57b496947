/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle fuzz: calls drawn without end, far beyond the grids; see
 * draw/draw.h for what is drawn.
 */
#include "base/cli.h"
#include "base/options.h"
#include "base/stop.h"
#include "draw/draw.h"
#include "fuzz_converter/fuzz_converter.h"
#include "hunt/hunt.h"
#include "runopts.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WANTED = 64 };

typedef struct fuzz_options {
    char *wanted[MOST_WANTED]; /* borrowed from argv */
    size_t n_wanted;
    uint64_t print_cases; /* 0: judge */
    run_options run;      /* the subject, as run takes it */
    hunt_options hunt;
} fuzz_options;

static int usage(void)
{
    cli_say("usage: mxoracle fuzz [OPTION]... [OP:KEY=VALUE,...]...\n\n"
            "Draws calls for one subject, shrinks and names what fails, "
            "and keeps a case\nfor every cause.  Keys of a case that is "
            "given stay as they are.");
    options_help(OPTIONS_fuzz, stdout);
    return EXIT_PASS;
}

static int take_wanted(fuzz_options *o, char *text)
{
    if (o->n_wanted == MOST_WANTED) {
        return cli_refuse("more than %d operations are named", MOST_WANTED);
    }
    o->wanted[o->n_wanted++] = text;
    return -1;
}

/* Options that mean what they mean for run; -2 if it is none of them. */
static int take_subject(fuzz_options *o, int code, char *text)
{
    static const int same[][2] = {
        {OPT_fuzz_backend, OPT_run_backend},
        {OPT_fuzz_plugin, OPT_run_plugin},
        {OPT_fuzz_exec, OPT_run_exec},
        {OPT_fuzz_mutant, OPT_run_mutant},
        {OPT_fuzz_plugin_symbols, OPT_run_plugin_symbols},
        {OPT_fuzz_device, OPT_run_device},
        {OPT_fuzz_jobs, OPT_run_jobs},
        {OPT_fuzz_isolate, OPT_run_isolate},
        {OPT_fuzz_timeout, OPT_run_timeout},
        {OPT_fuzz_color, OPT_run_color},
        {OPT_fuzz_quiet, OPT_run_quiet}};

    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        if (same[i][0] == code) {
            return run_options_take(&o->run, same[i][1], text);
        }
    }
    return -2;
}

static int take_number(fuzz_options *o, int code, const char *text)
{
    switch (code) {
    case OPT_fuzz_seed:
        return number_option("seed", text, 0, UINT32_MAX, &o->hunt.seed);
    case OPT_fuzz_cases:
        return number_option("cases", text, 1, UINT32_MAX, &o->hunt.most_cases);
    case OPT_fuzz_causes:
        return number_option("causes", text, 1, 1000000, &o->hunt.most_causes);
    default:
        return number_option("print-cases", text, 1, UINT32_MAX,
                             &o->print_cases);
    }
}

static int take_time(fuzz_options *o, const char *text)
{
    o->hunt.time_s = stop_parse_budget(text);
    return o->hunt.time_s > 0
               ? -1
               : cli_refuse("--time=%s is no time such as 90s, 10m or 2h",
                            text);
}

static int take(fuzz_options *o, int code, char *text)
{
    const int status = take_subject(o, code, text);

    if (status != -2) {
        return status;
    }
    switch (code) {
    case OPT_fuzz_op:
        return take_wanted(o, text);
    case OPT_fuzz_seed:
    case OPT_fuzz_cases:
    case OPT_fuzz_causes:
    case OPT_fuzz_print_cases:
        return take_number(o, code, text);
    case OPT_fuzz_time:
        return take_time(o, text);
    case OPT_fuzz_journal:
        o->hunt.journal = text;
        return -1;
    case OPT_fuzz_keep:
        o->hunt.folder = text;
        return -1;
    case OPT_fuzz_help:
        return usage();
    default:
        return EXIT_USAGE; /* getopt has said why */
    }
}

static int parse(fuzz_options *o, int argc, char **argv)
{
    char *text = NULL;
    int status = -1;
    int code;

    memset(o, 0, sizeof *o);
    run_options_begin(&o->run);
    o->run.pool.timeout_s = 10;
    o->hunt.seed = 1;
    o->hunt.folder = "mxoracle-findings";
    options_start();
    while (status < 0 &&
           (code = options_next(OPTIONS_fuzz, argc, argv, &text)) != -1) {
        status = take(o, code, text);
    }
    while (status < 0 && optind < argc) {
        status = take_wanted(o, argv[optind++]);
    }
    return status;
}

/* A line: the case, and its seed as a comment that run @FILE passes over. */
static void print_cases(const fuzz_options *o, const draw_plan *p)
{
    prng rng;

    prng_seed(&rng, o->hunt.seed);
    for (uint64_t i = 0; i < o->print_cases; i++) {
        char text[CASE_TEXT];
        draw_record r;
        test_case c;
        uint64_t seed;
        draw_random(p, &rng, &r);
        draw_decode(p, r.byte, sizeof r.byte, &c, &seed);
        case_print(&c, 0, text);
        printf("%s # %" PRIu64 "\n", text, seed);
    }
}

/* Small calls gain nothing from threads, and lose by their waiting. */
static void ask_for_one_thread(void)
{
    (void)setenv("OMP_NUM_THREADS", "1", 0);
    (void)setenv("OMP_THREAD_LIMIT", "1", 0);
}

static int hunt_subject(fuzz_options *o, draw_plan *plan)
{
    static backend_list known;
    static backend_list chosen;
    int status = run_options_backends(&o->run, &known);

    if (status == EXIT_PASS) {
        status = run_options_choose(&o->run, &known, &chosen);
    }
    if (status == EXIT_PASS && chosen.n != 1) {
        status = cli_refuse("fuzz needs one subject, and these are %d: say "
                            "which with -b, --plugin or --exec",
                            chosen.n);
    }
    if (status == EXIT_PASS) {
        o->hunt.ref = &chosen.ref[0];
        o->hunt.pool = o->run.pool;
        o->hunt.pool.is_drawn = 1;
        o->hunt.wanted = o->wanted;
        o->hunt.n_wanted = o->n_wanted;
        o->hunt.verbose = o->run.verbose;
        o->hunt.color = run_options_color(&o->run, stdout);
        if (o->hunt.time_s == 0) {
            o->hunt.time_s = 600;
        }
        ask_for_one_thread();
        status = hunt_run(&o->hunt, plan);
    }
    return status;
}

int cmd_fuzz(int argc, char **argv)
{
    char why[1024] = "";
    fuzz_options o;
    draw_plan plan;

    if (fuzz_converter_is_asked(argc, argv)) {
        return fuzz_converter(argc, argv);
    }
    int status = parse(&o, argc, argv);

    if (status >= 0) {
        return status;
    }
    if (o.print_cases == 0 &&
        o.run.n_backends + o.run.n_plugins + o.run.n_commands == 0) {
        return cli_refuse("fuzz needs a subject: -b NAME, --plugin or --exec");
    }
    if (draw_plan_make(&plan, o.wanted, o.n_wanted,
                       (mxo_text){why, sizeof why}) != 0) {
        return cli_refuse("%s", why);
    }
    if (o.print_cases == 0) {
        status = hunt_subject(&o, &plan);
    } else {
        print_cases(&o, &plan);
        status = EXIT_PASS;
    }
    draw_plan_clear(&plan);
    return status;
}
