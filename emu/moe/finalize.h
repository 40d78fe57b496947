/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last step of the layer for one output element: k expert outputs, their
 * weights, one number.
 */
#ifndef MXO_EMU_MOE_FINALIZE_H
#define MXO_EMU_MOE_FINALIZE_H

#include <mxoracle/format.h>

/* Terms of PAIRWISE, whose sums lie on the stack; the others take any number.
   moe.finalize keeps its terms there too. */
enum { MXO_FINALIZE_MAX_SLOTS = 2048 };

typedef enum mxo_finalize_sum {
    MXO_FINALIZE_FMA,      /* one fma after the other, slot by slot */
    MXO_FINALIZE_FMA_FTZ,  /* the same, subnormals flushed */
    MXO_FINALIZE_ADD,      /* acc = acc + w x, each rounded */
    MXO_FINALIZE_TYPED,    /* the same, term and sum rounded to step */
    MXO_FINALIZE_LANES4,   /* four sums over slots i mod 4, then added up */
    MXO_FINALIZE_PAIRWISE, /* products rounded, then a tree of neighbours */
    MXO_FINALIZE_VLLM,     /* TYPED for 2, 3 and 4 slots, else LANES4 */
    MXO_FINALIZE_CPU,   /* one slot: copied; else ADD, to step, no subnormal */
    MXO_FINALIZE_EXACT, /* the real sum of the real products */
    MXO_N_FINALIZE_SUMS
} mxo_finalize_sum;

/* One term; weight and x are binary32 patterns. */
typedef struct mxo_finalize_term {
    uint32_t weight;
    uint32_t x;
} mxo_finalize_term;

/* Name of a sum in case text; NULL past the last. */
const char *mxo_finalize_name(mxo_finalize_sum sum);

/* How a sum is made; one row per kernel. */
typedef struct mxo_finalize_job {
    mxo_finalize_sum sum;
    mxo_format step; /* TYPED, VLLM, CPU: what partial sums go through */
    int as_is;       /* TYPED, VLLM: terms are not rounded, only their sums */
    int weighted;    /* 0 leaves the weights out */
    mxo_format to;   /* type of the element */
} mxo_finalize_job;

/*
 * The element for n terms in the order of the slots, those left out left out.
 * No term gives +0.
 */
uint32_t mxo_finalize(const mxo_finalize_job *job,
                      const mxo_finalize_term *terms, uint32_t n);

#endif
