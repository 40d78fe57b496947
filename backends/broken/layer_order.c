/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of a layer in an order that the call declares: float32 in sequence, by
 * neighbours, in parts of K, in blocks whose scale comes last, or in the steps
 * of a matrix instruction; each with the ways to get the order wrong.
 */
#include "layer.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 32 };

static const struct {
    const char *name;
    order_kind kind;
} orders[] = {
    {"any", ORDER_OPEN},    {"exact", ORDER_OPEN},
    {"seq", ORDER_SEQ},     {"pairwise", ORDER_PAIRWISE},
    {"split", ORDER_SPLIT}, {"block", ORDER_BLOCK},
};

/* As the profile has it: every one here leaves the order open. */
static order_kind kind_of(const mxo_call *call, const char *name)
{
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        if (broken_entry_is(call, "order", orders[i].name)) {
            return orders[i].kind;
        }
    }
    return broken_mma_find(name, "bf16") != NULL ? ORDER_UNIT : ORDER_UNKNOWN;
}

layer_order broken_read_order(const mxo_call *call)
{
    const char *name = broken_text(call, "order");
    layer_order o = {.kind = kind_of(call, name)};

    o.unit = o.kind == ORDER_UNIT ? broken_mma_find(name, "bf16") : NULL;
    o.at_block = broken_entry_is(call, "scale_at", "block");
    o.rounds_product = broken_says(call, "mul", "round");
    o.splits = (uint64_t)fmax(broken_number(call, "splits"), 1);
    o.promote = (uint64_t)fmax(broken_number(call, "promote"), 0);
    return o;
}

/* Scales of blocks belong to blocks and units; a unit takes bf16. */
int broken_knows_order(const mxo_call *call)
{
    const layer_order o = broken_read_order(call);

    return o.kind == ORDER_UNIT ? broken_says(call, "from", "bf16") &&
                                      !broken_entry_is(call, "glu_out", "f32")
                                : o.kind != ORDER_UNKNOWN &&
                                      o.at_block == (o.kind == ORDER_BLOCK);
}

static float once(dd x)
{
    return (float)(isfinite(x.hi) ? broken_to_f32(x) : x.hi);
}

/* sum + x y, rounded once or, where the call says so, twice. */
static float add(const broken *b, const layer_order *o, float sum, double x,
                 double y)
{
    const int twice = IS(MO02) ? !o->rounds_product : o->rounds_product;
    const double p = x * y; /* exact */

    return twice ? sum + (float)p : once(broken_sum((double)sum, p));
}

static float sequence(const broken *b, const layer_order *o,
                      const broken_line *l, uint64_t first, uint64_t end,
                      float sum)
{
    for (uint64_t i = first; i < end; i++) {
        const uint64_t k = IS(MO01) ? end - 1 - (i - first) : i;
        sum = add(b, o, sum, l->a[k], l->w[k]);
    }
    return sum;
}

/* Columns of a part of K. */
static uint64_t part_size(const broken *b, const layer_order *o, uint64_t k)
{
    const uint64_t blocks = (k + BLOCK - 1) / BLOCK;
    const uint64_t splits = o->splits - (IS(MO04) && o->splits > 1);

    return IS(MO03) ? (k + splits - 1) / splits
                    : (blocks + splits - 1) / splits * BLOCK;
}

static float split(const broken *b, const layer_order *o, const broken_line *l)
{
    const uint64_t size = part_size(b, o, l->k);
    const uint64_t n = (l->k + size - 1) / size;
    float sum = 0;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t p = IS(MO05) ? n - 1 - i : i;
        const uint64_t end = (p + 1) * size < l->k ? (p + 1) * size : l->k;
        const float part = sequence(b, o, l, p * size, end, 0);
        if (!(IS(MO06) && n > 1 && p == n - 1)) {
            sum = i == 0 ? part : sum + part;
        }
    }
    return sum;
}

/* Neighbours, then neighbours of those; an odd one goes up as it is. */
static float pairwise(const broken *b, const broken_line *l)
{
    static float node[LAYER_WIDEST];
    uint64_t n = l->k;

    for (uint64_t k = 0; k < n; k++) {
        node[k] = (float)(l->a[k] * l->w[k]);
    }
    while (n > 1) {
        const uint64_t half = n / 2;
        for (uint64_t i = 0; i < half; i++) {
            node[i] = IS(MO08) ? node[i] + node[i + (n - half)]
                               : node[2 * i] + node[2 * i + 1];
        }
        if (n % 2 == 1 && !IS(MO08)) {
            node[half] = IS(MO07) ? 0 : node[n - 1];
        }
        n -= half;
    }
    return n == 0 ? 0 : node[0];
}

/* One block without its scale: in sequence, or a chain of steps. */
static float block_part(const broken *b, const layer_order *o,
                        const broken_line *l)
{
    return o->kind == ORDER_UNIT ? broken_mma_sum(b, o->unit, l, 0, o->promote)
                                 : sequence(b, o, l, 0, l->k, 0);
}

static float blocks(const broken *b, const layer_order *o, const broken_line *l,
                    const double *scale, float sum)
{
    const uint64_t n = IS(MO11) ? l->k / BLOCK : (l->k + BLOCK - 1) / BLOCK;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = IS(MO10) ? n - 1 - i : i;
        const uint64_t left = l->k - at * BLOCK;
        const broken_line own = {.a = l->a + at * BLOCK,
                                 .w = l->w + at * BLOCK,
                                 .k = left < BLOCK ? left : BLOCK};
        const float part = block_part(b, o, &own);
        if (IS(MO12)) { /* scaled in the type of the rows */
            sum += (float)broken_bf16((double)part * scale[at]);
        } else {
            sum = add(b, o, sum, (double)part,
                      scale[IS(MO09) && at > 0 ? at - 1 : at]);
        }
    }
    return sum;
}

double broken_ordered_sum(const broken *b, const layer_order *o,
                          const broken_line *l, const double *scale,
                          double start)
{
    const float from = (float)start;

    if (o->at_block) {
        return (double)blocks(b, o, l, scale, from);
    }
    switch (o->kind) {
    case ORDER_PAIRWISE:
        return (double)pairwise(b, l);
    case ORDER_SPLIT:
        return (double)split(b, o, l);
    case ORDER_UNIT:
        return (double)broken_mma_sum(b, o->unit, l, from, o->promote);
    default:
        return (double)sequence(b, o, l, 0, l->k, from);
    }
}
