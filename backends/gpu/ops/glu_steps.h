/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gated unit as a dialect spells it: binary32 operations, each rounded,
 * around a correctly rounded exponential.
 */
#ifndef GPU_GLU_STEPS_H
#define GPU_GLU_STEPS_H

#include "ops/glu_exact.h"
#include "port/device.h"

enum { GLU_NAN_PROPAGATE, GLU_NAN_LIMIT, GLU_NAN_LOW };
enum { GLU_CLAMP_NEVER, GLU_CLAMP_BEFORE, GLU_CLAMP_ROUNDED, GLU_CLAMP_AFTER };
enum { GLU_SILU_DIVIDE, GLU_SILU_RECIP, GLU_SILU_LAST };
enum { GLU_TAIL_TIMES, GLU_TAIL_PLUS, GLU_TAIL_FMA };

typedef struct glu_dialect {
    uint8_t exact; /* not by steps at all */
    uint8_t nan;   /* what the clamps make of a NaN */
    uint8_t clamp; /* of the numbers before, and rounded; gate after silu */
    uint8_t silu;  /* g / (1 + e), g * (1 / (1 + e)), (u + b) g / (1 + e) */
    uint8_t tail;  /* s * u, s * (u + b), fma(s, u, s) */
    uint8_t kept;  /* the silu is rounded to the type of the result */
    uint8_t typed; /* every step is rounded to the type of the input */
    uint8_t through_bf16; /* gate, up and limit are rounded to it first */
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

/* What all steps of one result share. */
typedef struct glu_work {
    const glu_dialect *rule;
    int from, to;
    float g, v, alpha, beta, limit;
    int *waits; /* NULL, or the exponential may be one that has to wait */
} glu_work;

/* The result of one operation. */
GPU_FN float glu_typed(const glu_work *k, float x)
{
    return k->rule->typed ? glu_through(k->from, x) : x;
}

GPU_FN float glu_silu(const glu_work *k)
{
    const float t = glu_typed(k, k->alpha * k->g);
    const float e = 1.0f + (k->waits == NULL ? glu_exp32(-t)
                                             : glu_exp32_near(-t, k->waits));

    if (k->rule->silu == GLU_SILU_LAST) {
        return (k->v + k->beta) * k->g / e;
    }
    if (k->rule->silu == GLU_SILU_DIVIDE) {
        return k->g / e;
    }
    return glu_typed(k, k->g * glu_typed(k, 1.0f / e));
}

GPU_FN float glu_tail(const glu_work *k, float s)
{
    if (k->rule->silu == GLU_SILU_LAST) {
        return s;
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
    float s = glu_silu(&k);

    if (k.rule->kept) {
        s = glu_through(k.to, s);
    }
    if (k.rule->clamp == GLU_CLAMP_AFTER) {
        s = glu_clamp_gate(k.rule->nan, k.limit, s);
    }
    return glu_finish(k.to, glu_typed(&k, glu_tail(&k, s)));
}

#endif
