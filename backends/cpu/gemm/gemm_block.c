/* SPDX-License-Identifier: Apache-2.0 */
/* See gemm_block.h. */
#include "gemm_block.h"

#include "gemm.h"
#include "number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Scales of a column may differ by a factor of 2^16. */
enum { SPREAD = 16 };

int cpu_tile_log_span(size_t k)
{
    return cpu_log_span(k, SPREAD);
}

/* A row's slices. */
static const cpu_sliced *sliced(const cpu_tile *t, size_t i)
{
    return t->own != NULL ? &t->own[i] : &t->row[t->index[i]];
}

/* Items in the order of blocks; within a block in the order of rows. */
static void place_items(cpu_tile *t, uint32_t *next)
{
    const size_t blocks = cpu_blocks_of(t->k);

    for (size_t i = 0; i < t->m; i++) {
        const cpu_sliced *row = sliced(t, i);
        for (size_t n = 0; n < row->n; n++) {
            t->start[row->place[n].block + 1]++;
        }
    }
    for (size_t b = 0; b < blocks; b++) {
        t->start[b + 1] += t->start[b];
        next[b] = t->start[b];
    }
    for (size_t i = 0; i < t->m; i++) {
        const cpu_sliced *row = sliced(t, i);
        for (size_t n = 0; n < row->n; n++) {
            const cpu_slice_place *p = &row->place[n];
            t->item[next[p->block]++] =
                (cpu_mac_item){&row->slice[n], p->unit, t->sum[i] + p->level};
        }
    }
}

static void *lines(size_t bytes)
{
    return aligned_alloc(64, (bytes + 64) / 64 * 64);
}

/* Room for slices and sums. */
static int open_slices(cpu_tile *t)
{
    const size_t blocks = cpu_blocks_of(t->k);
    uint32_t *next = malloc((blocks + 1) * sizeof *next);
    size_t items = 0;

    t->start = calloc(blocks + 1, sizeof *t->start);
    t->sum = calloc(t->m + 1, sizeof *t->sum);
    for (size_t i = 0; t->sum != NULL && i < t->m; i++) {
        const cpu_sliced *row = sliced(t, i);
        t->sum[i + 1] = t->sum[i] + row->levels;
        items += row->n;
    }
    t->item = malloc((items + 1) * sizeof *t->item);
    t->factor = lines(blocks * CPU_MAC_COLS * sizeof *t->factor);
    t->y = t->sum == NULL ? NULL
                          : lines(t->sum[t->m] * CPU_MAC_COLS * sizeof *t->y);
    const int good = next != NULL && t->start != NULL && t->item != NULL &&
                     t->factor != NULL && t->y != NULL;

    if (good) {
        place_items(t, next);
    }
    free(next);
    return good ? 0 : -1;
}

static int open_planes(cpu_tile *t)
{
    t->planes.by = t->by;
    if (cpu_plane_room_for(&t->planes, t->m, t->k) != 0) {
        return -1;
    }
    for (size_t i = 0; i < t->m; i++) {
        t->planes.row[i] = &t->row[t->index[i]].planes;
    }
    return cpu_plane_open(&t->planes, t->k, t->bits);
}

int cpu_tile_open(cpu_tile *t)
{
    t->x = malloc((2 * t->k + 1) * sizeof *t->x);
    return t->x == NULL ? -1 : t->by != NULL ? open_planes(t) : open_slices(t);
}

/* Slices of rows that were only cut into planes. */
static int slice_own(cpu_tile *t)
{
    cpu_slicer slicer = {0};
    int bad;

    t->own = calloc(t->m + 1, sizeof *t->own);
    bad = t->own == NULL;
    for (size_t i = 0; !bad && i < t->m; i++) {
        t->reader.read(t->reader.self, t->index[i], t->x);
        bad = cpu_slice_row(&slicer, t->x, t->k, cpu_tile_log_span(t->k),
                            &t->own[i]) != 0;
    }
    cpu_slicer_free(&slicer);
    return bad ? -1 : open_slices(t);
}

void cpu_tile_close(cpu_tile *t)
{
    for (size_t i = 0; t->own != NULL && i < t->m; i++) {
        cpu_sliced_free(&t->own[i]);
    }
    free(t->own);
    cpu_plane_close(&t->planes);
    free(t->item);
    free(t->start);
    free(t->sum);
    free(t->y);
    free(t->factor);
    free(t->x);
}

/* Are all codes of a block zero? */
static int is_empty(const cpu_weights *w, size_t col, size_t b)
{
    const uint8_t *codes = w->codes + col * (w->k / 2) + 16 * b;
    const size_t left = w->k / 2 - 16 * b;
    uint8_t any = 0;

    for (size_t i = 0; i < (left < 16 ? left : 16); i++) {
        any |= codes[i] & 0x77;
    }
    return any == 0;
}

/* Scales of one column; 0 if its products need another way. */
static int read_scales(const cpu_weights *w, size_t col, double *factor)
{
    const size_t blocks = cpu_blocks_of(w->k);
    const uint8_t *scale = w->scale + col * blocks;
    unsigned least = 255;
    unsigned most = 0;
    unsigned odd = 0;

    for (size_t b = 0; b < blocks; b++) {
        const unsigned s = scale[b];
        const double f = w->rule->factor[s];
        odd |= w->rule->is_odd[s];
        factor[b * CPU_MAC_COLS] = f;
        least = s < least && f != 0 ? s : least;
        most = s > most && f != 0 ? s : most;
    }
    if (!odd && most > least + SPREAD) {
        for (size_t b = 0; b < blocks; b++) {
            const int is_low = scale[b] < most - SPREAD;
            if (is_low && is_empty(w, col, b)) {
                factor[b * CPU_MAC_COLS] = 0;
            }
            odd |= is_low && factor[b * CPU_MAC_COLS] != 0;
        }
    }
    return !odd;
}

/* Scales of 16 columns; columns with odd ones, or far apart, one by one. */
static void read_factors(const cpu_tile *t, const cpu_weights *w, size_t first,
                         size_t n, int *is_hard)
{
    const cpu_weight_rule *rule = w->rule;
    cpu_scales job = {.blocks = cpu_blocks_of(w->k), .factor = t->factor};

    for (size_t c = 0; c < CPU_MAC_COLS; c++) {
        job.col[c] = w->scale + (first + (c < n ? c : 0)) * job.blocks;
    }
    t->scales(&job);
    if (first + 2 * CPU_MAC_COLS <= w->n) {
        const uint8_t *next = w->scale + (first + CPU_MAC_COLS) * job.blocks;
        for (size_t at = 0; at < CPU_MAC_COLS * job.blocks; at += 64) {
            CPU_PREFETCH(next + at);
        }
    }
    for (size_t c = 0; c < CPU_MAC_COLS; c++) {
        const int is_easy = job.least[c] >= rule->plain_from &&
                            job.most[c] <= rule->plain_to &&
                            job.most[c] - job.least[c] <= SPREAD;
        is_hard[c] =
            !is_easy && !read_scales(w, first + (c < n ? c : 0), t->factor + c);
    }
}

static void read_column(const cpu_weights *w, size_t col, double *x)
{
    const uint8_t *scale = w->scale + col * cpu_blocks_of(w->k);
    const uint8_t *codes = w->codes + col * (w->k / 2);

    for (size_t i = 0; i < w->k; i += 2) {
        const double *value = w->rule->value[scale[i / CPU_MX]];
        x[i] = value[codes[i / 2] & 15];
        x[i + 1] = value[codes[i / 2] >> 4];
    }
}

/* Up to 16 columns' codes from block b on, the last one filled up. */
static void set_columns(cpu_mac *job, uint8_t (*tail)[16], const cpu_tile *t,
                        const cpu_weights *w, size_t first, size_t n)
{
    const size_t whole = t->k / CPU_MX;

    for (size_t c = 0; c < CPU_MAC_COLS; c++) {
        const size_t col = first + (c < n ? c : 0);
        job->col[c] = w->codes + col * (t->k / 2);
        memcpy(tail[c], job->col[c] + 16 * whole, t->k % CPU_MX / 2);
    }
}

/* All blocks; the last may be short. */
static void run_mac(cpu_tile *t, cpu_mac_fn mac, const cpu_weights *w,
                    size_t first, size_t n)
{
    const size_t whole = t->k / CPU_MX;
    const size_t rest = t->k % CPU_MX / 2;
    uint8_t tail[CPU_MAC_COLS][16] = {{0}};
    cpu_mac job = {.factor = t->factor,
                   .item = t->item,
                   .start = t->start,
                   .blocks = whole,
                   .y = t->y,
                   .next = first + 2 * CPU_MAC_COLS <= w->n
                               ? w->codes + (first + CPU_MAC_COLS) * (t->k / 2)
                               : NULL};

    memset(t->y, 0, t->sum[t->m] * CPU_MAC_COLS * sizeof *t->y);
    set_columns(&job, tail, t, w, first, n);
    mac(&job);
    if (rest > 0) {
        for (size_t c = 0; c < CPU_MAC_COLS; c++) {
            job.col[c] = tail[c];
        }
        job.factor += whole * CPU_MAC_COLS;
        job.start += whole;
        job.blocks = 1;
        job.next = NULL;
        mac(&job);
    }
}

/* A row's levels, added exactly. */
static void add_levels(const cpu_tile *t, size_t i, double *y)
{
    const uint32_t levels = t->sum[i + 1] - t->sum[i];
    const double *part = t->y + (size_t)t->sum[i] * CPU_MAC_COLS;
    double column[CPU_MAX_LEVELS];

    for (size_t c = 0; c < CPU_MAC_COLS; c++) {
        if (levels <= 1) {
            y[c] = levels == 0 ? 0 : part[c];
        } else if (levels == 2) {
            y[c] = cpu_odd_sum(part[c], part[c + CPU_MAC_COLS]);
        } else if (levels > 3 || !cpu_odd_sum3(part + c, CPU_MAC_COLS, &y[c])) {
            for (uint32_t v = 0; v < levels; v++) {
                column[levels - 1 - v] = part[c + v * CPU_MAC_COLS];
            }
            y[c] = cpu_odd_total(column, levels);
        }
    }
}

/* The same with what a column starts with: a sum that is rounded to odd cannot
   be added to, since the start may cancel its leading bits. */
static void add_starts(const cpu_tile *t, size_t i, const float *start,
                       double *y)
{
    const uint32_t levels = t->sum[i + 1] - t->sum[i];
    const double *part = t->y + (size_t)t->sum[i] * CPU_MAC_COLS;
    double term[CPU_MAX_LEVELS + 1];

    for (size_t c = 0; c < CPU_MAC_COLS; c++) {
        term[0] = (double)start[c];
        if (!isfinite(term[0])) {
            y[c] = term[0];
        } else if (levels == 1) {
            y[c] = cpu_odd_sum(part[c], term[0]);
        } else if (term[0] != 0) {
            for (uint32_t v = 0; v < levels; v++) {
                term[levels - v] = part[c + v * CPU_MAC_COLS];
            }
            y[c] = cpu_odd_total(term, levels + 1);
        }
    }
}

/* Columns that are hard for all rows, and rows that are for all columns. */
static void add_hard(cpu_tile *t, const cpu_weights *w, size_t first, size_t n,
                     const float *start, const int *is_hard,
                     double (*y)[CPU_MAC_COLS])
{
    double *const column = t->x + t->k;

    for (size_t c = 0; c < n; c++) {
        int have = 0;
        for (size_t i = 0; i < t->m; i++) {
            const int row_is_hard = is_hard == NULL
                                        ? !t->planes.row[i]->is_cut
                                        : is_hard[c] || sliced(t, i)->is_hard;
            if (!row_is_hard) {
                continue;
            }
            if (!have) {
                read_column(w, first + c, column);
                have = 1;
            }
            t->reader.read(t->reader.self, t->index[i], t->x);
            y[i][c] = cpu_exact_dot(t->x, column, t->k, (double)start[c]);
        }
    }
}

int cpu_tile_columns(cpu_tile *t, cpu_mac_fn mac, const cpu_weights *w,
                     size_t first, size_t n, const float *start,
                     double (*y)[CPU_MAC_COLS], double (*off)[CPU_MAC_COLS])
{
    int is_hard[CPU_MAC_COLS] = {0};

    memset(off, 0, t->m * sizeof *off);
    if (t->by != NULL &&
        cpu_plane_columns(&t->planes, w, first, n, start, y, off)) {
        if (t->planes.uncut) {
            add_hard(t, w, first, n, start, NULL, y);
        }
        return 0;
    }
    if (t->by != NULL && t->own == NULL && slice_own(t) != 0) {
        return -1;
    }
    read_factors(t, w, first, n, is_hard);
    run_mac(t, mac, w, first, n);
    for (size_t i = 0; i < t->m; i++) {
        add_levels(t, i, y[i]);
        add_starts(t, i, start, y[i]);
    }
    add_hard(t, w, first, n, start, is_hard, y);
    return 0;
}

double cpu_tile_more(cpu_tile *t, const cpu_weights *w, size_t col, size_t i,
                     double start, double *y)
{
    return cpu_plane_one(&t->planes, w, col, i, start, y);
}

double cpu_tile_dot(cpu_tile *t, const cpu_weights *w, size_t col, size_t i,
                    double start)
{
    double *const column = t->x + t->k;

    read_column(w, col, column);
    t->reader.read(t->reader.self, t->index[i], t->x);
    return cpu_exact_dot(t->x, column, t->k, start);
}

/* One block of every row that has slices, as if it were all there is. */
static void run_block(const cpu_tile *t, cpu_mac_fn mac, const cpu_mac *all,
                      size_t b, const float *unit, float (*y)[CPU_MAC_COLS])
{
    static const double half[CPU_MAC_COLS] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5,
                                              0.5, 0.5, 0.5, 0.5, 0.5, 0.5,
                                              0.5, 0.5, 0.5, 0.5};
    cpu_mac job = *all;
    double sum[CPU_MAC_COLS];

    job.factor = half;
    job.start = t->start + b;
    job.blocks = 1;
    memset(t->y, 0, t->sum[t->m] * CPU_MAC_COLS * sizeof *t->y);
    mac(&job);
    for (size_t i = 0; i < t->m; i++) {
        add_levels(t, i, sum);
        for (size_t c = 0; c < CPU_MAC_COLS; c++) {
            /* + 0.0: an exactly zero sum is +0. */
            y[i][c] = cpu_fma32((float)(sum[c] + 0.0), unit[c], y[i][c]);
        }
    }
}

/* Units of block b, and one row's block in full, for rows without slices. */
static void get_units(const cpu_weights *w, size_t first, size_t n, size_t b,
                      float *unit)
{
    for (size_t c = 0; c < CPU_MAC_COLS; c++) {
        const size_t col = first + (c < n ? c : 0);
        unit[c] = w->rule->unit[w->scale[col * cpu_blocks_of(w->k) + b]];
    }
}

static void run_hard_row(const cpu_tile *t, const cpu_weights *w, size_t first,
                         size_t n, const double *x, float *y)
{
    double code[CPU_MX];
    float unit[CPU_MAC_COLS];

    memset(y, 0, CPU_MAC_COLS * sizeof *y);
    for (size_t at = 0; at < t->k; at += CPU_MX) {
        const size_t len = t->k - at < CPU_MX ? t->k - at : CPU_MX;

        get_units(w, first, n, at / CPU_MX, unit);
        for (size_t c = 0; c < n; c++) {
            const uint8_t *byte = w->codes + (first + c) * (t->k / 2) + at / 2;
            for (size_t i = 0; i < len; i++) {
                code[i] = 0.5 * cpu_code_int[byte[i / 2] >> (i % 2 * 4) & 15];
            }
            const float part = (float)cpu_exact_dot(x + at, code, len, 0);
            y[c] = cpu_fma32(part, unit[c], y[c]);
        }
    }
}

void cpu_tile_blocks(cpu_tile *t, cpu_mac_fn mac, const cpu_weights *w,
                     size_t first, size_t n, float (*y)[CPU_MAC_COLS])
{
    uint8_t tail[CPU_MAC_COLS][16] = {{0}};
    cpu_mac job = {.item = t->item, .y = t->y};
    float unit[CPU_MAC_COLS];

    memset(y, 0, t->m * sizeof *y);
    set_columns(&job, tail, t, w, first, n);
    for (size_t b = 0; b < cpu_blocks_of(t->k); b++) {
        const int is_short = (b + 1) * CPU_MX > t->k;

        for (size_t c = 0; c < CPU_MAC_COLS && is_short; c++) {
            job.col[c] = tail[c];
        }
        get_units(w, first, n, b, unit);
        run_block(t, mac, &job, b, unit, y);
        for (size_t c = 0; c < CPU_MAC_COLS; c++) {
            job.col[c] += 16;
        }
    }
    for (size_t i = 0; i < t->m; i++) {
        if (sliced(t, i)->is_hard) {
            t->reader.read(t->reader.self, t->index[i], t->x);
            run_hard_row(t, w, first, n, t->x, y[i]);
        }
    }
}
