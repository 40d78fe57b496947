/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVFP4's numbers: a block of 16 E2M1 codes under an E4M3 scale, the rules by
 * which kernels choose both, in single steps of binary32, and the way back.
 * docs/ops/quant.nvfp4.md has the steps.
 */
#ifndef GPU_NVFP4_H
#define GPU_NVFP4_H

#include "ops/glu_steps.h"
#include "ops/quant_block.h"
#include "port/device.h"

#define RCP_FN GPU_FN
#define RCP_TABLE GPU_CONSTANT
#include "../../common/rcp_hopper.h"

enum { NVFP4_BLOCK = 16, NVFP4_MOST = 32 };
enum {
    NVFP4_FAST,
    NVFP4_IEEE,
    NVFP4_EXACT,
    NVFP4_VLLM,
    NVFP4_TRTLLM,
    NVFP4_FROM_E4M3, /* fast's other branch */
    NVFP4_MX         /* no global scale: quant.mx with an E8M0 byte */
};

typedef struct nvfp4_rule {
    uint32_t math;
    uint32_t nearest; /* the reciprocal is correctly rounded, not Hopper's */
    uint32_t e8m0;    /* the scale's type */
} nvfp4_rule;

GPU_FN float nvfp4_nan(void)
{
    return gpu_float(QUANT_QUIET);
}

/* Units of 2^-9 in an E4M3 code without its sign; -1: NaN. */
GPU_FN int32_t nvfp4_units(uint32_t byte)
{
    const uint32_t field = byte >> 3 & 15;
    const int32_t mantissa = (int32_t)(byte & 7);

    if ((byte & 127) == 127) {
        return -1;
    }
    return field == 0 ? mantissa : (8 + mantissa) << (field - 1);
}

/* An E4M3 code as a number, with its sign. */
GPU_FN float nvfp4_e4m3_value(uint32_t byte)
{
    const int32_t n = nvfp4_units(byte);
    const float size = (float)n * 0x1p-9f;

    return n < 0 ? nvfp4_nan() : (byte & 128) != 0 ? -size : size;
}

/* Nearest even, at most 448. */
GPU_FN uint32_t nvfp4_e4m3(double x)
{
    const double integers = 0x1.8p52;
    const uint32_t sign = (uint32_t)(gpu_bits64(x) >> 63) << 7;
    const double size = sign != 0 ? -x : x;
    int e = (int)(gpu_bits64(size) >> 52 & 2047) - 1023;

    if (x != x) {
        return 0x7f;
    }
    if (size >= 448) {
        return 0x7e | sign;
    }
    e = e < -6 ? -6 : e;
    const double unit = gpu_double((uint64_t)(1023 + 3 - e) << 52);
    const double units = size * unit + integers;

    return (((uint32_t)(e + 6) << 3) + (uint32_t)(units - integers)) | sign;
}

/* Ties to the even code; NaN is 6. */
GPU_FN uint32_t nvfp4_e2m1(double y)
{
    const double size = y < 0 ? -y : y;
    const uint32_t sign = (uint32_t)(gpu_bits64(y) >> 63) << 3;

    if (y != y) {
        return 7;
    }
    const uint32_t code = (uint32_t)(size > 0.25) + (uint32_t)(size >= 0.75) +
                          (uint32_t)(size > 1.25) + (uint32_t)(size >= 1.75) +
                          (uint32_t)(size > 2.5) + (uint32_t)(size >= 3.5) +
                          (uint32_t)(size > 5);
    return code | sign;
}

/* A product of flushed numbers, flushed. */
GPU_FN float nvfp4_times(float a, float b)
{
    return glu_flush32(glu_flush32(a) * glu_flush32(b));
}

GPU_FN int nvfp4_is_nought(float x)
{
    return glu_flush32(x) == 0;
}

GPU_FN float nvfp4_inverse(float x)
{
    return glu_flush32(1.0f / glu_flush32(x));
}

/* rcp.approx.ftz.f32 */
GPU_FN float nvfp4_rcp_hopper(float x)
{
    const uint32_t bits = gpu_bits(glu_flush32(x));
    const uint32_t m = bits & 0x7fffffffu;

    if (m > 0x7f800000u) {
        return x;
    }
    if (m == 0 || m == 0x7f800000u) {
        return gpu_float((bits & 0x80000000u) | (m == 0 ? 0x7f800000u : 0));
    }
    const int e = 127 - 24 - (int)(m >> 23);
    const double size = (double)rcp_hopper_units(m & 0x7fffffu) *
                        gpu_double((uint64_t)(1023 + e) << 52);

    return glu_flush32((float)(bits >> 31 != 0 ? -size : size));
}

GPU_FN float nvfp4_rcp(const nvfp4_rule *r, float x)
{
    return r->nearest ? nvfp4_inverse(x) : nvfp4_rcp_hopper(x);
}

/* Of the numbers; NaN if there are none. */
GPU_FN float nvfp4_amax(const float *x, uint32_t n)
{
    float most = -1;

    for (uint32_t i = 0; i < n; i++) {
        const float size = gpu_fabsf(x[i]);
        most = size > most ? size : most;
    }
    return most < 0 ? nvfp4_nan() : most;
}

/* s as a scale byte; E8M0: the exponent, rounded up. */
GPU_FN uint32_t nvfp4_byte(const nvfp4_rule *r, float s)
{
    const uint32_t bits = gpu_bits(s);
    const uint32_t up = (bits >> 23) + ((bits & 0x7fffffu) != 0);

    if (!r->e8m0) {
        return nvfp4_e4m3((double)s);
    }
    return s != s ? 255u : up > 254 ? 254u : up;
}

GPU_FN float nvfp4_scale(const nvfp4_rule *r, uint32_t byte)
{
    return r->e8m0 ? gpu_float(byte << 23) : nvfp4_e4m3_value(byte);
}

/* Factor of the elements under a scale byte. */
GPU_FN float nvfp4_factor(const nvfp4_rule *r, float global, uint32_t byte)
{
    const float scale = nvfp4_scale(r, byte);
    const float most = 0x1.fffffep127f;

    if (r->math == NVFP4_VLLM) {
        return nvfp4_is_nought(scale)
                   ? 0
                   : nvfp4_rcp(r, scale * nvfp4_rcp(r, global));
    }
    if (r->math == NVFP4_IEEE) {
        const float o =
            nvfp4_inverse(nvfp4_times(scale, nvfp4_inverse(global)));
        return o <= most ? o : most;
    }
    return nvfp4_rcp(r, nvfp4_times(scale, nvfp4_rcp(r, global)));
}

GPU_FN uint32_t nvfp4_steps(const nvfp4_rule *r, float global, const float *x,
                            uint32_t n, uint8_t *code)
{
    const float sixth = 0x1.555556p-3f;
    const float amax = nvfp4_amax(x, n);
    const float s = r->math == NVFP4_VLLM ? global * (amax * sixth)
                    : r->math == NVFP4_IEEE
                        ? nvfp4_times(amax, nvfp4_times(global, sixth))
                        : nvfp4_times(global, nvfp4_times(amax, sixth));
    const uint32_t byte = nvfp4_byte(r, s);
    const int is_none = r->math != NVFP4_VLLM && nvfp4_is_nought(amax);
    const float factor = is_none ? 0 : nvfp4_factor(r, global, byte);

    for (uint32_t i = 0; i < n; i++) {
        const float y =
            r->math == NVFP4_VLLM ? x[i] * factor : nvfp4_times(x[i], factor);
        code[i] = (uint8_t)nvfp4_e2m1((double)y);
    }
    return byte;
}

GPU_FN uint32_t nvfp4_trtllm(float global, const float *x, uint32_t n,
                             uint8_t *code)
{
    const float most = nvfp4_amax(x, n);
    const float scaled = (most != most ? 0 : most) * global;
    const uint32_t byte = nvfp4_e4m3((double)(scaled * 0x1.555556p-3f));
    const float scale = nvfp4_e4m3_value(byte);
    const float down = nvfp4_is_nought(scale) ? 0 : 1.0f / scale;

    for (uint32_t i = 0; i < n; i++) {
        const float own = nvfp4_times(x[i], down);
        code[i] = (uint8_t)nvfp4_e2m1((double)(own * global));
    }
    return byte;
}

/* Quotients of 24-bit numbers stay on their side of every tie of 4 bits. */
GPU_FN uint32_t nvfp4_exact(float global, const float *x, uint32_t n,
                            uint8_t *code)
{
    const double g = (double)global;
    const uint32_t byte = nvfp4_e4m3((double)nvfp4_amax(x, n) * g / 6);
    const double scale = (double)nvfp4_e4m3_value(byte);

    for (uint32_t i = 0; i < n; i++) {
        const double y = (double)x[i] * g;
        /* Under a scale of 0 a product that is no number is none either. */
        code[i] =
            (uint8_t)nvfp4_e2m1(scale == 0 ? (double)x[i] * 0 : y / scale);
    }
    return byte;
}

/* FP8 input: first to FP16 at six times the global scale's inverse. */
GPU_FN uint32_t nvfp4_from_e4m3(const nvfp4_rule *r, float global,
                                const float *x, uint32_t n, uint8_t *code)
{
    const float up = nvfp4_times(6.0f, nvfp4_rcp(r, global));
    float h[NVFP4_MOST];

    for (uint32_t i = 0; i < n; i++) {
        h[i] = glu_through(GLU_F16, nvfp4_times(x[i], up));
    }
    const float s =
        nvfp4_times(global, nvfp4_times(nvfp4_amax(h, n), 0x1.555556p-3f));
    const uint32_t byte = nvfp4_byte(r, s);
    const float factor =
        nvfp4_is_nought(s)
            ? 0
            : nvfp4_times(global, nvfp4_rcp(r, nvfp4_scale(r, byte)));

    for (uint32_t i = 0; i < n; i++) {
        code[i] = (uint8_t)nvfp4_e2m1((double)nvfp4_times(h[i], factor));
    }
    return byte;
}

/* Codes of a block, and its scale byte. */
GPU_SLOW uint32_t nvfp4_quantise(const nvfp4_rule *r, float global,
                                 const float *x, uint32_t n, uint8_t *code)
{
    switch (r->math) {
    case NVFP4_TRTLLM:
        return nvfp4_trtllm(global, x, n, code);
    case NVFP4_EXACT:
        return nvfp4_exact(global, x, n, code);
    case NVFP4_FROM_E4M3:
        return nvfp4_from_e4m3(r, global, x, n, code);
    default:
        return nvfp4_steps(r, global, x, n, code);
    }
}

#endif
