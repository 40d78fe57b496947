/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dequant.mx: dialects as rows, and an element times its block's scale.  The
 * product is exact in binary32 (at most eight significant bits), so the one
 * rounding is the one into the destination.  C that CUDA C++ and HIP C++ also
 * accept; who includes it defines DEQUANT_ROUND(to, x), x rounded to the type
 * of a result, and the numbers of the types.  docs/ops/dequant.mx.md
 */
#ifndef BACKENDS_DEQUANT_DIALECT_H
#define BACKENDS_DEQUANT_DIALECT_H

#include "codes.h"

/* Departures from OCP's reading of a scale byte and from its product. */
enum {
    DIALECT_ZERO = 1,     /* byte 0 is 0, not 2^-127 */
    DIALECT_INF = 2,      /* byte 255 is infinity, not NaN */
    DIALECT_CLAMP = 4,    /* infinities become the largest finite value */
    DIALECT_FIRST = 8,    /* the factor is rounded to the destination type */
    DIALECT_BF16 = 16,    /* the product passes through BF16; F16: as FIRST */
    DIALECT_CAP15 = 32,   /* F16: the factor is at most 2^15 */
    DIALECT_DOUBLED = 64, /* twice the element, half the factor: no special
                             255 */
    DIALECT_WRAP = 128,   /* exponent fields added modulo 2^16 */
    DIALECT_ONLY_F32 = 256,
    DIALECT_ONLY_BF16 = 512,
    DIALECT_NOT_F32 = 1024,
    DIALECT_ONLY_E2M1 = 2048,
    DIALECT_QUARTER = 4096,   /* the factor is a quarter of the scale */
    DIALECT_LOW = 8192,       /* 2^-119 of the scale, whose byte is <= 247 */
    DIALECT_POSITIVE = 16384, /* zeros are +0; of a call, too */
    DIALECT_CAPPED = 32768    /* a byte above 247 is 247 */
};

enum { DIALECT_TO_BF16, DIALECT_TO_F16, DIALECT_TO_F32 };

typedef struct dialect_row {
    const char *name;
    uint32_t flags;
} dialect_row;

static const dialect_row dialect_rows[] = {
    {"ocp", 0},
    {"shift", DIALECT_ZERO | DIALECT_INF},
    {"triton35_torch", DIALECT_ZERO | DIALECT_INF},
    {"triton36_torch", DIALECT_ZERO | DIALECT_INF | DIALECT_CLAMP},
    {"triton35_kernel", DIALECT_ZERO | DIALECT_FIRST},
    {"triton36_kernel", DIALECT_ZERO | DIALECT_BF16 | DIALECT_CLAMP},
    {"triton_subnormal", DIALECT_BF16 | DIALECT_CLAMP},
    {"triton_matmul",
     DIALECT_ZERO | DIALECT_INF | DIALECT_FIRST | DIALECT_ONLY_BF16},
    {"quark_hip",
     DIALECT_INF | DIALECT_FIRST | DIALECT_CAP15 | DIALECT_NOT_F32},
    {"quark_triton", DIALECT_ZERO | DIALECT_FIRST | DIALECT_NOT_F32},
    {"vllm_cpu", DIALECT_WRAP | DIALECT_ONLY_BF16 | DIALECT_ONLY_E2M1},
    {"marlin", DIALECT_ZERO | DIALECT_INF | DIALECT_FIRST | DIALECT_ONLY_BF16 |
                   DIALECT_ONLY_E2M1},
    {"vllm_mxfp8", DIALECT_INF | DIALECT_ONLY_BF16},
    {"ldexp", DIALECT_INF | DIALECT_FIRST},
    {"ggml",
     DIALECT_DOUBLED | DIALECT_POSITIVE | DIALECT_ONLY_F32 | DIALECT_ONLY_E2M1},
    {"transformers", DIALECT_DOUBLED | DIALECT_ONLY_E2M1},
    {"ocp_bf16", DIALECT_FIRST | DIALECT_ONLY_BF16},
    {"xpu", DIALECT_ZERO | DIALECT_INF | DIALECT_FIRST | DIALECT_NOT_F32 |
                DIALECT_ONLY_E2M1},
    {"humming", DIALECT_ZERO | DIALECT_INF | DIALECT_QUARTER |
                    DIALECT_ONLY_BF16 | DIALECT_ONLY_E2M1},
    {"b12x", DIALECT_ZERO | DIALECT_LOW | DIALECT_POSITIVE | DIALECT_ONLY_BF16 |
                 DIALECT_ONLY_E2M1},
    {"b12x_mx", DIALECT_CAPPED | DIALECT_ONLY_E2M1},
};

/* NULL if there is no such rule. */
static inline const dialect_row *dialect_of(const char *name)
{
    for (size_t i = 0; i < sizeof dialect_rows / sizeof dialect_rows[0]; i++) {
        if (strcmp(dialect_rows[i].name, name) == 0) {
            return &dialect_rows[i];
        }
    }
    return NULL;
}

/* Whether a rule turns an element into this type. */
static inline int dialect_may(uint32_t flags, int is_e2m1, int to)
{
    return !((flags & DIALECT_ONLY_F32) != 0 && to != DIALECT_TO_F32) &&
           !((flags & DIALECT_ONLY_BF16) != 0 && to != DIALECT_TO_BF16) &&
           !((flags & DIALECT_NOT_F32) != 0 && to == DIALECT_TO_F32) &&
           !((flags & DIALECT_ONLY_E2M1) != 0 && !is_e2m1);
}

CODES_FN float dialect_float(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

CODES_FN uint32_t dialect_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* 2^e as binary32: 0 and infinity beyond its range. */
CODES_FN float dialect_power(int e)
{
    if (e > 127) {
        return dialect_float(0x7f800000u);
    }
    return e >= -126   ? dialect_float((uint32_t)(e + 127) << 23)
           : e >= -149 ? dialect_float(1u << (e + 149))
                       : 0.0f;
}

/* What a scale byte multiplies by. */
CODES_FN float dialect_factor(uint32_t flags, int to, int byte)
{
    const int first = (flags & DIALECT_FIRST) != 0 ||
                      ((flags & DIALECT_BF16) != 0 && to == DIALECT_TO_F16);
    const int top = (flags & DIALECT_CAPPED) != 0 ? 247 : 255;
    byte = byte < top ? byte : top;
    float f = dialect_power(byte - 127);

    if ((flags & DIALECT_DOUBLED) != 0) {
        return dialect_power(byte - 128);
    }
    if ((flags & DIALECT_LOW) != 0) { /* byte 0 is far below every number */
        return byte == 0 ? 0 : dialect_power((byte < 247 ? byte : 247) - 246);
    }
    if ((flags & DIALECT_QUARTER) != 0) {
        f = dialect_power(byte - 129);
    }
    if (byte == 0 && (flags & DIALECT_ZERO) != 0) {
        f = 0;
    }
    if (byte == 255) {
        f = dialect_float((flags & DIALECT_INF) != 0 ? 0x7f800000u
                                                     : 0x7fc00000u);
    }
    if ((flags & DIALECT_CAP15) != 0 && to == DIALECT_TO_F16 && f > 0x1p15f) {
        f = 0x1p15f;
    }
    return first ? DEQUANT_ROUND(to, f) : f;
}

/* BF16 patterns with the scale added to the exponent field, no care taken. */
CODES_FN float dialect_wrapped(uint32_t flags, float value, int byte)
{
    const uint32_t pattern = dialect_bits(value) >> 16;
    const uint32_t sum = (pattern + (((uint32_t)byte - 127u) << 7)) & 0xffffu;
    const int none = (pattern & 0x7fffu) == 0 ||
                     ((flags & DIALECT_POSITIVE) != 0 && sum == 0x8000u);

    return none ? 0 : dialect_float(sum << 16);
}

/* An element under a byte, whose factor is at hand: a number of the result's
   type, or a pattern of BF16 above that of zeros. */
CODES_FN float dialect_value(uint32_t flags, int to, float value, float factor,
                             int byte)
{
    float y = ((flags & DIALECT_DOUBLED) != 0 ? 2.0f * value : value) * factor;

    if ((flags & DIALECT_WRAP) != 0) {
        return dialect_wrapped(flags, value, byte);
    }
    if (y != y) {
        return dialect_float(0x7fc00000u);
    }
    if ((flags & DIALECT_BF16) != 0 && to == DIALECT_TO_F32) {
        y = DEQUANT_ROUND(DIALECT_TO_BF16, y);
    }
    y = DEQUANT_ROUND(to, y);
    if ((flags & DIALECT_CLAMP) != 0 && y - y != 0) {
        const uint32_t most = to == DIALECT_TO_F32    ? 0x7f7fffffu
                              : to == DIALECT_TO_BF16 ? 0x7f7f0000u
                                                      : 0x477fe000u;
        y = dialect_float(most | (dialect_bits(y) & 0x80000000u));
    }
    return (flags & DIALECT_POSITIVE) != 0 && y == 0 ? 0 : y;
}

#endif
