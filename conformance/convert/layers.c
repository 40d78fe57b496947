/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of a checkpoint, and that their sizes agree. */
#include "layers.h"

#include "base/memory.h"
#include "base/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_ROOM = 512, PROJECTIONS = 3, KINDS = 3 };

static const char *one_of(const char *const *known, int n, const char *text)
{
    for (int i = 0; text != NULL && i < n; i++) {
        if (strcmp(text, known[i]) == 0) {
            return known[i];
        }
    }
    return NULL;
}

const char *layer_weight_dtype(const char *text)
{
    static const char *const known[] = {"U8", "I8", "U32"};

    return one_of(known, 3, text);
}

int layer_has_types(const name_style *s, const char *weight_dtype,
                    const char *scale_dtype)
{
    return s->is_stacked ? strcmp(weight_dtype, "U32") == 0 &&
                               strcmp(scale_dtype, "U8") == 0
                         : strcmp(weight_dtype, "U32") != 0;
}

uint64_t layer_n_tensors(const name_style *s, int i, uint64_t experts)
{
    if (!s->is_split) {
        return 1;
    }
    return (i < W2 ? 2 : 1) * (s->is_stacked ? 1 : experts);
}

const char *layer_scale_dtype(const char *text)
{
    static const char *const known[] = {"U8", "F8_E8M0", "F8_E4M3"};

    return one_of(known, 3, text);
}

uint64_t layer_group(const char *scale_dtype)
{
    return strcmp(scale_dtype, "F8_E4M3") == 0 ? 16 : 32;
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
    char name[2 * NAME_ROOM];

    layer_split_name(l->style, l->prefix, e, projection, kind, name,
                     sizeof name);
    return checkpoint_find(c, name);
}

void layer_describe(char text[96], const char *dtype, uint32_t rank,
                    const uint64_t *shape)
{
    int n = snprintf(text, 96, "%.24s[", dtype);

    for (uint32_t i = 0; i < rank && n < 80; i++) {
        n += snprintf(text + n, 96 - (size_t)n, "%s%llu", i == 0 ? "" : ",",
                      (unsigned long long)shape[i]);
    }
    (void)snprintf(text + (n < 94 ? n : 94), 2, "]");
}

/* Required type and shape of a tensor. */
typedef struct wanted {
    const char *dtype;
    uint32_t rank;
    uint64_t shape[4];
} wanted;

static int check_tensor(const moe_layer *l, const char *suffix,
                        const checkpoint_tensor *t, const wanted *w,
                        mxo_text why)
{
    char is[96];
    char want[96];

    if (t == NULL) {
        (void)say(MXO_E_SHAPE, why, "layer %.200s: %.100s is missing",
                  l->prefix, suffix);
        return -1;
    }
    if (strcmp(t->dtype, w->dtype) == 0 && t->rank == w->rank &&
        memcmp(t->shape, w->shape, w->rank * sizeof w->shape[0]) == 0) {
        return 0;
    }
    layer_describe(is, t->dtype, t->rank, t->shape);
    layer_describe(want, w->dtype, w->rank, w->shape);
    (void)say(MXO_E_SHAPE, why, "layer %.200s: %.100s is %s, not %s", l->prefix,
              suffix, is, want);
    return -1;
}

/* Tensor i of a layer of these sizes, of all experts or (split) of one. */
static wanted tensor_wanted(const moe_layer *l, int i)
{
    const uint64_t rows = i < W2 ? 2 * l->inter : l->hidden;
    const uint64_t cols = i < W2 ? l->hidden : l->inter;

    if (i % W2 == 2) {
        return (wanted){l->bias_dtype, 2, {l->experts, rows, 0, 0}};
    }
    if (l->style->is_transposed) {
        return (wanted){
            i % W2 == 0 ? l->weight_dtype : l->scale_dtype,
            3,
            {l->experts, cols / (i % W2 == 0 ? 2 : l->group), rows, 0}};
    }
    if (i % W2 == 1) {
        return (wanted){
            l->scale_dtype, 3, {l->experts, rows, cols / l->group, 0}};
    }
    return l->style->has_blocks
               ? (wanted){l->weight_dtype, 4, {l->experts, rows, cols / 32, 16}}
               : (wanted){l->weight_dtype, 3, {l->experts, rows, cols / 2, 0}};
}

static int check_sizes(const moe_layer *l, mxo_text why)
{
    if (l->hidden % 32 == 0 && l->inter % 32 == 0 && l->hidden > 0 &&
        l->inter > 0 && l->experts > 0) {
        return 0;
    }
    (void)say(MXO_E_SHAPE, why,
              "layer %.200s: hidden size %llu and intermediate size %llu are "
              "no multiples of 32",
              l->prefix, (unsigned long long)l->hidden,
              (unsigned long long)l->inter);
    return -1;
}

/* Types that a layer keeps, here and on the way back; of a layer all weights
   have one type and all scales have one. */
static void take_dtypes(moe_layer *l, const checkpoint_tensor *weight,
                        const checkpoint_tensor *scale)
{
    const char *of_weight = layer_weight_dtype(weight->dtype);
    const char *of_scale =
        layer_scale_dtype(scale == NULL ? NULL : scale->dtype);

    l->weight_dtype = of_weight == NULL ? "U8" : of_weight;
    l->scale_dtype = l->style->is_transposed ? "F8_E4M3"
                     : of_scale == NULL      ? "U8"
                                             : of_scale;
    l->group = layer_group(l->scale_dtype);
}

/* The layer has biases, of the type of the first one. */
static void take_bias(moe_layer *l, const checkpoint_tensor *bias)
{
    const char *of_bias = bias == NULL ? NULL : layer_bias_dtype(bias->dtype);

    if (!l->biased && of_bias != NULL) {
        l->bias_dtype = of_bias;
    }
    l->biased |= bias != NULL;
}

static int check_fused(moe_layer *l, mxo_text why)
{
    const checkpoint_tensor *const *t = l->fused;
    const uint32_t rank = l->style->has_blocks ? 4 : 3;
    const int rows = l->style->is_transposed ? 2 : 1;

    take_bias(l, t[W13_BIAS]);
    take_bias(l, t[W2_BIAS]);
    for (int i = 0; i < LAYER_TENSORS; i++) {
        if (t[i] == NULL && (i % W2 != 2 || l->biased)) {
            return check_tensor(l, l->style->fused[i] + 1, NULL, NULL, why);
        }
    }
    if (t[W13]->rank != rank || t[W2]->rank != rank ||
        t[W13]->shape[rows] % 2 != 0) {
        return complain(why, l, "the weights have the wrong rank or rows");
    }
    take_dtypes(l, t[W13], t[W13_SCALE]);
    l->experts = t[W13]->shape[0];
    l->inter = t[W13]->shape[rows] / 2;
    l->hidden = t[W2]->shape[rows];
    if (t[W2]->shape[0] != l->experts) {
        return complain(why, l, "w13 and w2 have different numbers of experts");
    }
    if (check_sizes(l, why) != 0) {
        return -1;
    }
    for (int i = 0; i < LAYER_TENSORS; i++) {
        const wanted w = tensor_wanted(l, i);
        if ((i % W2 != 2 || l->biased) &&
            check_tensor(l, l->style->fused[i] + 1, t[i], &w, why) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Tensor i of expert e: 3 projections of weight, scale, bias. */
static int check_split_tensor(const checkpoint *c, moe_layer *l, uint64_t e,
                              int i, mxo_text why)
{
    const int projection = i / KINDS;
    const int kind = i % KINDS;
    const checkpoint_tensor *t = of_expert(c, l, e, projection, kind);
    wanted w = tensor_wanted(l, projection == 2 ? W2 + kind : kind);
    char suffix[NAME_ROOM];

    /* One expert, and for w13 one half of the rows. */
    w.shape[0] = projection == 2 ? w.shape[1] : w.shape[1] / 2;
    w.shape[1] = w.shape[2];
    w.rank--;
    l->split[e * 9 + (uint64_t)i] = t;
    if (t == NULL && kind == 2 && !l->biased) {
        return 0;
    }
    (void)snprintf(suffix, sizeof suffix, "%llu.%s.%s", (unsigned long long)e,
                   l->style->projection[projection], l->style->kind[kind]);
    return check_tensor(l, suffix, t, &w, why);
}

static int check_split(const checkpoint *c, moe_layer *l, mxo_text why)
{
    const checkpoint_tensor *gate = of_expert(c, l, 0, 0, 0);

    while (of_expert(c, l, l->experts, 0, 0) != NULL) {
        l->experts++;
    }
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
    l->split = calloc((size_t)l->experts, 9 * sizeof *l->split);
    if (l->split == NULL || gate->rank != 2) {
        return complain(why, l, "the weights are no matrices");
    }
    l->inter = gate->shape[0];
    l->hidden = gate->shape[1] * 2;
    take_dtypes(l, gate, of_expert(c, l, 0, 0, 1));
    for (uint64_t i = 0; i < l->experts * PROJECTIONS; i++) {
        take_bias(l,
                  of_expert(c, l, i / PROJECTIONS, (int)(i % PROJECTIONS), 2));
    }
    if (check_sizes(l, why) != 0) {
        return -1;
    }
    for (uint64_t e = 0; e < l->experts; e++) {
        for (int i = 0; i < PROJECTIONS * KINDS; i++) {
            if (check_split_tensor(c, l, e, i, why) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* All experts in one tensor: what each of them has of it. */
static void slice_experts(moe_layer *l, int i)
{
    const checkpoint_tensor *t = l->stacked[i];

    for (uint64_t e = 0; e < l->experts && t != NULL; e++) {
        checkpoint_tensor *one = &l->slice[e * 9 + (uint64_t)i];
        *one = *t;
        one->n_bytes /= l->experts;
        one->bytes += e * one->n_bytes;
        l->split[e * 9 + (uint64_t)i] = one;
    }
}

static int check_stacked_tensor(const moe_layer *l, int i, mxo_text why)
{
    const int kind = i % KINDS;
    const uint64_t rows = i / KINDS == 2 ? l->hidden : l->inter;
    const uint64_t cols = i / KINDS == 2 ? l->inter : l->hidden;
    const wanted wants[KINDS] = {
        {"U32", 3, {l->experts, rows, cols / 8, 0}},
        {"U8", 3, {l->experts, rows, cols / l->group, 0}},
        {l->bias_dtype, 2, {l->experts, rows, 0, 0}}};
    char suffix[NAME_ROOM];

    if (l->stacked[i] == NULL && kind == 2 && !l->biased) {
        return 0;
    }
    (void)snprintf(suffix, sizeof suffix, "%s.%s",
                   l->style->projection[i / KINDS], l->style->kind[kind]);
    return check_tensor(l, suffix, l->stacked[i], &wants[kind], why);
}

/* MLX's modes, told by words of codes for one scale: 4 mxfp4, 2 nvfp4, 8
   mxfp8. */
static int take_mode(moe_layer *l, mxo_text why)
{
    const checkpoint_tensor *scale = l->stacked[1];
    const uint64_t words = l->stacked[0]->shape[2];
    const uint64_t scales =
        scale != NULL && scale->rank == 3 ? scale->shape[2] : 0;

    l->group = words == 2 * scales ? 16 : 32;
    return words > 0 && words == 8 * scales
               ? complain(why, l,
                          "gate_proj.weight has codes of 8 bits (mxfp8), which "
                          "no conversion takes")
               : 0;
}

static int check_stacked(const checkpoint *c, moe_layer *l, mxo_text why)
{
    for (int i = 0; i < PROJECTIONS * KINDS; i++) {
        l->stacked[i] = of_expert(c, l, 0, i / KINDS, i % KINDS);
        take_bias(l, i % KINDS == 2 ? l->stacked[i] : NULL);
    }
    l->experts = l->stacked[0]->shape[0];
    l->inter = l->stacked[0]->shape[1];
    l->hidden = l->stacked[0]->shape[2] * 8;
    l->weight_dtype = "U32";
    l->scale_dtype = "U8";
    if (take_mode(l, why) != 0 || check_sizes(l, why) != 0) {
        return -1;
    }
    for (int i = 0; i < PROJECTIONS * KINDS; i++) {
        if (check_stacked_tensor(l, i, why) != 0) {
            return -1;
        }
    }
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
    l->split = calloc((size_t)l->experts, 9 * sizeof *l->split);
    l->slice = calloc((size_t)l->experts, 9 * sizeof *l->slice);
    if (l->split == NULL || l->slice == NULL) {
        return complain(why, l, "no memory");
    }
    for (int i = 0; i < PROJECTIONS * KINDS; i++) {
        slice_experts(l, i);
    }
    return 0;
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
    l->bias_dtype = "BF16";
    l->prefix = strndup(name, prefix);
    if (l->prefix == NULL) {
        (void)say(MXO_E_NOMEM, why, "no memory");
        return -1;
    }
    list->n++;
    for (int i = 0; i < LAYER_TENSORS && !style->is_split; i++) {
        l->fused[i] = named(c, l->prefix, style->fused[i]);
    }
    const int bad = style->is_stacked ? check_stacked(c, l, why)
                    : style->is_split ? check_split(c, l, why)
                                      : check_fused(l, why);

    if (bad != 0) {
        return -1;
    }
    l->order = layer_row_order(l, list->asked);
    return l->group == 16 ? layer_find_globals(c, l, why) : 0;
}

row_order row_order_of(const char *word)
{
    const char *const text = word == NULL ? "" : word;

    return strcmp(text, "in_turn") == 0  ? ROWS_IN_TURN
           : strcmp(text, "halves") == 0 ? ROWS_IN_HALVES
                                         : ROWS_UNTOLD;
}

static int find_all(const checkpoint *c, layer_list *list, mxo_text why)
{
    for (size_t i = 0; i < c->n; i++) {
        for (int k = 0; layer_style_at(k) != NULL; k++) {
            const checkpoint_tensor *t = &c->tensor[i];
            const size_t prefix = layer_begins(c, layer_style_at(k), t);
            if (prefix > 0 && add_layer(c, list, layer_style_at(k), t->name,
                                        prefix, why) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

static void own(layer_list *list, const checkpoint *c,
                const checkpoint_tensor *t)
{
    if (t != NULL) {
        list->owned[t - c->tensor] = 1;
    }
}

static void own_layer(layer_list *list, const checkpoint *c, const moe_layer *l)
{
    for (int k = 0; k < LAYER_TENSORS; k++) {
        own(list, c, l->fused[k]);
    }
    for (int k = 0; k < PROJECTIONS * KINDS; k++) {
        own(list, c, l->stacked[k]);
    }
    for (uint64_t k = 0;
         l->split != NULL && l->slice == NULL && k < 9 * l->experts; k++) {
        own(list, c, l->split[k]);
    }
    for (uint64_t k = 0; l->global != NULL && k < layer_globals(l); k++) {
        own(list, c, l->global[k]);
    }
}

/* Layers that were converted are in a backend's order, of which names and most
   sizes tell nothing. */
static int check_order(const checkpoint *c, mxo_text why)
{
    const char *layout = checkpoint_meta(c, META_LAYOUT);

    if (layout == NULL || strcmp(layout, "identity") == 0) {
        return 0;
    }
    (void)say(MXO_E_SHAPE, why,
              "the checkpoint is in the order of %.100s: convert "
              "--from=%.100s takes it back",
              layout, layout);
    return -1;
}

int layers_find(const checkpoint *c, row_order asked, layer_list *list,
                mxo_text why)
{
    memset(list, 0, sizeof *list);
    if (check_order(c, why) != 0) {
        return -1;
    }
    list->asked = asked;
    list->owned = memory_need_zeros(c->n + 1, 1);
    int bad = find_all(c, list, why) != 0;

    for (size_t i = 0; i < list->n && !bad; i++) {
        own_layer(list, c, &list->layer[i]);
    }
    bad = bad ||
          layers_check_left_over(c, list, "that lacks other tensors", why) != 0;
    if (bad) {
        layers_clear(list);
    }
    return bad ? -1 : 0;
}

void layers_clear(layer_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->layer[i].prefix);
        free(list->layer[i].split);
        free(list->layer[i].slice);
        free(list->layer[i].global);
    }
    free(list->layer);
    free(list->owned);
    memset(list, 0, sizeof *list);
}
