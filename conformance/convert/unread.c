/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of experts that no layer took: names that are known and whose bytes
 * are not read, and what is left over of a layer that lacks other tensors.  The
 * checkpoint is refused rather than copied as it is.
 */
#include "base/say.h"
#include "layers.h"

#include <stdio.h>
#include <string.h>

enum { NAME_ROOM = 512, PROJECTIONS = 3, KINDS = 3 };

/* Ends of names of scales in bytes: those in F32 are of other formats. */
static const struct {
    const char *suffix;
    const char *why;
} unread[] = {
    /* engines 7: U32[E, N, K/8] beside U8[E, N, K/32], gates and ups apart. */
    {".switch_mlp.gate_proj.scales",
     "is of experts as MLX keeps them, which are not read"},
    {".experts.gate_proj.scales",
     "is of experts as MLX keeps them, which are not read"},
};

/* Does name end in suffix? */
static int ends_in(const char *name, const char *suffix)
{
    const size_t n = strlen(name);
    const size_t m = strlen(suffix);

    return n > m && strcmp(name + n - m, suffix) == 0;
}

int layers_check_unread(const checkpoint *c, mxo_text why)
{
    for (size_t i = 0; i < c->n; i++) {
        const checkpoint_tensor *t = &c->tensor[i];
        for (size_t k = 0; k < sizeof unread / sizeof unread[0]; k++) {
            if (ends_in(t->name, unread[k].suffix) &&
                (layer_weight_dtype(t->dtype) != NULL ||
                 layer_scale_dtype(t->dtype) != NULL)) {
                (void)say(MXO_E_SHAPE, why, "%.200s %s", t->name,
                          unread[k].why);
                return -1;
            }
        }
    }
    return 0;
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

/* A tensor that no layer took, though its name says that it is part of one:
   the layer lacks a weight, or experts are missing in between. */
static int is_left_over(const layer_list *list, const checkpoint_tensor *t)
{
    const char *name = t->name;

    for (int k = 0; layer_style_at(k) != NULL; k++) {
        const name_style *s = layer_style_at(k);
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
                           mxo_text why)
{
    for (size_t i = 0; i < c->n; i++) {
        if (!list->owned[i] && is_left_over(list, &c->tensor[i])) {
            (void)say(MXO_E_SHAPE, why,
                      "%.300s belongs to a layer of experts that lacks other "
                      "tensors",
                      c->tensor[i].name);
            return -1;
        }
    }
    return 0;
}
