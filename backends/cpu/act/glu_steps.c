/* SPDX-License-Identifier: Apache-2.0 */
/* See glu_steps.h.  Sources of the rows: docs/ops/act.glu.md. */
#include "glu_steps.h"

#include "exact.h"
#include "number.h"

#include <mxoracle/abi.h>

#include <string.h>

enum {
    ROUNDED = 1,       /* clamped operands are rounded to the output type */
    POSITIVE = 2,      /* a limit of 0 or less does not clamp */
    AFTER = 4,         /* the gate is clamped after the silu */
    NEVER = 8,         /* no clamp */
    PLAIN = 16,        /* alpha is 1 */
    TYPED = 32,        /* alpha is rounded to the input type */
    RECIPROCAL = 64,   /* g * (1 / (1 + e)), else g / (1 + e) */
    LAST = 128,        /* ((u + beta) * g) / (1 + e) */
    EACH = 256,        /* every operation rounds to the input type too */
    KEPT = 512,        /* the silu is rounded to the output type */
    TIMES = 1024,      /* s * u, else s * (u + beta) */
    FMA = 2048,        /* fma(s, u, s) */
    ONE = 4096,        /* beta is 1 */
    TWO_WAY = 8192,    /* beta 0 is TIMES, beta 1 as the row says */
    AS_BF16 = 16384,   /* operands are rounded to BF16 first */
    U20 = 32768,       /* the exponential of vLLM's CPU kernels */
    DOWN = 65536,      /* subnormal results are zero where they become BF16 */
    ALWAYS = 1 << 17,  /* clamps by an infinite limit too */
    FINITE = 1 << 18,  /* no limit is the largest number, on both sides */
    FOLDED = 1 << 19,  /* alpha times log2 e times scale in one factor */
    TWO = 1 << 20,     /* 2^x in place of e^x */
    TWICE = 1 << 21,   /* 2^RN(x log2 e) in place of e^x */
    SITU = 1 << 22,    /* tanh of both halves */
    INVERSE = 1 << 23, /* of SiTU: 1/b in place of a division, g last */
    BY_EXP2 = 1 << 24, /* of SiTU: tanh by powers of two */
    BY_SIGMOID = 1 << 25, /* of SiTU: tanh by a sigmoid */
};

struct cpu_steps {
    const char *name;
    uint8_t nan;
    unsigned flags;
};

static const cpu_steps rows[] = {
    {"vllm_swigluoai", CPU_NAN_LIMIT, LAST | ONE},
    {"vllm_silu", CPU_NAN_KEEP, NEVER | PLAIN | KEPT | TIMES},
    {"vllm_silu_clamp", CPU_NAN_LIMIT, ROUNDED | PLAIN | KEPT | TIMES},
    {"vllm_swiglustep", CPU_NAN_LOW_LIMIT, AFTER | PLAIN | RECIPROCAL | TIMES},
    {"vllm_swiglu_limit", CPU_NAN_KEEP, POSITIVE | PLAIN | TIMES},
    {"vllm_packed", CPU_NAN_LOW_LIMIT, PLAIN | TIMES},
    {"trtllm", CPU_NAN_LIMIT, 0},
    {"triton", CPU_NAN_LOW_LIMIT, FMA | ONE},
    {"triton_torch", CPU_NAN_KEEP, TYPED | RECIPROCAL | EACH | ONE},
    {"aiter", CPU_NAN_KEEP, RECIPROCAL | TWO_WAY},
    {"aiter_triton", CPU_NAN_LIMIT, FMA | TWO_WAY},
    {"cpu_swiglu", CPU_NAN_KEEP, ONE | U20 | DOWN},
    {"cpu_silu", CPU_NAN_KEEP, NEVER | PLAIN | TIMES | U20 | DOWN},
    {"gpt_oss_torch", CPU_NAN_KEEP, RECIPROCAL | EACH | ONE},
    {"deepgemm_mega", CPU_NAN_LOW_LIMIT, AS_BF16 | PLAIN | RECIPROCAL | TIMES},
    {"trtllm_gen", CPU_NAN_KEEP, FINITE | FOLDED | TWO | RECIPROCAL},
    {"cutlass_swiglu", CPU_NAN_LIMIT, ALWAYS | RECIPROCAL},
    {"aiter_ck", CPU_NAN_LIMIT, RECIPROCAL | ONE},
    {"aiter_hip", CPU_NAN_LOW_LIMIT, RECIPROCAL | ONE},
    {"aiter_silu", CPU_NAN_KEEP, NEVER | PLAIN | RECIPROCAL | TIMES},
    {"flydsl_swiglu", CPU_NAN_KEEP, RECIPROCAL | TWICE | ONE},
    {"flydsl_silu", CPU_NAN_KEEP,
     POSITIVE | PLAIN | RECIPROCAL | TWICE | TIMES},
    {"vllm_clamp_oai", CPU_NAN_LIMIT, ROUNDED | KEPT},
    {"vllm_clamp_torch", CPU_NAN_KEEP, RECIPROCAL | EACH},
    {"xpu_clamp", CPU_NAN_KEEP, POSITIVE | ROUNDED | PLAIN | KEPT | TIMES},
    {"b12x_silu", CPU_NAN_KEEP, POSITIVE | PLAIN | RECIPROCAL | KEPT | TIMES},
    {"b12x_oai", CPU_NAN_KEEP, RECIPROCAL},
    {"situ", CPU_NAN_KEEP, SITU | NEVER | PLAIN},
    {"situ_vllm", CPU_NAN_KEEP, SITU | INVERSE | NEVER | PLAIN},
    {"situ_aiter", CPU_NAN_KEEP, SITU | BY_EXP2 | TWICE | PLAIN},
    {"situ_flashinfer", CPU_NAN_KEEP, SITU | BY_SIGMOID | NEVER | PLAIN},
    {"situ_mega", CPU_NAN_LOW_LIMIT, SITU | AS_BF16 | PLAIN},
    {"situ_b12x", CPU_NAN_KEEP, SITU | NEVER | PLAIN},
};

const cpu_steps *cpu_steps_of(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

uint8_t cpu_steps_nan(const cpu_steps *row)
{
    return row->nan;
}

int cpu_steps_two_way(const cpu_steps *row)
{
    return (row->flags & TWO_WAY) != 0;
}

int cpu_steps_scaled(const cpu_steps *row)
{
    return (row->flags & FOLDED) != 0;
}

int cpu_steps_any_limit(const cpu_steps *row)
{
    return (row->flags & (POSITIVE | NEVER)) != 0;
}

typedef struct state {
    unsigned flags;
    const cpu_glu *c;
    uint32_t from;
    float alpha;
    float beta;
    float limit;
    float scale;
    int clamps;
} state;

static const float log2_e = 0x1.715476p0f;

static float through(uint32_t to, float x)
{
    return to == MXO_BF16  ? cpu_from_bf16(cpu_bf16_of(x))
           : to == MXO_F16 ? cpu_from_f16(cpu_f16_of(x))
                           : x;
}

static float step(const state *s, float x)
{
    return (s->flags & EACH) != 0 ? through(s->from, x) : x;
}

static float clamp_gate(const state *s, float x)
{
    if (x != x) {
        return s->c->nan == CPU_NAN_KEEP ? x : s->limit;
    }
    if ((s->flags & FINITE) != 0 && x < -0x1.fffffep127f) {
        return -0x1.fffffep127f;
    }
    return x > s->limit ? s->limit : x;
}

static float clamp_up(const state *s, float x)
{
    if (x != x) {
        return s->c->nan == CPU_NAN_KEEP    ? x
               : s->c->nan == CPU_NAN_LIMIT ? s->limit
                                            : -s->limit;
    }
    x = x > s->limit ? s->limit : x;
    return x < -s->limit ? -s->limit : x;
}

static state state_of(const cpu_steps *row, const cpu_glu *c, uint32_t from)
{
    const unsigned f = row->flags;
    const int is_none = cpu_bits32(c->limit) == 0x7f800000u;
    const float scale = c->scale == 0 ? 1.0f : c->scale;
    state s = {f, c, from, c->alpha, c->beta, c->limit, scale, 1};

    s.alpha = (f & PLAIN) != 0 ? 1.0f : s.alpha;
    s.alpha = (f & TYPED) != 0 ? through(from, s.alpha) : s.alpha;
    s.beta = (f & ONE) != 0 ? 1.0f : s.beta;
    s.limit = (f & AS_BF16) != 0 ? through(MXO_BF16, s.limit) : s.limit;
    if ((f & FOLDED) != 0) {
        const float turns = s.alpha * log2_e;
        s.alpha = turns * scale;
    }
    if ((f & FINITE) != 0 && is_none && !c->has_limit) {
        s.limit = 0x1.fffffep127f;
    }
    s.clamps = (!is_none || (f & (ALWAYS | FINITE)) != 0) && (f & NEVER) == 0 &&
               ((f & POSITIVE) == 0 || s.limit > 0);
    if ((f & TWO_WAY) != 0 && s.beta != 1.0f) {
        s.flags = (f & ~(unsigned)FMA) | TIMES;
    }
    return s;
}

static void prepare(const state *s, float *gate, float *up, float *minus_t,
                    uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        float g = gate[i];
        float u = up[i];

        if ((s->flags & AS_BF16) != 0) {
            g = through(MXO_BF16, g);
            u = through(MXO_BF16, u);
        }
        if (s->clamps) {
            u = step(s, clamp_up(s, u));
            g = (s->flags & AFTER) != 0 ? g : step(s, clamp_gate(s, g));
        }
        if (s->clamps && (s->flags & ROUNDED) != 0) {
            g = through(s->c->to, g);
            u = through(s->c->to, u);
        }
        gate[i] = g;
        up[i] = u;
        minus_t[i] = -step(s, s->alpha * g);
    }
}

static float tanh_of(const state *s, float x)
{
    if ((s->flags & BY_EXP2) != 0) {
        const float t = -0x1.715476p1f * (x < 0 ? -x : x);
        const float e = cpu_exp2_one(t);
        const float over = 1.0f / (1.0f + e);
        const float y = (1.0f - e) * over;
        return x > 0 ? y : -y;
    }
    if ((s->flags & BY_SIGMOID) != 0) {
        const float e = cpu_float(cpu_exp_one(-2.0f * x, MXO_F32));
        const float sigmoid = 1.0f / (1.0f + e);
        return 2.0f * sigmoid - 1.0f;
    }
    return cpu_tanh_one(x);
}

static float over(const state *s, float x, float beta)
{
    const float inverse = 1.0f / beta;

    return (s->flags & (INVERSE | BY_EXP2 | BY_SIGMOID)) != 0 ? x * inverse
                                                              : x / beta;
}

/* (b tanh(g / b) sigmoid(g)) * (l tanh(u / l)); d is 1 + e^-g. */
static float situ(const state *s, float g, float u, float d)
{
    const float b = s->beta;
    const float l = s->c->linear;
    const float t = tanh_of(s, over(s, g, b));
    const float sigmoid = 1.0f / d;
    const float bt = b * t;
    float gate = bt * sigmoid;

    if ((s->flags & INVERSE) != 0) {
        gate = bt / d;
    } else if ((s->flags & BY_SIGMOID) != 0) {
        const float ts = t * sigmoid;
        gate = ts * b;
    }
    const float up = l > 0 ? l * tanh_of(s, over(s, u, l)) : u;

    return gate * up;
}

static float finish(const state *s, float g, float u, float e)
{
    const unsigned f = s->flags;
    const float d = 1.0f + e;

    if ((f & SITU) != 0) {
        return situ(s, g, u, d);
    }
    if ((f & LAST) != 0) {
        const float sum = u + s->beta;
        const float product = sum * g;
        return product / d;
    }
    float x = g / d;
    if ((f & RECIPROCAL) != 0) {
        const float sigmoid = step(s, 1.0f / d);
        x = step(s, g * ((f & FOLDED) != 0 ? cpu_flush32(sigmoid) : sigmoid));
    }
    if ((f & FOLDED) != 0) {
        const float beta = s->beta * s->scale;
        return x * cpu_fma32(u, s->scale, beta);
    }
    if ((f & KEPT) != 0) {
        x = through(s->c->to, x);
    }
    if ((f & AFTER) != 0 && s->clamps) {
        x = clamp_gate(s, x);
    }
    if ((f & FMA) != 0) {
        return cpu_fma32(x, u, x);
    }
    return step(s, x * ((f & TIMES) != 0 ? u : step(s, u + s->beta)));
}

/*
 * e^x = 2^n p(r), n = floor(x log2(e) + 1/2), by a polynomial of degree 5;
 * every step is a fused one in float.  2^(n-1) and a last doubling keep
 * n = 128 finite; below the smallest argument, and where 2^(n-1) is no normal
 * number, there is zero.  A NaN counts as the largest argument.
 */
float cpu_exp_u20(float x)
{
    static const uint32_t coefficient[] = {0x3c07cfceu, 0x3d2b9d0du,
                                           0x3e2aad40u, 0x3efffee3u,
                                           0x3f7ffffbu, 0x3f800000u};
    const float top = cpu_float(0x42b17218u);
    const float bottom = cpu_float(0xc2aeac50u);
    float s = x < top ? x : top;

    s = s > bottom ? s : bottom;
    const float turns = cpu_fma32(s, cpu_float(0x3fb8aa3bu), 0.5f);
    int n = (int)turns;

    n -= (float)n > turns;
    const float r = cpu_fma32((float)n, cpu_float(0xbf317218u), s);
    float p = cpu_float(coefficient[0]);

    for (int i = 1; i < 6; i++) {
        p = cpu_fma32(r, p, cpu_float(coefficient[i]));
    }
    const float scale = x < bottom || n < -125 ? 0 : (float)cpu_pow2(n - 1);
    const float half = p * scale;

    return half * 2.0f;
}

/* e^x of numbers that have room for a multiple of 16. */
static void exp_run(const cpu_isa_ops *lane, float *x, float *e, uint32_t n)
{
    uint16_t hard[CPU_RUN];
    const uint32_t padded = (n + 15) / 16 * 16;

    for (uint32_t i = n; i < padded; i++) {
        x[i] = 1.0f;
    }
    const uint32_t count = lane->exp32(x, padded, e, hard);

    for (uint32_t i = 0; i < count; i++) {
        e[hard[i]] = cpu_float(cpu_exp_one(x[hard[i]], MXO_F32));
    }
}

void cpu_steps_run(const cpu_steps *row, const cpu_glu *c, uint32_t from,
                   const cpu_isa_ops *lane, float *gate, float *up, uint32_t n)
{
    const state s = state_of(row, c, from);
    float minus_t[CPU_RUN] = {0};
    float e[CPU_RUN];

    prepare(&s, gate, up, minus_t, n);
    if ((s.flags & (U20 | TWO | TWICE)) == 0) {
        exp_run(lane, minus_t, e, n);
    }
    for (uint32_t i = 0; i < n && (s.flags & (TWO | TWICE)) != 0; i++) {
        const float x = minus_t[i];
        e[i] = cpu_exp2_one((s.flags & TWICE) != 0 ? x * log2_e : x);
    }
    for (uint32_t i = 0; i < n && (s.flags & U20) != 0; i++) {
        e[i] = cpu_exp_u20(minus_t[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        gate[i] = finish(&s, gate[i], up[i], e[i]);
        if ((s.flags & DOWN) != 0 && c->to == MXO_BF16) {
            gate[i] = cpu_flush32(gate[i]);
        }
    }
}
