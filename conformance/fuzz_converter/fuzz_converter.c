/* SPDX-License-Identifier: Apache-2.0 */
/* The options of mxoracle fuzz --converter; see fuzz_converter.h. */
#include "fuzz_converter.h"

#include "base/cli.h"
#include "base/number.h"
#include "base/options.h"
#include "base/stop.h"
#include "campaign.h"

#include <mxoracle/layout.h>
#include <mxoracle/mxoracle.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_PAD = 4096, MOST = 1000000000 };

typedef struct options {
    converter_campaign *campaign;
    const char *names;
    const char *fix;
    double budget_s;
} options;

int fuzz_converter_is_asked(int argc, char **argv)
{
    static const char name[] = "--converter";

    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const size_t n = strcspn(argv[i], "=");
        if (n >= 6 && n < sizeof name && strncmp(argv[i], name, n) == 0) {
            return 1; /* --conv is --converter, too */
        }
    }
    return 0;
}

void fuzz_converter_help(void)
{
    cli_say(
        "usage: mxoracle fuzz --converter='CMD {in} {out}' --to=CONVERSION "
        "[OPTION]...\n\n"
        "Draws small checkpoints in real names, lets the command convert each "
        "of them,\nand holds every tensor against the one that mxoracle "
        "convert makes. {in} is a\nfolder with safetensors files, {out} the "
        "safetensors file (or folder) to write.\nA command that has {tp} or "
        "{ep} (RANK/RANKS; or {tp_rank}, {tp_size}, {ep_rank},\n{ep_size}) "
        "gets ranks to cut. What is found is made as small as it goes and "
        "kept.");
    options_help(OPTIONS_fuzz_converter, stdout);
    cli_say("\nExit status: 0 nothing was found, 1 something was, 2 bad "
            "usage, 99 it could\nnot be judged.");
}

static int is_multiple(uint64_t n)
{
    return n == 1 || (n > 0 && n % 32 == 0);
}

static int take_pad(drawn_rules *r, const char *text)
{
    uint64_t n[2];

    if (number_list(text, ",", LARGEST_PAD, n, 2) != 2 || !is_multiple(n[0]) ||
        !is_multiple(n[1])) {
        return cli_refuse("--pad=%s is not H,I in multiples of 32", text);
    }
    r->round[0] = n[0];
    r->round[1] = n[1];
    return -1;
}

static int take_number(options *o, int code, const char *text)
{
    converter_campaign *c = o->campaign;
    uint64_t n = 0;
    int status;

    switch (code) {
    case OPT_fuzz_converter_cases:
        return number_option("cases", text, 1, MOST, &c->most_cases);
    case OPT_fuzz_converter_seed:
        return number_option("seed", text, 0, UINT64_MAX / 2, &c->subject.seed);
    case OPT_fuzz_converter_max_fail:
        return number_option("max-fail", text, 1, CAMPAIGN_CAUSES,
                             &c->most_causes);
    case OPT_fuzz_converter_timeout:
        status = number_option("timeout", text, 1, 86400, &n);
        c->subject.timeout_s = (double)n;
        return status;
    default:
        o->budget_s = stop_parse_budget(text);
        return o->budget_s > 0
                   ? -1
                   : cli_refuse("--time=%s is no time such as 90s, 10m or 2h",
                                text);
    }
}

static int take_option(options *o, int code, const char *text)
{
    converter_campaign *c = o->campaign;

    switch (code) {
    case OPT_fuzz_converter_converter:
        c->subject.command = text;
        return -1;
    case OPT_fuzz_converter_to:
        c->subject.rules.conversion = text;
        return -1;
    case OPT_fuzz_converter_pad:
        return take_pad(&c->subject.rules, text);
    case OPT_fuzz_converter_names:
        o->names = text;
        return -1;
    case OPT_fuzz_converter_fix:
        o->fix = text;
        return -1;
    case OPT_fuzz_converter_checkpoint:
        c->checkpoint = text;
        return -1;
    case OPT_fuzz_converter_keep:
        c->keep = text;
        return -1;
    case OPT_fuzz_converter_experts_only:
        c->subject.experts_only = 1;
        return -1;
    case OPT_fuzz_converter_quiet:
        c->quiet = 1;
        return -1;
    case OPT_fuzz_converter_help:
        fuzz_converter_help();
        return EXIT_PASS;
    case '?':
        return EXIT_USAGE; /* getopt has said why */
    default:
        return take_number(o, code, text);
    }
}

static int check_conversion(const char *name)
{
    cli_nearest near = {NULL, 0};
    char hint[80];

    if (name == NULL) {
        return cli_refuse("fuzz --converter needs --to=CONVERSION");
    }
    if (mxo_conversion_find(name) != NULL && strlen(name) < JOB_NAME) {
        return -1;
    }
    for (uint32_t i = 0; mxo_conversion_at(i) != NULL; i++) {
        cli_offer(&near, name, mxo_conversion_at(i)->id);
    }
    return cli_refuse("no conversion is called %.60s%s", name,
                      cli_suggestion(&near, hint, sizeof hint));
}

/* Rules of drawing, from the command, --names and --fix. */
static int finish_rules(const options *o, mxo_text why)
{
    converter *s = &o->campaign->subject;
    drawn_rules *r = &s->rules;
    drawn fixed = {.style = o->names == NULL ? drawn_style_for(r->conversion)
                                             : drawn_style(o->names)};

    if (fixed.style == NULL) {
        return cli_refuse("--names=%.60s: no checkpoint has such names",
                          o->names);
    }
    if (o->fix != NULL && drawn_parse(o->fix, &fixed, r->is_fixed, why) != 0) {
        return cli_refuse("--fix: %s", why.ptr);
    }
    memcpy(r->fixed, fixed.field, sizeof r->fixed);
    r->style = fixed.style;
    r->with_tp = converter_takes(s->command, "{tp");
    r->with_ep = converter_takes(s->command, "{ep");
    return -1;
}

static int check_options(options *o, mxo_text why)
{
    const converter *s = &o->campaign->subject;
    int status = -1;

    if (s->command == NULL || converter_check(s->command, why) != 0) {
        return cli_refuse("%s", s->command == NULL ? "--converter is missing"
                                                   : why.ptr);
    }
    status = check_conversion(s->rules.conversion);
    return status >= 0 ? status : finish_rules(o, why);
}

/* Status of bad usage or help; -1: go on. */
static int read_options(options *o, int argc, char **argv, mxo_text why)
{
    char *text = NULL;
    int code;

    options_start();
    while ((code = options_next(OPTIONS_fuzz_converter, argc, argv, &text)) !=
           -1) {
        const int status = take_option(o, code, text);
        if (status >= 0) {
            return status;
        }
    }
    if (optind < argc) {
        return cli_refuse("fuzz --converter takes no arguments, not %s",
                          argv[optind]);
    }
    return check_options(o, why);
}

int fuzz_converter(int argc, char **argv)
{
    char sentence[600] = "";
    const mxo_text why = {sentence, sizeof sentence};
    converter_campaign *c = calloc(1, sizeof *c);
    options o = {.campaign = c, .budget_s = 60};
    mover oracle;

    if (c == NULL) {
        return EXIT_BROKEN;
    }
    c->keep = "mxoracle-findings";
    c->most_causes = 1;
    c->subject.timeout_s = 60;
    c->subject.seed = 1;
    c->subject.rules.round[0] = 1;
    c->subject.rules.round[1] = 1;
    int status = read_options(&o, argc, argv, why);

    if (status < 0 && mover_open(&oracle, mxo_emulator(),
                                 c->subject.rules.conversion, why) == 0) {
        c->subject.rules.mover = &oracle;
        sentence[0] = '\0';
        stop_catch_signals();
        stop_after(o.budget_s);
        status = campaign_run(c, why);
        mover_close(&oracle);
        if (status != EXIT_PASS && status != EXIT_RED) {
            fprintf(stderr, "mxoracle: %s\n", sentence);
        }
    }
    free(c);
    return status < 0 ? EXIT_BROKEN : status;
}
