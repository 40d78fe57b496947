/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.mx of bfloat16 where codes need nothing but rounding: E2M1 with signs
 * as they are, E4M3FN to nearest even that saturates.  A warp takes a tile of
 * four steps, whose blocks' maxima two share a register: they are agreed on
 * two at a time, and each lane writes the scale byte of one block.  Blocks
 * that are not ordinary wait for quant_rare.h, like those of quant.h.
 */
#ifndef GPU_QUANT_PLAIN_H
#define GPU_QUANT_PLAIN_H

#include "ops/quant.h"
#include "ops/quant_rare.h"
#include "port/device.h"

enum { QUANT_DENSE = 4 };                     /* blocks on a multiprocessor */
enum { QUANT_TILE = QUANT_STEPS * GPU_WARP }; /* vectors of a warp */

/* Four blocks of a lane, two to a register: step 0 in the low half of w[0]. */
typedef struct quant_four {
    uint32_t w[2];
} quant_four;

GPU_FN uint32_t quant_half_of(quant_four f, int k)
{
    return gpu_bytes(f.w[k >> 1], 0, k & 1 ? 0x4432 : 0x4410);
}

/* Maxima of a vector's even and odd elements. */
GPU_FN uint32_t quant_two_maxima(gpu_u128 x)
{
    return gpu_max_u16(gpu_max_u16(x.w[0] & 0x7fff7fffu, x.w[1] & 0x7fff7fffu),
                       gpu_max_u16(x.w[2] & 0x7fff7fffu, x.w[3] & 0x7fff7fffu));
}

/* Every lane takes part. */
GPU_FN quant_four quant_four_amax(const gpu_u128 *x)
{
    quant_four amax;

    GPU_UNROLL
    for (int k = 0; k < 2; k++) {
        const uint32_t a = quant_two_maxima(x[2 * k]);
        const uint32_t b = quant_two_maxima(x[2 * k + 1]);
        uint32_t m =
            gpu_max_u16(gpu_bytes(a, b, 0x5410), gpu_bytes(a, b, 0x7632));
        m = gpu_max_u16(m, gpu_shfl_xor(m, 1));
        amax.w[k] = gpu_max_u16(m, gpu_shfl_xor(m, 2));
    }
    return amax;
}

/* The byte's formula on the upper halves; of no use to a block of zeros. */
GPU_FN quant_four quant_four_bytes(const quant_args *a, quant_four amax)
{
    quant_four byte;

    GPU_UNROLL
    for (int k = 0; k < 2; k++) {
        const uint32_t m = gpu_max_u16(amax.w[k], 0x20002000u);
        byte.w[k] =
            ((m + a->add_two) >> 7 & 0x01ff01ffu) - a->offset * 0x10001u;
    }
    return byte;
}

/* Bit k: block k is neither ordinary nor zeros. */
GPU_FN uint32_t quant_four_rare(quant_four amax)
{
    const uint32_t low = gpu_min_u16(amax.w[0], amax.w[1]);
    const uint32_t high = gpu_max_u16(amax.w[0], amax.w[1]);
    uint32_t rare = 0;

    if (gpu_max_u16(low, 0x20002000u) == low &&
        gpu_min_u16(high, 0x777f777fu) == high) {
        return 0;
    }
    GPU_UNROLL
    for (int k = 0; k < QUANT_STEPS; k++) {
        const uint32_t m = quant_half_of(amax, k);
        rare |= (uint32_t)(m != 0 && m - 0x2000u > 0x777fu - 0x2000u) << k;
    }
    return rare;
}

/*
 * Eight E2M1 codes.  Two elements at a time become binary16 numbers between
 * 2^-14 and the largest code, 6, by their exponents; times 2^-14 the format's
 * subnormals are those of binary16, and rounding is an addition.
 */
GPU_FN uint32_t quant_plain_fp4(const quant_args *a, gpu_u128 x, uint32_t byte)
{
    const uint32_t shift = ((15 - byte) * 128 & 0xffffu) * 0x10001u;
    uint32_t r[4];

    GPU_UNROLL
    for (int k = 0; k < 4; k++) {
        const uint32_t v =
            gpu_add_clamp_s16(x.w[k] & 0x7fff7fffu, shift, 0x08c008c0u);
        const uint32_t h = gpu_mul_f16(v << 3, 0x04000400u);
        const uint32_t sum =
            h + a->tie_add * 0x10001u + (h >> 9 & a->tie_odd * 0x10001u);
        /* A code in bits 9 to 11 and its sign in bit 12 of each half. */
        r[k] = (sum & ~0x10001000u) | (x.w[k] >> 3 & 0x10001000u);
    }
    const uint32_t first = gpu_bytes(r[0], r[1], 0x7351);
    const uint32_t last = gpu_bytes(r[2], r[3], 0x7351);
    const uint32_t even = gpu_bytes(first, last, 0x5410);
    const uint32_t odd = gpu_bytes(first, last, 0x7632);

    return (even >> 1 & 0x0f0f0f0fu) | (odd << 3 & 0xf0f0f0f0u);
}

GPU_FN quant_codes quant_plain_e4m3(gpu_u128 x, uint32_t byte)
{
    const float factor = gpu_float((254 - byte) << 23);
    quant_codes c;

    GPU_UNROLL
    for (int k = 0; k < 2; k++) {
        float v[4];
        GPU_UNROLL
        for (int j = 0; j < 4; j++) {
            v[j] = quant_element(QUANT_BF16, x, 4 * k + j) * factor;
        }
        c.w[k] = gpu_e4m3(v[0], v[1]) | gpu_e4m3(v[2], v[3]) << 16;
    }
    return c;
}

/* Lane by lane, block 0 of the steps, then block 1, ... : one byte each. */
GPU_FN void quant_plain_scale(const quant_args *a, uint64_t tile,
                              quant_four amax, quant_four byte)
{
    const uint32_t lane = gpu_thread() % GPU_WARP;
    const uint32_t k = lane % QUANT_STEPS;
    const uint64_t b = tile / 4 + k * (GPU_WARP / 4) + lane / 4;
    const uint32_t pick = k & 1 ? 0x4432 : 0x4410;
    const uint32_t m = gpu_bytes(k & 2 ? amax.w[1] : amax.w[0], 0, pick);
    const uint32_t s = gpu_bytes(k & 2 ? byte.w[1] : byte.w[0], 0, pick);

    if (b < a->n / 4) {
        a->scale[quant_scale_at(a, b)] = (uint8_t)(m == 0 ? a->zero_byte : s);
    }
}

/* The tile that begins with this vector; bits of the steps that are rare. */
GPU_FN uint32_t quant_plain_tile(const quant_args *a, int packed, uint64_t tile)
{
    const uint64_t first = tile + gpu_thread() % GPU_WARP;
    const uint64_t left = first < a->n ? a->n - first : 0;
    const uint32_t mine = left < QUANT_TILE ? (uint32_t)left : QUANT_TILE;
    const uint8_t *const in = (const uint8_t *)a->x + first * 16;
    uint8_t *const out = (uint8_t *)a->q + first * (packed ? 4 : 8);
    gpu_u128 x[QUANT_STEPS];

    GPU_UNROLL
    for (uint32_t k = 0; k < QUANT_STEPS; k++) {
        x[k] =
            k * GPU_WARP < mine ? gpu_load_u16x8(in, k * GPU_WARP) : gpu_zero();
    }
    const quant_four amax = quant_four_amax(x);
    const quant_four byte = quant_four_bytes(a, amax);

    GPU_UNROLL
    for (uint32_t k = 0; k < QUANT_STEPS; k++) {
        const uint32_t s = quant_half_of(byte, (int)k);
        if (k * GPU_WARP >= mine) {
            continue;
        }
        if (packed) {
            gpu_store_u8x4(out, k * GPU_WARP, quant_plain_fp4(a, x[k], s));
        } else {
            const quant_codes c = quant_plain_e4m3(x[k], s);
            gpu_store_u8x8(out, k * GPU_WARP, c.w[0], c.w[1]);
        }
    }
    quant_plain_scale(a, tile, amax, byte);
    return quant_four_rare(amax);
}

GPU_FN void quant_plain_body(const quant_args *a, int packed)
{
    const uint64_t step = (uint64_t)QUANT_STEPS * GPU_BLOCK;
    const uint32_t warp = gpu_thread() / GPU_WARP * QUANT_TILE;

    for (uint64_t base = gpu_block() * step; base < a->n;
         base += gpu_grid() * step) {
        const uint64_t tile = base + warp;
        const uint32_t rare = quant_plain_tile(a, packed, tile);

        GPU_LOOP
        for (int k = 0; gpu_any(rare >> k != 0); k++) {
            quant_rare_step(a, QUANT_BF16, packed,
                            tile + (uint32_t)k * GPU_WARP +
                                gpu_thread() % GPU_WARP,
                            rare >> k & 1);
        }
    }
}

GPU_ENTRY_DENSE(quant_plain_e2m1_bf16, quant_args, QUANT_DENSE,
                quant_plain_body(a, 1))
GPU_ENTRY_DENSE(quant_plain_e4m3_bf16, quant_args, QUANT_DENSE,
                quant_plain_body(a, 0))

#endif
