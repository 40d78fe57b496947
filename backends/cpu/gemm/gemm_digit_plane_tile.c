/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in planes against columns; see gemm_digit_plane.h. */
#include "gemm_digit_plane.h"

#include "gemm.h"
#include "gemm_block.h"
#include "number.h"

#include <math.h>
#include <stdlib.h>

/* Fewer planes are not worth packing. */
enum { EXACT_PLANES = 3, MOST_CODE = 12, LEAST_PACKED = 48 };

#define LOW INT64_C(0xffffffff)

int cpu_plane_room_for(cpu_plane_tile *t, size_t m, size_t k)
{
    const size_t room = CPU_PLANE_COLS * cpu_plane_room(k);

    t->m = m;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
    t->row = malloc((m + 1) * sizeof *t->row);
    t->upper = malloc((m + 1) * sizeof *t->upper);
    t->first = malloc((m + 1) * sizeof *t->first);
    t->item = malloc((m + 1) * CPU_MAX_PLANES * sizeof *t->item);
    t->sum = malloc((m + 1) * CPU_MAX_PLANES * sizeof *t->sum);
    t->factor = malloc(room * sizeof *t->factor);
    return t->row != NULL && t->upper != NULL && t->first != NULL &&
                   t->item != NULL && t->sum != NULL && t->factor != NULL
               ? 0
               : -1;
}

void cpu_plane_close(cpu_plane_tile *t)
{
    free(t->row);
    free(t->upper);
    free(t->first);
    free(t->item);
    free(t->sum);
    free(t->factor);
    free(t->packed);
}

/* The upper p planes of a row, the least of them first. */
static void set_items(const cpu_planes *row, int p, cpu_plane_item *item)
{
    for (int d = 0; d < p; d++) {
        const int at = row->n - p + d;

        item[d] =
            (cpu_plane_item){row->plane + at, (size_t)row->n, row->few + at};
    }
}

/* The items as the lane wants them. */
static int pack(cpu_plane_tile *t, size_t k)
{
    const size_t items = t->first[t->m];

    if (t->by->pack == NULL || items < LEAST_PACKED) {
        return 0;
    }
    t->packed = aligned_alloc(64, t->by->packed(items, k));
    if (t->packed == NULL) {
        return -1;
    }
    t->by->pack(t->item, items, k, t->packed);
    return 0;
}

int cpu_plane_open(cpu_plane_tile *t, size_t k, int bits)
{
    t->first[0] = 0;
    t->uncut = 0;
    for (size_t i = 0; i < t->m; i++) {
        t->upper[i] = cpu_planes_for(t->row[i], bits);
        t->uncut |= !t->row[i]->is_cut;
        t->first[i + 1] = t->first[i] + (uint32_t)t->upper[i];
        set_items(t->row[i], t->upper[i], t->item + t->first[i]);
    }
    return pack(t, k);
}

/* n planes of one column put together, times unit.  high stays below 2^48, so
   both parts are exact; up to three planes have one. */
static inline double join(int32_t (*sum)[CPU_PLANE_COLS], int n, size_t c,
                          double unit, double *low)
{
    int64_t part[2] = {0, 0}; /* planes 0 to 3, the others */

    *low = 0;
    if (n == EXACT_PLANES) {
        return (double)(65536 * (int64_t)sum[2][c] + 256 * (int64_t)sum[1][c] +
                        sum[0][c]) *
               unit;
    }
    for (int d = n - 1; d >= 0; d--) {
        part[d / 4] = 256 * part[d / 4] + sum[d][c];
    }
    if (n < EXACT_PLANES) {
        return (double)part[0] * unit;
    }
    const int64_t rest = part[0] & LOW;
    const int64_t high = part[1] + (part[0] - rest) / (LOW + 1);

    *low = (double)rest * unit;
    return (double)high * 0x1p32 * unit;
}

/* The sum, rounded to odd where it does not fit. */
static inline double total(double high, double low, double start)
{
    if (start == 0) {
        return low == 0 ? high : cpu_odd_sum(high, low);
    }
    double term[3] = {start, low, high};

    return !isfinite(start) ? start
           : low == 0       ? cpu_odd_sum(high, start)
                            : cpu_odd_total(term, 3);
}

/*
 * How far the sum of the upper p planes, of that size, can be from the row's:
 * a column's weights are integers of at most 12 times 2^(most - 128).  A
 * little more, so that roundings do not matter: here, of the sum with its
 * start, and of what is off below and above it, they are 2^-52 of both sizes
 * at most each.
 */
static inline double off_by(const cpu_planes *row, int p, int most, double size,
                            double start)
{
    const double left = row->left[p];

    return left == 0 ? 0
                     : left * MOST_CODE * cpu_pow2(most - 128) * (1 + 0x1p-20) +
                           (size + fabs(start)) * 0x1p-48;
}

static cpu_plane_mac job_of(const cpu_plane_tile *t, const cpu_weights *w,
                            size_t first, size_t n)
{
    const size_t blocks = w->k / CPU_MX + (w->k % CPU_MX != 0);

    return (cpu_plane_mac){.codes = w->codes + first * (w->k / 2),
                           .scale = w->scale + first * blocks,
                           .n = n,
                           .k = w->k,
                           .from = w->rule->plain_from,
                           .to = w->rule->plain_to,
                           .spread = (uint8_t)cpu_plane_spread(w->k),
                           .factor = t->factor,
                           .sum = t->sum};
}

/* Where row's upper p planes begin. */
static int unit_of(const cpu_planes *row, int p)
{
    return row->unit + 8 * (row->n - p);
}

/* Row i's sums one by one. */
static void join_each(const cpu_plane_tile *t, const cpu_plane_mac *job,
                      size_t i, const float *start, double *y, double *off)
{
    const cpu_planes *row = t->row[i];
    const int p = t->upper[i];
    const int unit = unit_of(row, p) - 128;

    for (size_t c = 0; c < job->n; c++) {
        double low;
        const double high = join(t->sum + t->first[i], p, c,
                                 cpu_pow2(unit + job->least[c]), &low);
        y[c] = total(high, low, (double)start[c]);
        off[c] =
            off_by(row, p, job->most[c], fabs(high) + low, (double)start[c]);
    }
}

/* The columns' part of a join. */
static cpu_plane_join join_of(const cpu_plane_mac *job)
{
    cpu_plane_join j = {0};

    for (size_t c = 0; c < job->n; c++) {
        j.least[c] = cpu_pow2(job->least[c] - 128);
        j.most[c] = MOST_CODE * cpu_pow2(job->most[c] - 128) * (1 + 0x1p-20);
    }
    return j;
}

static int any_of(const float *start, size_t n)
{
    size_t c = 0;

    while (c < n && start[c] == 0) {
        c++;
    }
    return c < n;
}

int cpu_plane_columns(cpu_plane_tile *t, const cpu_weights *w, size_t first,
                      size_t n, const float *start, double (*y)[CPU_PLANE_COLS],
                      double (*off)[CPU_PLANE_COLS])
{
    cpu_plane_mac job = job_of(t, w, first, n);

    job.item = t->item;
    job.items = t->first[t->m];
    job.packed = t->packed;
    if (w->k == 0 || cpu_plane_spread(w->k) < 0 || !t->by->mac(&job)) {
        return 0;
    }
    cpu_plane_join all = join_of(&job);
    const int has_start = any_of(start, n);

    for (size_t i = 0; i < t->m; i++) {
        const cpu_planes *row = t->row[i];
        const int p = t->upper[i];

        if (!row->is_cut) {
            continue;
        }
        if (has_start || p == 0 || p > CPU_PLANE_JOINED) {
            join_each(t, &job, i, start, y[i], off[i]);
            continue;
        }
        all.sum = t->sum + t->first[i];
        all.n = p;
        all.unit = cpu_pow2(unit_of(row, p));
        all.left = row->left[p];
        t->by->join(&all, y[i], off[i]);
    }
    return 1;
}

double cpu_plane_one(cpu_plane_tile *t, const cpu_weights *w, size_t col,
                     size_t i, double start, double *y)
{
    const cpu_planes *row = t->row[i];
    cpu_plane_item item[CPU_MAX_PLANES];
    cpu_plane_mac job = job_of(t, w, col, 1);
    int32_t sum[CPU_MAX_PLANES][CPU_PLANE_COLS];
    double low;

    set_items(row, row->n, item);
    job.item = item;
    job.items = (size_t)row->n;
    job.sum = sum;
    (void)t->by->mac(&job);
    const double high =
        join(sum, row->n, 0, cpu_pow2(row->unit - 128 + job.least[0]), &low);

    *y = total(high, low, start);
    return off_by(row, row->n, job.most[0], fabs(high) + low, start);
}
