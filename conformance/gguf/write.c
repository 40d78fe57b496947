/* SPDX-License-Identifier: Apache-2.0 */
/* Writing GGUF; see gguf.h. */
#include "base/progress.h"
#include "base/say.h"
#include "base/stop.h"
#include "block.h"
#include "numbers.h"
#include "parse.h"
#include "system/new_file.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOSTLY_MXFP4 = 38, MOSTLY_NVFP4 = 39, ALL_PARTS = PARTS * PROJECTIONS };

typedef struct writer {
    FILE *file;
    uint64_t at;
    int bad;
    int is_shown;
    uint8_t *staged[2]; /* owned: an expert's weights and scales, or its bias */
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
    return part == WEIGHT ? 1
           : part == BIAS
               ? l->biased
               : l->group == 16 &&
                     layer_global_of(l, 0, GATE, part - SCALE) != NULL;
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

/* One kind (0 weight, 1 scale, 2 bias) of an expert's projection, row by row,
   in w->staged; the bytes of a row, 0 without memory. */
static uint64_t stage(writer *w, const moe_layer *l, int projection, int kind,
                      uint64_t e)
{
    static const shard whole = {
        .tp = 1, .ep = 1, .round_hidden = 1, .round_inter = 1};
    const int tensor = (projection == DOWN ? W2 : W13) + kind;
    uint8_t **to = &w->staged[kind == 1];
    char unused[64];
    layer_part p;
    row_run run[2];

    if (layer_part_of(l, &whole, &p, (mxo_text){unused, sizeof unused}) != 0) {
        return 0;
    }
    const int n = part_runs(l, &p, &whole, tensor, e, run);
    row_run *r = &run[projection == UP && n == 2];

    if (projection != DOWN && n == 1) { /* gates and ups in turn */
        r->rows /= 2;
        r->from += (uint64_t)projection * r->pitch;
        r->pitch *= 2;
    }
    free(*to);
    *to = malloc((size_t)(r->rows * r->bytes));
    if (*to == NULL) {
        return 0;
    }
    run_copy(*to, r->bytes, r);
    return r->bytes;
}

static void put_weights(writer *w, const moe_layer *l, int projection,
                        uint64_t e)
{
    const uint64_t pitch = stage(w, l, projection, 0, e);
    const uint64_t scale_pitch = stage(w, l, projection, 1, e);
    const uint64_t n = gguf_block_elements(l->group);
    const uint64_t n_scales = gguf_block_scales(l->group);
    uint8_t block[GGUF_BLOCK_BYTES];

    w->bad |= pitch == 0 || scale_pitch == 0;
    for (uint64_t r = 0; r < rows_of(l, projection) && !w->bad; r++) {
        const uint8_t *weight = w->staged[0] + r * pitch;
        const uint8_t *scale = w->staged[1] + r * scale_pitch;
        for (uint64_t b = 0; b < cols_of(l, projection) / n; b++) {
            gguf_block_pack(l->group, weight + b * n / 2, scale + b * n_scales,
                            block);
            put(w, block, gguf_block_bytes(l->group));
        }
    }
}

static void put_biases(writer *w, const moe_layer *l, int projection,
                       uint64_t e)
{
    const uint64_t pitch = stage(w, l, projection, 2, e);
    uint8_t wide[4];

    w->bad |= pitch == 0;
    for (uint64_t r = 0; r < rows_of(l, projection) && !w->bad; r++) {
        (void)bias_convert("F32", wide, l->bias_dtype,
                           w->staged[0] + r * pitch);
        put(w, wide, sizeof wide);
    }
}

static void put_tensor(writer *w, const moe_layer *l, int i)
{
    static const uint8_t zeros[GGUF_ALIGN];
    const int projection = i % PROJECTIONS;
    const int part = i / PROJECTIONS;

    for (uint64_t e = 0; e < l->experts && !w->bad; e++) {
        progress_show(&w->progress, w->at / MEGA, 0, NULL);
        w->bad = stop_requested();
        if (part >= SCALE) {
            const uint32_t bits = gguf_bits_of(l, e, projection, part - SCALE);
            put_number(w, gguf_factor_of(l->globals, bits), 4);
        } else {
            (part == BIAS ? put_biases : put_weights)(w, l, projection, e);
        }
    }
    put(w, zeros, aligned(w->at) - w->at);
}

static void describe_globals(const moe_layer *l, json_t *o)
{
    const int is_told =
        gguf_is_told(l->globals) && layer_global_of(l, 0, GATE, 0) != NULL;
    char *numbers = is_told ? gguf_numbers(l) : NULL;

    json_object_set_new(o, "globals", json_string(l->globals->scales));
    json_object_set_new(o, "global_rank", json_integer(l->global_rank));
    if (numbers != NULL) {
        json_object_set_new(o, "numbers", json_string(numbers));
    }
    free(numbers);
}

static json_t *describe_layer(const moe_layer *l, size_t place)
{
    json_t *o =
        json_pack("{s:I, s:s, s:s, s:s, s:s, s:s}", "block",
                  (json_int_t)gguf_block_number(l, place), "prefix", l->prefix,
                  "names", l->style->id, "weight_dtype", l->weight_dtype,
                  "scale_dtype", l->scale_dtype, "bias_dtype", l->bias_dtype);

    if (l->group == 16) {
        describe_globals(l, o);
    }
    if (l->style->is_transposed) {
        json_object_set_new(
            o, "rows",
            json_string(l->order == ROWS_IN_TURN ? "in_turn" : "halves"));
    }
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

/* A disk that is too small is found now, not after an hour. */
static void reserve(writer *w, uint64_t n_bytes)
{
    const int error = new_file_reserve(fileno(w->file), n_bytes);

    if (error != 0) {
        errno = error;
        w->bad = 1;
    }
}

static void put_all(writer *w, const layer_list *layers, const char *text)
{
    static const uint8_t zeros[GGUF_ALIGN];
    uint64_t n = 0;
    uint64_t offset = 0;

    for (size_t i = 0; i < layers->n; i++) {
        n += n_tensors(&layers->layer[i]);
    }
    progress_begin(&w->progress, 0, w->is_shown);
    w->progress.unit = " MB";
    put(w, "GGUF", 4);
    put_number(w, GGUF_VERSION, 4);
    put_number(w, n, 8);
    put_number(w, 4, 8);
    put_keys(w, layers, text);
    for (size_t i = 0; i < layers->n * ALL_PARTS; i++) {
        const moe_layer *l = &layers->layer[i / ALL_PARTS];
        if (has_tensor(l, (int)(i % ALL_PARTS))) {
            put_info(w, l, gguf_block_number(l, i / ALL_PARTS),
                     (int)(i % ALL_PARTS), &offset);
        }
    }
    put(w, zeros, aligned(w->at) - w->at);
    reserve(w, w->at + offset);
    progress_total(&w->progress, (w->at + offset) / MEGA);
    progress_tick(&w->progress);
    for (size_t i = 0; i < layers->n * ALL_PARTS && !w->bad; i++) {
        const moe_layer *l = &layers->layer[i / ALL_PARTS];
        if (has_tensor(l, (int)(i % ALL_PARTS))) {
            put_tensor(w, l, (int)(i % ALL_PARTS));
        }
    }
    progress_end(&w->progress);
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
        free(w.staged[0]);
        free(w.staged[1]);
    }
    free(text);
    return w.file == NULL || w.bad ? -1 : 0;
}

static int write_layers(const checkpoint *in, const layer_list *layers,
                        const char *path, int is_shown, mxo_text why)
{
    new_file out;
    int is_said = 0;

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

int gguf_from_checkpoint(const char *from, const char *path, row_order asked,
                         int is_shown, mxo_text why)
{
    layer_list layers = {0};
    checkpoint in;
    int bad;

    if (checkpoint_open(from, &in, why) != 0) {
        return -1;
    }
    bad = layers_find(&in, asked, &layers, why) != 0;
    if (!bad && checkpoint_holds(&in, path)) {
        (void)say(MXO_E_PARAM, why, "%.300s is one of the files of IN", path);
        bad = 1;
    } else if (!bad && layers.n == 0) {
        (void)say(MXO_E_SHAPE, why,
                  "the checkpoint has no layer of FP4 experts by any name "
                  "that is known");
        bad = 1;
    }
    bad = bad || gguf_check_layers(&layers, why) != 0;
    const int status =
        bad ? -1 : write_layers(&in, &layers, path, is_shown, why);

    layers_clear(&layers);
    checkpoint_close(&in);
    return status;
}
