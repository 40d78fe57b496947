/* SPDX-License-Identifier: Apache-2.0 */
/* From GGUF to a checkpoint; see gguf.h. */
#include "base/progress.h"
#include "base/say.h"
#include "block.h"
#include "convert/sink.h"
#include "divisors.h"
#include "files/json_walk.h"
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
    (void)snprintf(b->prefix, sizeof b->prefix, "model.layers.%llu%s",
                   (unsigned long long)n, b->group == 16 ? ".mlp.experts" : "");
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
    const json_int_t global_rank =
        json_integer_value(json_object_get(o, "global_rank"));
    const char *divisors = json_string_value(json_object_get(o, "divisors"));

    if (!json_is_integer(number) || n < 0 || n >= GGUF_BLOCKS ||
        prefix == NULL || prefix[0] == '\0' || strlen(prefix) >= 300 ||
        !say_is_printable(prefix) || style == NULL ||
        layer_style(style) == NULL || weight == NULL || scale == NULL ||
        bias == NULL || global_rank < 0 || global_rank > 1) {
        return -1;
    }
    gguf_block *b = &g->block[n];

    if (layer_group(scale) != b->group ||
        (b->group == 16 &&
         (!layer_style(style)->is_split || layer_style(style)->is_stacked))) {
        return -1;
    }
    b->style = layer_style(style);
    b->weight_dtype = weight;
    b->scale_dtype = scale;
    b->bias_dtype = bias;
    b->global_rank = (uint32_t)global_rank;
    free(b->divisors); /* a block may be told twice: the last word counts */
    b->divisors = divisors == NULL ? NULL : strdup(divisors);
    (void)snprintf(b->prefix, sizeof b->prefix, "%s", prefix);
    return 0;
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

/* All of one expert's tensor i (W13 ..): its rows in the order of the style. */
static int take_expert(const gguf *g, const gguf_block *b, int i, uint64_t e,
                       uint8_t *to)
{
    const int kind = i % W2;
    const int is_w13 = i < W2;
    const uint64_t cols = is_w13 ? b->hidden : b->inter;
    const uint64_t pitch = kind == 0   ? cols / 2
                           : kind == 1 ? cols / b->group
                                       : bias_bytes(b->bias_dtype);
    const uint64_t each = is_w13 ? b->inter : b->hidden;
    int exact = 1;

    for (int p = is_w13 ? GATE : DOWN; p < (is_w13 ? DOWN : PROJECTIONS); p++) {
        for (uint64_t r = 0; r < each; r++) {
            const uint64_t at = !is_w13 ? r
                                : b->style->is_interleaved
                                    ? 2 * r + (uint64_t)p
                                    : (uint64_t)p * each + r;
            exact &= take_row(g, b, p, kind, e * each + r, to + at * pitch);
        }
    }
    return exact;
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
    const uint64_t plain[3] = {b->experts, rows, pitch};
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

/* Global scales as they were, or as ModelOpt's, in the order of put_factors().
 */
static int add_factors(sink *s, gguf_block *b)
{
    const moe_layer l = {
        .prefix = b->prefix, .style = b->style, .experts = b->experts};
    const global_style *names = layer_global_style(
        b->divisors != NULL ? "compressed_tensors" : "modelopt");
    const uint64_t one = 1;
    int bad = 0;

    for (uint64_t i = 0; i < layer_globals(&l) && b->group == 16; i++) {
        char name[2 * NAME_ROOM];
        layer_global_name(&l, names, i, name, sizeof name);
        bad |= sink_add(s, name, "F32", b->global_rank, &one, 4) == SIZE_MAX;
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
        if (add_factors(s, b) != 0) {
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

    (void)take_expert(g, b, i, e, bytes);
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

/* How many tensors of the sink are tensor i of a block. */
static size_t n_made(const gguf_block *b, int i)
{
    return b->style->is_split
               ? (i < W2 ? 2 : 1) *
                     (b->style->is_stacked ? 1 : (size_t)b->experts)
               : 1;
}

static int put_factors(const gguf *g, const gguf_block *b, sink *s, size_t *at)
{
    const uint64_t n = b->experts * 6;

    for (uint64_t i = 0; i < n && b->group == 16; i++) {
        uint32_t bits = gguf_factor(g, b, i);
        uint8_t x[4];
        bits = b->divisors != NULL ? gguf_divisor(b->divisors, n, i) : bits;
        for (int k = 0; k < 4; k++) {
            x[k] = (uint8_t)(bits >> (8 * k));
        }
        if (sink_put(s, (*at)++, 0, x, 4, NULL, g->why) != 0) {
            return -1;
        }
    }
    return 0;
}

static int put_block(const gguf *g, const gguf_block *b, sink *s, size_t *at,
                     progress *p)
{
    for (int i = 0; i < LAYER_TENSORS; i++) {
        if (i % W2 == 2 && !b->biased) {
            continue;
        }
        uint8_t *bytes = malloc((size_t)expert_bytes(b, i));
        int bad = bytes == NULL;
        for (uint64_t e = 0; e < b->experts && !bad; e++) {
            progress_show(p, s->done / 1000, 0, NULL);
            bad = gguf_stopped(g->why) ||
                  put_expert(g, b, s, i, e, *at, bytes) != 0;
        }
        free(bytes);
        if (bad) {
            return -1;
        }
        *at += n_made(b, i);
    }
    return put_factors(g, b, s, at);
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

    progress_begin(&p, s->n_bytes / 1000, is_shown);
    p.unit = " kB";
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
