/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the rows of w13 by similar rows; see rows.h. */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_ROWS = 128 };

static const double differs = 64; /* 8 squared */
static const double alike = 16;   /* 4 squared */

/* Every step-th of the rows first .. end. */
typedef struct group {
    uint64_t first;
    uint64_t end;
    uint64_t step;
} group;

static void moments(const double *row, group g, double *mean, double *error)
{
    double sum = 0;
    double squares = 0;
    double n = 0;

    for (uint64_t r = g.first; r < g.end; r += g.step) {
        sum += row[r];
        n += 1;
    }
    *mean = sum / n;
    for (uint64_t r = g.first; r < g.end; r += g.step) {
        squares += (row[r] - *mean) * (row[r] - *mean);
    }
    *error = squares / (n - 1) / n;
}

/* The square of Welch's t; constant groups differ without end or not at all. */
static double t_squared(const double *row, group a, group b)
{
    double mean[2];
    double error[2];

    moments(row, a, &mean[0], &error[0]);
    moments(row, b, &mean[1], &error[1]);
    const double gap = (mean[0] - mean[1]) * (mean[0] - mean[1]);
    const double noise = error[0] + error[1];

    return gap == 0 ? 0 : noise > gap * 1e-6 ? gap / noise : 1e6;
}

/* The exponent that a scale byte has, to a fraction. */
static double exponent(const moe_layer *l, uint8_t byte)
{
    return l->group == 16 ? (byte & 0x7f) / 8.0 : byte;
}

static void add_expert(const moe_layer *l, uint64_t e, double *row)
{
    const uint64_t cols = l->hidden / l->group;
    const uint64_t rows = 2 * l->inter;
    const uint8_t *scale = l->fused[W13_SCALE]->bytes + e * rows * cols;

    for (uint64_t r = 0; r < rows; r++) {
        for (uint64_t c = 0; c < cols; c++) {
            row[r] +=
                exponent(l, l->style->is_transposed ? scale[c * rows + r]
                                                    : scale[r * cols + c]);
        }
    }
}

int rows_tell(const moe_layer *l, row_evidence *e)
{
    const uint64_t rows = 2 * l->inter;
    const uint64_t half = l->inter;
    double *row = calloc((size_t)rows, sizeof *row);

    *e = (row_evidence){0, 0, 0, ROWS_UNTOLD};
    if (row == NULL) {
        return -1;
    }
    for (uint64_t k = 0; k < l->experts; k++) {
        add_expert(l, k, row);
    }
    e->parity = t_squared(row, (group){0, rows, 2}, (group){1, rows, 2});
    e->halves = t_squared(row, (group){0, half, 1}, (group){half, rows, 1});
    for (uint64_t from = 0; from < rows; from += half) {
        const uint64_t middle = from + half / 2;
        const double t = t_squared(row, (group){from, middle, 1},
                                   (group){middle, from + half, 1});
        e->quarter = t > e->quarter ? t : e->quarter;
    }
    free(row);
    if (rows < LEAST_ROWS) {
        return 0;
    }
    if (e->parity >= differs && e->halves < alike) {
        e->order = ROWS_IN_TURN;
    } else if (e->halves >= differs && e->parity < alike &&
               e->quarter < alike) {
        e->order = ROWS_IN_HALVES;
    }
    return 0;
}
