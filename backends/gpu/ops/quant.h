/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.mx: 16 bytes of input per thread and step; the 4 lanes (8 for
 * binary32) that hold a block agree on its maximum by shuffles.
 *
 * All rules share one fast path.  For a maximum of ordinary size (field 64 to
 * 238) the scale byte is ((bits of amax + add) >> 23) - offset: whatever the
 * rule divides by, its rounding crosses no power of two, or crosses it where
 * the host's add says.  An element is |x| * 2^(127 - byte), moved by a second
 * product to where binary32's own subnormals are the format's: then rounding
 * is an integer addition, and the code is a shift.  The first product is
 * exact, the second loses bits only far below the last tie (binary32 inputs
 * are cut to 18 bits and a sticky one before).  Everything else, such as NaN,
 * infinity, tiny and huge blocks, takes quant_rare.h.
 */
#ifndef GPU_QUANT_H
#define GPU_QUANT_H

#include "ops/quant_args.h"
#include "ops/quant_rare.h"
#include "port/device.h"

/* Element j of a vector, sign included; binary16 times 2^-112, exactly. */
GPU_FN float quant_element(int from, gpu_u128 x, int j)
{
    if (from == QUANT_F32) {
        return gpu_float(x.w[j & 3]);
    }
    const uint32_t w = x.w[j >> 1 & 3];
    const uint32_t half = j & 1 ? w & 0xffff0000u : w << 16;

    if (from == QUANT_BF16) {
        return gpu_float(half);
    }
    return gpu_float((half & 0x80000000u) | (half & 0x7fff0000u) >> 3);
}

/* 2^e, the field clamped to 0; a zero block has any byte and no need. */
GPU_FN float quant_power(int e)
{
    return gpu_float((uint32_t)(127 + e) << 23 & 0x7f800000u);
}

/* Largest magnitude of a vector as a binary32 pattern. */
GPU_FN uint32_t quant_amax(int from, gpu_u128 x)
{
    if (from == QUANT_F32) {
        const uint32_t a = gpu_max(x.w[0] & 0x7fffffffu, x.w[1] & 0x7fffffffu);
        const uint32_t b = gpu_max(x.w[2] & 0x7fffffffu, x.w[3] & 0x7fffffffu);
        return gpu_max(a, b);
    }
    const uint32_t a = gpu_max_u16(x.w[0] & 0x7fff7fffu, x.w[1] & 0x7fff7fffu);
    const uint32_t b = gpu_max_u16(x.w[2] & 0x7fff7fffu, x.w[3] & 0x7fff7fffu);
    const uint32_t both = gpu_max_u16(a, b);
    const uint32_t m = gpu_max(both & 0xffffu, both >> 16);

    if (from == QUANT_BF16) {
        return m << 16;
    }
    /* Infinity and NaN (7c00 and above) stay above every ordinary value. */
    return m >= 0x7c00u ? 0x7f800000u : gpu_bits(gpu_float(m << 13) * 0x1p112f);
}

/* 24 bits become 24 - cut with the last one sticky. */
GPU_FN float quant_jam(float a, int cut)
{
    const uint32_t bits = gpu_bits(a);
    const uint32_t rest = (1u << cut) - 1;

    return gpu_float((bits | ((bits & rest) + rest)) & ~rest);
}

/*
 * E2M1, signs as they are.  Times 2^-14 the format's subnormals are those of
 * binary16; eight significant bits, the last one sticky, are exact there from
 * half the smallest tie upwards, so that two elements round in one addition.
 */
GPU_FN uint32_t quant_fp4_pair(const quant_args *a, int from, gpu_u128 x, int j,
                               float factor)
{
    float low = quant_element(from, x, j) * factor;
    float high = quant_element(from, x, j + 1) * factor;

    if (from != QUANT_BF16) {
        low = quant_jam(low, 16);
        high = quant_jam(high, 16);
    }
    const uint32_t halves = gpu_pack_f16(low, high);
    const uint32_t m = halves & 0x7fff7fffu;
    const uint32_t odd = m >> 9 & a->tie_odd * 0x10001u;
    const uint32_t codes = (m + a->tie_add * 0x10001u + odd) >> 9;
    const uint32_t cut = gpu_min_u16(codes & 0x7f007fu, 0x70007u);

    return cut | (halves >> 12 & 0x80008u);
}

GPU_FN quant_codes quant_fp4(const quant_args *a, int from, gpu_u128 x,
                             uint32_t byte)
{
    const float factor =
        quant_power(113 - (int)byte + (from == QUANT_F16 ? 112 : 0));
    quant_codes c = {{0, 0}};
    uint32_t bytes[2]; /* elements 0 2 1 3, then 4 6 5 7 */

    GPU_UNROLL
    for (int k = 0; k < QUANT_PER_LANE(from) / 4; k++) {
        bytes[k] = quant_fp4_pair(a, from, x, 4 * k, factor) |
                   quant_fp4_pair(a, from, x, 4 * k + 2, factor) << 8;
    }
    if (from == QUANT_F32) {
        c.w[0] = bytes[0] | bytes[0] >> 12;
    } else {
        c.w[0] = gpu_bytes(bytes[0], bytes[1], 0x5410) |
                 gpu_bytes(bytes[0], bytes[1], 0x7632) << 4;
    }
    return c;
}

/* Any format, one element: magnitude code and the binary32 quotient. */
GPU_FN uint32_t quant_magnitude(const quant_args *a, int from, float m,
                                float factor, float second)
{
    const uint32_t shift = 23 - a->f.mbits;
    const float v = (from == QUANT_F32 ? quant_jam(m, 5) : m) * factor;
    const uint32_t w = gpu_bits(v * second);
    const uint32_t code = (w + a->tie_add + (w >> shift & a->tie_odd)) >> shift;

    return code < a->limit ? code : a->limit;
}

GPU_FN quant_codes quant_bytes(const quant_args *a, int from, int plain,
                               gpu_u128 x, uint32_t byte)
{
    const float factor = quant_power(127 - (int)byte);
    const float second =
        quant_power((int)a->f.emin - 126 + (from == QUANT_F16 ? 112 : 0));
    quant_codes c = {{0, 0}};

    GPU_UNROLL
    for (int j = 0; j < QUANT_PER_LANE(from); j++) {
        const float signed_x = quant_element(from, x, j);
        const float m = gpu_fabsf(signed_x);
        uint32_t code = quant_magnitude(a, from, m, factor, second);
        const uint32_t negative = gpu_bits(signed_x) >> 31;
        if (plain) {
            code |= negative << a->f.width;
        } else {
            /* A binary16 quotient of an ordinary block never vanishes. */
            code = quant_signed(a, code, negative,
                                (from == QUANT_F16 ? m : m * factor) != 0);
        }
        c.w[j / 4] |= code << (8 * (j % 4));
    }
    return c;
}

/* Bytes with a code each become nibbles. */
GPU_FN quant_codes quant_narrow(quant_codes c)
{
    const uint32_t low = c.w[0] | c.w[0] >> 4;
    const uint32_t high = c.w[1] | c.w[1] >> 4;

    c.w[0] = gpu_bytes(low, high, 0x6420);
    return c;
}

GPU_FN quant_codes quant_vector(const quant_args *a, int from, int packed,
                                gpu_u128 x, uint32_t byte)
{
    if (packed && a->plain) {
        return quant_fp4(a, from, x, byte);
    }
    if (packed) {
        return quant_narrow(quant_bytes(a, from, 0, x, byte));
    }
    return a->plain ? quant_bytes(a, from, 1, x, byte)
                    : quant_bytes(a, from, 0, x, byte);
}

GPU_FN void quant_store(const quant_args *a, int from, int packed, uint64_t i,
                        quant_codes c)
{
    if (packed && from == QUANT_F32) {
        gpu_store_u8x2(a->q, i, c.w[0]);
    } else if (packed || from == QUANT_F32) {
        gpu_store_u8x4(a->q, i, c.w[0]);
    } else {
        gpu_store_u8x8(a->q, i, c.w[0], c.w[1]);
    }
}

GPU_FN void quant_put(const quant_args *a, int from, int packed, uint64_t i,
                      quant_codes c, uint32_t byte)
{
    const uint32_t lanes = QUANT_LANES(from);

    if (i >= a->n) {
        return;
    }
    quant_store(a, from, packed, i, c);
    if (gpu_thread() % lanes == 0) {
        a->scale[quant_scale_at(a, i / lanes)] = (uint8_t)byte;
    }
}

/* The block's maximum in each of its lanes; every lane takes part. */
GPU_FN uint32_t quant_block_amax(int from, gpu_u128 x)
{
    uint32_t amax = quant_amax(from, x);

    GPU_UNROLL
    for (int m = 1; m < QUANT_LANES(from); m *= 2) {
        amax = gpu_max(amax, gpu_shfl_xor(amax, m));
    }
    return amax;
}

/* Vector i by the fast path, unless its block is rare: then 1. */
GPU_FN uint32_t quant_step(const quant_args *a, int from, int packed,
                           uint64_t i, gpu_u128 x)
{
    const uint32_t amax = quant_block_amax(from, x);

    if (amax != 0 && (amax >> 23) - 64 > 238 - 64) {
        return 1;
    }
    const uint32_t byte =
        amax == 0 ? a->zero_byte : ((amax + a->add) >> 23) - a->offset;
    quant_put(a, from, packed, i, quant_vector(a, from, packed, x, byte), byte);
    return 0;
}

GPU_FN void quant_rare_step(const quant_args *a, int from, int packed,
                            uint64_t i, uint32_t rare)
{
    const gpu_u128 x = i < a->n ? quant_load(a, from, i) : gpu_zero();
    const uint32_t amax = quant_rare_amax(a, from, x);

    if (rare) {
        const uint32_t byte = quant_rare_byte(a, amax);
        const quant_codes c = quant_rare_vector(a, from, packed, i, amax, byte);
        quant_put(a, from, packed, i, c, byte);
    }
}

GPU_FN void quant_body(const quant_args *a, int from, int packed)
{
    const uint64_t tile = (uint64_t)QUANT_STEPS * GPU_BLOCK;

    for (uint64_t base = gpu_block() * tile; base < a->n;
         base += gpu_grid() * tile) {
        const uint64_t first = base + gpu_thread();
        gpu_u128 x[QUANT_STEPS];
        uint32_t rare = 0; /* bit k: step k */

        GPU_UNROLL
        for (int k = 0; k < QUANT_STEPS; k++) {
            const uint64_t i = first + (uint64_t)k * GPU_BLOCK;
            x[k] = i < a->n ? quant_load(a, from, i) : gpu_zero();
        }
        GPU_UNROLL
        for (int k = 0; k < QUANT_STEPS; k++) {
            const uint64_t i = first + (uint64_t)k * GPU_BLOCK;
            rare |= quant_step(a, from, packed, i, x[k]) << k;
        }
        GPU_LOOP
        for (int k = 0; gpu_any(rare >> k != 0); k++) {
            quant_rare_step(a, from, packed, first + (uint64_t)k * GPU_BLOCK,
                            rare >> k & 1);
        }
    }
}

GPU_ENTRY(quant_fp4_bf16, quant_args, quant_body(a, QUANT_BF16, 1))
GPU_ENTRY(quant_fp4_f16, quant_args, quant_body(a, QUANT_F16, 1))
GPU_ENTRY(quant_fp4_f32, quant_args, quant_body(a, QUANT_F32, 1))
GPU_ENTRY(quant_byte_bf16, quant_args, quant_body(a, QUANT_BF16, 0))
GPU_ENTRY(quant_byte_f16, quant_args, quant_body(a, QUANT_F16, 0))
GPU_ENTRY(quant_byte_f32, quant_args, quant_body(a, QUANT_F32, 0))

#endif
