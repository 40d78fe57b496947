/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantising ordinary blocks, written once over vec_*.h and compiled by every
 * lane.  Elements stay unscaled: instead of multiplying them by 2^(127-byte),
 * the format's smallest exponent and largest value are moved to the block's
 * scale.  Adding 2^(e+23-mbits) to a number of exponent e makes the float
 * adder round it to the element's mantissa, nearest even, and leaves the
 * significand as an integer in the low bits.
 */
#ifndef CPU_QUANT_VEC_H
#define CPU_QUANT_VEC_H

#include "number.h"
#include "quant.h"

#include <mxoracle/abi.h>

/* amax from 2^-67 to 2^83: bytes, anchors and limits stay inside the range. */
#define ORDINARY_LOW ((127u - 67u) << 23)
#define ORDINARY_HIGH ((127u + 83u) << 23)

enum { PARTS = 32 / VEC_N };

CPU_INLINE vec_u load_part(uint32_t from, const uint8_t *x)
{
    if (from == MXO_BF16) {
        return vec_u_shl(vec_u_load16(x), 16);
    }
    return from == MXO_F16 ? vec_u_load_f16(x) : vec_u_load(x);
}

CPU_INLINE uint32_t byte_of_amax(const cpu_quant *quant, uint32_t amax)
{
    const float a = cpu_float(amax);
    const float t = quant->divides ? a / quant->by : a * quant->by;

    return ((cpu_bits32(t) + quant->add) >> 23) - quant->sub;
}

/* x in place of its codes, low bits of each lane. */
CPU_INLINE void encode_parts(vec_u x[PARTS], const cpu_element *e,
                             uint32_t largest, uint32_t byte)
{
    const int drop = 23 - e->mbits;
    const uint32_t shift = (byte - 127u) << 23;
    const vec_u top = vec_u_set(largest + shift);
    const uint32_t low = ((uint32_t)(128 - e->bias) << 23) + shift;
    const vec_u floor = vec_u_set(low);
    const vec_u lift = vec_u_set((uint32_t)drop << 23);
    const vec_u base = vec_u_set(((low >> 23) + (uint32_t)drop) << e->mbits);
    const int to_sign = e->sign == 0x80 ? 24 : 28;
    const vec_u sign = vec_u_set(e->sign);
    const vec_u magnitude = vec_u_set(0x7fffffffu);
    const vec_u field = vec_u_set(0x7f800000u);

    for (int i = 0; i < PARTS; i++) {
        const vec_u a = vec_u_min(vec_u_and(x[i], magnitude), top);
        const vec_u anchor =
            vec_u_add(vec_u_max(vec_u_and(a, field), floor), lift);
        const vec_u n = vec_u_sub(vec_u_fadd(a, anchor), anchor);
        const vec_u m = vec_u_add(n, vec_u_sub(vec_u_shr(anchor, drop), base));

        x[i] = vec_u_or(m, vec_u_and(vec_u_shr(x[i], to_sign), sign));
    }
}

/* Blocks that the lane's arithmetic does not cover, a bit each.  They are
   done again after a loop, not in it: a call in the loop would cost every
   constant its register. */
static void redo(const cpu_quant_span *span, uint64_t first, unsigned hard)
{
    for (uint64_t b = first; hard != 0; b++, hard >>= 1) {
        if ((hard & 1) != 0) {
            cpu_quant_hard(span, b);
        }
    }
}

/* One block; 1 if it is hard. */
CPU_INLINE unsigned quant_one(const cpu_quant_span *span, uint64_t b,
                              uint32_t from, const cpu_element *e)
{
    const cpu_quant *quant = span->quant;
    const uint64_t size = from == MXO_F32 ? 4 : 2;
    const int checked = (quant->flags & CPU_Q_UNSATURATED) != 0;
    const uint8_t *src = span->x + 32 * size * b;
    vec_u x[PARTS];
    vec_u high = vec_u_set(0);

    for (int i = 0; i < PARTS; i++) {
        x[i] = load_part(from, src + size * VEC_N * (unsigned)i);
        high = vec_u_max(high, vec_u_and(x[i], vec_u_set(0x7fffffffu)));
    }
    const uint32_t amax = vec_u_largest(high);
    const uint32_t byte = byte_of_amax(quant, amax);
    const int hard =
        (amax - ORDINARY_LOW >= ORDINARY_HIGH - ORDINARY_LOW) |
        (checked & (amax - ((byte - 127u) << 23) > quant->largest_bits));

    span->scale[b] = (uint8_t)byte;
    encode_parts(x, e, quant->largest_bits, byte);
    for (int i = 0; i < PARTS; i++) {
        const uint64_t at = 32 * b + VEC_N * (unsigned)i;

        if (e->bits == 4) {
            vec_u_store4(span->q + at / 2, x[i]);
        } else {
            vec_u_store8(span->q + at, x[i]);
        }
    }
    return (unsigned)hard;
}

CPU_INLINE void quant_run(const cpu_quant_span *span, uint32_t from,
                          const cpu_element *e)
{
    for (uint64_t first = 0; first < span->blocks; first += 32) {
        const uint64_t left = span->blocks - first;
        const unsigned n = left < 32 ? (unsigned)left : 32;
        unsigned hard = 0;

        for (unsigned i = 0; i < n; i++) {
            hard |= quant_one(span, first + i, from, e) << i;
        }
        if (hard != 0) {
            redo(span, first, hard);
        }
    }
}

/* Blocks are fetched that many before their turn: by itself a machine reads no
   further than its page. */
enum { AHEAD = 64, GROUP = 16, H_PARTS = 16 / VEC_N };

/* Constants of a group of blocks, one entry per block. */
typedef struct group {
    uint16_t amax[GROUP];  /* BF16 patterns */
    uint32_t top[GROUP];   /* the largest value at the block's scale */
    uint32_t low[GROUP];   /* the smallest exponent */
    uint32_t base[GROUP];  /* excess of packed codes, in both halves */
    uint32_t top16[GROUP]; /* top and low as BF16, in both halves */
    uint32_t low16[GROUP];
    uint8_t byte[GROUP];
    unsigned hard; /* a bit per block */
} group;

CPU_INLINE vec_h block_max(const uint8_t *x)
{
    vec_h m = vec_h_set(0);

    for (int i = 0; i < H_PARTS; i++) {
        m = vec_h_max(
            m, vec_h_and(vec_h_load(x + 4 * VEC_N * i), vec_h_set(0x7fff)));
    }
    return m;
}

/* Three rounds of zipping sort the maxima of eight blocks into eight lanes;
   the order of the leaves makes lane i block i. */
CPU_INLINE void eight_max(uint16_t *amax, const uint8_t *x)
{
    const vec_h a = vec_h_zip_max(block_max(x), block_max(x + 64 * 4));
    const vec_h b = vec_h_zip_max(block_max(x + 64 * 2), block_max(x + 64 * 6));
    const vec_h c = vec_h_zip_max(block_max(x + 64 * 1), block_max(x + 64 * 5));
    const vec_h d = vec_h_zip_max(block_max(x + 64 * 3), block_max(x + 64 * 7));

    vec_h_fold(amax, vec_h_zip_max(vec_h_zip_max(a, b), vec_h_zip_max(c, d)));
}

CPU_INLINE void group_scales(group *g, const cpu_quant *quant,
                             const cpu_element *e)
{
    const vec_f by = vec_f_set(quant->by);
    const vec_u all = vec_u_set(UINT32_MAX);
    const int drop = 23 - e->mbits;

    g->hard = 0;
    for (int i = 0; i < GROUP; i += VEC_N) {
        const vec_u amax = vec_u_shl(vec_u_load16(g->amax + i), 16);
        const vec_f t = quant->divides ? vec_f_div(vec_f_of(amax), by)
                                       : vec_f_mul(vec_f_of(amax), by);
        const vec_u byte = vec_u_sub(
            vec_u_shr(vec_u_add(vec_f_bits(t), vec_u_set(quant->add)), 23),
            vec_u_set(quant->sub));
        const vec_u shift = vec_u_shl(vec_u_sub(byte, vec_u_set(127)), 23);
        const vec_u top = vec_u_add(shift, vec_u_set(quant->largest_bits));
        const vec_u low =
            vec_u_add(shift, vec_u_set((uint32_t)(128 - e->bias) << 23));
        const vec_u base = vec_u_shl(
            vec_u_add(vec_u_shr(low, 23), vec_u_set((uint32_t)drop)), e->mbits);
        const unsigned fine =
            vec_u_le(vec_u_sub(amax, vec_u_set(ORDINARY_LOW)),
                     vec_u_set(ORDINARY_HIGH - ORDINARY_LOW - 1)) &
            vec_u_le((quant->flags & CPU_Q_UNSATURATED) != 0 ? amax
                                                             : vec_u_set(0),
                     top);

        g->hard |= (fine ^ vec_u_le(all, all)) << i;
        vec_u_store8(g->byte + i, byte);
        vec_u_store(g->top + i, top);
        vec_u_store(g->low + i, low);
        vec_u_store(g->base + i, vec_u_or(base, vec_u_shl(base, 16)));
        vec_u_store(g->top16 + i, vec_u_or(top, vec_u_shr(top, 16)));
        vec_u_store(g->low16 + i, vec_u_or(low, vec_u_shr(low, 16)));
    }
}

/* Significand plus exponent field of |x|, rounded to the element. */
CPU_INLINE vec_u round_part(vec_u a, vec_u top, vec_u low, int drop)
{
    const vec_u x = vec_u_min(a, top);
    const vec_u anchor =
        vec_u_add(vec_u_max(vec_u_and(x, vec_u_set(0x7f800000u)), low),
                  vec_u_set((uint32_t)drop << 23));
    const vec_u n = vec_u_sub(vec_u_fadd(x, anchor), anchor);

    return vec_u_add(n, vec_u_shr(anchor, drop));
}

CPU_INLINE void encode_block(uint8_t *q, const uint8_t *x, const group *g,
                             int i, const cpu_element *e)
{
    const vec_u top = vec_u_set(g->top[i]);
    const vec_u low = vec_u_set(g->low[i]);
    const vec_h base = vec_h_pair(g->base[i]);
    const int to_sign = e->bits == 8 ? 8 : 12;

    for (int p = 0; p < H_PARTS; p++) {
        const vec_h v = vec_h_load(x + 4 * VEC_N * p);
        const vec_h a = vec_h_and(v, vec_h_set(0x7fff));
        const vec_h code = vec_h_sub(
            vec_h_pack(round_part(vec_h_low(a), top, low, 23 - e->mbits),
                       round_part(vec_h_high(a), top, low, 23 - e->mbits)),
            base);
        const vec_h sign = vec_h_and(vec_h_shr(v, to_sign), vec_h_set(e->sign));

        if (e->bits == 8) {
            vec_h_store8(q + 2 * VEC_N * p, vec_h_or(code, sign));
        } else {
            vec_h_store4(q + VEC_N * p, vec_h_or(code, sign));
        }
    }
}

/*
 * A block of FP8 codes in BF16's own bits: rounded to the nearest where bits
 * are dropped, less what the format's smallest exponent stands for.  Returns
 * whether a number other than zero is below that, of which this is not true.
 */
CPU_INLINE unsigned encode_normal(uint8_t *q, const uint8_t *x, const group *g,
                                  int i, const cpu_element *e)
{
    const int drop = 7 - e->mbits;
    const vec_h top = vec_h_pair(g->top16[i]);
    const vec_h low = vec_h_pair(g->low16[i]);
    const vec_h one = vec_h_set(1);
    const vec_h base =
        vec_h_sub(low, vec_h_set((uint16_t)(127 + (1 << (drop - 1)))));
    vec_h v[H_PARTS];
    vec_h code[H_PARTS];
    vec_h least = vec_h_set(0xffff); /* of the sizes less one: not of a zero */

    for (int p = 0; p < H_PARTS; p++) {
        v[p] = vec_h_load(x + 4 * VEC_N * p);
        const vec_h a = vec_h_min(vec_h_and(v[p], vec_h_set(0x7fff)), top);
        const vec_h odd = vec_h_and(vec_h_shr(a, drop), one);

        code[p] = vec_h_shr(vec_h_subs(vec_h_add(a, odd), base), drop);
        least = vec_h_min(least, vec_h_sub(a, one));
    }
    vec_h_store_signed(q, code, v);
    return (unsigned)vec_h_any(vec_h_subs(vec_h_sub(low, one), least));
}

/* Blocks of a group, a bit each, by way of binary32. */
static void encode_blocks(uint8_t *q, const uint8_t *x, const group *g,
                          unsigned which, const cpu_element *e)
{
    for (int i = 0; which != 0; i++, which >>= 1) {
        if ((which & 1) != 0) {
            encode_block(q + 4 * e->bits * i, x + 64 * i, g, i, e);
        }
    }
}

/* BF16 in groups of blocks: the scales of a group are one vector. */
CPU_INLINE void quant_bf16(const cpu_quant_span *span, const cpu_element *e)
{
    const uint64_t size = e->bits == 8 ? 32 : 16;
    const uint64_t whole = span->blocks / GROUP * GROUP;
    cpu_quant_span rest = *span;

    for (uint64_t b = 0; b < whole; b += GROUP) {
        group g;

        eight_max(g.amax, span->x + 64 * b);
        eight_max(g.amax + 8, span->x + 64 * (b + 8));
        group_scales(&g, span->quant, e);
        memcpy(span->scale + b, g.byte, GROUP);
        unsigned subnormal = 0;
        for (int i = 0; i < GROUP; i++) {
            const uint64_t at = b + (unsigned)i;
            uint8_t *const q = span->q + size * at;

            CPU_PREFETCH(span->x + 64 * (at + AHEAD));
            if (e->bits == 8) {
                subnormal |= encode_normal(q, span->x + 64 * at, &g, i, e) << i;
            } else {
                encode_block(q, span->x + 64 * at, &g, i, e);
            }
        }
        if (subnormal != 0) {
            encode_blocks(span->q + size * b, span->x + 64 * b, &g, subnormal,
                          e);
        }
        if (g.hard != 0) {
            redo(span, b, g.hard);
        }
    }
    rest.x += 64 * whole;
    rest.q += size * whole;
    rest.scale += whole;
    rest.blocks -= whole;
    quant_run(&rest, MXO_BF16, e);
}

CPU_INLINE void quant_from(const cpu_quant_span *span, uint32_t from,
                           const cpu_element *e)
{
    if (from == MXO_BF16) {
        quant_bf16(span, e);
    } else {
        quant_run(span, from, e);
    }
}

/* A constant row lets the compiler fold the format into the loop. */
CPU_INLINE void quant_element(const cpu_quant_span *span, uint32_t from)
{
    const cpu_element e2m1 = {.mbits = 1, .bias = 1, .sign = 0x08, .bits = 4};
    const cpu_element e4m3 = {.mbits = 3, .bias = 7, .sign = 0x80, .bits = 8};
    const cpu_element e5m2 = {.mbits = 2, .bias = 15, .sign = 0x80, .bits = 8};

    switch (span->quant->element->mbits) {
    case 1:
        quant_from(span, from, &e2m1);
        break;
    case 3:
        quant_from(span, from, &e4m3);
        break;
    default:
        quant_from(span, from, &e5m2);
        break;
    }
}

static void quant(const cpu_quant_span *span)
{
    switch (span->quant->from) {
    case MXO_BF16:
        quant_element(span, MXO_BF16);
        break;
    case MXO_F16:
        quant_element(span, MXO_F16);
        break;
    default:
        quant_element(span, MXO_F32);
        break;
    }
}

#endif
