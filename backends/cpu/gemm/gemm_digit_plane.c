/* SPDX-License-Identifier: Apache-2.0 */
/* Rows cut into planes; see gemm_digit_plane.h. */
#include "gemm_digit_plane.h"

#include "gemm.h"
#include "number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIGIT = 128, MOST_CODE = 12, SUM_BITS = 31, MOST_SPREAD = 14 };
enum { TOP_BITS = 55 };
/* Planes that are looked at for few digits, and what is few. */
enum { UPPER = 4, PART = 8, SAMPLE = 8 };

/* Factors are 16-bit integers with a sign, so 2^14 is the largest. */
int cpu_plane_spread(size_t k)
{
    int spread = -1;

    while (spread < MOST_SPREAD && (uint64_t)k * MOST_DIGIT * MOST_CODE <
                                       (UINT64_C(1) << SUM_BITS) >>
                                       (spread + 1)) {
        spread++;
    }
    return spread;
}

/* n digits of 1: (256^n - 1) / 255. */
static int64_t ones(int n)
{
    return (int64_t)(((UINT64_C(1) << 8 * n) - 1) / 255);
}

/* Digit d of v, whose digits have 128 added each. */
static int16_t digit_of(int64_t v, int d)
{
    return (int16_t)((int16_t)(v >> 8 * d & 255) - MOST_DIGIT);
}

/* Are more digits of plane d than so many of every eighth number not zero? */
static int looks_full(const int64_t *v, size_t k, int64_t bytes, int d,
                      size_t most)
{
    size_t n = 0;

    for (size_t i = 0; i < k; i += SAMPLE) {
        n += digit_of(v[i] + bytes, d) != 0;
    }
    return n > most;
}

/* Digits of plane d of k integers in pairs, unless they are more than one in
   PART; -1 without memory. */
static int set_few(cpu_planes *row, int d, const int64_t *v, size_t k,
                   uint16_t (*place)(size_t i))
{
    const int64_t bytes = MOST_DIGIT * ones(row->n);
    const size_t stretches = k / CPU_PLANE_STRETCH + 1;
    const size_t most = k / PART / 2; /* pairs; one more is written */
    const size_t room = most + stretches + 1;
    cpu_plane_few few;
    size_t n = 0; /* digits */

    if (looks_full(v, k, bytes, d, 2 * (k / SAMPLE / PART) + 1)) {
        return 0;
    }
    few.pair = calloc(1, room * sizeof *few.pair +
                             (stretches + 1) * sizeof *few.first);
    if (few.pair == NULL) {
        return -1;
    }
    few.first = (uint32_t *)(few.pair + room);
    for (size_t i = 0; i < k && n <= 2 * most; i++) {
        const int16_t digit = digit_of(v[i] + bytes, d);

        if (i % CPU_PLANE_STRETCH == 0) {
            n += n % 2;
            few.first[i / CPU_PLANE_STRETCH] = (uint32_t)(n / 2);
        }
        if (digit != 0) {
            few.pair[n / 2].at[n % 2] = place(i % CPU_PLANE_STRETCH);
            few.pair[n / 2].digit[n % 2] = digit;
            n++;
        }
    }
    few.first[(k + CPU_PLANE_STRETCH - 1) / CPU_PLANE_STRETCH] =
        (uint32_t)((n + 1) / 2);
    if (n > 2 * most) {
        free(few.pair);
        return 0;
    }
    row->few[d] = few;
    return 0;
}

static int set_planes(cpu_planes *row, const int64_t *v, size_t k,
                      const cpu_plane_lane *by)
{
    const size_t groups = (k + CPU_PLANE_GROUP - 1) / CPU_PLANE_GROUP;
    const size_t n = groups * (size_t)row->n;
    int bad = 0;

    row->plane = aligned_alloc(64, n * sizeof *row->plane);
    if (row->plane == NULL) {
        return -1;
    }
    for (size_t g = 0; g < groups; g++) {
        by->put(row->plane + g * (size_t)row->n, row->n,
                v + g * CPU_PLANE_GROUP);
    }
    for (int d = row->n < UPPER ? 0 : row->n - UPPER;
         d < row->n && by->place != NULL; d++) {
        bad |= set_few(row, d, v, k, by->place);
    }
    return bad;
}

/* Remainder below the upper p planes: the lower digits' numbers.  Sums are
   rounded k times by 2^-53, far less than is added. */
static double left_of(const cpu_planes *row, int p, const int64_t *v, size_t k)
{
    const int64_t half = MOST_DIGIT * ones(row->n - p);
    const int64_t mask = (INT64_C(1) << 8 * (row->n - p)) - 1;
    double part[4] = {0, 0, 0, 0};

    /* v goes on to a whole group. */
    for (size_t i = 0; i < k; i += 4) {
        for (size_t j = 0; j < 4; j++) {
            part[j] += fabs((double)(((v[i + j] + half) & mask) - half));
        }
    }
    const double sum = part[0] + part[1] + part[2] + part[3];

    return sum * cpu_pow2(row->unit) * (1 + 0x1p-30) + row->left[row->n];
}

/* Integers of at most 55 bits, toward zero; the bits that are set in any. */
static int64_t set_integers(cpu_planes *row, const double *x, size_t k,
                            int64_t *v)
{
    const double up = cpu_pow2(-row->unit);
    const double down = cpu_pow2(row->unit);
    double left = 0;
    int64_t any = 0;

    for (size_t i = 0; i < k; i++) {
        v[i] = (int64_t)(x[i] * up);
        left += fabs(x[i] - (double)v[i] * down); /* exact */
        any |= v[i];
    }
    row->left[CPU_MAX_PLANES] = left * (1 + 0x1p-30);
    return any;
}

/* The unit for which the largest number has as many bits as planes hold. */
static int unit_for(double most)
{
    const int unit = ilogb(most) + 1 - TOP_BITS;

    return (int64_t)(most * cpu_pow2(-unit)) >
                   (MOST_DIGIT - 1) * ones(CPU_MAX_PLANES)
               ? unit + 1
               : unit;
}

/* Planes that are zero everywhere are left out. */
static void drop_empty(cpu_planes *row, int64_t any, int64_t *v, size_t k)
{
    int low = 0;

    while ((any & 255) == 0) {
        any /= 256;
        low++;
    }
    for (size_t i = 0; i < k && low > 0; i++) {
        v[i] /= INT64_C(1) << 8 * low;
    }
    row->n = CPU_MAX_PLANES - low;
    row->unit += 8 * low;
    row->left[row->n] = row->left[CPU_MAX_PLANES];
}

int cpu_planes_cut(const double *x, size_t k, const cpu_plane_lane *by,
                   cpu_planes *row)
{
    const size_t groups = (k + CPU_PLANE_GROUP - 1) / CPU_PLANE_GROUP;
    double most = 0;
    int bad;

    memset(row, 0, sizeof *row);
    row->norm = cpu_norm(x, k);
    for (size_t i = 0; i < k; i++) {
        most = fabs(x[i]) > most ? fabs(x[i]) : most;
    }
    row->is_cut = isfinite(row->norm) && (most == 0 || most > 0x1p-500);
    if (!row->is_cut || most == 0) {
        return 0;
    }
    int64_t *v = calloc(groups * CPU_PLANE_GROUP, sizeof *v);
    bad = v == NULL;
    if (!bad) {
        row->unit = unit_for(most);
        drop_empty(row, set_integers(row, x, k, v), v, k);
        for (int p = 2; p <= CPU_UPPER_PLANES && p < row->n; p++) {
            row->left[p] = left_of(row, p, v, k);
        }
        bad = set_planes(row, v, k, by) != 0;
    }
    free(v);
    return bad ? -1 : 0;
}

/* A sum that stays undecided costs as much as all planes of a column by itself,
   20 to 250 times a plane of the tile; with weights as they come, one in some
   hundred does then (with -8 in place of -12, one in ten).  Only speed depends
   on that. */
int cpu_planes_for(const cpu_planes *row, int bits)
{
    for (int p = 2; p <= CPU_UPPER_PLANES && p < row->n; p++) {
        if (row->left[p] <= ldexp(row->norm, -bits - 12)) {
            return p;
        }
    }
    return row->n;
}

void cpu_planes_free(cpu_planes *row)
{
    free(row->plane);
    for (int d = 0; d < CPU_MAX_PLANES; d++) {
        free(row->few[d].pair);
    }
}
