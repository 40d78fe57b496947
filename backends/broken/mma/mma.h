/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix instructions: the units (mma_units.c), steps as NVIDIA has them
   (mma.c) and as AMD does (mma_amd.c), their operations (mma_op.c), and what
   layers take of them. */
#ifndef BROKEN_MMA_H
#define BROKEN_MMA_H

#include "broken.h"

enum { MMA_LONGEST = 64 };

typedef enum mma_kind {
    MMA_FUSED,
    MMA_HALVES, /* FP8 as two steps of f16 */
    MMA_GROUPS, /* exact sums of 16 under their scales */
    MMA_TREE,
    MMA_TREE_FLUSHED, /* without subnormals */
    MMA_FLOORED,
    MMA_PARITY /* even and odd k apart */
} mma_kind;

/* A step of so many products, cut f bits below the largest exponent, into m
   bits; emin: the exponent of the operands' smallest normal. */
typedef struct broken_mma {
    const char *unit;
    const char *type;
    mma_kind kind;
    int step;
    int f;
    int m;
    int emin;
} broken_mma;

/* Mantissa bits of a step whose accumulator is binary16. */
enum { MMA_HALF = 10 };

/* Scales per number: E8M0, whose exponent is its own, or UE4M3, whose
   subnormals have that of the smallest normal. */
enum { MMA_ANY_EXPONENT = -1000, MMA_UE4M3_EXPONENT = -6 };

/* Operands of one step, and of a chain, whose scales may be NULL: ones. */
typedef struct broken_row {
    double a[MMA_LONGEST];
    double w[MMA_LONGEST];
    double a_scale[MMA_LONGEST];
    double w_scale[MMA_LONGEST];
    int scale_emin;
    int n;
} broken_row;

typedef struct broken_line {
    const double *a;
    const double *w;
    uint64_t k;
    const double *a_scale;
    const double *w_scale;
    int scale_emin;
} broken_line;

/* NULL if the unit has no such operands. */
const broken_mma *broken_mma_find(const char *unit, const char *type);
/* The row of the unit as the mutant has it. */
broken_mma broken_mma_of(const broken *b, const broken_mma *row);
/* Steps over ascending k from c; promote: 0, or after how many numbers. */
float broken_mma_sum(const broken *b, const broken_mma *row,
                     const broken_line *l, float c, uint64_t promote);

/* The exponent that hardware aligns a number by. */
int broken_mma_exponent(double x, int emin);
/* The sum in no order, for what is no number. */
double broken_mma_plain(const double *x, int n, double c);
/* mma_amd.c: one step. */
double broken_mma_tree(const broken *b, const broken_mma *u,
                       const broken_row *r, double c);
double broken_mma_floored(const broken *b, const broken_mma *u,
                          const broken_row *r, double c);

#endif
