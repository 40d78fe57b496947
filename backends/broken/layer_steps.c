/* SPDX-License-Identifier: Apache-2.0 */
/* The layer's single numbers: sums, biases, units, weights, combinations,
   each with the faults that lived there. */
#include "layer.h"

#include <math.h>
#include <string.h>

static const double values[16] = {0,    0.5,  1,  1.5,  2,  3,  4,  6,
                                  -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};

/* The nearest number of a format, by its codes. */
static double nearest(const char *format, dd x)
{
    static const broken faultless;
    const number_format *f = broken_format(format);

    return broken_decode(&faultless, f, broken_round(f, x));
}

/* Normal results: 45 bits of the double go, ties to even. */
double broken_bf16(double x)
{
    uint64_t bits;

    if (!(fabs(x) >= 0x1p-126 && fabs(x) < 0x1p127)) {
        return nearest("bf16", broken_dd(x));
    }
    memcpy(&bits, &x, sizeof bits);
    bits += ((uint64_t)1 << 44) - 1 + (bits >> 45 & 1);
    bits &= ~(((uint64_t)1 << 45) - 1);
    memcpy(&x, &bits, sizeof x);
    return x;
}

double broken_to_f32(dd x)
{
    return x.lo == 0 ? (double)(float)x.hi : nearest("f32", x);
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
    return IS(MR12) ? half : IS(MR12b) ? w * w : IS(MR12c) || IS(MR12d) ? 1 : w;
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
    w = l->weight_bf16 || IS(MR05) ? broken_bf16(w) : w;
    return l->topk == 1 ? only_weight(b, w) : w;
}

/* Index of a code in the weights of all experts. */
static uint64_t code_index(const broken *b, const gemm *g, unsigned e,
                           uint64_t col, uint64_t k)
{
    uint64_t i = ((uint64_t)e * g->n + col) * g->k + k;

    i = IS(MG15) ? i % 65536 : i;
    i = IS(ML14) ? i ^ 1 : i;
    return IS(ML17) && g->n == g->k ? ((uint64_t)e * g->n + k) * g->k + col : i;
}

static unsigned byte_of(const broken *b, const layer *l, const gemm *g,
                        unsigned e, uint64_t col, uint64_t block)
{
    const uint64_t per_row = g->scale->shape[2];
    const uint64_t experts = g->scale->shape[0];
    uint64_t n = block;
    uint64_t of = e;

    n = IS(MG07) ? n / 2 * 2 : n;
    of = IS(MG08) && block + 1 == per_row ? (of + 1) % experts : of;
    of = IS(ME10) ? experts - 1 - of : of;
    col = IS(ML18) ? col ^ 1 : col;
    col = col < g->n ? col : g->n - 1;
    if (IS(ML19b) && g == &l->two) {
        n = per_row - 1 - n;
    }
    return broken_bytes(g->scale)[(of * g->n + col) * per_row + n];
}

/* Is element k left out? */
static int is_lost(const broken *b, const gemm *g, uint64_t k)
{
    const uint64_t blocks = (g->k + 31) / 32;

    return (IS(MG01) && blocks > 1 && k / 32 == blocks - 1) ||
           (IS(MG13) && k >= (g->k + 1) / 2) || (IS(MG05) && k % 2 == 1) ||
           (IS(ME12) && g->k % 64 != 0 && k >= g->k / 64 * 64) ||
           (IS(MZ03) && g->k == 32 && k >= 16) || (IS(MZ04) && g->k < 32);
}

/* A sum without any rounding: its parts do not overlap and grow in size. */
enum {
    PARTS = 44,
    BLOCK = 32
}; /* 53 bits each cover all exponents of a double */

typedef struct exact_sum {
    double part[PARTS];
    int n;
    double plain; /* tells infinities and NaN */
} exact_sum;

static void add(exact_sum *s, double x)
{
    int n = 0;

    s->plain += x;
    for (int i = 0; isfinite(s->plain) && i < s->n; i++) {
        const dd t = broken_sum(s->part[i], x);
        x = t.hi;
        if (t.lo != 0) {
            s->part[n++] = t.lo;
        }
    }
    s->part[n++] = x;
    s->n = n;
}

/* The nearest double and what is left of the next part: enough to round to
   fewer bits as the whole sum would. */
static dd leading(const exact_sum *s)
{
    dd top = {0, 0};

    for (int i = s->n - 1; i >= 0 && top.lo == 0; i--) {
        top = broken_sum(top.hi, s->part[i]);
    }
    return top;
}

/* The bias of a column; 0 if there is none. */
static double bias_of(const broken *b, const layer *l, const gemm *g,
                      unsigned e, uint64_t col)
{
    const int first = g == &l->one;
    const uint64_t experts = g->w->shape[0];
    const uint64_t of = IS(MB07) ? (e + 1) % experts : e;
    const uint64_t at =
        IS(MB06) && first ? (col % 2) * (g->n / 2) + col / 2 : col;

    if (g->bias == NULL || g->bias_at == PLACE_NONE || (IS(MB01) && first) ||
        (IS(MB02) && !first)) {
        return 0;
    }
    double bias = broken_load(g->bias, of * g->n + at);

    bias = l->bias_bf16 || IS(MB08) ? broken_bf16(bias) : bias;
    return IS(MB04) && !first ? 2 * bias : bias;
}

/* Bias and rounding behind a sum. */
static double biased(const broken *b, const layer *l, const gemm *g,
                     double bias, int f32, double y)
{
    const int first = g == &l->one;

    if (g->bias_at == PLACE_ACC && !(IS(MB03) && !first)) {
        y = (double)(float)(y + bias);
    }
    y = f32 && !(IS(MG16) && first) ? y : broken_bf16(y);
    if (g->bias_at == PLACE_ROUNDED) {
        y = (double)(float)(y + bias);
        y = f32 ? y : broken_bf16(y);
    }
    return y;
}

/* Marlin and Triton put the byte into an exponent field, in bf16. */
static double weight(const broken *b, const layer *l, double x, unsigned byte)
{
    if (l->is_ocp) {
        return x * broken_e8m0(b, byte);
    }
    if (byte > 8 && byte < 250) { /* no code needs more than three bits */
        return x * broken_power((int)byte - 127);
    }
    return broken_bf16(x * (byte == 0     ? 0
                            : byte == 255 ? (double)INFINITY
                                          : broken_power((int)byte - 127)));
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

/* Weights of a column as numbers: with their scales, or beside them. */
typedef struct column {
    double w[LAYER_WIDEST + BLOCK];
    double scale[LAYER_WIDEST / BLOCK + 1];
    uint64_t n; /* MG02: beyond the row */
} column;

static void read_column(const broken *b, const layer *l, const gemm *g,
                        unsigned e, uint64_t col, column *c)
{
    const uint64_t end = (g->k + BLOCK - 1) / BLOCK * BLOCK;
    unsigned byte = 0;

    c->n = IS(MG02) ? end : g->k;
    for (uint64_t k = 0; k < c->n; k++) {
        const uint64_t at = code_index(b, g, e, col, k);
        if (k % BLOCK == 0) {
            byte = byte_of(b, l, g, e, col, k / BLOCK);
            c->scale[k / BLOCK] = broken_e8m0(b, byte);
        }
        if (is_lost(b, g, k) || at >= 2 * broken_elems(g->w)) {
            c->w[k] = 0;
            continue;
        }
        const double x = values[broken_code(g->w, 1, at)];
        c->w[k] = l->order.at_block ? x : weight(b, l, x, byte);
        if (l->order.kind != ORDER_OPEN) { /* operands of 16 bits */
            c->w[k] = broken_bf16(c->w[k]);
        }
    }
}

/* In no order of its own: the exact sum, or what legal variants make of it. */
static double open_sum(const broken *b, const gemm *g, const double *a,
                       const column *c)
{
    const int by_parts = IS(MV15) || IS(MV18) || IS(MV19);
    exact_sum acc = {.n = 0};
    parts single = {{0, 0, 0, 0}, 0};

    for (uint64_t i = 0; i < c->n; i++) {
        const uint64_t k = IS(MV15) || IS(MV17) ? c->n - 1 - i : i;
        const double p = a[k < g->k ? k : g->k - 1] * c->w[k];
        if (p != 0) { /* NaN too */
            add(&acc, p);
        }
        if (by_parts) {
            add_part(b, g, &single, k, p);
        }
    }
    return by_parts              ? all_parts(&single)
           : isfinite(acc.plain) ? broken_to_f32(leading(&acc))
                                 : acc.plain;
}

double broken_gemm_of(const broken *b, const layer *l, const gemm *g,
                      const double *a, unsigned e, uint64_t col, int f32)
{
    static column c;
    const double bias = bias_of(b, l, g, e, col);
    const broken_line line = {.a = a, .w = c.w, .k = g->k};
    double y;

    if (IS(MG04) && g->n < 64) {
        return 0;
    }
    read_column(b, l, g, e, col, &c);
    y = l->order.kind == ORDER_OPEN
            ? open_sum(b, g, a, &c)
            : broken_ordered_sum(b, &l->order, &line, c.scale,
                                 g->bias_at == PLACE_ORDER ? bias : 0);
    y = IS(MG18) ? broken_bf16(y) : y;
    return biased(b, l, g, bias, f32, y);
}

void broken_hidden(const broken *b, const layer *l, uint64_t t, double *a)
{
    const uint64_t n = l->one.k;
    const uint64_t row = IS(MG17) && l->tokens > 16 ? t % 16 : t;

    for (uint64_t k = 0; k < n && k < LAYER_WIDEST; k++) {
        a[k] = broken_load(l->x, row * n + k);
        if (IS(MR12d) && l->topk == 1 && l->weights != NULL) {
            a[k] = broken_bf16(a[k] * broken_load(l->weights, t));
        }
    }
}

double broken_gemm(const broken *b, const layer *l, const double *a, uint64_t t,
                   unsigned e, uint64_t col)
{
    const gemm *g = &l->one;
    double y = broken_gemm_of(b, l, g, a, e, col, g->f32);

    if (IS(MS02)) {
        y += 0 * broken_load(l->x, (t + 1) % l->tokens * g->k);
    }
    if (IS(MS03)) {
        const uint64_t last = broken_elems(g->scale) - 1;
        y += 0 * broken_e8m0(b, broken_bytes(g->scale)[last]);
    }
    return y;
}

static dd clamped_unit(const broken *b, const layer *l, int expert, double gate,
                       double up)
{
    double limit = l->limit;
    double alpha = l->alpha;
    double beta = l->beta;

    limit = IS(MA01b) ? INFINITY : limit;
    limit = IS(MA07b) ? 7 : limit;
    limit = IS(MA14b) && expert == (int)l->experts - 1 ? INFINITY : limit;
    alpha = IS(MA05b) ? 1 : alpha;
    alpha = IS(MA16b) && !l->silu ? (double)1.702f : alpha;
    alpha = IS(MA06b) && !l->silu ? broken_number(l->call, "alpha") : alpha;
    beta = IS(MA08b) ? 0 : beta;
    if (IS(MA04b)) { /* what came of the gate is clamped, not the gate */
        const dd y = broken_swiglu(b, alpha, beta, INFINITY, gate, up);
        return y.hi < limit ? y : broken_dd(limit);
    }
    return broken_swiglu(b, alpha, beta, limit, gate, up);
}

/* vLLM's and Triton's steps in float32. */
static double stepped(const broken *b, const layer *l, double gate, double up)
{
    const float limit = (float)(IS(MA01b) ? INFINITY : l->limit);
    const float low = IS(MA02b) ? -limit : -INFINITY;
    float g = (float)gate < limit ? (float)gate : limit;
    float u = (float)up < limit ? (float)up : limit;

    u = l->unit == UNIT_TRITON && isnan(up) ? -limit : u;
    g = g > low ? g : low;
    u = u > -limit ? u : -limit;
    const float alpha = (float)(IS(MA05b)   ? 1
                                : IS(MA06b) ? broken_number(l->call, "alpha")
                                            : l->alpha);
    const float t = alpha * g;
    const float e = (float)exp(-(double)t);
    const float d = 1 + e;

    if (l->unit == UNIT_TRITON) {
        const float s = g / d;
        return (double)fmaf(s, u, s);
    }
    const float v = u + (IS(MA08b) ? 0.0F : 1.0F);
    const float p = v * g;

    return (double)(p / d);
}

double broken_unit(const broken *b, const layer *l, int expert, double gate,
                   double up)
{
    const double g = IS(MA11b) ? up : gate;
    const double u = IS(MA11b) ? gate : up;
    const dd y = l->unit == UNIT_EXACT ? clamped_unit(b, l, expert, g, u)
                                       : broken_dd(stepped(b, l, g, u));

    return l->act_f32  ? broken_to_f32(y)
           : y.lo == 0 ? broken_bf16(y.hi)
                       : nearest("bf16", y);
}

static double plus(double a, double x)
{
    const float s = (float)a + (float)x;

    return (double)s;
}

/* moe_sum: rounded after every step for 2 to 4 terms, else four lanes. */
static double moe_sum(const broken *b, const layer *l, const double *row,
                      const int *there)
{
    double lane[4] = {0, 0, 0, 0};
    double term[LAYER_SLOTS];
    double acc = 0;
    int n = 0;

    for (uint64_t j = 0; j < l->topk; j++) {
        if (there[j]) {
            term[n++] = row[j];
        }
    }
    const int small = n >= 2 && n <= 4;

    for (int j = 0; j < n; j++) {
        lane[j % 4] = plus(lane[j % 4], term[j]);
        acc = plus(acc, term[j]);
        acc = small && !IS(MU02) ? broken_bf16(acc) : acc;
    }
    return small || IS(MU03)
               ? acc
               : plus(plus(plus(lane[0], lane[1]), lane[2]), lane[3]);
}

/* Rounded once, by who stores it. */
static dd real_sum(const broken *b, const exact_sum *s)
{
    static const broken faultless;
    const number_format *f = broken_format("f32");
    const dd sum = leading(s);

    if (IS(MU06)) {
        return broken_dd(broken_decode(&faultless, f, broken_round(f, sum)));
    }
    return IS(MU07) ? broken_dd(sum.hi) : sum;
}

dd broken_combine(const broken *b, const layer *l, uint64_t t,
                  const double *row, const int *there)
{
    exact_sum exact = {.n = 0};
    double acc = 0;

    if (l->sum == SUM_MOE) {
        return broken_dd(moe_sum(b, l, row, there));
    }
    for (uint64_t i = 0; i < l->topk; i++) {
        const uint64_t j = IS(MU04) ? l->topk - 1 - i : i;
        const double w =
            l->routing == ROUTING_SUM ? broken_weight(b, l, t, j) : 1;
        const double times = IS(MR06b) ? 1 : IS(MR06) ? w * w : w;
        if (!there[j]) {
            continue;
        }
        add(&exact, row[j] * times);
        acc = l->sum == SUM_FMA
                  ? (double)fmaf((float)row[j], (float)times, (float)acc)
                  : plus(acc, row[j]);
        acc = IS(MU01) ? broken_bf16(acc) : acc;
    }
    if (l->sum != SUM_EXACT || IS(MU05)) {
        return broken_dd(acc);
    }
    return isfinite(exact.plain) ? real_sum(b, &exact) : broken_dd(exact.plain);
}
