/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exponential inside vLLM's CPU kernels: not an approximation of ours
 * but a recipe of binary32 steps, reproduced step by step.
 */
#include <mxoracle/act.h>

/* floor(x) for |x| < 256: the exponent of its 24-bit mantissa is negative. */
static int32_t floor_f32(uint32_t x)
{
    const mxo_real r = mxo_format_decode(MXO_FMT_F32, x);
    const int shift = -r.exp;
    const uint64_t whole = shift > 63 ? 0 : r.mant >> shift;
    const int has_rest = shift > 63 || whole << shift != r.mant;

    return r.neg ? -(int32_t)whole - has_rest : (int32_t)whole;
}

static uint32_t from_int(int32_t n)
{
    const mxo_rounding nearest_even = {MXO_TIE_RNE, 0, 0, 0};
    const mxo_real r = {(uint64_t)(n < 0 ? -n : n), 0,
                        n == 0 ? MXO_CLASS_ZERO : MXO_CLASS_FINITE, n < 0, 0};

    return (uint32_t)mxo_format_encode(MXO_FMT_F32, r, nearest_even);
}

uint32_t mxo_act_exp_u20(uint32_t x)
{
    const uint32_t top = 0x42b17218;    /* 88.722839 */
    const uint32_t bottom = 0xc2aeac50; /* -87.336544 */
    const uint32_t log2e = 0x3fb8aa3b;
    const uint32_t half = 0x3f000000;
    const uint32_t minus_ln2 = 0xbf317218;
    const uint32_t coefficient[] = {0x3d2b9d0d, 0x3e2aad40, 0x3efffee3,
                                    0x3f7ffffb, 0x3f800000};
    uint32_t s = mxo_f32_cmp(x, top) == -1 ? x : top;

    s = mxo_f32_cmp(s, bottom) == 1 ? s : bottom;
    const int32_t n = floor_f32(mxo_f32_fma(s, log2e, half));
    const uint32_t r = mxo_f32_fma(from_int(n), minus_ln2, s);
    uint32_t p = 0x3c07cfce;

    for (int i = 0; i < 5; i++) {
        p = mxo_f32_fma(r, p, coefficient[i]);
    }
    /* 2^(n-1), so that n = 128 stays finite; zero below the bottom. */
    const uint32_t scale =
        mxo_f32_cmp(x, bottom) == -1 ? 0 : (uint32_t)(n - 1 + 127) << 23;

    return mxo_f32_mul(mxo_f32_mul(p, scale), 0x40000000);
}
