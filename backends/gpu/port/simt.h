/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of device.h on a CPU: every thread of a block is a coroutine, and
 * runs until it meets its warp or its block.  SIMT_WARP is 32 or 64.  Stricter
 * than a device on purpose: a warp whose lanes part before an exchange, an
 * exchange in a kernel that did not announce any, and a misaligned vector end
 * the process with a sentence.
 */
#ifndef GPU_SIMT_H
#define GPU_SIMT_H

#include "port/device_types.h"
#include "port/global_names.h"
#include "port/simt_fiber.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(SIMT_WARP)
#error "SIMT_WARP is 32 or 64"
#endif

#define GPU_WARP SIMT_WARP
#define GPU_FN static inline
#define GPU_SLOW static __attribute__((unused))
#define GPU_CONSTANT static const
#define GPU_SHARED static /* blocks run one after another */
#define GPU_ALIGN16 _Alignas(16)
#define GPU_INFINITY ((double)INFINITY)
#define GPU_UNROLL
#define GPU_LOOP
#define GPU_ENTRY(name, type, call)               \
    static void name(const void *args)            \
    {                                             \
        const type *const a = (const type *)args; \
        call;                                     \
    }

#define GPU_ENTRY_DENSE(name, type, blocks, call) GPU_ENTRY(name, type, call)

/* One launch: the block and the thread that run now. */
typedef struct simt_launch {
    simt_fiber scheduler;
    void (*entry)(const void *args);
    const void *args;
    int meets;
    uint32_t grid, block, thread;
    uint32_t parity[GPU_BLOCK / SIMT_WARP];
    uint32_t slot[2][GPU_BLOCK];
    struct simt_lane *lanes;
    uint8_t *stacks;
} simt_launch;

extern _Thread_local simt_launch *simt_now;

/* Ends the process with a sentence; site: a line of the source. */
_Noreturn void simt_die(const char *sentence, int site);

/* Services for a coroutine; simt_lanes.c and simt_crowd.c have the rest. */
uint32_t simt_shuffle(uint32_t value, uint32_t from, int site);
int simt_any(int claim, int site);
void simt_barrier(int site);

GPU_FN uint32_t simt_thread(void)
{
    return simt_now->thread;
}

GPU_FN uint32_t simt_block(void)
{
    return simt_now->block;
}

GPU_FN uint32_t simt_grid(void)
{
    return simt_now->grid;
}

GPU_FN void simt_check_aligned(const void *p, size_t align)
{
    if ((uintptr_t)p % align != 0) {
        simt_die("a vector is not aligned", 0);
    }
}

#define gpu_thread simt_thread
#define gpu_block simt_block
#define gpu_grid simt_grid
#define gpu_shfl(value, lane) simt_shuffle((value), (uint32_t)(lane), __LINE__)
#define gpu_shfl_xor(value, mask)                                        \
    simt_shuffle((value), (simt_thread() % GPU_WARP) ^ (uint32_t)(mask), \
                 __LINE__)

#define gpu_any(claim) simt_any((claim), __LINE__)
#define gpu_barrier() simt_barrier(__LINE__)

GPU_FN float gpu_float(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

GPU_FN uint32_t gpu_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

GPU_FN float gpu_fabsf(float x)
{
    return gpu_float(gpu_bits(x) & 0x7fffffffu);
}

GPU_FN double gpu_double(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

GPU_FN uint64_t gpu_bits64(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

GPU_FN uint32_t gpu_high(double x)
{
    return (uint32_t)(gpu_bits64(x) >> 32) & 0x7fffffffu;
}

GPU_FN float gpu_minf(float a, float b)
{
    return a > b ? b : a;
}

GPU_FN float gpu_maxf(float a, float b)
{
    return a < b ? b : a;
}

#define gpu_fmaf fmaf
#define gpu_fma fma
#define gpu_sqrt sqrt

/*
 * Approximations with nearly the error that the kernels allow for, its sign
 * and size drawn from the bits of x: a proof that needs better ones fails here
 */
GPU_FN float gpu_wrong(double exact, float x, double units)
{
    const uint32_t noise = gpu_bits(x) * 2654435761u >> 16;
    const double part = (double)noise / 32768 - 1;
    const float y = (float)(exact * (1 + part * units * 0x1p-24));

    return fabsf(y) < 0x1p-126f ? 0.0f : y;
}

GPU_FN float gpu_ex2(float x)
{
    return gpu_wrong(exp2((double)x), x, 3.9);
}

GPU_FN float gpu_rcp(float x)
{
    return gpu_wrong(1 / (double)x, x, 1.9);
}

GPU_FN double gpu_rcp64(double x)
{
    const uint32_t noise = (uint32_t)(gpu_bits64(x) >> 7) * 2654435761u >> 16;

    return 1 / x * (1 + ((double)noise / 32768 - 1) * 0x1p-19);
}

/* A NaN as NVIDIA's cvt.f32.f16 gives it: always the same one. */
GPU_FN float gpu_from_f16(uint32_t code)
{
    const uint32_t sign = (code & 0x8000u) << 16;
    const uint32_t m = code & 0x7fffu;

    if (m >= 0x7c00u) {
        return gpu_float(m == 0x7c00u ? sign | 0x7f800000u : 0x7fffffffu);
    }
    return gpu_float(sign | gpu_bits(gpu_float(m << 13) * 0x1p112f));
}

/* One number to nearest even, by the bits. */
GPU_FN uint32_t gpu_nearest_f16(float x)
{
    const uint32_t bits = gpu_bits(x);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t m = bits & 0x7fffffffu;

    if (m >= 0x47800000u) { /* 65536 and above, NaN */
        return sign | (m > 0x7f800000u ? 0x7e00u : 0x7c00u);
    }
    if (m < 0x38800000u) { /* subnormal: the sum's unit is 2^-24 */
        const float sum = gpu_float(m) + 0.5f;
        return sign | (gpu_bits(sum) & 0x7fffu);
    }
    return sign | ((m - 0x38000000u + 0xfffu + (m >> 13 & 1)) >> 13);
}

GPU_FN uint32_t gpu_nearest_bf16(float x)
{
    const uint32_t bits = gpu_bits(x);

    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return 0x7fffu;
    }
    return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

GPU_FN uint32_t gpu_round_f16(float low, float high)
{
    return gpu_nearest_f16(low) | gpu_nearest_f16(high) << 16;
}

GPU_FN uint32_t gpu_round_bf16(float low, float high)
{
    return gpu_nearest_bf16(low) | gpu_nearest_bf16(high) << 16;
}

GPU_FN uint32_t gpu_max(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

GPU_FN uint32_t gpu_max_u16(uint32_t a, uint32_t b)
{
    return gpu_max(a & 0xffffu, b & 0xffffu) |
           gpu_max(a & 0xffff0000u, b & 0xffff0000u);
}

GPU_FN uint32_t gpu_min_u16(uint32_t a, uint32_t b)
{
    const uint32_t low = (a & 0xffffu) < (b & 0xffffu) ? a : b;
    const uint32_t high = a >> 16 < b >> 16 ? a : b;

    return (low & 0xffffu) | (high & 0xffff0000u);
}

/* One half of gpu_add_clamp_s16. */
GPU_FN uint32_t gpu_add_clamp(uint32_t a, uint32_t b, uint32_t top)
{
    const uint32_t sum = (a + b) & 0xffffu;

    return sum >= 0x8000u ? 0 : sum < top ? sum : top;
}

GPU_FN uint32_t gpu_add_clamp_s16(uint32_t a, uint32_t b, uint32_t top)
{
    return gpu_add_clamp(a & 0xffffu, b & 0xffffu, top & 0xffffu) |
           gpu_add_clamp(a >> 16, b >> 16, top >> 16) << 16;
}

GPU_FN uint32_t gpu_mul_f16(uint32_t a, uint32_t b)
{
    return gpu_round_f16(gpu_from_f16(a & 0xffffu) * gpu_from_f16(b & 0xffffu),
                         gpu_from_f16(a >> 16) * gpu_from_f16(b >> 16));
}

/* binary16, cut toward zero: the other side rounds to nearest. */
GPU_FN uint32_t gpu_f16(float x)
{
    const uint32_t bits = gpu_bits(x);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t m = (bits & 0x7fffffu) | 0x800000u;
    const int field = (int)(bits >> 23 & 255) - 112;

    if (field >= 31) {
        return sign | 0x7bffu;
    }
    if (field > 0) {
        return sign | (uint32_t)field << 10 | (m >> 13 & 0x3ffu);
    }
    return sign | (field < -10 ? 0 : m >> (14 - field));
}

GPU_FN uint32_t gpu_pack_f16(float low, float high)
{
    return gpu_f16(low) | gpu_f16(high) << 16;
}

GPU_FN int gpu_lg(uint32_t x)
{
    int lg = -1;

    for (; x != 0; x >>= 1) {
        lg++;
    }
    return lg;
}

GPU_FN gpu_u128 gpu_load_u8x16(const void *p, uint64_t i)
{
    const uint8_t *const b = (const uint8_t *)p + 16 * i;
    gpu_u128 x;

    simt_check_aligned(b, 16);
    for (int k = 0; k < 4; k++) {
        x.w[k] = b[4 * k] | (uint32_t)b[4 * k + 1] << 8 |
                 (uint32_t)b[4 * k + 2] << 16 | (uint32_t)b[4 * k + 3] << 24;
    }
    return x;
}

GPU_FN gpu_u128 gpu_load_u16x8(const void *p, uint64_t i)
{
    const uint16_t *const h = (const uint16_t *)p + 8 * i;
    gpu_u128 x;

    simt_check_aligned(h, 16);
    for (int k = 0; k < 4; k++) {
        x.w[k] = h[2 * k] | (uint32_t)h[2 * k + 1] << 16;
    }
    return x;
}

GPU_FN gpu_u128 gpu_load_u32x4(const void *p, uint64_t i)
{
    gpu_u128 x;

    simt_check_aligned((const uint8_t *)p + 16 * i, 16);
    memcpy(&x, (const uint8_t *)p + 16 * i, sizeof x);
    return x;
}

GPU_FN void gpu_store_u8x16(void *p, uint64_t i, gpu_u128 x)
{
    uint8_t *const b = (uint8_t *)p + 16 * i;

    simt_check_aligned(b, 16);
    for (int k = 0; k < 16; k++) {
        b[k] = (uint8_t)(x.w[k >> 2] >> 8 * (k & 3));
    }
}

GPU_FN void gpu_store_u16x8(void *p, uint64_t i, gpu_u128 x)
{
    uint16_t *const h = (uint16_t *)p + 8 * i;

    simt_check_aligned(h, 16);
    for (int k = 0; k < 8; k++) {
        h[k] = (uint16_t)(x.w[k >> 1] >> 16 * (k & 1));
    }
}

GPU_FN void gpu_store_u32x4(void *p, uint64_t i, gpu_u128 x)
{
    simt_check_aligned((uint8_t *)p + 16 * i, 16);
    memcpy((uint8_t *)p + 16 * i, &x, sizeof x);
}

GPU_FN uint32_t gpu_load_u8x2(const void *p, uint64_t i)
{
    const uint8_t *const b = (const uint8_t *)p + 2 * i;

    simt_check_aligned(b, 2);
    return b[0] | (uint32_t)b[1] << 8;
}

GPU_FN uint32_t gpu_load_u8x4(const void *p, uint64_t i)
{
    simt_check_aligned((const uint8_t *)p + 4 * i, 4);
    return gpu_load_u8x2(p, 2 * i) | gpu_load_u8x2(p, 2 * i + 1) << 16;
}

GPU_FN void gpu_store_u8x2(void *p, uint64_t i, uint32_t x)
{
    uint8_t *const b = (uint8_t *)p + 2 * i;

    simt_check_aligned(b, 2);
    b[0] = (uint8_t)x;
    b[1] = (uint8_t)(x >> 8);
}

GPU_FN void gpu_store_u8x4(void *p, uint64_t i, uint32_t x)
{
    simt_check_aligned((uint8_t *)p + 4 * i, 4);
    gpu_store_u8x2(p, 2 * i, x);
    gpu_store_u8x2(p, 2 * i + 1, x >> 16);
}

GPU_FN void gpu_store_u8x8(void *p, uint64_t i, uint32_t low, uint32_t high)
{
    simt_check_aligned((uint8_t *)p + 8 * i, 8);
    gpu_store_u8x4(p, 2 * i, low);
    gpu_store_u8x4(p, 2 * i + 1, high);
}

GPU_FN void gpu_store_u16(void *p, uint64_t i, uint32_t x)
{
    ((uint16_t *)p)[i] = (uint16_t)x;
}

GPU_FN void gpu_store_u32(void *p, uint64_t i, uint32_t x)
{
    ((uint32_t *)p)[i] = x;
}

GPU_FN void gpu_store_u16x2(void *p, uint64_t i, uint32_t x)
{
    simt_check_aligned((uint8_t *)p + 4 * i, 4);
    gpu_store_u16(p, 2 * i, x);
    gpu_store_u16(p, 2 * i + 1, x >> 16);
}

GPU_FN void gpu_store_u16x4(void *p, uint64_t i, uint32_t low, uint32_t high)
{
    simt_check_aligned((uint8_t *)p + 8 * i, 8);
    gpu_store_u16x2(p, 2 * i, low);
    gpu_store_u16x2(p, 2 * i + 1, high);
}

GPU_FN void gpu_store_u32x2(void *p, uint64_t i, uint32_t low, uint32_t high)
{
    simt_check_aligned((uint8_t *)p + 8 * i, 8);
    gpu_store_u32(p, 2 * i, low);
    gpu_store_u32(p, 2 * i + 1, high);
}

GPU_FN uint32_t gpu_load_u16(const void *p, uint64_t i)
{
    return ((const uint16_t *)p)[i];
}

GPU_FN uint32_t gpu_load_u32(const void *p, uint64_t i)
{
    return ((const uint32_t *)p)[i];
}

/* Bytes 0..3 are a's, 4..7 b's; each nibble of pick chooses one, low first. */
GPU_FN uint32_t gpu_bytes(uint32_t a, uint32_t b, uint32_t pick)
{
    const uint64_t both = (uint64_t)b << 32 | a;
    uint32_t out = 0;

    for (int k = 0; k < 4; k++) {
        out |= (uint32_t)(both >> 8 * (pick >> 4 * k & 7) & 255) << 8 * k;
    }
    return out;
}

GPU_FN uint32_t gpu_turn(uint32_t x, uint32_t left)
{
    return x << (left & 31) | x >> (-left & 31);
}

/* Shared memory is memory. */
#define gpu_cell_load_u8x16(p) gpu_load_u8x16((p), 0)
#define gpu_cell_load_u16x8(p) gpu_load_u16x8((p), 0)
#define gpu_cell_load_u8x4(p) gpu_load_u8x4((p), 0)
#define gpu_cell_load_u8x2(p) gpu_load_u8x2((p), 0)
#define gpu_cell_store_u8x16(p, x) gpu_store_u8x16((p), 0, (x))
#define gpu_cell_store_u8x4(p, x) gpu_store_u8x4((p), 0, (x))
#define gpu_cell_store_u8x2(p, x) gpu_store_u8x2((p), 0, (x))

GPU_FN void gpu_lut8(uint32_t lo, uint32_t hi, uint32_t codes, uint32_t *low,
                     uint32_t *high)
{
    *low = gpu_bytes(lo, hi, codes & 0x7777);
    *high = gpu_bytes(lo, hi, codes >> 16 & 0x7777);
}

#endif
