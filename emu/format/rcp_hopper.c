/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reciprocal instruction of Hopper as an integer polynomial.
 *
 * All 2^23 results measured on an H200 are
 *
 *     y = floor((8192 c0 + 2023 - c1 t + c2 s(t)) / 2^15)      in units 2^-24
 *
 * where the mantissa's top 7 bits choose a row and t is its low 16 bits.
 * s(t) is t * t / 2^17 in a squarer that leaves out every partial product
 * t_i t_j below 2^17 (weight 2^(i+j+1) for i < j, 2^(2i) for i = j).
 *
 * Found by fitting each of the 128 intervals: c1 and c2 came out as integers
 * of 16 and 10 bits, the residue showed which partial products are missing,
 * and what was left determines 8192 c0 + 2023 uniquely in every row.
 */
#include <mxoracle/format.h>

typedef struct segment {
    uint32_t c0;
    uint16_t c1;
    uint16_t c2;
} segment;

static const segment segments[128] = {
#define MXO_RCP(c0, c1, c2) {c0, c1, c2},
#include <mxoracle/rcp_hopper.def>
#undef MXO_RCP
};

/* t * t / 2^17 without the partial products below 2^17. */
static uint32_t square(uint32_t t)
{
    uint32_t sum = 0;

    for (int i = 0; i < 16; i++) {
        if ((t >> i & 1) != 0) {
            const uint64_t above = (uint64_t)(t >> (i + 1)) << (2 * i + 2);
            const uint64_t own = (uint64_t)1 << (2 * i);
            sum += (uint32_t)((above | own) >> 17);
        }
    }
    return sum;
}

/* 2^47 / significand, where the significand 2^23..2^24-1 lacks its top bit. */
static uint32_t reciprocal(uint32_t mantissa)
{
    const segment *p = &segments[mantissa >> 16];
    const uint32_t t = mantissa & 0xffff;
    const int64_t sum = (int64_t)p->c0 * 8192 + 2023 - (int64_t)p->c1 * t +
                        (int64_t)p->c2 * square(t);

    return (uint32_t)(sum >> 15);
}

/* 1/x of a FINITE x of at most 24 bits, as the instruction has it. */
static mxo_real approximate(mxo_real x)
{
    const int lg = mxo_real_lg(x);
    const uint32_t significand = (uint32_t)x.mant << (23 - (lg - x.exp));

    x.mant = reciprocal(significand & 0x7fffff);
    x.exp = -24 - lg;
    return x;
}

static uint32_t rcp(uint32_t a)
{
    mxo_real x = mxo_format_decode(MXO_FMT_F32, a);

    switch (x.cls) {
    case MXO_CLASS_NAN:
        return 0x7fffffff;
    case MXO_CLASS_INF:
        return a & 0x80000000;
    case MXO_CLASS_ZERO:
        return a | 0x7f800000;
    default:
        return (uint32_t)mxo_format_round(MXO_FMT_F32, approximate(x));
    }
}

uint32_t mxo_rcp_hopper_ftz(uint32_t x)
{
    return mxo_f32_ftz(rcp(mxo_f32_ftz(x)));
}

uint32_t mxo_rcp_hopper(uint32_t x)
{
    return rcp(x);
}

uint32_t mxo_rcp_rn(uint32_t x)
{
    return mxo_f32_div(0x3f800000, x);
}
