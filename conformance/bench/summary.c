/* SPDX-License-Identifier: Apache-2.0 */
/* Samples become a row: medians, and how far samples are from them; and how
   much work a case is. */
#include "bench.h"

#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Sorts the values. */
static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return n % 2 != 0 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* Median absolute deviation of values from their median. */
static double spread(const double *x, double middle, int n)
{
    double off[BENCH_MAX_SAMPLES];

    for (int i = 0; i < n; i++) {
        off[i] = x[i] < middle ? middle - x[i] : x[i] - middle;
    }
    return median(off, n);
}

void bench_compare(bench_row *row, const double *op, double *rival, int n)
{
    double ratio[BENCH_MAX_SAMPLES];

    for (int i = 0; i < n; i++) {
        ratio[i] = op[i] / rival[i];
    }
    row->of_rival = median(ratio, n);
    row->rival = median(rival, n);
    row->rival_spread = spread(rival, row->rival, n);
}

void bench_summarise(bench_row *row, double *op, double *copy, int n)
{
    double ratio[BENCH_MAX_SAMPLES];

    for (int i = 0; i < n; i++) {
        ratio[i] = copy[i] / op[i];
    }
    row->n_samples = n;
    row->seconds = median(op, n);
    row->copy = median(copy, n);
    row->ratio = median(ratio, n);
    row->spread = spread(op, row->seconds, n);
}

uint64_t bench_elements(const test_case *c)
{
    const uint64_t rows = case_dim(c, "rows");
    const uint64_t tokens = case_dim(c, "tokens");

    if (tokens > 0) {
        return tokens * case_dim(c, "hidden");
    }
    return rows > 0 ? rows * case_dim(c, "cols") : case_dim(c, "n");
}

uint64_t bench_macs(const test_case *c)
{
    const uint64_t slots = case_dim(c, "tokens") * case_dim(c, "topk");
    const int has_one = op_dim_index(c->schema, "hblocks") >= 0;
    const int has_two = op_dim_index(c->schema, "iblocks") >= 0;

    if (has_one || has_two) {
        return slots * case_dim(c, "hidden") * case_dim(c, "inter") *
               (uint64_t)(2 * has_one + has_two);
    }
    return case_dim(c, "rows") * case_dim(c, "cols") * case_dim(c, "k");
}
