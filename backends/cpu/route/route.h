/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routers: a token's logits to experts and weights.  What vendors differ in is
 * a row of cpu_router; a token goes through score, choice and weights in float,
 * one rounded operation per statement.  docs/ops/route.topk.md
 */
#ifndef CPU_ROUTE_H
#define CPU_ROUTE_H

#include "cpu.h"

enum { ROUTE_MOST = 2048 }; /* experts, and slots of either kind */

typedef enum route_score {
    ROUTE_LOGIT,
    ROUTE_SOFTMAX,    /* e^(x - max) / sum */
    ROUTE_WARP,       /* e^(x - max) * (1 / sum), the sum as warps add */
    ROUTE_SIGMOID,    /* correctly rounded */
    ROUTE_RECIPROCAL, /* 1 / (1 + e^-x) */
    ROUTE_TANH,       /* 0.5 tanh(0.5 x) + 0.5 */
    ROUTE_SATURATED,  /* the same, 1 from 16 on and 0 from -16 down */
    ROUTE_SOFTPLUS    /* sqrt(x > 20 ? x : ln(1 + e^x)) */
} route_score;

/* What is done with the k weights; c is the scaling factor, S their sum. */
typedef enum route_norm {
    ROUTE_AS_IS,
    ROUTE_OVER_K,        /* softmax over the k */
    ROUTE_OVER_SUM,      /* c (w / S) */
    ROUTE_OVER_POSITIVE, /* the same, S not above 0 counting as 1 */
    ROUTE_SCALED,        /* (w c) / (S + 1e-20) */
    ROUTE_AT_LEAST,      /* w / max(S, 1e-20) */
    ROUTE_FACTOR,        /* w (c / S), S not above 0 counting as 1 */
    ROUTE_FUSED,         /* (w c) / (S + 1e-20) in double */
    ROUTE_TYPED /* softmax over the k, or e^(w - ln sum), as torch does */
} route_norm;

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
    ROUTE_PAYLOADS = 16384,  /* NaN rank by their payloads */
    ROUTE_TORCH = 8192       /* choices and weights have that type, too */
};

typedef struct cpu_router {
    const char *name;
    uint8_t score; /* route_score */
    uint8_t norm;  /* route_norm */
    unsigned flags;
    int experts; /* the kernel takes so many at most; 0: no limit is known */
    int top_k;
    int groups;
} cpu_router;

/* NULL for another name. */
const cpu_router *cpu_router_of(const char *name);

/* A call. */
typedef struct route_plan {
    const cpu_router *row;
    uint32_t from;
    uint32_t to;
    int experts;
    int top_k;
    int groups;
    int kept;
    int shared;
    int renormalize;
    int general;          /* vLLM's kernel for many experts */
    int is_promoted;      /* torch: the bias has another type than the logits */
    uint32_t choice_type; /* what choices and groups' scores are rounded to */
    double scale;
    const float *bias; /* NULL: none */
} route_plan;

/* One token on its way. */
typedef struct route_token {
    const route_plan *p;
    float x[ROUTE_MOST];
    float score[ROUTE_MOST];
    float choice[ROUTE_MOST];
    uint8_t out[ROUTE_MOST]; /* not, or no longer, to be chosen */
    float w[ROUTE_MOST];
    int32_t id[ROUTE_MOST];
    int failed; /* general: a group of -Inf stays, weights are 1 / k */
} route_token;

void cpu_route_score(route_token *t);
void cpu_route_choose(route_token *t);
void cpu_route_weigh(route_token *t);
/* Has vLLM a kernel of one warp for so many experts? */
int cpu_route_is_warp(int experts);
/* 0.5 tanh(0.5 x) + 0.5, 1 from 16 on and 0 from -16 down. */
float cpu_route_saturated(float x);
/* exp, rounded to binary32. */
float cpu_route_exp(float x);
/* x through the type of a tensor; NaN becomes the quiet one. */
float cpu_route_through(uint32_t dtype, float x);
/* The largest of n numbers, NaN apart; -Inf if there is none. */
float cpu_route_largest(const float *x, int n);

#endif
