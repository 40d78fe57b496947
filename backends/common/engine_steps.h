/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job and steps of engine_blocks.h: words of engine.def, types, the maximum of
 * a block, the scan over codes.  C that CUDA C++ and HIP C++ also accept.
 */
#ifndef BACKENDS_ENGINE_STEPS_H
#define BACKENDS_ENGINE_STEPS_H

#include "engines.h"
#include "functions_log.h"

typedef enum blocks_op { BLOCKS_MX, BLOCKS_NVFP4, BLOCKS_CAST } blocks_op;

/* The words of engine.def. */
enum { BLOCKS_AMAX, BLOCKS_DIV, BLOCKS_TYPED };
enum {
    BLOCKS_FIELD,
    BLOCKS_UP,
    BLOCKS_HALF,
    BLOCKS_EXACT,
    BLOCKS_DOWN,
    BLOCKS_CEIL,
    BLOCKS_NEAR,
    BLOCKS_LN
};
enum { BLOCKS_WRAP, BLOCKS_CLAMP, BLOCKS_NORMAL, BLOCKS_ONE, BLOCKS_LOST };
enum { BLOCKS_SPAN = 17 }; /* powers of two that E4M3 has below 2^8 */
enum { BLOCKS_SCAN, BLOCKS_RNE, BLOCKS_RNZ };
enum { BLOCKS_KEEP, BLOCKS_PLUS, BLOCKS_MINUS, BLOCKS_ALWAYS };

typedef struct blocks_rule {
    const char *name; /* the host's alone */
    uint32_t base, least, exponent, offset, edge, zero, element, sign;
} blocks_rule;

/* Rules of quant.nvfp4_engine; the first three need no maximum but a block's */
enum {
    BLOCKS_GGML,
    BLOCKS_MLX,
    BLOCKS_MLX_GLOBAL,
    BLOCKS_GGML_CUDA, /* a global scale for each row */
    BLOCKS_MODELOPT   /* and for the tensor */
};

typedef struct blocks_job {
    engines_job in; /* x or q and its scales; formats; outputs q and scale */
    uint64_t n;     /* blocks */
    uint64_t rows, cols;
    float *amax;   /* of rows; in the end, what global holds */
    float *global; /* an output */
    int32_t *blocks;
    uint32_t op;
    uint32_t poisoned;    /* a NaN wins the maximum */
    uint32_t wide;        /* codes have a byte each */
    codes_format type;    /* of the steps */
    codes_format element; /* of TYPED rules */
    blocks_rule rule;
    uint32_t nvfp4;
    int32_t k_max;
    int32_t kept; /* blocks that lose nothing */
} blocks_job;

CODES_FN float blocks_infinity(void)
{
    return engines_float(0x7f800000u);
}

CODES_FN float blocks_write(const blocks_job *j, codes_real x)
{
    return engines_float(
        (uint32_t)codes_write(&j->in.f32, x, CODES_RNE, 0, 0, 0));
}

CODES_FN codes_real blocks_read(const blocks_job *j, float x)
{
    return codes_read(&j->in.f32, engines_bits(x));
}

CODES_FN float blocks_power(const blocks_job *j, int32_t n)
{
    return blocks_write(j, codes_number(1, n, 0));
}

CODES_FN float blocks_size(float x)
{
    return engines_float(engines_bits(x) & 0x7fffffffu);
}

/* x in the type of the steps. */
CODES_FN float blocks_typed(const blocks_job *j, float x)
{
    return j->type.mbits == 23
               ? x
               : engines_value(&j->in, &j->type,
                               engines_round(&j->in, &j->type, x));
}

/* Saturating codes. */
CODES_FN uint32_t blocks_code(const blocks_job *j, const codes_format *f,
                              float x, uint32_t tie)
{
    return (uint32_t)codes_write(f, blocks_read(j, x), tie, 1, 0, 0);
}

CODES_FN uint32_t blocks_e2m1(const blocks_job *j, float x)
{
    return blocks_code(j, &j->in.e2m1, x, CODES_RNE);
}

CODES_FN uint32_t blocks_e4m3(const blocks_job *j, float x)
{
    return blocks_code(j, &j->in.e4m3, x, CODES_RNE);
}

/* Largest magnitude, and whether there is a NaN, which never is it. */
CODES_FN float blocks_amax(const float *x, uint32_t n, int *has_nan)
{
    float amax = 0;

    *has_nan = 0;
    for (uint32_t i = 0; i < n; i++) {
        const float size = blocks_size(x[i]);
        amax = size > amax ? size : amax;
        *has_nan |= x[i] != x[i];
    }
    return amax;
}

/* The first of 16 codes with the least binary32 error under a scale. */
CODES_FN uint32_t blocks_scan(float unit, float x)
{
    const float zero = 0 * unit;
    float least = blocks_size(zero - x);
    uint32_t best = 0;

    for (uint32_t code = 1; code < 16; code++) {
        const float value = (float)engines_doubled(code) * 0.5f;
        const float product = value * unit;
        const float error = blocks_size(product - x);
        if (error < least) {
            least = error;
            best = code;
        }
    }
    return best;
}

#endif
