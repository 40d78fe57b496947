/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals of the vendors' kernels, row by row of limits.def. */
#include "route.h"

#include <stddef.h>

typedef enum limit_of {
    OF_EXPERTS,
    OF_TOP_K,
    OF_GROUPS,
    OF_KEPT,
    OF_FILLED,
    OF_BLOCK
} limit_of;

enum { ANY, GROUPED };

typedef struct limit_row {
    mxo_route_dialect dialect;
    limit_of of;
    uint32_t most;
    int groups;
    uint32_t experts;
    const char *sentence;
} limit_row;

static const limit_row limits[] = {
#define MXO_ROUTE_LIMIT(id, of, most, groups, experts, sentence) \
    {MXO_ROUTE_##id, OF_##of, most, groups, experts, sentence},
#include "limits.def"
#undef MXO_ROUTE_LIMIT
};

static uint32_t count(const mxo_route *r, limit_of of)
{
    switch (of) {
    case OF_EXPERTS:
        return r->experts;
    case OF_TOP_K:
        return r->top_k;
    case OF_GROUPS:
        return r->groups;
    case OF_KEPT:
        return r->kept;
    case OF_FILLED:
        return r->top_k >= r->experts / r->groups * r->kept;
    default:
        return !mxo_route_is_warp(r->experts);
    }
}

/* Rows that count the same for fewer experts come first. */
static int is_behind(const mxo_route *r, const limit_row *row)
{
    const limit_row *before = row - 1;

    return row > limits && before->dialect == row->dialect &&
           before->of == row->of && r->experts <= before->experts;
}

const char *mxo_route_beyond(const mxo_route *r)
{
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const limit_row *row = &limits[i];
        if (row->dialect == r->dialect &&
            (row->groups == ANY || r->groups > 1) &&
            r->experts <= row->experts && !is_behind(r, row) &&
            count(r, row->of) > row->most) {
            return row->sentence;
        }
    }
    return NULL;
}
