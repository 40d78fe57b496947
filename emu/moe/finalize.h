/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last step of the layer for one output element: k expert outputs, their
 * weights, one number.
 */
#ifndef MXO_EMU_MOE_FINALIZE_H
#define MXO_EMU_MOE_FINALIZE_H

#include <mxoracle/format.h>

/* Slots a token can have; the terms of an element lie on the stack. */
enum { MXO_FINALIZE_MAX_SLOTS = 2048 };

typedef enum mxo_finalize_sum {
    MXO_FINALIZE_FMA,      /* one fma after the other, slot by slot */
    MXO_FINALIZE_ADD,      /* acc = acc + w x, each rounded */
    MXO_FINALIZE_TYPED,    /* the same, rounded to the type of y each time */
    MXO_FINALIZE_LANES4,   /* four sums over slots i mod 4, then added up */
    MXO_FINALIZE_PAIRWISE, /* products rounded, then a tree of neighbours */
    MXO_FINALIZE_VLLM,     /* TYPED for 2, 3 and 4 slots, else LANES4 */
    MXO_N_FINALIZE_SUMS
} mxo_finalize_sum;

/* One term; weight and x are binary32 patterns. */
typedef struct mxo_finalize_term {
    uint32_t weight;
    uint32_t x;
} mxo_finalize_term;

/* Name of a sum in case text; NULL past the last. */
const char *mxo_finalize_name(mxo_finalize_sum sum);

/*
 * The element of type to.  weighted: 0 leaves the weights out.  n terms in
 * the order of the slots, those left out left out.  No term gives +0.
 */
uint32_t mxo_finalize(mxo_finalize_sum sum, mxo_format to, int weighted,
                      const mxo_finalize_term *terms, uint32_t n);

#endif
