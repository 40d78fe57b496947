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
    {"any", ORDER_OPEN},          {"exact", ORDER_OPEN},
    {"seq", ORDER_SEQ},           {"pairwise", ORDER_PAIRWISE},
    {"split", ORDER_SPLIT},       {"block", ORDER_BLOCK},
    {"streamk_bf16", ORDER_OPEN},
};

/* As the profile has it: every one here leaves the order open. */
static order_kind kind_of(const mxo_call *call)
{
    static const char *const units[] = {
        "hopper_wgmma", "hopper_mma_sync", "volta", "turing",       "ampere",
        "ada",          "blackwell",       "cdna1", "blackwell_mx", "cdna2",
        "cdna3",        "blackwell_fp4"};

    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        if (broken_entry_is(call, "order", orders[i].name)) {
            return orders[i].kind;
        }
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (call_is(call, "order", units[i])) {
            return ORDER_UNIT;
        }
    }
    return ORDER_UNKNOWN;
}

static int multiplies_scales(const mxo_call *call)
{
    return call_is(call, "order", "blackwell_mx") ||
           call_is(call, "order", "blackwell_fp4");
}

layer_order broken_read_order(const mxo_call *call)
{
    layer_order o = {.kind = kind_of(call)};

    o.at_block =
        broken_entry_is(call, "scale_at", "block") || multiplies_scales(call);
    o.in_unit = multiplies_scales(call);
    o.rounds_product = call_is(call, "mul", "round");
    o.splits = (uint64_t)fmax(call_number(call, "splits"), 1);
    o.streams = call_is(call, "order", "streamk_bf16");
    o.promote = (uint64_t)fmax(call_number(call, "promote"), 0);
    return o;
}

/* FP8 and FP4 as they are under scales behind the block, bf16 otherwise. */
const broken_mma *broken_unit_for(const mxo_call *call, const gemm *g)
{
    const layer_order o = broken_read_order(call);
    const char *unit = call_text(call, "order");
    const int has_codes = g->quant.kind == QUANT_MX ||
                          g->quant.kind == QUANT_GROUP ||
                          g->quant.kind == QUANT_STATIC;
    const char *codes = has_codes           ? g->quant.f->name
                        : g->in->mbits == 1 ? "e2m1"
                                            : NULL;
    const char *type = g->in->name;

    if (codes != NULL) {
        type = codes;
    } else if (g->quant.kind == QUANT_NVFP4) {
        type = "bf16";
    } else if (g->in->mbits == 23) {
        type = "tf32";
    }
    const broken_mma *u =
        broken_mma_find(unit, o.at_block || codes == NULL ? type : "bf16");

    return u == NULL && o.at_block && !o.in_unit && strcmp(type, "e2m1") == 0
               ? broken_mma_find(unit, "e4m3fn")
               : u;
}

/* Scales of blocks belong to blocks and units. */
int broken_knows_order(const mxo_call *call, const gemm *g)
{
    const layer_order o = broken_read_order(call);

    if (o.kind == ORDER_UNIT) {
        const broken_mma *u = broken_unit_for(call, g);
        return u != NULL && (!o.at_block || o.in_unit || u->step <= BLOCK) &&
               (!o.in_unit || g->k % (uint64_t)u->step == 0) &&
               o.promote % (uint64_t)u->step == 0;
    }
    return o.kind != ORDER_UNKNOWN && o.at_block == (o.kind == ORDER_BLOCK);
}

static float once(dd x)
{
    return (float)(isfinite(x.hi) ? broken_to_f32(x) : x.hi);
}

/* sum + x y, rounded once or, where the call says so, twice. */
static float add(const layer_order *o, float sum, double x, double y)
{
    const double p = x * y; /* exact */

    return o->rounds_product ? sum + (float)p
                             : once(broken_sum((double)sum, p));
}

static float sequence(const broken *b, const layer_order *o,
                      const broken_line *l, uint64_t first, uint64_t end,
                      float sum)
{
    for (uint64_t i = first; i < end; i++) {
        const uint64_t k = IS(MO01) ? end - 1 - (i - first) : i;
        sum = add(o, sum, l->a[k], l->w[k]);
    }
    return sum;
}

uint64_t broken_part_size(const broken *b, uint64_t parts, uint64_t k)
{
    const uint64_t blocks = (k + BLOCK - 1) / BLOCK;
    const uint64_t splits = parts - (IS(MO04) && parts > 1);

    if (k == 0) {
        return BLOCK;
    }
    return IS(MO03) ? (k + splits - 1) / splits
                    : (blocks + splits - 1) / splits * BLOCK;
}

static float split(const broken *b, const layer_order *o, const broken_line *l)
{
    const uint64_t size = broken_part_size(b, o->splits, l->k);
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
                        const broken_mma *unit, const broken_line *l)
{
    return o->kind == ORDER_UNIT ? broken_mma_sum(b, unit, l, 0, o->promote)
                                 : sequence(b, o, l, 0, l->k, 0);
}

/* Both scales of a block; MO13: of the step with its number. */
static double scale_of(const broken *b, const broken_mma *unit,
                       const broken_line *l, uint64_t block)
{
    const uint64_t step =
        IS(MO13) && unit != NULL ? (uint64_t)unit->step : BLOCK;
    const uint64_t from = IS(MO09) && block > 0 ? block - 1 : block;

    return l->a_scale[from * step] * l->w_scale[from * step];
}

static float blocks(const broken *b, const layer_order *o,
                    const broken_mma *unit, const broken_line *l, float sum)
{
    const uint64_t n = IS(MO11) ? l->k / BLOCK : (l->k + BLOCK - 1) / BLOCK;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = IS(MO10) ? n - 1 - i : i;
        const uint64_t left = l->k - at * BLOCK;
        const broken_line own = {.a = l->a + at * BLOCK,
                                 .w = l->w + at * BLOCK,
                                 .k = left < BLOCK ? left : BLOCK};
        const float part = block_part(b, o, unit, &own);
        const double scale = scale_of(b, unit, l, at);
        if (IS(MO12)) { /* scaled in the type of the rows */
            sum += (float)broken_bf16((double)part * scale);
        } else {
            sum = add(o, sum, (double)part, scale);
        }
    }
    return sum;
}

double broken_ordered_sum(const broken *b, const layer_order *o,
                          const broken_mma *unit, const broken_line *l,
                          double start)
{
    const float from = (float)start;
    broken_line numbers = *l;

    if (o->at_block && !o->in_unit) {
        return (double)blocks(b, o, unit, l, from);
    }
    numbers.a_scale = o->in_unit ? l->a_scale : NULL;
    numbers.w_scale = o->in_unit ? l->w_scale : NULL;
    switch (o->kind) {
    case ORDER_PAIRWISE:
        return (double)pairwise(b, l);
    case ORDER_SPLIT:
        return (double)split(b, o, l);
    case ORDER_UNIT:
        return (double)broken_mma_sum(b, unit, &numbers, from, o->promote);
    default:
        return (double)sequence(b, o, l, 0, l->k, from);
    }
}
