/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions for ../../router_score.h: sigmoids, hyperbolic tangents
 * and logarithms, correctly rounded to binary32, numbers through the type of a
 * tensor, logits in memory.
 */
#ifndef GPU_ROUTE_MATH_H
#define GPU_ROUTE_MATH_H

#include "../../common/router.h"
#include "ops/glu_power.h"
#include "ops/glu_steps.h"
#include "ops/quant_rare.h"
#include "port/device.h"

#define ROUTE_FN GPU_FN

enum { ROUTE_LN_TERMS = 24 };

GPU_FN uint32_t route_bits(float x)
{
    return gpu_bits(x);
}

GPU_FN float route_float(uint32_t bits)
{
    return gpu_float(bits);
}

GPU_FN uint32_t route_logit(const route_token *t, uint32_t e)
{
    const uint32_t type = t->p->from;
    const uint32_t x = type == ROUTE_F32 ? gpu_load_u32(t->logits, e)
                       : type == ROUTE_F16
                           ? quant_widen(QUANT_F16, gpu_load_u16(t->logits, e))
                           : gpu_load_u16(t->logits, e) << 16;

    return quant_is_nan(x) && (t->p->flags & ROUTE_PAYLOADS) == 0
               ? (x & 0x80000000u) | QUANT_QUIET
               : x;
}

/* The types of routers are numbered as the gated units' are. */
GPU_FN float route_through(uint32_t type, float x)
{
    return x != x ? gpu_float(0x7fc00000u) : glu_through((int)type, x);
}

GPU_FN float route_exp(float x)
{
    return glu_exp32(x);
}

GPU_FN double route_root(double x)
{
    return gpu_sqrt(x);
}

/* 1 / (1 + e^-x) rounded once, in pairs; e^-|x| does not overflow. */
GPU_SLOW float route_sigmoid(float x)
{
    const glu_pair one = {1, 0};

    if (x != x || x < -105.0f || x > 100.0f) {
        return x != x ? x : x < 0 ? 0.0f : 1.0f;
    }
    const glu_pair e = glu_exp_pair(-(double)gpu_fabsf(x));
    const glu_pair y = glu_over(x < 0 ? e : one, glu_add(one, e));

    return gpu_float(glu_round(GLU_F32, y.hi, glu_direction(y.hi, y.lo)));
}

/* 0.5 tanh(0.5 x) + 0.5, the last two in one step. */
GPU_FN float route_half_tanh(float x)
{
    return gpu_fmaf(0.5f, glu_tanh32(0.5f * x), 0.5f);
}

/* ln of c 2^k, c between the roots of 1/2 and 2, by the series of
   (c - 1) / (c + 1) in pairs. */
GPU_FN glu_pair route_ln_pair(double c, int k)
{
    const glu_pair one = {1, 0};
    const glu_pair ln2 = {GLU_LN2_HI, GLU_LN2_MID};
    const glu_pair whole = {(double)k, 0};
    const glu_pair top = {c - 1, 0};
    const glu_pair below = {c + 1, 0};
    const glu_pair s = glu_over(top, below);
    const glu_pair s2 = glu_times(s, s);
    glu_pair sum = {0, 0};

    GPU_LOOP
    for (int n = ROUTE_LN_TERMS; n > 0; n--) {
        const glu_pair odd = {(double)(2 * n + 1), 0};
        sum = glu_times(glu_add(sum, glu_over(one, odd)), s2);
    }
    glu_pair series = glu_times(s, glu_add(one, sum));

    series.hi *= 2;
    series.lo *= 2;
    return glu_add(glu_times(ln2, whole), series);
}

GPU_SLOW float route_ln(float x)
{
    const uint64_t bits = gpu_bits64((double)x);
    int k = (int)(bits >> 52 & 2047) - 1023;
    double c = gpu_double((bits & 0xfffffffffffffull) | (uint64_t)1023 << 52);

    if (x == 0 || !(x > 0)) {
        return x == 0 ? -(float)GPU_INFINITY : gpu_float(0x7fc00000u);
    }
    if (x == 1 || x == (float)GPU_INFINITY) {
        return x == 1 ? 0.0f : x;
    }
    if (c > 0x1.6a09e6p+0) {
        c *= 0.5;
        k++;
    }
    const glu_pair y = route_ln_pair(c, k);

    return gpu_float(glu_round(GLU_F32, y.hi, glu_direction(y.hi, y.lo)));
}

#endif
