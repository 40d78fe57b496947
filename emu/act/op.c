/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters and operand views of the gated operations.  See op.h. */
#include "op.h"

mxo_real mxo_act_param(const mxo_call *call, const char *key)
{
    const double value = mxo_call_real(call, key);
    uint64_t bits;

    if (mxo_call_is(call, key, "none")) {
        const mxo_real infinity = {0, 0, MXO_CLASS_INF, 0, 0};
        return infinity;
    }
    if (!mxo_call_is(call, "to", "f64")) {
        return mxo_format_decode(MXO_FMT_F32, mxo_f32_from_f64(value));
    }
    memcpy(&bits, &value, sizeof bits);
    return mxo_format_decode(MXO_FMT_F64, bits);
}

mxo_status mxo_glu_view_joint(mxo_glu_view *v, const mxo_call *call,
                              int interleaved, int gate_first, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");

    if (x->rank != 2 || x->shape[1] % 2 != 0) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: x has two dimensions, the second even", call->op);
    }
    v->gate = x;
    v->up = x;
    v->rows = x->shape[0];
    v->cols = x->shape[1] / 2;
    v->pitch = x->shape[1];
    v->step = interleaved ? 2 : 1;
    v->gate_at = gate_first ? 0 : interleaved ? 1 : v->cols;
    v->up_at = !gate_first ? 0 : interleaved ? 1 : v->cols;
    return MXO_OK;
}

mxo_status mxo_glu_view_split(mxo_glu_view *v, const mxo_call *call,
                              mxo_text why)
{
    const mxo_tensor *gate = mxo_call_in(call, "gate");
    const mxo_tensor *up = mxo_call_in(call, "up");

    if (gate->rank != 2 || up->rank != 2 ||
        memcmp(gate->shape, up->shape, 2 * sizeof gate->shape[0]) != 0) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: gate and up have the same two dimensions",
                        call->op);
    }
    v->gate = gate;
    v->up = up;
    v->rows = gate->shape[0];
    v->cols = gate->shape[1];
    v->pitch = gate->shape[1];
    v->step = 1;
    v->gate_at = 0;
    v->up_at = 0;
    return MXO_OK;
}
