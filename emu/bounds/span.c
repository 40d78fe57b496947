/* SPDX-License-Identifier: Apache-2.0 */
/* See span.h. */
#include "span.h"

#define SIGN_F32 0x80000000u

const mxo_span mxo_span_anything = {0xff800000u, 0x7f800000u};

int mxo_span_is_point(mxo_span x)
{
    return x.lo == x.hi;
}

int mxo_span_is_finite(mxo_span x)
{
    return (x.lo & 0x7f800000u) != 0x7f800000u &&
           (x.hi & 0x7f800000u) != 0x7f800000u;
}

mxo_span mxo_span_hull(const uint32_t *x, int n)
{
    mxo_span y = {x[0], x[0]};

    for (int i = 0; i < n; i++) {
        if (mxo_f32_is_nan(x[i])) {
            return (mxo_span){x[i], x[i]};
        }
        y.lo = mxo_f32_cmp(x[i], y.lo) < 0 ? x[i] : y.lo;
        y.hi = mxo_f32_cmp(x[i], y.hi) > 0 ? x[i] : y.hi;
    }
    return y;
}
