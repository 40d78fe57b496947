/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documented bounds: expf and ex2.approx 2 units in the last place, 4 u;
 * __expf 2 + floor(1.173 |t|) of them; div.full, __fdividef and a product
 * with rcp.approx 4 u at most.  An argument that was rounded, or multiplied
 * by a log2 e that was, adds its relative error times |t|.
 */
#include "kernel_math.h"

#define ONE 0x3f800000u
#define SIGN 0x80000000u
#define INFINITE 0x7f800000u
#define LARGEST 0x7f7fffffu
#define LEAST_NORMAL 0x00800000u

enum {
    EXP_UNITS = 5, /* 2 units in the last place, and the nearest's half */
    PART = 1024,   /* slopes and sizes of t are counted in 1/1024 */
    FAR = 96       /* e^-t is 0 or infinite beyond, in every kernel */
};

/* Error of the exponential is (5 + slope |t|) u. */
static const struct {
    uint32_t slope;    /* in 1/1024 */
    uint32_t quotient; /* error in u */
    int flushes;
} rows[N_KERNEL] = {
    [KERNEL_DECLARED] = {1024, 1, 0}, [KERNEL_EXPF] = {1024, 1, 0},
    [KERNEL_EX2] = {2284, 4, 1},      [KERNEL_FAST] = {3427, 4, 1},
    [KERNEL_ROUGH] = {3427, 4, 1},
};

static uint32_t size_of(uint32_t x)
{
    return x & ~SIGN;
}

static uint32_t larger(mxo_span x)
{
    const uint32_t a = size_of(x.lo);
    const uint32_t b = size_of(x.hi);

    return a > b ? a : b;
}

/* |x| in 1/1024, rounded up; FAR at most. */
static uint32_t parts_of(uint32_t x)
{
    const mxo_real r = mxo_format_decode(MXO_FMT_F32, size_of(x));
    const int shift = r.exp + 10;

    if (r.cls != MXO_CLASS_FINITE) {
        return r.cls == MXO_CLASS_ZERO ? 0 : FAR * PART;
    }
    if (mxo_real_lg(r) > 7) {
        return FAR * PART;
    }
    const uint64_t n = shift >= 0    ? r.mant << shift
                       : shift < -40 ? 1
                                     : (r.mant >> -shift) + 1;

    return n < FAR * PART ? (uint32_t)n : FAR * PART;
}

static uint32_t slope_units(uint32_t slope, uint32_t parts)
{
    return (uint32_t)(((uint64_t)slope * parts + PART * PART - 1) /
                      (PART * PART));
}

/* Magnitudes, outward: the product's own rounding is one code at most. */
static uint32_t grown(uint32_t x, uint32_t n)
{
    const uint32_t y = mxo_f32_mul(size_of(x), ONE + (n + 1) / 2);

    return (x & SIGN) | (y + (y != 0 && y < INFINITE));
}

static uint32_t shrunk(uint32_t x, uint32_t n)
{
    const uint32_t y = mxo_f32_mul(size_of(x), ONE - n);

    return (x & SIGN) | (y - (y != 0 && y < INFINITE));
}

mxo_span kernel_widen(mxo_span x, uint32_t n)
{
    return (mxo_span){x.lo >> 31 ? grown(x.lo, n) : shrunk(x.lo, n),
                      x.hi >> 31 ? shrunk(x.hi, n) : grown(x.hi, n)};
}

mxo_span kernel_widen_by(mxo_span x, uint32_t size)
{
    const int lo_ends = size_of(x.lo) >= INFINITE;
    const int hi_ends = size_of(x.hi) >= INFINITE;

    return (mxo_span){lo_ends ? x.lo : mxo_f32_sub(x.lo, size),
                      hi_ends ? x.hi : mxo_f32_add(x.hi, size)};
}

uint32_t kernel_least(mxo_span x)
{
    const uint32_t m = larger(x);

    return m <= ONE ? LEAST_NORMAL : mxo_f32_mul(LEAST_NORMAL, m);
}

uint32_t kernel_exp_units(int kernel, uint32_t t)
{
    /* e itself was rounded, and so was t: u and |t| u more. */
    return EXP_UNITS + 2 + slope_units(rows[kernel].slope + PART, parts_of(t));
}

mxo_span kernel_exp(int kernel, mxo_span e, mxo_span t)
{
    const uint32_t parts = parts_of(larger(t));

    if (kernel == KERNEL_DECLARED) {
        return e;
    }
    const uint32_t n = kernel_exp_units(kernel, larger(t));

    e.lo = e.lo == INFINITE && parts < FAR * PART ? LARGEST : e.lo;
    return kernel_widen(e, n);
}

mxo_span kernel_quotient(int kernel, mxo_span q, mxo_span numerator)
{
    if (rows[kernel].quotient > 1) {
        q = kernel_widen(q, rows[kernel].quotient + 1);
    }
    return rows[kernel].flushes ? kernel_widen_by(q, kernel_least(numerator))
                                : q;
}

/* A library's tanh is 2 units in the last place off.  (1 - e) / (1 + e) and
   2 sigmoid - 1 cancel near zero: e is 8 u off there, of 1. */
mxo_span kernel_tanh(int kernel, mxo_span y, int cancels)
{
    const uint32_t lost = 0x35000000u;  /* 2^-21 */
    const uint32_t rough = 0x3a099999u; /* 2^-10.9 */

    y = kernel_widen(y, 16);
    y = cancels ? kernel_widen_by(y, lost) : y;
    return kernel == KERNEL_ROUGH ? kernel_widen_by(y, rough) : y;
}

mxo_span kernel_flush(int kernel, mxo_span x)
{
    return rows[kernel].flushes ? kernel_widen_by(x, LEAST_NORMAL) : x;
}

uint32_t kernel_silu_units(int kernel, mxo_span t, uint32_t recipe)
{
    /* The exponential's error counts by sigmoid(-t): above zero that is half,
       and t sigmoid(-t) < 0.28.  The sum, a product, the nearest number that
       stands for the real one, and a spare are four. */
    const uint32_t parts = t.lo >> 31 ? parts_of(t.lo) : PART / 2;

    return EXP_UNITS + recipe + slope_units(rows[kernel].slope, parts) +
           rows[kernel].quotient + 4;
}
