/* SPDX-License-Identifier: Apache-2.0 */
/* The argument of the kernels of quant.mx, and the words of a vector. */
#ifndef GPU_QUANT_ARGS_H
#define GPU_QUANT_ARGS_H

#include "port/device.h"

/* How a rule treats what is not ordinary; rows are in plan_quant.c. */
typedef struct quant_rule {
    uint32_t amax_floor, ratio_floor; /* binary32 patterns */
    uint8_t amax_nan, from, exponent, low, high;
    int16_t nan, inf, carry; /* bytes; QUANT_FORMULA: exponent field 255 */
    uint16_t flags;
    uint8_t tie, sat, code_nan, zero; /* for the element's class */
} quant_rule;

/* The element format, as the rounding needs it. */
typedef struct quant_format {
    uint32_t mbits;
    uint32_t emin;  /* minus the exponent of the smallest normal */
    uint32_t emax;  /* exponent of the largest number */
    uint32_t max;   /* its code */
    uint32_t width; /* bits below the sign */
    uint32_t nan;   /* code of a NaN without sign; 0: the format has none */
    uint32_t inf;   /* code of an overflow that does not saturate */
    uint32_t fnuz;  /* no -0; the only NaN has the sign's pattern */
    float max_value;
} quant_format;

typedef struct quant_args {
    const void *x;
    void *q;
    uint8_t *scale;
    uint64_t n;   /* vectors of 16 bytes in x */
    uint32_t add; /* fast path: byte = ((bits + add) >> 23) - offset */
    uint32_t offset;
    uint32_t add_two;   /* the upper half of add, in both halves */
    uint32_t zero_byte; /* byte of a block of zeros */
    uint32_t tie_add;   /* rounding: (w + tie_add + odd bit) >> shift */
    uint32_t tie_odd;   /* 1: the odd bit counts (nearest even) */
    uint32_t limit;     /* largest code of the fast path */
    uint32_t plain;     /* 1: codes need nothing more */
    uint32_t tiles;     /* 0: linear; 128 or 8: rows of a tile of scales */
    gpu_divisor cols;   /* scales in a row */
    quant_format f;
    quant_rule rule;
} quant_args;

enum { QUANT_STEPS = 4 };
enum { QUANT_BF16, QUANT_F16, QUANT_F32 };

/* Lanes that share a block of 32, and elements per lane. */
#define QUANT_LANES(from) ((from) == QUANT_F32 ? 8 : 4)
#define QUANT_PER_LANE(from) (32 / QUANT_LANES(from))

/* Codes of one vector: up to 64 bits, the first element lowest. */
typedef struct quant_codes {
    uint32_t w[2];
} quant_codes;

/* Where scale b of the flat order lies. */
GPU_FN uint64_t quant_scale_at(const quant_args *a, uint64_t b)
{
    if (a->tiles == 0) {
        return b;
    }
    const uint32_t r = gpu_quotient((uint32_t)b, a->cols);
    const uint32_t c = (uint32_t)b - r * a->cols.by;
    const uint64_t per_row = (a->cols.by + 3) / 4; /* tiles side by side */

    if (a->tiles == 128) {
        return (r / 128 * per_row + c / 4) * 512 + r % 32 * 16 +
               r % 128 / 32 * 4 + c % 4;
    }
    return (r / 8 * per_row + c / 4) * 32 + r % 8 * 4 + c % 4;
}

#endif
