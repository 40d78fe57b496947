/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm.mx at speed, with the bits of the exact sum.  Weights are decoded to
 * double in panels, one double GEMM per panel; each output is the exact sum
 * if its row pair has a certificate (gemm.h).  Rows without one are cut in two
 * slices and tried again; what is still without one is added up exactly.
 */
#include "cpu.h"
#include "gemm_finish.h"
#include "number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 32, PANEL = 480, CHUNK = 768 };

/* Working set of one panel of columns, a chunk of rows at a time. */
typedef struct panel {
    const cpu_gemm_job *j;
    size_t first; /* column */
    size_t n;
    double *w;
    cpu_gemm_line *col;
    cpu_gemm_line worst; /* no column is harder */
    double *y;           /* [2 * CHUNK, n] */
    double *x;           /* [2 * CHUNK, k]: rows in slices; NULL until needed */
    size_t hard[CHUNK];  /* rows of the chunk that are in two slices */
    size_t n_hard;
} panel;

/* A double, exact or rounded to odd, to BF16 in one step where the result is
   an ordinary number. */
static inline uint16_t bf16_of_double(double s)
{
    const uint64_t u = cpu_bits64(s);
    const uint64_t field = u >> 52 & 0x7ff;

    if (field - 898 > 250) {
        return cpu_bf16_of(cpu_float_odd(s));
    }
    const uint64_t up = (UINT64_C(1) << 44) - 1 + (u >> 45 & 1);

    return (uint16_t)((u >> 63 << 15) |
                      (((u + up) >> 45 & 0x3ffff) - (UINT64_C(896) << 7)));
}

static double bias_in_sum(const cpu_gemm_job *j, size_t c)
{
    return j->place == CPU_BIAS_SUM ? (double)j->bias[c] : 0;
}

static void finish_exact(const panel *p, size_t r, size_t i, double y)
{
    const double b = bias_in_sum(p->j, p->first + i);

    /* + 0.0: an exactly zero sum is +0. */
    cpu_gemm_finish(p->j, r, p->first + i,
                    b == 0 ? y + 0.0 : cpu_odd_sum(y, b));
}

/* Every product of row r on its own: for what no certificate covers. */
static void finish_slowly(const panel *p, size_t r, size_t i)
{
    const cpu_gemm_job *j = p->j;

    cpu_gemm_finish(j, r, p->first + i,
                    cpu_exact_dot(j->x + r * j->a.k, p->w + i * j->a.k, j->a.k,
                                  bias_in_sum(j, p->first + i)));
}

/* The sum of both slices' products, if both are exact. */
static void finish_sliced(const panel *p, size_t r, const double *high,
                          const double *low, const cpu_gemm_line *slice)
{
    static const double ones[2] = {1, 1};

    for (size_t i = 0; i < p->n; i++) {
        const double part[2] = {high[i], low[i]};
        if (cpu_is_exact(slice[0], p->col[i]) &&
            cpu_is_exact(slice[1], p->col[i])) {
            cpu_gemm_finish(
                p->j, r, p->first + i,
                cpu_exact_dot(part, ones, 2, bias_in_sum(p->j, p->first + i)));
        } else {
            finish_slowly(p, r, i);
        }
    }
}

/* The unit whose multiples are exact with every column. */
static int cut_of(const panel *p, cpu_gemm_line a)
{
    const double most = a.norm * p->worst.span;

    return most > 0x1p-480 && most < 0x1p480 ? (int)ceil(log2(most)) - 53 : 0;
}

/* Rows r .. r + m - 1 as they are, or in slices: high where the row is, low
   behind all rows. Returns the matrix; NULL without memory. */
static const double *slice_rows(panel *p, size_t r, size_t m)
{
    const cpu_gemm_job *j = p->j;
    const size_t k = j->a.k;

    if (p->x == NULL) {
        p->x = malloc((2 * CHUNK * k + 1) * sizeof *p->x);
    }
    for (size_t i = 0, h = 0; p->x != NULL && i < m; i++) {
        const double *x = j->x + (r + i) * k;
        if (h < p->n_hard && p->hard[h] == i) {
            cpu_split_row(x, k, cut_of(p, j->row[r + i]), p->x + i * k,
                          p->x + (m + h) * k);
            h++;
        } else {
            memcpy(p->x + i * k, x, k * sizeof *x);
        }
    }
    return p->x;
}

/* A row of exact sums without a bias: nearly all there is. */
static void finish_row(const panel *p, size_t r, const double *y)
{
    const cpu_gemm_job *j = p->j;
    uint8_t *out = (uint8_t *)cpu_data(j->y) +
                   (r * j->w.rows + p->first) * (j->to == MXO_F32 ? 4 : 2);

    if (j->place != CPU_BIAS_NONE || j->to == MXO_F16) {
        for (size_t i = 0; i < p->n; i++) {
            finish_exact(p, r, i, y[i]);
        }
        return;
    }
    for (size_t i = 0; i < p->n && j->to == MXO_BF16; i++) {
        const uint16_t half = bf16_of_double(y[i] + 0.0);
        memcpy(out + 2 * i, &half, sizeof half);
    }
    for (size_t i = 0; i < p->n && j->to == MXO_F32; i++) {
        const float single = (float)(y[i] + 0.0);
        memcpy(out + 4 * i, &single, sizeof single);
    }
}

static int run_chunk(panel *p, size_t r, size_t m)
{
    const cpu_gemm_job *j = p->j;
    const size_t k = j->a.k;
    const double *x = j->x + r * k;

    p->n_hard = 0;
    for (size_t i = 0; i < m; i++) {
        if (!cpu_is_exact(j->row[r + i], p->worst)) {
            p->hard[p->n_hard++] = i;
        }
    }
    if (p->n_hard > 0) {
        x = slice_rows(p, r, m);
    }
    if (x == NULL) {
        return 1;
    }
    cpu_dgemm(&(cpu_product){x, p->w, p->y, m + p->n_hard, p->n, k}, 1);
    for (size_t i = 0, h = 0; i < m; i++) {
        if (h < p->n_hard && p->hard[h] == i) {
            const cpu_gemm_line slice[2] = {cpu_gemm_row(x + i * k, k),
                                            cpu_gemm_row(x + (m + h) * k, k)};
            finish_sliced(p, r + i, p->y + i * p->n, p->y + (m + h) * p->n,
                          slice);
            h++;
            continue;
        }
        finish_row(p, r + i, p->y + i * p->n);
    }
    return 0;
}

static int run_panel(panel *p)
{
    const cpu_gemm_job *j = p->j;
    const size_t k = j->a.k;
    int bad = 0;

    p->worst = cpu_gemm_line_of(0, 0);
    for (size_t i = 0; i < p->n; i++) {
        cpu_operand_row(&j->w, p->first + i, p->w + i * k, NULL);
        p->col[i] = cpu_operand_line(&j->w, p->first + i, p->w + i * k);
        /* Not <=: a NaN is the worst there is, and stays. */
        if (!(p->col[i].span <= p->worst.span) &&
            p->worst.span == p->worst.span) {
            p->worst = p->col[i];
        }
    }
    for (size_t r = 0; !bad && r < j->a.rows; r += CHUNK) {
        const size_t left = j->a.rows - r;
        bad = run_chunk(p, r, left < CHUNK ? left : CHUNK);
    }
    return bad;
}

static int run_and_free(panel *p)
{
    int bad = 1;

    p->w = malloc((p->n * p->j->a.k + 1) * sizeof *p->w);
    p->col = malloc((p->n + 1) * sizeof *p->col);
    p->y = malloc((2 * CHUNK * p->n + 1) * sizeof *p->y);
    if (p->w != NULL && p->col != NULL && p->y != NULL) {
        bad = run_panel(p);
    }
    free(p->w);
    free(p->col);
    free(p->y);
    free(p->x);
    return bad;
}

static void run_columns(void *job, uint64_t begin, uint64_t end)
{
    cpu_gemm_job *j = job;

    for (uint64_t c = begin; c < end; c += PANEL) {
        panel p = {.j = j,
                   .first = (size_t)c,
                   .n = end - c < PANEL ? (size_t)(end - c) : PANEL};
        if (run_and_free(&p)) {
            cpu_set_flag(&j->failed);
        }
    }
}

/* The bias as floats, in memory of its own; NULL in *bias if there is none. */
static mxo_status read_bias(const mxo_call *call, size_t cols, float **bias,
                            mxo_text why)
{
    const mxo_tensor *t = call_in(call, "bias");
    const uint64_t shape[1] = {cols};

    *bias = NULL;
    if (call_is(call, "bias", "none")) {
        return MXO_OK;
    }
    const mxo_status status =
        cpu_want(t, "bias", cpu_float_dtype(call_text(call, "bias_type")), 1,
                 shape, why);
    if (status != MXO_OK) {
        return status;
    }
    *bias = malloc((cols + 1) * sizeof **bias);
    for (size_t c = 0; *bias != NULL && c < cols; c++) {
        (*bias)[c] = (float)cpu_wide_value(t, c);
    }
    return *bias != NULL ? MXO_OK : MXO_E_NOMEM;
}

/* starts: the order has a place for a bias. */
static const struct {
    const char *name;
    cpu_order_kind kind;
    int starts;
} orders[] = {
    {"exact", CPU_ORDER_EXACT, 1},       {"f32", CPU_ORDER_EXACT, 1},
    {"tc25", CPU_ORDER_EXACT, 1},        {"tc13", CPU_ORDER_EXACT, 1},
    {"seq", CPU_ORDER_SEQ, 1},           {"block", CPU_ORDER_BLOCK, 1},
    {"pairwise", CPU_ORDER_PAIRWISE, 0}, {"split", CPU_ORDER_SPLIT, 0},
    {"dpbf16", CPU_ORDER_DPBF16, 1},     {"amx", CPU_ORDER_AMX, 0},
};

static mxo_status read_order(const mxo_call *call, cpu_gemm_job *j,
                             mxo_text why)
{
    static const char *const places[] = {"none", "sum", "f32", "to", NULL};
    const size_t n = sizeof orders / sizeof orders[0];
    const double splits = call_number(call, "splits");
    size_t i = 0;

    while (i < n && !call_is(call, "acc", orders[i].name)) {
        i++;
    }
    if (i == n) {
        return cpu_fail(MXO_E_UNSUPPORTED, why, "the cpu backend has no acc=%s",
                        call_text(call, "acc"));
    }
    j->order.kind = orders[i].kind;
    j->order.fma = call_is(call, "mul", "fma");
    j->order.splits = (size_t)splits;
    j->place = (cpu_bias_place)cpu_choice(call, "bias", places);
    j->to = call_is(call, "to", "f64") ? (uint32_t)MXO_F64
                                       : cpu_float_dtype(call_text(call, "to"));
    if (!(splits >= 1) || (splits > 1 && orders[i].kind != CPU_ORDER_SPLIT)) {
        return cpu_fail(MXO_E_PARAM, why, "splits needs acc=split");
    }
    if (j->place == CPU_BIAS_SUM && !orders[i].starts) {
        return cpu_fail(MXO_E_PARAM, why, "acc=%s has no place for bias=sum",
                        orders[i].name);
    }
    if (j->to == MXO_F64 &&
        (orders[i].kind != CPU_ORDER_EXACT || j->place == CPU_BIAS_TO)) {
        return cpu_fail(MXO_E_PARAM, why,
                        "to=f64 needs an exact sum and no bias=to");
    }
    return cpu_known(call,
                     "from a_scale element w_scale acc mul splits bias "
                     "bias_type to sums",
                     why);
}

static void read_rows(void *job, uint64_t begin, uint64_t end)
{
    cpu_gemm_job *j = job;
    const size_t k = j->a.k;

    for (size_t r = (size_t)begin; r < end; r++) {
        cpu_operand_row(&j->a, r, j->x + r * k, NULL);
        j->row[r] = cpu_gemm_row(j->x + r * k, k);
    }
}

static mxo_status run_job(cpu_context *ctx, cpu_gemm_job *j, mxo_text why)
{
    const int is_exact = j->order.kind == CPU_ORDER_EXACT;
    char name[32] = "gemm_";
    const size_t k = j->a.k;

    strcat(name, is_exact ? cpu_dgemm_name() : "declared");
    j->x = malloc((j->a.rows * k + 1) * sizeof *j->x);
    j->row = malloc((j->a.rows + 1) * sizeof *j->row);
    j->failed = j->x == NULL || j->row == NULL;
    if (!j->failed) {
        cpu_split(ctx, j->a.rows, BLOCK, read_rows, j);
        if (j->to != MXO_F64) {
            cpu_split(ctx, j->w.rows, is_exact ? PANEL : CPU_MAC_COLS,
                      is_exact ? run_columns : cpu_gemm_declared, j);
        }
        if (j->to == MXO_F64 || j->sum_abs != NULL) {
            cpu_split(ctx, j->w.rows, CPU_MAC_COLS, cpu_gemm_wide, j);
        }
    }
    free(j->x);
    free(j->row);
    cpu_name_kernel(ctx, name, cpu_threads(ctx, j->w.rows, PANEL));
    return j->failed ? cpu_fail(MXO_E_NOMEM, why, "no memory for a panel")
                     : MXO_OK;
}

static mxo_status read_outputs(const mxo_call *call, cpu_gemm_job *j,
                               mxo_text why)
{
    const uint64_t shape[2] = {j->a.rows, j->w.rows};
    int has_sums;

    MXO_TRY(cpu_flag(call, "sums", &has_sums, why));
    if (has_sums) {
        j->sum_abs = call_out(call, "sum_abs");
        MXO_TRY(cpu_want(j->sum_abs, "sum_abs", MXO_F64, 2, shape, why));
    }
    return cpu_want(j->y, "y", j->to, 2, shape, why);
}

mxo_status cpu_gemm_mx(cpu_context *ctx, const mxo_call *call, mxo_text why)
{
    cpu_gemm_job j = {.y = call_out(call, "y")};
    float *bias = NULL;

    MXO_TRY(read_order(call, &j, why));
    MXO_TRY(cpu_operand_read(call, "a", "a_scale", "from", &j.a, why));
    MXO_TRY(cpu_operand_read(call, "w", "w_scale", "element", &j.w, why));
    if (j.a.k != j.w.k) {
        return cpu_fail(MXO_E_SHAPE, why, "rows of different length");
    }
    MXO_TRY(read_outputs(call, &j, why));
    mxo_status status = read_bias(call, j.w.rows, &bias, why);

    if (status == MXO_OK) {
        j.bias = bias;
        status = run_job(ctx, &j, why);
    }
    free(bias);
    return status;
}
