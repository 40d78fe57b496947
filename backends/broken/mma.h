/* SPDX-License-Identifier: Apache-2.0 */
/* What mma.c (matrix instructions) gives to layers. */
#ifndef BROKEN_MMA_H
#define BROKEN_MMA_H

#include "broken.h"

/* A step of so many products, cut f bits below the largest exponent, into m
   bits; emin: the exponent of the operands' smallest normal. */
typedef struct broken_mma {
    const char *unit;
    const char *type;
    int step;
    int f;
    int m;
    int emin;
} broken_mma;

/* Operands of one step, and of a chain. */
typedef struct broken_row {
    double a[32];
    double w[32];
    int n;
} broken_row;

typedef struct broken_line {
    const double *a;
    const double *w;
    uint64_t k;
} broken_line;

/* NULL if the unit has no such operands, or is of another kind. */
const broken_mma *broken_mma_find(const char *unit, const char *type);
/* Steps over ascending k from c; promote: 0, or after how many numbers. */
float broken_mma_sum(const broken *b, const broken_mma *u,
                       const broken_line *l, float c, uint64_t promote);

#endif
