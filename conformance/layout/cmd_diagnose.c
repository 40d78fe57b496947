/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle diagnose: two blobs that should be equal, one that is right and one
 * that is not; which known mistake makes exactly the wrong one?
 */
#include "../backends.h"
#include "../cli.h"
#include "../convert/job.h"
#include "../tensors.h"
#include "mistake.h"

#include <mxoracle/layout.h>
#include <mxoracle/mxoracle.h>

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ENOUGH_EXPERTS = 2, BIG = 1 << 22 };

typedef struct options {
    const char *layout;
    const char *dtype;
    const char *paths[2];
    uint64_t extent[3];
    int has_shape;
} options;

/* One pair of blobs. */
typedef struct pair {
    const char *name;
    const char *layout;
    uint32_t dtype; /* logical */
    uint64_t extent[3];
    const uint8_t *expected;
    const uint8_t *actual;
    uint64_t n; /* bytes of each */
} pair;

static int usage(void)
{
    puts("usage: mxoracle diagnose --layout=NAME --shape=[E,]R,C EXPECTED "
         "ACTUAL\n"
         "       mxoracle diagnose EXPECTED ACTUAL\n"
         "Names the known mistake that turns the right bytes of a layout\n"
         "(EXPECTED) into the wrong ones (ACTUAL), and the first wrong element\n"
         "in memory and in the tensor. The files hold the bytes of one tensor\n"
         "in memory order, or are files made by mxoracle convert, which say\n"
         "themselves what they are.\n\n"
         "  -l, --layout=NAME   a layout, or CONVERSION.TENSOR\n"
         "  -s, --shape=[E,]R,C experts, rows, columns of the tensor\n"
         "  -d, --dtype=TYPE    of the tensor (default u8)\n"
         "  -h, --help          this text\n\n"
         "Exit status: 0 equal, 1 they differ, 2 bad usage or bad input.");
    return EXIT_PASS;
}

static int read_shape(const char *text, options *o)
{
    unsigned long long a;
    unsigned long long b;
    unsigned long long c;
    char end;
    const int n = sscanf(text, "%10llu,%10llu,%10llu%c", &a, &b, &c, &end);

    o->has_shape = n == 2 || n == 3;
    o->extent[0] = n == 3 ? a : 1;
    o->extent[1] = n == 3 ? b : a;
    o->extent[2] = n == 3 ? c : b;
    return o->has_shape && strchr(text, '-') == NULL
               ? EXIT_PASS
               : cli_refuse("--shape=%s is not [E,]R,C", text);
}

/* Status of bad usage or help; -1: go on. */
static int read_options(options *o, int argc, char **argv)
{
    static const struct option longs[] = {
        {"layout", required_argument, NULL, 'l'},
        {"shape", required_argument, NULL, 's'},
        {"dtype", required_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int letter;
    int status = EXIT_PASS;

    optind = 0;
    opterr = 0;
    while ((letter = getopt_long(argc, argv, "l:s:d:h", longs, NULL)) >= 0) {
        switch (letter) {
        case 'h':
            return usage();
        case 'l':
            o->layout = optarg;
            break;
        case 'd':
            o->dtype = optarg;
            break;
        case 's':
            status = read_shape(optarg, o);
            break;
        default:
            status = cli_refuse("diagnose does not know \"%s\"; try --help",
                                argv[optind - 1]);
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

/* A whole file in memory; NULL and a sentence. */
static uint8_t *slurp(const char *path, uint64_t *n)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    uint8_t *bytes = NULL;

    if (f != NULL && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        *n = (uint64_t)st.st_size;
        bytes = malloc((size_t)*n + 1);
        if (bytes != NULL && fread(bytes, 1, (size_t)*n, f) != *n) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    if (bytes == NULL) {
        (void)cli_refuse("%s cannot be read", path);
    }
    return bytes;
}

/* The oracle for small tensors, the CPU backend for large ones. */
static const mxo_backend *mover_for(uint64_t n_bytes)
{
    const mxo_backend *table = mxo_emulator();
    backend_list *known = n_bytes < BIG ? NULL : calloc(1, sizeof *known);
    char text[256];

    if (known != NULL) {
        backends_known(known);
        const backend_ref *cpu = backends_find(known, "cpu");
        const mxo_backend *found;
        if (cpu != NULL && backend_load(cpu, &found, (mxo_text){text, 256}) ==
                               MXO_OK) {
            table = found;
        }
    }
    free(known);
    return table;
}

/* The logical tensor that the right bytes hold; NULL and a sentence. */
static uint8_t *logical_of(const pair *p, layout_evidence *e, mxo_text why)
{
    layout_evidence seen = *e;
    uint32_t dtype = p->dtype;
    uint64_t n = 0;

    if (mxo_layout_padded(p->layout, p->dtype, p->extent, seen.extent, why) !=
        MXO_OK) {
        return NULL;
    }
    if (memcmp(seen.extent, p->extent, sizeof seen.extent) != 0) {
        (void)snprintf(why.ptr, why.size,
                       "the tensor is padded: only where it differs can be "
                       "told");
        return NULL;
    }
    uint8_t *bytes = layout_move(&seen, p->layout, "inverse", p->expected,
                                 &dtype, &n);

    if (bytes == NULL || dtype != p->dtype) {
        (void)snprintf(why.ptr, why.size, "the bytes are not a whole %s",
                       p->layout);
        free(bytes);
        return NULL;
    }
    return bytes;
}

/* Byte, and the element it belongs to. */
static void say_first(const pair *p, uint64_t at, uint64_t n_wrong)
{
    const mxo_layout_row *row = mxo_layout_find(p->layout);
    mxo_layout l;
    char text[256];
    uint64_t src = 0;
    uint8_t pad;

    printf("%s: %" PRIu64 " of %" PRIu64 " bytes differ, first byte %" PRIu64
           " (%02x, not %02x)\n",
           p->name, n_wrong, p->n, at, p->actual[at], p->expected[at]);
    const uint32_t width = dtype_bytes(p->dtype);

    if (row == NULL ||
        mxo_layout_bind(&l, row, p->layout, width, p->extent,
                        (mxo_text){text, sizeof text}) != MXO_OK ||
        at / width * l.units >= l.n_units ||
        mxo_layout_content_at(&l, at / width * l.units, &src, &pad) !=
            MXO_LAYOUT_LIVE) {
        return;
    }
    const uint64_t element = src / l.units;

    printf("  it should hold expert %" PRIu64 ", row %" PRIu64
           ", column %" PRIu64 "\n",
           element / l.extent[2] / l.extent[1],
           element / l.extent[2] % l.extent[1], element % l.extent[2]);
}

static int diagnose_pair(pair *p)
{
    char text[400] = "";
    uint64_t n_wrong = 0;
    uint64_t first = 0;

    for (uint64_t i = p->n; i-- > 0;) {
        if (p->expected[i] != p->actual[i]) {
            n_wrong++;
            first = i;
        }
    }
    if (n_wrong == 0) {
        return 0;
    }
    say_first(p, first, n_wrong);
    if (p->extent[0] > ENOUGH_EXPERTS) {
        p->n = p->n / p->extent[0] * ENOUGH_EXPERTS;
        p->extent[0] = ENOUGH_EXPERTS;
    }
    layout_evidence e = {.table = mover_for(p->n),
                         .layout = p->layout,
                         .dtype = p->dtype,
                         .actual = p->actual,
                         .n_actual = p->n};

    memcpy(e.extent, p->extent, sizeof e.extent);
    if (e.table->open(&e.ctx, 0, (mxo_text){text, sizeof text}) != MXO_OK) {
        printf("  %s\n", text);
        return 1;
    }
    uint8_t *logical = logical_of(p, &e, (mxo_text){text, sizeof text});

    e.logical = logical;
    if (logical != NULL && !layout_mistake(&e, text, sizeof text)) {
        (void)snprintf(text, sizeof text, "no known mistake gives these bytes");
    }
    printf("  %s\n", text);
    free(logical);
    e.table->close(e.ctx);
    return 1;
}

/* Raw bytes of one tensor in each file. */
static int diagnose_raw(const options *o)
{
    uint64_t n[2] = {0, 0};
    uint8_t *expected = slurp(o->paths[0], &n[0]);
    uint8_t *actual = expected == NULL ? NULL : slurp(o->paths[1], &n[1]);
    char text[400] = "";
    uint64_t padded[3];
    pair p = {o->paths[1], o->layout, dtype_by_name(o->dtype), {0}, expected,
              actual, n[0]};
    int status = actual == NULL ? EXIT_USAGE : EXIT_PASS;

    memcpy(p.extent, o->extent, sizeof p.extent);
    if (status == EXIT_PASS && p.dtype == MXO_N_DTYPES) {
        status = cli_refuse("--dtype=%s is no type", o->dtype);
    }
    if (status == EXIT_PASS &&
        mxo_layout_padded(o->layout, p.dtype, p.extent, padded,
                          (mxo_text){text, sizeof text}) != MXO_OK) {
        status = cli_refuse("%s", text);
    }
    if (status == EXIT_PASS && n[0] != n[1]) {
        status = cli_refuse("the files have %" PRIu64 " and %" PRIu64 " bytes",
                            n[0], n[1]);
    }
    if (status == EXIT_PASS) {
        status = diagnose_pair(&p) ? EXIT_RED : EXIT_PASS;
    }
    free(expected);
    free(actual);
    return status;
}

/* Extent of tensor i of a layer as the metadata of a converted file tell. */
static int extent_of(const json_t *layer, int i, uint64_t extent[3])
{
    static const char *const keys[3] = {"experts", "padded_hidden",
                                        "padded_inter"};
    uint64_t size[3];
    layer_part part = {0};

    for (int k = 0; k < 3; k++) {
        const json_int_t value =
            json_integer_value(json_object_get(layer, keys[k]));
        if (value <= 0 || value >= (json_int_t)1 << 32) {
            return 0;
        }
        size[k] = (uint64_t)value;
    }
    part.padded_hidden = size[1];
    part.padded_inter = size[2];
    extent[0] = size[0];
    extent[1] = part_rows(&part, i);
    extent[2] = part_row_bytes(&part, i) / (i % W2 == 2 ? 2 : 1);
    return 1;
}

static int diagnose_tensor(const checkpoint *c, const char *conversion,
                           const json_t *layer, int i)
{
    static const char *const names[LAYER_TENSORS] = {
        "w13", "w13_scale", "w13_bias", "w2", "w2_scale", "w2_bias",
    };
    static const uint32_t dtypes[3] = {MXO_U8, MXO_E8M0, MXO_BF16};
    const char *prefix = json_string_value(json_object_get(layer, "prefix"));
    const char *id = json_string_value(json_object_get(layer, "names"));
    const name_style *style = id == NULL ? NULL : layer_style(id);
    char name[640];
    char layout[64];

    if (prefix == NULL || style == NULL) {
        return 0;
    }
    style = style->is_split ? layer_style("w13") : style;
    (void)snprintf(name, sizeof name, "%s%s", prefix, style->fused[i]);
    const size_t length = strcspn(conversion, "/");
    (void)snprintf(layout, sizeof layout, "%.*s.%s%s", (int)length, conversion,
                   names[i], conversion + length);
    const checkpoint_tensor *a = checkpoint_find(&c[0], name);
    const checkpoint_tensor *b = checkpoint_find(&c[1], name);
    pair p = {name, layout, dtypes[i % W2], {0}, NULL, NULL, 0};

    if (a == NULL || b == NULL || !extent_of(layer, i, p.extent)) {
        return 0;
    }
    if (a->n_bytes != b->n_bytes) {
        printf("%s: %" PRIu64 " bytes, not %" PRIu64 "\n", name, b->n_bytes,
               a->n_bytes);
        return 1;
    }
    p.expected = a->bytes;
    p.actual = b->bytes;
    p.n = a->n_bytes;
    return diagnose_pair(&p);
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
    const char *conversion = checkpoint_meta(&c[0], META_LAYOUT);
    const char *layers_text = checkpoint_meta(&c[0], META_LAYERS);
    json_t *layers =
        layers_text == NULL ? NULL : json_loads(layers_text, 0, NULL);
    size_t k;
    json_t *layer;

    if (status == EXIT_PASS && (conversion == NULL || layers == NULL)) {
        status = cli_refuse("%s does not say which layout it is in: give "
                            "--layout and --shape",
                            o->paths[0]);
    }
    json_array_foreach(layers, k, layer)
    {
        for (int i = 0; i < LAYER_TENSORS && status != EXIT_USAGE; i++) {
            if (diagnose_tensor(c, conversion, layer, i)) {
                status = EXIT_RED;
            }
        }
    }
    json_decref(layers);
    checkpoint_close(&c[0]);
    checkpoint_close(&c[1]);
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
