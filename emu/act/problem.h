/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The problem of both tiers: y = +-factor * f(t) with everything on the
 * right exact, and y irrational (or t zero).  docs/design/004-exponential.md
 * has the method and the proofs of the error bounds.
 */
#ifndef MXO_EMU_ACT_PROBLEM_H
#define MXO_EMU_ACT_PROBLEM_H

#include "mul64.h"

#include <mxoracle/format.h>

typedef enum mxo_transcendent {
    MXO_F_EXP,
    MXO_F_EXP2,
    MXO_F_TANH, /* odd: its sign belongs into neg */
    MXO_F_SIGMOID
} mxo_transcendent;

typedef struct mxo_act_problem {
    uint8_t fn; /* mxo_transcendent */
    uint8_t neg;
    uint8_t t_neg;
    uint8_t has_factor; /* 0: the factor is 1 */
    mxo_u128 t;         /* |t| = t * 2^t_exp */
    int32_t t_exp;
    mxo_real g; /* the factor is |g * (v + b)|, finite and not zero; */
    mxo_real v; /* v or b may be zero */
    mxo_real b;
} mxo_act_problem;

/*
 * |t| is cut here: beyond it e^-|t| < 2^-5909, which is less than any
 * distance between a product of binary64 numbers and a rounding boundary.
 */
enum { MXO_ACT_T_LG = 12 };

/* Units in the last place by which mxo_act_fast may be wrong. */
enum { MXO_ACT_FAST_ERROR = 48 };

/* floor(log2 |t|); t is not zero. */
int mxo_act_t_lg(const mxo_act_problem *p);

/*
 * Tier 1.  |y| with the leading bit of mant at bit 63; mant is off by less
 * than MXO_ACT_FAST_ERROR.  Returns 0 if it does not know the function.
 */
int mxo_act_fast(const mxo_act_problem *p, mxo_real *y);

/*
 * Tier 2.  The code of y, rounded to nearest even; bits receives the
 * precision that decided.
 */
uint64_t mxo_act_wide(const mxo_act_problem *p, mxo_format to, uint32_t *bits);

/* Both: tier 1, and tier 2 where tier 1 cannot decide. */
uint64_t mxo_act_solve(const mxo_act_problem *p, mxo_format to, uint32_t *bits);

#endif
