/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conversions of element values in values.def, by this backend's own
 * arithmetic.  All of them are exact; a code without an image is refused.
 */
#include "layout_values.h"

#include <string.h>

/* Plain loops that are worth a vector, whatever the compiler thinks.  Clang
   needs no telling, and takes it as an order: with sanitizers or coverage,
   where it cannot obey, it warns. */
#if defined(_OPENMP) && !defined(__clang__)
#define PRAGMA(text) _Pragma(#text)
#define SIMD PRAGMA(omp simd)
#define SIMD_OR(name) PRAGMA(omp simd reduction(| : name))
#else
#define SIMD
#define SIMD_OR(name)
#endif

static int keep(const uint8_t *src, uint64_t n, uint8_t *dst, int forward)
{
    (void)forward;
    memmove(dst, src, (size_t)n);
    return 0;
}

/* A pattern that begins with code, the rest zeros: shift is what is below. */
static int narrow_f32(const uint8_t *src, uint64_t n, uint8_t *dst,
                      uint32_t shift, uint32_t size)
{
    uint32_t lost = 0;

    for (uint64_t i = 0; i < n; i++) {
        uint32_t wide;
        memcpy(&wide, src + 4 * i, 4);
        const uint32_t code = wide >> shift;
        const uint16_t half = (uint16_t)code;

        lost |= wide ^ code << shift;
        lost |= code >> 8 * size;
        if (size == 1) {
            dst[i] = (uint8_t)code;
        } else {
            memcpy(dst + 2 * i, &half, 2);
        }
    }
    return lost == 0 ? 0 : -1;
}

/* The upper half of a binary32. */
static int bf16_to_f32(const uint8_t *src, uint64_t n, uint8_t *dst,
                       int forward)
{
    if (!forward) {
        return narrow_f32(src, n, dst, 16, 2);
    }
    SIMD for (uint64_t i = 0; i < n; i++)
    {
        uint16_t half;
        memcpy(&half, src + 2 * i, 2);
        const uint32_t wide = (uint32_t)half << 16;
        memcpy(dst + 4 * i, &wide, 4);
    }
    return 0;
}

/* The exponent field of a binary32. */
static int e8m0_to_f32(const uint8_t *src, uint64_t n, uint8_t *dst,
                       int forward)
{
    if (!forward) {
        return narrow_f32(src, n, dst, 23, 1);
    }
    SIMD for (uint64_t i = 0; i < n; i++)
    {
        const uint32_t wide = (uint32_t)src[i] << 23;
        memcpy(dst + 4 * i, &wide, 4);
    }
    return 0;
}

static int f32_to_e8m0(const uint8_t *src, uint64_t n, uint8_t *dst,
                       int forward)
{
    return e8m0_to_f32(src, n, dst, !forward);
}

static int e8m0_plus_6(const uint8_t *src, uint64_t n, uint8_t *dst,
                       int forward)
{
    const uint8_t by = forward ? 6 : (uint8_t)-6;
    const uint8_t least = forward ? 6 : 0; /* of the results, */
    const uint8_t span = 249;              /* and how many more there are */
    uint8_t wrapped = 0;

    SIMD_OR(wrapped)
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t code = (uint8_t)(src[i] + by);
        wrapped |= (uint8_t)(code - least) > span;
        dst[i] = code;
    }
    return wrapped == 0 ? 0 : -1;
}

static int e4m3_magnitude(const uint8_t *src, uint64_t n, uint8_t *dst,
                          int forward)
{
    uint8_t any = 0;

    for (uint64_t i = 0; i < n; i++) {
        any |= src[i];
        dst[i] = src[i] & 0x7f;
    }
    return forward || any < 0x80 ? 0 : -1;
}

static int e8m0_unbiased(const uint8_t *src, uint64_t n, uint8_t *dst,
                         int forward)
{
    for (uint64_t i = 0; i < n; i++) {
        dst[i] = (uint8_t)(src[i] + (forward ? 129 : 127));
    }
    return 0;
}

static int f32_reciprocal(const uint8_t *src, uint64_t n, uint8_t *dst,
                          int forward)
{
    (void)forward;
    for (uint64_t i = 0; i < n; i++) {
        float x;
        memcpy(&x, src + 4 * i, 4);
        x = 1.0f / x;
        memcpy(dst + 4 * i, &x, 4);
    }
    return 0;
}

static int f32_times_2688(const uint8_t *src, uint64_t n, uint8_t *dst,
                          int forward)
{
    for (uint64_t i = 0; i < n; i++) {
        float x;
        memcpy(&x, src + 4 * i, 4);
        x = forward ? x * 2688.0f : x / 2688.0f;
        memcpy(dst + 4 * i, &x, 4);
    }
    return 0;
}

static const struct {
    const char *name;
    cpu_values values;
} rows[] = {
#define MXO_VALUES(name, from, to, rule, source) {#name, {from, to, name}},
#include <mxoracle/values.def>
#undef MXO_VALUES
};

int cpu_values_total(const cpu_values *v)
{
    return v->move == bf16_to_f32 || v->move == e8m0_to_f32;
}

const cpu_values *cpu_values_of(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i].values;
        }
    }
    return NULL;
}
