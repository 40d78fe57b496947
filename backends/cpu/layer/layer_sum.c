/* SPDX-License-Identifier: Apache-2.0 */
/* The sum over a token's experts, a stretch of columns at a time. */
#include "gemm/gemm.h"
#include "layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STRETCH = 256, LANES = 4 };

typedef struct sum_job {
    const layer *l;
    const float *rows;
    uint8_t *y;
    int failed;
} sum_job;

/* A token's slots that take part, with their weights. */
typedef struct token {
    size_t n;
    const float **row; /* at column 0 */
    float *weight;
    double *term; /* numbers, then factors: [2 * topk] */
} token;

static void add_row(layer_order sum, const float *x, float w, size_t n,
                    float *acc)
{
    for (size_t c = 0; c < n && sum == LAYER_SUM_FMA; c++) {
        acc[c] = cpu_fma32(x[c], w, acc[c]);
    }
    if (sum == LAYER_SUM_FLUSHED) {
        for (size_t c = 0; c < n; c++) {
            acc[c] = cpu_flush32(
                cpu_fma32(cpu_flush32(x[c]), cpu_flush32(w), acc[c]));
        }
        return;
    }
    for (size_t c = 0; c < n && sum != LAYER_SUM_FMA; c++) {
        const float p = sum == LAYER_SUM_PRODUCT ? x[c] * w : x[c];
        acc[c] = acc[c] + p;
    }
}

static void round_all(layer_type to, float *x, size_t n)
{
    for (size_t c = 0; c < n; c++) {
        x[c] = cpu_layer_round(to, x[c]);
    }
}

/* The type of the sums that are rounded each time: that of 16-bit rows. */
static layer_type step_of(const layer *l)
{
    return l->two.out == LAYER_F16 ? LAYER_F16 : LAYER_BF16;
}

/* Slot by slot, in float or rounded each time. */
static void in_turn(const layer *l, const token *t, size_t first, size_t n,
                    int each, float *y)
{
    memset(y, 0, n * sizeof *y);
    for (size_t j = 0; j < t->n; j++) {
        add_row(l->sum, t->row[j] + first, t->weight[j], n, y);
        if (each) {
            round_all(step_of(l), y, n);
        }
    }
}

/* Terms j mod 4 in a sum of their own each. */
static void four_lanes(const layer *l, const token *t, size_t first, size_t n,
                       float *y)
{
    float lane[LANES][STRETCH] = {{0}};

    for (size_t j = 0; j < t->n; j++) {
        add_row(l->sum, t->row[j] + first, 1, n, lane[j % LANES]);
    }
    for (size_t c = 0; c < n; c++) {
        const float two = lane[0][c] + lane[1][c];
        const float three = two + lane[2][c];
        y[c] = three + lane[3][c];
    }
}

/* Errors of a double sum are kept; if they add up exactly, both parts are
   the sum. */
static double exact_at(const layer *l, const token *t, size_t c)
{
    const int weighs = l->routing_at == LAYER_AT_SUM;
    double hi = 0;
    double lo = 0;
    double lost = 0;

    for (size_t j = 0; j < t->n; j++) {
        const double p =
            (double)t->row[j][c] * (weighs ? (double)t->weight[j] : 1);
        const double s = hi + p;
        const double back = s - hi;
        const double error = (hi - (s - back)) + (p - back);
        const double low = lo + error;
        const double low_back = low - lo;

        lost = lost + fabs((lo - (low - low_back)) + (error - low_back));
        hi = s;
        lo = low;
    }
    if (isfinite(hi) && lost == 0) {
        return cpu_odd_sum(hi, lo);
    }
    for (size_t j = 0; j < t->n; j++) {
        t->term[j] = (double)t->row[j][c];
        t->term[l->topk + j] = weighs ? (double)t->weight[j] : 1;
    }
    return cpu_exact_dot(t->term, t->term + l->topk, t->n, 0);
}

/* A double rounded to odd as a float that is, so that 16 bits are the one
   rounding. */
static float narrow(const layer *l, double s)
{
    return l->out == LAYER_F32 ? (float)s : cpu_float_odd(s);
}

static void stretch(const layer *l, const token *t, size_t first, size_t n,
                    float *y)
{
    const int few = t->n >= 2 && t->n <= 4;

    if (l->sum == LAYER_SUM_EXACT) {
        for (size_t c = 0; c < n; c++) {
            y[c] = narrow(l, exact_at(l, t, first + c));
        }
    } else if (l->sum == LAYER_SUM_MOE_SUM && !few) {
        four_lanes(l, t, first, n, y);
    } else if (l->sum == LAYER_SUM_CPU && t->n == 1) {
        memcpy(y, t->row[0] + first, n * sizeof *y);
    } else {
        in_turn(l, t, first, n,
                l->sum == LAYER_SUM_MOE_SUM || l->sum == LAYER_SUM_ATOMIC ||
                    l->sum == LAYER_SUM_EXPERTS,
                y);
        if (l->sum == LAYER_SUM_CPU) {
            round_all(l->two.out == LAYER_F16 ? LAYER_F16 : LAYER_DOWN, y, n);
        }
    }
}

/* Behind the slots before it, or behind those of experts that come first. */
static void put_slot(const layer *l, token *t, const float *rows, size_t slot)
{
    const int sorts =
        l->sum == LAYER_SUM_BY_EXPERT || l->sum == LAYER_SUM_EXPERTS;
    const size_t pitch = l->hidden > 0 ? l->hidden : 1;
    size_t at = t->n++;

    while (sorts && at > 0) {
        const size_t before = (size_t)(t->row[at - 1] - rows) / pitch;
        if (l->expert[before] <= l->expert[slot]) {
            break;
        }
        t->row[at] = t->row[at - 1];
        t->weight[at] = t->weight[at - 1];
        at--;
    }
    t->row[at] = rows + slot * l->hidden;
    t->weight[at] = cpu_layer_weight(l, slot);
}

static void gather(const sum_job *job, size_t number, token *t)
{
    const layer *l = job->l;

    t->n = 0;
    for (size_t j = 0; j < l->topk; j++) {
        const size_t i = number * l->topk + j;
        if (l->expert[i] >= 0 || l->absent_is_zero) {
            put_slot(l, t, job->rows, i);
        }
    }
}

static void sum_tokens(void *arg, uint64_t begin, uint64_t end)
{
    sum_job *job = arg;
    const layer *l = job->l;
    token t = {0, malloc(l->topk * sizeof *t.row),
               malloc(l->topk * sizeof *t.weight),
               malloc(2 * l->topk * sizeof *t.term)};
    float y[STRETCH];

    if (t.row == NULL || t.weight == NULL || t.term == NULL) {
        cpu_set_flag(&job->failed);
        end = begin;
    }
    for (size_t i = (size_t)begin; i < end; i++) {
        gather(job, i, &t);
        for (size_t c = 0; c < l->hidden; c += STRETCH) {
            const size_t left = l->hidden - c;
            const size_t n = left < STRETCH ? left : STRETCH;
            stretch(l, &t, c, n, y);
            round_all(l->out, y, n);
            cpu_layer_store(l->out, job->y, i * l->hidden + c, y, n);
        }
    }
    free(t.row);
    free(t.weight);
    free(t.term);
}

mxo_status cpu_layer_run_sum(layer *l, const float *rows, mxo_text why)
{
    sum_job job = {l, rows, cpu_data(call_out(l->call, "y")), 0};

    cpu_split(l->ctx, l->tokens, 1, sum_tokens, &job);
    return job.failed ? cpu_fail(MXO_E_NOMEM, why, "no memory for a token")
                      : MXO_OK;
}
