/* SPDX-License-Identifier: Apache-2.0 */
/* Schoolbook arithmetic on 32-bit limbs.  See limbs.h. */
#include "limbs.h"

#include <string.h>

int mxo_limbs_cmp(const uint32_t *a, const uint32_t *b, int n)
{
    while (n > 0 && a[n - 1] == b[n - 1]) {
        n--;
    }
    return n == 0 ? 0 : a[n - 1] < b[n - 1] ? -1 : 1;
}

uint32_t mxo_limbs_add(uint32_t *x, const uint32_t *y, int n)
{
    uint64_t carry = 0;

    for (int i = 0; i < n; i++) {
        carry += (uint64_t)x[i] + y[i];
        x[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return (uint32_t)carry;
}

uint32_t mxo_limbs_sub(uint32_t *x, const uint32_t *y, int n)
{
    uint64_t borrow = 0;

    for (int i = 0; i < n; i++) {
        const uint64_t difference = (uint64_t)x[i] - y[i] - borrow;
        x[i] = (uint32_t)difference;
        borrow = difference >> 63;
    }
    return (uint32_t)borrow;
}

uint32_t mxo_limbs_mul_small(uint32_t *x, int n, uint32_t m)
{
    uint64_t carry = 0;

    for (int i = 0; i < n; i++) {
        carry += (uint64_t)x[i] * m;
        x[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return (uint32_t)carry;
}

void mxo_limbs_div_small(uint32_t *x, int n, uint32_t d)
{
    uint64_t rest = 0;

    while (n > 0 && x[n - 1] == 0) { /* terms of a series shrink */
        n--;
    }
    for (int i = n - 1; i >= 0; i--) {
        rest = rest << 32 | x[i];
        x[i] = (uint32_t)(rest / d);
        rest %= d;
    }
}

void mxo_limbs_mul(uint32_t *dst, const uint32_t *a, int na, const uint32_t *b,
                   int nb)
{
    memset(dst, 0, (size_t)(na + nb) * sizeof dst[0]);
    for (int i = 0; i < na; i++) {
        const int used = a[i] == 0 ? 0 : nb; /* as of terms that shrink */
        uint64_t carry = 0;
        for (int j = 0; j < used; j++) {
            carry += (uint64_t)a[i] * b[j] + dst[i + j];
            dst[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        dst[i + nb] = (uint32_t)carry;
    }
}

void mxo_limbs_shift_right(uint32_t *x, int n, int bits)
{
    const int whole = bits / 32;
    const int part = bits % 32;

    for (int i = 0; i < n; i++) {
        const uint64_t low = i + whole < n ? x[i + whole] : 0;
        const uint64_t high = i + whole + 1 < n ? x[i + whole + 1] : 0;
        x[i] = (uint32_t)((high << 32 | low) >> part);
    }
}

void mxo_limbs_set(uint32_t *x, int n, mxo_u128 value, int shift)
{
    const uint32_t word[4] = {(uint32_t)value.lo, (uint32_t)(value.lo >> 32),
                              (uint32_t)value.hi, (uint32_t)(value.hi >> 32)};

    memset(x, 0, (size_t)n * sizeof x[0]);
    for (int i = 0; i < 4; i++) {
        const int at = 32 * i + shift;
        const int limb = at >= 0 ? at / 32 : -((31 - at) / 32);
        const uint64_t bits = (uint64_t)word[i] << (at - 32 * limb);

        if (limb >= 0 && limb < n) {
            x[limb] |= (uint32_t)bits;
        }
        if (limb >= -1 && limb + 1 < n) {
            x[limb + 1] |= (uint32_t)(bits >> 32);
        }
    }
}

int mxo_limbs_is_multiple(mxo_u128 value, int shift)
{
    if (shift <= 0) {
        return 1;
    }
    const mxo_u128 top = mxo_shift128(value, -shift);
    const mxo_u128 back = mxo_shift128(top, shift);

    return back.hi == value.hi && back.lo == value.lo;
}
