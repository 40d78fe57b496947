/* SPDX-License-Identifier: Apache-2.0 */
/* The layer's single numbers: sums, biases, units, weights, combinations,
   each with the faults that lived there. */
#include "layer.h"

#include <math.h>
#include <string.h>

/* The nearest number of a format, by its codes. */
static double nearest(uint32_t dtype, dd x)
{
    static const broken faultless;
    const number_format *f = broken_format_of(dtype);

    return broken_decode(&faultless, f, broken_round(f, x));
}

/* Normal results: 45 bits of the double go, ties to even; zeros are many. */
double broken_bf16(double x)
{
    uint64_t bits;

    if (x == 0) {
        return x;
    }
    if (!(fabs(x) >= 0x1p-126 && fabs(x) < 0x1p127)) {
        return nearest(MXO_BF16, broken_dd(x));
    }
    memcpy(&bits, &x, sizeof bits);
    bits += ((uint64_t)1 << 44) - 1 + (bits >> 45 & 1);
    bits &= ~(((uint64_t)1 << 45) - 1);
    memcpy(&x, &bits, sizeof x);
    return x;
}

double broken_to_f32(dd x)
{
    return x.lo == 0 ? (double)(float)x.hi : nearest(MXO_F32, x);
}

/* FP16, and what is made of it where only bf16 is known. */
static double to_half(const broken *b, dd x)
{
    const double y = IS(MF01) && x.lo == 0 ? broken_bf16(x.hi) : x.hi;
    const double z = nearest(MXO_F16, (dd){y, y == x.hi ? x.lo : 0});

    if (IS(MF02) && isinf(z) && isfinite(x.hi)) {
        return copysign(65504, z);
    }
    return IS(MF03) && fabs(z) < 0x1p-14 ? copysign(0, z) : z;
}

double broken_to(const broken *b, const number_format *f, dd x)
{
    if (f->mbits == 23) {
        return broken_to_f32(x);
    }
    if (f->mbits == 10) {
        return to_half(b, x);
    }
    return x.lo == 0 ? broken_bf16(x.hi) : nearest(MXO_BF16, x);
}

double broken_flushed(double x)
{
    return fabs(x) < 0x1p-126 ? copysign(0, x) : x;
}

double broken_round_as(const broken *b, const number_format *f, round_kind kind,
                       double x)
{
    if (kind == ROUND_DOWN) {
        x = broken_flushed(x);
    }
    const double y = broken_to(b, f, broken_dd(x));

    return kind == ROUND_SATURATE && isinf(y) ? copysign(broken_largest(f), y)
                                              : y;
}

/* Flushed on the way in and on the way out. */
static double add_flushed(double y, double bias)
{
    return broken_flushed(
        (double)(float)(broken_flushed(y) + broken_flushed(bias)));
}

int broken_expert(const broken *b, const layer *l, uint64_t i)
{
    const uint64_t pair = IS(ME11) && i % l->topk == 1 ? i - 1 : i;
    int id = broken_load_i32(l->ids, pair);

    if (l->map != NULL && id >= 0 && !IS(ME02)) {
        id = broken_load_i32(l->map, (uint64_t)id);
        if (IS(ME01) && id >= 0) {
            id = broken_load_i32(l->map, (uint64_t)id);
        }
    }
    id = broken_slice_fault(b, l, id >= (int)l->experts ? -1 : id);
    if (IS(ME04) && id < 0) {
        return 0;
    }
    if ((IS(ME06) && id == (int)l->experts - 1 && id > 0) ||
        (IS(MG11) && id > 0)) {
        return -1;
    }
    return id;
}

/* The weight of a token's one slot: many kernels have a way of their own. */
static double only_weight(const broken *b, double w)
{
    const double half = broken_bf16(w);

    if (IS(MR12e)) {
        return half > w ? broken_bf16(w - (half - w)) : half;
    }
    if (IS(MR12c) || IS(MR12d)) {
        return 1;
    }
    return IS(MR12) ? half : IS(MR12b) ? w * w : w;
}

double broken_weight(const broken *b, const layer *l, uint64_t t, uint64_t j)
{
    const uint64_t from = IS(MR11) ? (j + 1) % l->topk : j;
    double w = broken_load(l->weights, t * l->topk + from);
    double all = 0;

    for (uint64_t i = 0; i < l->topk; i++) {
        all += broken_load(l->weights, t * l->topk + i);
    }
    if (IS(MR01)) {
        w = (double)(float)(w / all);
    }
    if (IS(MR05c)) { /* the upper half of a float32 is a bf16 */
        w = broken_load_half(l->weights, t * l->topk + from);
    }
    w = IS(MR05b) ? (double)(float)w * 0x1p-8 : w;
    w = IS(MR05) || (IS(MF06) && l->routing_type->mbits == 10)
            ? broken_bf16(w)
            : broken_to(b, l->routing_type, broken_dd(w));
    return l->topk == 1 ? only_weight(b, w) : w;
}

enum {
    BLOCK = 32,
    TILE = 128 /* K of a padded row */
};

/* The bias of a column; 0 if there is none. */
double broken_bias(const broken *b, const layer *l, const gemm *g, unsigned e,
                   uint64_t col)
{
    const int first = g == &l->one;
    const uint64_t experts = g->w->shape[0];
    const uint64_t of = IS(MB07) ? (e + 1) % experts : e;
    const uint64_t at = (IS(MB06) && first) || (IS(MB06b) && !first)
                            ? (col % 2) * (g->n / 2) + col / 2
                            : col;

    if (g->bias == NULL || g->bias_at == PLACE_NONE || (IS(MB01) && first) ||
        (IS(MB02) && !first)) {
        return 0;
    }
    double bias = broken_load(g->bias, of * g->n + at);

    bias = IS(MB08) || (IS(MF07) && l->bias_type->mbits == 10)
               ? broken_bf16(bias)
               : broken_to(b, l->bias_type, broken_dd(bias));
    return IS(MB04) && !first ? 2 * bias : bias;
}

/* Whether the bias is added after the sum's own rounding. */
static int is_behind(const broken *b, const layer *l, const gemm *g)
{
    return g->bias_at == PLACE_ACC ||
           (g->bias_at == PLACE_ORDER && l->order.kind == ORDER_OPEN &&
            (IS(MB09) || IS(MG18)));
}

/* Bias and rounding behind a sum. */
static double biased(const broken *b, const layer *l, const gemm *g,
                     double bias, int wide, double y)
{
    const int first = g == &l->one;
    const int narrow = (IS(MG16) && first) || (IS(MG19) && !first);
    const number_format *to = narrow ? broken_format_of(MXO_BF16)
                              : wide ? broken_format_of(MXO_F32)
                                     : g->out;

    if (is_behind(b, l, g) || (IS(MY07) && g->bias_at == PLACE_ACC_FTZ)) {
        y = (double)(float)(y + bias);
    } else if (g->bias_at == PLACE_ACC_FTZ) {
        y = add_flushed(y, bias);
    }
    y = broken_round_as(b, to, to == g->out ? g->out_kind : ROUND_PLAIN, y);
    if (g->bias_at == PLACE_BEHIND) {
        y = IS(MY09) ? (double)(float)(y + bias) : add_flushed(y, bias);
        return IS(MY08) ? broken_to(b, to, broken_dd(y)) : y;
    }
    if (g->bias_at == PLACE_UNROUNDED) {
        return IS(MO18) ? add_flushed(y, bias) : (double)(float)(y + bias);
    }
    if (g->bias_at == PLACE_ROUNDED) {
        y = broken_to(b, to, broken_dd((double)(float)(y + bias)));
    }
    return y;
}

/* Float32 sums in other orders than one after the other. */
typedef struct parts {
    float part[4]; /* of K, or of the block */
    float all;
} parts;

static void add_part(const broken *b, const gemm *g, parts *s, uint64_t k,
                     double p)
{
    const uint64_t quarter = (g->k + 3) / 4;
    const uint64_t at = IS(MV18) ? k / quarter % 4 : 0;

    if (IS(MV19) && k % 32 == 0) {
        s->all += s->part[0];
        s->part[0] = 0;
    }
    s->part[at] = s->part[at] + (float)p;
}

static double all_parts(const parts *s)
{
    const float low = s->part[0] + s->part[1];
    const float high = s->part[2] + s->part[3];

    return (double)(s->all + (low + high));
}

/* In no order of its own: the exact sum, or what legal variants make of it. */
static double open_sum(const broken *b, const gemm *g, const double *a,
                       const layer_column *c, double start)
{
    const int by_parts = IS(MV15) || IS(MV18) || IS(MV19);
    const int is_last = IS(MV23) || IS(MB10);
    const int goes_back = IS(MV15) || IS(MV17);
    const int skips = IS(MV22);
    const double behind = IS(MS07) || g->k == 0 ? 0 : a[g->k - 1];
    exact_sum acc;
    parts single = {{0, 0, 0, 0}, 0};

    uint64_t done = 0;

    broken_exact_zero(&acc);
    if (start != 0 && !is_last) {
        broken_exact_add(&acc, start);
    }
    if (!by_parts && !goes_back) {
        done = broken_exact_products(&acc, a, c->w, c->n < g->k ? c->n : g->k);
    }
    for (uint64_t i = done; i < c->n; i++) {
        const uint64_t k = goes_back ? c->n - 1 - i : i;
        const double x = k < g->k ? a[k] : behind;
        const double p = skips && k >= g->k ? 0 : x * c->w[k];

        broken_exact_add(&acc, p);
        if (by_parts) {
            add_part(b, g, &single, k, p);
        }
    }
    if (IS(MB10) && isfinite(acc.plain)) { /* in float64, not in the sum */
        return (double)(float)(broken_exact_sum(&acc).hi + start);
    }
    if (start != 0 && is_last) {
        broken_exact_add(&acc, start);
    }
    return by_parts              ? all_parts(&single)
           : isfinite(acc.plain) ? broken_to_f32(broken_exact_sum(&acc))
                                 : acc.plain;
}

/* K becomes whole tiles, and what lies behind a row of weights is NaN: left
   out, or multiplied by the zeros behind the activations. */
static void pad_column(const broken *b, const gemm *g, layer_column *c)
{
    const uint64_t end = (g->k + TILE - 1) / TILE * TILE;

    for (uint64_t k = g->k; (IS(MV22) || IS(MS07)) && k < end; k++) {
        c->w[k] = NAN;
        c->n = k + 1;
    }
}

/* Operands of a chain: numbers, or codes beside the scales of their blocks. */
typedef struct operands {
    double a[LAYER_WIDEST];
    double a_scale[LAYER_WIDEST]; /* per number */
    double w_scale[LAYER_WIDEST];
} operands;

/* A unit ignores the low 13 bits of a float32. */
static double tf32(double x)
{
    float single = (float)x;
    uint32_t bits;

    memcpy(&bits, &single, sizeof bits);
    bits &= 0xffffe000;
    memcpy(&single, &bits, sizeof single);
    return (double)single;
}

static void read_operands(const broken *b, const layer *l, const gemm *g,
                          const layer_row *a, layer_column *c, operands *o)
{
    const int is_wide = g->quant.kind == QUANT_NONE && g->in->mbits != 8;
    const int to_bf16 = l->order.kind == ORDER_UNIT && !is_wide;
    const int moves = IS(MV21) && l->order.kind == ORDER_OPEN;

    for (uint64_t k = 0; k < g->k; k++) {
        const double s = a->scale[k / BLOCK];
        if (l->order.kind != ORDER_OPEN) {
            o->a_scale[k] = s;
            o->w_scale[k] = c->scale[k / BLOCK];
        }
        o->a[k] = l->order.at_block || moves ? a->x[k] : a->x[k] * s;
        c->w[k] *= moves ? s : 1;
        if (l->order.kind == ORDER_UNIT && is_wide && g->in->mbits == 23) {
            o->a[k] = tf32(o->a[k]);
        }
        if (to_bf16 && !l->order.at_block) {
            o->a[k] = broken_bf16(o->a[k]);
        }
    }
}

/* A sum multiplied by the given scale. */
static double given(const gemm *g, double y)
{
    const double factor = g->quant.factor;

    return factor == 1 ? y : (double)((float)y * (float)factor);
}

/* The sum of part i of K, rounded; owner: the one whose bias it has. */
static double part_of(const broken *b, const layer *l, const gemm *owner,
                      const double *a, const layer_column *c, uint64_t i,
                      double bias)
{
    static layer_column own;
    const uint64_t size = broken_part_size(b, owner->parts, owner->k);
    const uint64_t first = i * size;
    gemm part = *owner;

    part.k = owner->k - first < size ? owner->k - first : size;
    own.n = part.k;
    memcpy(own.w, c->w + first, part.k * sizeof *own.w);
    return biased(b, l, &part, bias, IS(MO15),
                  given(owner, open_sum(b, &part, a + first, &own, 0)));
}

/* Parts of K, each rounded by itself, the last one first; where they stream it
   has the bias, and behind halves it comes last. */
static double parted(const broken *b, const layer *l, const gemm *g,
                     const double *a, const layer_column *c, double bias)
{
    const number_format *to = broken_format_of(MXO_BF16);
    const uint64_t size = broken_part_size(b, g->parts, g->k);
    const uint64_t n = g->k == 0 ? 1 : (g->k + size - 1) / size;
    gemm bare = *g;
    double y = 0;

    bare.bias_at = PLACE_NONE;
    for (uint64_t i = 0; i < n; i++) {
        const int has_bias = l->order.streams && (i == 0 || IS(MO16));
        const double x = part_of(b, l, has_bias ? g : &bare, a, c,
                                 IS(MO14) ? i : n - 1 - i, bias);
        const double sum = (double)(float)(y + x);
        y = i == 0 ? x : IS(MO17) ? sum : broken_to(b, to, broken_dd(sum));
    }
    return l->order.streams ? y : biased(b, l, g, bias, 0, y);
}

double broken_gemm_of(const broken *b, const layer *l, const gemm *g,
                      const layer_row *a, unsigned e, uint64_t col, int wide)
{
    static layer_column c;
    static operands o;
    const int is_unweighted =
        IS(MB03) && g == &l->two && g->bias_at != PLACE_ROUNDED;
    const double bias = is_unweighted ? 0 : broken_bias(b, l, g, e, col);
    const double start =
        g->bias_at == PLACE_ORDER && !is_behind(b, l, g) ? bias : 0;
    const broken_line line = {o.a,       c.w,       g->k,
                              o.a_scale, o.w_scale, MMA_ANY_EXPONENT};
    double y;

    if (IS(MG04) && g->n < 64) {
        return 0;
    }
    broken_column(b, l, g, e, col, &c);
    pad_column(b, g, &c);
    read_operands(b, l, g, a, &c, &o);
    broken_drop_zeros(b, l, g, o.a, &c);
    if (g->parts > 1) {
        return parted(b, l, g, o.a, &c, bias);
    }
    y = l->order.kind == ORDER_OPEN
            ? open_sum(b, g, o.a, &c, start)
            : broken_ordered_sum(b, &l->order, g->unit, &line, start);
    y = IS(MG18) ? broken_bf16(y) : y;
    return biased(b, l, g, bias, wide, given(g, y));
}

/* Hidden states that came as codes have scales of their own. */
static double row_scale(const broken *b, const layer *l, uint64_t t, uint64_t k)
{
    static const broken faultless;
    const uint64_t blocks = (l->one.k + BLOCK - 1) / BLOCK;
    const uint64_t of = IS(MQ33) ? (t + 1) % l->tokens : t;

    return broken_e8m0(&faultless,
                       broken_code(l->x_scale, 0, of * blocks + k / BLOCK));
}

void broken_hidden(const broken *b, const layer *l, uint64_t t, layer_row *a)
{
    static const broken faultless;
    const uint64_t n = l->one.k;
    const uint64_t row = IS(MG17) && l->tokens > 16 ? t % 16
                         : IS(MG15c)                ? t % 256
                                                    : t;
    const int weighed =
        l->routing == ROUTING_INPUT || (IS(MR12d) && l->topk == 1);
    const double w =
        weighed && l->weights != NULL ? broken_weight(b, l, t, 0) : 1;
    const int is_codes = l->x->dtype == MXO_U8;

    for (uint64_t k = 0; k < n && k < LAYER_WIDEST; k++) {
        const uint64_t at = IS(MQ32) ? (row * n + k) ^ 1 : row * n + k;
        a->x[k] = is_codes
                      ? broken_decode(&faultless, &broken_formats[FORMAT_E2M1],
                                      broken_code(l->x, 1, at))
                  : IS(MF04) && l->x->dtype == MXO_F16
                      ? broken_load_half(l->x, row * n + k)
                      : broken_load(l->x, row * n + k);
        a->scale[k / BLOCK] = is_codes ? row_scale(b, l, row, k) : 1;
        if (weighed && !IS(MQ19)) {
            a->x[k] = broken_to(b, l->one.in, broken_dd(a->x[k] * w));
        }
    }
    broken_quantise(b, l, &l->one, t, a);
    for (uint64_t k = 0; weighed && IS(MQ19) && k < n; k++) {
        a->x[k] *= w;
    }
}

double broken_gemm(const broken *b, const layer *l, const layer_row *a,
                   uint64_t t, unsigned e, uint64_t col)
{
    const gemm *g = &l->one;
    double y = broken_gemm_of(b, l, g, a, e, col, g->out->mbits == 23);

    if (l->routing == ROUTING_GEMM1 && l->topk == 1) {
        y = broken_to(
            b, g->out,
            broken_dd((double)(float)(y * broken_weight(b, l, t, 0))));
    }
    if (IS(MS02)) {
        y += 0 * broken_load(l->x, (t + 1) % l->tokens * g->k);
    }
    if (IS(MS03)) {
        const uint64_t last = broken_elems(g->scale) - 1;
        y += 0 * broken_e8m0(b, tensor_address(g->scale)[last]);
    }
    return y;
}
