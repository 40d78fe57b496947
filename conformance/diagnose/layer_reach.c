/* SPDX-License-Identifier: Apache-2.0 */
/* See layer_reach.h. */
#include "layer_reach.h"

#include <stdlib.h>
#include <string.h>

static int is_wrong(const evidence *e, uint64_t i)
{
    const host_tensor *want = &e->want->t[e->output];
    const host_tensor *got = &e->got->t[e->output];

    return e->bound.y != NULL
               ? e->bound.fails[i] != 0
               : !compare_codes(e->rule, want->dtype, tensor_load(want, i),
                                tensor_load(got, i));
}

/* Does row r differ, or are shapes no longer the same? */
static int row_differs(const host_tensor *a, const host_tensor *b, uint64_t r)
{
    const uint64_t n = a->shape[0] == 0 ? 0 : a->n_bytes / a->shape[0];

    return a->n_bytes != b->n_bytes ||
           (n > 0 && memcmp(a->data + r * n, b->data + r * n, (size_t)n) != 0);
}

/* Are these weights' first axis experts? */
static int is_of_experts(const host_tensor *t)
{
    return strncmp(t->name, "w13", 3) == 0 || strncmp(t->name, "w2", 2) == 0 ||
           strncmp(t->name, "gemm1_", 6) == 0;
}

/* Does a token choose the expert whose weights these are? */
static int chooses(const tensor_set *in, const host_tensor *ids, uint64_t token,
                   uint64_t expert)
{
    const host_tensor *map = tensor_set_find(in, "expert_map");
    const uint64_t topk = ids->shape[1];

    for (uint64_t j = 0; j < topk; j++) {
        const uint64_t id = tensor_load(ids, token * topk + j);
        const uint64_t at = map == NULL              ? id
                            : id < tensor_elems(map) ? tensor_load(map, id)
                                                     : UINT64_MAX;
        if (at == expert) {
            return 1;
        }
    }
    return 0;
}

/* The tokens that one tensor reaches. */
static void reach(const tensor_set *in, const host_tensor *was,
                  const host_tensor *is, const host_tensor *ids, uint8_t *at)
{
    const uint64_t n = was->rank > 0 ? was->shape[0] : 0;
    const uint64_t tokens = ids->shape[0];

    for (uint64_t r = 0; r < n; r++) {
        if (!row_differs(was, is, r)) {
            continue;
        }
        for (uint64_t t = 0; t < tokens; t++) {
            const int is_reached = is_of_experts(was) ? chooses(in, ids, t, r)
                                   : n == tokens      ? t == r
                                                      : 1;
            at[t] = (uint8_t)(at[t] | is_reached);
        }
    }
}

int layer_reaches(const evidence *e, const tensor_set *was,
                  const tensor_set *edited)
{
    const host_tensor *ids = tensor_set_find(was, "topk_ids");
    const host_tensor *y = &e->want->t[e->output];
    const uint64_t tokens = ids == NULL || ids->rank != 2 ? 0 : ids->shape[0];
    int can = 1;

    if (tokens == 0 || y->rank == 0 || y->shape[0] != tokens ||
        was->n != edited->n) {
        return 1;
    }
    uint8_t *at = calloc((size_t)tokens, 1);
    const uint64_t width = tensor_elems(y) / tokens;

    for (uint32_t i = 0; at != NULL && i < was->n; i++) {
        reach(was, &was->t[i], &edited->t[i], ids, at);
    }
    for (uint64_t i = 0; at != NULL && can && i < tensor_elems(y); i++) {
        can = at[i / width] || !is_wrong(e, i);
    }
    free(at);
    return can;
}
