/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle explain: where a layout puts an element, and what lies at a byte.
 * Nothing is judged here, so that the library is called directly rather than
 * through the ABI.
 */
#include "base/cli.h"
#include "base/number.h"
#include "base/options.h"
#include "layout_names.h"
#include "picture.h"
#include "steps.h"
#include "system/new_file.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct options {
    const char *name;
    uint64_t extent[3];
    uint64_t at[3];
    uint64_t byte;
    int has_shape;
    int has_at;
    int has_byte;
    int page;
    int drawn;   /* --picture */
    int has_any; /* of these and the ones below */
    uint32_t elem_bytes;
    const char *svg;
} options;

static int usage(void)
{
    cli_say(
        "usage: mxoracle explain [OPTION]... LAYOUT | CONVERSION.TENSOR\n"
        "       mxoracle explain CONVERSION\n"
        "       mxoracle explain --list | --conversions\n"
        "Says where LAYOUT (an id, or id/parameter=value) or one TENSOR of a\n"
        "CONVERSION (w13, w2_scale, ..) puts things, or which layouts a\n"
        "CONVERSION consists of.\n");
    options_help(OPTIONS_explain, stdout);
    cli_say("\nExit status: 0 explained, 1 the file cannot be written, 2 bad "
            "usage\n"
            "or a shape that the vendor's code refuses.");
    return EXIT_PASS;
}

/* On a terminal that is too narrow the words go below the name. */
static void list_row(const char *name, int width, const char *words)
{
    const int narrow = isatty(STDOUT_FILENO) &&
                       width + 1 + (int)strlen(words) > cli_columns(stdout);

    if (narrow) {
        printf("%s\n    ", name);
        cli_fold(stdout, words, 4, 4);
    } else {
        printf("%-*s %s\n", width, name, words);
    }
}

void layout_names_print(void)
{
    for (uint32_t i = 0; mxo_layout_at(i) != NULL; i++) {
        puts(mxo_layout_at(i)->id);
    }
}

void conversion_names_print(void)
{
    for (uint32_t i = 0; mxo_conversion_at(i) != NULL; i++) {
        puts(mxo_conversion_at(i)->id);
    }
}

static int list_layouts(void)
{
    for (uint32_t i = 0; mxo_layout_at(i) != NULL; i++) {
        list_row(mxo_layout_at(i)->id, 42, mxo_layout_at(i)->summary);
    }
    return EXIT_PASS;
}

static int list_conversions(void)
{
    for (uint32_t i = 0; mxo_conversion_at(i) != NULL; i++) {
        list_row(mxo_conversion_at(i)->id, 32, mxo_conversion_at(i)->source);
    }
    return EXIT_PASS;
}

static int take_option(options *o, int code, const char *value)
{
    uint64_t n = 0;

    o->has_any = 1;
    switch (code) {
    case OPT_explain_shape:
        o->has_shape = 1;
        return number_triple(value, 1, o->extent)
                   ? EXIT_PASS
                   : cli_refuse("--shape=%s is not [E,]R,C, each 1 or more",
                                value);
    case OPT_explain_at:
        o->has_at = 1;
        return number_triple(value, 0, o->at)
                   ? EXIT_PASS
                   : cli_refuse("--at=%s is not [E,]R,C", value);
    case OPT_explain_byte:
        o->has_byte = 1;
        return number_natural(value, 0, UINT64_MAX, &o->byte)
                   ? EXIT_PASS
                   : cli_refuse("--byte=%s is no number", value);
    case OPT_explain_elem_bytes:
        o->elem_bytes = number_natural(value, 1, 8, &n) && (n & (n - 1)) == 0
                            ? (uint32_t)n
                            : 0;
        return o->elem_bytes > 0
                   ? EXIT_PASS
                   : cli_refuse("--elem-bytes=%s is not 1, 2, 4 or 8", value);
    case OPT_explain_svg:
        o->svg = value;
        return EXIT_PASS;
    case OPT_explain_picture:
        o->drawn = 1;
        return EXIT_PASS;
    default:
        o->page = 1;
        return EXIT_PASS;
    }
}

/* Status of bad usage, help or list; -1: go on. */
static int read_options(options *o, int argc, char **argv)
{
    char *value;
    int code;

    int list = 0;
    int n = 0;

    options_start();
    while ((code = options_next(OPTIONS_explain, argc, argv, &value)) != -1) {
        int status = EXIT_PASS;
        n++;
        if (code == OPT_explain_help) {
            return usage();
        }
        if (code == OPT_explain_list || code == OPT_explain_conversions) {
            list = code;
        } else {
            status = code == '?' ? EXIT_USAGE : take_option(o, code, value);
        }
        if (status != EXIT_PASS) {
            return status;
        }
    }
    if (list != 0 && (n > 1 || optind != argc)) {
        return cli_refuse("explain --%s takes nothing else", options_id(list));
    }
    if (list != 0) {
        return list == OPT_explain_list ? list_layouts() : list_conversions();
    }
    if (o->page && (o->has_at || o->has_byte || o->svg != NULL || o->drawn)) {
        return cli_refuse("--page takes no --at, --byte, --svg or --picture");
    }
    if (optind != argc - 1) {
        return cli_refuse("explain takes one layout; explain --list names "
                          "them");
    }
    o->name = argv[optind];
    return -1;
}

/* The example of step i; -1, and a sentence where a parameter is wrong. */
static int bind_example_of(steps *s, int i, mxo_text why)
{
    static const uint64_t large[3] = {1, 4096, 4096};
    steps alone = {.n = 1};

    memcpy(alone.name[0], s->name[i], sizeof alone.name[0]);
    if (explain_bind_example(&s->step[i], s->name[i]) == 0) {
        return 0;
    }
    if (steps_bind(&alone, 0, large, why) == 0) {
        why.ptr[0] = '\0';
    }
    return -1;
}

/* Do the layouts take the values of the conversion's parameters? */
static int has_good_values(steps *s, mxo_text why)
{
    int good = 1;

    for (int i = 0; i < s->n && good; i++) {
        good = bind_example_of(s, i, why) == 0 || why.ptr[0] == '\0';
    }
    return good;
}

/* The chains of a conversion, one tensor a line. */
static int say_conversion(const mxo_conversion_row *row, const char *name)
{
    char chain[MXO_CONVERSION_TENSORS][2 * STEP_NAME];
    char sentence[400] = "";
    steps s;

    for (uint32_t i = 0; i < MXO_CONVERSION_TENSORS; i++) {
        char tensor[STEP_NAME];
        const mxo_text why = {sentence, sizeof sentence};
        (void)snprintf(tensor, sizeof tensor, "%s.%s%.60s", row->id,
                       mxo_conversion_tensor(i), name + strlen(row->id));
        if (steps_chain(row, name, i, chain[i], why) != 0 ||
            steps_find(&s, tensor, why) != 0 || !has_good_values(&s, why)) {
            return cli_refuse("%.60s: %s", name, sentence);
        }
    }
    printf("%s: %s\nbiases are %s", name, row->source,
           strcmp(row->bias, "none") == 0 ? "dropped" : row->bias);
    printf("%s%s\n",
           row->params[0] == '\0' ? "" : "; parameters: ", row->params);
    for (uint32_t i = 0; i < MXO_CONVERSION_TENSORS; i++) {
        printf("  %-10s %s\n", mxo_conversion_tensor(i), chain[i]);
    }
    return EXIT_PASS;
}

static int refuse_layout(const char *name)
{
    cli_nearest near = {NULL, 0};
    char hint[80];

    for (uint32_t i = 0; mxo_layout_at(i) != NULL; i++) {
        cli_offer(&near, name, mxo_layout_at(i)->id);
    }
    return cli_refuse("no layout is called %.60s%s", name,
                      cli_suggestion(&near, hint, sizeof hint));
}

/* The example of every step: each says what is wrong with its parameters. */
static int bind_example(steps *s)
{
    char sentence[400] = "";

    s->units = 1;
    for (int i = 0; i < s->n; i++) {
        if (bind_example_of(s, i, (mxo_text){sentence, sizeof sentence}) != 0) {
            return sentence[0] != '\0'
                       ? cli_refuse("%s", sentence)
                       : cli_refuse("%s needs --shape", s->name[i]);
        }
        const uint32_t units = s->step[i].l.units;
        s->units = units > s->units ? units : s->units;
    }
    return EXIT_PASS;
}

static int bind(const options *o, steps *s)
{
    char sentence[400] = "";
    const mxo_text why = {sentence, sizeof sentence};

    if (steps_find(s, o->name, why) != 0) {
        return strchr(o->name, '/') == NULL && s->n == 0
                   ? refuse_layout(o->name)
                   : cli_refuse("%s", sentence);
    }
    if (!o->has_shape) {
        return s->n > 1 && (o->has_at || o->has_byte)
                   ? cli_refuse("%s needs --shape", o->name)
                   : bind_example(s);
    }
    return steps_bind(s, o->elem_bytes, o->extent, why) == 0
               ? EXIT_PASS
               : cli_refuse("%s", sentence);
}

/* Every unit of one element, one line each. */
static int say_at(const steps *s, const uint64_t at[3], strbuf *out)
{
    const explained *first = &s->step[0];
    const uint64_t *extent = first->l.logical;

    if (at[0] >= extent[0] || at[1] >= extent[1] || at[2] >= extent[2]) {
        return cli_refuse("--at lies outside %" PRIu64 " x %" PRIu64
                          " x %" PRIu64,
                          extent[0], extent[1], extent[2]);
    }
    for (uint32_t k = 0; k < s->units; k++) {
        const uint64_t unit =
            ((at[0] * extent[1] + at[1]) * extent[2] + at[2]) * s->units + k;
        explain_place(first, s->units, unit, out);
        strbuf_add(out, " goes to ");
        explain_memory(&s->step[s->n - 1], s->units, steps_forward(s, unit),
                       out);
        strbuf_add(out, "\n");
    }
    return EXIT_PASS;
}

static int say_byte(const steps *s, uint64_t byte, strbuf *out)
{
    const explained *last = &s->step[s->n - 1];
    const uint64_t elements = last->l.n_units / last->l.units;
    const uint64_t first = byte / last->elem_bytes * s->units;

    if (byte / last->elem_bytes >= elements) {
        return cli_refuse("--byte lies beyond %" PRIu64 " bytes of memory",
                          elements * last->elem_bytes);
    }
    for (uint32_t k = 0; k < s->units; k++) {
        uint64_t src = 0;
        uint8_t pad = 0;
        explain_memory(last, s->units, first + k, out);
        switch (steps_content_at(s, first + k, &src, &pad)) {
        case MXO_LAYOUT_LIVE:
            strbuf_add(out, " holds ");
            explain_place(&s->step[0], s->units, src, out);
            break;
        case MXO_LAYOUT_PAD:
            strbuf_add(out, " is a pad of bytes %02x", pad);
            break;
        default:
            strbuf_add(out, " is a pad that the vendor leaves unwritten");
            break;
        }
        strbuf_add(out, "\n");
    }
    return EXIT_PASS;
}

/* Whole or not at all. */
static int write_svg(const explained *e, const char *path)
{
    strbuf drawing = {0};
    struct stat st;
    new_file out;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        (void)cli_refuse("%s is no regular file", path);
        return EXIT_RED;
    }
    explain_svg(e, &drawing);
    const int bad = new_file_open(&out, path) != 0 ||
                    dprintf(out.fd, "%s", strbuf_text(&drawing)) < 0 ||
                    new_file_finish(&out) != 0;

    if (bad) {
        (void)cli_refuse("%s cannot be written: %s", path, strerror(errno));
    }
    new_file_close(&out);
    strbuf_clear(&drawing);
    return bad ? EXIT_RED : EXIT_PASS;
}

/* A picture and a page show one layout: the last step, where things end. */
static int answer(const options *o, const steps *s, strbuf *out)
{
    const explained *last = &s->step[s->n - 1];
    int status = EXIT_PASS;

    if (o->page) {
        explain_page(last, out);
        return EXIT_PASS;
    }
    if (o->has_at) {
        status = say_at(s, o->at, out);
    }
    if (status == EXIT_PASS && o->has_byte) {
        status = say_byte(s, o->byte, out);
    }
    if (status == EXIT_PASS && o->svg != NULL) {
        status = write_svg(last, o->svg);
    }
    if (status == EXIT_PASS && o->drawn) {
        explain_terminal(last, cli_columns(stdout), cli_color(stdout), out);
        return EXIT_PASS;
    }
    for (int i = 0; i < s->n && !o->has_at && !o->has_byte && o->svg == NULL;
         i++) {
        strbuf_add(out, "%s", i == 0 ? "" : "\nthen\n\n");
        explain_text(&s->step[i], cli_columns(stdout), out);
        explain_grid(&s->step[i], cli_columns(stdout), out);
        explain_runs(&s->step[i], cli_columns(stdout), out);
    }
    return status;
}

/* Sentences are folded on narrow terminals, drawings have fitted themselves. */
static void print_answer(const options *o, const char *text)
{
    if (!o->has_at && !o->has_byte) {
        fputs(text, stdout);
        return;
    }
    while (*text != '\0') {
        const int n = (int)strcspn(text, "\n");

        cli_line(stdout, 4, "%.*s", n, text);
        text += n + (text[n] == '\n');
    }
}

int cmd_explain(int argc, char **argv)
{
    options o = {0};
    steps s;
    strbuf out = {0};
    int status = read_options(&o, argc, argv);

    if (status >= 0) {
        return status;
    }
    if (mxo_conversion_find(o.name) != NULL) {
        return o.has_any ? cli_refuse("%s has several tensors: name one of "
                                      "them, as in %s.w13",
                                      o.name, o.name)
                         : say_conversion(mxo_conversion_find(o.name), o.name);
    }
    status = bind(&o, &s);
    if (status == EXIT_PASS) {
        status = answer(&o, &s, &out);
    }
    if (status == EXIT_PASS) {
        print_answer(&o, strbuf_text(&out));
    }
    strbuf_clear(&out);
    return status;
}
