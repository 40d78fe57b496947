/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Double-double arithmetic: about 2^-100, far below the 2^-77 by which the
 * worst sigmoid of a float32 misses a rounding boundary.
 */
#include "broken.h"

#include <math.h>

static dd tidy(double hi, double lo)
{
    const double s = hi + lo;
    const dd r = {s, lo - (s - hi)};

    return isfinite(s) ? r : broken_dd(s);
}

static dd add(dd a, dd b)
{
    const dd s = broken_sum(a.hi, b.hi);

    return tidy(s.hi, s.lo + a.lo + b.lo);
}

dd broken_mul(dd a, dd b)
{
    const double p = a.hi * b.hi;

    if (p == 0 || !isfinite(p)) {
        return broken_dd(p);
    }
    return tidy(p, fma(a.hi, b.hi, -p) + (a.hi * b.lo + a.lo * b.hi));
}

dd broken_div(dd a, dd b)
{
    const double q1 = a.hi / b.hi;
    const dd p1 = broken_mul(b, broken_dd(-q1));
    const dd r1 = add(a, p1);
    const double q2 = r1.hi / b.hi;
    const dd r2 = add(r1, broken_mul(b, broken_dd(-q2)));

    return add(tidy(q1, q2), broken_dd(r2.hi / b.hi));
}

/* a / n for a small integer n. */
static dd shrink(dd a, double n)
{
    const double q = a.hi / n;

    return tidy(q, (fma(-q, n, a.hi) + a.lo) / n);
}

/* e^-z for 0 <= z <= 700: z = k ln 2 + 64 r, Taylor for e^-r, six squarings. */
dd broken_exp_minus(dd z)
{
    static const dd minus_ln2 = {-0x1.62e42fefa39efp-1, -0x1.abc9e3b39803fp-56};
    const double k = rint(z.hi * 1.4426950408889634);
    const dd r = add(z, broken_mul(minus_ln2, broken_dd(k)));
    const dd s = {r.hi / -64, r.lo / -64};
    dd e = broken_dd(1);

    for (int n = 13; n > 0; n--) { /* 0.0055^14 / 14! is below 2^-140 */
        e = add(broken_dd(1), shrink(broken_mul(e, s), n));
    }
    for (int n = 0; n < 6; n++) {
        e = broken_mul(e, e);
    }
    e.hi = ldexp(e.hi, (int)-k);
    e.lo = ldexp(e.lo, (int)-k);
    return e;
}

dd broken_sigmoid(const broken *b, dd t)
{
    const dd z = {fabs(t.hi), t.hi < 0 ? -t.lo : t.lo};
    double y = (double)INFINITY; /* of a mutant: another number */

#define BROKEN_SIGMOID
#include "values.def"
#undef BROKEN_SIGMOID
    if (y != INFINITY) {
        return broken_dd(y);
    }
    if (z.hi < 0x1p-60) {
        const dd half = {0.5, t.hi / 4};
        return half;
    }
    const dd e = z.hi > 690 ? broken_dd(0x1p-995) : broken_exp_minus(z);

    if (t.hi < 0) {
        return broken_div(e, add(broken_dd(1), e));
    }
    if (e.hi < 0x1p-60) {
        const dd near_one = {1, -e.hi};
        return near_one;
    }
    if (IS(V06)) {
        return add(broken_dd(1),
                   broken_div(broken_dd(-1),
                              add(broken_dd(1), broken_div(broken_dd(1), e))));
    }
    return broken_div(broken_dd(1), add(broken_dd(1), e));
}
