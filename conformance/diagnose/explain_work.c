/* SPDX-License-Identifier: Apache-2.0 */
/* See explain_work.h. */
#include "explain_work.h"

#include <string.h>

/* Weights of a layer's experts, two codes in a byte at most. */
static uint64_t per_pair(const host_tensor *t, uint64_t column)
{
    const int is_weight = t->rank == 3 && (strcmp(t->name, "w13") == 0 ||
                                           strcmp(t->name, "w2") == 0);

    return is_weight ? t->shape[1] * (2 * t->shape[2] + column) : 0;
}

uint64_t explain_work_of(const test_case *c, const tensor_set *in,
                         uint64_t column)
{
    const uint64_t pairs = case_dim(c, "tokens") * case_dim(c, "topk");
    uint64_t n = tensor_set_bytes(in);

    for (uint32_t i = 0; i < in->n; i++) {
        n += pairs * per_pair(&in->t[i], column);
    }
    return n;
}

static int take(explain_work *w, uint64_t n)
{
    w->is_short |= n > w->left;
    w->left -= w->is_short ? 0 : n;
    return !w->is_short;
}

int explain_work_edit(explain_work *w, const tensor_set *in)
{
    return take(w, tensor_set_bytes(in));
}

int explain_work_ask(explain_work *w, const test_case *c, const tensor_set *in,
                     uint64_t column)
{
    const int may = take(w, explain_work_of(c, in, column));

    w->n_asked += (unsigned)may;
    return may;
}
