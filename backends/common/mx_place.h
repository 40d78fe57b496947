/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where elements, codes and scales of blocks of 32 lie: along any axis of a
 * tensor, padded, in tiles.  C that CUDA C++ and HIP C++ also accept: the CPU
 * backend and the GPU's kernels run these same lines.  From a call to a place:
 * mx_place_call.h.
 */
#ifndef BACKENDS_MX_PLACE_H
#define BACKENDS_MX_PLACE_H

#include "codes.h"

enum {
    MX_ROW_MAJOR,
    MX_TILES_128X4,
    MX_TILES_8X4,
    MX_AITER_SCALES, /* tiles of 32 x 8 */
    MX_AITER_CODES   /* tiles of 16 x 16 bytes */
};

/* An order of a matrix of scales, or of bytes of codes. */
typedef struct mx_order {
    uint32_t kind;
    uint32_t gate_up;            /* 16 rows of each half by turns */
    uint32_t row_pad, col_pad;   /* rounded up to multiples */
    uint32_t row_need, col_need; /* multiples to begin with */
    uint32_t flat;               /* the result has one axis */
    uint32_t holes;              /* padding is nobody's: scale_valid */
} mx_order;

typedef struct mx_place {
    uint64_t outer, len, inner; /* of the elements */
    uint64_t padded;            /* len after alignment */
    uint64_t blocks;            /* scales along the axis */
    uint64_t rows; /* of a matrix of scales that has its own tiles */
    uint64_t sf_rows, sf_cols; /* of that with its padding */
    uint64_t n;                /* scales with all padding */
    uint32_t packed;           /* two codes a byte, along the axis */
    mx_order sf, q;
} mx_place;

/* A block, or a place of padding among the scales. */
typedef struct mx_block {
    uint64_t o, b, i; /* line (o, i), block b of it */
    uint64_t at;      /* of its scale */
    uint32_t exists;
} mx_block;

CODES_FN uint64_t mx_offset(const mx_order *order, uint64_t rows, uint64_t cols,
                            uint64_t r, uint64_t c)
{
    if (order->gate_up) {
        const uint64_t up = r >= rows / 2;
        const uint64_t at = r - up * (rows / 2);
        r = (at / 16 * 2 + up) * 16 + at % 16;
    }
    switch (order->kind) {
    case MX_TILES_128X4:
        return (r / 128 * (cols / 4) + c / 4) * 512 + r % 32 * 16 +
               r % 128 / 32 * 4 + c % 4;
    case MX_TILES_8X4:
        return (r / 8 * (cols / 4) + c / 4) * 32 + r % 8 * 4 + c % 4;
    case MX_AITER_SCALES:
        return r / 32 * 32 * cols + c / 8 * 256 + c % 4 * 64 + r % 16 * 4 +
               c % 8 / 4 * 2 + r % 32 / 16;
    case MX_AITER_CODES:
        return r / 16 * 16 * cols + c / 16 * 256 + r % 16 * 16 + c % 16;
    default:
        return r * cols + c;
    }
}

/* Scale t of n. */
CODES_FN mx_block mx_block_of(const mx_place *p, uint64_t t)
{
    const uint64_t c = t / p->inner % p->sf_cols;
    const uint64_t line = t / p->inner / p->sf_cols;
    const uint64_t r = line % p->sf_rows;
    const uint64_t matrix = line / p->sf_rows;
    mx_block b;

    b.o = matrix * p->rows + r;
    b.b = c;
    b.i = t % p->inner;
    b.at = t;
    b.exists = r < p->rows && c < p->blocks;
    if (p->inner == 1) {
        b.at = matrix * p->sf_rows * p->sf_cols +
               mx_offset(&p->sf, p->rows, p->sf_cols, r, c);
    }
    return b;
}

/* Elements of a block that there are, or codes with those of the padding. */
CODES_FN uint32_t mx_count(const mx_block *b, uint64_t len)
{
    const uint64_t first = 32 * b->b;

    return first >= len ? 0 : len - first < 32 ? (uint32_t)(len - first) : 32;
}

CODES_FN uint64_t mx_element_at(const mx_place *p, const mx_block *b,
                                uint32_t k)
{
    return (b->o * p->len + 32 * b->b + k) * p->inner + b->i;
}

/* Byte of code k of a block; packed: of codes k and k + 1. */
CODES_FN uint64_t mx_code_at(const mx_place *p, const mx_block *b, uint32_t k)
{
    const uint64_t bytes = p->packed ? p->padded / 2 : p->padded;
    const uint64_t at = (32 * b->b + k) / (p->packed ? 2 : 1);

    return p->inner == 1 ? mx_offset(&p->q, p->outer, bytes, b->o, at)
                         : (b->o * bytes + at) * p->inner + b->i;
}

#endif
