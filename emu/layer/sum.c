/* SPDX-License-Identifier: Apache-2.0 */
/* The sum over a token's experts, in every declared order. */
#include "layer.h"

static uint32_t bf16(uint32_t x)
{
    return layer_round(MXO_P_ROW_OUT_BF16, x);
}

static uint32_t at(const layer_slots *s, uint64_t j)
{
    return s->row[j * s->pitch];
}

/* Binary32, slot by slot. */
static uint32_t sequential(const layer_recipe *r, const layer_slots *s)
{
    uint32_t acc = 0;

    for (uint64_t j = 0; j < s->n; j++) {
        if (!s->there[j]) {
            continue;
        }
        if (r->sum == MXO_P_SUM_FMA) {
            acc = mxo_f32_fma(at(s, j), s->weight[j], acc);
        } else if (r->sum == MXO_P_SUM_PRODUCT) {
            acc = mxo_f32_add(acc, mxo_f32_mul(at(s, j), s->weight[j]));
        } else {
            acc = mxo_f32_add(acc, at(s, j));
        }
    }
    return acc;
}

/* Every addition rounds to BF16. */
static uint32_t in_bf16(const layer_slots *s)
{
    uint32_t acc = 0;

    for (uint64_t j = 0; j < s->n; j++) {
        acc = s->there[j] ? bf16(mxo_f32_add(acc, at(s, j))) : acc;
    }
    return acc;
}

/* Four partial sums, as torch's reduction of the last axes has them. */
static uint32_t four_lanes(const layer_slots *s)
{
    uint32_t lane[4] = {0, 0, 0, 0};

    for (uint64_t j = 0; j < s->n; j++) {
        lane[j % 4] =
            s->there[j] ? mxo_f32_add(lane[j % 4], at(s, j)) : lane[j % 4];
    }
    return mxo_f32_add(mxo_f32_add(mxo_f32_add(lane[0], lane[1]), lane[2]),
                       lane[3]);
}

static mxo_real exact(const layer_recipe *r, const layer_slots *s)
{
    mxo_dot sum;

    mxo_dot_reset(&sum);
    for (uint64_t j = 0; j < s->n; j++) {
        const mxo_real x = mxo_format_decode(MXO_FMT_F32, at(s, j));
        const mxo_real w = mxo_format_decode(MXO_FMT_F32, s->weight[j]);
        if (s->there[j] && r->routing_at == MXO_P_ROUTING_AT_SUM) {
            mxo_dot_add_product(&sum, x, w);
        } else if (s->there[j]) {
            mxo_dot_add(&sum, x);
        }
    }
    return mxo_dot_value(&sum);
}

static uint32_t by_order(const layer_recipe *r, const layer_slots *s)
{
    switch (r->sum) {
    case MXO_P_SUM_MOE_SUM:
        return s->n >= 2 && s->n <= 4 ? in_bf16(s) : four_lanes(s);
    case MXO_P_SUM_ATOMIC:
        return in_bf16(s);
    case MXO_P_SUM_CPU:
        return s->n == 1 && s->there[0]
                   ? at(s, 0)
                   : layer_round(MXO_P_ROW_OUT_DOWN, sequential(r, s));
    default:
        return sequential(r, s);
    }
}

uint64_t layer_sum(const layer_recipe *r, const layer_slots *s)
{
    const mxo_format to =
        r->out == MXO_P_OUT_F32 ? MXO_FMT_F32 : MXO_FMT_BF16;

    if (r->sum == MXO_P_SUM_EXACT) {
        return mxo_format_round(to, exact(r, s));
    }
    return mxo_format_round(to,
                            mxo_format_decode(MXO_FMT_F32, by_order(r, s)));
}
