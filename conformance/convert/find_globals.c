/* SPDX-License-Identifier: Apache-2.0 */
/* The global scales of an NVFP4 layer in a checkpoint; see globals.def. */
#include "layers.h"

#include "base/memory.h"
#include "base/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = 640 };

static const global_style styles[] = {
#define MXO_GLOBALS(scales, weight, input) {scales, {weight, input}},
#include "globals.def"
#undef MXO_GLOBALS
};

enum { N_STYLES = (int)(sizeof styles / sizeof styles[0]) };

/* MLX: what a tensor's largest magnitude was, and nothing of the input. */
static const global_style stacked = {"mlx", {"global_scale", "input_scale"}};

const global_style *layer_global_style(const char *scales)
{
    if (scales != NULL && strcmp(scales, stacked.scales) == 0) {
        return &stacked;
    }
    for (int i = 0; scales != NULL && i < N_STYLES; i++) {
        if (strcmp(styles[i].scales, scales) == 0) {
            return &styles[i];
        }
    }
    return NULL;
}

const char *layer_scale_name(const moe_layer *l)
{
    return l->style->is_split ? l->split[1]->name : l->fused[W13_SCALE]->name;
}

uint64_t layer_globals(const moe_layer *l)
{
    return l->style->is_stacked ? 3 : l->style->is_split ? l->experts * 6 : 4;
}

void layer_global_name(const moe_layer *l, const global_style *s, uint64_t i,
                       char *name, size_t room)
{
    const char *kind = s->kind[i % 2];

    if (l->style->is_stacked) {
        (void)snprintf(name, room, "%s.%s.%s", l->prefix,
                       l->style->projection[i], s->kind[0]);
    } else if (l->style->is_split) {
        (void)snprintf(name, room, "%s.%llu.%s.%s", l->prefix,
                       (unsigned long long)(i / 6),
                       l->style->projection[i / 2 % 3], kind);
    } else if (l->style->is_transposed) {
        (void)snprintf(name, room, "%s%s_%s", l->prefix,
                       l->style->fused[i < 2 ? W13 : W2], kind);
    } else {
        (void)snprintf(name, room, "%s.%s_%s", l->prefix, i < 2 ? "w13" : "w2",
                       kind);
    }
}

const checkpoint_tensor *layer_global_tensor(const moe_layer *l, uint64_t e,
                                             int projection, int kind)
{
    const uint64_t p = (uint64_t)projection;
    const uint64_t of_input = (uint64_t)kind;

    if (l->style->is_stacked) {
        return kind == 0 ? l->global[p] : NULL;
    }
    return l->global[l->style->is_split ? (e * 3 + p) * 2 + of_input
                                        : 2 * (uint64_t)(p == 2) + of_input];
}

const uint8_t *layer_global_of(const moe_layer *l, uint64_t e, int projection,
                               int kind)
{
    const checkpoint_tensor *t = layer_global_tensor(l, e, projection, kind);
    const int is_one = !l->style->is_stacked &&
                       (l->style->is_split || l->style->is_transposed);
    const int has_pairs = !l->style->is_stacked && projection != 2;
    const uint64_t at = is_one      ? 0
                        : has_pairs ? 2 * e + (uint64_t)projection
                                    : e;

    return t == NULL ? NULL : t->bytes + 4 * at;
}

static uint32_t bits_at(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

/* One F32 per expert and projection, of a transposed layer one for all
   experts, every one a positive number. */
static int check_global(const moe_layer *l, uint64_t i,
                        const checkpoint_tensor *t, mxo_text why)
{
    const int is_stack = l->style->is_stacked;
    const int is_one =
        !is_stack && (l->style->is_split || l->style->is_transposed);
    const uint64_t shape[2] = {is_one ? 1 : l->experts, 2};
    const int has_pairs = !is_one && !is_stack && i < 2;
    const uint32_t rank = is_one ? l->global_rank != 0 : has_pairs ? 2 : 1;
    const uint64_t n = has_pairs ? 2 * shape[0] : shape[0];
    char is[96];
    char want[96];

    if (strcmp(t->dtype, "F32") != 0 || t->rank != rank ||
        memcmp(t->shape, shape, rank * sizeof shape[0]) != 0) {
        layer_describe(is, t->dtype, t->rank, t->shape);
        layer_describe(want, "F32", rank, shape);
        (void)say(MXO_E_SHAPE, why,
                  "%.300s is %s, not %s: a global scale is one F32 for each "
                  "%sprojection",
                  t->name, is, want,
                  l->style->is_transposed ? "" : "expert and ");
        return -1;
    }
    for (uint64_t k = 0; k < n; k++) {
        const uint32_t x = bits_at(t->bytes + 4 * k);
        if (x == 0 || x >= 0x7f800000u) {
            (void)say(MXO_E_SHAPE, why,
                      "%.300s holds %08x, which is no positive number", t->name,
                      x);
            return -1;
        }
    }
    return 0;
}

/* The names under which the first scales are; NULL and a sentence if there
   are none, or two of them. */
static const global_style *style_of(const checkpoint *c, const moe_layer *l,
                                    mxo_text why)
{
    const global_style *found = NULL;
    char first[NAME_ROOM] = "";

    for (int k = 0; k < N_STYLES; k++) {
        for (uint64_t i = 0; i < layer_globals(l); i++) {
            char name[NAME_ROOM];
            layer_global_name(l, &styles[k], i, name, sizeof name);
            if (checkpoint_find(c, name) == NULL || found == &styles[k]) {
                continue;
            }
            if (found != NULL) {
                (void)say(MXO_E_SHAPE, why,
                          "%.250s and %.250s are global scales of two kinds",
                          first, name);
                return NULL;
            }
            found = &styles[k];
            memcpy(first, name, sizeof first);
        }
    }
    if (found == NULL) {
        layer_global_name(l, &styles[0], 0, first, sizeof first);
        (void)say(MXO_E_SHAPE, why,
                  "%.300s is missing: NVFP4 weights have a global scale",
                  first);
    }
    return found;
}

/* A global scale of each projection, or of none. */
static int find_stacked(const checkpoint *c, moe_layer *l, mxo_text why)
{
    char name[NAME_ROOM];

    l->globals = &stacked;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
    l->global = memory_need_zeros((size_t)layer_globals(l), sizeof *l->global);
    for (uint64_t i = 0; i < layer_globals(l); i++) {
        layer_global_name(l, l->globals, i, name, sizeof name);
        l->global[i] = checkpoint_find(c, name);
        l->global_rank |= l->global[i] != NULL;
    }
    for (uint64_t i = 0; l->global_rank != 0 && i < layer_globals(l); i++) {
        layer_global_name(l, l->globals, i, name, sizeof name);
        if (l->global[i] == NULL) {
            (void)say(MXO_E_SHAPE, why,
                      "%.300s is missing: MLX has a global scale of each "
                      "projection, or none",
                      name);
            return -1;
        }
        if (check_global(l, i, l->global[i], why) != 0) {
            return -1;
        }
    }
    return 0;
}

int layer_find_globals(const checkpoint *c, moe_layer *l, mxo_text why)
{
    if (l->style->is_stacked) {
        return find_stacked(c, l, why);
    }
    l->globals = style_of(c, l, why);
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
    l->global = memory_need_zeros((size_t)layer_globals(l), sizeof *l->global);
    if (l->globals == NULL) {
        return -1;
    }
    for (uint64_t i = 0; i < layer_globals(l); i++) {
        char name[NAME_ROOM];
        layer_global_name(l, l->globals, i, name, sizeof name);
        l->global[i] = checkpoint_find(c, name);
        if (l->global[i] == NULL) {
            (void)say(MXO_E_SHAPE, why,
                      "%.300s is missing: NVFP4 layers have a global scale of "
                      "each projection's weights and of its input",
                      name);
            return -1;
        }
        l->global_rank = i == 0 ? l->global[0]->rank : l->global_rank;
        if (check_global(l, i, l->global[i], why) != 0) {
            return -1;
        }
    }
    return 0;
}
