/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.qdq: vLLM's MXFP4 emulation, quantise and dequantise in one go.
 *
 * Two implementations of amd-quark differ in everything but the idea: the HIP
 * kernel works in the 16-bit input type throughout, the Triton kernel is the
 * row quark_triton of the rules and dequantises with "byte 0 means 0".
 */
#include "quant.h"

#define INFINITE 0x7f800000u

static const mxo_rounding nearest_even = {MXO_TIE_RNE, 0, 0, 0};

/* One rounding from binary32 to the 16-bit type and back. */
static uint32_t round16(mxo_format wide, uint32_t x)
{
    const mxo_real real = mxo_format_decode(MXO_FMT_F32, x);

    return mxo_quant_widen(wide, mxo_format_encode(wide, real, nearest_even));
}

/* 2^(byte - 127) in the 16-bit type; zero_is_0: byte 0 decodes to 0. */
static uint32_t scale16(mxo_format wide, uint8_t byte, int zero_is_0)
{
    if (byte == 0) {
        return zero_is_0 ? 0 : round16(wide, 0x00400000u);
    }
    return round16(wide, (uint32_t)byte << 23);
}

uint8_t mxo_quant_quark_hip_byte(mxo_format wide, uint32_t amax)
{
    const mxo_format_spec *f = mxo_format_info(wide);
    const int top = (1 << f->ebits) - 1;
    const uint64_t code = mxo_format_encode(
        wide, mxo_format_decode(MXO_FMT_F32, amax), nearest_even);
    /* Half of the first mantissa bit of the 16-bit pattern: the carry is the
       rounding, and lifts a subnormal from three quarters to the first
       normal. */
    const uint64_t rounded = code + ((uint64_t)1 << (f->mbits - 2));
    const int field = (int)(rounded >> f->mbits);

    /* Zero and infinity leave int32: INT_MIN - 2 wraps, INT_MAX - 2 stays. */
    if (field == 0 || field >= top) {
        return 254;
    }
    const int byte = field - f->bias + 127 - 2;

    return byte < 0 ? 0 : (uint8_t)byte;
}

uint8_t mxo_quant_quark_hip_code(mxo_format wide, uint8_t byte, uint32_t x)
{
    const mxo_rounding saturate = {MXO_TIE_RNE, 1, 0, 0};
    const uint32_t scale = scale16(wide, byte, 0);
    const mxo_real q =
        mxo_format_decode(MXO_FMT_F32, round16(wide, mxo_f32_div(x, scale)));

    return (uint8_t)mxo_format_encode(MXO_FMT_E2M1, q, saturate);
}

uint64_t mxo_quant_qdq_value(mxo_format wide, uint8_t code, uint8_t byte,
                             int zero_is_0)
{
    const uint32_t y = mxo_f32_mul(mxo_quant_widen(MXO_FMT_E2M1, code),
                                   scale16(wide, byte, zero_is_0));

    return mxo_format_encode(wide, mxo_format_decode(MXO_FMT_F32, y),
                             nearest_even);
}

mxo_status infer_quant_qdq(const mxo_call *call, mxo_tensor *out_tensor,
                           uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    uint64_t shape[MXO_MAX_RANK] = {0};
    const uint32_t last = x->rank - 1;

    if (x->rank == 0 || x->shape[last] % MXO_MX_BLOCK != 0) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: the last axis is not a multiple of 32", call->op);
    }
    for (uint32_t i = 0; i < x->rank; i++) {
        shape[i] = x->shape[i];
    }
    mxo_out(out_tensor, 0, "y", x->dtype, x->rank, shape);
    shape[last] = x->shape[last] / 2;
    mxo_out(out_tensor, 1, "q", MXO_U8, x->rank, shape);
    shape[last] = x->shape[last] / MXO_MX_BLOCK;
    mxo_out(out_tensor, 2, "scale", MXO_E8M0, x->rank, shape);
    *n_out = 3;
    return MXO_OK;
}

static uint8_t quark_hip(const mxo_quant_rule *skip, mxo_format wide,
                         uint8_t *codes, const uint32_t *x)
{
    const uint32_t amax =
        mxo_quant_amax(skip, mxo_quant_amax_start(skip), x, MXO_MX_BLOCK);
    const uint8_t byte = mxo_quant_quark_hip_byte(wide, amax);

    for (int i = 0; i < MXO_MX_BLOCK; i++) {
        /* The GPU's NaN is positive, whatever the operand's sign. */
        const int nan = (x[i] & 0x7fffffffu) > INFINITE;

        codes[i] =
            mxo_quant_quark_hip_code(wide, byte, nan ? 0x7fc00000u : x[i]);
    }
    return byte;
}

mxo_status run_quant_qdq(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *in = mxo_call_in(call, "x");
    const mxo_format wide = mxo_dtype_format(in->dtype);
    const mxo_quant_rule *rule = mxo_quant_rule_by_name("quark_triton");
    const int hip = mxo_call_is(call, "rule", "quark_hip");
    const uint64_t blocks = mxo_tensor_elems(in) / MXO_MX_BLOCK;
    uint8_t *q = mxo_tensor_data(mxo_call_out(call, "q"));
    uint32_t x[MXO_MX_BLOCK];
    uint8_t codes[MXO_MX_BLOCK];

    (void)why;
    for (uint64_t b = 0; b < blocks; b++) {
        for (uint64_t i = 0; i < MXO_MX_BLOCK; i++) {
            x[i] = quant_load(in, b * MXO_MX_BLOCK + i);
        }
        const uint8_t byte =
            hip ? quark_hip(rule, wide, codes, x)
                : mxo_quant_mx(rule, MXO_FMT_E2M1, -1, codes, x, MXO_MX_BLOCK);

        mxo_store(mxo_call_out(call, "scale"), b, byte);
        for (uint64_t i = 0; i < MXO_MX_BLOCK; i++) {
            const uint64_t at = b * MXO_MX_BLOCK + i;

            mxo_store_nibble(q, at, codes[i]);
            mxo_store(mxo_call_out(call, "y"), at,
                      mxo_quant_qdq_value(wide, codes[i], byte, !hip));
        }
    }
    return MXO_OK;
}
