/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gated unit as a dialect spells it: binary32 operations, each rounded,
 * around a correctly rounded exponential.
 */
#ifndef GPU_GLU_STEPS_H
#define GPU_GLU_STEPS_H

#include "ops/glu_exact.h"
#include "ops/glu_power.h"
#include "port/device.h"

enum { GLU_NAN_PROPAGATE, GLU_NAN_LIMIT, GLU_NAN_LOW };
enum { GLU_CLAMP_NEVER, GLU_CLAMP_BEFORE, GLU_CLAMP_ROUNDED, GLU_CLAMP_AFTER };
enum {
    GLU_SILU_DIVIDE,
    GLU_SILU_RECIP,
    GLU_SILU_LAST,
    GLU_SILU_TANH, /* SiTU from here on */
    GLU_SILU_TANH_INVERSE,
    GLU_SILU_TANH_EXP2,
    GLU_SILU_TANH_SIGMOID
};
enum { GLU_TAIL_TIMES, GLU_TAIL_PLUS, GLU_TAIL_FMA };
/* The exponential: e^x, vLLM's polynomial, 2^x, 2^RN(x log2 e). */
enum { GLU_EXP_RN, GLU_EXP_U20, GLU_EXP_TWO, GLU_EXP_TWICE };
#define GLU_LARGEST 0x1.fffffep127f

typedef struct glu_dialect {
    uint8_t exact; /* not by steps at all */
    uint8_t nan;   /* treatment of a NaN by the clamps */
    uint8_t clamp; /* of the numbers before, and rounded; gate after silu */
    uint8_t silu;  /* g / (1 + e), g * (1 / (1 + e)), (u + b) g / (1 + e) */
    uint8_t tail;  /* s * u, s * (u + b), fma(s, u, s) */
    uint8_t kept;  /* the silu is rounded to the type of the result */
    uint8_t typed; /* every step is rounded to the type of the input */
    uint8_t through_bf16; /* gate, up and limit are rounded to it first */
    uint8_t exp;
    uint8_t always; /* no limit is one of infinity, which a NaN meets */
    uint8_t finite; /* no limit is the largest number, below the gate too */
    uint8_t folded; /* alpha has log2 e and the scale; up takes the scale */
    uint8_t down;   /* results in bfloat16 have no binary32 subnormals */
} glu_dialect;

GPU_FN float glu_widen(int from, uint32_t code)
{
    if (from == GLU_F32) {
        return gpu_float(code);
    }
    return from == GLU_BF16 ? gpu_float(code << 16) : gpu_from_f16(code);
}

/* Two numbers rounded to nearest even, to bfloat16 or binary16. */
GPU_FN uint32_t glu_round16(int to, float low, float high)
{
    return to == GLU_BF16 ? gpu_round_bf16(low, high)
                          : gpu_round_f16(low, high);
}

GPU_FN float glu_through(int type, float x)
{
    return type == GLU_F32 ? x
                           : glu_widen(type, glu_round16(type, x, 0) & 0xffffu);
}

/* min(x, limit); an infinite limit is none, and leaves NaN alone. */
GPU_FN float glu_clamp_gate(int nan, float limit, float x)
{
    if (x != x) {
        return nan == GLU_NAN_PROPAGATE || limit == (float)GPU_INFINITY ? x
                                                                        : limit;
    }
    return x > limit ? limit : x;
}

GPU_FN float glu_clamp_up(int nan, float limit, float x)
{
    if (x != x) {
        return nan == GLU_NAN_PROPAGATE || limit == (float)GPU_INFINITY ? x
               : nan == GLU_NAN_LIMIT                                   ? limit
                                      : -limit;
    }
    x = x > limit ? limit : x;
    return x < -limit ? -limit : x;
}

/* State that all steps of one result share. */
typedef struct glu_work {
    const glu_dialect *rule;
    int from, to;
    float g, v, alpha, beta, limit;
    float scale, linear; /* of the folded one; of SiTU, 0: none */
    int *waits; /* NULL, or the exponential may be one that has to wait */
} glu_work;

/* The result of one operation. */
GPU_FN float glu_typed(const glu_work *k, float x)
{
    return k->rule->typed ? glu_through(k->from, x) : x;
}

/* The dialect's e^-t. */
GPU_FN float glu_power_of(const glu_work *k, float t)
{
    switch (k->rule->exp) {
    case GLU_EXP_U20:
        return glu_exp_u20(-t);
    case GLU_EXP_TWO:
        return glu_two_to(-t);
    case GLU_EXP_TWICE:
        return glu_two_to(-t * GLU_LOG2E_F32);
    default:
        return k->waits == NULL ? glu_exp32(-t) : glu_exp32_near(-t, k->waits);
    }
}

/* tanh as SiTU's kernels have it. */
GPU_FN float glu_tanh_of(int silu, float x)
{
    if (silu == GLU_SILU_TANH_EXP2) {
        const float e = glu_two_to(-2.0f * GLU_LOG2E_F32 * gpu_fabsf(x));
        const float over = 1.0f / (1.0f + e);
        const float y = (1.0f - e) * over;
        return x > 0 ? y : -y;
    }
    if (silu == GLU_SILU_TANH_SIGMOID) {
        const float e = glu_exp32(-2.0f * x);
        const float sigmoid = 1.0f / (1.0f + e);
        return 2.0f * sigmoid - 1.0f;
    }
    return glu_tanh32(x);
}

GPU_FN float glu_tanh_part(int silu, float x, float by)
{
    const float inverse = 1.0f / by;

    return glu_tanh_of(silu, silu == GLU_SILU_TANH ? x / by : x * inverse);
}

/* (b tanh(g / b) sigmoid(g)) * (l tanh(u / l)). */
GPU_FN float glu_situ(const glu_work *k)
{
    const int silu = k->rule->silu;
    const float d = 1.0f + glu_power_of(k, k->g);
    const float sigmoid = 1.0f / d;
    const float t = glu_tanh_part(silu, k->g, k->beta);
    const float bt = k->beta * t;
    const float ts = t * sigmoid;
    const float gate = silu == GLU_SILU_TANH_INVERSE   ? bt / d
                       : silu == GLU_SILU_TANH_SIGMOID ? ts * k->beta
                                                       : bt * sigmoid;

    return gate * (k->linear > 0
                       ? k->linear * glu_tanh_part(silu, k->v, k->linear)
                       : k->v);
}

GPU_FN float glu_silu(const glu_work *k)
{
    const float t = glu_typed(k, k->alpha * k->g);
    const float e = 1.0f + glu_power_of(k, t);

    if (k->rule->silu == GLU_SILU_LAST) {
        return (k->v + k->beta) * k->g / e;
    }
    if (k->rule->silu == GLU_SILU_DIVIDE) {
        return k->g / e;
    }
    const float sigmoid = glu_typed(k, 1.0f / e);

    return glu_typed(k,
                     k->g * (k->rule->folded ? glu_flush32(sigmoid) : sigmoid));
}

GPU_FN float glu_tail(const glu_work *k, float s)
{
    if (k->rule->silu == GLU_SILU_LAST) {
        return s;
    }
    if (k->rule->folded) {
        const float beta = k->beta * k->scale;
        return s * gpu_fmaf(k->v, k->scale, beta);
    }
    if (k->rule->tail == GLU_TAIL_TIMES) {
        return s * k->v;
    }
    if (k->rule->tail == GLU_TAIL_FMA) {
        return gpu_fmaf(s, k->v, s);
    }
    return s * glu_typed(k, k->v + k->beta);
}

GPU_FN void glu_clamps(glu_work *k)
{
    const glu_dialect *const rule = k->rule;

    if (rule->through_bf16) {
        k->g = glu_through(GLU_BF16, k->g);
        k->v = glu_through(GLU_BF16, k->v);
    }
    if (rule->always && k->limit == (float)GPU_INFINITY) {
        k->v = k->v == k->v || rule->nan == GLU_NAN_PROPAGATE ? k->v
               : rule->nan == GLU_NAN_LIMIT                   ? k->limit
                                                              : -k->limit;
        k->g = k->g == k->g || rule->nan == GLU_NAN_PROPAGATE ? k->g : k->limit;
        return;
    }
    if (rule->finite && k->g < -GLU_LARGEST) {
        k->g = -GLU_LARGEST;
    }
    if (rule->clamp == GLU_CLAMP_NEVER || k->limit == (float)GPU_INFINITY) {
        return;
    }
    k->v = glu_typed(k, glu_clamp_up(rule->nan, k->limit, k->v));
    if (rule->clamp != GLU_CLAMP_AFTER) {
        k->g = glu_typed(k, glu_clamp_gate(rule->nan, k->limit, k->g));
    }
    if (rule->clamp == GLU_CLAMP_ROUNDED) {
        k->g = glu_through(k->to, k->g);
        k->v = glu_through(k->to, k->v);
    }
}

GPU_FN uint32_t glu_finish(int to, float x)
{
    if (x != x) {
        return glu_nan(to);
    }
    return to == GLU_F32 ? gpu_bits(x) : glu_round16(to, x, 0) & 0xffffu;
}

GPU_FN uint32_t glu_by_steps(glu_work k)
{
    glu_clamps(&k);
    if (k.rule->silu >= GLU_SILU_TANH) {
        return glu_finish(k.to, glu_situ(&k));
    }
    float s = glu_silu(&k);

    if (k.rule->kept) {
        s = glu_through(k.to, s);
    }
    if (k.rule->clamp == GLU_CLAMP_AFTER) {
        s = glu_clamp_gate(k.rule->nan, k.limit, s);
    }
    const float y = glu_typed(&k, glu_tail(&k, s));

    return glu_finish(k.to,
                      k.rule->down && k.to == GLU_BF16 ? glu_flush32(y) : y);
}

#endif
