/* SPDX-License-Identifier: Apache-2.0 */
/* From GGUF to a checkpoint; see gguf.h. */
#include "base/progress.h"
#include "base/say.h"
#include "block.h"
#include "convert/sink.h"
#include "files/json_walk.h"
#include "numbers.h"
#include "parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names and types of gpt-oss, or ModelOpt's of NVFP4, unless our own file
   tells others. */
static void name_block(gguf_block *b, uint64_t n)
{
    b->group = b->part[WEIGHT][GATE].type == GGUF_NVFP4 ? 16 : 32;
    b->style = layer_style(b->group == 16 ? "gate_up" : "gpt_oss");
    b->weight_dtype = "U8";
    b->scale_dtype = b->group == 16 ? "F8_E4M3" : "U8";
    b->bias_dtype = "BF16";
    b->globals = layer_global_style("modelopt");
    (void)snprintf(b->prefix, sizeof b->prefix, "model.layers.%llu%s",
                   (unsigned long long)n, b->group == 16 ? ".mlp.experts" : "");
}

/* Global scales that its style has, told where they are no factors. */
static int rename_globals(gguf_block *b, const json_t *o)
{
    const char *numbers = json_string_value(json_object_get(o, "numbers"));
    const json_int_t rank =
        json_integer_value(json_object_get(o, "global_rank"));
    const global_style *s =
        layer_global_style(json_string_value(json_object_get(o, "globals")));

    if (s == NULL || rank < 0 || rank > (b->style->is_split ? 1 : 2) ||
        (gguf_kinds(s) == 1) != b->style->is_stacked ||
        (numbers != NULL) !=
            (gguf_is_told(s) && (gguf_kinds(s) == 2 || rank != 0))) {
        return -1;
    }
    b->globals = s;
    b->global_rank = (uint32_t)rank;
    b->numbers = numbers == NULL ? NULL : strdup(numbers);
    return 0;
}

/* A style and its types, which belong to the block's. */
static int rename_style(gguf_block *b, const json_t *o)
{
    b->order = row_order_of(json_string_value(json_object_get(o, "rows")));
    const int is_mlx = b->style->is_stacked && b->group == 16;

    if (!layer_has_types(b->style, b->weight_dtype, b->scale_dtype) ||
        (b->style->is_transposed &&
         (b->order == ROWS_UNTOLD || b->group == 32))) {
        return -1;
    }
    free(b->numbers); /* a block may be told twice: the last word counts */
    b->numbers = NULL;
    return (is_mlx ? 16 : layer_group(b->scale_dtype)) != b->group ? -1
           : b->group == 16 ? rename_globals(b, o)
                            : 0;
}

/* A member of GGUF_LAYERS. */
static int rename_block(const gguf *g, const json_t *o)
{
    const json_t *number = json_object_get(o, "block");
    const json_int_t n = json_integer_value(number);
    const char *prefix = json_string_value(json_object_get(o, "prefix"));
    const char *style = json_string_value(json_object_get(o, "names"));
    const char *weight = layer_weight_dtype(
        json_string_value(json_object_get(o, "weight_dtype")));
    const char *scale =
        layer_scale_dtype(json_string_value(json_object_get(o, "scale_dtype")));
    const json_t *of_bias = json_object_get(o, "bias_dtype");
    const char *bias =
        of_bias == NULL ? "BF16" : layer_bias_dtype(json_string_value(of_bias));

    if (!json_is_integer(number) || n < 0 || n >= GGUF_BLOCKS ||
        prefix == NULL || prefix[0] == '\0' || strlen(prefix) >= 300 ||
        !say_is_printable(prefix) || style == NULL ||
        layer_style(style) == NULL || weight == NULL || scale == NULL ||
        bias == NULL) {
        return -1;
    }
    gguf_block *b = &g->block[n];

    b->style = layer_style(style);
    b->weight_dtype = weight;
    b->scale_dtype = scale;
    b->bias_dtype = bias;
    (void)snprintf(b->prefix, sizeof b->prefix, "%s", prefix);
    return rename_style(b, o);
}

static int name_blocks(const gguf *g)
{
    json_walk w = json_walk_begin(g->layers == NULL ? "[]" : g->layers,
                                  g->layers == NULL ? 2 : g->n_layers);
    int more = w.closer == ']' ? 1 : -1;

    for (uint64_t n = 0; n < GGUF_BLOCKS; n++) {
        name_block(&g->block[n], n);
    }
    while (more == 1 && (more = json_walk_next(&w)) == 1) {
        more = rename_block(g, json_walk_value(&w)) == 0 ? 1 : -1;
    }
    json_walk_end(&w);
    return more == 0 ? 0
                     : gguf_refuse(g, GGUF_LAYERS " names no blocks that any "
                                                  "file has");
}

/* Row r of an expert's projection as the checkpoint keeps it. */
static int take_row(const gguf *g, const gguf_block *b, int p, int kind,
                    uint64_t row, uint8_t *to)
{
    const uint64_t n = gguf_block_elements(b->group);
    const uint64_t n_scales = gguf_block_scales(b->group);
    const uint64_t n_bytes = gguf_block_bytes(b->group);
    const uint64_t blocks = (p == DOWN ? b->inter : b->hidden) / n;

    if (kind == 2) {
        const uint8_t *from =
            g->map + g->data + b->part[BIAS][p].offset + 4 * row;
        return bias_convert(b->bias_dtype, to, "F32", from);
    }
    const uint8_t *from =
        g->map + g->data + b->part[WEIGHT][p].offset + row * blocks * n_bytes;

    for (uint64_t k = 0; k < blocks; k++) {
        if (kind == 1) {
            memcpy(to + k * n_scales, from + k * n_bytes, (size_t)n_scales);
        } else {
            gguf_block_codes(b->group, from + k * n_bytes, to + k * n / 2);
        }
    }
    return 1;
}

/* Bytes of row r of n to where a style with rows on its last axis has them. */
static void turn_row(uint8_t *to, const uint8_t *row, uint64_t pitch,
                     uint64_t r, uint64_t n)
{
    for (uint64_t k = 0; k < pitch; k++) {
        to[k * n + r] = row[k];
    }
}

/* All of one expert's tensor i (W13 ..): its rows in the order of the style;
   behind it in to, room for a row. */
static void take_expert(const gguf *g, const gguf_block *b, int i, uint64_t e,
                        uint8_t *to)
{
    const int kind = i % W2;
    const int is_w13 = i < W2;
    const uint64_t cols = is_w13 ? b->hidden : b->inter;
    const uint64_t pitch = kind == 0   ? cols / 2
                           : kind == 1 ? cols / b->group
                                       : bias_bytes(b->bias_dtype);
    const uint64_t each = is_w13 ? b->inter : b->hidden;
    const uint64_t rows = is_w13 ? 2 * each : each;
    const int in_turn = b->style->is_interleaved || b->order == ROWS_IN_TURN;
    const int is_turned = b->style->is_transposed && kind != 2;
    uint8_t *row = to + rows * pitch;

    for (int p = is_w13 ? GATE : DOWN; p < (is_w13 ? DOWN : PROJECTIONS); p++) {
        for (uint64_t r = 0; r < each; r++) {
            const uint64_t at = !is_w13   ? r
                                : in_turn ? 2 * r + (uint64_t)p
                                          : (uint64_t)p * each + r;
            (void)take_row(g, b, p, kind, e * each + r,
                           is_turned ? row : to + at * pitch);
            if (is_turned) {
                turn_row(to, row, pitch, at, rows);
            }
        }
    }
}

static uint64_t expert_bytes(const gguf_block *b, int i)
{
    const uint64_t rows = i < W2 ? 2 * b->inter : b->hidden;
    const uint64_t cols = i < W2 ? b->hidden : b->inter;

    return i % W2 == 0   ? rows * cols / 2
           : i % W2 == 1 ? rows * (cols / b->group)
                         : bias_bytes(b->bias_dtype) * rows;
}

/* Biases come back in the type that the file names, else as BF16, or not at
   all. */
static int check_biases(const gguf *g, uint64_t n)
{
    const gguf_block *b = &g->block[n];
    char sentence[32];

    for (int p = 0; p < PROJECTIONS && b->biased; p++) {
        const uint64_t rows = b->experts * (p == DOWN ? b->hidden : b->inter);
        for (uint64_t r = 0; r < rows; r++) {
            uint8_t number[4];
            if (r % GGUF_STOP_EVERY == 0 && gguf_stopped(g->why)) {
                return -1;
            }
            if (!take_row(g, b, p, 2, r, number)) {
                (void)snprintf(sentence, sizeof sentence, "does not fit %s",
                               b->bias_dtype);
                return gguf_complain(g, n, p, BIAS, sentence);
            }
        }
    }
    return 0;
}

static const char *dtype_of(const gguf_block *b, int i)
{
    return i % W2 == 0   ? b->weight_dtype
           : i % W2 == 1 ? b->scale_dtype
                         : b->bias_dtype;
}

static int add_fused(sink *s, const gguf_block *b, int i)
{
    const uint64_t rows = i < W2 ? 2 * b->inter : b->hidden;
    const uint64_t pitch = expert_bytes(b, i) / rows;
    const int blocked = b->style->has_blocks && i % W2 == 0;
    const int turned = b->style->is_transposed && i % W2 != 2;
    const uint64_t plain[3] = {b->experts, turned ? pitch : rows,
                               turned ? rows : pitch};
    const uint64_t blocks[4] = {b->experts, rows, pitch / 16, 16};
    char name[2 * NAME_ROOM];

    (void)snprintf(name, sizeof name, "%s%s", b->prefix, b->style->fused[i]);
    return sink_add(s, name, dtype_of(b, i),
                    i % W2 == 2 ? 2u
                    : blocked   ? 4u
                                : 3u,
                    blocked ? blocks : plain,
                    b->experts * rows * pitch) == SIZE_MAX;
}

static int add_split(sink *s, const gguf_block *b, int i)
{
    const uint64_t rows = i < W2 ? b->inter : b->hidden;
    const uint64_t pitch =
        expert_bytes(b, i) / (i < W2 ? 2 * b->inter : b->hidden);
    const int stacked = b->style->is_stacked;
    const uint64_t n = stacked ? b->experts : 1;
    const uint64_t cols = stacked && i % W2 == 0 ? pitch / 4 : pitch;
    const uint64_t shape[3] = {n, rows, cols};
    int bad = 0;

    for (uint64_t e = 0; e < b->experts && !bad; e += n) {
        for (int p = i < W2 ? GATE : DOWN; p < (i < W2 ? DOWN : PROJECTIONS);
             p++) {
            char name[2 * NAME_ROOM];
            layer_split_name(b->style, b->prefix, e, p, i % W2, name,
                             sizeof name);
            bad |= sink_add(s, name, dtype_of(b, i),
                            (i % W2 == 2 ? 1u : 2u) + (stacked != 0),
                            stacked ? shape : shape + 1,
                            n * rows * pitch) == SIZE_MAX;
        }
    }
    return bad;
}

static moe_layer layer_of(gguf_block *b)
{
    return (moe_layer){
        .prefix = b->prefix, .style = b->style, .experts = b->experts};
}

/* Of a tensor of global scales: rank and shape. */
static uint32_t global_shape(const gguf_block *b, uint64_t i, uint64_t shape[2])
{
    const name_style *s = b->style;
    const int is_one = !s->is_stacked && (s->is_split || s->is_transposed);

    shape[0] = is_one ? 1 : b->experts;
    shape[1] = 2;
    return is_one ? b->global_rank : !s->is_stacked && i < 2 ? 2 : 1;
}

/* Number k of a tensor of global scales. */
static uint32_t global_at(const gguf *g, const gguf_block *b, uint64_t i,
                          uint64_t k)
{
    const int of_w2 = i < 2 ? GATE : DOWN;

    if (b->style->is_stacked) {
        return gguf_global(g, b, k, (int)i, 0);
    }
    if (b->style->is_split) {
        return gguf_global(g, b, i / 6, (int)(i / 2 % 3), (int)(i % 2));
    }
    return b->style->is_transposed ? gguf_global(g, b, 0, of_w2, (int)(i % 2))
           : i < 2 ? gguf_global(g, b, k / 2, (int)(k % 2), (int)(i % 2))
                   : gguf_global(g, b, k, DOWN, (int)(i % 2));
}

/* How many tensors hold global scales. */
static uint64_t n_globals(gguf_block *b)
{
    const moe_layer l = layer_of(b);

    return gguf_has_part(b, SCALE) ? layer_globals(&l) : 0;
}

static int add_globals(sink *s, gguf_block *b)
{
    const moe_layer l = layer_of(b);
    int bad = 0;

    for (uint64_t i = 0; i < n_globals(b); i++) {
        char name[2 * NAME_ROOM];
        uint64_t shape[2];
        const uint32_t rank = global_shape(b, i, shape);
        const uint64_t n = rank == 2 ? 2 * shape[0] : shape[0];
        layer_global_name(&l, b->globals, i, name, sizeof name);
        bad |= sink_add(s, name, "F32", rank, shape, 4 * n) == SIZE_MAX;
    }
    return bad;
}

static int is_there(const gguf *g, uint64_t n)
{
    int there = g->block[n].is_fused;

    for (int i = 0; i < PARTS * PROJECTIONS; i++) {
        there |= g->block[n].part[i / PROJECTIONS][i % PROJECTIONS].present;
    }
    return there;
}

static int plan(const gguf *g, sink *s)
{
    size_t found = 0;

    if (name_blocks(g) != 0) {
        return -1;
    }
    for (uint64_t n = 0; n < GGUF_BLOCKS; n++) {
        gguf_block *b = &g->block[n];
        if (!is_there(g, n)) {
            continue;
        }
        found++;
        if (gguf_check_block(g, n) != 0 || check_biases(g, n) != 0) {
            return -1;
        }
        for (int i = 0; i < LAYER_TENSORS; i++) {
            if ((i % W2 != 2 || b->biased) &&
                (b->style->is_split ? add_split(s, b, i)
                                    : add_fused(s, b, i))) {
                return gguf_refuse(g, "no memory");
            }
        }
        if (add_globals(s, b) != 0) {
            return gguf_refuse(g, "no memory");
        }
    }
    return found > 0 ? 0 : gguf_refuse(g, "has no tensors of experts");
}

/* One expert's tensor into one tensor of the sink, or its two halves. */
static int put_expert(const gguf *g, const gguf_block *b, sink *s, int i,
                      uint64_t e, size_t at, uint8_t *bytes)
{
    const uint64_t n = expert_bytes(b, i);
    const uint64_t half = n / 2;

    take_expert(g, b, i, e, bytes);
    if (!b->style->is_split) {
        return sink_put(s, at, e * n, bytes, n, NULL, g->why);
    }
    const int stacked = b->style->is_stacked;
    const size_t first = stacked ? 0 : (size_t)e;

    if (i >= W2) {
        return sink_put(s, at + first, stacked ? e * n : 0, bytes, n, NULL,
                        g->why);
    }
    const uint64_t from = stacked ? e * half : 0;

    return sink_put(s, at + 2 * first, from, bytes, half, NULL, g->why) != 0
               ? -1
               : sink_put(s, at + 2 * first + 1, from, bytes + half, half, NULL,
                          g->why);
}

static int put_globals(const gguf *g, gguf_block *b, sink *s, size_t *at)
{
    for (uint64_t i = 0; i < n_globals(b); i++) {
        uint64_t shape[2];
        const uint32_t rank = global_shape(b, i, shape);
        const uint64_t n = rank == 2 ? 2 * shape[0] : shape[0];
        for (uint64_t k = 0; k < n; k++) {
            const uint32_t bits = global_at(g, b, i, k);
            const uint8_t x[4] = {(uint8_t)bits, (uint8_t)(bits >> 8),
                                  (uint8_t)(bits >> 16), (uint8_t)(bits >> 24)};
            if (sink_put(s, *at, 4 * k, x, 4, NULL, g->why) != 0) {
                return -1;
            }
        }
        ++*at;
    }
    return 0;
}

static int put_block(const gguf *g, gguf_block *b, sink *s, size_t *at,
                     progress *p)
{
    for (int i = 0; i < LAYER_TENSORS; i++) {
        if (i % W2 == 2 && !b->biased) {
            continue;
        }
        uint8_t *bytes = malloc((size_t)(2 * expert_bytes(b, i)));
        int bad = bytes == NULL;
        for (uint64_t e = 0; e < b->experts && !bad; e++) {
            progress_show(p, s->done / MEGA, 0, NULL);
            bad = gguf_stopped(g->why) ||
                  put_expert(g, b, s, i, e, *at, bytes) != 0;
        }
        free(bytes);
        if (bad) {
            return -1;
        }
        *at += (size_t)layer_n_tensors(b->style, i, b->experts);
    }
    return put_globals(g, b, s, at);
}

static int put_blocks(const gguf *g, sink *s, progress *p)
{
    size_t at = 0;

    for (uint64_t n = 0; n < GGUF_BLOCKS; n++) {
        if (is_there(g, n) && put_block(g, &g->block[n], s, &at, p) != 0) {
            return -1;
        }
    }
    return 0;
}

static int put_all(const gguf *g, sink *s, int is_shown)
{
    progress p;

    progress_begin(&p, s->n_bytes / MEGA, is_shown);
    p.unit = " MB";
    progress_tick(&p);
    const int status = put_blocks(g, s, &p);

    progress_end(&p);
    return status;
}

int gguf_read(const char *from, const char *path, int is_shown, mxo_text why)
{
    gguf g = {.path = from, .align = GGUF_ALIGN, .why = why};
    json_t *metadata = json_pack("{s:s}", "format", "pt");
    sink s;
    int status;

    memset(&s, 0, sizeof s);
    if (gguf_open(&g) != 0 || plan(&g, &s) != 0) {
        status = -1;
    } else {
        status = sink_create(&s, path, metadata, why) != 0 ||
                 put_all(&g, &s, is_shown) != 0 ||
                 (mapped_has_changed(g.file) &&
                  gguf_refuse(&g, "has changed while it was read") != 0) ||
                 sink_finish(&s, why) != 0;
    }
    sink_close(&s);
    gguf_close(&g);
    json_decref(metadata);
    return status;
}
