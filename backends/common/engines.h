/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of other engines for blocks of E2M1: llama.cpp's int8 activations and
 * its product with them, compressed-tensors' exponent and packer, NVFP4 of four
 * engines.  Steps of binary32, each rounded; C that CUDA C++ and HIP
 * C++ also accept.  docs/ops/ has the steps.
 */
#ifndef BACKENDS_ENGINES_H
#define BACKENDS_ENGINES_H

#include "codes.h"

typedef enum engines_op {
    ENGINES_EXPONENT, /* quant.mx_exponent */
    ENGINES_SCALED,   /* quant.scaled */
    ENGINES_NVFP4,    /* dequant.nvfp4_engine */
    ENGINES_Q8_0,     /* quant.q8_0 */
    ENGINES_DOT       /* gemm.q8_0 */
} engines_op;

enum {
    ENGINES_GGML,
    ENGINES_MLX,
    ENGINES_MLX_GLOBAL,
    ENGINES_COMPRESSED_TENSORS,
    ENGINES_MODELOPT
};

typedef struct engines_job {
    const void *x, *scale, *global, *w, *w_scale;
    void *y, *y_scale;
    uint64_t n;       /* elements, bytes, blocks or products: units of y */
    uint64_t k, cols; /* of a product */
    uint32_t op, rule, bytes;
    uint32_t group;  /* elements under a scale */
    uint32_t chunks; /* bytes of a block that the repacked product adds up */
    uint32_t half, offset; /* of quant.mx_exponent: added, subtracted */
    codes_format from, to, e2m1, e4m3, f16, f32;
} engines_job;

CODES_FN float engines_float(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, 4);
    return x;
}

CODES_FN uint32_t engines_bits(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, 4);
    return bits;
}

CODES_FN uint64_t engines_round(const engines_job *a, const codes_format *f,
                                float x)
{
    return codes_write(f, codes_read(&a->f32, engines_bits(x)), CODES_RNE, 0, 0,
                       0);
}

/* A code of a narrower format: exact. */
CODES_FN float engines_value(const engines_job *a, const codes_format *f,
                             uint64_t code)
{
    return engines_float((uint32_t)codes_write(&a->f32, codes_read(f, code),
                                               CODES_RNE, 0, 0, 0));
}

/* bfloat16 is the high half of binary32. */
CODES_FN float engines_load(const engines_job *a, uint64_t i)
{
    const uint64_t code = codes_load(a->x, a->bytes, i);

    return a->from.bias == a->f32.bias && a->from.special == CODES_IEEE
               ? engines_float((uint32_t)code << (23 - a->from.mbits))
               : engines_value(a, &a->from, code);
}

/* Half of ggml's unsigned E4M3 byte: the sign counts only at 7f and ff. */
CODES_FN float engines_half_e4m3(const engines_job *a, uint32_t byte)
{
    if ((byte & 127) == 127) {
        return byte == 127 ? 0.0f : 240.0f;
    }
    return engines_value(a, &a->e4m3, byte & 127) * 0.5f;
}

CODES_FN float engines_nvfp4(const engines_job *a, uint32_t code, uint32_t byte)
{
    const float element = engines_value(a, &a->e2m1, code);
    const float positive = code == 8 ? 0.0f : element;
    const float scale = engines_value(a, &a->e4m3, byte);
    const float global =
        a->global == NULL
            ? 1.0f
            : engines_float((uint32_t)codes_load(a->global, 4, 0));
    float s;

    switch (a->rule) {
    case ENGINES_GGML:
        s = engines_half_e4m3(a, byte);
        return positive * 2.0f * s;
    case ENGINES_MLX:
        return element * scale;
    case ENGINES_MLX_GLOBAL:
        s = global / 2688.0f;
        s = scale * s;
        return element * s;
    case ENGINES_COMPRESSED_TENSORS:
        s = scale / global;
        return element * s;
    default:
        s = scale * global;
        return positive * s;
    }
}

/* log2 of the exponent field of a maximum, half up behind the mantissa bits
   that count; fields 0 and 255 are zero and infinity, and 256 is -0. */
CODES_FN float engines_exponent(const engines_job *a, uint64_t i)
{
    const uint32_t bits = (uint32_t)codes_load(a->x, 4, i) & 0x7fffffffu;
    const uint32_t field = (bits + a->half) >> 23;

    if (field >= 255) {
        return engines_float(field == 255 ? 0x7f800000u : 0xff800000u);
    }
    return field == 0 ? engines_float(0xff800000u)
                      : (float)((int32_t)field - (int32_t)a->offset);
}

CODES_FN uint32_t engines_scaled(const engines_job *a, uint64_t i)
{
    const codes_format bf16 = {7, 127, 15, CODES_IEEE, 0x7f7f};
    const float x = engines_load(a, i);
    float by = engines_value(
        a, a->global == NULL ? &bf16 : &a->e4m3,
        codes_load(a->scale, a->global == NULL ? 2 : 1, i / a->group));

    if (a->global != NULL) {
        by = by / engines_float((uint32_t)codes_load(a->global, 4, 0));
    }
    const float quotient = x / by;
    const float typed =
        a->global != NULL || quotient != quotient
            ? quotient
            : engines_value(a, &a->from, engines_round(a, &a->from, quotient));

    if (typed != typed) { /* the sign of a NaN that is cast to BF16 */
        return a->from.mbits == 7 ? 8 : 0;
    }
    if (typed == 0) {
        return 0;
    }
    return (uint32_t)codes_write(
        &a->e2m1, codes_read(&a->f32, engines_bits(typed)), CODES_RNE, 1, 0, 0);
}

/* A block of 32 as int8, ties away from zero. */
CODES_FN void engines_q8_0(const engines_job *a, uint64_t block)
{
    float amax = 0;

    for (uint64_t i = 32 * block; i < 32 * block + 32; i++) {
        const float x = engines_load(a, i);
        const float size = x < 0 ? -x : x;
        amax = size > amax ? size : amax;
    }
    const float d = amax / 127.0f;
    const float by = d == 0 ? 0.0f : 1.0f / d;

    for (uint64_t i = 32 * block; i < 32 * block + 32; i++) {
        const float y = engines_load(a, i) * by;
        const float size = y < 0 ? -y : y;
        int32_t n = size < 127 ? (int32_t)size : size >= 127 ? 127 : 0;

        n += n < 127 && size - (float)n >= 0.5f;
        ((int8_t *)a->y)[i] = (int8_t)(y < 0 ? -n : n);
    }
    codes_store(a->y_scale, 2, block, engines_round(a, &a->f16, d));
}

/* Twice the value of an E2M1 code: 0 1 2 3 4 6 8 12, and those below 0. */
CODES_FN int32_t engines_doubled(uint32_t code)
{
    const int32_t m = (int32_t)(code & 7);
    const int32_t doubled = m < 4 ? m : (m % 2 + 2) << (m / 2 - 1);

    return (code & 8) != 0 ? -doubled : doubled;
}

/* Doubled codes of column c times activations of row r, n of them. */
CODES_FN int32_t engines_partial(const engines_job *a, uint64_t r, uint64_t c,
                                 uint64_t first, uint64_t n)
{
    const int8_t *const q = (const int8_t *)a->x + r * a->k;
    int32_t sum = 0;

    for (uint64_t i = first; i < first + n; i++) {
        sum +=
            engines_doubled((uint32_t)codes_load(a->w, 0, c * a->k + i)) * q[i];
    }
    return sum;
}

/* Half of the weight's scale. */
CODES_FN float engines_w_scale(const engines_job *a, uint64_t c, uint64_t b)
{
    const uint32_t byte =
        (uint32_t)codes_load(a->w_scale, 1, c * (a->k / a->group) + b);

    return a->group == 16
               ? engines_half_e4m3(a, byte)
               : engines_float(byte < 2 ? 0x200000u << byte : (byte - 1) << 23);
}

CODES_FN float engines_dot(const engines_job *a, uint64_t i)
{
    const uint64_t r = i / a->cols;
    const uint64_t c = i % a->cols;
    float sum = 0;

    for (uint64_t b = 0; b < a->k / a->group; b++) {
        const float half = engines_w_scale(a, c, b);
        const float d = engines_value(
            a, &a->f16,
            codes_load(a->scale, 2, r * (a->k / 32) + b * a->group / 32));
        const uint64_t first = b * a->group;
        const float both = d * half;

        if (a->chunks == 0) {
            const float product =
                both * (float)engines_partial(a, r, c, first, a->group);
            sum = sum + product;
        }
        for (uint64_t at = 0; at < 16 && a->chunks != 0; at += a->chunks) {
            const int32_t n =
                engines_partial(a, r, c, first + at, a->chunks) +
                engines_partial(a, r, c, first + 16 + at, a->chunks);
            const float part = (float)n * half;
            const float product = part * d;
            sum = sum + product;
        }
    }
    return sum;
}

CODES_FN void engines_put(const engines_job *a, uint64_t i)
{
    switch (a->op) {
    case ENGINES_Q8_0:
        engines_q8_0(a, i);
        break;
    case ENGINES_SCALED:
        ((uint8_t *)a->y)[i] = (uint8_t)(engines_scaled(a, 2 * i) |
                                         engines_scaled(a, 2 * i + 1) << 4);
        break;
    case ENGINES_NVFP4:
        codes_store(
            a->y, a->bytes, i,
            engines_round(
                a, &a->to,
                engines_nvfp4(a, (uint32_t)codes_load(a->x, 0, i),
                              (uint32_t)codes_load(a->scale, 1, i / 16))));
        break;
    default:
        codes_store(a->y, 4, i,
                    engines_bits(a->op == ENGINES_DOT
                                     ? engines_dot(a, i)
                                     : engines_exponent(a, i)));
        break;
    }
}

#endif
