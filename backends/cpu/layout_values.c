/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What values.def says a layout does to each element, by this backend's own
 * arithmetic.  All of them are exact; a code without an image is refused.
 */
#include "layout_values.h"

#include <string.h>

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
    for (uint64_t i = 0; i < n; i++) {
        uint32_t wide;
        uint16_t code;

        memcpy(&wide, src + 4 * i, 4);
        code = (uint16_t)(wide >> shift);
        if ((uint32_t)code << shift != wide || (size == 1 && code > 255)) {
            return -1;
        }
        if (size == 1) {
            dst[i] = (uint8_t)code;
        } else {
            memcpy(dst + 2 * i, &code, 2);
        }
    }
    return 0;
}

/* The upper half of a binary32. */
static int bf16_to_f32(const uint8_t *src, uint64_t n, uint8_t *dst,
                       int forward)
{
    if (!forward) {
        return narrow_f32(src, n, dst, 16, 2);
    }
    for (uint64_t i = 0; i < n; i++) {
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
    for (uint64_t i = 0; i < n; i++) {
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
    for (uint64_t i = 0; i < n; i++) {
        if (forward ? src[i] > 249 : src[i] < 6) {
            return -1;
        }
        dst[i] = (uint8_t)(forward ? src[i] + 6 : src[i] - 6);
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
