/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dequant.mx of E2M1: 16 bytes of output per thread and step.
 *
 * An output of 16 bits depends on a sign and one of eight magnitudes of its
 * block, so a thread builds the eight magnitudes of its scale byte as a table
 * in four registers (low and high bytes apart) and looks eight codes up with
 * four byte permutations.  Where all eight are normal numbers the table is
 * arithmetic on the exponent; the other scale bytes, and all that the rules
 * disagree about, are built entry by entry.  Binary32 needs no more than
 * sixteen bits either: every product has at most one mantissa bit.
 */
#ifndef GPU_DEQUANT_H
#define GPU_DEQUANT_H

#include "port/device.h"

typedef struct dequant_args {
    const void *q;        /* packed codes */
    const uint8_t *scale; /* one byte per 32 elements */
    void *y;
    uint64_t n;     /* vectors of 16 bytes in y */
    uint32_t flags; /* DEQUANT_... */
} dequant_args;

/* How a rule departs from OCP's: byte 0 is 2^-127, byte 255 NaN. */
enum {
    DEQUANT_ZERO = 1,   /* byte 0 is zero */
    DEQUANT_INF = 2,    /* byte 255 is infinity */
    DEQUANT_CLAMP = 4,  /* overflow gives the largest finite number */
    DEQUANT_NARROW = 8, /* a binary16 result: the scale is rounded first */
    DEQUANT_CAP = 16,   /* and then not above 2^15 */
    DEQUANT_WRAP = 32,  /* bfloat16 bits plus s - 127 in the exponent, modulo
                           2^16; codes 0 and 8 give +0 */
    DEQUANT_POWER = 64, /* byte 255 is 2^128 */
    DEQUANT_POSITIVE = 128, /* zeros have no sign */
    DEQUANT_ROUNDED = 256   /* a layer's weights are rounded, unlike OCP's */
};

enum { DEQUANT_STEPS = 4 };

/* Eight 16-bit magnitudes: low bytes of 0..3, of 4..7, then high bytes. */
typedef struct dequant_table {
    uint32_t lo[2];
    uint32_t hi[2];
    uint32_t fill; /* low halves of binary32 entries equal to 7f7f */
    uint32_t mute; /* codes below this have no sign (NaN, some zeros) */
} dequant_table;

/* 2 * value of the magnitude codes: 0 1 2 3 4 6 8 12. */
GPU_FN uint32_t dequant_halves(uint32_t code)
{
    return code < 4 ? code : (2 + (code & 1)) << ((code >> 1) - 1);
}

/* floor(log2(p)), 0 < p < 16. */
GPU_FN uint32_t dequant_lg(uint32_t p)
{
    return (p >= 2 ? 1u : 0u) + (p >= 4 ? 1u : 0u) + (p >= 8 ? 1u : 0u);
}

/* p * 2^(s - 128) rounded to binary16, nearest even; p is below 16. */
GPU_FN uint32_t dequant_f16_product(uint32_t p, int s)
{
    const int shift = s - 128 + 24; /* in units of the subnormal 2^-24 */

    if (p == 0 || shift < -5) {
        return 0;
    }
    if (shift < 0) {
        const uint32_t odd = p >> -shift & 1;
        return (p + (1u << (-shift - 1)) - 1 + odd) >> -shift;
    }
    /* p = 2^k or 3 * 2^(k-1): exponent field and top mantissa bit. */
    const uint32_t k = dequant_lg(p);
    if (k + (uint32_t)shift < 10) {
        return p << shift;
    }
    const uint32_t bits =
        (k + (uint32_t)shift - 9) << 10 | ((p & (p - 1)) != 0 ? 0x200u : 0u);
    return bits >= 0x7c00 ? 0x7c00 : bits;
}

/* p * 2^(s - 128) as bfloat16: exact unless it overflows. */
GPU_FN uint32_t dequant_bf16_product(uint32_t p, int s)
{
    const uint32_t k = dequant_lg(p);
    const int field = s - 1 + (int)k;

    if (p == 0) {
        return 0;
    }
    if (field <= 0) {
        return p << (s + 5); /* units of 2^-133 */
    }
    if (field >= 255) {
        return 0x7f80;
    }
    return (uint32_t)field << 7 | ((p & (p - 1)) != 0 ? 0x40u : 0u);
}

/* The largest finite magnitude in 16 bits; binary32 fills in the rest. */
GPU_FN uint32_t dequant_max(int f16)
{
    return f16 ? 0x7bff : 0x7f7f;
}

/* Magnitude of code times the scale byte s, under the rule. */
GPU_FN uint32_t dequant_entry(uint32_t flags, int f16, uint32_t s,
                              uint32_t code)
{
    const uint32_t inf = f16 ? 0x7c00 : 0x7f80;
    const uint32_t nan = f16 ? 0x7e00 : 0x7fc0;
    const uint32_t p = dequant_halves(code);
    uint32_t y;

    if ((flags & DEQUANT_WRAP) != 0) {
        const uint32_t bits = dequant_bf16_product(p, 127) + ((s + 385) << 7);
        return p == 0 ? 0 : bits & 0xffff;
    }
    if ((flags & DEQUANT_CAP) != 0 && f16 && s > 142) {
        s = 142;
    }
    const int narrow = f16 && (flags & DEQUANT_NARROW) != 0;
    const int top = s == 255 && (flags & DEQUANT_POWER) == 0;
    if (top && (flags & DEQUANT_INF) == 0) {
        return nan;
    }
    if (top || (narrow && s > 142)) {
        y = p == 0 ? nan : inf;
    } else if ((s == 0 && (flags & DEQUANT_ZERO) != 0) || (narrow && s < 103)) {
        y = 0;
    } else {
        y = f16 ? dequant_f16_product(p, (int)s)
                : dequant_bf16_product(p, (int)s);
    }
    return y == inf && (flags & DEQUANT_CLAMP) != 0 ? dequant_max(f16) : y;
}

/* Any scale byte, entry by entry. */
GPU_FN dequant_table dequant_rare(uint32_t flags, int f16, uint32_t s)
{
    const uint32_t inf = f16 ? 0x7c00 : 0x7f80;
    const int positive = (flags & DEQUANT_POSITIVE) != 0;
    dequant_table t = {{0, 0}, {0, 0}, 0, 0};

    for (uint32_t code = 0; code < 8; code++) {
        const uint32_t y = dequant_entry(flags, f16, s, code);
        const uint32_t at = 8 * (code & 3);
        const int wraps = (flags & DEQUANT_WRAP) != 0;
        /* NaN and zeros come first: 0 times infinity, then small codes. */
        if (wraps ? code == 0 : y > inf || (positive && y == 0)) {
            t.mute = code + 1;
        }
        t.lo[code >> 2] |= (y & 255) << at;
        t.hi[code >> 2] |= (y >> 8) << at;
    }
    t.fill = (flags & DEQUANT_CLAMP) != 0 ? 0xffff : 0;
    return t;
}

/*
 * bfloat16, 2 <= s <= 252.  With e = s - 1 the magnitudes from code 1 on have
 * the exponent fields e, e+1, e+1, e+2, e+2, e+3, e+3; the field's last bit
 * and the one mantissa bit (codes 3, 5, 7) are the top of the low byte.
 */
GPU_FN dequant_table dequant_bf16(uint32_t s)
{
    const uint32_t e = s - 1;
    const uint32_t odd = e & 1;
    dequant_table t;

    t.lo[0] = odd ? 0x40008000u : 0xc0800000u;
    t.lo[1] = odd ? 0x4000c080u : 0xc0804000u;
    t.hi[0] = (e >> 1) << 8 | ((e + 1) >> 1) * 0x01010000u;
    t.hi[1] = ((e + 2) >> 1) * 0x0101u | ((e + 3) >> 1) * 0x01010000u;
    t.fill = 0;
    t.mute = 0;
    return t;
}

/*
 * binary16, 114 <= s <= 140: here the field and the mantissa bit both lie in
 * the high byte, which is 4 * field + 2 * bit, and the low byte is 0.
 */
GPU_FN dequant_table dequant_f16(uint32_t s)
{
    const uint32_t e = (s - 113) * 4;
    dequant_table t;

    t.lo[0] = 0;
    t.lo[1] = 0;
    t.hi[0] = e << 8 | (e + 4) * 0x01010000u | 0x02000000u;
    t.hi[1] = (e + 8) * 0x0101u | (e + 12) * 0x01010000u | 0x02000200u;
    t.fill = 0;
    t.mute = 0;
    return t;
}

/* Bit 3 of a code stays where its magnitude is at least mute, 0 to 8. */
GPU_FN uint32_t dequant_mute(uint32_t codes, uint32_t mute)
{
    const uint32_t keep = (codes & 0x77777777u) + (8 - mute) * 0x11111111u;

    return codes & (keep | 0x77777777u);
}

/* Two 16-bit numbers: magnitudes in m, signs from bits 3 and 7 of codes. */
GPU_FN uint32_t dequant_sign(uint32_t m, uint32_t codes)
{
    return m ^ (codes << 12 & 0x8000u) ^ (codes << 24 & 0x80000000u);
}

GPU_FN gpu_u128 dequant_half(const dequant_table *t, uint32_t codes)
{
    uint32_t low[2], high[2];
    gpu_u128 y;

    gpu_lut8(t->lo[0], t->lo[1], codes, &low[0], &low[1]);
    gpu_lut8(t->hi[0], t->hi[1], codes, &high[0], &high[1]);
    y.w[0] = dequant_sign(gpu_bytes(low[0], high[0], 0x5140), codes);
    y.w[1] = dequant_sign(gpu_bytes(low[0], high[0], 0x7362), codes >> 8);
    y.w[2] = dequant_sign(gpu_bytes(low[1], high[1], 0x5140), codes >> 16);
    y.w[3] = dequant_sign(gpu_bytes(low[1], high[1], 0x7362), codes >> 24);
    return y;
}

GPU_FN uint32_t dequant_widen(uint32_t half, uint32_t fill)
{
    return half << 16 | ((half & 0x7fff) == 0x7f7f ? fill : 0);
}

GPU_FN gpu_u128 dequant_word(const dequant_table *t, uint32_t codes)
{
    const gpu_u128 halves = dequant_half(t, codes);
    gpu_u128 y;

    y.w[0] = dequant_widen(halves.w[0] & 0xffff, t->fill);
    y.w[1] = dequant_widen(halves.w[0] >> 16, t->fill);
    y.w[2] = dequant_widen(halves.w[1] & 0xffff, t->fill);
    y.w[3] = dequant_widen(halves.w[1] >> 16, t->fill);
    return y;
}

enum { DEQUANT_BF16, DEQUANT_F16, DEQUANT_F32 };

/* Vector i of the output; to is a constant wherever this is inlined. */
GPU_FN void dequant_vector(const dequant_args *a, int to, uint64_t i,
                           uint32_t codes, uint32_t s)
{
    const uint32_t low = to == DEQUANT_F16 ? 114 : 2;
    const uint32_t high = to == DEQUANT_F16 ? 140 : 252;
    dequant_table t;

    if (s < low || s > high) {
        t = dequant_rare(a->flags, to == DEQUANT_F16, s);
    } else {
        t = to == DEQUANT_F16 ? dequant_f16(s) : dequant_bf16(s);
    }
    if (s >= low && s <= high &&
        (a->flags & (DEQUANT_WRAP | DEQUANT_POSITIVE)) != 0) {
        t.mute = 1;
    }
    if (t.mute != 0) {
        codes = dequant_mute(codes, t.mute);
    }
    if (to == DEQUANT_F32) {
        gpu_store_u32x4(a->y, i, dequant_word(&t, codes));
    } else {
        gpu_store_u16x8(a->y, i, dequant_half(&t, codes));
    }
}

/* All loads are issued before the first is used. */
GPU_FN void dequant_body(const dequant_args *a, int to)
{
    const int share = to == DEQUANT_F32 ? 3 : 2; /* lg vectors per block */
    const uint64_t first =
        (uint64_t)gpu_block() * DEQUANT_STEPS * GPU_BLOCK + gpu_thread();
    uint32_t codes[DEQUANT_STEPS];
    uint32_t s[DEQUANT_STEPS];

    GPU_UNROLL
    for (int k = 0; k < DEQUANT_STEPS; k++) {
        const uint64_t i = first + (uint64_t)k * GPU_BLOCK;
        if (i < a->n) {
            codes[k] = to == DEQUANT_F32 ? gpu_load_u8x2(a->q, i)
                                         : gpu_load_u8x4(a->q, i);
            s[k] = a->scale[i >> share];
        }
    }
    GPU_UNROLL
    for (int k = 0; k < DEQUANT_STEPS; k++) {
        const uint64_t i = first + (uint64_t)k * GPU_BLOCK;
        if (i < a->n) {
            dequant_vector(a, to, i, codes[k], s[k]);
        }
    }
}

#endif
