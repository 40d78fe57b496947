/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.finalize: the weighted sum over a token's experts, a stretch of columns
 * at a time, tokens split among threads.  A float fma without the instruction
 * is a double sum rounded to odd: the product of two floats is exact in
 * double, and a sum whose last bit is odd where it was rounded keeps every
 * later rounding to 24 bits or fewer honest.
 */
#include "cpu.h"
#include "gemm/gemm.h"
#include "number.h"

#include <stdlib.h>
#include <string.h>

enum { STRETCH = 256, LANES = 4, MOST_SLOTS = 2048, DEPTH = 12 };
enum {
    SUM_FMA,
    SUM_ADD,
    SUM_TYPED,
    SUM_LANES4,
    SUM_VLLM,
    SUM_CPU,
    SUM_PAIRWISE,
    SUM_EXACT
};

typedef struct finalize_job {
    const mxo_tensor *x;
    const mxo_tensor *weights; /* NULL: none */
    const mxo_tensor *y;
    const int64_t *row; /* of every pair, -1: none; owned by the caller */
    uint64_t slots;
    int sum;
    int absent_is_zero;
} finalize_job;

static float load(uint32_t dtype, const uint8_t *base, uint64_t i)
{
    uint16_t half;
    float single;

    if (dtype == MXO_F32) {
        memcpy(&single, base + 4 * i, 4);
        return single;
    }
    memcpy(&half, base + 2 * i, 2);
    return dtype == MXO_BF16 ? cpu_from_bf16(half) : cpu_from_f16(half);
}

static void store(uint32_t dtype, uint8_t *base, uint64_t i, float v)
{
    const uint16_t half = dtype == MXO_BF16 ? cpu_bf16_of(v) : cpu_f16_of(v);

    if (dtype == MXO_F32) {
        memcpy(base + 4 * i, &v, 4);
    } else {
        memcpy(base + 2 * i, &half, 2);
    }
}

static float narrow(uint32_t dtype, float v)
{
    return dtype == MXO_F32    ? v
           : dtype == MXO_BF16 ? cpu_from_bf16(cpu_bf16_of(v))
                               : cpu_from_f16(cpu_f16_of(v));
}

/* One slot's stretch into the sums. */
static void add_slot(const finalize_job *job, int sum, float w, const float *x,
                     uint64_t n, float *acc)
{
    const int weighted = job->weights != NULL;
    const uint32_t to = job->y->dtype;

    if (sum == SUM_FMA && weighted) {
        for (uint64_t c = 0; c < n; c++) {
            acc[c] = cpu_fma32(w, x[c], acc[c]);
        }
        return;
    }
    for (uint64_t c = 0; c < n; c++) {
        float p = x[c];

        p = weighted ? w * p : p;
        p = sum == SUM_TYPED ? narrow(to, p) : p;
        acc[c] = acc[c] + p;
        acc[c] = sum == SUM_TYPED ? narrow(to, acc[c]) : acc[c];
    }
}

static void read_row(const finalize_job *job, int64_t row, uint64_t first,
                     uint64_t n, float *x)
{
    const uint64_t at = (uint64_t)row * job->x->shape[1] + first;

    for (uint64_t c = 0; c < n; c++) {
        x[c] = row < 0 ? 0 : load(job->x->dtype, cpu_data(job->x), at + c);
    }
}

/* vLLM's order depends on how many terms a token has. */
static int order_of(const finalize_job *job, uint64_t n)
{
    if (job->sum != SUM_VLLM) {
        return job->sum;
    }
    return n >= 2 && n <= 4 ? SUM_TYPED : SUM_LANES4;
}

/* The terms of one token, at most MOST_SLOTS. */
typedef struct token_terms {
    uint64_t n;
    float w[MOST_SLOTS];
    int64_t row[MOST_SLOTS];
} token_terms;

static void find_terms(const finalize_job *job, uint64_t token, token_terms *t)
{
    t->n = 0;
    for (uint64_t k = 0; k < job->slots; k++) {
        const uint64_t pair = token * job->slots + k;

        if (job->row[pair] < 0 && !job->absent_is_zero) {
            continue;
        }
        t->w[t->n] = job->weights == NULL ? 1
                                          : load(job->weights->dtype,
                                                 cpu_data(job->weights), pair);
        t->row[t->n++] = job->row[pair];
    }
}

static void put(const finalize_job *job, uint64_t at, float v)
{
    store(job->y->dtype, cpu_data(job->y), at, v);
}

/* A sum of one term that begins with it: -0 stays. */
static void copy_slot(const finalize_job *job, const token_terms *t,
                      uint64_t first, uint64_t n, float *y)
{
    read_row(job, t->row[0], first, n, y);
    for (uint64_t c = 0; c < n && job->weights != NULL; c++) {
        y[c] = t->w[0] * y[c];
    }
}

/* One sum, or four of every fourth term. */
static void sum_in_turn(const finalize_job *job, int sum, const token_terms *t,
                        uint64_t first, uint64_t n, float *y)
{
    const int lanes = sum == SUM_LANES4 ? LANES : 1;
    float acc[LANES][STRETCH] = {{0}};
    float x[STRETCH];

    for (uint64_t i = 0; i < t->n; i++) {
        read_row(job, t->row[i], first, n, x);
        add_slot(job, sum, t->w[i], x, n, acc[i % (uint64_t)lanes]);
    }
    for (uint64_t c = 0; c < n; c++) {
        y[c] = acc[0][c];
        for (int lane = 1; lane < lanes; lane++) {
            y[c] = y[c] + acc[lane][c];
        }
        if (sum == SUM_CPU) {
            y[c] = cpu_flush32(y[c]);
        }
    }
}

/* The last two of the sums that wait. */
static void join(float (*acc)[STRETCH], int top, uint64_t n)
{
    for (uint64_t c = 0; c < n; c++) {
        acc[top - 2][c] = acc[top - 2][c] + acc[top - 1][c];
    }
}

/* Rounds of neighbours, an odd last one carried over, are a binary counter:
   one waiting sum for each bit of the number of terms. */
static void sum_pairs(const finalize_job *job, const token_terms *t,
                      uint64_t first, uint64_t n, float *y)
{
    float acc[DEPTH + 1][STRETCH] = {{0}};
    float x[STRETCH];
    int top = 0;

    for (uint64_t i = 0; i < t->n; i++) {
        read_row(job, t->row[i], first, n, x);
        for (uint64_t c = 0; c < n; c++) {
            acc[top][c] = job->weights != NULL ? t->w[i] * x[c] : x[c];
        }
        top++;
        for (uint64_t seen = i + 1; seen % 2 == 0; seen /= 2) {
            join(acc, top--, n);
        }
    }
    while (top > 1) {
        join(acc, top--, n);
    }
    memcpy(y, acc[0], n * sizeof *y);
}

/* The real sum, rounded once: to odd on the way to 16 bits. */
static void sum_exactly(const finalize_job *job, const token_terms *t,
                        uint64_t first, uint64_t n, float *y)
{
    double x[MOST_SLOTS];
    double w[MOST_SLOTS];

    for (uint64_t c = 0; c < n; c++) {
        for (uint64_t i = 0; i < t->n; i++) {
            float v;
            read_row(job, t->row[i], first + c, 1, &v);
            x[i] = (double)v;
            w[i] = job->weights != NULL ? (double)t->w[i] : 1;
        }
        const double sum = cpu_exact_dot(x, w, (size_t)t->n, 0);
        y[c] = job->y->dtype == MXO_F32 ? (float)sum : cpu_float_odd(sum);
    }
}

static void token_stretch(const finalize_job *job, uint64_t token,
                          const token_terms *t, uint64_t first, uint64_t n)
{
    float y[STRETCH];

    if (job->sum == SUM_PAIRWISE) {
        sum_pairs(job, t, first, n, y);
    } else if (job->sum == SUM_EXACT) {
        sum_exactly(job, t, first, n, y);
    } else if (job->sum == SUM_CPU && t->n == 1) {
        copy_slot(job, t, first, n, y);
    } else {
        sum_in_turn(job, order_of(job, t->n), t, first, n, y);
    }
    for (uint64_t c = 0; c < n; c++) {
        put(job, token * job->y->shape[1] + first + c, y[c]);
    }
}

static void span(void *arg, uint64_t begin, uint64_t end)
{
    const finalize_job *job = arg;
    const uint64_t cols = job->y->shape[1];
    token_terms terms;

    for (uint64_t t = begin; t < end; t++) {
        find_terms(job, t, &terms);
        for (uint64_t c = 0; c < cols; c += STRETCH) {
            const uint64_t left = cols - c;

            token_stretch(job, t, &terms, c, left < STRETCH ? left : STRETCH);
        }
    }
}

static int32_t index_at(const mxo_tensor *t, uint64_t i)
{
    int32_t v;

    memcpy(&v, (const uint8_t *)cpu_data(t) + 4 * i, 4);
    return v;
}

/* Rows of all pairs, checked; NULL after a sentence. */
static int64_t *rows_of(const mxo_call *call, uint64_t pairs, uint64_t rows,
                        mxo_status *status, mxo_text why)
{
    const mxo_tensor *index = call_in(call, "index");
    const mxo_tensor *ids = call_in(call, "topk_ids");
    const mxo_tensor *map = call_in(call, "expert_map");
    int64_t *row = calloc((size_t)pairs + 1, sizeof *row);

    *status = row == NULL ? MXO_E_NOMEM : MXO_OK;
    for (uint64_t i = 0; *status == MXO_OK && i < pairs; i++) {
        row[i] = index != NULL ? index_at(index, i) : (int64_t)i;
        if (row[i] < -1 || row[i] >= (int64_t)rows) {
            *status = cpu_fail(MXO_E_PARAM, why, "an index is no row of x");
            break;
        }
        if (map != NULL) {
            const int32_t id = index_at(ids, i);

            if (id >= (int64_t)map->shape[0]) {
                *status =
                    cpu_fail(MXO_E_PARAM, why, "an id is not in expert_map");
                break;
            }
            row[i] = id < 0 || index_at(map, (uint64_t)id) < 0 ? -1 : row[i];
        }
    }
    if (*status != MXO_OK) {
        free(row);
        row = NULL;
    }
    return row;
}

/* Inputs that give one number per pair, and the map. */
static mxo_status check_pairs(const mxo_call *call, const uint64_t *shape,
                              mxo_text why)
{
    static const char *const names[] = {"index", "topk_ids"};
    const mxo_tensor *map = call_in(call, "expert_map");
    const uint32_t weight = cpu_float_dtype(call_text(call, "weight"));
    int has_map;

    MXO_TRY(cpu_flag(call, "map", &has_map, why));
    for (int i = 0; i < 2; i++) {
        const mxo_tensor *t = call_in(call, names[i]);

        if (t != NULL ||
            (i == 0 ? call_is(call, "source", "permuted") : has_map)) {
            MXO_TRY(cpu_want(t, names[i], MXO_I32, 2, shape, why));
        }
    }
    if (weight != MXO_N_DTYPES) {
        MXO_TRY(cpu_want(call_in(call, "topk_weights"), "topk_weights", weight,
                         2, shape, why));
    }
    if (has_map) {
        MXO_TRY(cpu_want(map, "expert_map", MXO_I32, 1,
                         map == NULL ? shape : map->shape, why));
    }
    return MXO_OK;
}

static mxo_status check(const mxo_call *call, finalize_job *job, mxo_text why)
{
    static const char *const sums[] = {"fma",      "add",   "typed",
                                       "lanes4",   "vllm",  "cpu",
                                       "pairwise", "exact", NULL};
    const uint32_t from = cpu_float_dtype(call_text(call, "from"));
    const uint32_t to = cpu_float_dtype(call_text(call, "to"));
    const double hidden = call_number(call, "hidden_dim");
    uint64_t shape[2];

    job->sum = cpu_choice(call, "sum", sums);
    job->x = call_in(call, "x");
    job->y = call_out(call, "y");
    job->weights =
        call_is(call, "weight", "none") ? NULL : call_in(call, "topk_weights");
    job->absent_is_zero = call_is(call, "absent", "zero");
    if (job->sum < 0) {
        return cpu_fail(MXO_E_UNSUPPORTED, why, "moe.finalize on cpu: sum=%s",
                        call_text(call, "sum"));
    }
    if (job->x == NULL || job->x->rank != 2 || job->y == NULL ||
        job->y->rank != 2) {
        return cpu_fail(MXO_E_SHAPE, why, "x and y are matrices");
    }
    const mxo_tensor *pairs = call_in(call, "index");

    pairs = pairs != NULL ? pairs : call_in(call, "topk_ids");
    pairs = pairs != NULL ? pairs : job->weights;
    shape[0] = job->y->shape[0];
    shape[1] = pairs != NULL && pairs->rank == 2
                   ? pairs->shape[1]
                   : (uint64_t)call_number(call, "top_k");
    job->slots = shape[1];
    const uint64_t y_shape[2] = {shape[0], hidden > 0 ? (uint64_t)hidden
                                                      : job->x->shape[1]};
    MXO_TRY(cpu_want(job->x, "x", from, 2, job->x->shape, why));

    MXO_TRY(cpu_want(job->y, "y", to, 2, y_shape, why));
    if (pairs == NULL &&
        (job->slots == 0 || job->x->shape[0] != shape[0] * job->slots)) {
        return cpu_fail(MXO_E_PARAM, why, "top_k does not divide x's rows");
    }
    if (hidden < 0 || y_shape[1] > job->x->shape[1]) {
        return cpu_fail(MXO_E_PARAM, why, "hidden_dim is below 0, or beyond x");
    }
    return check_pairs(call, shape, why);
}

mxo_status cpu_moe_finalize(cpu_context *ctx, const mxo_call *call,
                            mxo_text why)
{
    finalize_job job = {0};
    mxo_status status = cpu_known(
        call, "sum from weight to source map absent top_k hidden_dim", why);

    status = status == MXO_OK ? check(call, &job, why) : status;
    if (status != MXO_OK) {
        return status;
    }
    if (job.slots > MOST_SLOTS ||
        (job.slots != 0 && job.y->shape[0] > INT32_MAX / job.slots)) {
        return cpu_fail(MXO_E_SHAPE, why, "tokens times slots is too much");
    }
    int64_t *row = rows_of(call, job.y->shape[0] * job.slots, job.x->shape[0],
                           &status, why);

    if (row == NULL) {
        return status;
    }
    job.row = row;
    cpu_split(ctx, job.y->shape[0], 1, span, &job);
    cpu_name_kernel(ctx, "moe_finalize", cpu_threads(ctx, job.y->shape[0], 1));
    free(row);
    return MXO_OK;
}
