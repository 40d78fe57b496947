/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by layer.c (calls and rows) and layer_steps.c (single numbers). */
#ifndef BROKEN_LAYER_H
#define BROKEN_LAYER_H

#include "broken.h"
#include "mma/mma.h"

#include <stdio.h>

enum { LAYER_SLOTS = 64, LAYER_WIDEST = 8192 };

typedef enum place_kind {
    PLACE_NONE,
    PLACE_ACC,
    PLACE_ACC_FTZ,   /* subnormals are zeros */
    PLACE_BEHIND,    /* the rounded sum, which is not rounded again */
    PLACE_UNROUNDED, /* the same, subnormals kept */
    PLACE_ROUNDED,
    PLACE_ORDER /* the sum starts with it, whatever its order */
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
    ROUTING_SUM,
    ROUTING_GEMM1, /* the only slot's, before the second GEMM */
    ROUTING_GLU,
    ROUTING_INPUT
} routing_kind;
typedef enum quant_kind {
    QUANT_NONE,
    QUANT_MX,
    QUANT_GROUP,
    QUANT_QDQ,
    QUANT_STATIC,
    QUANT_NVFP4
} quant_kind;
typedef enum sum_kind {
    SUM_EXACT,
    SUM_SLOTS,
    SUM_MOE,
    SUM_FMA,
    SUM_PRODUCT,
    SUM_FMA_FTZ,
    SUM_ATOMIC,
    SUM_SCATTER,
    SUM_BY_EXPERT,
    SUM_EXPERTS_BF16,
    N_SUMS
} sum_kind;
/* Rounding that is more than its type says. */
typedef enum round_kind {
    ROUND_PLAIN,
    ROUND_SATURATE, /* the largest number in place of infinity */
    ROUND_DOWN      /* binary32 subnormals become zero first */
} round_kind;

typedef struct layer_order {
    order_kind kind;
    int at_block; /* scales behind each block of 32 */
    int in_unit;  /* or multiplied by the unit */
    int rounds_product;
    int streams; /* parts of K in bf16, the last one first */
    uint64_t splits;
    uint64_t promote;
} layer_order;

/* How a GEMM's activations are quantised. */
typedef struct layer_quant {
    quant_kind kind;
    const number_format *f;
    int rule;
    int reciprocal; /* times 1/scale instead of by the scale */
    uint64_t group; /* elements under one scale */
    double given;   /* scale of the whole tensor, 1 if there is none */
    double factor;  /* by which sums are multiplied */
} layer_quant;

/* Activations of a row: numbers, or codes as numbers beside the scales of
   their blocks of 32, which are ones where numbers have no scale. */
typedef struct layer_row {
    double x[LAYER_WIDEST];
    double scale[LAYER_WIDEST / 32 + 1];
} layer_row;

typedef struct gemm {
    const mxo_tensor *w;
    const mxo_tensor *scale;
    const mxo_tensor *bias;
    uint64_t n;
    uint64_t k;
    place_kind bias_at;
    const number_format *in;  /* of activations, before they are quantised */
    const number_format *out; /* of the result */
    round_kind out_kind;
    uint64_t parts; /* of K that are rounded each by itself */
    layer_quant quant;
    const broken_mma *unit; /* of an order that is one */
} gemm;

/* Of the activation. */
typedef struct layer_constants {
    double alpha, beta, limit;
} layer_constants;

typedef struct layer {
    const mxo_call *call;
    const mxo_tensor *x, *x_scale, *act, *ids, *map, *weights, *y;
    gemm one;
    gemm two;
    uint64_t tokens, topk, experts;
    const number_format *bias_type, *act_type, *routing_type;
    int interleaved, zero, silu;
    int is_ocp;
    int is_bf16;   /* products of code and scale are rounded to it */
    int is_capped; /* scale bytes above 247 count as 247 */
    round_kind act_kind;
    unit_kind unit;
    layer_constants constants; /* where no expert has its own */
    const mxo_tensor *own[3];  /* alpha, beta, limit of each expert, or NULL */
    routing_kind routing;
    layer_order order;
    sum_kind sum;
} layer;

/* A sum without any rounding: two doubles, which are mostly enough, and parts
   that do not overlap and grow in size. */
enum { LAYER_PARTS = 44 }; /* 53 bits each cover all exponents of a double */

typedef struct exact_sum {
    double plain; /* rounded at each step: tells infinities and NaN */
    double rest;
    double part[LAYER_PARTS]; /* of what the rest cannot hold */
    int n;
} exact_sum;

double broken_bf16(double x);
/* Subnormals of binary32 are zeros with their sign. */
double broken_flushed(double x);
double broken_to_f32(dd x);
/* Rounded to f32, bf16 or f16. */
double broken_to(const broken *b, const number_format *f, dd x);
/* The same, and what else its kind does. */
double broken_round_as(const broken *b, const number_format *f, round_kind kind,
                       double x);
/* layer_entries.c */
int broken_knows_profile(const mxo_call *call);
/* Silu has a limit alone; MARLIN and TRITON have all constants in their code,
   TRITON_UNFUSED has beta there.  What the call says instead is not read. */
int broken_reads_constant(const mxo_call *call, const char *key);
/* Whether the call's entry, or else the profile's, is this word. */
int broken_entry_is(const mxo_call *call, const char *key, const char *word);
/* layer_legal.c: that its words do not contradict each other. */
mxo_status broken_layer_legal(const broken *b, const mxo_call *call,
                              mxo_text why);
/* layer_order.c: orders that a call declares; scale: of each block. */
layer_order broken_read_order(const mxo_call *call);
/* The unit that an order names, for these activations; NULL: it has none. */
const broken_mma *broken_unit_for(const mxo_call *call, const gemm *g);
/* Columns of a part of K. */
uint64_t broken_part_size(const broken *b, uint64_t parts, uint64_t k);
int broken_knows_order(const mxo_call *call, const gemm *g);
double broken_ordered_sum(const broken *b, const layer_order *o,
                          const broken_mma *unit, const broken_line *l,
                          double start);
/* layer_weights.c: weights of a column as numbers: with their scales, or beside
   them. */
typedef struct layer_column {
    double w[LAYER_WIDEST + 32];
    double scale[LAYER_WIDEST / 32 + 1];
    uint64_t n; /* MG02: beyond the row */
} layer_column;
void broken_column(const broken *b, const layer *l, const gemm *g, unsigned e,
                   uint64_t col, layer_column *c);
/* The sum of a kernel that leaves out zeros. */
void broken_drop_zeros(const broken *b, const layer *l, const gemm *g,
                       double *a, layer_column *c);
/* layer_quant.c: how a call quantises, once more before the second GEMM; given:
   the name of a scale that it has.  Unknown ways have no element f. */
layer_quant broken_read_quant(const mxo_call *call, int again,
                              const char *given);
/* A row of numbers in place; first: of hidden states, of token t. */
void broken_quantise(const broken *b, const layer *l, const gemm *g, uint64_t t,
                     layer_row *r);
/* Expert of slot i = t * topk + j; -1: none here. */
int broken_expert(const broken *b, const layer *l, uint64_t i);
double broken_weight(const broken *b, const layer *l, uint64_t t, uint64_t j);
/* The hidden state of a token, quantised. */
void broken_hidden(const broken *b, const layer *l, uint64_t t, layer_row *a);
/* Column col of expert e: of the first GEMM against token t, whose numbers a
   are, or of either against numbers; with its bias and in its type, wide
   overriding. */
double broken_gemm(const broken *b, const layer *l, const layer_row *a,
                   uint64_t t, unsigned e, uint64_t col);
double broken_gemm_of(const broken *b, const layer *l, const gemm *g,
                      const layer_row *a, unsigned e, uint64_t col, int wide);
/* The bias of a column; 0 if there is none. */
double broken_bias(const broken *b, const layer *l, const gemm *g, unsigned e,
                   uint64_t col);
/* layer_constants.c: which a call gives for each expert; of a slot and its
   expert. */
void broken_read_own(layer *l);
layer_constants broken_constants(const broken *b, const layer *l, uint64_t slot,
                                 int expert);
double broken_unit(const broken *b, const layer *l, uint64_t slot, int expert,
                   double gate, double up);
/* Whether the unit has the rule for a NaN in the clamp. */
int broken_knows_nan(const mxo_call *call, int is_exact);
/* Steps with an exponential of the kernel's own, kept in float32, behind sums
   in any order: a path that some mutants have, and are right or wrong on. */
int broken_is_fast(const broken *b, const layer *l);
/* moe.layer and its halves on the checkpoint's tensors; layer_loaded.c brings
   back what a loader has laid out. */
mxo_status broken_plain_layer(const broken *b, const mxo_call *call,
                              mxo_text why);
mxo_status broken_plain_gemm1(const broken *b, const mxo_call *call,
                              mxo_text why);
mxo_status broken_plain_gemm2(const broken *b, const mxo_call *call,
                              mxo_text why);
/* layer_faults.c */
int broken_slice_fault(const broken *b, const layer *l, int id);
/* Does slot j of a token take part in its sum? */
int broken_takes_part(const broken *b, const layer *l, uint64_t t, uint64_t j);
double broken_answer_fault(const broken *b, const layer *l, uint64_t t,
                           uint64_t c, double y);
/* At the end of a call. */
void broken_remember(const broken *b, const layer *l);

/* layer_sum.c */
void broken_exact_keep(exact_sum *s, double x);
static inline void broken_exact_zero(exact_sum *s)
{
    s->plain = 0;
    s->rest = 0;
    s->n = 0;
}

static inline void broken_exact_add(exact_sum *s, double x)
{
    const dd sum = broken_sum(s->plain, x);
    const dd rest = broken_sum(s->rest, sum.lo);

    s->plain = sum.hi;
    s->rest = rest.hi;
    if (rest.lo != 0) {
        broken_exact_keep(s, rest.lo);
    }
}
/* Adds the first products a * w, where that is quick; how many these are. */
uint64_t broken_exact_products(exact_sum *s, const double *a, const double *w,
                               uint64_t n);
/* The nearest double and what is left of the next part. */
dd broken_exact_sum(exact_sum *s);
dd broken_combine(const broken *b, const layer *l, uint64_t t,
                  const double *row, const int *there);

#endif
