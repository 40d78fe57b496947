/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One NVFP4 block: a scale byte under a global scale, then E2M1 codes.
 *
 * FlashInfer's kernels chain single binary32 steps, flushing subnormals, with
 * the approximate reciprocal (fast) or IEEE divisions (ieee); each step is
 * one line below.  "exact" is the definition without the chain: both the
 * scale and the codes are real numbers rounded once.
 */
#include "quant.h"

#define ONE 0x3f800000u
#define SIX 0x40c00000u
#define RN_1_6 0x3e2aaaabu /* RN32(1/6); rcp.approx(6) is the same number */
#define INFINITE 0x7f800000u
#define FLT_MAX_BITS 0x7f7fffffu

static const mxo_rounding nearest_even = {MXO_TIE_RNE, 0, 0, 0};
static const mxo_rounding saturate = {MXO_TIE_RNE, 1, 0, 0};

static uint32_t mul(uint32_t a, uint32_t b)
{
    return mxo_f32_ftz(mxo_f32_mul(mxo_f32_ftz(a), mxo_f32_ftz(b)));
}

static uint32_t reciprocal(uint32_t a)
{
    return mxo_f32_ftz(mxo_f32_div(ONE, mxo_f32_ftz(a)));
}

static uint32_t rcp(const mxo_nvfp4_rule *rule, uint32_t a)
{
    return rule->rcp_hopper ? mxo_rcp_hopper_ftz(a) : reciprocal(a);
}

static int is_zero(uint32_t a)
{
    return (a & INFINITE) == 0; /* a flushed comparison */
}

static uint8_t e4m3(uint32_t s)
{
    return (uint8_t)mxo_format_encode(
        MXO_FMT_E4M3FN, mxo_format_decode(MXO_FMT_F32, s), saturate);
}

/* Exponent field, + 1 if any mantissa bit is set, at most 254; NaN 255. */
static uint8_t e8m0_up(uint32_t s)
{
    const uint32_t byte = (s >> 23) + ((s & 0x7fffffu) != 0);

    if (mxo_f32_is_nan(s)) {
        return 255;
    }
    return byte > 254 ? 254 : (uint8_t)byte;
}

static uint8_t scale_of(const mxo_nvfp4_rule *rule, uint32_t s)
{
    return rule->e8m0 ? e8m0_up(s) : e4m3(s);
}

/* The stored scale as the kernel reads it back: E8M0 byte 0 is 0.0. */
static uint32_t decode_scale(const mxo_nvfp4_rule *rule, uint8_t byte)
{
    return rule->e8m0 ? (uint32_t)byte << 23
                      : mxo_quant_widen(MXO_FMT_E4M3FN, byte);
}

static uint32_t amax_of(const uint32_t *x, size_t n)
{
    const mxo_quant_rule *skip = mxo_quant_rule_by_name("flashinfer");

    return mxo_quant_amax(skip, mxo_quant_amax_start(skip), x, n);
}

static uint8_t code_of(mxo_real y)
{
    return y.cls == MXO_CLASS_NAN
               ? 7
               : (uint8_t)mxo_format_encode(MXO_FMT_E2M1, y, saturate);
}

static void encode(uint8_t *codes, const uint32_t *x, size_t n, uint32_t o)
{
    for (size_t i = 0; i < n; i++) {
        codes[i] = code_of(mxo_format_decode(MXO_FMT_F32, mul(x[i], o)));
    }
}

/* Factor of the elements under a scale byte. */
static uint32_t fast_factor(const mxo_nvfp4_rule *rule, uint32_t g, uint8_t sf)
{
    return rcp(rule, mul(decode_scale(rule, sf), rcp(rule, g)));
}

static uint32_t ieee_factor(const mxo_nvfp4_rule *rule, uint32_t g, uint8_t sf)
{
    const uint32_t o = reciprocal(mul(decode_scale(rule, sf), reciprocal(g)));

    /* fmin drops a NaN */
    return mxo_f32_is_nan(o) || mxo_f32_cmp(o, FLT_MAX_BITS) > 0 ? FLT_MAX_BITS
                                                                 : o;
}

static uint8_t fast(const mxo_nvfp4_rule *rule, uint32_t g, uint8_t *codes,
                    const uint32_t *x, size_t n)
{
    const uint32_t amax = amax_of(x, n);
    const uint8_t sf = scale_of(rule, mul(g, mul(amax, RN_1_6)));

    encode(codes, x, n, is_zero(amax) ? 0 : fast_factor(rule, g, sf));
    return sf;
}

static uint8_t ieee(const mxo_nvfp4_rule *rule, uint32_t g, uint8_t *codes,
                    const uint32_t *x, size_t n)
{
    const uint32_t amax = amax_of(x, n);
    const uint8_t sf = scale_of(rule, mul(amax, mul(g, RN_1_6)));

    encode(codes, x, n, is_zero(amax) ? 0 : ieee_factor(rule, g, sf));
    return sf;
}

static uint32_t vllm_factor(const mxo_nvfp4_rule *rule, uint32_t g, uint8_t sf)
{
    const uint32_t scale = decode_scale(rule, sf);

    return is_zero(scale) ? 0 : rcp(rule, mxo_f32_mul(scale, rcp(rule, g)));
}

/* vLLM nvfp4_utils.cuh: only reciprocals flush subnormals. */
static uint8_t vllm(const mxo_nvfp4_rule *rule, uint32_t g, uint8_t *codes,
                    const uint32_t *x, size_t n)
{
    const uint32_t s = mxo_f32_mul(g, mxo_f32_mul(amax_of(x, n), RN_1_6));
    const uint8_t sf = e4m3(s);
    const uint32_t o = vllm_factor(rule, g, sf);

    for (size_t i = 0; i < n; i++) {
        codes[i] =
            code_of(mxo_format_decode(MXO_FMT_F32, mxo_f32_mul(x[i], o)));
    }
    return sf;
}

/* By the stored scale first, which is exact but for one rounding, and by the
   global one last. */
static uint8_t trtllm_code(uint32_t g, uint8_t sf, uint32_t x)
{
    const uint32_t scale = mxo_quant_widen(MXO_FMT_E4M3FN, sf);
    const uint32_t enc = is_zero(scale) ? 0 : mxo_f32_div(ONE, scale);

    return code_of(mxo_format_decode(MXO_FMT_F32, mxo_f32_mul(mul(x, enc), g)));
}

static uint8_t trtllm_gen(uint32_t g, uint8_t *codes, const uint32_t *x,
                          size_t n)
{
    const uint32_t most = amax_of(x, n);
    const uint32_t amax = mxo_f32_is_nan(most) ? 0 : most;
    const uint8_t sf = e4m3(mxo_f32_mul(mxo_f32_mul(amax, g), RN_1_6));

    for (size_t i = 0; i < n; i++) {
        codes[i] = trtllm_code(g, sf, x[i]);
    }
    return sf;
}

/* FP8 input: first to FP16 at six times the global scale's inverse. */
static uint8_t from_e4m3(const mxo_nvfp4_rule *rule, uint32_t g, uint8_t *codes,
                         const uint32_t *x, size_t n)
{
    const uint32_t up = mul(SIX, rcp(rule, g));
    uint32_t h[MXO_MX_BLOCK];

    for (size_t i = 0; i < n; i++) {
        const mxo_real y = mxo_format_decode(MXO_FMT_F32, mul(x[i], up));

        h[i] = mxo_quant_widen(MXO_FMT_F16,
                               mxo_format_encode(MXO_FMT_F16, y, nearest_even));
    }
    const uint32_t s = mul(g, mul(amax_of(h, n), RN_1_6));
    const uint8_t sf = scale_of(rule, s);
    const uint32_t o = mul(g, rcp(rule, decode_scale(rule, sf)));

    encode(codes, h, n, is_zero(s) ? 0 : o);
    return sf;
}

/* a * b / divisor with the remainder as sticky; divisor < 16. */
static mxo_real product_over(mxo_real a, mxo_real b, uint64_t divisor)
{
    mxo_real y = mxo_real_mul(a, b); /* 24 + 24 bits */

    if (y.cls != MXO_CLASS_FINITE) {
        return y;
    }
    const int up = 62 - (mxo_real_lg(y) - y.exp);
    const uint64_t numerator = y.mant << up;

    y.mant = numerator / divisor;
    y.exp -= up;
    y.sticky = numerator % divisor != 0;
    return y;
}

/* RNE of x * g / scale; 0 under scale 0, and a NaN scale makes NaN. */
static uint8_t exact_code(mxo_real global, uint8_t sf, uint32_t x)
{
    const mxo_real scale = mxo_format_decode(MXO_FMT_E4M3FN, sf);
    mxo_real y = mxo_format_decode(MXO_FMT_F32, x);

    if (scale.cls == MXO_CLASS_FINITE) {
        y = mxo_real_scale(product_over(y, global, scale.mant), -scale.exp);
        y.neg ^= scale.neg;
    } else if (y.cls != MXO_CLASS_NAN) {
        y.cls = scale.cls;
    }
    return code_of(y);
}

/* Scale: RNE of g * amax / 6. */
static uint8_t exact(uint32_t g, uint8_t *codes, const uint32_t *x, size_t n)
{
    const mxo_real amax = mxo_format_decode(MXO_FMT_F32, amax_of(x, n));
    const mxo_real global = mxo_format_decode(MXO_FMT_F32, g);
    const mxo_real s = mxo_real_scale(product_over(amax, global, 3), -1);
    const uint8_t sf = (uint8_t)mxo_format_encode(MXO_FMT_E4M3FN, s, saturate);

    for (size_t i = 0; i < n; i++) {
        codes[i] = exact_code(global, sf, x[i]);
    }
    return sf;
}

uint8_t mxo_quant_nvfp4_code(const mxo_nvfp4_rule *rule, uint32_t g,
                             uint8_t byte, uint32_t x)
{
    uint8_t code;

    if (rule->math == MXO_NVFP4_EXACT) {
        return exact_code(mxo_format_decode(MXO_FMT_F32, g), byte, x);
    }
    if (rule->math == MXO_NVFP4_TRTLLM_GEN) {
        return trtllm_code(g, byte, x);
    }
    if (rule->math == MXO_NVFP4_VLLM) {
        return code_of(mxo_format_decode(
            MXO_FMT_F32, mxo_f32_mul(x, vllm_factor(rule, g, byte))));
    }
    encode(&code, &x, 1,
           rule->math == MXO_NVFP4_FAST ? fast_factor(rule, g, byte)
                                        : ieee_factor(rule, g, byte));
    return code;
}

uint8_t mxo_quant_nvfp4(const mxo_nvfp4_rule *rule, uint32_t global_scale,
                        uint8_t *codes, const uint32_t *x, size_t n)
{
    const uint32_t g = rule->inverted ? rcp(rule, global_scale) : global_scale;

    if (rule->math == MXO_NVFP4_EXACT) {
        return exact(g, codes, x, n);
    }
    if (rule->math == MXO_NVFP4_VLLM) {
        return vllm(rule, g, codes, x, n);
    }
    if (rule->math == MXO_NVFP4_TRTLLM_GEN) {
        return trtllm_gen(g, codes, x, n);
    }
    if (rule->from_e4m3) {
        return from_e4m3(rule, g, codes, x, n);
    }
    if (rule->e8m0) { /* MXFP4: the global scale does not enter */
        return mxo_quant_mx(mxo_quant_rule_by_name("flashinfer"), MXO_FMT_E2M1,
                            -1, codes, x, n);
    }
    return rule->math == MXO_NVFP4_FAST ? fast(rule, g, codes, x, n)
                                        : ieee(rule, g, codes, x, n);
}
