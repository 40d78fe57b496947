/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route.topk, a token per thread: a score for every expert, the choice, the
 * weights of the chosen.  What vendors differ in is a row of plan_route.c.
 * docs/ops/route.topk.md
 */
#ifndef GPU_ROUTE_H
#define GPU_ROUTE_H

#include "ops/quant_rare.h"
#include "ops/route_math.h"
#include "port/device.h"

enum {
    ROUTE_LOGIT,
    ROUTE_SOFTMAX,    /* e^(x - max) / sum */
    ROUTE_WARP,       /* e^(x - max) * (1 / sum), the sum as warps add */
    ROUTE_SIGMOID,    /* rounded once */
    ROUTE_RECIPROCAL, /* 1 / (1 + e^-x) in steps */
    ROUTE_TANH,       /* 0.5 tanh(0.5 x) + 0.5 */
    ROUTE_SATURATED,  /* the same, 1 from 16 on and 0 from -16 down */
    ROUTE_SOFTPLUS    /* sqrt(x > 20 ? x : ln(1 + e^x)) */
};

/* What is done with the k weights; c is the scaling factor, S their sum. */
enum {
    ROUTE_AS_IS,
    ROUTE_OVER_K,        /* softmax over the k */
    ROUTE_OVER_SUM,      /* c (w / S) */
    ROUTE_OVER_POSITIVE, /* the same, S not above 0 counting as 1 */
    ROUTE_SCALED,        /* (w c) / (S + 1e-20) */
    ROUTE_AT_LEAST,      /* w / max(S, 1e-20) */
    ROUTE_FACTOR,        /* w (c / S), S not above 0 counting as 1 */
    ROUTE_FUSED,         /* (w c) / (S + 1e-20) in binary64 */
    ROUTE_TYPED          /* softmax over the k, or e^(w - ln sum), by type */
};

enum {
    ROUTE_IN_TYPE = 1,       /* scores are rounded to the logits' type */
    ROUTE_CLEAN = 2,         /* scores that are not finite count as 0 */
    ROUTE_BIASED = 4,        /* may have a bias */
    ROUTE_BIAS_BF16 = 8,     /* which is rounded to BF16 if there are groups */
    ROUTE_GROUPED = 16,      /* may have groups */
    ROUTE_TWO = 32,          /* scored by their two best, bias or not */
    ROUTE_BY_VALUE = 64,     /* vLLM's choice: the first of the largest */
    ROUTE_TWO_KERNELS = 128, /* vLLM's fused router */
    ROUTE_WEIGH_LOGIT = 256, /* the weight is the saturated sigmoid */
    ROUTE_UNBIAS = 512,      /* the weight is the choice minus the bias */
    ROUTE_ALWAYS = 1024,     /* renormalised whatever the call says */
    ROUTE_BY_ID = 2048,      /* results in the order of experts */
    ROUTE_FACTORED = 4096,   /* may have a scaling factor */
    ROUTE_TORCH = 8192,      /* choices and weights have that type, too */
    ROUTE_PAYLOADS = 16384   /* NaN rank by their payloads */
};

typedef struct route_args {
    const void *logits;
    const float *bias;      /* as binary32; NULL: none */
    const void *input;      /* int32; NULL: experts are chosen */
    const void *table;      /* int32[vocabulary, top_k] */
    uint32_t *room;         /* of each token: route_room() words */
    void *ids, *weights;    /* [tokens, top_k + shared] */
    void *indices, *packed; /* NULL: not wanted */
    uint64_t tokens;
    double scale;
    uint32_t flags, score, norm;
    uint32_t from, to; /* GLU_BF16 ... */
    uint32_t experts, top_k, groups, kept, shared;
    uint32_t renormalize;
    uint32_t general;     /* vLLM's kernel for many experts */
    uint32_t has_warp;    /* it has one of a warp for so many experts */
    uint32_t choice_type; /* what choices and groups' scores are rounded to */
} route_args;

/* A token on its way.  Numbers are patterns: a NaN keeps its bits. */
typedef struct route_token {
    const route_args *a;
    uint64_t number;
    uint32_t *score, *choice; /* of experts */
    uint32_t *out;            /* not, or no longer, to be chosen */
    uint32_t *group;          /* scores of groups */
    float *w;                 /* of the chosen */
    uint32_t failed; /* general: a group of -Inf stays, weights are 1 / k */
} route_token;

/* Words of a token's room. */
GPU_FN uint64_t route_room(const route_args *a)
{
    return 3 * (uint64_t)a->experts + a->groups + a->top_k;
}

/* Logit e; a NaN has its sign, which ranks, and its payload where that does. */
GPU_FN uint32_t route_logit(const route_token *t, uint32_t e)
{
    const route_args *const a = t->a;
    const uint64_t i = t->number * a->experts + e;
    const uint32_t x = a->from == GLU_F32 ? gpu_load_u32(a->logits, i)
                       : a->from == GLU_F16
                           ? quant_widen(QUANT_F16, gpu_load_u16(a->logits, i))
                           : gpu_load_u16(a->logits, i) << 16;

    return quant_is_nan(x) && (a->flags & ROUTE_PAYLOADS) == 0
               ? (x & 0x80000000u) | QUANT_QUIET
               : x;
}

GPU_FN float route_x(const route_token *t, uint32_t e)
{
    return gpu_float(route_logit(t, e));
}

/* The largest logit, NaN apart; -Inf if there is none. */
GPU_FN float route_largest_logit(const route_token *t)
{
    float most = -(float)GPU_INFINITY;

    for (uint32_t e = 0; e < t->a->experts; e++) {
        const float x = route_x(t, e);
        most = x > most ? x : most;
    }
    return most;
}

GPU_FN float route_own_score(uint32_t kind, float x)
{
    switch (kind) {
    case ROUTE_SIGMOID:
        return route_sigmoid(x);
    case ROUTE_RECIPROCAL: {
        const float below = 1.0f + glu_exp32(-x);
        return 1.0f / below;
    }
    case ROUTE_TANH:
        return route_half_tanh(x);
    case ROUTE_SATURATED:
        return route_saturated(x);
    default:
        return route_softplus(x);
    }
}

GPU_FN float route_sum_in_order(const uint32_t *x, uint32_t n)
{
    float sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        sum = sum + gpu_float(x[i]);
    }
    return sum;
}

/*
 * A warp of vLLM's softmax.  A thread reads vectors of width neighbours, one
 * from each of its rounds through the row, and adds them in the order it reads
 * them; then halves of the warp add to each other.
 */
GPU_FN float route_sum_in_warp(const uint32_t *x, uint32_t n, int is_f32)
{
    const int is_power = (n & (n - 1)) == 0;
    const uint32_t wide = !is_power ? 2 : is_f32 ? 4 : 8;
    const uint32_t width = n < wide ? n : wide;
    const uint32_t turns = n / width / 32 > 1 ? n / width / 32 : 1;
    const uint32_t threads = n / width / turns;
    float part[32];

    for (uint32_t p = 0; p < threads; p++) {
        part[p] = 0;
        for (uint32_t r = 0; r < turns; r++) {
            for (uint32_t i = 0; i < width; i++) {
                part[p] = part[p] + gpu_float(x[(r * threads + p) * width + i]);
            }
        }
    }
    for (uint32_t half = threads / 2; half > 0; half /= 2) {
        for (uint32_t p = 0; p < half; p++) {
            part[p] = part[p] + part[p + half];
        }
    }
    return part[0];
}

GPU_FN void route_softmax(const route_token *t)
{
    const route_args *const a = t->a;
    const uint32_t n = a->experts;
    const float most = route_largest_logit(t);
    const int is_warp = a->score == ROUTE_WARP;

    for (uint32_t e = 0; e < n; e++) {
        t->score[e] = gpu_bits(glu_exp32(route_x(t, e) - most));
    }
    const float sum = is_warp && a->has_warp
                          ? route_sum_in_warp(t->score, n, a->from == GLU_F32)
                          : route_sum_in_order(t->score, n);
    const float inverse = 1.0f / sum;

    for (uint32_t e = 0; e < n; e++) {
        const float x = gpu_float(t->score[e]);
        t->score[e] = gpu_bits(is_warp ? x * inverse : x / sum);
    }
}

GPU_FN uint32_t route_choice_of(const route_token *t, uint32_t e)
{
    const route_args *const a = t->a;
    const int is_narrow = (a->flags & ROUTE_BIAS_BF16) != 0 && a->groups > 1;

    if (a->bias == NULL) {
        return t->score[e];
    }
    const float b = a->bias[e];
    const float sum =
        gpu_float(t->score[e]) + (a->general  ? route_through(a->from, b)
                                  : is_narrow ? route_through(GLU_BF16, b)
                                              : b);

    return gpu_bits(route_through(a->choice_type, sum));
}

/* A NaN of the logits ranks by its sign; one that was computed is +NaN. */
GPU_FN float route_settled(const route_args *a, float score)
{
    if ((a->flags & ROUTE_CLEAN) != 0 && !route_is_finite(score)) {
        return 0;
    }
    return route_through(
        (a->flags & ROUTE_IN_TYPE) != 0 ? a->from : (uint32_t)GLU_F32, score);
}

GPU_FN void route_score(const route_token *t)
{
    const route_args *const a = t->a;
    const int is_softmax = a->score == ROUTE_SOFTMAX || a->score == ROUTE_WARP;

    if (is_softmax) {
        route_softmax(t);
    }
    for (uint32_t e = 0; e < a->experts; e++) {
        t->score[e] =
            a->score == ROUTE_LOGIT
                ? route_logit(t, e)
                : gpu_bits(route_settled(
                      a, is_softmax
                             ? gpu_float(t->score[e])
                             : route_own_score(a->score, route_x(t, e))));
        t->choice[e] = route_choice_of(t, e);
    }
    for (uint32_t e = 0; a->general && e < a->experts; e++) {
        t->score[e] = gpu_bits(route_through(a->from, gpu_float(t->score[e])));
        t->choice[e] = route_is_finite(route_x(t, e))
                           ? gpu_bits(route_through(
                                 a->from, gpu_float(route_choice_of(t, e))))
                           : 0xff800000u;
    }
}

#endif
