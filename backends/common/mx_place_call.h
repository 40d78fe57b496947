/* SPDX-License-Identifier: Apache-2.0 */
/* From a call of quant.mx or dequant.mx to the place of its blocks. */
#ifndef BACKENDS_MX_PLACE_CALL_H
#define BACKENDS_MX_PLACE_CALL_H

#include "call_read.h"
#include "mx_place.h"

typedef struct mx_order_row {
    const char *name;
    mx_order order;
} mx_order_row;

/*   kind, gate_up, pads of rows and columns, needs of both, flat, holes */
static const mx_order_row mx_sf_orders[] = {
    {"linear", {MX_ROW_MAJOR, 0, 1, 1, 1, 1, 0, 0}},
    {"128x4", {MX_TILES_128X4, 0, 128, 4, 1, 1, 1, 0}},
    {"8x4", {MX_TILES_8X4, 0, 8, 4, 1, 1, 1, 0}},
    {"aiter_linear", {MX_ROW_MAJOR, 0, 1, 1, 1, 1, 0, 1}},
    {"aiter", {MX_AITER_SCALES, 0, 256, 8, 1, 1, 0, 1}},
    {"aiter_a16w4", {MX_AITER_SCALES, 0, 1, 1, 32, 8, 0, 1}},
    {"aiter_a16w4_gate_up", {MX_AITER_SCALES, 1, 1, 1, 32, 8, 0, 1}},
    {NULL, {0, 0, 0, 0, 0, 0, 0, 0}},
};
static const mx_order_row mx_q_orders[] = {
    {"linear", {MX_ROW_MAJOR, 0, 1, 1, 1, 1, 0, 0}},
    {"aiter_16x16", {MX_AITER_CODES, 0, 1, 1, 16, 32, 0, 0}},
    {"aiter_16x16_gate_up", {MX_AITER_CODES, 1, 1, 1, 32, 64, 0, 0}},
    {NULL, {0, 0, 0, 0, 0, 0, 0, 0}},
};

static inline const mx_order *mx_order_of(const mx_order_row *rows,
                                          const char *name)
{
    while (rows->name != NULL && strcmp(rows->name, name) != 0) {
        rows++;
    }
    return rows->name == NULL ? NULL : &rows->order;
}

static inline uint64_t mx_round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* The axis of a call, or -1. */
static inline int mx_axis(const mxo_call *call, const mxo_tensor *t)
{
    const double given = call_number(call, "axis");
    const double axis = given < 0 ? given + (double)t->rank : given;

    return axis >= 0 && axis < (double)t->rank ? (int)axis : -1;
}

/* Lines along the axis of a tensor, whose elements take each 1 / packs of
   theirs; padding and tiles are those of nothing. */
static inline void mx_place_lines(mx_place *p, const mxo_tensor *t, int axis,
                                  int packs)
{
    memset(p, 0, sizeof *p);
    p->outer = p->inner = 1;
    for (int i = 0; i < (int)t->rank; i++) {
        uint64_t *const part = i < axis ? &p->outer : &p->inner;
        *part *= i == axis ? 1 : t->shape[i];
    }
    p->len = p->padded = t->shape[axis] * (uint64_t)packs;
    p->blocks = p->sf_cols = mx_round_up(p->len, 32) / 32;
    p->rows = p->sf_rows = p->outer;
    p->n = p->outer * p->blocks * p->inner;
    p->sf = mx_sf_orders[0].order;
    p->q = mx_q_orders[0].order;
}

static inline mxo_status mx_place_check(const mxo_call *call, const mx_place *p,
                                        double align, int may_be_short,
                                        mxo_text why)
{
    const int tiled = p->sf.kind != MX_ROW_MAJOR || p->q.kind != MX_ROW_MAJOR;

    if (!(align >= 32) || (uint64_t)align % 32 != 0) {
        return call_refuse(call, MXO_E_PARAM, why,
                           "align is not a multiple of 32");
    }
    if ((tiled || align > 32) && p->inner != 1) {
        return call_refuse(call, MXO_E_PARAM, why,
                           "padding and tiles need the last axis");
    }
    if (p->len % 32 != 0 && !may_be_short) {
        return call_refuse(call, MXO_E_SHAPE, why,
                           "the axis is no multiple of 32");
    }
    if (p->packed && p->padded % 2 != 0) {
        return call_refuse(call, MXO_E_SHAPE, why, "elements do not pair up");
    }
    if (!p->packed && p->q.kind != MX_ROW_MAJOR) {
        return call_refuse(call, MXO_E_PARAM, why, "this q_layout is for e2m1");
    }
    return p->outer % p->q.row_need != 0 ||
                   p->padded / 2 % p->q.col_need != 0 ||
                   p->rows % p->sf.row_need != 0 ||
                   p->blocks % p->sf.col_need != 0
               ? call_refuse(call, MXO_E_SHAPE, why,
                             "rows or columns do not fill the tiles")
               : MXO_OK;
}

/* Of quant.mx to codes of a byte, or packed. */
static inline mxo_status mx_place_make(const mxo_call *call, mx_place *p,
                                       int packed, int may_be_short,
                                       mxo_text why)
{
    const mxo_tensor *const x = call_in(call, "x");
    const mx_order *const sf =
        mx_order_of(mx_sf_orders, call_text(call, "sf_layout"));
    const mx_order *const q =
        mx_order_of(mx_q_orders, call_text(call, "q_layout"));
    const double align = call_number(call, "align");
    const int axis = x == NULL ? -1 : mx_axis(call, x);

    if (axis < 0 || sf == NULL || q == NULL) {
        return call_refuse(call, MXO_E_PARAM, why,
                           "x has no such axis, or the layout is unknown");
    }
    mx_place_lines(p, x, axis, 1);
    p->packed = (uint32_t)packed;
    p->sf = *sf;
    p->q = *q;
    if (align > 32 && align < 0x1p40) {
        p->padded = mx_round_up(p->len, (uint64_t)align);
        p->blocks = p->padded / 32;
    }
    if (call_is(call, "sf_batch", "each") && x->rank >= 2 && p->inner == 1) {
        p->rows = x->shape[x->rank - 2];
    }
    p->sf_rows = mx_round_up(p->rows, p->sf.row_pad);
    p->sf_cols = mx_round_up(p->blocks, p->sf.col_pad);
    p->n = p->rows == 0
               ? 0
               : p->outer / p->rows * p->sf_rows * p->sf_cols * p->inner;
    return mx_place_check(call, p, align, may_be_short, why);
}

/* Shape of the scales of x; returns the rank. */
static inline uint32_t mx_scale_shape(const mxo_call *call, const mx_place *p,
                                      uint64_t *shape)
{
    const mxo_tensor *const x = call_in(call, "x");

    if (p->sf.kind == MX_ROW_MAJOR) {
        memcpy(shape, x->shape, sizeof x->shape);
        shape[mx_axis(call, x)] = p->blocks;
        return x->rank;
    }
    shape[0] = p->sf.flat ? p->n : p->rows == 0 ? 0 : p->n / p->sf_cols;
    shape[1] = p->sf_cols;
    return p->sf.flat ? 1 : 2;
}

#endif
