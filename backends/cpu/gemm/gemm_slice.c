/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See gemm_slice.h.  All steps are exact in double: a power of two times a
 * number of at most 53 bits, a truncation, a difference of the bits cut off.
 */
#include "gemm_slice.h"

#include "gemm.h"
#include "number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DOUBLE_BITS = 53, NO_EXPONENT = -2000 };

/* floor(log2 |x|) of an ordinary double. */
static int exponent(double x)
{
    return (int)(cpu_bits64(x) >> 52 & 0x7ff) - 1023;
}

int cpu_log_span(size_t k, int spread)
{
    int half = 0;

    /* 12 sqrt(k) < 2^(4 + ceil(log4 k)) */
    while (half < 31 && (UINT64_C(1) << (2 * half)) < k) {
        half++;
    }
    return 4 + half + spread;
}

/* The bits that each level ends with. */
static void set_cuts(cpu_slicer *s, double norm, size_t k, int log_span)
{
    const int rest = cpu_log_span(k, 0) - 4; /* log2 sqrt(k), rounded up */

    s->cut[0] = exponent(norm) + 1 + log_span - DOUBLE_BITS;
    for (int v = 0; v < CPU_MAX_LEVELS; v++) {
        s->cut[v + 1] = s->cut[v] + rest + log_span - DOUBLE_BITS;
    }
}

static int grow(cpu_slicer *s)
{
    const size_t room = s->room == 0 ? 256 : 2 * s->room;
    cpu_slice *slice = aligned_alloc(64, room * sizeof *slice);
    cpu_slice_place *place = malloc(room * sizeof *place);

    if (slice == NULL || place == NULL) {
        free(slice);
        free(place);
        return -1;
    }
    if (s->n > 0) {
        memcpy(slice, s->slice, s->n * sizeof *slice);
        memcpy(place, s->place, s->n * sizeof *place);
    }
    free(s->slice);
    free(s->place);
    s->slice = slice;
    s->place = place;
    s->room = room;
    return 0;
}

/* Exponent of the largest of 32, NO_EXPONENT if all are zero. */
static int top_of(const double *r)
{
    uint64_t most = 0;

    for (size_t i = 0; i < CPU_MX; i++) {
        const uint64_t u = cpu_bits64(r[i]) & INT64_MAX;
        most = u > most ? u : most;
    }
    return most == 0 ? NO_EXPONENT : exponent(cpu_double(most));
}

/* Multiples of 2^unit move from r to a slice. */
static void take(cpu_slicer *s, double *r, int unit, uint32_t block,
                 uint32_t level)
{
    const double up = cpu_pow2(-unit);
    const double down = cpu_pow2(unit);
    int16_t *q = s->slice[s->n].q;

    for (size_t i = 0; i < CPU_MX; i++) {
        const int32_t n = (int32_t)(r[i] * up);
        q[i] = (int16_t)n;
        r[i] -= (double)n * down;
    }
    s->place[s->n++] = (cpu_slice_place){down, block, level};
}

/* One block; the levels it needs, -1 without memory. */
static int cut_block(cpu_slicer *s, double *r, uint32_t block)
{
    uint32_t level = 0;
    int top = top_of(r);
    int levels = 0;

    while (top != NO_EXPONENT && level < CPU_MAX_LEVELS) {
        if (top < s->cut[level]) {
            level++;
            continue;
        }
        const int whole = top + 1 - CPU_SLICE_BITS;
        const int unit = whole > s->cut[level] ? whole : s->cut[level];

        if (s->n == s->room && grow(s) != 0) {
            return -1;
        }
        take(s, r, unit, block, level);
        levels = (int)level + 1;
        top = top_of(r);
    }
    return top == NO_EXPONENT ? levels : CPU_MAX_LEVELS + 1;
}

/* Copy the slicer's slices into memory that the row owns. */
static int keep(const cpu_slicer *s, cpu_sliced *row)
{
    row->n = s->n;
    if (s->n == 0) {
        return 0;
    }
    row->slice = aligned_alloc(64, s->n * sizeof *row->slice);
    row->place = malloc(s->n * sizeof *row->place);
    if (row->slice == NULL || row->place == NULL) {
        return -1;
    }
    memcpy(row->slice, s->slice, s->n * sizeof *row->slice);
    memcpy(row->place, s->place, s->n * sizeof *row->place);
    return 0;
}

int cpu_slice_row(cpu_slicer *s, const double *x, size_t k, int log_span,
                  cpu_sliced *row)
{
    const double norm = cpu_norm(x, k);
    int most = 0;

    memset(row, 0, sizeof *row);
    if (norm == 0) {
        return 0;
    }
    row->is_hard = !isfinite(norm);
    if (row->is_hard) {
        return 0;
    }
    s->n = 0;
    set_cuts(s, norm, k, log_span);
    for (size_t at = 0; at < k; at += CPU_MX) {
        double r[CPU_MX] = {0};
        const size_t n = k - at < CPU_MX ? k - at : CPU_MX;

        memcpy(r, x + at, n * sizeof *r);
        const int levels = cut_block(s, r, (uint32_t)(at / CPU_MX));
        if (levels < 0) {
            return -1;
        }
        most = levels > most ? levels : most;
    }
    row->is_hard = most > CPU_MAX_LEVELS;
    row->levels = row->is_hard ? 0 : (uint32_t)most;
    return row->is_hard ? 0 : keep(s, row);
}

void cpu_slicer_free(cpu_slicer *s)
{
    free(s->slice);
    free(s->place);
}

void cpu_sliced_free(cpu_sliced *row)
{
    free(row->slice);
    free(row->place);
    cpu_planes_free(&row->planes);
}
