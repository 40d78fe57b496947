/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle diagnose: two blobs that should be equal, one that is right and one
 * that is not; which known mistake makes exactly the wrong one?
 */
#include "base/cli.h"
#include "base/input.h"
#include "base/number.h"
#include "base/options.h"
#include "base/say.h"
#include "base/tensors.h"
#include "converted.h"
#include "files/json_walk.h"

#include <mxoracle/layout.h>
#include <mxoracle/mxoracle.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    const char *layout;
    const char *dtype;
    const char *paths[2];
    uint64_t extent[3];
    int has_shape;
} options;

static int usage(void)
{
    cli_say(
        "usage: mxoracle diagnose --layout=NAME --shape=[E,]R,C EXPECTED "
        "ACTUAL\n"
        "       mxoracle diagnose EXPECTED ACTUAL\n"
        "Names the known mistake that turns the right bytes of a layout\n"
        "(EXPECTED) into the wrong ones (ACTUAL), and the first wrong element\n"
        "in memory and in the tensor. The files hold the bytes of one tensor\n"
        "in memory order, or are files made by mxoracle convert, which say\n"
        "themselves what they are: then every tensor is compared, and the\n"
        "layout that ACTUAL says it is in.\n");
    options_help(OPTIONS_diagnose, stdout);
    cli_say("\nExit status: 0 equal, 1 they differ, 2 bad usage or bad input.");
    return EXIT_PASS;
}

static int read_shape(const char *text, options *o)
{
    o->has_shape = number_triple(text, 1, o->extent);
    return o->has_shape ? EXIT_PASS
                        : cli_refuse("--shape=%s is not [E,]R,C, each 1 or "
                                     "more",
                                     text);
}

/* Status of bad usage or help; -1: go on. */
static int read_options(options *o, int argc, char **argv)
{
    char *value;
    int status = EXIT_PASS;
    int code;

    options_start();
    while ((code = options_next(OPTIONS_diagnose, argc, argv, &value)) != -1) {
        switch (code) {
        case OPT_diagnose_help:
            return usage();
        case OPT_diagnose_layout:
            o->layout = value;
            break;
        case OPT_diagnose_dtype:
            o->dtype = value;
            break;
        case OPT_diagnose_shape:
            status = read_shape(value, o);
            break;
        default:
            return EXIT_USAGE;
        }
        if (status != EXIT_PASS) {
            return status;
        }
    }
    if (argc - optind != 2) {
        return cli_refuse("diagnose takes EXPECTED and ACTUAL");
    }
    if ((o->layout != NULL) != o->has_shape) {
        return cli_refuse("--layout and --shape belong together");
    }
    o->paths[0] = argv[optind];
    o->paths[1] = argv[optind + 1];
    return -1;
}

/* The bytes of a file; NULL and a sentence. */
static mapped_file *open_blob(const char *path)
{
    mapped_file *f = mapped_open(path);

    if (f == NULL) {
        (void)cli_refuse("%s: %s", path,
                         errno == EINVAL ? "nothing to compare: no bytes"
                                         : input_error());
    }
    return f;
}

/* Two blobs of one tensor. */
static int compare_blobs(const options *o, const mapped_file *expected,
                         const mapped_file *actual)
{
    char text[400] = "";
    const mxo_text why = {text, sizeof text};
    uint64_t padded[3];
    pair p = {.name = o->paths[1],
              .layout = o->layout,
              .dtype = dtype_by_name(o->dtype),
              .expected = expected->bytes,
              .actual = actual->bytes,
              .n = expected->n_bytes};

    memcpy(p.extent, o->extent, sizeof p.extent);
    if (p.dtype == MXO_N_DTYPES) {
        return cli_refuse("--dtype=%s is no type", o->dtype);
    }
    if (mxo_layout_padded(o->layout, p.dtype, p.extent, padded, why) !=
        MXO_OK) {
        return cli_refuse("%s", text);
    }
    if (expected->n_bytes != actual->n_bytes) {
        return cli_refuse("the files have %" PRIu64 " and %" PRIu64
                          " bytes; files of one size are compared",
                          expected->n_bytes, actual->n_bytes);
    }
    if (!pair_is_whole(&p, why)) {
        return cli_refuse("%s", text);
    }
    return diagnose_pair(&p) ? EXIT_RED : EXIT_PASS;
}

/* Raw bytes of one tensor in each file. */
static int diagnose_raw(const options *o)
{
    mapped_file *f[2] = {open_blob(o->paths[0]), NULL};
    int status = EXIT_USAGE;

    f[1] = f[0] == NULL ? NULL : open_blob(o->paths[1]);
    if (f[1] != NULL) {
        status = compare_blobs(o, f[0], f[1]);
    }
    for (int i = 0; i < 2; i++) {
        if (status == EXIT_PASS && mapped_has_changed(f[i])) {
            status =
                cli_refuse("%s: has changed while it was read", o->paths[i]);
        }
        mapped_close(&f[i]);
    }
    return status;
}

/* Counts of the tensors of a pair of files. */
typedef struct file_count {
    uint8_t *is_told[2]; /* owned: of each file's tensors, by its place */
    int n_compared;
    int n_wrong;
    int is_bad; /* a sentence was said: the files cannot be compared */
} file_count;

static void refuse_file(file_count *n, const char *sentence, const char *name)
{
    n->is_bad = 1;
    (void)cli_refuse("%s: %s", name, sentence);
}

static void note_told(const file_count *n, const checkpoint *c,
                      const checkpoint_tensor *a, const checkpoint_tensor *b)
{
    if (a != NULL) {
        n->is_told[0][a - c[0].tensor] = 1;
    }
    if (b != NULL) {
        n->is_told[1][b - c[1].tensor] = 1;
    }
}

/* A tensor of which at least one file has the name: have both, of one size? */
static int is_in_both(file_count *n, const char *name,
                      const checkpoint_tensor *a, const checkpoint_tensor *b)
{
    const int is = a != NULL && b != NULL && a->n_bytes == b->n_bytes;

    if (a == NULL || b == NULL) {
        printf("%s: only %s has it\n", name, a == NULL ? "ACTUAL" : "EXPECTED");
    } else if (!is) {
        printf("%s: %" PRIu64 " bytes, not %" PRIu64 "\n", name, b->n_bytes,
               a->n_bytes);
    }
    n->n_wrong += !is;
    return is;
}

static int is_of_one_kind(const checkpoint_tensor *a,
                          const checkpoint_tensor *b)
{
    return strcmp(a->dtype, b->dtype) == 0 && a->rank == b->rank &&
           memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

static void print_kind(const checkpoint_tensor *t)
{
    printf("%s[", t->dtype);
    for (uint32_t i = 0; i < t->rank; i++) {
        printf("%s%" PRIu64, i == 0 ? "" : ",", t->shape[i]);
    }
    putchar(']');
}

/* How it is loaded, besides its bytes. */
static void say_kind(file_count *n, const char *name,
                     const checkpoint_tensor *a, const checkpoint_tensor *b)
{
    printf("%s: it is ", name);
    print_kind(b);
    printf(", not ");
    print_kind(a);
    putchar('\n');
    n->n_wrong++;
}

/* claimed: the layout that ACTUAL says the tensor is in. */
static void compare_tensor(file_count *n, pair *p, const char *claimed,
                           const checkpoint_tensor *a,
                           const checkpoint_tensor *b)
{
    char text[400];

    if (!is_in_both(n, p->name, a, b)) {
        return;
    }
    p->expected = a->bytes;
    p->actual = b->bytes;
    p->n = a->n_bytes;
    if (!pair_is_whole(p, (mxo_text){text, sizeof text})) {
        n->is_bad = 1;
        (void)cli_refuse("%s", text);
        return;
    }
    n->n_compared++;
    if (diagnose_pair(p)) {
        n->n_wrong++;
    } else if (!converted_has_shape(a, b) || !converted_has_width(a, b)) {
        say_kind(n, p->name, a, b);
    } else if (!pair_is_laid_out_as(p, claimed)) {
        cli_line(stdout, 2,
                 "%s: it is in the layout %s, not in %s as ACTUAL "
                 "says",
                 p->name, p->layout, claimed);
        n->n_wrong++;
    }
}

static void diagnose_tensor(file_count *n, const checkpoint *c,
                            const char *conversion, const json_t *layer, int i)
{
    const char *actual = checkpoint_meta(&c[1], META_LAYOUT);
    converted_tensor t;
    converted_tensor claimed;

    if (!converted_tensor_of(layer, conversion, i, &t) ||
        !converted_tensor_of(layer, actual == NULL ? conversion : actual, i,
                             &claimed)) {
        refuse_file(n, "names a layer by no prefix and style", META_LAYERS);
        return;
    }
    const checkpoint_tensor *a = checkpoint_find(&c[0], t.name);
    const checkpoint_tensor *b = checkpoint_find(&c[1], t.name);

    if (a == NULL && b == NULL) {
        if (i % W2 != 2) { /* every layer has weights and scales */
            refuse_file(n, "nothing to compare: neither file has it", t.name);
        }
        return;
    }
    if (!t.has_extent) {
        refuse_file(n, "has no sizes of the layer", META_LAYERS);
        return;
    }
    note_told(n, c, a, b);
    compare_tensor(n, &t.pair, claimed.layout, a, b);
}

/* Layer by layer as the metadata of EXPECTED tell; 0 if they tell nothing. */
static int diagnose_layers(file_count *n, const checkpoint *c)
{
    const char *conversion = checkpoint_meta(&c[0], META_LAYOUT);
    const char *text = checkpoint_meta(&c[0], META_LAYERS);
    json_walk w = json_walk_of(text);
    int more = conversion != NULL && w.closer == ']' ? 1 : -1;

    while (more == 1 && !n->is_bad && (more = json_walk_next(&w)) == 1) {
        const json_t *layer = json_walk_value(&w);
        for (int i = 0; i < LAYER_TENSORS && !n->is_bad; i++) {
            diagnose_tensor(n, c, conversion, layer, i);
        }
    }
    json_walk_end(&w);
    return more >= 0;
}

/* A tensor that no layer of the metadata has: no layout explains it. */
static void compare_rest(file_count *n, const char *name,
                         const checkpoint_tensor *a, const checkpoint_tensor *b)
{
    uint64_t at = 0;

    if (!is_in_both(n, name, a, b)) {
        return;
    }
    /* What is no expert's is a copy: loaded as it is. */
    if (!is_of_one_kind(a, b)) {
        say_kind(n, name, a, b);
    }
    while (at < a->n_bytes && a->bytes[at] == b->bytes[at]) {
        at++;
    }
    if (at < a->n_bytes) {
        printf("%s: first byte that differs %" PRIu64 " (%02x, not %02x)\n",
               name, at, b->bytes[at], a->bytes[at]);
        n->n_wrong++;
    }
}

static void diagnose_rest(file_count *n, const checkpoint *c)
{
    for (size_t i = 0; i < c[0].n; i++) {
        const checkpoint_tensor *a = &c[0].tensor[i];
        const checkpoint_tensor *b = checkpoint_find(&c[1], a->name);
        if (!n->is_told[0][i]) {
            note_told(n, c, a, b);
            compare_rest(n, a->name, a, b);
        }
    }
    for (size_t i = 0; i < c[1].n; i++) {
        if (!n->is_told[1][i]) {
            compare_rest(n, c[1].tensor[i].name, NULL, &c[1].tensor[i]);
        }
    }
}

/* Where the files themselves say that they are in different orders. */
static void say_layouts(const options *o, const checkpoint *c)
{
    const char *expected = checkpoint_meta(&c[0], META_LAYOUT);
    const char *actual = checkpoint_meta(&c[1], META_LAYOUT);

    if (expected != NULL && actual != NULL && strcmp(expected, actual) != 0) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       "%.400s says it is in the layout %.60s, %.400s in %.60s",
                       o->paths[1], actual, o->paths[0], expected);
        say_printable(text);
        puts(text);
    }
}

/* Tensor by tensor: those of layers, then the others. */
static int compare_files(const options *o, file_count *n, const checkpoint *c)
{
    say_layouts(o, c);
    if (!diagnose_layers(n, c)) {
        return cli_refuse("%s does not say which layout it is in: give "
                          "--layout and --shape",
                          o->paths[0]);
    }
    if (!n->is_bad && n->n_wrong + n->n_compared == 0) {
        return cli_refuse("nothing to compare: %s says it has no layers",
                          o->paths[0]);
    }
    if (!n->is_bad) {
        diagnose_rest(n, c);
    }
    return n->n_wrong > 0 ? EXIT_RED : n->is_bad ? EXIT_USAGE : EXIT_PASS;
}

static int diagnose_files(const options *o)
{
    checkpoint c[2] = {{0}, {0}};
    char text[400] = "";
    const mxo_text why = {text, sizeof text};
    int status = checkpoint_open(o->paths[0], &c[0], why) != 0 ||
                         checkpoint_open(o->paths[1], &c[1], why) != 0
                     ? cli_refuse("%s", text)
                     : EXIT_PASS;
    file_count n = {{calloc(c[0].n + 1, 1), calloc(c[1].n + 1, 1)}, 0, 0, 0};

    if (status == EXIT_PASS) {
        status = n.is_told[0] == NULL || n.is_told[1] == NULL
                     ? cli_refuse("no memory for the tensors of the files")
                     : compare_files(o, &n, c);
    }
    for (int i = 0; i < 2; i++) {
        if (status == EXIT_PASS && checkpoint_is_unchanged(&c[i], why) != 0) {
            status = cli_refuse("%s", text);
        }
        checkpoint_close(&c[i]);
        free(n.is_told[i]);
    }
    return status;
}

int cmd_diagnose(int argc, char **argv)
{
    options o = {.dtype = "u8"};
    int status = read_options(&o, argc, argv);

    if (status >= 0) {
        return status;
    }
    status = o.layout != NULL ? diagnose_raw(&o) : diagnose_files(&o);
    if (status == EXIT_PASS) {
        puts("the bytes are equal");
    }
    return status;
}
