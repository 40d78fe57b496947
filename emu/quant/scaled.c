/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.scaled and quant.mx_exponent: compressed-tensors, where an observer
 * chooses the scales and the packer takes them as they are.
 */
#include "engine.h"

#define MAGNITUDE 0x7fffffffu

mxo_status infer_quant_scaled(const mxo_call *call, mxo_tensor *out_tensor,
                              uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const mxo_tensor *scale = mxo_call_in(call, "scale");
    const mxo_tensor *global = mxo_call_in(call, "global_scale");
    const uint64_t group = mxo_call_is(call, "scale", "e4m3") ? 16 : 32;

    if (x->rank != 2 || scale->rank != 2 || x->shape[0] != scale->shape[0] ||
        x->shape[1] != group * scale->shape[1]) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: x and scale need rows of whole groups of %llu",
                        call->op, (unsigned long long)group);
    }
    if (global != NULL && mxo_tensor_elems(global) != 1) {
        return mxo_fail(MXO_E_SHAPE, why, "%s: global_scale needs one element",
                        call->op);
    }
    const uint64_t shape[2] = {x->shape[0], x->shape[1] / 2};

    mxo_out(out_tensor, 0, "q", MXO_U8, 2, shape);
    *n_out = 1;
    return MXO_OK;
}

/* A zero of either sign is code 0. */
static uint8_t code_of(uint32_t quotient, uint8_t nan)
{
    if ((quotient & MAGNITUDE) > 0x7f800000u) {
        return nan;
    }
    return (quotient & MAGNITUDE) == 0 ? 0 : engine_e2m1(quotient, MXO_TIE_RNE);
}

mxo_status run_quant_scaled(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const mxo_tensor *scale = mxo_call_in(call, "scale");
    const mxo_tensor *global = mxo_call_in(call, "global_scale");
    const uint64_t group = global != NULL ? 16 : 32;
    const mxo_format type =
        global != NULL ? MXO_FMT_F32 : mxo_call_format(call, "from");
    /* By torch on x86: a NaN that is cast to BF16 has its sign. */
    const uint8_t nan = mxo_call_format(call, "from") == MXO_FMT_BF16 ? 8 : 0;

    (void)why;
    for (uint64_t i = 0; i < mxo_tensor_elems(x); i++) {
        const uint32_t v = quant_load(x, i);
        uint32_t by = quant_load(scale, i / group);
        if (global != NULL) {
            by = mxo_f32_div(by, (uint32_t)mxo_load(global, 0));
        }
        mxo_store_nibble(mxo_tensor_data(mxo_call_out(call, "q")), i,
                         code_of(engine_divide(type, v, by), nan));
    }
    return MXO_OK;
}

mxo_status infer_quant_mx_exponent(const mxo_call *call, mxo_tensor *out_tensor,
                                   uint32_t *n_out, mxo_text why)
{
    (void)why;
    return mxo_infer_like(call, "amax", out_tensor, n_out, "y", MXO_F32);
}

/* What is added before the mantissa is cut, and what the exponent loses. */
static const struct {
    const char *element;
    uint32_t half;
    int offset;
} exponents[] = {
    {"e2m1", 1u << 21, 2},
    {"e2m3", 1u << 19, 2},
    {"e4m3fn", 1u << 21, 8},
};

/* floor(log2) of the field alone: field 0 leaves zero, 255 infinity; a NaN
   that carries into the sign leaves -0. */
static uint32_t exponent_of(uint32_t amax, uint32_t half, int offset)
{
    const uint32_t field = ((amax & MAGNITUDE) + half) >> 23;

    if (field == 255) {
        return 0x7f800000u;
    }
    if (field == 0 || field == 256) {
        return 0xff800000u;
    }
    return mxo_f32_from_f64((double)field - offset);
}

mxo_status run_quant_mx_exponent(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *amax = mxo_call_in(call, "amax");
    const mxo_tensor *y = mxo_call_out(call, "y");
    int e = 0;

    (void)why;
    while (!mxo_call_is(call, "element", exponents[e].element)) {
        e++;
    }
    for (uint64_t i = 0; i < mxo_tensor_elems(amax); i++) {
        mxo_store(y, i,
                  exponent_of((uint32_t)mxo_load(amax, i), exponents[e].half,
                              exponents[e].offset));
    }
    return MXO_OK;
}
