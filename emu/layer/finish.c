/* SPDX-License-Identifier: Apache-2.0 */
/* Epilogue of a sum (scales, bias, rounding) and of an activation, with the
   treatment of NaN before its formula. */
#include "layer.h"

#define ONE 0x3f800000u

uint32_t layer_bias_at(const layer_gemm *g, uint64_t row)
{
    const mxo_format from = mxo_dtype_format(g->bias->dtype);
    const uint32_t x = mxo_quant_widen(from, mxo_load(g->bias, row));

    return layer_round(g->recipe->bias_type, x);
}

/* The largest BF16 number in place of infinity. */
static uint32_t saturated(uint32_t x)
{
    return (x & 0x7fffffffu) == 0x7f800000u ? x - 0x10000u : x;
}

uint32_t layer_round(mxo_profile_choice out, uint32_t x)
{
    const mxo_format to = layer_format(out);

    if (to == MXO_FMT_F32) {
        return x;
    }
    if (out == MXO_P_GEMM1_OUT_DOWN || out == MXO_P_ROW_OUT_DOWN) {
        x = mxo_f32_ftz(x);
    }
    x = mxo_quant_widen(to, layer_code(to, x));
    return out == MXO_P_ROW_OUT_BF16SAT ? saturated(x) : x;
}

uint64_t layer_code(mxo_format to, uint32_t x)
{
    return to == MXO_FMT_F32
               ? x
               : mxo_format_round(to, mxo_format_decode(MXO_FMT_F32, x));
}

static uint32_t power_of_two(int exp)
{
    return (uint32_t)(127 + exp) << 23;
}

/* Operands that were small by 2^-2 are brought back behind the rounding, others
   before it, unless the routing weight does it. */
static uint32_t brought_back(const layer_recipe *r, mxo_profile_choice out,
                             uint32_t y)
{
    if (r->behind == 0 || layer_scales_late(r)) {
        return layer_round(out, y);
    }
    if (r->behind == 2) {
        y = layer_round(out, y);
    }
    return layer_round(out, mxo_f32_mul(y, power_of_two(r->behind)));
}

static uint32_t add_flushed(uint32_t a, uint32_t b)
{
    return mxo_f32_ftz(mxo_f32_add(mxo_f32_ftz(a), mxo_f32_ftz(b)));
}

uint32_t layer_bias_behind(const layer_recipe *r, mxo_profile_choice out,
                           uint32_t bias, uint32_t y)
{
    switch (r->bias) {
    case MXO_P_BIAS1_BEHIND:
        return add_flushed(y, bias);
    case MXO_P_BIAS1_UNROUNDED:
        return mxo_f32_add(y, bias);
    case MXO_P_BIAS1_ROUNDED:
        return layer_round(out, mxo_f32_add(y, bias));
    default:
        return y;
    }
}

uint32_t layer_finish(const layer_recipe *r, mxo_profile_choice out,
                      uint32_t bias, uint32_t y)
{
    y = r->quant.factor == ONE ? y : mxo_f32_mul(y, r->quant.factor);
    y = r->bias == MXO_P_BIAS1_ACC ? mxo_f32_add(y, bias) : y;
    y = r->bias == MXO_P_BIAS1_ACC_FTZ ? add_flushed(y, bias) : y;
    return layer_bias_behind(r, out, bias, brought_back(r, out, y));
}

uint64_t layer_act(const layer_recipe *r, const mxo_glu *unit, uint32_t gate,
                   uint32_t up)
{
    const uint64_t y = mxo_act_glu(unit, layer_code(unit->from, gate),
                                   layer_code(unit->from, up));

    return r->glu_out == MXO_P_GLU_OUT_BF16SAT && (y & 0x7fff) == 0x7f80 ? y - 1
                                                                         : y;
}

mxo_glu_nan layer_glu_nan(const mxo_call *call)
{
    if (mxo_call_is(call, "glu_nan", "launder")) {
        return MXO_GLU_NAN_LAUNDER;
    }
    if (mxo_call_is(call, "glu_nan", "launder_low")) {
        return MXO_GLU_NAN_LAUNDER_LOW;
    }
    if (mxo_call_is(call, "glu_nan", "propagate")) {
        return MXO_GLU_NAN_PROPAGATE;
    }
    return MXO_GLU_NAN_DIALECT;
}
