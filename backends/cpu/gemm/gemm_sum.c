/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates, slices and the register for what they do not cover. */
#include "gemm.h"

#include "number.h"

#include <math.h>
#include <string.h>

enum { LANES = 42, BASE = -640, MANTISSA = 52 };

#define LOW UINT64_C(0xffffffff)

/* Exponent of the lowest set bit of a finite number other than zero. */
static int lowest_bit(double x)
{
    const uint64_t u = cpu_bits64(x);
    const uint64_t field = u >> MANTISSA & 0x7ff;
    uint64_t mant = (u & ((UINT64_C(1) << MANTISSA) - 1)) |
                    (field == 0 ? 0 : UINT64_C(1) << MANTISSA);
    int e = (int)(field == 0 ? 1 : field) - 1075;

#if defined(__GNUC__)
    e += __builtin_ctzll(mant);
#else
    for (; (mant & 1) == 0; mant >>= 1) {
        e++;
    }
#endif
    return e;
}

double cpu_norm(const double *x, size_t k)
{
    double part[4] = {0, 0, 0, 0};
    size_t i = 0;

    for (; i + 4 <= k; i += 4) {
        for (size_t n = 0; n < 4; n++) {
            part[n] += x[i + n] * x[i + n];
        }
    }
    for (; i < k; i++) {
        part[0] += x[i] * x[i];
    }
    /* k roundings of 2^-53 each, one of the root: far below 2^-30. */
    return sqrt(part[0] + part[1] + part[2] + part[3]) * (1 + 0x1p-30);
}

cpu_gemm_line cpu_gemm_line_of(double norm, int unit)
{
    return (cpu_gemm_line){norm, unit, ldexp(norm, -unit)};
}

cpu_gemm_line cpu_gemm_row(const double *x, size_t k)
{
    int unit = 1023;

    for (size_t i = 0; i < k; i++) {
        if (x[i] != 0 && isfinite(x[i])) {
            const int e = lowest_bit(x[i]);
            unit = e < unit ? e : unit;
        }
    }
    return cpu_gemm_line_of(cpu_norm(x, k), unit == 1023 ? 0 : unit);
}

double cpu_odd_sum(double hi, double lo)
{
    double s = hi + lo;
    const double back = s - hi;
    const double error = (hi - (s - back)) + (lo - back);

    if (error != 0 && isfinite(s) && (cpu_bits64(s) & 1) == 0) {
        /* Toward the error if it points outward, else one step inward: either
           neighbour of an even pattern is odd. */
        const int outward = (error > 0) == (s > 0);
        s = cpu_double(cpu_bits64(s) + (outward ? 1 : UINT64_MAX));
    }
    return s;
}

/* x + y = hi + lo, hi the nearest double. */
static double add_two(double x, double y, double *lo)
{
    const double s = x + y;
    const double back = s - x;

    *lo = (x - (s - back)) + (y - back);
    return s;
}

int cpu_odd_sum3(const double *part, size_t stride, double *sum)
{
    double low;
    double rest;
    const double z = add_two(part[stride], part[2 * stride], &low);
    const double s = add_two(part[0], z, &rest);
    /* Odd is odd again where the grid of s is coarser than that of r. */
    const double r = cpu_odd_sum(rest, low);

    *sum = cpu_odd_sum(s, r);
    return (s == 0 && (rest == 0 || low == 0)) || fabs(r) <= fabs(s) * 0x1p-10;
}

/*
 * Passes of exact additions move the sum to the end, until no term reaches
 * into the last bit of the next one.  The rest then is on one side of the
 * largest, within half its last bit: what cpu_odd_sum needs to know.
 */
double cpu_odd_total(double *term, size_t n)
{
    int moves = n > 1;

    while (moves) {
        moves = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            double low;
            const double high = add_two(term[i + 1], term[i], &low);
            moves |= high != term[i + 1];
            term[i + 1] = high;
            term[i] = low;
        }
    }
    return n == 0   ? 0
           : n == 1 ? term[0]
                    : cpu_odd_sum(term[n - 1], term[n - 2]);
}

/* Add a finite double to the register. */
static void add(int64_t *lane, double x)
{
    const uint64_t u = cpu_bits64(x);
    const uint64_t field = u >> MANTISSA & 0x7ff;
    const uint64_t mant = (u & ((UINT64_C(1) << MANTISSA) - 1)) |
                          (field == 0 ? 0 : UINT64_C(1) << MANTISSA);
    const unsigned at = (unsigned)((int)field - 1075 - BASE);
    const unsigned shift = at % 32;
    int64_t *l = &lane[at / 32];
    const uint64_t low = mant << shift;
    const int64_t part[3] = {(int64_t)(low & LOW), (int64_t)(low >> 32),
                             shift == 0 ? 0 : (int64_t)(mant >> (64 - shift))};
    const int64_t sign = u >> 63 != 0 ? -1 : 1;

    for (int i = 0; i < 3; i++) {
        l[i] += sign * part[i];
    }
}

/* Lanes to 0 .. 2^32 - 1, the last keeps the sign. */
static void carry(int64_t *lane)
{
    for (int i = 0; i + 1 < LANES; i++) {
        const int64_t low = (int64_t)((uint64_t)lane[i] & LOW);
        lane[i + 1] += (lane[i] - low) / (INT64_C(1) << 32);
        lane[i] = low;
    }
}

/* The register rounded to odd; with more than 53 bits, to nearest even. */
static double read(int64_t *lane, int bits)
{
    int top = LANES - 1;
    int sticky = 0;

    carry(lane);
    const int negative = lane[LANES - 1] < 0;
    for (int i = 0; negative && i < LANES; i++) {
        lane[i] = -lane[i];
    }
    carry(lane);
    while (top > 0 && lane[top] == 0) {
        top--;
    }
    uint64_t mant = (uint64_t)lane[top];
    int e = 32 * top + BASE;
    for (int i = top - 1; i >= 0; i--) {
        const uint64_t next = (uint64_t)lane[i];
        for (int bit = 31; bit >= 0; bit--) {
            if (mant >> bits == 0) {
                mant = mant << 1 | (next >> bit & 1);
                e--;
            } else {
                sticky |= (int)(next >> bit & 1);
            }
        }
    }
    while (mant >> bits != 0) {
        sticky |= (int)(mant & 1);
        mant >>= 1;
        e++;
    }
    const double x = ldexp((double)(mant | (uint64_t)sticky), e);
    return negative ? -x : x;
}

static double dot(const double *x, const double *w, size_t k, double extra,
                  int is_abs, int bits)
{
    int64_t lane[LANES] = {0};
    double special = 0;
    int is_special = !isfinite(extra);

    if (is_special) {
        special += extra;
    } else if (extra != 0) {
        add(lane, extra);
    }
    for (size_t i = 0; i < k; i++) {
        const double product = x[i] * w[i]; /* exact: at most 48 bits */
        const double p = is_abs ? fabs(product) : product;
        if (!isfinite(p)) {
            special += p;
            is_special = 1;
        } else if (p != 0) {
            add(lane, p);
        }
        if (i % (1u << 24) == (1u << 24) - 1) {
            carry(lane);
        }
    }
    return is_special ? special : read(lane, bits);
}

double cpu_exact_dot(const double *x, const double *w, size_t k, double extra)
{
    return dot(x, w, k, extra, 0, 53);
}

double cpu_nearest_dot(const double *x, const double *w, size_t k, double extra,
                       int is_abs)
{
    return dot(x, w, k, extra, is_abs, 62);
}

void cpu_split_row(const double *x, size_t k, int unit, double *high,
                   double *low)
{
    const double up = ldexp(1, -unit);
    const double down = ldexp(1, unit);

    for (size_t i = 0; i < k; i++) {
        high[i] = trunc(x[i] * up) * down;
        low[i] = x[i] - high[i];
    }
}
