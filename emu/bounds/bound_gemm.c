/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums whose order is not declared.  Every partial sum, in any tree, is a sum
 * over a subset of the products, and so at most M = (S + |y|) / 2 in size,
 * where S is the sum of magnitudes.  Each rounding loses a share of that.
 */
#include "bound.h"

enum { UNITS = 40 }; /* losses are counted in 2^-40 */

#define ONE 0x3f800000u
#define SIGN 0x80000000u

/* Sums of one output, or of one block of it. */
typedef struct sums {
    mxo_dot value; /* of the centres */
    mxo_dot magnitude;
    mxo_dot radius;
    bound_terms terms;
    int is_raised;
    int is_wild;
    int is_nan;    /* a weight is */
    int is_narrow; /* no product has more than 24 bits */
} sums;

/* A block of a column's weights. */
typedef struct weights {
    mxo_dot_block value;
    mxo_dot_block size;
    bound_nonzero live;
    int is_nan; /* one of them is */
} weights;

/* Whether a NaN is among the numbers: its products are NaN. */
static int has_nan(const mxo_dot_block *x)
{
    int found = 0;

    for (int i = 0; x->kind == MXO_DOT_SPECIAL && i < MXO_DOT_BLOCK; i++) {
        found |= x->cls[i] == MXO_CLASS_NAN;
    }
    return found;
}

/* Magnitudes, and which are not zero: four bits stay four bits. */
static int weight_sizes(weights *w, int least)
{
    const mxo_dot_block *from = &w->value;
    mxo_dot_block *to = &w->size;

    w->live = bound_nonzero_of(from);
    w->is_nan = has_nan(from);
    if (!from->is_short || from->exp < least) {
        return bound_operand(to, from, least);
    }
    for (int i = 0; i < MXO_DOT_BLOCK; i++) {
        const int16_t x = from->digit[0][i];
        to->digit[0][i] = (int16_t)(x < 0 ? -x : x);
    }
    to->kind = MXO_DOT_ALIGNED;
    to->bits = from->bits;
    to->planes = 1;
    to->is_short = 1;
    to->exp = from->exp;
    to->at[0] = from->at[0];
    return 0;
}

static void start(sums *s, const bound_gemm *b, int r)
{
    mxo_dot_reset(&s->value);
    mxo_dot_reset(&s->magnitude);
    mxo_dot_reset(&s->radius);
    s->terms = (bound_terms){0, INT16_MAX};
    s->is_narrow = b->is_narrow;
    s->is_raised = b->is_raised[r];
    s->is_wild = b->is_wild[r];
    s->is_nan = 0;
}

static void mac(sums *s, const bound_gemm *b, uint64_t at, const weights *w)
{
    const mxo_dot_block *radius = &b->radius[at];

    mxo_dot_mac(&s->value, &b->centre[at], &w->value);
    mxo_dot_mac(&s->magnitude, &b->magnitude[at], &w->size);
    bound_count(&s->terms, b->live[at], w->live);
    s->is_nan |= w->is_nan;
    if (radius->bits != 0) {
        mxo_dot_mac(&s->radius, radius, &w->size);
        s->is_wild |= w->value.kind == MXO_DOT_SPECIAL;
    }
}

/* A positive sum with 24 bits, not less than it was. */
static mxo_real raise(mxo_real x)
{
    if (x.cls == MXO_CLASS_FINITE) {
        const int up = mxo_real_lg(x) - x.exp - 23;
        x.sticky |= up > 0 && (x.mant & ((UINT64_C(1) << up) - 1)) != 0;
        x.mant = (up > 0 ? x.mant >> up : x.mant) + x.sticky;
        x.exp += up > 0 ? up : 0;
    }
    x.sticky = 0;
    return x;
}

static void add_signed(mxo_dot *d, mxo_real x, int neg)
{
    x.neg = (uint8_t)neg;
    mxo_dot_add(d, x);
}

/* x as a binary32 number that is not above it, or not below it. */
static uint32_t outward(mxo_real x, int up)
{
    const mxo_rounding zero = {MXO_TIE_RZ, 0, 0, 0};
    const uint32_t y = (uint32_t)mxo_format_encode(MXO_FMT_F32, x, zero);
    const int cut =
        x.cls == MXO_CLASS_FINITE &&
        (x.sticky || mxo_real_cmp_abs(x, mxo_format_decode(MXO_FMT_F32, y)));

    return cut && x.neg == !up ? y + 1 : y;
}

/* The largest partial sum: half the magnitudes and the sum; the magnitudes if
   they are more than the products'. */
static mxo_real most_of(const sums *s, mxo_real size, mxo_real value)
{
    mxo_dot both;

    mxo_dot_reset(&both);
    mxo_dot_add(&both, size);
    add_signed(&both, s->is_raised ? size : value, 0);
    mxo_real most = raise(mxo_dot_value(&both));

    most.exp--;
    return most;
}

/* Not zero, and not so small that it may be flushed. */
static int is_normal(mxo_real x)
{
    return x.cls == MXO_CLASS_FINITE && mxo_real_lg(x) >= BOUND_LEAST;
}

/* Can nothing have been lost, for results between these numbers? */
static int is_exact(const sums *s, mxo_real size, mxo_real low, mxo_real high)
{
    const int is_one = s->terms.n == 1 && s->is_narrow;

    return (is_one && is_normal(low) && is_normal(high)) ||
           (!s->is_raised && bound_is_exact(&s->terms, size));
}

static void lose(mxo_dot end[2], const sums *s, uint64_t k, mxo_real most)
{
    const uint64_t loss = bound_loss(s->terms.n, k);
    const int e = bound_binade(most, loss) - UNITS;

    mxo_dot_add_int(&end[0], -(int64_t)loss, e);
    mxo_dot_add_int(&end[1], (int64_t)loss, e);
    /* Results below 2^-126 may be flushed, at each step. */
    mxo_dot_add_int(&end[0], -2 * (int64_t)k - 2, -126);
    mxo_dot_add_int(&end[1], 2 * (int64_t)k + 2, -126);
}

/* Of those that are finite, the sum. */
static mxo_real finite_part(mxo_dot d)
{
    d.nan = 0;
    d.inf[0] = 0;
    d.inf[1] = 0;
    return mxo_dot_value(&d);
}

/* Where a binary32 sum of k such products can be.  One that may overflow on
   its way may be anything: an infinity that is a product, and certain, becomes
   NaN beside one that is not. */
static mxo_span ends_of(const sums *s, uint64_t k)
{
    const mxo_real value = mxo_dot_value(&s->value);
    const mxo_real size = raise(finite_part(s->magnitude));
    const mxo_real radius = raise(mxo_dot_value(&s->radius));
    const int is_point = radius.cls == MXO_CLASS_ZERO;
    const int is_empty = size.cls == MXO_CLASS_ZERO;
    const int is_open = bound_loss(s->terms.n, k) == 0 ||
                        (!is_empty && mxo_real_lg(size) >= 126);

    if (s->is_nan || (value.cls == MXO_CLASS_NAN && !s->is_wild)) {
        return (mxo_span){0x7fc00000u, 0x7fc00000u};
    }
    if (s->is_wild || (is_open && !is_empty)) {
        return mxo_span_anything;
    }
    if (value.cls == MXO_CLASS_INF) {
        const uint32_t y = value.neg ? 0xff800000u : 0x7f800000u;
        return (mxo_span){y, y};
    }
    if (is_empty) {
        return (mxo_span){0, 0};
    }
    mxo_dot end[2] = {s->value, s->value};

    add_signed(&end[0], radius, 1);
    add_signed(&end[1], radius, 0);
    const mxo_real low = raise(is_point ? value : mxo_dot_value(&end[0]));
    const mxo_real high = is_point ? low : raise(mxo_dot_value(&end[1]));
    const int is_low = mxo_real_cmp_abs(low, high) > 0;

    if (!is_exact(s, size, low, high)) {
        lose(end, s, k, most_of(s, size, is_low ? low : high));
    }
    return (mxo_span){outward(mxo_dot_value(&end[0]), 0),
                      outward(mxo_dot_value(&end[1]), 1)};
}

/* Exponent of the smallest normal of a block of weights. */
static int weight_least(const bound_gemm *b, uint64_t row, uint64_t block)
{
    return b->is_native
               ? bound_least(0,
                             b->g->scale[row * layer_blocks(b->g->k) + block])
               : b->least;
}

/* Of the blocks first .. end - 1. */
static void any_column(const bound_gemm *b, const layer_tile *tile,
                       uint64_t row, uint64_t first, uint64_t end, mxo_span *y)
{
    const uint64_t blocks = layer_blocks(b->g->k);
    sums s[LAYER_TILE];
    weights w;

    for (int r = 0; r < tile->rows; r++) {
        start(&s[r], b, r);
    }
    for (uint64_t at = first; at < end; at++) {
        layer_weights_load(b->g, row, at, &w.value);
        const int raised = weight_sizes(&w, weight_least(b, row, at));
        for (int r = 0; r < tile->rows; r++) {
            mac(&s[r], b, (uint64_t)r * blocks + at, &w);
            s[r].is_raised |= raised;
        }
    }
    for (int r = 0; r < tile->rows; r++) {
        y[r] = ends_of(&s[r], b->g->k);
    }
}

/* Result of an operation on both ends.  A NaN is certain only if the operand
   was a point. */
static mxo_span tidy(mxo_span before, mxo_span after)
{
    const int is_sure = mxo_span_is_point(before);

    return !is_sure && (mxo_f32_is_nan(after.lo) || mxo_f32_is_nan(after.hi))
               ? mxo_span_anything
               : after;
}

/* acc = fma(partial, scale, acc); the scale is not negative. */
static mxo_span fma_scale(mxo_span partial, uint32_t scale, mxo_span acc)
{
    if (mxo_f32_is_nan(scale) ||
        (mxo_span_is_point(acc) && mxo_f32_is_nan(acc.lo)) ||
        (mxo_span_is_point(partial) && mxo_f32_is_nan(partial.lo))) {
        return (mxo_span){0x7fc00000u, 0x7fc00000u};
    }
    const mxo_span y = {mxo_f32_fma(partial.lo, scale, acc.lo),
                        mxo_f32_fma(partial.hi, scale, acc.hi)};

    return mxo_f32_is_nan(y.lo) || mxo_f32_is_nan(y.hi) ? mxo_span_anything : y;
}

/* The order within a block is open, that of the blocks is not. */
static void block_column(const bound_gemm *b, const layer_tile *tile,
                         uint64_t col, mxo_span *y)
{
    const mxo_dot_matrix m = {MXO_FMT_E2M1, b->g->w, NULL, b->g->k};
    const uint64_t blocks = layer_blocks(b->g->k);
    const uint64_t row = layer_weight_row(b->g, tile, col);
    weights w;
    sums s;

    for (int r = 0; r < tile->rows; r++) {
        y[r] = (mxo_span){0, 0};
    }
    for (uint64_t at = 0; at < blocks; at++) {
        const uint32_t scale = layer_factor(b->g, row, at);
        mxo_dot_load(&w.value, &m, row, at);
        const int raised = weight_sizes(&w, b->is_native ? 0 : b->least);
        for (int r = 0; r < tile->rows; r++) {
            start(&s, b, r);
            s.is_raised |= raised;
            mac(&s, b, (uint64_t)r * blocks + at, &w);
            y[r] = fma_scale(ends_of(&s, MXO_MX_BLOCK), scale, y[r]);
        }
    }
}

/* One number on both ends; only a certain NaN is one. */
mxo_span bound_times(mxo_span x, uint32_t w)
{
    const uint32_t y[2] = {mxo_f32_mul(x.lo, w), mxo_f32_mul(x.hi, w)};

    return mxo_f32_is_nan(w) ? mxo_span_hull(y, 2)
                             : tidy(x, mxo_span_hull(y, 2));
}

mxo_span bound_round(mxo_profile_choice out, mxo_span x)
{
    return (mxo_span){layer_round(out, x.lo), layer_round(out, x.hi)};
}

/* Behind the sum every step may only grow with it. */
static mxo_span finish(const layer_recipe *recipe, mxo_profile_choice out,
                       uint32_t bias, mxo_span x)
{
    layer_recipe r = *recipe;

    if (mxo_f32_is_nan(bias)) {
        return (mxo_span){bias, bias};
    }
    x = r.quant.factor == ONE ? x : bound_times(x, r.quant.factor);
    r.quant.factor = ONE;
    return tidy(x, (mxo_span){layer_finish(&r, out, bias, x.lo),
                              layer_finish(&r, out, bias, x.hi)});
}

static int is_certain_nan(mxo_span x)
{
    return mxo_span_is_point(x) && mxo_f32_is_nan(x.lo);
}

/* x + y, rounded. */
static mxo_span add_part(mxo_profile_choice out, mxo_span x, mxo_span y)
{
    const mxo_span sum = {layer_round(out, mxo_f32_add(x.lo, y.lo)),
                          layer_round(out, mxo_f32_add(x.hi, y.hi))};

    if (is_certain_nan(x) || is_certain_nan(y)) {
        return is_certain_nan(x) ? x : y;
    }
    return mxo_span_is_point(x) ? tidy(y, sum) : tidy(x, sum);
}

/* The bias of two halves comes behind their sum. */
static mxo_span end_parts(const layer_recipe *r, mxo_profile_choice out,
                          uint32_t bias, mxo_span x)
{
    if (is_certain_nan(x) || mxo_f32_is_nan(bias)) {
        return is_certain_nan(x) ? x : (mxo_span){bias, bias};
    }
    return tidy(x, (mxo_span){layer_end_parts(r, out, bias, x.lo),
                              layer_end_parts(r, out, bias, x.hi)});
}

/* Parts of K in any order, each rounded by itself. */
static void parted_column(const bound_gemm *b, const layer_tile *tile,
                          uint64_t row, mxo_profile_choice out, uint32_t bias,
                          mxo_span *y)
{
    const layer_gemm *g = b->g;
    const uint64_t n = layer_parts(g);
    mxo_span part[LAYER_TILE];

    for (uint64_t i = n; i-- > 0;) {
        const layer_recipe one = layer_part_recipe(g->recipe, i + 1 == n);
        any_column(b, tile, row, layer_part_at(g, i), layer_part_at(g, i + 1),
                   part);
        for (int r = 0; r < tile->rows; r++) {
            const mxo_span x = finish(
                &one, out, one.bias == MXO_P_BIAS1_NONE ? 0 : bias, part[r]);
            y[r] = i + 1 == n ? x : add_part(out, y[r], x);
        }
    }
    for (int r = 0; r < tile->rows; r++) {
        y[r] = end_parts(g->recipe, out, bias, y[r]);
    }
}

void bound_gemm_column(const bound_gemm *b, const layer_tile *tile,
                       uint64_t col, mxo_profile_choice out, mxo_span *y)
{
    const uint64_t row = layer_weight_row(b->g, tile, col);
    const uint32_t bias =
        b->g->recipe->bias == MXO_P_BIAS1_NONE ? 0 : layer_bias_at(b->g, row);

    if (layer_parts(b->g) > 1) {
        parted_column(b, tile, row, out, bias, y);
        return;
    }
    if (b->g->recipe->scale_at == MXO_P_SCALE_AT_BLOCK) {
        block_column(b, tile, col, y);
    } else {
        any_column(b, tile, row, 0, layer_blocks(b->g->k), y);
    }
    for (int r = 0; r < tile->rows; r++) {
        y[r] = finish(b->g->recipe, out, bias, y[r]);
    }
}
