/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer over intervals: where no order of summation is declared, every
 * intermediate is known to lie between two ends, and so is every output
 * (docs/design/007-exact-sums.md derives what the ends are).
 */
#ifndef MXO_EMU_LAYER_BOUND_H
#define MXO_EMU_LAYER_BOUND_H

#include "../layer/plan.h"
#include "glu_span.h"

/* Exponent of the smallest normal number of BF16 and of binary32; what stands
   for a unit that is not known. */
enum { BOUND_LEAST = -126, BOUND_NO_UNIT = INT16_MIN };

/* Mask of the nonzero among 32 numbers; all are multiples of 2^unit. */
typedef struct bound_nonzero {
    uint32_t mask;
    int unit;
} bound_nonzero;

/* Products of which neither factor is zero, and their unit. */
typedef struct bound_terms {
    uint64_t n;
    int unit;
} bound_terms;

/* Rows of numbers known up to their ends, as binary32 patterns. */
typedef struct bound_rows {
    uint32_t *lo; /* [rows, k] */
    uint32_t *hi;
    int32_t *least; /* [rows, blocks of k]: see bound_operand; NULL: the
                       same for all */
    uint64_t k;
} bound_rows;

/* One of the two GEMMs; rows.lo is NULL if g->a is known exactly. */
typedef struct bound_gemm {
    const layer_gemm *g;
    bound_rows rows;
    int is_narrow; /* operands of at most 16 bits */
    int is_native; /* FP8 or FP4 operands go into the unit as they are */
    int least;     /* exponent of their smallest normal, without scales */
    mxo_dot_block *centre;     /* [LAYER_TILE, blocks], as the others */
    mxo_dot_block *magnitude;  /* not less than any |a| */
    mxo_dot_block *radius;     /* not less than any distance from centre */
    bound_nonzero *live;       /* [LAYER_TILE, blocks] */
    int is_raised[LAYER_TILE]; /* magnitudes of subnormal operands are more */
    int is_wild[LAYER_TILE];   /* some operand may be an infinity */
} bound_gemm;

/* A block of magnitudes, not less than those of from: cut to 22 bits, and at
   least 2^least each unless zero, because a unit aligns a subnormal operand
   by the exponent of its format's smallest normal.  Returns whether one was
   raised to that. */
int bound_operand(mxo_dot_block *to, const mxo_dot_block *from, int least);

/* Exponent of the smallest normal number of a format under a scale byte, or
   of the 16-bit number that it is dequantised to. */
int bound_least(int emin, uint8_t byte);

/* Bring a tile's rows into the blocks; then any number of columns: where the
   binary32 sum can be, after bias and rounding as layer_gemm_column. */
void bound_gemm_load(bound_gemm *b, const layer_tile *tile);
void bound_gemm_column(const bound_gemm *b, const layer_tile *tile,
                       uint64_t col, mxo_profile_choice out, mxo_span *y);

bound_nonzero bound_nonzero_of(const mxo_dot_block *x);
void bound_count(bound_terms *t, bound_nonzero a, bound_nonzero b);
/* No order rounds these products, whose magnitudes add up to size. */
int bound_is_exact(const bound_terms *t, mxo_real size);
/* Largest loss of n products among k, in units of 2^(e - 40), if no partial
   sum reaches 2^(e+1); each addition may round, or tensor-core steps truncate.
   0: no bound. */
uint64_t bound_loss(uint64_t n, uint64_t k);
/* The e of bound_loss for sums whose exact values are at most most. */
int bound_binade(mxo_real most, uint64_t loss);

/* Outputs of the activation become what the second GEMM may get. */
void bound_quantise(const layer_quant *quant, mxo_format from,
                    const bound_rows *rows, uint64_t n_rows);

/* x times a number, rounded to binary32. */
mxo_span bound_times(mxo_span x, uint32_t w);
/* x rounded to the type of a GEMM1_OUT or ROW_OUT choice. */
mxo_span bound_round(mxo_profile_choice out, mxo_span x);

/* Room for the ends, behind the scratch of the layer itself. */
void bound_place(layer_plan *p);
mxo_status bound_check(const layer_plan *p, mxo_text why);
/* Outputs y_lo and y_hi of the operation. */
void bound_run(const layer_plan *p);

#endif
