/* SPDX-License-Identifier: Apache-2.0 */
/* See gemm_plane.h. */
#include "gemm_plane.h"

#include "gemm.h"
#include "gemm_block.h"
#include "number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIGIT = 128, MOST_CODE = 12, SUM_BITS = 31, EXACT_PLANES = 3 };

#define LOW INT64_C(0xffffffff)

int cpu_plane_spread(size_t k)
{
    int spread = -1;

    while (spread < SUM_BITS && (uint64_t)k * MOST_DIGIT * MOST_CODE <
                                    (UINT64_C(1) << SUM_BITS) >> (spread + 1)) {
        spread++;
    }
    return spread;
}

/* Planes for integers up to most: n digits of 127 are 127 (256^n - 1) / 255;
   0 if there are not enough. */
static int planes_for(int64_t most)
{
    int64_t reach = 0;

    for (int n = 1; n <= CPU_MAX_PLANES; n++) {
        reach = 256 * reach + MOST_DIGIT - 1;
        if (most <= reach) {
            return n;
        }
    }
    return 0;
}

/* Number i of a group, least digit first; the planes that it is in. */
static unsigned put(cpu_plane *group, int n, size_t i, int64_t v)
{
    unsigned used = 0;

    for (int d = 0; d < n; d++) {
        const int64_t digit = ((v & 255) ^ 128) - 128;
        int8_t *half = i % 2 == 0 ? group[d].even : group[d].odd;

        half[i / 2] = (int8_t)digit;
        group[d].start[i / 8] -= MOST_CODE * (int32_t)digit;
        used |= (unsigned)(digit != 0) << d;
        v = (v - digit) / 256;
    }
    return used;
}

int cpu_planes_cut(const double *x, size_t k, cpu_planes *row)
{
    const size_t groups = k / CPU_PLANE_GROUP + (k % CPU_PLANE_GROUP != 0);
    const cpu_gemm_line line = cpu_gemm_row(x, k);
    double most = 0;

    memset(row, 0, sizeof *row);
    for (size_t i = 0; i < k; i++) {
        most = fabs(x[i]) > most ? fabs(x[i]) : most;
    }
    if (!isfinite(line.norm) || ldexp(most, -line.unit) > 0x1p60) {
        return 0;
    }
    row->unit = line.unit;
    row->n = most == 0 ? 0 : planes_for((int64_t)ldexp(most, -line.unit));
    row->is_cut = most == 0 || row->n > 0;
    if (row->n == 0) {
        return 0;
    }
    const size_t bytes = groups * (size_t)row->n * sizeof *row->plane;
    const double up = cpu_pow2(-line.unit);

    row->plane = aligned_alloc(64, bytes);
    row->used = calloc(groups, 1);
    if (row->plane == NULL || row->used == NULL) {
        return -1;
    }
    memset(row->plane, 0, bytes);
    for (size_t i = 0; i < k; i++) {
        const size_t g = i / CPU_PLANE_GROUP;
        row->used[g] |= (uint8_t)put(row->plane + g * (size_t)row->n, row->n,
                                     i % CPU_PLANE_GROUP, (int64_t)(x[i] * up));
    }
    return 0;
}

void cpu_planes_free(cpu_planes *row)
{
    free(row->plane);
    free(row->used);
}

/* Planes of one column put together, times unit, and its start.  The upper
   part stays below 2^48, so both parts are exact. */
static double join(const cpu_plane_mac *job, size_t c, double unit,
                   double start)
{
    int64_t part[2] = {0, 0}; /* planes 0 to 3, the others */

    for (int d = job->row->n - 1; d >= 0; d--) {
        part[d / 4] = 256 * part[d / 4] + job->sum[d][c];
    }
    if (!isfinite(start)) {
        return start;
    }
    if (job->row->n <= EXACT_PLANES) {
        return cpu_odd_sum((double)part[0] * unit, start);
    }
    const int64_t low = part[0] & LOW;
    const int64_t high = part[1] + (part[0] - low) / (LOW + 1);
    double term[3] = {start, (double)low * unit,
                      (double)high * 0x1p32 * unit};

    return start == 0 ? cpu_odd_sum(term[2], term[1])
                      : cpu_odd_total(term, 3);
}

int cpu_plane_columns(const cpu_planes *row, cpu_plane_fn mac,
                      const cpu_weights *w, size_t first, size_t n,
                      const float *start, double *y)
{
    const size_t blocks = w->k / CPU_MX + (w->k % CPU_MX != 0);
    const int spread = cpu_plane_spread(w->k);
    cpu_plane_mac job = {.row = row,
                         .codes = w->codes + first * (w->k / 2),
                         .scale = w->scale + first * blocks,
                         .n = n,
                         .k = w->k,
                         .from = w->rule->plain_from,
                         .to = w->rule->plain_to,
                         .spread = (uint8_t)spread};

    if (!row->is_cut || spread < 0 || !mac(&job)) {
        return 0;
    }
    for (size_t c = 0; c < n; c++) {
        y[c] = join(&job, c, cpu_pow2(row->unit + job.least[c] - 128),
                    (double)start[c]);
    }
    return 1;
}
