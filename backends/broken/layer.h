/* SPDX-License-Identifier: Apache-2.0 */
/* What layer.c (calls and rows) and layer_steps.c (single numbers) share. */
#ifndef BROKEN_LAYER_H
#define BROKEN_LAYER_H

#include "broken.h"
#include "mma.h"

#include <stdio.h>

enum { LAYER_SLOTS = 16, LAYER_WIDEST = 4096 };

typedef enum place_kind {
    PLACE_NONE,
    PLACE_ACC,
    PLACE_ROUNDED,
    PLACE_ORDER /* the sum starts with it */
} place_kind;
typedef enum order_kind {
    ORDER_OPEN, /* any, or the exact sum */
    ORDER_SEQ,
    ORDER_PAIRWISE,
    ORDER_SPLIT,
    ORDER_BLOCK,
    ORDER_UNIT,
    ORDER_UNKNOWN
} order_kind;
typedef enum unit_kind { UNIT_EXACT, UNIT_VLLM, UNIT_TRITON } unit_kind;
typedef enum routing_kind {
    ROUTING_ACC,
    ROUTING_ROUNDED,
    ROUTING_SUM
} routing_kind;
typedef enum sum_kind { SUM_EXACT, SUM_SLOTS, SUM_MOE, SUM_FMA } sum_kind;

typedef struct layer_order {
    order_kind kind;
    const broken_mma *unit;
    int at_block; /* scales behind each block of 32 */
    int rounds_product;
    uint64_t splits;
    uint64_t promote;
} layer_order;

typedef struct gemm {
    const mxo_tensor *w;
    const mxo_tensor *scale;
    const mxo_tensor *bias;
    uint64_t n;
    uint64_t k;
    place_kind bias_at;
    int f32; /* the result is not rounded to bf16 */
} gemm;

typedef struct layer {
    const mxo_call *call;
    const mxo_tensor *x, *act, *ids, *map, *weights, *y;
    gemm one;
    gemm two;
    uint64_t tokens, topk, experts;
    int interleaved, bias_bf16, act_f32, weight_bf16, zero, silu;
    int is_ocp;
    unit_kind unit;
    double alpha, beta, limit;
    routing_kind routing;
    layer_order order;
    sum_kind sum;
} layer;

double broken_bf16(double x);
double broken_to_f32(dd x);
/* Is the entry of the profile, or of the call in its place, this word? */
int broken_entry_is(const mxo_call *call, const char *key, const char *word);
/* layer_order.c: orders that a call declares; scale: of each block. */
layer_order broken_read_order(const mxo_call *call);
int broken_knows_order(const mxo_call *call);
double broken_ordered_sum(const broken *b, const layer_order *o,
                          const broken_line *l, const double *scale,
                          double start);
/* Expert of slot i = t * topk + j; -1: none here. */
int broken_expert(const broken *b, const layer *l, uint64_t i);
double broken_weight(const broken *b, const layer *l, uint64_t t, uint64_t j);
/* The hidden state of a token, LAYER_WIDEST numbers at most. */
void broken_hidden(const broken *b, const layer *l, uint64_t t, double *a);
/* Column col of expert e: of the first GEMM against token t, whose numbers a
   are, or of either against numbers; with its bias and in its type, f32
   overriding. */
double broken_gemm(const broken *b, const layer *l, const double *a, uint64_t t,
                   unsigned e, uint64_t col);
double broken_gemm_of(const broken *b, const layer *l, const gemm *g,
                      const double *a, unsigned e, uint64_t col, int f32);
double broken_unit(const broken *b, const layer *l, int expert, double gate,
                   double up);
/* layer_faults.c */
int broken_slice_fault(const broken *b, const layer *l, int id);
double broken_answer_fault(const broken *b, const layer *l, uint64_t t,
                           uint64_t c, double y);
/* At the end of a call. */
void broken_remember(const broken *b, const layer *l);

dd broken_combine(const broken *b, const layer *l, uint64_t t,
                  const double *row, const int *there);

#endif
