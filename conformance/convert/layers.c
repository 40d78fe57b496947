/* SPDX-License-Identifier: Apache-2.0 */
/* Recognising layers by name and checking that their sizes agree. */
#include "layers.h"

#include "../say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = 512, PROJECTIONS = 3, KINDS = 3 };

#define MXO_FUSED(id, interleaved, blocks, w13, w13_scale, w13_bias, w2,       \
                  w2_scale, w2_bias)                                           \
    {id, 0, interleaved, blocks,                                               \
     {w13, w13_scale, w13_bias, w2, w2_scale, w2_bias}, {0}, {0}},
#define MXO_SPLIT(id, gate, up, down, weight, scale, bias)                     \
    {id, 1, 0, 0, {0}, {gate, up, down}, {weight, scale, bias}},
static const name_style styles[] = {
#include "names.def"
};
#undef MXO_SPLIT
#undef MXO_FUSED

enum { N_STYLES = (int)(sizeof styles / sizeof styles[0]) };

const name_style *layer_style(const char *id)
{
    for (int i = 0; i < N_STYLES; i++) {
        if (strcmp(styles[i].id, id) == 0) {
            return &styles[i];
        }
    }
    return NULL;
}

static int complain(mxo_text why, const moe_layer *l, const char *sentence)
{
    (void)say(MXO_E_SHAPE, why, "layer %.200s: %s", l->prefix, sentence);
    return -1;
}

static const checkpoint_tensor *named(const checkpoint *c, const char *prefix,
                                      const char *suffix)
{
    char name[NAME_ROOM];
    const int n = snprintf(name, sizeof name, "%s%s", prefix, suffix);

    return n < NAME_ROOM ? checkpoint_find(c, name) : NULL;
}

static const checkpoint_tensor *of_expert(const checkpoint *c,
                                          const moe_layer *l, uint64_t e,
                                          int projection, int kind)
{
    char suffix[NAME_ROOM];

    (void)snprintf(suffix, sizeof suffix, ".%llu.%s.%s", (unsigned long long)e,
                   l->style->projection[projection], l->style->kind[kind]);
    return named(c, l->prefix, suffix);
}

/* Elements after the first n axes. */
static uint64_t tail(const checkpoint_tensor *t, uint32_t n)
{
    uint64_t product = 1;

    for (uint32_t i = n; i < t->rank; i++) {
        product *= t->shape[i];
    }
    return product;
}

/* Is t an array of these bytes, [experts][rows][row_bytes]? */
static int has_size(const checkpoint_tensor *t, const char *dtypes,
                    uint64_t experts, uint64_t rows, uint64_t row_bytes)
{
    return strstr(dtypes, t->dtype) != NULL &&
           t->n_bytes == experts * rows * row_bytes;
}

static int check_fused(moe_layer *l, mxo_text why)
{
    const checkpoint_tensor *const *t = l->fused;

    for (int i = 0; i < LAYER_TENSORS; i++) {
        const int is_bias = i == W13_BIAS || i == W2_BIAS;
        if (t[i] == NULL && !(is_bias && t[W13_BIAS] == t[W2_BIAS])) {
            return complain(why, l, "a weight, scale or bias is missing");
        }
    }
    if (t[W13]->rank < 3 || t[W2]->rank < 3 || t[W13]->shape[1] % 2 != 0) {
        return complain(why, l, "the weights have the wrong rank or rows");
    }
    l->experts = t[W13]->shape[0];
    l->inter = t[W13]->shape[1] / 2;
    l->hidden = t[W2]->shape[1];
    l->biased = t[W13_BIAS] != NULL;
    if (t[W2]->shape[0] != l->experts) {
        return complain(why, l, "w13 and w2 have different numbers of experts");
    }
    if (l->hidden % 32 != 0 || l->inter % 32 != 0 ||
        tail(t[W13], 2) != l->hidden / 2 || tail(t[W2], 2) != l->inter / 2) {
        return complain(why, l, "the sizes of w13 and w2 disagree");
    }
    const uint64_t n = l->experts;
    const int good =
        has_size(t[W13], "U8", n, 2 * l->inter, l->hidden / 2) &&
        has_size(t[W2], "U8", n, l->hidden, l->inter / 2) &&
        has_size(t[W13_SCALE], "U8 F8_E8M0", n, 2 * l->inter, l->hidden / 32) &&
        has_size(t[W2_SCALE], "U8 F8_E8M0", n, l->hidden, l->inter / 32) &&
        (!l->biased || (has_size(t[W13_BIAS], "BF16", n, 2 * l->inter, 2) &&
                        has_size(t[W2_BIAS], "BF16", n, l->hidden, 2)));

    return good ? 0
                : complain(why, l, "a scale or bias has the wrong size or "
                                   "dtype");
}

static int check_split(const checkpoint *c, moe_layer *l, mxo_text why)
{
    const checkpoint_tensor *gate = of_expert(c, l, 0, 0, 0);

    while (of_expert(c, l, l->experts, 0, 0) != NULL) {
        l->experts++;
    }
    l->split = calloc((size_t)l->experts, 9 * sizeof *l->split);
    if (l->split == NULL || gate->rank != 2) {
        return complain(why, l, "the weights are no matrices");
    }
    l->inter = gate->shape[0];
    l->hidden = gate->shape[1] * 2;
    l->biased = of_expert(c, l, 0, 0, 2) != NULL;
    if (l->hidden % 32 != 0 || l->inter % 32 != 0) {
        return complain(why, l, "its sizes are no multiples of 32");
    }
    for (uint64_t i = 0; i < 9 * l->experts; i++) {
        const int projection = (int)(i / KINDS % PROJECTIONS);
        const int kind = (int)(i % KINDS);
        const uint64_t rows = projection == 2 ? l->hidden : l->inter;
        const uint64_t cols = projection == 2 ? l->inter : l->hidden;
        const uint64_t bytes[KINDS] = {cols / 2, cols / 32, 2};
        static const char *const dtypes[KINDS] = {"U8", "U8 F8_E8M0", "BF16"};
        const checkpoint_tensor *t = of_expert(c, l, i / 9, projection, kind);

        l->split[i] = t;
        if (t == NULL ? kind < 2 || l->biased
                      : !has_size(t, dtypes[kind], 1, rows, bytes[kind])) {
            return complain(why, l, "a tensor of an expert is missing or has "
                                    "the wrong size");
        }
    }
    return 0;
}

/* Where the prefix of a layer ends in the name of its first weight. */
static size_t prefix_length(const name_style *s, const char *name)
{
    char suffix[NAME_ROOM];
    const size_t n = strlen(name);

    if (s->is_split) {
        (void)snprintf(suffix, sizeof suffix, ".0.%s.%s", s->projection[0],
                       s->kind[0]);
    } else {
        (void)snprintf(suffix, sizeof suffix, "%s", s->fused[W13]);
    }
    const size_t m = strlen(suffix);

    return n > m && n < NAME_ROOM && strcmp(name + n - m, suffix) == 0 ? n - m
                                                                       : 0;
}

static int add_layer(const checkpoint *c, layer_list *list,
                     const name_style *style, const char *name, size_t prefix,
                     mxo_text why)
{
    moe_layer *grown =
        realloc(list->layer, (list->n + 1) * sizeof *list->layer);

    if (grown == NULL) {
        (void)say(MXO_E_NOMEM, why, "no memory");
        return -1;
    }
    list->layer = grown;
    moe_layer *l = &grown[list->n];

    memset(l, 0, sizeof *l);
    l->style = style;
    l->prefix = strndup(name, prefix);
    if (l->prefix == NULL) {
        (void)say(MXO_E_NOMEM, why, "no memory");
        return -1;
    }
    list->n++;
    if (style->is_split) {
        return check_split(c, l, why);
    }
    for (int i = 0; i < LAYER_TENSORS; i++) {
        l->fused[i] = named(c, l->prefix, style->fused[i]);
    }
    return check_fused(l, why);
}

int layers_find(const checkpoint *c, layer_list *list, mxo_text why)
{
    memset(list, 0, sizeof *list);
    for (size_t i = 0; i < c->n; i++) {
        for (int k = 0; k < N_STYLES; k++) {
            const size_t prefix = prefix_length(&styles[k], c->tensor[i].name);
            if (prefix > 0 && add_layer(c, list, &styles[k],
                                        c->tensor[i].name, prefix, why) != 0) {
                layers_clear(list);
                return -1;
            }
        }
    }
    return 0;
}

void layers_clear(layer_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->layer[i].prefix);
        free(list->layer[i].split);
    }
    free(list->layer);
    memset(list, 0, sizeof *list);
}

int layers_own(const layer_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++) {
        const moe_layer *l = &list->layer[i];
        for (int k = 0; k < LAYER_TENSORS; k++) {
            if (l->fused[k] != NULL && strcmp(l->fused[k]->name, name) == 0) {
                return 1;
            }
        }
        for (uint64_t k = 0; l->split != NULL && k < 9 * l->experts; k++) {
            if (l->split[k] != NULL && strcmp(l->split[k]->name, name) == 0) {
                return 1;
            }
        }
    }
    return 0;
}
