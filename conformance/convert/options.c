/* SPDX-License-Identifier: Apache-2.0 */
/* See options.h. */
#include "options.h"

#include "base/cli.h"
#include "base/number.h"
#include "base/options.h"
#include "base/stop.h"

#include <mxoracle/layout.h>

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { LARGEST = 65536 }; /* ranks, and a size to round up to */

static int usage(void)
{
    cli_say(
        "usage: mxoracle convert --to=CONVERSION [OPTION]... IN OUT\n"
        "       mxoracle convert --for=PLATFORM[,KEY=VALUE]... IN OUT\n"
        "       mxoracle convert --from=CONVERSION [OPTION]... IN OUT\n"
        "Writes OUT, one safetensors file, with every layer of MXFP4 or\n"
        "NVFP4 experts of IN in the byte order a backend's loader makes\n"
        "(--to), or back (--from). IN is a safetensors file, an index file,\n"
        "or a folder with one. Everything else in IN is copied. Nothing is\n"
        "half written.\n\n"
        "--to=gguf and --from=gguf: the expert tensors as a GGUF file of\n"
        "llama.cpp, whole layers on one rank, and back.\n\n"
        "--for asks the selection oracle what vLLM makes of IN there, sizes\n"
        "rounded up included: --for=h100, --for=b200,tp=2; keys are those of\n"
        "mxoracle select. Without model= rows of w13 in turn are loaded as\n"
        "gpt-oss-120b, DeepSeek-V4's names as deepseek-v4, all others as\n"
        "generic; NVFP4 follows VLLM_FLASHINFER_MOE_BACKEND. A note says\n"
        "what was assumed.\n");
    options_help(OPTIONS_convert, stdout);
    cli_say(
        "\nmxoracle explain --conversions names the conversions. Exit status:\n"
        "0 done, 1 not written or not equal, 2 bad usage or bad input, 99 a\n"
        "report could not be written, 124 the time budget ran out, 128 and\n"
        "the signal's number stopped by a signal.");
    return EXIT_PASS;
}

/* "R/N" with R < N; -1 to go on. */
static int read_rank(const char *text, uint64_t *rank, uint64_t *of)
{
    uint64_t n[2];

    if (number_list(text, "/", LARGEST, n, 2) != 2 || n[0] >= n[1]) {
        return cli_refuse("%s is not RANK/RANKS", text);
    }
    *rank = n[0];
    *of = n[1];
    return -1;
}

static int is_multiple(uint64_t n)
{
    return n > 0 && (n % 32 == 0 || n == 1);
}

static int read_pad(const char *text, shard *s)
{
    uint64_t n[2];

    if (number_list(text, ",", LARGEST, n, 2) != 2 || !is_multiple(n[0]) ||
        !is_multiple(n[1])) {
        return cli_refuse("--pad=%s is not H,I in multiples of 32", text);
    }
    s->round_hidden = n[0];
    s->round_inter = n[1];
    return -1;
}

static int read_rows(const char *text, row_order *rows)
{
    *rows = row_order_of(text);
    return *rows != ROWS_UNTOLD
               ? -1
               : cli_refuse("--rows=%.40s is neither in_turn nor halves", text);
}

/* Two positive numbers of binary32, "0.5,2e-3". */
static int read_input_scale(const char *text, uint32_t bits[2])
{
    const char *comma = strchr(text, ',');
    char first[40];
    double x[2];
    const int fits = comma != NULL && (size_t)(comma - text) < sizeof first;

    (void)snprintf(first, sizeof first, "%.*s", fits ? (int)(comma - text) : 0,
                   text);
    if (!fits || !number_real(first, 1e-37, 1e38, &x[0]) ||
        !number_real(comma + 1, 1e-37, 1e38, &x[1])) {
        return cli_refuse("--input-scale=%.60s is not W13,W2, two positive "
                          "numbers",
                          text);
    }
    for (int i = 0; i < 2; i++) {
        const float narrow = (float)x[i];
        memcpy(&bits[i], &narrow, sizeof bits[i]);
    }
    return -1;
}

static int take_budget(const char *text)
{
    stop_after(stop_parse_budget(text));
    return stop_parse_budget(text) > 0
               ? -1
               : cli_refuse("--budget=%s is no time such as 90s, 10m or 2h",
                            text);
}

/* -1 to go on, else the exit status. */
static int take_option(convert_options *o, int code, const char *value)
{
    switch (code) {
    case OPT_convert_to:
        return cli_take_once(&o->to, "to", value);
    case OPT_convert_from:
        return cli_take_once(&o->from, "from", value);
    case OPT_convert_for:
        return cli_take_once(&o->machine, "for", value);
    case OPT_convert_backend:
        o->backend = value;
        return -1;
    case OPT_convert_tp:
        return read_rank(value, &o->part.tp_rank, &o->part.tp);
    case OPT_convert_ep:
        return read_rank(value, &o->part.ep_rank, &o->part.ep);
    case OPT_convert_pad:
        return read_pad(value, &o->part);
    case OPT_convert_rows:
        return read_rows(value, &o->rows);
    case OPT_convert_input_scale:
        return read_input_scale(value, o->input_scale);
    case OPT_convert_check:
        o->check = 1;
        return -1;
    case OPT_convert_force:
        o->force = 1;
        return -1;
    case OPT_convert_quiet:
        o->quiet = 1;
        return -1;
    case OPT_convert_budget:
        return take_budget(value);
    case OPT_convert_tap:
        return report_option(&o->reports, REPORT_TAP, value);
    case OPT_convert_json:
        return report_option(&o->reports, REPORT_JSON, value);
    case OPT_convert_junit:
        return report_option(&o->reports, REPORT_JUNIT, value);
    case OPT_convert_html:
        return report_option(&o->reports, REPORT_HTML, value);
    case OPT_convert_help:
        return usage();
    default:
        return EXIT_USAGE;
    }
}

/* Reports tell what was judged: without --check nothing is. */
static int check_reports(const convert_options *o)
{
    int n = report_options_stdout(&o->reports);

    for (int i = 0; i < N_REPORT_FORMS; i++) {
        n += o->reports.file[i] != NULL;
    }
    return n > 0 && !o->check
               ? cli_refuse("--json, --tap, --junit and --html need --check")
               : report_options_check(&o->reports);
}

int convert_is_gguf(const convert_options *o)
{
    return strcmp(o->to != NULL ? o->to : o->from, "gguf") == 0;
}

static int check_conversion(const char *name)
{
    cli_nearest near = {NULL, 0};
    char hint[80];

    if (mxo_conversion_find(name) != NULL || strcmp(name, "gguf") == 0) {
        return EXIT_PASS;
    }
    for (uint32_t i = 0; mxo_conversion_at(i) != NULL; i++) {
        cli_offer(&near, name, mxo_conversion_at(i)->id);
    }
    return cli_refuse("no conversion is called %.60s%s", name,
                      cli_suggestion(&near, hint, sizeof hint));
}

static int check_paths(const convert_options *o)
{
    struct stat in;
    struct stat out;
    const int exists = stat(o->paths[1], &out) == 0;

    if (stat(o->paths[0], &in) != 0) {
        return cli_refuse("%s: %s", o->paths[0], strerror(errno));
    }
    if (!exists && lstat(o->paths[1], &out) == 0) {
        return cli_refuse("%s is a link to nothing", o->paths[1]);
    }
    if (exists && !o->check && !S_ISREG(out.st_mode)) {
        return cli_refuse("%s is no regular file", o->paths[1]);
    }
    if (exists && in.st_dev == out.st_dev && in.st_ino == out.st_ino) {
        return cli_refuse("IN and OUT are the same file");
    }
    if (exists && !o->check && !o->force) {
        return cli_refuse("%s exists already; --force replaces it, --check "
                          "compares it",
                          o->paths[1]);
    }
    for (int i = 0; i < 2; i++) {
        if (report_options_spare(&o->reports, o->paths[i]) != EXIT_PASS) {
            return EXIT_USAGE;
        }
    }
    return exists || !o->check
               ? EXIT_PASS
               : cli_refuse("%s: no such file to check", o->paths[1]);
}

int convert_options_read(convert_options *o, int argc, char **argv)
{
    char *value;
    int code;

    options_start();
    while ((code = options_next(OPTIONS_convert, argc, argv, &value)) != -1) {
        const int status = take_option(o, code, value);
        if (status >= 0) {
            return status;
        }
    }
    if (check_reports(o) != EXIT_PASS) {
        return EXIT_USAGE;
    }
    if ((o->to != NULL) + (o->from != NULL) + (o->machine != NULL) != 1) {
        return cli_refuse("convert needs one of --to, --for and --from");
    }
    if (o->rows != ROWS_UNTOLD && o->from != NULL) {
        return cli_refuse("--rows is of --to and --for: a converted file says "
                          "how its source had them");
    }
    if (o->input_scale[0] != 0 &&
        (o->from != NULL || (o->to != NULL && convert_is_gguf(o)))) {
        return cli_refuse("--input-scale is of --to and --for, not of gguf: a "
                          "converted file holds the scales");
    }
    if (o->machine != NULL) {
        char text[400] = "";
        /* Until the checkpoint is read; see follow_checkpoint. */
        if (job_choose(o->machine, "gpt-oss-120b", o->chosen, &o->part,
                       (mxo_text){text, sizeof text}) != 0) {
            return cli_refuse("%s", text);
        }
        o->to = o->chosen;
    }
    if (argc - optind != 2) {
        return cli_refuse("convert takes IN and OUT");
    }
    o->paths[0] = argv[optind];
    o->paths[1] = argv[optind + 1];
    const char *name = o->to != NULL ? o->to : o->from;

    if (strlen(name) >= JOB_NAME) {
        return cli_refuse("the name of the conversion is too long");
    }
    const int status = check_conversion(name);

    if (!convert_is_gguf(o)) {
        job_spell(name, o->spelled);
    }
    return status != EXIT_PASS           ? status
           : check_paths(o) != EXIT_PASS ? EXIT_USAGE
                                         : -1;
}
