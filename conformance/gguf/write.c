/* SPDX-License-Identifier: Apache-2.0 */
/* Writing GGUF; see gguf.h. */
#include "base/progress.h"
#include "base/say.h"
#include "base/stop.h"
#include "block.h"
#include "divisors.h"
#include "parse.h"
#include "system/new_file.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOSTLY_MXFP4 = 38,
    MOSTLY_NVFP4 = 39,
    ALL_PARTS = PARTS * PROJECTIONS,
    MOST_DIVIDED = 1300
};

typedef struct writer {
    FILE *file;
    uint64_t at;
    int bad;
    int is_shown;
    uint64_t n_done; /* tensors of an expert */
    progress progress;
} writer;

static void put(writer *w, const void *bytes, uint64_t n)
{
    w->bad |= n > 0 && fwrite(bytes, 1, (size_t)n, w->file) != n;
    w->at += n;
}

static void put_number(writer *w, uint64_t value, int n)
{
    uint8_t bytes[8];

    for (int i = 0; i < n; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
    put(w, bytes, (uint64_t)n);
}

static void put_string(writer *w, const char *text)
{
    put_number(w, strlen(text), 8);
    put(w, text, strlen(text));
}

static void put_key_number(writer *w, const char *key, uint32_t value)
{
    put_string(w, key);
    put_number(w, GGUF_UINT32, 4);
    put_number(w, value, 4);
}

static void put_key_string(writer *w, const char *key, const char *value)
{
    put_string(w, key);
    put_number(w, GGUF_STRING, 4);
    put_string(w, value);
}

/* The number in a prefix such as model.layers.3.mlp; else its place. */
static uint64_t block_number(const moe_layer *l, uint64_t place)
{
    for (const char *p = l->prefix; p != NULL; p = strchr(p, '.')) {
        p += *p == '.';
        const size_t n = strspn(p, "0123456789");
        if (n > 0 && (p[n] == '.' || p[n] == '\0')) {
            return strtoull(p, NULL, 10);
        }
    }
    return place;
}

static uint64_t rows_of(const moe_layer *l, int projection)
{
    return projection == DOWN ? l->hidden : l->inter;
}

static uint64_t cols_of(const moe_layer *l, int projection)
{
    return projection == DOWN ? l->inter : l->hidden;
}

static int has_part(const moe_layer *l, int part)
{
    return part == WEIGHT || (part == BIAS ? l->biased : l->group == 16);
}

/* Of parts and projections. */
static int has_tensor(const moe_layer *l, int i)
{
    return has_part(l, i / PROJECTIONS);
}

static uint64_t bytes_of(const moe_layer *l, int i)
{
    const int part = i / PROJECTIONS;
    const uint64_t rows = l->experts * rows_of(l, i % PROJECTIONS);

    return part == WEIGHT ? rows *
                                (cols_of(l, i % PROJECTIONS) /
                                 gguf_block_elements(l->group)) *
                                gguf_block_bytes(l->group)
           : part == BIAS ? 4 * rows
                          : 4 * l->experts;
}

static uint64_t aligned(uint64_t n)
{
    return (n + GGUF_ALIGN - 1) / GGUF_ALIGN * GGUF_ALIGN;
}

static void put_info(writer *w, const moe_layer *l, uint64_t number, int i,
                     uint64_t *offset)
{
    const int projection = i % PROJECTIONS;
    const int part = i / PROJECTIONS;
    char name[NAME_ROOM];

    (void)snprintf(name, sizeof name, "blk.%llu.ffn_%s_exps.%s",
                   (unsigned long long)number, gguf_names[projection],
                   gguf_parts[part]);
    put_string(w, name);
    put_number(w, part == WEIGHT ? 3 : part == BIAS ? 2 : 1, 4);
    if (part == WEIGHT) {
        put_number(w, cols_of(l, projection), 8);
    }
    if (part == WEIGHT || part == BIAS) {
        put_number(w, rows_of(l, projection), 8);
    }
    put_number(w, l->experts, 8);
    put_number(w,
               part != WEIGHT   ? GGUF_F32
               : l->group == 16 ? GGUF_NVFP4
                                : GGUF_MXFP4,
               4);
    put_number(w, *offset, 8);
    *offset += aligned(bytes_of(l, i));
}

/* Row r of an expert's projection: 0 weight, 1 scale, 2 bias. */
static const uint8_t *row_of(const moe_layer *l, int projection, int kind,
                             uint64_t e, uint64_t r)
{
    const uint64_t cols = cols_of(l, projection);
    const uint64_t pitch = kind == 0   ? cols / 2
                           : kind == 1 ? cols / l->group
                                       : bias_bytes(l->bias_dtype);

    if (l->style->is_split) {
        return l->split[e * 9 + (uint64_t)(projection * 3 + kind)]->bytes +
               r * pitch;
    }
    if (projection == DOWN) {
        return l->fused[W2 + kind]->bytes + (e * l->hidden + r) * pitch;
    }
    const uint64_t row = l->style->is_interleaved
                             ? 2 * r + (uint64_t)projection
                             : (uint64_t)projection * l->inter + r;

    return l->fused[kind]->bytes + (e * 2 * l->inter + row) * pitch;
}

static void put_weights(writer *w, const moe_layer *l, int projection,
                        uint64_t e, uint64_t r)
{
    const uint8_t *weight = row_of(l, projection, 0, e, r);
    const uint8_t *scale = row_of(l, projection, 1, e, r);
    const uint64_t n = gguf_block_elements(l->group);
    const uint64_t n_scales = gguf_block_scales(l->group);
    uint8_t block[GGUF_BLOCK_BYTES];

    for (uint64_t b = 0; b < cols_of(l, projection) / n; b++) {
        gguf_block_pack(l->group, weight + b * n / 2, scale + b * n_scales,
                        block);
        put(w, block, gguf_block_bytes(l->group));
    }
}

static void put_bias(writer *w, const moe_layer *l, int projection, uint64_t e,
                     uint64_t r)
{
    uint8_t wide[4];

    (void)bias_convert("F32", wide, l->bias_dtype,
                       row_of(l, projection, 2, e, r));
    put(w, wide, sizeof wide);
}

/* The scale of a projection's weights, or of its input. */
static const checkpoint_tensor *global_of(const moe_layer *l, int i, uint64_t e)
{
    return l->global[(e * PROJECTIONS + (uint64_t)(i % PROJECTIONS)) * 2 +
                     (uint64_t)(i / PROJECTIONS - SCALE)];
}

static int has_divisors(const moe_layer *l)
{
    return l->group == 16 &&
           strcmp(l->globals->scales, "compressed_tensors") == 0;
}

static uint32_t factor_of(const moe_layer *l, const checkpoint_tensor *t)
{
    const uint8_t *x = t->bytes;
    const uint32_t bits = (uint32_t)x[0] | (uint32_t)x[1] << 8 |
                          (uint32_t)x[2] << 16 | (uint32_t)x[3] << 24;

    return has_divisors(l) ? gguf_reciprocal(bits) : bits;
}

static void put_tensor(writer *w, const moe_layer *l, int i)
{
    static const uint8_t zeros[GGUF_ALIGN];
    const int projection = i % PROJECTIONS;
    const int part = i / PROJECTIONS;

    for (uint64_t e = 0; e < l->experts && !w->bad; e++) {
        progress_show(&w->progress, ++w->n_done, 0, NULL);
        w->bad = stop_requested();
        if (part >= SCALE) {
            put_number(w, factor_of(l, global_of(l, i, e)), 4);
            continue;
        }
        for (uint64_t r = 0; r < rows_of(l, projection); r++) {
            (part == BIAS ? put_bias : put_weights)(w, l, projection, e, r);
        }
    }
    put(w, zeros, aligned(w->at) - w->at);
}

static json_t *describe_layer(const moe_layer *l, size_t place)
{
    json_t *o =
        json_pack("{s:I, s:s, s:s, s:s, s:s, s:s, s:I}", "block",
                  (json_int_t)block_number(l, place), "prefix", l->prefix,
                  "names", l->style->id, "weight_dtype", l->weight_dtype,
                  "scale_dtype", l->scale_dtype, "bias_dtype", l->bias_dtype,
                  "global_rank", (json_int_t)l->global_rank);
    char *divisors = has_divisors(l) ? gguf_divisors(l) : NULL;

    if (divisors != NULL) {
        json_object_set_new(o, "divisors", json_string(divisors));
    }
    free(divisors);
    return o;
}

/* Names and types, so that the way back gives the same file. */
static char *describe(const layer_list *layers)
{
    json_t *list = json_array();

    for (size_t i = 0; i < layers->n; i++) {
        json_array_append_new(list, describe_layer(&layers->layer[i], i));
    }
    char *text = json_dumps(list, JSON_COMPACT);

    json_decref(list);
    return text;
}

static uint64_t n_tensors(const moe_layer *l)
{
    uint64_t n = 0;

    for (int i = 0; i < ALL_PARTS; i++) {
        n += (uint64_t)has_tensor(l, i);
    }
    return n;
}

static void put_keys(writer *w, const layer_list *layers, const char *text)
{
    put_key_string(w, "general.architecture", "gpt-oss");
    put_key_number(w, "general.alignment", GGUF_ALIGN);
    put_key_number(w, "general.file_type",
                   layers->layer[0].group == 16 ? MOSTLY_NVFP4 : MOSTLY_MXFP4);
    put_key_string(w, GGUF_LAYERS, text);
}

static void put_all(writer *w, const layer_list *layers, const char *text)
{
    static const uint8_t zeros[GGUF_ALIGN];
    uint64_t n = 0;
    uint64_t total = 0;
    uint64_t offset = 0;

    for (size_t i = 0; i < layers->n; i++) {
        n += n_tensors(&layers->layer[i]);
        total += n_tensors(&layers->layer[i]) * layers->layer[i].experts;
    }
    progress_begin(&w->progress, total, w->is_shown);
    progress_tick(&w->progress);
    put(w, "GGUF", 4);
    put_number(w, GGUF_VERSION, 4);
    put_number(w, n, 8);
    put_number(w, 4, 8);
    put_keys(w, layers, text);
    for (size_t i = 0; i < layers->n * ALL_PARTS; i++) {
        const moe_layer *l = &layers->layer[i / ALL_PARTS];
        if (has_tensor(l, (int)(i % ALL_PARTS))) {
            put_info(w, l, block_number(l, i / ALL_PARTS), (int)(i % ALL_PARTS),
                     &offset);
        }
    }
    put(w, zeros, aligned(w->at) - w->at);
    for (size_t i = 0; i < layers->n * ALL_PARTS && !w->bad; i++) {
        const moe_layer *l = &layers->layer[i / ALL_PARTS];
        if (has_tensor(l, (int)(i % ALL_PARTS))) {
            put_tensor(w, l, (int)(i % ALL_PARTS));
        }
    }
    progress_end(&w->progress);
}

/* Two layers of one number would be one in GGUF. */
static int check_numbers(const layer_list *layers, mxo_text why)
{
    for (size_t i = 0; i < layers->n; i++) {
        if (block_number(&layers->layer[i], i) >= GGUF_BLOCKS) {
            (void)say(MXO_E_SHAPE, why,
                      "layer %.300s has a number that no block of GGUF has "
                      "here: over %d",
                      layers->layer[i].prefix, GGUF_BLOCKS - 1);
            return -1;
        }
        for (size_t k = 0; k < i; k++) {
            if (block_number(&layers->layer[i], i) ==
                block_number(&layers->layer[k], k)) {
                (void)say(MXO_E_SHAPE, why,
                          "layers %.150s and %.150s have one number, and GGUF "
                          "names blocks by it",
                          layers->layer[k].prefix, layers->layer[i].prefix);
                return -1;
            }
        }
    }
    return 0;
}

/* GGUF's scale bytes have no sign. */
static int check_scales(const checkpoint_tensor *t, mxo_text why)
{
    for (uint64_t i = 0; i < t->n_bytes; i++) {
        if (t->bytes[i] >= 0x80) {
            (void)say(MXO_E_SHAPE, why,
                      "%.300s holds the scale byte %02x, whose sign gguf does "
                      "not keep",
                      t->name, t->bytes[i]);
            return -1;
        }
    }
    return 0;
}

/* A factor is a number; the way back reads so many divisors of a layer. */
static int check_factors(const moe_layer *l, mxo_text why)
{
    if (has_divisors(l) && l->experts > MOST_DIVIDED) {
        (void)say(
            MXO_E_SHAPE, why,
            "gguf takes divisors of %d experts at most: %.300s is of %llu",
            MOST_DIVIDED, layer_scale_name(l), (unsigned long long)l->experts);
        return -1;
    }
    for (uint64_t i = 0; i < layer_globals(l); i++) {
        const uint32_t bits = factor_of(l, l->global[i]);
        if (bits == 0 || bits >= 0x7f800000U) {
            (void)say(MXO_E_SHAPE, why,
                      "%.300s holds a divisor whose inverse is no number of "
                      "binary32",
                      l->global[i]->name);
            return -1;
        }
    }
    return 0;
}

/* NVFP4 in blocks of 64, and a factor of each expert. */
static int check_nvfp4(const moe_layer *l, mxo_text why)
{
    if (!l->style->is_split || l->style->is_stacked) {
        (void)say(MXO_E_SHAPE, why,
                  "gguf takes NVFP4 experts with tensors of their own: %.300s "
                  "is of all experts",
                  layer_scale_name(l));
        return -1;
    }
    if (check_factors(l, why) != 0) {
        return -1;
    }
    if (l->hidden % 64 != 0 || l->inter % 64 != 0) {
        (void)say(MXO_E_SHAPE, why,
                  "gguf takes NVFP4 in blocks of 64: %.300s is of experts of "
                  "%llu x %llu",
                  layer_scale_name(l), (unsigned long long)l->inter,
                  (unsigned long long)l->hidden);
        return -1;
    }
    for (uint64_t i = 0; i < l->experts * PROJECTIONS; i++) {
        if (check_scales(l->split[3 * i + 1], why) != 0) {
            return -1;
        }
    }
    return 0;
}

int gguf_stopped(mxo_text why)
{
    if (stop_requested()) {
        (void)say(MXO_E_DEVICE, why, "stopped by %s: nothing was left behind",
                  stop_reason());
    }
    return stop_requested();
}

/* 0, or -1 with errno. */
static int write_file(const layer_list *layers, const new_file *out,
                      int is_shown)
{
    char *text = describe(layers);
    const int fd = text == NULL ? -1 : dup(out->fd);
    writer w = {.file = fd < 0 ? NULL : fdopen(fd, "wb"), .is_shown = is_shown};

    if (w.file != NULL) {
        put_all(&w, layers, text);
        w.bad |= fclose(w.file) != 0;
    }
    free(text);
    return w.file == NULL || w.bad ? -1 : 0;
}

static int write_layers(const checkpoint *in, const layer_list *layers,
                        const char *path, int is_shown, mxo_text why)
{
    new_file out;
    int is_said = 0;

    if (check_numbers(layers, why) != 0) {
        return -1;
    }
    int bad = new_file_open(&out, path) != 0 ||
              write_file(layers, &out, is_shown) != 0;

    if (!bad) {
        bad = is_said = checkpoint_is_unchanged(in, why) != 0;
    }
    bad = bad || new_file_finish(&out) != 0;
    const int error = errno;

    new_file_close(&out);
    if (bad && !is_said && !gguf_stopped(why)) {
        (void)say(MXO_E_DEVICE, why, "%.300s cannot be written: %s", path,
                  strerror(error));
    }
    return bad ? 1 : 0;
}

int gguf_from_checkpoint(const char *from, const char *path, int is_shown,
                         mxo_text why)
{
    layer_list layers = {0};
    checkpoint in;
    int bad;

    if (checkpoint_open(from, &in, why) != 0) {
        return -1;
    }
    bad = layers_find(&in, ROWS_UNTOLD, &layers, why) != 0;
    if (!bad && checkpoint_holds(&in, path)) {
        (void)say(MXO_E_PARAM, why, "%s is one of the files of IN", path);
        bad = 1;
    } else if (!bad && layers.n == 0) {
        (void)say(MXO_E_SHAPE, why,
                  "the checkpoint has no layer of FP4 experts by any name "
                  "that is known");
        bad = 1;
    }
    for (size_t i = 0; i < layers.n && !bad; i++) {
        const moe_layer *l = &layers.layer[i];
        bad = layer_check_biases(l, "F32", why) != 0 ||
              (l->group == 16 && check_nvfp4(l, why) != 0);
    }
    const int status =
        bad ? -1 : write_layers(&in, &layers, path, is_shown, why);

    layers_clear(&layers);
    checkpoint_close(&in);
    return status;
}
