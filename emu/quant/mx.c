/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.mx: blocks of 32 along any axis, under an E8M0 scale.
 *
 * The arithmetic is mxo_quant_mx; this file walks the tensor: blocks along
 * one axis, E2M1 pairs packed along that axis, padding, and the tiled orders
 * in which kernels store scales and codes.
 */
#include "layout.h"
#include "quant.h"

#include <string.h>

typedef struct plan {
    const mxo_quant_rule *rule;
    const quant_layout *sf;
    const quant_layout *order;
    mxo_format element;
    int tie;
    int axis;
    int packed;
    uint64_t outer, len, inner; /* of x */
    uint64_t padded;            /* len after alignment */
    uint64_t blocks;            /* scales along the axis */
    uint64_t sf_rows;           /* rows of one tiled matrix of scales */
    quant_place sf_at;
    quant_place q_at;
} plan;

static const char *const ties[] = {"rne", "rz", "rna", "rnz"};

static mxo_status check(const mxo_call *call, const plan *p, int64_t align,
                        mxo_text why)
{
    const int tiled = !quant_layout_is_linear(p->sf) ||
                      !quant_layout_is_linear(p->order) || align > 32;

    if (align < 32 || align % 32 != 0) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: align=%d is not a multiple of 32", call->op,
                        (int)align);
    }
    if (tiled && p->inner != 1) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: padding and tiled layouts need the last axis",
                        call->op);
    }
    if (p->len % 32 != 0 && !(p->rule->flags & MXO_Q_SHORT_TAIL)) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: %llu elements along the axis are not a multiple "
                        "of 32, and rule=%s has no short blocks",
                        call->op, (unsigned long long)p->len, p->rule->name);
    }
    if (p->packed && p->padded % 2 != 0) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: %llu E2M1 elements along the axis do not pair up",
                        call->op, (unsigned long long)p->len);
    }
    if (!quant_layout_is_linear(p->order) && !p->packed) {
        return mxo_fail(MXO_E_PARAM, why, "%s: q_layout=%s is for e2m1",
                        call->op, p->order->name);
    }
    const mxo_status status =
        quant_layout_check(p->order, p->outer, p->padded / 2, "q", why);

    return status != MXO_OK
               ? status
               : quant_layout_check(p->sf, p->sf_rows, p->blocks, "scale", why);
}

/* Where scales and codes go. */
static mxo_status bind_places(plan *p, mxo_text why)
{
    const mxo_status status =
        quant_place_bind(&p->sf_at, p->sf, p->sf_rows, p->blocks, why);

    return status != MXO_OK ? status
                            : quant_place_bind(&p->q_at, p->order, p->outer,
                                               p->padded / 2, why);
}

/* Rows that are tiled together: all of them, or those of one matrix. */
static uint64_t rows_per_tiling(const mxo_call *call, const plan *p,
                                const mxo_tensor *x)
{
    if (mxo_call_is(call, "sf_batch", "flat") || x->rank < 2 || p->inner != 1) {
        return p->outer;
    }
    return x->shape[x->rank - 2];
}

/* Shape of the stored scales if they are not in the order of x. */
static uint32_t tiled_shape(const plan *p, uint64_t *shape)
{
    const uint32_t rank =
        quant_layout_shape(p->sf, p->sf_rows, p->blocks, shape);

    shape[0] *= p->sf_rows == 0 ? 0 : p->outer / p->sf_rows;
    return rank;
}

static mxo_status make_plan(const mxo_call *call, plan *p, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const int64_t axis = mxo_call_int(call, "axis");
    const int64_t align = mxo_call_int(call, "align");

    p->rule = quant_rule(call);
    p->sf = quant_sf_layout(mxo_call_text(call, "sf_layout"));
    p->order = quant_q_layout(mxo_call_text(call, "q_layout"));
    if (x->rank == 0 || axis >= (int64_t)x->rank || axis < -(int64_t)x->rank) {
        return mxo_fail(MXO_E_PARAM, why, "%s: x of rank %u has no axis %d",
                        call->op, x->rank, (int)axis);
    }
    p->element = mxo_call_format(call, "element");
    p->tie = mxo_call_choice(call, "tie", ties, 4);
    p->tie = p->tie == 4 ? -1 : p->tie;
    p->axis = (int)(axis < 0 ? axis + (int64_t)x->rank : axis);
    p->packed = p->element == MXO_FMT_E2M1;
    mxo_tensor_split(x, p->axis, &p->outer, &p->len, &p->inner);
    p->padded = align > 32 ? quant_round_up(p->len, (uint64_t)align) : p->len;
    p->blocks = (p->padded + 31) / 32;
    p->sf_rows = rows_per_tiling(call, p, x);

    MXO_TRY(check(call, p, align, why));
    return bind_places(p, why);
}

mxo_status infer_quant_mx(const mxo_call *call, mxo_tensor *out_tensor,
                          uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const char *element = mxo_call_text(call, "element");
    uint64_t shape[MXO_MAX_RANK] = {0};
    uint32_t rank = x->rank;
    plan p = {0};

    MXO_TRY(make_plan(call, &p, why));
    memcpy(shape, x->shape, sizeof shape);
    shape[p.axis] = p.packed ? p.padded / 2 : p.padded;
    mxo_out(out_tensor, 0, "q", mxo_dtype_by_name(element, strlen(element)),
            x->rank, shape);
    shape[p.axis] = p.blocks;
    if (!quant_layout_is_linear(p.sf)) {
        rank = tiled_shape(&p, shape);
    }
    mxo_out(out_tensor, 1, "scale", MXO_E8M0, rank, shape);
    if (p.sf->holes) {
        mxo_out(out_tensor, 2, "scale_valid", MXO_U8, rank, shape);
    }
    *n_out = p.sf->holes ? 3 : 2;
    return MXO_OK;
}

/* Element k of the line (o, i) into q. */
static void put_code(const plan *p, const mxo_tensor *q, uint64_t o, uint64_t i,
                     uint64_t k, uint8_t code)
{
    if (!p->packed) {
        mxo_store(q, (o * p->padded + k) * p->inner + i, code);
        return;
    }
    const uint64_t bytes = p->padded / 2;
    const uint64_t at = p->inner == 1 ? quant_place_at(&p->q_at, o, k / 2)
                                      : (o * bytes + k / 2) * p->inner + i;

    mxo_store_nibble(mxo_tensor_data(q), 2 * at + k % 2, code);
}

/* Where the scale of block b of row o lies; tilings follow each other. */
static uint64_t tiled_at(const plan *p, uint64_t o, uint64_t b)
{
    const uint64_t size = quant_layout_rows(p->sf, p->sf_rows) *
                          quant_layout_cols(p->sf, p->blocks);

    return o / p->sf_rows * size + quant_place_at(&p->sf_at, o % p->sf_rows, b);
}

static void put_scale(const plan *p, const mxo_call *call, uint64_t o,
                      uint64_t i, uint64_t b, uint8_t byte)
{
    const uint64_t at =
        p->inner == 1 ? tiled_at(p, o, b) : (o * p->blocks + b) * p->inner + i;

    mxo_store(mxo_call_out(call, "scale"), at, byte);
    if (p->sf->holes) {
        mxo_store(mxo_call_out(call, "scale_valid"), at, 1);
    }
}

/* Block b of the line (o, i): gather, quantise, scatter. */
static void quantise(const plan *p, const mxo_call *call, uint64_t o,
                     uint64_t i, uint64_t b)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const mxo_tensor *q = mxo_call_out(call, "q");
    const uint64_t first = b * MXO_MX_BLOCK;
    uint32_t values[MXO_MX_BLOCK];
    uint8_t codes[MXO_MX_BLOCK] = {0};
    uint8_t byte = 0;
    uint64_t n = 0;

    while (n < MXO_MX_BLOCK && first + n < p->len) {
        const uint64_t at = (o * p->len + first + n) * p->inner + i;

        values[n++] = quant_load(x, at);
    }
    if (n > 0) { /* blocks of alignment padding are zero, scale included */
        byte =
            mxo_quant_mx(p->rule, p->element, p->tie, codes, values, (size_t)n);
    }
    for (uint64_t k = 0; k < MXO_MX_BLOCK && first + k < p->padded; k++) {
        put_code(p, q, o, i, first + k, codes[k]);
    }
    put_scale(p, call, o, i, b, byte);
}

mxo_status run_quant_mx(const mxo_call *call, mxo_text why)
{
    plan p = {0};

    MXO_TRY(make_plan(call, &p, why));
    if (!quant_layout_is_linear(p.sf)) { /* the padding of the tiles */
        const mxo_tensor *scale = mxo_call_out(call, "scale");

        memset(mxo_tensor_data(scale), 0, (size_t)scale->n_bytes);
        if (p.sf->holes) {
            memset(mxo_tensor_data(mxo_call_out(call, "scale_valid")), 0,
                   (size_t)scale->n_bytes);
        }
    }
    for (uint64_t line = 0; line < p.outer * p.inner; line++) {
        for (uint64_t b = 0; b < p.blocks; b++) {
            quantise(&p, call, line / p.inner, line % p.inner, b);
        }
    }
    return MXO_OK;
}
