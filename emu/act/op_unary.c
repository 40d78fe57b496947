/* SPDX-License-Identifier: Apache-2.0 */
/* act.unary: functions of one binary32 variable.  docs/ops/act.unary.md */
#include "op.h"

static const char *const names[] = {"exp",  "exp2",       "tanh",   "sigmoid",
                                    "silu", "silu_alpha", "exp_u20"};

enum { SILU_ALPHA = 5, EXP_U20 = 6, N_NAMES = 7 };

mxo_status infer_act_unary(const mxo_call *call, mxo_tensor *out_tensor,
                           uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const char *to = mxo_call_text(call, "to");

    if (mxo_call_is(call, "fn", "silu_alpha") &&
        mxo_act_param(call, "alpha").cls == MXO_CLASS_NAN) {
        return mxo_fail(MXO_E_PARAM, why, "act.unary: alpha is not a number");
    }
    mxo_out(out_tensor, 0, "y", mxo_dtype_by_name(to, strlen(to)), x->rank,
            x->shape);
    *n_out = 1;
    return MXO_OK;
}

/* x * sigmoid(alpha * x) */
static uint64_t silu_alpha(mxo_real x, mxo_real alpha, mxo_format to)
{
    const mxo_real one = {1, 0, MXO_CLASS_FINITE, 0, 0};
    const mxo_real zero = {0, 0, MXO_CLASS_ZERO, 0, 0};
    const mxo_act_gated a = {x, one, alpha, zero};

    return mxo_act_gated_eval(&a, to, NULL);
}

/* ftz: subnormal operands and binary32 results count as zero. */
static uint64_t flush(uint64_t y, mxo_format to, int ftz)
{
    return ftz && to == MXO_FMT_F32 ? mxo_f32_ftz((uint32_t)y) : y;
}

static uint64_t exp_u20(uint32_t x, mxo_format to)
{
    const mxo_rounding nearest_even = {MXO_TIE_RNE, 0, 0, 0};
    const mxo_real y = mxo_format_decode(MXO_FMT_F32, mxo_act_exp_u20(x));

    return mxo_format_encode(to, y, nearest_even);
}

mxo_status run_act_unary(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const mxo_tensor *y = mxo_call_out(call, "y");
    const int fn = mxo_call_choice(call, "fn", names, N_NAMES);
    const mxo_format to = mxo_call_format(call, "to");
    const mxo_real alpha = mxo_act_param(call, "alpha");

    const int ftz = (int)mxo_call_int(call, "ftz");

    (void)why;
    for (uint64_t i = 0; i < mxo_tensor_elems(x); i++) {
        uint32_t code = (uint32_t)mxo_load(x, i);
        code = ftz ? mxo_f32_ftz(code) : code;
        const mxo_real value = mxo_format_decode(MXO_FMT_F32, code);
        const uint64_t result =
            fn == SILU_ALPHA ? silu_alpha(value, alpha, to)
            : fn == EXP_U20  ? exp_u20(code, to)
                             : mxo_act_eval((mxo_act_fn)fn, value, to, NULL);
        mxo_store(y, i, flush(result, to, ftz));
    }
    return MXO_OK;
}
