/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversions of element values: the rows of values.def.  Four elements per
 * thread and step; tensors of scales are large enough to be worth it.
 */
#ifndef GPU_LAYOUT_VALUES_H
#define GPU_LAYOUT_VALUES_H

#include "port/device.h"

enum {
    VALUES_WIDEN,
    VALUES_NARROW,
    VALUES_SHIFT,
    VALUES_FIELD,
    VALUES_ADD,
    VALUES_TURN, /* an addition modulo 256 */
    VALUES_MAGNITUDE,
    VALUES_POSITIVE, /* the bytes that a magnitude is */
    VALUES_RECIPROCAL,
    VALUES_TIMES,
    VALUES_OVER
};

enum { VALUES_STEPS = 4, VALUES_SPAN = 4 * VALUES_STEPS * GPU_BLOCK };

typedef struct values_args {
    const void *src;
    void *dst;    /* NULL: only looked at */
    uint8_t *odd; /* set if a code has no counterpart */
    uint64_t n;
    uint32_t kind;
    uint32_t add;
} values_args;

/* Convert an element; returns the bits that it would lose. */
GPU_FN uint32_t values_element(const values_args *a, uint32_t x, uint32_t *y)
{
    switch (a->kind) {
    case VALUES_WIDEN:
        *y = x << 16;
        return 0;
    case VALUES_SHIFT:
        *y = x << 23;
        return 0;
    case VALUES_ADD:
        *y = x + a->add;
        return *y >> 8; /* a borrow shows as well */
    case VALUES_TURN:
        *y = (x + a->add) & 255;
        return 0;
    case VALUES_MAGNITUDE:
        *y = x & 127;
        return 0;
    case VALUES_POSITIVE:
        *y = x;
        return x & 128;
    case VALUES_RECIPROCAL:
        *y = gpu_bits(1.0f / gpu_float(x));
        return 0;
    case VALUES_TIMES:
        *y = gpu_bits(gpu_float(x) * 2688.0f);
        return 0;
    case VALUES_OVER:
        *y = gpu_bits(gpu_float(x) / 2688.0f);
        return 0;
    case VALUES_NARROW:
        *y = x >> 16;
        return x & 0xffffu;
    default:
        *y = x >> 23 & 255;
        return x & 0x807fffffu;
    }
}

/* Bytes of an element on its way in, and out. */
GPU_FN uint32_t values_in(const values_args *a)
{
    return a->kind == VALUES_WIDEN ? 2
           : a->kind == VALUES_NARROW || a->kind == VALUES_FIELD ||
                   a->kind >= VALUES_RECIPROCAL
               ? 4
               : 1;
}

GPU_FN uint32_t values_out(const values_args *a)
{
    return a->kind == VALUES_NARROW ? 2
           : a->kind == VALUES_WIDEN || a->kind == VALUES_SHIFT ||
                   a->kind >= VALUES_RECIPROCAL
               ? 4
               : 1;
}

GPU_FN gpu_u128 values_load(const values_args *a, uint64_t four)
{
    const uint32_t bytes = values_in(a);
    gpu_u128 x;

    if (bytes == 4) {
        return gpu_load_u32x4(a->src, four);
    }
    const uint32_t word = bytes == 1 ? gpu_load_u8x4(a->src, four) : 0;
    GPU_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        x.w[i] = bytes == 2 ? gpu_load_u16(a->src, 4 * four + i)
                            : word >> 8 * i & 255;
    }
    return x;
}

GPU_FN void values_store(const values_args *a, uint64_t four, gpu_u128 y)
{
    const uint32_t bytes = values_out(a);

    if (bytes == 4) {
        gpu_store_u32x4(a->dst, four, y);
    } else if (bytes == 2) {
        gpu_store_u16x4(a->dst, four, y.w[0] | y.w[1] << 16,
                        y.w[2] | y.w[3] << 16);
    } else {
        gpu_store_u8x4(a->dst, four,
                       (y.w[0] & 255) | (y.w[1] & 255) << 8 |
                           (y.w[2] & 255) << 16 | y.w[3] << 24);
    }
}

/* One that is not among four. */
GPU_FN uint32_t values_single(const values_args *a, uint64_t i)
{
    const uint32_t in = values_in(a);
    const uint32_t out = values_out(a);
    const uint32_t x = in == 4   ? gpu_load_u32(a->src, i)
                       : in == 2 ? gpu_load_u16(a->src, i)
                                 : ((const uint8_t *)a->src)[i];
    uint32_t y;
    const uint32_t lost = values_element(a, x, &y);

    if (a->dst == NULL) {
        return lost;
    }
    if (out == 4) {
        gpu_store_u32(a->dst, i, y);
    } else if (out == 2) {
        gpu_store_u16(a->dst, i, y);
    } else {
        ((uint8_t *)a->dst)[i] = (uint8_t)y;
    }
    return lost;
}

GPU_FN void values_body(const values_args *a)
{
    const uint64_t first =
        (uint64_t)gpu_block() * (VALUES_SPAN / 4) + gpu_thread();
    uint32_t lost = 0;
    gpu_u128 x[VALUES_STEPS];

    GPU_UNROLL
    for (uint32_t k = 0; k < VALUES_STEPS; k++) {
        if (first + k * GPU_BLOCK < a->n / 4) {
            x[k] = values_load(a, first + k * GPU_BLOCK);
        }
    }
    GPU_UNROLL
    for (uint32_t k = 0; k < VALUES_STEPS; k++) {
        gpu_u128 y;

        if (first + k * GPU_BLOCK >= a->n / 4) {
            continue;
        }
        for (uint32_t i = 0; i < 4; i++) {
            lost |= values_element(a, x[k].w[i], &y.w[i]);
        }
        if (a->dst != NULL) {
            values_store(a, first + k * GPU_BLOCK, y);
        }
    }
    if (gpu_block() == 0 && gpu_thread() < a->n % 4) {
        lost |= values_single(a, a->n / 4 * 4 + gpu_thread());
    }
    if (lost != 0) {
        *a->odd = 1;
    }
}

GPU_ENTRY(layout_values, values_args, values_body(a))

/* The largest of n positive binary32 numbers: their patterns are ordered. */
GPU_FN void values_largest(const values_args *a)
{
    uint32_t most = 0;

    if (gpu_thread() != 0) {
        return;
    }
    for (uint64_t i = 0; i < a->n; i++) {
        most = gpu_max(most, gpu_load_u32(a->src, i));
    }
    gpu_store_u32(a->dst, 0, most);
}

GPU_ENTRY(layout_largest, values_args, values_largest(a))

#endif
