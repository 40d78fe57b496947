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

/* clang-format off */
static const segment segments[128] = {
    {0x4000000, 0xfffe, 1013}, {0x3f80fe2, 0xfc0a,  989},
    {0x3f03f06, 0xf82d,  966}, {0x3e88cb5, 0xf467,  945},
    {0x3e0f83e, 0xf0b6,  923}, {0x3d980f8, 0xed1b,  902},
    {0x3d22638, 0xe995,  883}, {0x3cae75a, 0xe622,  863},
    {0x3c3c3c4, 0xe2c3,  845}, {0x3bcbade, 0xdf77,  827},
    {0x3b5cc11, 0xdc3d,  809}, {0x3aef6cb, 0xd914,  791},
    {0x3a83a85, 0xd5fd,  774}, {0x3a196b4, 0xd2f7,  758},
    {0x39b0ad3, 0xd001,  742}, {0x3949662, 0xcd1b,  727},
    {0x38e38e5, 0xca44,  711}, {0x387f1e2, 0xc77c,  696},
    {0x381c0e2, 0xc4c3,  682}, {0x37ba572, 0xc218,  669},
    {0x3759f23, 0xbf7b,  656}, {0x36fad89, 0xbceb,  642},
    {0x369d037, 0xba69,  631}, {0x36406ca, 0xb7f3,  618},
    {0x35e50d9, 0xb589,  605}, {0x358ae06, 0xb32c,  594},
    {0x3531dee, 0xb0da,  582}, {0x34da036, 0xae94,  572},
    {0x3483486, 0xac59,  561}, {0x342da81, 0xaa28,  549},
    {0x33d91d5, 0xa803,  540}, {0x3385a2b, 0xa5e7,  529},
    {0x3333335, 0xa3d6,  519}, {0x32e1ca1, 0xa1cf,  510},
    {0x3291620, 0x9fd1,  501}, {0x3241f6b, 0x9ddc,  490},
    {0x31f3833, 0x9bf1,  482}, {0x31a6034, 0x9a0f,  474},
    {0x3159724, 0x9835,  465}, {0x310dcc1, 0x9664,  457},
    {0x30c30c5, 0x949b,  449}, {0x30792f1, 0x92da,  441},
    {0x3030305, 0x9121,  433}, {0x2fe80c2, 0x8f70,  426},
    {0x2fa0bea, 0x8dc6,  418}, {0x2f5a443, 0x8c24,  412},
    {0x2f14992, 0x8a88,  403}, {0x2ecfb9e, 0x88f4,  397},
    {0x2e8ba31, 0x8767,  390}, {0x2e48511, 0x85e0,  383},
    {0x2e05c0c, 0x8460,  377}, {0x2dc3ef0, 0x82e7,  371},
    {0x2d82d85, 0x8174,  366}, {0x2d4279c, 0x8006,  358},
    {0x2d02d04, 0x7e9f,  353}, {0x2cc3d8e, 0x7d3e,  348},
    {0x2c8590d, 0x7be2,  341}, {0x2c47f52, 0x7a8d,  337},
    {0x2c0b02e, 0x793c,  331}, {0x2bceb78, 0x77f1,  326},
    {0x2b93107, 0x76ab,  320}, {0x2b580b0, 0x756b,  316},
    {0x2b1da49, 0x742f,  310}, {0x2ae3da9, 0x72f8,  305},
    {0x2aaaaac, 0x71c7,  302}, {0x2a7212c, 0x709a,  297},
    {0x2a3a100, 0x6f71,  291}, {0x2a02a04, 0x6e4d,  287},
    {0x29cbc17, 0x6d2e,  283}, {0x2995712, 0x6c13,  279},
    {0x295fad6, 0x6afc,  274}, {0x292a73f, 0x69ea,  271},
    {0x28f5c2b, 0x68db,  266}, {0x28c197b, 0x67d1,  263},
    {0x288df0e, 0x66ca,  258}, {0x285acc6, 0x65c8,  256},
    {0x2828285, 0x64c9,  251}, {0x27f602a, 0x63ce,  248},
    {0x27c459a, 0x62d6,  243}, {0x27932b6, 0x61e2,  240},
    {0x2762764, 0x60f2,  237}, {0x2732388, 0x6005,  233},
    {0x2702705, 0x5f1c,  231}, {0x26d31c1, 0x5e35,  226},
    {0x26a43a1, 0x5d52,  223}, {0x2675c8d, 0x5c73,  222},
    {0x2647c6b, 0x5b96,  218}, {0x261a322, 0x5abc,  214},
    {0x25ed09a, 0x59e6,  212}, {0x25c04bb, 0x5912,  208},
    {0x2593f6b, 0x5841,  205}, {0x2568098, 0x5774,  204},
    {0x253c827, 0x56a8,  199}, {0x2511604, 0x55e0,  197},
    {0x24e6a19, 0x551b,  196}, {0x24bc450, 0x5458,  193},
    {0x2492494, 0x5397,  189}, {0x2468ad1, 0x52d9,  186},
    {0x243f6f3, 0x521e,  184}, {0x24168e3, 0x5165,  182},
    {0x23ee092, 0x50af,  180}, {0x23c5de9, 0x4ffb,  178},
    {0x239e0d7, 0x4f49,  175}, {0x237694a, 0x4e9a,  173},
    {0x234f72e, 0x4ded,  171}, {0x2328a71, 0x4d42,  169},
    {0x2302304, 0x4c99,  166}, {0x22dc0d3, 0x4bf3,  165},
    {0x22b63ce, 0x4b4e,  161}, {0x2290be4, 0x4aac,  160},
    {0x226b904, 0x4a0c,  159}, {0x2246b1f, 0x496d,  155},
    {0x2222224, 0x48d1,  154}, {0x21fde04, 0x4837,  153},
    {0x21d9eaf, 0x479e,  150}, {0x21b6418, 0x4708,  149},
    {0x2192e2c, 0x4673,  147}, {0x216fcdf, 0x45e0,  145},
    {0x214d024, 0x454f,  143}, {0x212a7e8, 0x44c0,  143},
    {0x2108423, 0x4432,  140}, {0x20e64c4, 0x43a6,  138},
    {0x20c49bd, 0x431c,  137}, {0x20a3301, 0x4293,  135},
    {0x2082084, 0x420c,  133}, {0x2061239, 0x4187,  132},
    {0x2040811, 0x4103,  131}, {0x2020203, 0x4081,  130},
};
/* clang-format on */

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
