/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands that are known up to their ends, as blocks: a centre, a radius,
 * a magnitude, the latter two rounded up to few bits so that 32 products
 * stay in a machine word.
 */
#include "bound.h"

#include <string.h>

enum {
    BITS = 21, /* of a magnitude, before it is rounded up */
    NO_LEAST = INT16_MIN
};

#define SIGN 0x80000000u

static int bits_of(uint32_t u)
{
    int n = 0;

    for (; u != 0; u >>= 1) {
        n++;
    }
    return n;
}

/* Size and exponent of element i; 0 for what is not finite. */
static uint32_t size_at(const mxo_dot_block *x, int i, int *e)
{
    const int is_special =
        x->kind == MXO_DOT_SPECIAL && x->cls[i] != MXO_CLASS_FINITE;
    const int32_t v = mxo_dot_number(x, i);

    *e = x->kind == MXO_DOT_ALIGNED ? x->exp : x->e[i];
    return is_special ? 0 : (uint32_t)(v < 0 ? -v : v);
}

static int32_t ceil_shift(uint32_t u, int shift)
{
    if (shift >= 0) {
        return (int32_t)(u << shift);
    }
    return shift < -31 ? 1
                       : (int32_t)((u >> -shift) +
                                   ((u & ((UINT32_C(1) << -shift) - 1)) != 0));
}

int bound_operand(mxo_dot_block *to, const mxo_dot_block *from, int least)
{
    uint32_t u[MXO_DOT_BLOCK];
    int e[MXO_DOT_BLOCK];
    int top = INT16_MIN;
    int raised = 0;

    for (int i = 0; i < MXO_DOT_BLOCK; i++) {
        u[i] = size_at(from, i, &e[i]);
        if (u[i] != 0 && e[i] + bits_of(u[i]) - 1 < least) {
            raised = 1;
            u[i] = 1;
            e[i] = least;
        }
        const int end = u[i] == 0 ? INT16_MIN : e[i] + bits_of(u[i]);
        top = end > top ? end : top;
    }
    to->kind = MXO_DOT_ALIGNED;
    to->is_short = 0;
    to->bits = top == INT16_MIN ? 0 : BITS + 1;
    to->exp = top == INT16_MIN ? 0 : top - BITS;
    for (int i = 0; i < MXO_DOT_BLOCK; i++) {
        to->v[i] = u[i] == 0 ? 0 : ceil_shift(u[i], e[i] - to->exp);
    }
    mxo_dot_cut(to);
    return raised;
}

int bound_least(int emin, uint8_t byte)
{
    const int least = emin + byte - 127;

    return least > BOUND_LEAST ? least : BOUND_LEAST;
}

/* The same of a block of g->a. */
static int exact_least(const bound_gemm *b, uint64_t row, uint64_t block)
{
    const mxo_dot_matrix *a = &b->g->a;

    return a->scale == NULL
               ? b->least
               : bound_least(b->least,
                             a->scale[row * layer_blocks(a->k) + block]);
}

static void load_exact(bound_gemm *b, uint64_t row, int r, uint64_t block)
{
    const uint64_t at = (uint64_t)r * layer_blocks(b->g->k) + block;

    mxo_dot_load(&b->centre[at], &b->g->a, row, block);
    b->is_raised[r] |= bound_operand(&b->magnitude[at], &b->centre[at],
                                     exact_least(b, row, block));
    memset(&b->radius[at], 0, sizeof b->radius[at]);
    b->live[at] = bound_nonzero_of(&b->centre[at]);
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Not less than |a - b|. */
static uint32_t distance(uint32_t a, uint32_t b)
{
    const uint32_t d = mxo_f32_sub(a, b) & ~SIGN;

    return d == 0 ? 0 : d + 1;
}

/* Any number near the ends will do as a centre: where they differ, one of 22
   bits below the largest of the block (an exponent field), lest 32 products
   need more than a machine word. */
static uint32_t middle(uint32_t lo, uint32_t hi, uint32_t top)
{
    const uint32_t half = 0x3f000000;

    if (lo == hi) {
        return lo;
    }
    const uint32_t x =
        mxo_f32_add(mxo_f32_mul(lo, half), mxo_f32_mul(hi, half));
    const uint32_t drop = top + 2 - (x >> 23 & 0xff);

    return drop > 23 ? 0 : x & ~((UINT32_C(1) << drop) - 1);
}

static uint32_t top_field(const uint32_t *x, uint64_t n)
{
    uint32_t most = 0;

    for (uint64_t i = 0; i < n; i++) {
        most = larger(most, x[i]);
    }
    return most >> 23;
}

static void load_patterns(mxo_dot_block *to, const uint32_t *x, uint64_t n)
{
    const mxo_dot_matrix m = {MXO_FMT_F32, x, NULL, n};

    mxo_dot_load(to, &m, 0, 0);
}

static void load_ends(bound_gemm *b, uint64_t row, int r, uint64_t block)
{
    const uint64_t k = b->rows.k;
    const uint64_t at = (uint64_t)r * layer_blocks(k) + block;
    const uint64_t first = block * MXO_MX_BLOCK;
    const uint64_t n = k - first < MXO_MX_BLOCK ? k - first : MXO_MX_BLOCK;
    const uint32_t *lo = b->rows.lo + row * k + first;
    const uint32_t *hi = b->rows.hi + row * k + first;
    const int least = b->rows.least == NULL
                          ? b->least
                          : b->rows.least[row * layer_blocks(k) + block];
    uint32_t x[3][MXO_MX_BLOCK];
    mxo_dot_block wide;

    for (uint64_t i = 0; i < n; i++) {
        x[1][i] = larger(lo[i] & ~SIGN, hi[i] & ~SIGN);
    }
    const uint32_t top = top_field(x[1], n);

    for (uint64_t i = 0; i < n; i++) {
        const mxo_span s = {lo[i], hi[i]};
        x[0][i] = middle(lo[i], hi[i], top);
        x[2][i] = mxo_span_is_point(s) ? 0
                                       : larger(distance(hi[i], x[0][i]),
                                                distance(x[0][i], lo[i]));
        b->is_wild[r] |= !mxo_span_is_finite(s) && !mxo_span_is_point(s);
    }
    load_patterns(&b->centre[at], x[0], n);
    load_patterns(&wide, x[1], n);
    b->is_raised[r] |= bound_operand(&b->magnitude[at], &wide, least);
    b->live[at] = bound_nonzero_of(&wide);
    load_patterns(&wide, x[2], n);
    (void)bound_operand(&b->radius[at], &wide, NO_LEAST);
    if (b->radius[at].bits != 0) {
        b->live[at].unit = BOUND_NO_UNIT;
    }
}

void bound_gemm_load(bound_gemm *b, const layer_tile *tile)
{
    for (int r = 0; r < tile->rows; r++) {
        b->is_raised[r] = 0;
        b->is_wild[r] = 0;
        for (uint64_t block = 0; block < layer_blocks(b->g->k); block++) {
            if (b->rows.lo == NULL) {
                load_exact(b, tile->row[r], r, block);
            } else {
                load_ends(b, tile->row[r], r, block);
            }
        }
    }
}
