/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact sums that their bias decides, times a power of two for each row of
 * weights; h = 2^-24 is half a unit in the last place of 1 in binary32:
 *
 *   kind  the products' sum   the bias          both, rounded once
 *   0     1 + h, a tie        +2^-26 .. 2^-71   1 + 2h
 *   1     1 + 3h, a tie       -2^-26 .. 2^-71   1 + 2h
 *   2     1 + h               -1                h
 *   3     1 + 3h + 2^-50      -2^-50 - 2^-70    1 + 2h
 *   4     1 + 2^-54           -1                2^-54
 *
 * Who rounds the sum before the bias joins it gets 1, 1 + 4h, 0, 1 + 4h and 0;
 * who keeps a double in between, even one rounded to odd, errs in some.  Every
 * 37th bias is infinite.
 */
#include "base/codes.h"
#include "fills.h"

#include <math.h>

enum { KINDS = 5, LEAST = 26, STEP = 5, STEPS = 10, SCALES = 7, WILD = 37 };

/* 1, h, 2^-50 and 2^-54; the rest meets zeros. */
void fill_nudged(const test_case *c, host_tensor *t, prng *rng)
{
    static const double live[4] = {1, 0x1p-24, 0x1p-50, 0x1p-54};
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t k = i % cols;
        fill_put(t, i, k < 4 ? live[k] : fill_uniform(rng));
    }
}

static int is_negative(uint64_t row)
{
    return row / KINDS % 2 != 0;
}

static int scale_of(uint64_t row)
{
    return (int)(row % SCALES) - 3;
}

/* Weights of the four live numbers; the others are zero. */
void fill_nudged_codes(const test_case *c, host_tensor *t, prng *rng)
{
    enum { ONE = 2, THREE = 5, MINUS = 8 };
    static const uint64_t kind[KINDS][4] = {{ONE, ONE, 0, 0},
                                            {ONE, THREE, 0, 0},
                                            {ONE, ONE, 0, 0},
                                            {ONE, THREE, ONE, 0},
                                            {ONE, 0, 0, ONE}};
    const uint64_t bytes = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i / bytes;
        const uint64_t sign = is_negative(row) ? MINUS : 0;
        const uint64_t *code = &kind[row % KINDS][i % bytes * 2 % 4];
        tensor_store(
            t, i, i % bytes < 2 ? (code[0] | sign) | (code[1] | sign) << 4 : 0);
    }
}

/* One scale for a row, so that nothing but the bias decides. */
void fill_nudged_scales(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t blocks = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, (uint64_t)(127 + scale_of(i / blocks)));
    }
}

/* fill_put() stops at the last finite number. */
static void put_infinity(host_tensor *t, uint64_t i)
{
    const code_format *f = dtype_format(t->dtype);
    const uint64_t sign = UINT64_C(1) << (f->bits - 1);

    tensor_store(t, i, (code_last_finite(f) + 1) | (is_negative(i) ? sign : 0));
}

void fill_nudges(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const double tiny = ldexp(1, -LEAST - STEP * (int)(i / KINDS % STEPS));
        const double kind[KINDS] = {tiny, -tiny, -1, -0x1p-50 - 0x1p-70, -1};
        const double x = ldexp(kind[i % KINDS], scale_of(i));
        if (i % WILD == WILD - 1) {
            put_infinity(t, i);
        } else {
            fill_put(t, i, is_negative(i) ? -x : x);
        }
    }
}
