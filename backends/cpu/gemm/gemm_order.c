/* SPDX-License-Identifier: Apache-2.0 */
/* See gemm_order.h.  docs/ops/gemm.mx.md says what each order is. */
#include "gemm_order.h"

#include "number.h"

#include <string.h>

enum { DEPTH = 64 };

typedef float column_sums[CPU_MAC_COLS];

/* One row on its way through the columns. */
typedef struct chain {
    const cpu_order_tile *t;
    const double *x;
    const double *scale;
} chain;

/* A weight: a bare code, a number where sums have no order, or an operand of 16
   bits. */
static double weight_of(const cpu_order_tile *t, const cpu_weight_rule *rule,
                        uint8_t scale, unsigned code)
{
    switch (t->order->kind) {
    case CPU_ORDER_BLOCK:
        return code == 8 ? -0.0 : 0.5 * (double)cpu_code_int[code];
    case CPU_ORDER_EXACT:
        return rule->value[scale][code];
    default:
        return (double)rule->narrow[scale][code];
    }
}

/* The columns, k by k. */
void cpu_order_load(const cpu_order_tile *t, const cpu_weights *w, size_t first,
                    size_t n)
{
    const int is_bare = t->order->kind == CPU_ORDER_BLOCK;
    const size_t blocks = cpu_blocks_of(w->k);

    for (size_t c = 0; c < CPU_MAC_COLS; c++) {
        const size_t col = first + (c < n ? c : 0);
        const uint8_t *scale = w->scale + col * blocks;
        const uint8_t *codes = w->codes + col * (w->k / 2);

        for (size_t k = 0; k < w->k; k++) {
            const unsigned code = codes[k / 2] >> (k % 2 * 4) & 15;
            t->w[k][c] = weight_of(t, w->rule, scale[k / CPU_MX], code);
        }
        for (size_t b = 0; is_bare && b < blocks; b++) {
            t->unit[b][c] = (double)w->rule->unit[scale[b]];
        }
    }
}

/* acc + x w, rounded once or twice. */
static void add_product(int fma, double x, const double *w, float *acc)
{
    for (int c = 0; c < CPU_MAC_COLS && fma; c++) {
        acc[c] = cpu_add32(x * w[c], acc[c]);
    }
    for (int c = 0; c < CPU_MAC_COLS && !fma; c++) {
        const float product = (float)(x * w[c]);
        acc[c] = acc[c] + product;
    }
}

static void run_seq(const chain *r, size_t first, size_t end, float *acc)
{
    for (size_t k = first; k < end; k++) {
        add_product(r->t->order->fma, r->x[k], r->t->w[k], acc);
    }
}

static void run_split(const chain *r, float *acc)
{
    const size_t k = r->t->k;
    const size_t blocks = cpu_blocks_of(k);
    const size_t splits = r->t->order->splits;
    const size_t part = (blocks / splits + (blocks % splits != 0)) * CPU_MX;

    for (size_t first = 0; first < k; first += part) {
        column_sums sum = {0};

        run_seq(r, first, k - first < part ? k : first + part, sum);
        for (int c = 0; c < CPU_MAC_COLS; c++) {
            acc[c] = first == 0 ? sum[c] : acc[c] + sum[c];
        }
    }
}

/* A binary counter of finished sums: one for each bit of the number of
   products seen. */
static void run_pairwise(const chain *r, float *acc)
{
    column_sums stack[DEPTH];
    int top = 0;

    for (size_t k = 0; k < r->t->k; k++) {
        for (int c = 0; c < CPU_MAC_COLS; c++) {
            stack[top][c] = (float)(r->x[k] * r->t->w[k][c]);
        }
        top++;
        for (size_t n = k + 1; n % 2 == 0; n /= 2) {
            top--;
            for (int c = 0; c < CPU_MAC_COLS; c++) {
                stack[top - 1][c] = stack[top - 1][c] + stack[top][c];
            }
        }
    }
    for (; top > 1; top--) {
        for (int c = 0; c < CPU_MAC_COLS; c++) {
            stack[top - 2][c] = stack[top - 2][c] + stack[top - 1][c];
        }
    }
    if (top == 1) {
        memcpy(acc, stack[0], sizeof stack[0]);
    }
}

/* Accumulation by the processor's BF16 instructions: fused; subnormal operands,
   sums and results are flushed. */
static void add_flushed(double x, const double *w, float *acc)
{
    const float a = cpu_flush32((float)x);

    for (int c = 0; c < CPU_MAC_COLS; c++) {
        const float b = cpu_flush32((float)w[c]);
        const float sum = cpu_fma32(a, b, cpu_flush32(acc[c]));
        acc[c] = cpu_flush32(sum);
    }
}

static const double zeros[CPU_MAC_COLS]; /* a column that ends early */

static void run_dpbf16(const chain *r, float *acc)
{
    for (size_t k = 0; k < r->t->k; k += 2) {
        const int has = k + 1 < r->t->k;

        add_flushed(has ? r->x[k + 1] : 0, has ? r->t->w[k + 1] : zeros, acc);
        add_flushed(r->x[k], r->t->w[k], acc);
    }
}

/* A short block ends in zeros, which take part. */
static void run_amx(const chain *r, float *acc)
{

    for (size_t first = 0; first < r->t->k; first += CPU_MX) {
        column_sums chains[2] = {{0}, {0}};

        for (size_t k = first; k < first + CPU_MX; k++) {
            const int has = k < r->t->k;
            add_flushed(has ? r->x[k] : 0, has ? r->t->w[k] : zeros,
                        chains[k % 2]);
        }
        for (int c = 0; c < CPU_MAC_COLS; c++) {
            const float both = cpu_flush32(chains[0][c] + chains[1][c]);
            acc[c] = cpu_flush32(acc[c] + both);
        }
    }
}

static void run_block(const chain *r, size_t b, float *acc)
{
    const double *const unit = r->t->unit[b];
    const size_t first = b * CPU_MX;
    const size_t left = r->t->k - first;
    column_sums part = {0};

    run_seq(r, first, left < CPU_MX ? r->t->k : first + CPU_MX, part);
    for (int c = 0; c < CPU_MAC_COLS; c++) {
        const double factor = r->scale[b] * unit[c];
        const double x = (double)part[c] * factor;

        if (r->t->order->fma) {
            acc[c] = cpu_add32(x, acc[c]);
        } else {
            const float rounded = (float)x;
            acc[c] = acc[c] + rounded;
        }
    }
}

/* One row; acc holds the start. */
static void run_row(const chain *r, float *acc)
{
    switch (r->t->order->kind) {
    case CPU_ORDER_BLOCK:
        for (size_t b = 0; b < cpu_blocks_of(r->t->k); b++) {
            run_block(r, b, acc);
        }
        break;
    case CPU_ORDER_PAIRWISE:
        run_pairwise(r, acc);
        break;
    case CPU_ORDER_SPLIT:
        run_split(r, acc);
        break;
    case CPU_ORDER_DPBF16:
        run_dpbf16(r, acc);
        break;
    case CPU_ORDER_AMX:
        run_amx(r, acc);
        break;
    default:
        run_seq(r, 0, r->t->k, acc);
        break;
    }
}

void cpu_order_columns(const cpu_order_tile *t, const float *start,
                       float (*y)[CPU_MAC_COLS])
{
    const cpu_order_kind kind = t->order->kind;
    const size_t bytes = sizeof(column_sums);

    for (size_t i = 0; i < t->m; i++) {
        const chain r = {t, t->x + i * t->k,
                         t->scale == NULL ? NULL
                                          : t->scale + i * cpu_blocks_of(t->k)};

        if (kind == CPU_ORDER_AMX || kind == CPU_ORDER_SPLIT ||
            kind == CPU_ORDER_PAIRWISE) {
            memset(y[i], 0, bytes);
        } else {
            memcpy(y[i], start, bytes);
        }
        run_row(&r, y[i]);
    }
}

void cpu_order_part(const cpu_order_tile *t, size_t first, size_t end,
                    float (*y)[CPU_MAC_COLS])
{
    for (size_t i = 0; i < t->m; i++) {
        const double *x = t->x + i * t->k;
        double sum[CPU_MAC_COLS] = {0};

        for (size_t k = first; k < end; k++) {
            for (int c = 0; c < CPU_MAC_COLS; c++) {
                sum[c] += x[k] * t->w[k][c];
            }
        }
        for (int c = 0; c < CPU_MAC_COLS; c++) {
            y[i][c] = (float)sum[c];
        }
    }
}
