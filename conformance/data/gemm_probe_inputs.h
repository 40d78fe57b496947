/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs on which one of the layer's two GEMMs only hands numbers on, so that
 * what lies before or behind it is seen alone.  Experts, tokens, slots and ids
 * stay what they are; weights and one of the two extents of a matrix change.
 *
 *   identity  column c of every expert is 1 at k = c: the GEMM gives its
 *             activations as its quantiser left them
 *   signs     the same of activations that are 4 and 6 of either sign, which
 *             quantisers keep: is the GEMM itself in order?
 *   rows      the GEMM gives the rows that are asked for: a token has 4 and 6
 *             in blocks of K that are its own, and the weights of its fours, in
 *             units of a power of two, add up to its number.  No partial sum
 * has more than 24 bits, so that no order of summation rounds.
 *
 * Biases are zero; routing weights and given scales one unless asked for.
 */
#ifndef MXO_PROBE_H
#define MXO_PROBE_H

#include "base/tensors.h"

/* One half of the layer as an operation: its tensors and dimensions. */
typedef struct probe_half {
    const char *op;
    const char *alone;    /* stage= of the GEMM */
    const char *through;  /* stage= of what follows it in the same call */
    const char *in;       /* activations [.., k] */
    const char *in_scale; /* of activations that came as codes */
    const char *w;        /* [experts, n, k / 2] */
    const char *scale;    /* [experts, n, ceil(k / 32)] */
    const char *bias;     /* [experts, n] */
    const char *given;    /* scale of a quantiser that has one for all */
    const char *k;        /* dimensions of a case */
    const char *blocks;
    const char *n;
    uint64_t n_times; /* columns per unit of the dimension n */
} probe_half;

/* moe.gemm1 and moe.gemm2. */
extern const probe_half probe_halves[2];

/* Routing weights or given scales that the probe keeps. */
typedef enum probe_keep {
    PROBE_KEEP_NONE,
    PROBE_NEAR_GIVEN, /* a power of two: products with it are exact */
    PROBE_KEEP_WEIGHTS
} probe_keep;

/* Each fills an empty set from a half's inputs: 0, or -1 where they have no
   columns or no memory. */
int probe_identity(tensor_set *to, const probe_half *h, const tensor_set *in,
                   probe_keep keep);
int probe_signs(tensor_set *to, const probe_half *h, const tensor_set *in);
/* rows: [tokens, topk, n], as the GEMM gives them.  Tokens behind those that
   there is room for, rows without an expert and what is NaN become zero, an
   infinity a large number. */
int probe_rows(tensor_set *to, const probe_half *h, const tensor_set *in,
               const host_tensor *rows, probe_keep keep);

/* The half's inputs once more, its activations as what the GEMM of the
   identity gave under a scale of one: numbers that are quantised already. */
int probe_quantised(tensor_set *to, const probe_half *h, const tensor_set *in,
                    const host_tensor *rows);

/* Columns and K of a set that was filled here. */
uint64_t probe_columns(const probe_half *h, const tensor_set *in);
uint64_t probe_depth(const probe_half *h, const tensor_set *in);

#endif
