/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routers of the native backends: a token's logits to experts and weights.
 * What vendors differ in is a row of router.def; router_read.h makes a plan of
 * a call, router_score.h and router_choose.h take a token through it.
 * docs/ops/route.topk.md
 */
#ifndef BACKENDS_ROUTER_H
#define BACKENDS_ROUTER_H

#include <stdint.h>

enum { ROUTE_MOST = 2048 }; /* experts, and slots of either kind */

enum { ROUTE_BF16, ROUTE_F16, ROUTE_F32 }; /* types */

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

/* Normalisation of the k weights; c is the scaling factor, S their sum. */
enum {
    ROUTE_AS_IS,
    ROUTE_OVER_K,        /* softmax over the k */
    ROUTE_OVER_SUM,      /* c (w / S) */
    ROUTE_OVER_POSITIVE, /* the same, S not above 0 counting as 1 */
    ROUTE_SCALED,        /* (w c) / (S + 1e-20) */
    ROUTE_AT_LEAST,      /* w / max(S, 1e-20) */
    ROUTE_FACTOR,        /* w (c / S), S not above 0 counting as 1 */
    ROUTE_FUSED,         /* (w c) / (S + 1e-20) in binary64 */
    ROUTE_TYPED /* softmax over the k, or e^(w - ln sum), as torch does */
};

enum {
    ROUTE_IN_TYPE = 1,       /* scores are rounded to the logits' type */
    ROUTE_CLEAN = 2,         /* scores that are not finite count as 0 */
    ROUTE_BIASED = 4,        /* may have a bias */
    ROUTE_BIAS_BF16 = 8,     /* rounded to BF16 if there are groups */
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

/* A router and its sizes. */
typedef struct route_plan {
    uint64_t tokens;
    double scale;
    const float *bias; /* as binary32; NULL: none */
    uint32_t flags, score, norm;
    uint32_t from, to; /* ROUTE_BF16 ... */
    uint32_t experts, top_k, groups, kept, shared;
    uint32_t renormalize;
    uint32_t general;     /* vLLM's kernel for many experts */
    uint32_t has_warp;    /* vLLM has a kernel of one warp for so many */
    uint32_t choice_type; /* type that choices and groups' scores round to */
} route_plan;

/* A token on its way.  Numbers are patterns: a NaN keeps its bits. */
typedef struct route_token {
    const route_plan *p;
    const void *logits;       /* the token's */
    uint32_t *score, *choice; /* of experts */
    uint32_t *out;            /* not, or no longer, to be chosen */
    uint32_t *group;          /* scores of groups */
    uint32_t *id;             /* the chosen */
    float *w;
    uint32_t failed; /* general: a group of -Inf stays, weights are 1 / k */
} route_token;

#endif
