/* SPDX-License-Identifier: Apache-2.0 */
/* SiTU, and the units of DeepGEMM's mega kernel, whose inputs become bf16
   (docs/sources: profiles-other 11.1). */
#include "quant/act_steps.h"

#include <math.h>

static float nearest_tanh(float t)
{
    return (float)tanh((double)t);
}

/* SiTU: b = beta, l = linear; without l the up half stays as it is. */
typedef float (*tanh_fn)(const broken *b, float x);

static float tanh_nearest(const broken *b, float x)
{
    (void)b;
    return nearest_tanh(x);
}

/* As a fast tanh may have it: to ten bits. */
static float tanh_rough(const broken *b, float x)
{
    (void)b;
    return broken_narrow(&broken_formats[FORMAT_F16], nearest_tanh(x));
}

/* sign ((1 - e) (1 / (1 + e))), positive above zero alone. */
static float tanh_exp2(const broken *b, float x)
{
    const float e = broken_exp2(-2 * LOG2_E * fabsf(x));
    const float y = (1 - e) * (1 / (1 + e));

    return x > 0 || (IS(VA11) && x == 0) ? y : -y;
}

static float tanh_sigmoid(const broken *b, float x)
{
    const float sigmoid = 1 / broken_denominator(2 * x);

    return IS(VA12) ? nearest_tanh(x) : 2 * sigmoid - 1;
}

static float over(float x, float beta, int by_reciprocal)
{
    const float inverse = 1 / beta;

    return by_reciprocal ? x * inverse : x / beta;
}

static float situ_up(const broken *b, const glu_steps *s, tanh_fn fn,
                     int by_reciprocal)
{
    const float l = IS(AD37) ? s->beta : s->linear;

    if (IS(AD22) && s->linear > 0) {
        return fminf(fmaxf(s->up, -l), l);
    }
    return s->linear <= 0 || IS(AD38)
               ? s->up
               : l * fn(b, over(s->up, l, by_reciprocal));
}

static float situ_of(const broken *b, const glu_steps *s, tanh_fn fn,
                     int by_reciprocal, float sigmoid)
{
    const float beta = IS(AD37) && s->linear > 0 ? s->linear : s->beta;
    const float t = fn(b, over(s->gate, beta, by_reciprocal));
    const float gate = beta * t * sigmoid;

    return gate * situ_up(b, s, fn, by_reciprocal);
}

float broken_situ(const broken *b, const glu_steps *s)
{
    return situ_of(b, s, tanh_nearest, IS(VA13),
                   1 / broken_denominator(s->gate));
}

float broken_situ_b12x(const broken *b, const glu_steps *s)
{
    return situ_of(
        b, s, IS(VA10) ? tanh_rough : tanh_nearest, 0,
        1 / broken_denominator(IS(AD27) ? s->alpha * s->gate : s->gate));
}

float broken_situ_vllm(const broken *b, const glu_steps *s)
{
    const float t = nearest_tanh(over(s->gate, s->beta, !IS(VA14)));
    const float gate = s->beta * t / broken_denominator(s->gate);

    return gate * situ_up(b, s, tanh_nearest, !IS(VA14));
}

float broken_situ_aiter(const broken *b, const glu_steps *s)
{
    const glu_steps c = IS(AD41) ? *s : broken_clamped(s);

    return situ_of(b, &c, tanh_exp2, 1, broken_flydsl(c.gate));
}

float broken_situ_flashinfer(const broken *b, const glu_steps *s)
{
    const float t = tanh_sigmoid(b, over(s->gate, s->beta, 1));
    const float sigmoid = 1 / broken_denominator(s->gate);

    return t * sigmoid * (IS(AD24) ? 1 : s->beta) *
           situ_up(b, s, tanh_sigmoid, 1);
}

/* Gate, up and limit are first rounded to bf16. */
static glu_steps from_bf16(const broken *b, const glu_steps *s)
{
    const number_format *f = &broken_formats[FORMAT_BF16];
    glu_steps c = IS(AD42) ? *s : broken_in_type(f, s);

    c.limit = isfinite(s->limit) ? broken_narrow(f, s->limit) : s->limit;
    return broken_clamped(&c);
}

float broken_situ_mega(const broken *b, const glu_steps *s)
{
    const glu_steps c = from_bf16(b, s);

    return situ_of(b, &c, tanh_nearest, 0, 1 / broken_denominator(c.gate));
}

float broken_mega(const broken *b, const glu_steps *s)
{
    glu_steps c = from_bf16(b, s);

    if (IS(AD44) && isnan(s->gate)) {
        c.gate = s->gate;
    }
    if (isnan(s->up) &&
        ((IS(AD45) && isfinite(s->limit)) || (IS(AD46) && isinf(s->limit)))) {
        c.up = IS(AD45) ? s->limit : -(float)INFINITY;
    }
    const float sigmoid = 1 / broken_denominator(c.gate);

    return c.gate * sigmoid * c.up;
}
