/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm.mx: activations times weights, both scaled or plain, by the exact sum
 * or in a declared order, with the bias at a declared place.
 */
#include "../call.h"
#include "order.h"

typedef enum bias_place {
    BIAS_NONE,
    BIAS_SUM, /* part of the sum: before the rounding, or what it starts with */
    BIAS_F32, /* added to the sum as a binary32 */
    BIAS_TO,  /* added to the output, in its type */
    N_BIASES
} bias_place;

typedef struct job {
    mxo_dot_matrix a;
    mxo_dot_matrix b;
    mxo_order order;
    int fma;
    uint64_t splits;
    int flush; /* the output conversion flushes subnormals (AVX512-BF16) */
    bias_place place;
    mxo_format to;
    const mxo_tensor *bias;
    const mxo_tensor *y;
    const mxo_tensor *sum_abs; /* NULL: not asked for */
    uint64_t rows;
    uint64_t cols;
} job;

static bias_place place_of(const mxo_call *call)
{
    static const char *const names[] = {"none", "sum", "f32", "to"};

    return (bias_place)mxo_call_choice(call, "bias", names, N_BIASES);
}

static mxo_dot_matrix matrix_of(const mxo_call *call, const char *codes,
                                const char *scale, const char *format)
{
    const mxo_tensor *t = mxo_call_in(call, codes);
    const mxo_tensor *s = mxo_call_in(call, scale);
    const mxo_format f = mxo_call_format(call, format);
    const mxo_dot_matrix m = {
        f, mxo_tensor_data(t), s == NULL ? NULL : mxo_tensor_data(s),
        t->shape[t->rank - 1] * (f == MXO_FMT_E2M1 ? 2 : 1)};

    return m;
}

static mxo_status check_scale(const mxo_call *call, const char *name,
                              uint64_t rows, uint64_t k, mxo_text why)
{
    const mxo_tensor *s = mxo_call_in(call, name);

    if (s != NULL &&
        (s->rank != 2 || s->shape[0] != rows || s->shape[1] != dot_blocks(k))) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "gemm.mx: %s needs one byte per row and 32 of k", name);
    }
    return MXO_OK;
}

static mxo_status check_order(const mxo_call *call, mxo_text why)
{
    const mxo_order order = mxo_order_by_name(mxo_call_text(call, "acc"));
    const int64_t splits = mxo_call_int(call, "splits");
    const int starts = mxo_order_is_exact(order) || order == MXO_ORDER_SEQ ||
                       order == MXO_ORDER_BLOCK || order == MXO_ORDER_DPBF16 ||
                       order == MXO_ORDER_WGMMA;

    if (splits < 1 || (splits > 1 && order != MXO_ORDER_SPLIT)) {
        return mxo_fail(MXO_E_PARAM, why,
                        "gemm.mx: splits=%s needs acc=split and at least one",
                        mxo_call_text(call, "splits"));
    }
    if (order == MXO_ORDER_WGMMA && !mxo_call_is(call, "from", "bf16") &&
        !mxo_call_is(call, "from", "f16")) {
        return mxo_fail(MXO_E_PARAM, why,
                        "gemm.mx: acc=wgmma needs from=bf16 or f16");
    }
    if (place_of(call) == BIAS_SUM && !starts) {
        return mxo_fail(MXO_E_PARAM, why,
                        "gemm.mx: acc=%s has no place for bias=sum",
                        mxo_call_text(call, "acc"));
    }
    if (!mxo_order_is_exact(order) && mxo_call_is(call, "to", "f64")) {
        return mxo_fail(MXO_E_PARAM, why,
                        "gemm.mx: to=f64 needs acc=exact: others sum in f32");
    }
    return MXO_OK;
}

static mxo_status check_bias(const mxo_call *call, uint64_t cols, mxo_text why)
{
    const mxo_tensor *bias = mxo_call_in(call, "bias");

    if (place_of(call) != BIAS_NONE &&
        (bias->rank != 1 || bias->shape[0] != cols)) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "gemm.mx: bias needs one entry per column");
    }
    if (place_of(call) == BIAS_TO && mxo_call_is(call, "to", "f64")) {
        return mxo_fail(MXO_E_PARAM, why,
                        "gemm.mx: bias=to adds in f32, bf16 or f16");
    }
    return MXO_OK;
}

mxo_status infer_gemm_mx(const mxo_call *call, mxo_tensor *out_tensor,
                         uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *a = mxo_call_in(call, "a");
    const mxo_tensor *w = mxo_call_in(call, "w");

    if (a->rank != 2 || w->rank != 2) {
        return mxo_fail(MXO_E_SHAPE, why, "gemm.mx: a and w need two axes");
    }
    const uint64_t shape[2] = {a->shape[0], w->shape[0]};
    const uint64_t k = matrix_of(call, "a", "a_scale", "from").k;

    MXO_TRY(check_order(call, why));
    if (matrix_of(call, "w", "w_scale", "element").k != k) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "gemm.mx: a and w have rows of different length");
    }
    if (shape[0] != 0 && shape[1] > INT64_MAX / 8 / shape[0]) {
        return mxo_fail(MXO_E_SHAPE, why, "gemm.mx: the output is too large");
    }
    MXO_TRY(check_scale(call, "a_scale", shape[0], k, why));
    MXO_TRY(check_scale(call, "w_scale", shape[1], k, why));
    MXO_TRY(check_bias(call, shape[1], why));
    mxo_out(out_tensor, 0, "y", mxo_call_dtype(call, "to"), 2, shape);
    *n_out = 1;
    if (mxo_call_int(call, "sums") != 0) {
        mxo_out(out_tensor, 1, "sum_abs", MXO_F64, 2, shape);
        *n_out = 2;
    }
    return MXO_OK;
}

static mxo_real bias_at(const job *j, uint64_t c)
{
    return mxo_format_decode(mxo_dtype_format(j->bias->dtype),
                             mxo_load(j->bias, c));
}

/* The epilogue of a sum: bias, conversion, bias. */
static uint64_t finish(const job *j, mxo_real sum, uint64_t c)
{
    if (j->place == BIAS_F32) {
        sum = mxo_format_decode(
            MXO_FMT_F32, mxo_f32_add(dot_f32(sum), dot_f32(bias_at(j, c))));
    }
    if (j->flush) {
        sum = mxo_format_decode(MXO_FMT_F32, mxo_f32_ftz(dot_f32(sum)));
    }
    const uint64_t y = mxo_format_round(j->to, sum);

    if (j->place != BIAS_TO) {
        return y;
    }
    /* f32 has 24 >= 2 p + 2 bits, so its sum rounded to BF16 or FP16 is the
       exact sum rounded once. */
    const mxo_real bias =
        mxo_format_decode(j->to, mxo_format_round(j->to, bias_at(j, c)));
    const uint32_t both =
        mxo_f32_add(dot_f32(mxo_format_decode(j->to, y)), dot_f32(bias));

    return mxo_format_round(j->to, mxo_format_decode(MXO_FMT_F32, both));
}

static void exact_rect(const job *j, mxo_dot_rect rect)
{
    mxo_dot sum[MXO_DOT_TILE_ROWS * MXO_DOT_TILE_COLS];
    mxo_dot sum_abs[MXO_DOT_TILE_ROWS * MXO_DOT_TILE_COLS];

    for (unsigned i = 0; i < rect.rows * rect.cols; i++) {
        mxo_dot_reset(&sum[i]);
        mxo_dot_reset(&sum_abs[i]);
    }
    mxo_dot_tile(sum, j->sum_abs == NULL ? NULL : sum_abs, &j->a, &j->b, rect);
    for (unsigned i = 0; i < rect.rows * rect.cols; i++) {
        const uint64_t r = rect.row + i / rect.cols;
        const uint64_t c = rect.col + i % rect.cols;
        if (j->place == BIAS_SUM) {
            mxo_dot_add(&sum[i], bias_at(j, c));
        }
        mxo_store(j->y, r * j->cols + c, finish(j, mxo_dot_value(&sum[i]), c));
        if (j->sum_abs != NULL) {
            mxo_store(j->sum_abs, r * j->cols + c,
                      mxo_dot_round(&sum_abs[i], MXO_FMT_F64));
        }
    }
}

static void order_rect(const job *j, mxo_dot_rect rect)
{
    mxo_order_job o = {&j->a, &j->b, j->order, j->fma, j->splits, 0};

    for (unsigned i = 0; i < rect.rows * rect.cols; i++) {
        const uint64_t r = rect.row + i / rect.cols;
        const uint64_t c = rect.col + i % rect.cols;
        o.start = j->place == BIAS_SUM ? dot_f32(bias_at(j, c)) : 0;
        const mxo_real sum =
            mxo_format_decode(MXO_FMT_F32, mxo_order_dot(&o, r, c));
        mxo_store(j->y, r * j->cols + c, finish(j, sum, c));
    }
}

/* Magnitudes alone, for an order that sums in its own way. */
static void sum_abs_rect(const job *j, mxo_dot_rect rect)
{
    mxo_dot sum[MXO_DOT_TILE_ROWS * MXO_DOT_TILE_COLS];
    mxo_dot sum_abs[MXO_DOT_TILE_ROWS * MXO_DOT_TILE_COLS];

    for (unsigned i = 0; i < rect.rows * rect.cols; i++) {
        mxo_dot_reset(&sum[i]);
        mxo_dot_reset(&sum_abs[i]);
    }
    mxo_dot_tile(sum, sum_abs, &j->a, &j->b, rect);
    for (unsigned i = 0; i < rect.rows * rect.cols; i++) {
        mxo_store(j->sum_abs,
                  (rect.row + i / rect.cols) * j->cols + rect.col +
                      i % rect.cols,
                  mxo_dot_round(&sum_abs[i], MXO_FMT_F64));
    }
}

static void run_rect(const job *j, mxo_dot_rect rect)
{
    if (mxo_order_is_exact(j->order)) {
        exact_rect(j, rect);
        return;
    }
    order_rect(j, rect);
    if (j->sum_abs != NULL) {
        sum_abs_rect(j, rect);
    }
}

mxo_status run_gemm_mx(const mxo_call *call, mxo_text why)
{
    job j;

    (void)why;
    j.a = matrix_of(call, "a", "a_scale", "from");
    j.b = matrix_of(call, "w", "w_scale", "element");
    j.order = mxo_order_by_name(mxo_call_text(call, "acc"));
    j.fma = mxo_call_is(call, "mul", "fma");
    j.splits = (uint64_t)mxo_call_int(call, "splits");
    j.to = mxo_call_format(call, "to");
    j.flush = j.to == MXO_FMT_BF16 &&
              (j.order == MXO_ORDER_DPBF16 || j.order == MXO_ORDER_AMX);
    j.place = place_of(call);
    j.bias = mxo_call_in(call, "bias");
    j.y = mxo_call_out(call, "y");
    j.sum_abs = mxo_call_out(call, "sum_abs");
    j.rows = j.y->shape[0];
    j.cols = j.y->shape[1];
    for (uint64_t c = 0; c < j.cols; c += MXO_DOT_TILE_COLS) {
        for (uint64_t r = 0; r < j.rows; r += MXO_DOT_TILE_ROWS) {
            const uint64_t rows = j.rows - r;
            const uint64_t cols = j.cols - c;
            const mxo_dot_rect rect = {
                r, c,
                rows < MXO_DOT_TILE_ROWS ? (unsigned)rows : MXO_DOT_TILE_ROWS,
                cols < MXO_DOT_TILE_COLS ? (unsigned)cols : MXO_DOT_TILE_COLS};
            run_rect(&j, rect);
        }
    }
    return MXO_OK;
}
