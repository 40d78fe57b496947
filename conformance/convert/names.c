/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tensors are of a layer of experts, by the names of names.def, and what
 * is left over of a layer that lacks other tensors: a checkpoint with such is
 * refused rather than copied as it is.
 */
#include "base/say.h"
#include "layers.h"

#include <stdio.h>
#include <string.h>

enum { NAME_ROOM = 512, PROJECTIONS = 3, KINDS = 3 };

#define MXO_FUSED(id, interleaved, blocks, transposed, w13, w13_scale, \
                  w13_bias, w2, w2_scale, w2_bias)                     \
    {id,                                                               \
     0,                                                                \
     interleaved,                                                      \
     blocks,                                                           \
     transposed,                                                       \
     0,                                                                \
     {w13, w13_scale, w13_bias, w2, w2_scale, w2_bias},                \
     {0},                                                              \
     {0}},
#define MXO_SPLIT(id, gate, up, down, weight, scale, bias) \
    {id, 1, 0, 0, 0, 0, {0}, {gate, up, down}, {weight, scale, bias}},
#define MXO_STACKED(id, gate, up, down, weight, scale, bias) \
    {id, 1, 0, 0, 0, 1, {0}, {gate, up, down}, {weight, scale, bias}},
static const name_style styles[] = {
#include "names.def"
};
#undef MXO_STACKED
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

const name_style *layer_style_at(int i)
{
    return i < N_STYLES ? &styles[i] : NULL;
}

void layer_split_name(const name_style *s, const char *prefix, uint64_t e,
                      int projection, int kind, char *name, size_t room)
{
    if (s->is_stacked) {
        (void)snprintf(name, room, "%s.%s.%s", prefix,
                       s->projection[projection], s->kind[kind]);
    } else {
        (void)snprintf(name, room, "%s.%llu.%s.%s", prefix,
                       (unsigned long long)e, s->projection[projection],
                       s->kind[kind]);
    }
}

/* Where the prefix of a layer ends in the name of its first weight. */
static size_t prefix_length(const name_style *s, const char *name)
{
    char suffix[NAME_ROOM];
    const size_t n = strlen(name);

    if (s->is_split) {
        layer_split_name(s, "", 0, 0, 0, suffix, sizeof suffix);
    } else {
        (void)snprintf(suffix, sizeof suffix, "%s", s->fused[W13]);
    }
    const size_t m = strlen(suffix);

    return n > m && n < NAME_ROOM && strcmp(name + n - m, suffix) == 0 ? n - m
                                                                       : 0;
}

/* Do the scales of another style lie beside this weight? */
static int has_other_style(const checkpoint *c, const name_style *s,
                           const checkpoint_tensor *weight, size_t prefix)
{
    char name[2 * NAME_ROOM];
    int found = 0;

    for (int k = 0; k < N_STYLES; k++) {
        const name_style *o = &styles[k];
        if (o == s || !o->is_split || o->is_stacked ||
            strcmp(o->projection[0], s->projection[0]) != 0 ||
            strcmp(o->kind[0], s->kind[0]) != 0) {
            continue;
        }
        (void)snprintf(name, sizeof name, "%.*s.0.%s.%s", (int)prefix,
                       weight->name, o->projection[0], o->kind[1]);
        found |= checkpoint_find(c, name) != NULL;
    }
    return found;
}

/* Experts kept in another type are copied like the rest: a split layer is
   packed E2M1 if it is made of bytes or has scales, a transposed one if it is
   made of bytes. */
static int is_fp4(const checkpoint *c, const name_style *s,
                  const checkpoint_tensor *weight, size_t prefix)
{
    char name[2 * NAME_ROOM];

    if (s->is_transposed) {
        return layer_weight_dtype(weight->dtype) != NULL;
    }
    if (s->is_stacked) {
        (void)snprintf(name, sizeof name, "%.*s.%s.%s", (int)prefix,
                       weight->name, s->projection[0], s->kind[1]);
        const checkpoint_tensor *scale = checkpoint_find(c, name);
        return strcmp(weight->dtype, "U32") == 0 && weight->rank == 3 &&
               (scale == NULL || strcmp(scale->dtype, "U8") == 0);
    }
    (void)snprintf(name, sizeof name, "%.*s.0.%s.%s", (int)prefix, weight->name,
                   s->projection[0], s->kind[1]);
    if (!s->is_split || checkpoint_find(c, name) != NULL) {
        return 1;
    }
    return strcmp(weight->dtype, "U8") == 0 &&
           !has_other_style(c, s, weight, prefix);
}

size_t layer_begins(const checkpoint *c, const name_style *s,
                    const checkpoint_tensor *t)
{
    const size_t prefix = prefix_length(s, t->name);

    return prefix > 0 && is_fp4(c, s, t, prefix) ? prefix : 0;
}

/* Does name end in suffix? */
static int ends_in(const char *name, const char *suffix)
{
    const size_t n = strlen(name);
    const size_t m = strlen(suffix);

    return n > m && strcmp(name + n - m, suffix) == 0;
}

/* ".N.PROJECTION.KIND" at the end of name: where it begins, or NULL. */
static const char *expert_suffix(const name_style *s, const char *name)
{
    for (int i = 0; i < PROJECTIONS * KINDS; i++) {
        char tail[NAME_ROOM];
        (void)snprintf(tail, sizeof tail, ".%s.%s", s->projection[i / KINDS],
                       s->kind[i % KINDS]);
        if (!ends_in(name, tail)) {
            continue;
        }
        const char *end = name + strlen(name) - strlen(tail);
        const char *p = end;
        while (p > name && p[-1] >= '0' && p[-1] <= '9') {
            p--;
        }
        return p < end && p > name && p[-1] == '.' ? p - 1 : NULL;
    }
    return NULL;
}

/* MX scales of all experts, or words of their weights beside none. */
static int is_part_of_stack(const name_style *s, const checkpoint_tensor *t)
{
    char tail[NAME_ROOM];
    int found = 0;

    for (int p = 0; p < PROJECTIONS; p++) {
        layer_split_name(s, "", 0, p, 1, tail, sizeof tail);
        found |= t->rank == 3 && strcmp(t->dtype, "U8") == 0 &&
                 ends_in(t->name, tail);
    }
    return found;
}

/* A tensor that no layer took, though its name says that it is part of one:
   the layer lacks a weight, or experts are missing in between. */
static int is_left_over(const layer_list *list, const checkpoint_tensor *t)
{
    const char *name = t->name;

    for (int k = 0; k < N_STYLES; k++) {
        const name_style *s = &styles[k];
        if (!s->is_split) {
            for (int i = 0; i < LAYER_TENSORS; i++) {
                if (i % W2 != 2 && ends_in(name, s->fused[i]) &&
                    (!s->is_transposed ||
                     layer_weight_dtype(t->dtype) != NULL ||
                     (i % W2 == 1 && layer_scale_dtype(t->dtype) != NULL))) {
                    return 1;
                }
            }
            continue;
        }
        if (s->is_stacked) {
            if (is_part_of_stack(s, t)) {
                return 1;
            }
            continue;
        }
        const char *suffix = expert_suffix(s, name);
        if (suffix != NULL && ends_in(name, s->kind[1])) {
            return 1;
        }
        for (size_t i = 0; suffix != NULL && i < list->n; i++) {
            const moe_layer *l = &list->layer[i];
            if (l->style == s && strlen(l->prefix) == (size_t)(suffix - name) &&
                strncmp(l->prefix, name, (size_t)(suffix - name)) == 0) {
                return 1;
            }
        }
    }
    return 0;
}

int layers_check_left_over(const checkpoint *c, const layer_list *list,
                           const char *which, mxo_text why)
{
    for (size_t i = 0; i < c->n; i++) {
        if (!list->owned[i] && is_left_over(list, &c->tensor[i])) {
            (void)say(MXO_E_SHAPE, why,
                      "%.300s belongs to a layer of experts %s",
                      c->tensor[i].name, which);
            return -1;
        }
    }
    return 0;
}

/*
 * ModelOpt keeps the experts of two classes in one tensor, as they multiply
 * from the right: those of Llama 4, which halve gate_up_proj, and those of
 * gpt-oss, which take every second column and have biases (engines 6.1).
 */
row_order layer_row_order(const moe_layer *l, row_order asked)
{
    if (!l->style->is_transposed) {
        return l->style->is_interleaved ? ROWS_IN_TURN : ROWS_IN_HALVES;
    }
    if (asked != ROWS_UNTOLD) {
        return asked;
    }
    return ends_in(l->prefix, ".feed_forward.experts") && !l->biased
               ? ROWS_IN_HALVES
           : ends_in(l->prefix, ".mlp.experts") && l->biased ? ROWS_IN_TURN
                                                             : ROWS_UNTOLD;
}

int layers_check_rows(const layer_list *list, mxo_text why)
{
    int n = 0;

    for (size_t i = 0; i < list->n; i++) {
        const moe_layer *l = &list->layer[i];
        n += l->style->is_transposed;
        if (l->order == ROWS_UNTOLD) {
            (void)say(MXO_E_PARAM, why,
                      "layer %.200s is a fused export of ModelOpt, neither "
                      "Llama 4's (feed_forward.experts) nor gpt-oss's "
                      "(mlp.experts with biases) by its names: "
                      "--rows=in_turn or --rows=halves says how "
                      "gate_up_proj has gates and ups",
                      l->prefix);
            return -1;
        }
    }
    if (n == 0 && list->asked != ROWS_UNTOLD) {
        (void)say(MXO_E_PARAM, why,
                  "--rows is for ModelOpt's fused exports; the names of layer "
                  "%.200s tell",
                  list->layer[0].prefix);
        return -1;
    }
    return 0;
}
