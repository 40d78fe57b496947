/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer as a native kernel would compute it: binary32 operations in an
 * order of its own, or tensor-core steps, one fault at most.  The second
 * derivation that the bounds of emu/layer are held against.
 */
#ifndef MXO_UNIT_SMALL_LAYER_H
#define MXO_UNIT_SMALL_LAYER_H

#include "unit/emu_call.h"

#include <mxoracle/act.h>

enum { SMALL_T = 3, SMALL_K = 2, SMALL_E = 3, SMALL_H = 96, SMALL_I = 64 };

typedef struct small_layer {
    uint16_t x[SMALL_T][SMALL_H]; /* codes of the recipe's type */
    uint8_t w13[SMALL_E][2 * SMALL_I][SMALL_H / 2];
    uint8_t s13[SMALL_E][2 * SMALL_I][SMALL_H / 32];
    uint32_t b13[SMALL_E][2 * SMALL_I];
    uint8_t w2[SMALL_E][SMALL_H][SMALL_I / 2];
    uint8_t s2[SMALL_E][SMALL_H][SMALL_I / 32];
    uint32_t b2[SMALL_E][SMALL_H];
    int32_t ids[SMALL_T * SMALL_K]; /* a token's slots side by side */
    uint32_t weights[SMALL_T * SMALL_K];
    uint32_t given[2]; /* scales of either GEMM's input */
    uint64_t state;    /* of the generator */
} small_layer;

typedef enum small_order {
    SMALL_SEQUENTIAL,
    SMALL_FMA,
    SMALL_REVERSED,
    SMALL_PAIRWISE,
    SMALL_SPLIT,
    SMALL_SHUFFLED,
    SMALL_LATE_SCALE, /* per block, then an fma by the scale */
    SMALL_STEPS,      /* Hopper's, one chain */
    SMALL_STEPS_SPLIT,
    SMALL_N_ORDERS
} small_order;

typedef enum small_fault {
    SMALL_LEGAL,
    SMALL_DROPPED_BLOCK, /* the last of the first GEMM */
    SMALL_DROPPED_BLOCK_2,
    SMALL_WRONG_SCALE, /* of one block of one expert */
    SMALL_BF16_SUM,
    SMALL_BIAS_AFTER,   /* behind the rounding instead of before it */
    SMALL_EARLY_WEIGHT, /* routing weight in BF16 */
    SMALL_NOT_RESTORED, /* sums are not multiplied by the given scale */
    SMALL_N_FAULTS
} small_fault;

/* Quantisation of activations in front of both GEMMs. */
typedef enum small_quant {
    SMALL_AS_IS,
    SMALL_MXFP8,  /* rule floor */
    SMALL_STATIC, /* E4M3 of x / given */
    SMALL_NVFP4   /* with the arithmetic of the fast kernel */
} small_quant;

/* The recipe in words (parameters of moe.layer) and as flags. */
typedef struct small_recipe {
    const char *params;
    mxo_glu_dialect glu;
    mxo_format from;
    mxo_format gemm1;
    mxo_format act;
    mxo_format row;
    mxo_format out;
    small_quant quant;
    int bias_rounded; /* 1: to the rounded result, rounded again */
    int routing_sum;  /* the weight joins in the sum, by fma */
    int at_input;     /* or in the hidden states, for the only slot */
} small_recipe;

int small_topk(const small_recipe *r);

/* Ordinary numbers; a large bias is about 2^6. */
void small_layer_fill(small_layer *l, const small_recipe *r, uint64_t seed,
                      int large_bias);

/* Output of the kernel, as codes of the recipe's type. */
void small_layer_run(small_layer *l, const small_recipe *r, small_order order,
                     small_fault fault, uint16_t *y);

/* The emulator's call with extra parameters behind the recipe's. */
void small_layer_begin(emu_call *c, const small_layer *l, const small_recipe *r,
                       const char *extra);

#endif
