/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planes of digits.  A block whose numbers spread over many binades is a sum
 * of a few planes, each 32 digits of 15 bits under one exponent; binades that
 * no number has a bit in need no plane.  32 products of digits and numbers of
 * 10 bits stay within a machine word of 32 bits.
 */
#include "../dot/operand.h"

#include <string.h>

enum { DIGIT = 15, NARROW = 10, GRID = 64 };

/* Lowest exponent of the numbers that are not zero. */
static int lowest(const mxo_dot_block *x)
{
    int low = INT16_MAX;

    for (int i = 0; i < MXO_DOT_BLOCK; i++) {
        low = x->v[i] != 0 && x->e[i] < low ? x->e[i] : low;
    }
    return low;
}

/* Number i in units of 2^(DIGIT * *at) above the lowest exponent. */
static uint64_t place(const mxo_dot_block *x, int i, int low, int *at)
{
    const int up =
        x->kind == MXO_DOT_ALIGNED || x->v[i] == 0 ? 0 : x->e[i] - low;
    const int64_t v = x->v[i];

    *at = up / DIGIT;
    return (uint64_t)(v < 0 ? -v : v) << up % DIGIT;
}

/* Which places of the grid hold a digit; all if one is beyond it. */
static uint64_t places(const mxo_dot_block *x, int low)
{
    uint64_t used = 0;

    for (int i = 0; i < MXO_DOT_BLOCK; i++) {
        int at;
        for (uint64_t u = place(x, i, low, &at); u != 0; u >>= DIGIT, at++) {
            const int is_digit = (u & ((1 << DIGIT) - 1)) != 0;
            used |= at >= GRID ? UINT64_MAX : (uint64_t)is_digit << at;
        }
    }
    return used;
}

void mxo_dot_cut(mxo_dot_block *x)
{
    const int low = x->kind == MXO_DOT_ALIGNED ? x->exp : lowest(x);
    const uint64_t used = places(x, low);
    uint8_t plane[GRID];

    x->planes = 0;
    for (int at = 0; at < GRID; at++) {
        if ((used >> at & 1) != 0) {
            if (x->planes == MXO_DOT_PLANES) {
                x->planes = 0;
                return;
            }
            plane[at] = (uint8_t)x->planes++;
            x->at[plane[at]] = (int16_t)(low + DIGIT * at);
        }
    }
    memset(x->digit, 0, (size_t)x->planes * sizeof x->digit[0]);
    for (int i = 0; i < MXO_DOT_BLOCK; i++) {
        int at;
        for (uint64_t u = place(x, i, low, &at); u != 0; u >>= DIGIT, at++) {
            const int16_t d = (int16_t)(u & ((1 << DIGIT) - 1));
            if (d != 0) {
                x->digit[plane[at]][i] = x->v[i] < 0 ? (int16_t)-d : d;
            }
        }
    }
}

static int32_t sum_of_16(const int16_t *a, const int16_t *b)
{
    int32_t sum = 0;

    for (int i = 0; i < MXO_DOT_BLOCK; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static int is_narrow(const mxo_dot_block *x)
{
    return x->planes == 1 && x->kind == MXO_DOT_ALIGNED && x->bits <= NARROW;
}

/* Planes next to each other go to the register as one number. */
static void mac_planes(mxo_dot *d, const mxo_dot_block *a,
                       const mxo_dot_block *b)
{
    int64_t sum = 0;
    int from = a->at[0];

    for (int p = 0; p < a->planes; p++) {
        if (a->at[p] - from > 2 * DIGIT) {
            mxo_dot_add_int(d, sum, from + b->exp);
            sum = 0;
            from = a->at[p];
        }
        sum += sum_of_16(a->digit[p], b->digit[0]) *
               (INT64_C(1) << (a->at[p] - from));
    }
    mxo_dot_add_int(d, sum, from + b->exp);
}

void mxo_dot_mac(mxo_dot *d, const mxo_dot_block *a, const mxo_dot_block *b)
{
    if (a->planes != 0 && is_narrow(b)) {
        mac_planes(d, a, b);
    } else if (b->planes != 0 && is_narrow(a)) {
        mac_planes(d, b, a);
    } else {
        mxo_dot_mac_whole(d, a, b);
    }
}
