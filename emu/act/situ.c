/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SiTU: y = (b tanh(g / b) sigmoid(g)) * (l tanh(u / l)), one binary32
 * operation at a time, in the orders that implementations have.  b is the
 * unit's beta, l its linear_beta; without l the up half stays as it is.
 */
#include "glu_steps.h"

#define TWO_LOG2_E 0x4038aa3bu
#define TWO 0x40000000u

static uint32_t eval(mxo_act_fn fn, uint32_t x)
{
    return (uint32_t)mxo_act_eval(fn, mxo_format_decode(MXO_FMT_F32, x),
                                  MXO_FMT_F32, NULL);
}

/* sign * ((1 - e) * (1 / (1 + e))), e = 2^(-2 log2(e) |x|); only what is
   above zero has a positive sign. */
static uint32_t tanh_exp2(uint32_t x)
{
    const uint32_t t = mxo_f32_mul(TWO_LOG2_E | SIGN_F32, x & ~SIGN_F32);
    const uint32_t e = eval(MXO_ACT_EXP2, t);
    const uint32_t over = mxo_f32_div(ONE_F32, mxo_f32_add(ONE_F32, e));
    const uint32_t y = mxo_f32_mul(mxo_f32_sub(ONE_F32, e), over);

    return mxo_f32_cmp(x, 0) > 0 ? y : y ^ SIGN_F32;
}

/* 2 sigmoid(2 x) - 1 */
static uint32_t tanh_sigmoid(uint32_t x)
{
    const uint32_t e = eval(MXO_ACT_EXP, mxo_f32_mul(TWO, x) ^ SIGN_F32);
    const uint32_t sigmoid = mxo_f32_div(ONE_F32, mxo_f32_add(ONE_F32, e));

    return mxo_f32_sub(mxo_f32_mul(TWO, sigmoid), ONE_F32);
}

uint32_t mxo_situ_tanh(const glu_state *s, uint32_t x)
{
    switch (s->rule->silu) {
    case SILU_TANH_EXP2:
        return tanh_exp2(x);
    case SILU_TANH_SIGMOID:
        return tanh_sigmoid(x);
    default:
        return eval(MXO_ACT_TANH, x);
    }
}

uint32_t mxo_situ_over(const glu_state *s, uint32_t x, uint32_t beta)
{
    return s->rule->silu == SILU_TANH
               ? mxo_f32_div(x, beta)
               : mxo_f32_mul(x, mxo_f32_div(ONE_F32, beta));
}

uint32_t mxo_situ_denominator(const glu_state *s, uint32_t gate)
{
    const uint32_t e = mxo_glu_exp(s, gate ^ SIGN_F32);

    return mxo_f32_add(ONE_F32, e);
}

static uint32_t gate_part(const glu_state *s)
{
    const uint32_t t = mxo_situ_tanh(s, mxo_situ_over(s, s->gate, s->beta));
    const uint32_t d = mxo_situ_denominator(s, s->gate);

    if (s->rule->silu == SILU_TANH_INVERSE) {
        return mxo_f32_div(mxo_f32_mul(s->beta, t), d);
    }
    const uint32_t sigmoid = mxo_f32_div(ONE_F32, d);

    return s->rule->silu == SILU_TANH_SIGMOID
               ? mxo_f32_mul(mxo_f32_mul(t, sigmoid), s->beta)
               : mxo_f32_mul(mxo_f32_mul(s->beta, t), sigmoid);
}

static uint32_t up_part(const glu_state *s)
{
    return s->linear == 0
               ? s->up
               : mxo_f32_mul(
                     s->linear,
                     mxo_situ_tanh(s, mxo_situ_over(s, s->up, s->linear)));
}

uint32_t mxo_situ(const glu_state *s)
{
    return mxo_f32_mul(gate_part(s), up_part(s));
}
