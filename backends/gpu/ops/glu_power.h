/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of some dialects beside e^x: 2^x and tanh x, correctly rounded, and
 * the polynomial of vLLM's CPU kernels.
 */
#ifndef GPU_GLU_POWER_H
#define GPU_GLU_POWER_H

#include "ops/glu_exact.h"
#include "port/device.h"

#define GLU_LOG2E_F32 0x1.715476p0f /* log2 e, rounded to binary32 */

/* x without subnormal numbers of binary32. */
GPU_FN float glu_flush32(float x)
{
    return gpu_fabsf(x) < 0x1p-126f ? gpu_float(gpu_bits(x) & 0x80000000u) : x;
}

/* 2^x = 2^n e^(f ln 2); where the product with ln 2 as one number, 2^-53 off,
   leaves the answer open it is a pair. */
GPU_SLOW float glu_two_to(float x)
{
    if (x != x) {
        return x;
    }
    if (x >= 128.0f || x <= -150.0f) {
        return x > 0 ? (float)GPU_INFINITY : 0.0f;
    }
    const double near = (double)x + 0x1.8p52;
    const double n = near - 0x1.8p52;
    const glu_pair f = {(double)x - n, 0};
    const glu_pair ln2 = {GLU_LN2_HI, GLU_LN2_MID};
    const double scale = glu_power((int)n);
    const double y = glu_exp(f.hi * GLU_LN2_HI) * scale;

    if (f.hi != 0 && glu_decided(GLU_F32, y)) {
        return gpu_float(glu_round(GLU_F32, y, 0));
    }
    const glu_pair p = glu_taylor(glu_times(f, ln2));

    return gpu_float(glu_round(GLU_F32, p.hi * scale,
                               glu_direction(p.hi * scale, p.lo * scale)));
}

/* tanh x = (1 - E) / (1 + E), E = e^-2|x|, in pairs; below 2^-12 it is x less
   x^3 / 3, under a third of half a unit, and so x itself. */
GPU_SLOW float glu_tanh32(float x)
{
    const double z = (double)gpu_fabsf(x);
    const glu_pair one = {1, 0};

    if (x != x || z < 0x1p-12) {
        return x;
    }
    if (z > 16) {
        return x < 0 ? -1.0f : 1.0f;
    }
    const glu_pair e = glu_exp_pair(-2 * z);
    const glu_pair minus = {-e.hi, -e.lo};
    const glu_pair y = glu_over(glu_add(one, minus), glu_add(one, e));
    const uint32_t code = glu_round(GLU_F32, y.hi, glu_direction(y.hi, y.lo));

    return gpu_float(code | (gpu_bits(x) & 0x80000000u));
}

/*
 * e^x = 2^n p(r), n = floor(x log2 e + 1/2), by a polynomial of degree 5, every
 * step fused and in binary32.  2^(n-1) and a last doubling keep n = 128 finite;
 * below the smallest argument, and where 2^(n-1) is no normal number, there is
 * zero.  A NaN counts as the largest.
 */
GPU_FN float glu_exp_u20(float x)
{
    const float top = gpu_float(0x42b17218u);
    const float bottom = gpu_float(0xc2aeac50u);
    float s = x < top ? x : top;

    s = s > bottom ? s : bottom;
    const float turns = gpu_fmaf(s, gpu_float(0x3fb8aa3bu), 0.5f);
    int n = (int)turns;

    n -= (float)n > turns;
    const float r = gpu_fmaf((float)n, gpu_float(0xbf317218u), s);
    float p = gpu_float(0x3c07cfceu);

    p = gpu_fmaf(r, p, gpu_float(0x3d2b9d0du));
    p = gpu_fmaf(r, p, gpu_float(0x3e2aad40u));
    p = gpu_fmaf(r, p, gpu_float(0x3efffee3u));
    p = gpu_fmaf(r, p, gpu_float(0x3f7ffffbu));
    p = gpu_fmaf(r, p, gpu_float(0x3f800000u));
    const float scale = x < bottom || n < -125 ? 0.0f : (float)glu_power(n - 1);
    const float half = p * scale;

    return half * 2.0f;
}

#endif
