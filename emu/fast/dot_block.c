/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of 32 operands.  What makes the emulator fast enough to judge a
 * layer: E2M1 doubled is an integer of 4 bits, an activation has 8 to 24
 * bits, and the exponents of 32 neighbours rarely spread far.  Aligned to
 * their smallest exponent they are plain integers, and 32 products need no
 * more bits than their own plus five.
 */
#include "../dot/operand.h"

#include <string.h>

enum { V_BITS = 31 };

static uint8_t at_least(uint8_t x, uint8_t least)
{
    return x < least ? least : x;
}

/* Twice the value of a code, 0 1 2 3 4 6 8 12 or its negative, in bytes and
   without a branch, so that compilers take 16 codes at a time. */
static int8_t doubled(uint8_t code)
{
    const uint8_t m = code & 7;
    const uint8_t size =
        (uint8_t)(m + at_least(m, 4) + 2 * at_least(m, 6) - 16);
    const uint8_t neg = (code & 8) == 8 ? 0xff : 0;

    return (int8_t)((size ^ neg) - neg);
}

static int bits_of(uint32_t u)
{
    int n = 0;

    for (int step = 16; step > 0; step /= 2) {
        n += u >> (n + step) != 0 ? step : 0;
    }
    return u == 0 ? 0 : n + 1;
}

void mxo_dot_load_e2m1(mxo_dot_block *block, const uint8_t *codes, int exp)
{
    int8_t twice[MXO_DOT_BLOCK];

    for (int i = 0; i < MXO_DOT_BLOCK / 2; i++) {
        twice[2 * i] = doubled(codes[i]);
        twice[2 * i + 1] = doubled(codes[i] >> 4);
    }
    for (int i = 0; i < MXO_DOT_BLOCK; i++) {
        block->digit[0][i] = twice[i];
    }
    block->exp = exp - 1;
    block->at[0] = (int16_t)block->exp;
    block->planes = 1;
    block->is_short = 1;
    block->bits = 4;
    block->kind = MXO_DOT_ALIGNED;
}

static void put(mxo_dot_block *x, int i, mxo_real r)
{
    x->cls[i] = r.cls;
    x->e[i] = 0;
    x->v[i] = 0;
    if (r.cls == MXO_CLASS_FINITE) {
        /* Without the zeros that a wide format has at the end. */
        for (int step = 16; step > 0; step /= 2) {
            const int zeros = (r.mant & ((UINT64_C(1) << step) - 1)) == 0;
            r.mant >>= zeros ? step : 0;
            r.exp += zeros ? step : 0;
        }
        x->e[i] = (int16_t)r.exp;
        x->v[i] = r.neg ? -(int32_t)r.mant : (int32_t)r.mant;
    } else if (r.cls != MXO_CLASS_ZERO) {
        x->v[i] = r.neg ? -1 : 1;
        x->kind = MXO_DOT_SPECIAL;
    }
}

/* Bring all numbers to the smallest exponent if they stay within V_BITS. */
static void align(mxo_dot_block *x)
{
    int low = INT16_MAX;
    int top = INT16_MIN;

    for (int i = 0; i < MXO_DOT_BLOCK; i++) {
        if (x->v[i] != 0) {
            const uint32_t u = (uint32_t)(x->v[i] < 0 ? -x->v[i] : x->v[i]);
            const int end = x->e[i] + bits_of(u);
            low = x->e[i] < low ? x->e[i] : low;
            top = end > top ? end : top;
        }
    }
    if (low == INT16_MAX) {
        low = top = 0;
    }
    if (top - low > V_BITS) {
        x->kind = MXO_DOT_LOOSE;
        return;
    }
    for (int i = 0; i < MXO_DOT_BLOCK; i++) {
        x->v[i] *= x->v[i] == 0 ? 1 : INT32_C(1) << (x->e[i] - low);
    }
    x->kind = MXO_DOT_ALIGNED;
    x->exp = low;
    x->bits = (uint8_t)(top - low);
}

void mxo_dot_load(mxo_dot_block *block, const mxo_dot_matrix *m, uint64_t row,
                  uint64_t b)
{
    const uint64_t first = b * MXO_DOT_BLOCK;
    const uint64_t left = m->k - first;
    const int n = left < MXO_DOT_BLOCK ? (int)left : MXO_DOT_BLOCK;
    int nan;
    const int exp = mxo_dot_scale_exp(m, row, b, &nan);

    if (m->format == MXO_FMT_E2M1 && n == MXO_DOT_BLOCK && !nan) {
        const uint8_t *bytes = m->codes;
        mxo_dot_load_e2m1(block, bytes + (row * m->k + first) / 2, exp);
        return;
    }
    memset(block, 0, sizeof *block);
    for (int i = 0; i < n; i++) {
        mxo_real r = mxo_format_decode(
            m->format, mxo_dot_code(m, row * m->k + first + (uint64_t)i));
        r.cls = nan ? MXO_CLASS_NAN : r.cls;
        put(block, i, mxo_real_scale(r, exp));
    }
    if (block->kind != MXO_DOT_SPECIAL) {
        align(block);
        mxo_dot_cut(block);
    }
}

static mxo_real real_at(const mxo_dot_block *x, int i)
{
    const int32_t v = mxo_dot_number(x, i);
    const uint64_t mant = (uint64_t)(v < 0 ? -(int64_t)v : v);
    mxo_real r = {mant, x->kind == MXO_DOT_ALIGNED ? x->exp : x->e[i],
                  v == 0 ? MXO_CLASS_ZERO : MXO_CLASS_FINITE, v < 0, 0};

    if (x->kind == MXO_DOT_SPECIAL) {
        r.cls = x->cls[i];
    }
    return r;
}

static void mac_slow(mxo_dot *d, const mxo_dot_block *a, const mxo_dot_block *b,
                     int abs)
{
    for (int i = 0; i < MXO_DOT_BLOCK; i++) {
        mxo_real p = mxo_real_mul(real_at(a, i), real_at(b, i));
        p.neg = abs ? 0 : p.neg;
        mxo_dot_add(d, p);
    }
}

static int64_t sum_of_32(const int32_t *a, const int32_t *b)
{
    int32_t sum = 0;

    for (int i = 0; i < MXO_DOT_BLOCK; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static int64_t sum_of_64(const int32_t *a, const int32_t *b)
{
    int64_t sum = 0;

    for (int i = 0; i < MXO_DOT_BLOCK; i++) {
        sum += (int64_t)a[i] * b[i];
    }
    return sum;
}

static const int32_t *numbers(const mxo_dot_block *x, int32_t *room)
{
    for (int i = 0; x->is_short && i < MXO_DOT_BLOCK; i++) {
        room[i] = x->digit[0][i];
    }
    return x->is_short ? room : x->v;
}

/* Bits that 32 products may need: their own and five for the sum. */
static int bits_needed(const mxo_dot_block *a, const mxo_dot_block *b)
{
    return a->kind == MXO_DOT_ALIGNED && b->kind == MXO_DOT_ALIGNED
               ? a->bits + b->bits + 5
               : INT16_MAX;
}

void mxo_dot_mac_whole(mxo_dot *d, const mxo_dot_block *a,
                       const mxo_dot_block *b)
{
    const int bits = bits_needed(a, b);
    int32_t room[2][MXO_DOT_BLOCK];

    if (bits <= 31) {
        mxo_dot_add_int(d, sum_of_32(numbers(a, room[0]), numbers(b, room[1])),
                        a->exp + b->exp);
    } else if (bits <= 63) {
        mxo_dot_add_int(d, sum_of_64(numbers(a, room[0]), numbers(b, room[1])),
                        a->exp + b->exp);
    } else {
        mac_slow(d, a, b, 0);
    }
}

void mxo_dot_mac_abs(mxo_dot *d, const mxo_dot_block *a, const mxo_dot_block *b)
{
    int32_t room[2][MXO_DOT_BLOCK];
    const int32_t *const u = numbers(a, room[0]);
    const int32_t *const v = numbers(b, room[1]);
    int64_t sum = 0;

    if (bits_needed(a, b) > 63) {
        mac_slow(d, a, b, 1);
        return;
    }
    for (int i = 0; i < MXO_DOT_BLOCK; i++) {
        const int64_t p = (int64_t)u[i] * v[i];
        sum += p < 0 ? -p : p;
    }
    mxo_dot_add_int(d, sum, a->exp + b->exp);
}

void mxo_dot_tile(mxo_dot *sum, mxo_dot *sum_abs, const mxo_dot_matrix *a,
                  const mxo_dot_matrix *b, mxo_dot_rect rect)
{
    mxo_dot_block x[MXO_DOT_TILE_ROWS];
    mxo_dot_block w;

    for (uint64_t n = 0; n < mxo_dot_blocks(a); n++) {
        for (unsigned r = 0; r < rect.rows; r++) {
            mxo_dot_load(&x[r], a, rect.row + r, n);
        }
        for (unsigned i = 0; i < rect.rows * rect.cols; i++) {
            const unsigned c = i / rect.rows;
            const unsigned r = i % rect.rows;
            const unsigned at = r * rect.cols + c;
            if (r == 0) {
                mxo_dot_load(&w, b, rect.col + c, n);
            }
            mxo_dot_mac(&sum[at], &x[r], &w);
            if (sum_abs != NULL) {
                mxo_dot_mac_abs(&sum_abs[at], &x[r], &w);
            }
        }
    }
}
