/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact sums of products.  A sum lives in a fixed point register so wide that
 * no product of two scaled operands can leave it (Kulisch); it is rounded
 * once, when it is read.  Integer addition is associative, so neither order
 * nor blocking nor threads can change a bit (numerics 7.1).
 *
 * Operands come in blocks of 32 numbers.  Where a block's numbers fit one
 * exponent, 32 products are summed in one machine integer before they touch
 * the register; where they do not, every product goes there on its own.
 */
#ifndef MXO_EMU_DOT_DOT_H
#define MXO_EMU_DOT_DOT_H

#include <mxoracle/format.h>

/* Lane i weighs 2^(32 i + MXO_DOT_BASE): room for 2^-576 .. 2^544, where
   the products of two float32, each times a scale byte, end at 2^-552 and
   2^510. */
enum { MXO_DOT_LANES = 36, MXO_DOT_BASE = -576, MXO_DOT_BLOCK = 32 };

typedef struct mxo_dot {
    int64_t lane[MXO_DOT_LANES];
    int32_t exp;    /* the register times 2^exp */
    uint32_t added; /* numbers since the last carry */
    uint8_t nan;
    uint8_t inf[2]; /* an infinity of this sign was added */
} mxo_dot;

void mxo_dot_reset(mxo_dot *d);

/* Add p * 2^exp, |p| < 2^63; a number or a product of any class. */
void mxo_dot_add_int(mxo_dot *d, int64_t p, int exp);
void mxo_dot_add(mxo_dot *d, mxo_real x);
void mxo_dot_add_product(mxo_dot *d, mxo_real a, mxo_real b);

/* Multiply the sum so far by a number of at most 24 bits (a float32). */
void mxo_dot_scale(mxo_dot *d, mxo_real x);

/* The sum: 64 leading bits and what is below as sticky. An exactly zero sum
   is +0; NaN for a NaN, 0 * Inf, or infinities of both signs. */
mxo_real mxo_dot_value(const mxo_dot *d);
/* The same rounded once, nearest even, NaN quiet; to may be any format. */
uint64_t mxo_dot_round(const mxo_dot *d, mxo_format to);

/* How the numbers of a block are held. */
typedef enum mxo_dot_kind {
    MXO_DOT_ALIGNED, /* v[i] * 2^exp */
    MXO_DOT_LOOSE,   /* v[i] * 2^e[i] */
    MXO_DOT_SPECIAL  /* as LOOSE, but some cls[i] is INF or NAN */
} mxo_dot_kind;

/* 32 operands; a short block ends in zeros.  What was loaded may be cut into
   planes too: number i is the sum of digit[p][i] * 2^at[p]. */
enum { MXO_DOT_PLANES = 8 };
typedef struct mxo_dot_block {
    int32_t v[MXO_DOT_BLOCK]; /* not set if is_short */
    int16_t e[MXO_DOT_BLOCK];
    uint8_t cls[MXO_DOT_BLOCK];
    int32_t exp;
    uint8_t bits;     /* of the largest |v| */
    uint8_t kind;     /* mxo_dot_kind */
    uint8_t is_short; /* ALIGNED, one plane, whose digits are the numbers */
    int32_t planes;   /* 0: not cut */
    int16_t at[MXO_DOT_PLANES];
    int16_t digit[MXO_DOT_PLANES][MXO_DOT_BLOCK];
} mxo_dot_block;

static inline int32_t mxo_dot_number(const mxo_dot_block *x, int i)
{
    return x->is_short ? x->digit[0][i] : x->v[i];
}

/* Cut a loaded block into planes, if MXO_DOT_PLANES will do. */
void mxo_dot_cut(mxo_dot_block *x);

/*
 * A matrix of operands, row-major: codes in host byte order, E2M1 two per
 * byte (k even), one scale byte per 32 of k or scale NULL.  Formats: all but
 * F64 and INT8.
 */
typedef struct mxo_dot_matrix {
    mxo_format format;
    const void *codes;
    const uint8_t *scale; /* [rows, ceil(k / 32)], E8M0 as OCP reads it */
    uint64_t k;
} mxo_dot_matrix;

/* Block number b of a row. */
void mxo_dot_load(mxo_dot_block *block, const mxo_dot_matrix *m, uint64_t row,
                  uint64_t b);
/* 32 E2M1 codes times 2^exp. */
void mxo_dot_load_e2m1(mxo_dot_block *block, const uint8_t *codes, int exp);
/* Number i of a row, scale included. */
mxo_real mxo_dot_element(const mxo_dot_matrix *m, uint64_t row, uint64_t i);
/* The scale of block number b of a row; 1 without scales. */
mxo_real mxo_dot_block_scale(const mxo_dot_matrix *m, uint64_t row, uint64_t b);

/* Add the 32 products, or their magnitudes. */
void mxo_dot_mac(mxo_dot *d, const mxo_dot_block *a, const mxo_dot_block *b);
void mxo_dot_mac_abs(mxo_dot *d, const mxo_dot_block *a,
                     const mxo_dot_block *b);

/* A rectangle of outputs: rows [row, row + rows) of a, [col, col + cols) of
   b, at most MXO_DOT_TILE each way. */
enum { MXO_DOT_TILE_ROWS = 4, MXO_DOT_TILE_COLS = 64 };
typedef struct mxo_dot_rect {
    uint64_t row, col;
    unsigned rows, cols;
} mxo_dot_rect;

/*
 * Add all products of the rectangle to sum[r * cols + c], and their
 * magnitudes to sum_abs, which may be NULL.  a and b have one k.
 */
void mxo_dot_tile(mxo_dot *sum, mxo_dot *sum_abs, const mxo_dot_matrix *a,
                  const mxo_dot_matrix *b, mxo_dot_rect rect);

#endif
