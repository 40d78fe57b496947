/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.glu in the steps of the kernels, read off their sources (docs/sources:
 * activation-vllm 2, profiles-nvidia 2.1, 5.1, profiles-other 3, 4, 7, 10,
 * 11): every operation in binary32, exponentials and tanh by way of doubles.
 */
#include "quant/act_steps.h"

#include <math.h>

#define LARGEST 0x1.fffffep127F

typedef float (*step_fn)(const broken *b, const glu_steps *s);

/* A number rounded to a format, by way of its codes. */
float broken_narrow(const number_format *f, float x)
{
    static const broken faultless;

    return f->mbits == 23
               ? x
               : (float)broken_decode(&faultless, f,
                                      broken_round(f, broken_dd((double)x)));
}

static float by_exp(float t)
{
    return (float)exp((double)t);
}

float broken_exp2(float t)
{
    return (float)exp2((double)t);
}

/* 1 + e^-t */
float broken_denominator(float t)
{
    const float e = by_exp(-t);

    return 1 + e;
}

/* A gate from above only, and an up from both sides; a NaN as the call has it.
   No limit is infinity. */
static float below(const glu_steps *s, float x)
{
    const int stays = isnan(x) ? s->nan == GLU_NAN_THROUGH : !(x > s->limit);

    return stays ? x : s->limit;
}

static float within(const glu_steps *s, float x)
{
    const float low = -s->limit;

    if (isnan(x)) {
        return s->nan == GLU_NAN_THROUGH ? x
               : s->nan == GLU_NAN_LOW   ? low
                                         : s->limit;
    }
    return x > s->limit ? s->limit : x < low ? low : x;
}

/* Both clamped, where there is a limit. */
glu_steps broken_clamped(const glu_steps *s)
{
    glu_steps c = *s;

    if (isfinite(s->limit)) {
        c.gate = below(s, s->gate);
        c.up = within(s, s->up);
    }
    return c;
}

/* A limit of 0 or less is none. */
static glu_steps clamped_above_zero(const glu_steps *s)
{
    return s->limit > 0 ? broken_clamped(s) : *s;
}

glu_steps broken_in_type(const number_format *f, const glu_steps *s)
{
    glu_steps c = *s;

    c.gate = broken_narrow(f, s->gate);
    c.up = broken_narrow(f, s->up);
    return c;
}

/* g * (1 / (1 + e^-(alpha g))) */
static float recip(float alpha, float g)
{
    const float sigmoid = 1 / broken_denominator(alpha * g);

    return g * sigmoid;
}

/* g / (1 + e^-(alpha g)) */
static float quotient(float alpha, float g)
{
    return g / broken_denominator(alpha * g);
}

static float swiglu_limit(const broken *b, const glu_steps *s)
{
    const glu_steps c = IS(A09) ? broken_clamped(s) : clamped_above_zero(s);

    return quotient(1, c.gate) * c.up;
}

static float swigluoai(const broken *b, const glu_steps *s)
{
    const glu_steps c = broken_clamped(s);
    const float d = broken_denominator(c.alpha * c.gate);
    const float v = c.up + 1;

    return IS(AD01) ? v * (c.gate / d) : v * c.gate / d;
}

static float silu(const broken *b, const glu_steps *s)
{
    const float x = quotient(1, s->gate);

    return (IS(AD02) ? x : broken_narrow(s->to, x)) * s->up;
}

static float silu_clamp(const broken *b, const glu_steps *s)
{
    const glu_steps c = broken_clamped(s);
    const glu_steps t =
        isfinite(s->limit) && !IS(AD03) ? broken_in_type(s->to, &c) : c;

    return broken_narrow(s->to, quotient(1, t.gate)) * t.up;
}

static float swiglustep(const broken *b, const glu_steps *s)
{
    const int is_free = isinf(s->limit);
    const float x =
        recip(1, IS(AD04) && !is_free ? below(s, s->gate) : s->gate);

    return (is_free ? x : below(s, x)) * (is_free ? s->up : within(s, s->up));
}

static float packed(const broken *b, const glu_steps *s)
{
    glu_steps c = broken_clamped(s);

    if (IS(AD05) && isnan(s->up) && isfinite(s->limit)) {
        c.up = s->limit;
    }
    return quotient(1, c.gate) * c.up;
}

static float trtllm(const broken *b, const glu_steps *s)
{
    const glu_steps c = broken_clamped(s);

    return (IS(VA01) ? recip(c.alpha, c.gate) : quotient(c.alpha, c.gate)) *
           (c.up + (IS(AD06) ? 1 : c.beta));
}

/* s u + s in one rounding. */
static float triton(const broken *b, const glu_steps *s)
{
    const glu_steps c = broken_clamped(s);
    const float x = quotient(c.alpha, c.gate);

    if (IS(AD07)) {
        return x * c.up;
    }
    /* Of an infinite x the fma is NaN where u + 1 and u differ in sign. */
    return IS(VA02) && isfinite(x) ? x * (c.up + 1) : fmaf(x, c.up, x);
}

/* Eager torch: every operation rounds to the type of the input. */
static float eager(const glu_steps *c, float alpha, float beta, int is_joint)
{
    const number_format *f = c->from;
    const float t = broken_narrow(f, c->gate * alpha);
    const float sigmoid = broken_narrow(f, 1 / broken_denominator(t));
    const float x = c->gate * sigmoid;
    const float w = broken_narrow(f, c->up + beta);

    return broken_narrow(f, (is_joint ? x : broken_narrow(f, x)) * w);
}

static float triton_torch(const broken *b, const glu_steps *s)
{
    const glu_steps c = broken_clamped(s);
    const glu_steps t = isfinite(s->limit) ? broken_in_type(s->from, &c) : c;

    return eager(&t, IS(AD08) ? t.alpha : broken_narrow(t.from, t.alpha), 1, 0);
}

static float gpt_oss_torch(const broken *b, const glu_steps *s)
{
    const glu_steps c = broken_clamped(s);
    const glu_steps t = isfinite(s->limit) ? broken_in_type(s->from, &c) : c;

    return eager(&t, t.alpha, 1, IS(AD09));
}

static float clamp_torch(const broken *b, const glu_steps *s)
{
    const glu_steps c = broken_clamped(s);
    const glu_steps t = isfinite(s->limit) ? broken_in_type(s->from, &c) : c;

    return eager(&t, t.alpha, IS(AD10) ? 1 : t.beta, IS(AD11));
}

static float clamp_oai(const broken *b, const glu_steps *s)
{
    const glu_steps c = broken_clamped(s);
    const glu_steps t = isfinite(s->limit) ? broken_in_type(s->to, &c) : c;
    const float x = quotient(t.alpha, t.gate);

    return (IS(AD12) ? x : broken_narrow(s->to, x)) * (t.up + t.beta);
}

static float aiter(const broken *b, const glu_steps *s)
{
    const glu_steps c = broken_clamped(s);
    const float beta = IS(AD13) ? 1 : c.beta;

    return recip(c.alpha, c.gate) * (c.up + beta);
}

static float aiter_triton(const broken *b, const glu_steps *s)
{
    const glu_steps c = broken_clamped(s);
    const float x = quotient(c.alpha, c.gate);

    return c.beta == 1 || IS(AD14) ? fmaf(x, c.up, x) : x * c.up;
}

/* ck_tile's Swiglu, and the HIP kernel, whose fmax comes last. */
static float aiter_ck(const broken *b, const glu_steps *s)
{
    glu_steps c = broken_clamped(s);

    if (IS(AD15) && isnan(s->up) && isfinite(s->limit)) {
        c.up = -s->limit;
    }
    return (IS(VA03) ? quotient(c.alpha, c.gate) : recip(c.alpha, c.gate)) *
           (c.up + 1);
}

static float aiter_hip(const broken *b, const glu_steps *s)
{
    glu_steps c = broken_clamped(s);

    if (IS(AD17) && isnan(s->up) && isfinite(s->limit)) {
        c.up = s->limit;
    }
    return recip(c.alpha, c.gate) * (c.up + (IS(AD18) ? s->beta : 1));
}

static float aiter_silu(const broken *b, const glu_steps *s)
{
    const glu_steps c = broken_clamped(s);
    const glu_steps *t = IS(AD19) ? &c : s; /* a limit is ignored */

    return (IS(AD20) ? broken_narrow(s->to, recip(1, t->gate))
                     : recip(1, t->gate)) *
           t->up;
}

/* x * log2 e, rounded, is the argument of 2^x. */
float broken_flydsl(float x)
{
    const float t = x * -LOG2_E;

    return 1 / (1 + broken_exp2(t));
}

static float flydsl_swiglu(const broken *b, const glu_steps *s)
{
    glu_steps c = *s;

    c.nan = IS(AD16) ? GLU_NAN_HIGH : s->nan;
    c = broken_clamped(&c);
    const float joint = c.alpha * LOG2_E;
    const float sigmoid = IS(VA04) ? 1 / (1 + broken_exp2(-(c.gate * joint)))
                                   : broken_flydsl(c.gate * c.alpha);

    return c.gate * sigmoid * (c.up + 1);
}

static float flydsl_silu(const broken *b, const glu_steps *s)
{
    const glu_steps c = IS(AD21) ? *s : clamped_above_zero(s);

    return (IS(VA05) ? recip(1, c.gate) : c.gate * broken_flydsl(c.gate)) *
           c.up;
}

static float cutlass_swiglu(const broken *b, const glu_steps *s)
{
    glu_steps c = *s;

    if (isfinite(s->limit) || !IS(AD23)) { /* a NaN meets infinity, too */
        c.gate = below(s, s->gate);
        c.up = within(s, s->up);
    }
    return (IS(VA06) ? quotient(c.alpha, c.gate) : recip(c.alpha, c.gate)) *
           (c.up + c.beta);
}

/* No limit is the largest number; of the gate there is one below, too. */
static float trtllm_gen(const broken *b, const glu_steps *s)
{
    const float none = IS(AD25) ? (float)INFINITY : LARGEST;
    glu_steps c = *s;

    c.limit = isfinite(s->limit) || s->has_limit ? s->limit : none;
    c.gate = below(&c, s->gate);
    c.up = within(&c, s->up);
    if (c.gate == -(float)INFINITY && !IS(AD26)) {
        c.gate = -LARGEST;
    }
    const float factor = c.alpha * LOG2_E;
    const float scaled = factor * c.scale;
    const float t =
        IS(VA07) ? c.alpha * c.gate * LOG2_E * c.scale : c.gate * scaled;
    const float sigmoid = 1 / (1 + broken_exp2(-t));
    const float normal = sigmoid < 0x1p-126F && !IS(VA08) ? 0 : sigmoid;
    const float w = c.gate * normal;
    const float shift = c.beta * (IS(AD29) ? 1 : c.scale);

    return w * fmaf(c.up, c.scale, shift);
}

static float xpu_clamp(const broken *b, const glu_steps *s)
{
    const glu_steps c = clamped_above_zero(s);
    const int is_clamped = s->limit > 0 && isfinite(s->limit);
    const glu_steps t = is_clamped ? broken_in_type(s->to, &c) : c;
    const float x = quotient(1, t.gate);

    return (IS(AD30) ? x : broken_narrow(s->to, x)) * t.up;
}

static float b12x_silu(const broken *b, const glu_steps *s)
{
    const glu_steps c = clamped_above_zero(s);
    const float x = IS(VA09) ? quotient(1, c.gate) : recip(1, c.gate);

    return (IS(AD32) ? x : broken_narrow(s->to, x)) * c.up;
}

static float b12x_oai(const broken *b, const glu_steps *s)
{
    const glu_steps c = broken_clamped(s);
    const float x = recip(c.alpha, c.gate);

    return (IS(AD33) ? broken_narrow(s->to, x) : x) * (c.up + c.beta);
}

static const struct {
    const char *name;
    step_fn fn;
    glu_nan nan;
} dialects[] = {
    {"vllm_swigluoai", swigluoai, GLU_NAN_HIGH},
    {"vllm_silu", silu, GLU_NAN_THROUGH},
    {"vllm_silu_clamp", silu_clamp, GLU_NAN_HIGH},
    {"vllm_swiglustep", swiglustep, GLU_NAN_LOW},
    {"vllm_swiglu_limit", swiglu_limit, GLU_NAN_THROUGH},
    {"vllm_packed", packed, GLU_NAN_LOW},
    {"trtllm", trtllm, GLU_NAN_HIGH},
    {"triton", triton, GLU_NAN_LOW},
    {"triton_torch", triton_torch, GLU_NAN_THROUGH},
    {"aiter", aiter, GLU_NAN_THROUGH},
    {"aiter_triton", aiter_triton, GLU_NAN_HIGH},
    {"gpt_oss_torch", gpt_oss_torch, GLU_NAN_THROUGH},
    {"deepgemm_mega", broken_mega, GLU_NAN_LOW},
    {"trtllm_gen", trtllm_gen, GLU_NAN_THROUGH},
    {"cutlass_swiglu", cutlass_swiglu, GLU_NAN_HIGH},
    {"aiter_ck", aiter_ck, GLU_NAN_HIGH},
    {"aiter_hip", aiter_hip, GLU_NAN_LOW},
    {"aiter_silu", aiter_silu, GLU_NAN_THROUGH},
    {"flydsl_swiglu", flydsl_swiglu, GLU_NAN_THROUGH},
    {"flydsl_silu", flydsl_silu, GLU_NAN_THROUGH},
    {"vllm_clamp_oai", clamp_oai, GLU_NAN_HIGH},
    {"vllm_clamp_torch", clamp_torch, GLU_NAN_THROUGH},
    {"xpu_clamp", xpu_clamp, GLU_NAN_THROUGH},
    {"b12x_silu", b12x_silu, GLU_NAN_THROUGH},
    {"b12x_oai", b12x_oai, GLU_NAN_THROUGH},
    {"situ", broken_situ, GLU_NAN_THROUGH},
    {"situ_vllm", broken_situ_vllm, GLU_NAN_THROUGH},
    {"situ_aiter", broken_situ_aiter, GLU_NAN_THROUGH},
    {"situ_flashinfer", broken_situ_flashinfer, GLU_NAN_THROUGH},
    {"situ_mega", broken_situ_mega, GLU_NAN_LOW},
    {"situ_b12x", broken_situ_b12x, GLU_NAN_THROUGH},
};

enum { N_DIALECTS = sizeof dialects / sizeof dialects[0] };

int broken_steps_of(const mxo_call *call)
{
    for (int i = 0; i < N_DIALECTS; i++) {
        if (call_is(call, "dialect", dialects[i].name)) {
            return i;
        }
    }
    return -1;
}

dd broken_by_steps(const broken *b, int dialect, const glu_steps *given)
{
    glu_steps s = *given;

    if (s.nan == GLU_NAN_DIALECT) {
        s.nan = dialects[dialect].nan;
    }
    return broken_dd((double)dialects[dialect].fn(b, &s));
}
