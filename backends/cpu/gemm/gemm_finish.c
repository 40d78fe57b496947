/* SPDX-License-Identifier: Apache-2.0 */
/* See gemm_finish.h. */
#include "gemm_finish.h"

#include "number.h"

#include <stdlib.h>
#include <string.h>

static float rounded(uint32_t to, double s)
{
    switch (to) {
    case MXO_BF16:
        return cpu_from_bf16(cpu_bf16_of(cpu_float_odd(s)));
    case MXO_F16:
        return cpu_from_f16(cpu_f16_of(cpu_float_odd(s)));
    default:
        return (float)s;
    }
}

static void store(const cpu_gemm_job *j, size_t at, float x)
{
    uint8_t *bytes = cpu_data(j->y);
    const uint16_t half = j->to == MXO_BF16 ? cpu_bf16_of(x) : cpu_f16_of(x);

    if (j->to == MXO_F32) {
        memcpy(bytes + 4 * at, &x, sizeof x);
    } else {
        memcpy(bytes + 2 * at, &half, sizeof half);
    }
}

void cpu_gemm_finish(const cpu_gemm_job *j, size_t r, size_t c, double s)
{
    const float bias = j->place > CPU_BIAS_SUM ? j->bias[c] : 0;
    float y;

    if (j->place == CPU_BIAS_F32) {
        const float sum = (float)s;
        y = rounded(j->to, (double)(sum + bias));
    } else {
        y = rounded(j->to, s);
    }
    if (j->place == CPU_BIAS_TO) {
        const float sum = y + rounded(j->to, (double)bias);
        y = rounded(j->to, (double)sum);
    }
    store(j, r * j->w.rows + c, y);
}

/* The processor's BF16 conversions leave no subnormals. */
static void finish_declared(const cpu_gemm_job *j, size_t r, size_t c, float s)
{
    const int flushes = j->to == MXO_BF16 && j->order.kind >= CPU_ORDER_DPBF16;

    if (j->place == CPU_BIAS_F32) {
        s = s + j->bias[c];
    }
    s = flushes ? cpu_flush32(s) : s;
    if (j->place == CPU_BIAS_F32) {
        store(j, r * j->w.rows + c, rounded(j->to, (double)s));
    } else {
        cpu_gemm_finish(j, r, c, (double)s);
    }
}

/* Numbers of one row, and the factors of its blocks. */
typedef struct tile_room {
    cpu_order_tile t;
    double *x; /* [rows, k] */
    double *scale;
    double *column;
    double *unit;
    float (*y)[CPU_MAC_COLS];
} tile_room;

static int open_room(tile_room *m, const cpu_gemm_job *j)
{
    const size_t k = j->a.k;
    const size_t blocks = cpu_blocks_of(k);
    const int apart = j->order.kind == CPU_ORDER_BLOCK;

    m->x = malloc((j->a.rows * k + 1) * sizeof *m->x);
    m->scale = malloc((j->a.rows * blocks + 1) * sizeof *m->scale);
    m->column = malloc((k + blocks + 1) * sizeof *m->column);
    m->y = malloc((j->a.rows + 1) * sizeof *m->y);
    m->t = (cpu_order_tile){.order = &j->order,
                            .x = m->x,
                            .scale = m->scale,
                            .m = j->a.rows,
                            .k = k};
    m->t.w = malloc((k + blocks + 1) * sizeof *m->t.w);
    if (m->x == NULL || m->scale == NULL || m->column == NULL || m->y == NULL ||
        m->t.w == NULL) {
        return -1;
    }
    m->t.unit = m->t.w + k;
    m->unit = apart ? m->column + k : NULL;
    for (size_t r = 0; r < j->a.rows; r++) {
        cpu_operand_row(&j->a, r, m->x + r * k,
                        apart ? m->scale + r * blocks : NULL);
    }
    return 0;
}

static void close_room(tile_room *m)
{
    free(m->x);
    free(m->scale);
    free(m->column);
    free(m->y);
    free(m->t.w);
}

/* n <= 16 columns; the others repeat the first. */
static void load_columns(tile_room *m, const cpu_gemm_job *j, size_t first,
                         size_t n)
{
    for (size_t c = 0; c < CPU_MAC_COLS; c++) {
        cpu_operand_row(&j->w, first + (c < n ? c : 0), m->column, m->unit);
        for (size_t k = 0; k < m->t.k; k++) {
            m->t.w[k][c] = m->column[k];
        }
        for (size_t b = 0; m->unit != NULL && b < cpu_blocks_of(m->t.k); b++) {
            m->t.unit[b][c] = m->unit[b];
        }
    }
}

void cpu_gemm_declared(void *job, uint64_t begin, uint64_t end)
{
    cpu_gemm_job *j = job;
    tile_room m = {.x = NULL};

    if (open_room(&m, j) != 0) {
        cpu_set_flag(&j->failed);
        end = begin;
    }
    for (size_t first = (size_t)begin; first < end; first += CPU_MAC_COLS) {
        const size_t n = end - first < CPU_MAC_COLS ? (size_t)(end - first)
                                                    : (size_t)CPU_MAC_COLS;
        float start[CPU_MAC_COLS] = {0};

        for (size_t c = 0; c < n && j->place == CPU_BIAS_SUM; c++) {
            start[c] = j->bias[first + c];
        }
        load_columns(&m, j, first, n);
        cpu_order_columns(&m.t, start, m.y);
        for (size_t i = 0; i < m.t.m * n; i++) {
            finish_declared(j, i / n, first + i % n, m.y[i / n][i % n]);
        }
    }
    close_room(&m);
}

static void put_wide(const mxo_tensor *t, size_t at, double x)
{
    const double y = x != x ? cpu_double(UINT64_C(0x7ff8) << 48) : x;

    memcpy((uint8_t *)cpu_data(t) + 8 * at, &y, sizeof y);
}

/* Output (r, c) in binary64; w: the column. */
static double wide_sum(const cpu_gemm_job *j, const double *x, const double *w,
                       size_t c)
{
    const double bias = j->bias == NULL ? 0 : (double)j->bias[c];

    if (j->place == CPU_BIAS_F32) {
        const float sum = (float)cpu_exact_dot(x, w, j->a.k, 0);
        return (double)(sum + (float)bias);
    }
    return cpu_nearest_dot(x, w, j->a.k, bias, 0);
}

void cpu_gemm_wide(void *job, uint64_t begin, uint64_t end)
{
    cpu_gemm_job *j = job;
    double *const w = malloc((j->a.k + 1) * sizeof *w);

    if (w == NULL) {
        cpu_set_flag(&j->failed);
        return;
    }
    for (size_t c = (size_t)begin; c < end; c++) {
        cpu_operand_row(&j->w, c, w, NULL);
        for (size_t r = 0; r < j->a.rows; r++) {
            const double *const x = j->x + r * j->a.k;
            const size_t at = r * j->w.rows + c;

            if (j->to == MXO_F64) {
                put_wide(j->y, at, wide_sum(j, x, w, c));
            }
            if (j->sum_abs != NULL) {
                put_wide(j->sum_abs, at, cpu_nearest_dot(x, w, j->a.k, 0, 1));
            }
        }
    }
    free(w);
}
