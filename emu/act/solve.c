/* SPDX-License-Identifier: Apache-2.0 */
/* Ziv's strategy: tier 1, and tier 2 only beside a rounding boundary. */
#include "problem.h"

/*
 * Can a number within MXO_ACT_FAST_ERROR of y.mant round differently?  Only
 * the middle between two neighbouring codes matters to nearest even, and the
 * largest finite code plus half a quantum is such a middle as well.
 */
static int is_decided(mxo_real y, const mxo_format_spec *to)
{
    const int lg = 63 + y.exp;
    const int emin = 1 - to->bias;
    const int shift = (lg > emin ? lg : emin) - to->mbits - y.exp;

    if (lg > to->emax + 1 || shift > 65) {
        return 1;
    }
    if (shift == 65) { /* the middle below the smallest code is 2^64 */
        return y.mant <= UINT64_MAX - MXO_ACT_FAST_ERROR;
    }
    const uint64_t half = (uint64_t)1 << (shift - 1);
    const uint64_t low = y.mant & ((half << 1) - 1);

    return (low > half ? low - half : half - low) > MXO_ACT_FAST_ERROR;
}

uint64_t mxo_act_solve(const mxo_act_problem *p, mxo_format to, uint32_t *bits)
{
    const mxo_rounding nearest_even = {MXO_TIE_RNE, 0, 0, 0};
    mxo_real y;

    if ((p->t.hi != 0 || p->t.lo != 0) && mxo_act_fast(p, &y) &&
        is_decided(y, mxo_format_info(to))) {
        *bits = 64;
        return mxo_format_encode(to, y, nearest_even);
    }
    return mxo_act_wide(p, to, bits);
}
