/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of a panel's columns by the layer's order, rounded and with their bias.
   Where a sum is only known within an interval (gemm_digit_plane.h), both ends
   are taken as far as everything is monotone. */
#include "layer_pass.h"

#include "gemm/gemm_read.h"

#include <string.h>

static float bias_at(const layer_gemm *g, size_t expert, size_t col)
{
    const float b = (float)cpu_wide_value(g->bias, expert * g->n + col);

    return cpu_layer_round(g->bias_type, b);
}

/* Where the routing weight is multiplied before a row is rounded, sums are. */
static layer_type out_of(const layer_pass *p)
{
    const int early =
        p->l->has_two && p->g == &p->l->two && p->l->routing_at == LAYER_AT_ACC;

    return early ? LAYER_F32 : p->g->out;
}

/* Epilogue of a sum. */
typedef struct ending {
    float factor;
    int adds;
    int adds_flushed;
    int adds_rounded;
    int adds_behind;
    int adds_unrounded;
    layer_type out;
    float early; /* factors for small operands: before the rounding, */
    float late;  /* and behind it */
} ending;

static ending ending_of(const layer_pass *p)
{
    const layer_gemm *g = p->g;
    const int is_late =
        g->place == LAYER_BIAS_ORDER && p->l->order.kind == CPU_ORDER_AMX;

    const int is_weighed = g == &p->l->two && cpu_layer_scales_late(p->l);

    return (ending){
        .factor = g->quant.undo,
        .adds = g->place == LAYER_BIAS_ACC || is_late,
        .adds_flushed = g->place == LAYER_BIAS_FLUSHED,
        .adds_rounded = g->place == LAYER_BIAS_ROUNDED,
        .adds_behind = g->place == LAYER_BIAS_BEHIND,
        .adds_unrounded = g->place == LAYER_BIAS_UNROUNDED,
        .out = out_of(p),
        .early = g->behind > 2 && !is_weighed ? (float)cpu_pow2(g->behind) : 1,
        .late = g->behind == 2 ? 4 : 1,
    };
}

static inline float add_flushed(float a, float b)
{
    return cpu_flush32(cpu_flush32(a) + cpu_flush32(b));
}

/* A rounded sum with a bias that comes behind. */
static inline float with_bias(const ending *e, float bias, float v)
{
    v = e->adds_behind ? add_flushed(v, bias) : v;
    v = e->adds_unrounded ? v + bias : v;
    return e->adds_rounded ? cpu_layer_round(e->out, v + bias) : v;
}

/* A sum, rounded, with its bias.  Monotone in the order of bit patterns, -0
   below +0, like all roundings, sums and products with a constant. */
static inline float finished(const ending *e, float bias, float sum)
{
    float v = sum * e->factor;

    v = e->adds ? v + bias : v;
    v = e->adds_flushed ? add_flushed(v, bias) : v;
    v = cpu_layer_round(e->out, v * e->early);
    v = e->late > 1 ? cpu_layer_round(e->out, v * e->late) : v;
    return with_bias(e, bias, v);
}

static void finish(const layer_panel *a, const float *bias, size_t n,
                   float (*sum)[CPU_MAC_COLS], float *y)
{
    const ending e = ending_of(a->p);

    for (size_t i = 0; i < a->place->m; i++) {
        for (size_t c = 0; c < n; c++) {
            y[i * a->stride + c] = finished(&e, bias[c], sum[i][c]);
        }
    }
}

/* Whether a routing weight follows before any step that is not monotone. */
static int is_weighed(const layer_pass *p)
{
    return p->g == &p->l->two && p->l->routing_at <= LAYER_AT_ROUNDED;
}

int cpu_layer_bits(const layer_pass *p)
{
    const layer_type type = is_weighed(p) ? p->g->out : out_of(p);

    return type == LAYER_F32 ? 24 : type == LAYER_F16 ? 11 : 8;
}

/* Does row i's sum come to the same from both ends of what it may be? */
static int is_decided(const layer_panel *a, const ending *e, size_t i,
                      float bias, double sum, double off)
{
    const layer_pass *p = a->p;
    float low = finished(e, bias, (float)(sum - off));
    float high = finished(e, bias, (float)(sum + off));

    if (is_weighed(p)) {
        const float w = a->weight[i];
        low = cpu_layer_round(p->g->out, low * w);
        high = cpu_layer_round(p->g->out, high * w);
    }
    return cpu_bits32(low) == cpu_bits32(high);
}

/* A sum that is off, as far as it takes to decide. */
static double decide(const layer_panel *a, cpu_tile *t, const cpu_weights *w,
                     size_t col, size_t i, const float *bias, double start)
{
    const ending e = ending_of(a->p);
    double sum;
    const double off = cpu_tile_more(t, w, col, i, start, &sum);

    return off == 0 || is_decided(a, &e, i, *bias, sum, off)
               ? sum
               : cpu_tile_dot(t, w, col, i, start);
}

/* The lane's rounding; 0 if it has none for that type. */
static int lane_rounds(layer_type type, cpu_rounding *to)
{
    *to = type == LAYER_F32    ? CPU_TO_F32
          : type == LAYER_BF16 ? CPU_TO_BF16
                               : CPU_TO_F16;
    return type <= LAYER_F16;
}

/* What the lane settles by itself; 0 if an ending has more than it knows. */
static int settle_of(const layer_pass *p, const ending *e, cpu_settle *to)
{
    *to = (cpu_settle){.factor = e->factor,
                       .adds = e->adds,
                       .adds_rounded = e->adds_rounded,
                       .weighs = is_weighed(p)};
    return p->l->ctx->lane->settle != NULL && lane_rounds(e->out, &to->to) &&
           lane_rounds(p->g->out, &to->weighed_to) && !e->adds_flushed &&
           !e->adds_behind && !e->adds_unrounded && e->early == 1 &&
           e->late == 1;
}

/* cpu_isa_ops.settle for any ending. */
static unsigned settle_each(const layer_panel *a, const ending *e, size_t i,
                            size_t n, const float *bias, const double *sum,
                            const double *off, float *y)
{
    unsigned open = 0;

    for (size_t c = 0; c < n; c++) {
        const int good =
            off[c] == 0 || is_decided(a, e, i, bias[c], sum[c], off[c]);

        y[c] = finished(e, bias[c], (float)sum[c]);
        open |= (unsigned)!good << c;
    }
    return open;
}

/* Up to 16 columns' exact sums, finished. */
static int exact_columns(const layer_panel *a, cpu_tile *t,
                         const cpu_weights *w, size_t col, size_t n,
                         const float *bias, float *y)
{
    static const float zeros[CPU_MAC_COLS];
    const float *start = a->p->g->place == LAYER_BIAS_ORDER ? bias : zeros;
    const ending e = ending_of(a->p);
    cpu_settle job;
    const int by_lane = settle_of(a->p, &e, &job);
    double sum[LAYER_TILE_ROWS][CPU_MAC_COLS];
    double off[LAYER_TILE_ROWS][CPU_MAC_COLS];

    if (cpu_tile_columns(t, a->p->mac, w, col, n, start, sum, off) != 0) {
        return -1;
    }
    for (size_t i = 0; i < a->place->m; i++) {
        float out[CPU_MAC_COLS];

        job.weight = a->weight[i];
        const unsigned open =
            by_lane
                ? a->p->l->ctx->lane->settle(&job, bias, sum[i], off[i], out)
                : settle_each(a, &e, i, n, bias, sum[i], off[i], out);

        for (size_t c = 0; c < n; c++) {
            if ((open >> c & 1) != 0) {
                out[c] = finished(&e, bias[c],
                                  (float)decide(a, t, w, col + c, i, bias + c,
                                                (double)start[c]));
            }
        }
        memcpy(y + i * a->stride, out, n * sizeof *out);
    }
    return 0;
}

/* Up to 16 columns by another order, finished. */
static void rounded_columns(const layer_panel *a, cpu_tile *t,
                            const cpu_weights *w, size_t col, size_t n,
                            const float *bias, float *y)
{
    static const float zeros[CPU_MAC_COLS];
    float sum[LAYER_TILE_ROWS][CPU_MAC_COLS];

    if (a->p->l->order.kind == CPU_ORDER_BLOCK32) {
        cpu_tile_blocks(t, a->p->mac, w, col, n, sum);
    } else {
        cpu_order_load(&a->rows, w, col, n);
        cpu_order_columns(
            &a->rows, a->p->g->place == LAYER_BIAS_ORDER ? bias : zeros, sum);
    }
    finish(a, bias, n, sum, y);
}

/* Up to 16 columns' sums of a part of K, and what came of those behind it. */
static void add_part(const layer_panel *a, const ending *e, int is_first,
                     const float *bias, size_t n, float (*sum)[CPU_MAC_COLS],
                     float *y)
{
    for (size_t i = 0; i < a->place->m; i++) {
        for (size_t c = 0; c < n; c++) {
            float *to = &y[i * a->stride + c];
            const float x = finished(e, bias[c], sum[i][c]);
            *to = is_first ? x : cpu_layer_round(e->out, *to + x);
        }
    }
}

/* Up to 16 columns, each part of K rounded by itself: from the last one on. */
static void parted_columns(const layer_panel *a, const cpu_weights *w,
                           size_t col, size_t n, const float *bias, float *y)
{
    const layer_gemm *g = a->p->g;
    const size_t blocks = cpu_blocks_of(g->k);
    const size_t size = (blocks + g->parts - 1) / g->parts;
    /* Of no columns one, which has the bias. */
    const size_t parts = blocks == 0 ? 1 : (blocks + size - 1) / size;
    const ending whole = ending_of(a->p);
    ending bare = whole;
    float sum[LAYER_TILE_ROWS][CPU_MAC_COLS];

    bare.adds = 0;
    bare.adds_flushed = 0;
    bare.adds_rounded = 0;
    bare.adds_behind = 0;
    bare.adds_unrounded = 0;
    cpu_order_load(&a->rows, w, col, n);
    for (size_t i = parts; i-- > 0;) {
        const int is_first = i + 1 == parts;
        cpu_order_part(&a->rows, i * size * CPU_MX,
                       is_first ? g->k : (i + 1) * size * CPU_MX, sum);
        add_part(a, is_first && a->p->l->is_streamk ? &whole : &bare, is_first,
                 bias, n, sum, y);
    }
    for (size_t i = 0; i < a->place->m && !a->p->l->is_streamk; i++) {
        for (size_t c = 0; c < n; c++) {
            float *to = &y[i * a->stride + c];
            *to = with_bias(&whole, bias[c], *to);
        }
    }
}

int cpu_layer_columns(const layer_panel *a, cpu_tile *t, size_t col, size_t n,
                      float *y)
{
    const layer_gemm *g = a->p->g;
    const size_t e = a->place->expert;
    const cpu_weights w = {&g->rule, g->codes + e * g->n * (g->k / 2),
                           g->scale + e * g->n * cpu_blocks_of(g->k), g->n,
                           g->k};
    for (size_t c = 0; c < n; c += CPU_MAC_COLS) {
        const size_t left = n - c;
        const size_t part = left < CPU_MAC_COLS ? left : CPU_MAC_COLS;
        float bias[CPU_MAC_COLS] = {0};

        for (size_t i = 0; i < part && g->place != LAYER_BIAS_NONE; i++) {
            bias[i] = bias_at(g, e, col + c + i);
        }
        if (g->parts > 1) {
            parted_columns(a, &w, col + c, part, bias, y + c);
        } else if (a->p->l->order.kind != CPU_ORDER_EXACT) {
            rounded_columns(a, t, &w, col + c, part, bias, y + c);
        } else if (exact_columns(a, t, &w, col + c, part, bias, y + c) != 0) {
            return -1;
        }
    }
    return 0;
}
