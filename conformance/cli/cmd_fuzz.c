/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle fuzz: calls drawn without end, far beyond the grids; see
 * draw/draw.h for what is drawn.
 */
#include "base/cli.h"
#include "base/options.h"
#include "draw/draw.h"
#include "fuzz_converter/fuzz_converter.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_WANTED = 64 };

typedef struct fuzz_options {
    char *wanted[MOST_WANTED]; /* borrowed from argv */
    size_t n_wanted;
    uint64_t seed;
    uint64_t print_cases; /* 0: judge */
} fuzz_options;

static int usage(void)
{
    (void)fputs("usage: mxoracle fuzz [OPTION]... [OP:KEY=VALUE,...]...\n\n"
                "Draws calls without end.  Keys of a case that is given stay "
                "as they are.\n",
                stdout);
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

static int take(fuzz_options *o, int code, char *text)
{
    switch (code) {
    case OPT_fuzz_op:
        return take_wanted(o, text);
    case OPT_fuzz_seed:
        return number_option("seed", text, 0, UINT32_MAX, &o->seed);
    case OPT_fuzz_print_cases:
        return number_option("print-cases", text, 1, UINT32_MAX,
                             &o->print_cases);
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

    *o = (fuzz_options){.seed = 1};
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

    prng_seed(&rng, o->seed);
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
    if (draw_plan_make(&plan, o.wanted, o.n_wanted,
                       (mxo_text){why, sizeof why}) != 0) {
        return cli_refuse("%s", why);
    }
    if (o.print_cases == 0) {
        status = cli_refuse("fuzz needs --print-cases=N");
    } else {
        print_cases(&o, &plan);
        status = EXIT_PASS;
    }
    draw_plan_clear(&plan);
    return status;
}
