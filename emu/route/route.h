/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State that the steps of a router share: the row of its dialect, and that of
 * one token between scores, choice and weights.
 */
#ifndef MXO_EMU_ROUTE_H
#define MXO_EMU_ROUTE_H

#include <mxoracle/route.h>

enum {
    ROUTE_SCORE_LOGIT,
    ROUTE_SCORE_SOFTMAX,
    ROUTE_SCORE_SOFTMAX_T,
    ROUTE_SCORE_SIGMOID,
    ROUTE_SCORE_SIGMOID_T,
    ROUTE_SCORE_EXPF,
    ROUTE_SCORE_TANH,
    ROUTE_SCORE_TANH_SAT,
    ROUTE_SCORE_SOFTPLUS,
    ROUTE_SCORE_VLLM_SOFTMAX
};
enum { ROUTE_CLEAN_KEEP, ROUTE_CLEAN_ZERO };
enum {
    ROUTE_BIAS_NONE,
    ROUTE_BIAS_F32,
    ROUTE_BIAS_GROUPED_BF16,
    ROUTE_BIAS_TYPED
};
enum { ROUTE_PICK_KEY, ROUTE_PICK_BITS, ROUTE_PICK_BLANK, ROUTE_PICK_FUSED };
enum { ROUTE_GROUPS_NONE, ROUTE_GROUPS_TOP2, ROUTE_GROUPS_BIASED };
enum { ROUTE_WEIGHT_SCORE, ROUTE_WEIGHT_TANH_SAT, ROUTE_WEIGHT_UNBIAS };
enum {
    ROUTE_NORM_NONE,
    ROUTE_NORM_SOFTMAX,
    ROUTE_NORM_SUM,
    ROUTE_NORM_SUM_T,
    ROUTE_NORM_SUM_POSITIVE,
    ROUTE_NORM_SCALED_EPS,
    ROUTE_NORM_MAX_EPS,
    ROUTE_NORM_FACTOR,
    ROUTE_NORM_FUSED,
    ROUTE_NORM_TYPED
};
enum { ROUTE_WHEN_ALWAYS, ROUTE_WHEN_PARAM };
enum { ROUTE_ORDER_PICKED, ROUTE_ORDER_BY_ID, ROUTE_ORDER_FREE };

typedef struct route_row {
    const char *name;
    uint8_t score;
    uint8_t clean;
    uint8_t bias;
    uint8_t pick;
    uint8_t groups;
    uint8_t weight;
    uint8_t norm;
    uint8_t when;
    uint8_t order;
    uint8_t kernel; /* KERNEL_ of act/kernel_math.h */
} route_row;

/* One token; all numbers are binary32 patterns. */
typedef struct route_token {
    const mxo_route *route;
    const route_row *row;
    int general; /* vLLM's kernel for many experts */
    int failed;  /* general: too few finite groups, weights are 1/k */
    uint32_t x[MXO_ROUTE_MAX_EXPERTS]; /* logits */
    uint32_t score[MXO_ROUTE_MAX_EXPERTS];
    uint32_t choice[MXO_ROUTE_MAX_EXPERTS]; /* score and bias */
    uint8_t out[MXO_ROUTE_MAX_EXPERTS];     /* not, or no longer, eligible */
    uint32_t w[MXO_ROUTE_MAX_EXPERTS];      /* weight of each choice */
} route_token;

const route_row *mxo_route_row(mxo_route_dialect dialect);
/* The sentence by which the vendor's kernel refuses these numbers of experts,
   groups and choices, legal otherwise; NULL if it takes them. */
const char *mxo_route_beyond(const mxo_route *route);
/* Has vLLM a kernel of one warp for so many experts? */
int mxo_route_is_warp(uint32_t n);
/* Does vLLM's fused router take its general kernel? */
int mxo_route_is_general(const mxo_route *route);

/* e^x and the sigmoids. */
uint32_t mxo_route_exp(uint32_t x);
uint32_t mxo_route_tanh_sat(uint32_t x);
/* x rounded to a format, as binary32 again. */
uint32_t mxo_route_narrow(mxo_format format, uint32_t x);
/* The binary32 pattern as a number that grows as the order says. */
uint32_t mxo_route_key(uint32_t x);

/* A choice or a sum of choices, rounded to the type that the row says. */
uint32_t mxo_route_choice(const route_token *t, uint32_t x);
/* x, then score and choice. */
void mxo_route_score(route_token *t);
/* ids from choice. */
void mxo_route_pick(route_token *t, int32_t *ids);
/* w from score and ids. */
void mxo_route_weigh(route_token *t, const int32_t *ids);
/* w as it is before the norm, and what the norm makes of w. */
uint32_t mxo_route_raw_weight(const route_token *t, int32_t id);
void mxo_route_normalise(route_token *t);
/* The choice of expert e, if that is its score. */
uint32_t mxo_route_biased(const route_token *t, uint32_t e, uint32_t score);
/* The score of a group by choice. */
uint32_t mxo_route_group_score(route_token *t, uint32_t group);
/* Set up a token: all fields but score, choice, out and w. */
void mxo_route_load(route_token *t, const mxo_route *r, const uint32_t *logits);
uint32_t mxo_route_store(const mxo_route *r, uint32_t w);

#endif
