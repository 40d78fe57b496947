/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles that meet a wall: what is beyond reads as the wall's byte and is not
 * written.  Mostly a coordinate grows by the same step from byte to byte, and
 * what lies before a wall is the beginning of a run.
 */
#include "layout_move.h"

#include <string.h>

int cpu_beyond(const cpu_plan *p, const uint64_t *coord, const uint64_t *more)
{
    for (int w = 0; w < p->map.n_walls; w++) {
        if (coord[w] + more[w] >= p->map.wall[w].end) {
            return w;
        }
    }
    return -1;
}

static void coords_of(const cpu_plan *p, uint32_t slot, const cpu_place *at,
                      uint64_t coord[CPU_WALLS])
{
    for (int w = 0; w < p->map.n_walls; w++) {
        coord[w] = at->coord[w] +
                   p->slot_coord[(size_t)slot * CPU_WALLS + (unsigned)w];
    }
}

/* How many of n bytes lie before wall number w. */
static uint64_t before_wall(const cpu_plan *p, uint64_t coord, int w,
                            uint64_t n)
{
    const uint64_t end = p->map.wall[w].end;
    const uint64_t step = p->byte_coord[1][w];

    if (coord + (n - 1) * step < end) {
        return n;
    }
    return coord >= end ? 0 : (end - coord + step - 1) / step;
}

static uint64_t live_of(const cpu_plan *p, const uint64_t *coord, uint64_t n)
{
    uint64_t live = n;

    for (int w = 0; w < p->map.n_walls; w++) {
        const uint64_t before = before_wall(p, coord[w], w, n);
        live = before < live ? before : live;
    }
    return live;
}

/* Of several walls the first counts: its byte is written last. */
static void put_pads(const cpu_plan *p, const uint64_t *coord, uint8_t *to,
                     uint64_t n)
{
    for (int w = p->map.n_walls - 1; w >= 0; w--) {
        const uint64_t before = before_wall(p, coord[w], w, n);
        memset(to + before, p->map.wall[w].byte, (size_t)(n - before));
    }
}

static void load_uneven(const cpu_plan *p, const uint64_t *coord, uint8_t *word,
                        const uint8_t *from)
{
    for (uint32_t b = 0; b < p->word_bytes; b++) {
        const int w = cpu_beyond(p, coord, p->byte_coord[b]);
        word[b] = w < 0 ? from[b] : p->map.wall[w].byte;
    }
}

static void store_uneven(const cpu_plan *p, const uint64_t *coord,
                         const uint8_t *word, uint8_t *to)
{
    for (uint32_t b = 0; b < p->word_bytes; b++) {
        if (cpu_beyond(p, coord, p->byte_coord[b]) < 0) {
            to[b] = word[b];
        }
    }
}

/* Runs from slot on that no wall cuts. */
static uint32_t whole_runs(const cpu_plan *p, uint32_t slot, uint32_t run,
                           const cpu_place *at)
{
    const int n_walls = p->map.n_walls;
    const uint64_t *coord = &p->slot_coord[(size_t)slot * CPU_WALLS];
    uint64_t limit[CPU_WALLS];
    uint32_t n = 0;

    for (int w = 0; w < n_walls; w++) {
        const uint64_t most =
            at->coord[w] +
            ((uint64_t)run * p->word_bytes - 1) * p->byte_coord[1][w];
        const uint64_t end = p->map.wall[w].end;
        limit[w] = most < end ? end - most : 0;
    }
    for (; slot < p->n_slots; slot += run) {
        for (int w = 0; w < n_walls; w++) {
            if (coord[w] >= limit[w]) {
                return n;
            }
        }
        coord += (size_t)run * CPU_WALLS;
        n++;
    }
    return n;
}

void cpu_load_edge(const cpu_plan *p, uint8_t *buffer, const uint8_t *src,
                   const cpu_place *at)
{
    const uint32_t run = p->even_run == 0 ? 1 : p->even_run;
    const uint64_t n = (uint64_t)run * p->word_bytes;
    uint32_t slot = 0;

    if (p->pitch != p->word_bytes) {
        memset(buffer, 0, (size_t)p->n_slots * p->pitch);
    }
    while (slot < p->n_slots) {
        const uint32_t whole = p->even_run == 0 || p->pitch != p->word_bytes
                                   ? 0
                                   : whole_runs(p, slot, run, at);
        uint64_t coord[CPU_WALLS] = {0};

        cpu_gather(buffer + (size_t)slot * p->pitch, src + at->logical,
                   &p->logical_at[slot], run, whole, n);
        slot += whole * run;
        if (slot == p->n_slots) {
            break;
        }
        uint8_t *word = buffer + (size_t)slot * p->pitch;
        const uint8_t *from = src + at->logical + p->logical_at[slot];
        coords_of(p, slot, at, coord);
        if (p->even_run == 0) {
            load_uneven(p, coord, word, from);
        } else {
            put_pads(p, coord, word, n);
            memcpy(word, from, (size_t)live_of(p, coord, n));
        }
        slot += run;
    }
}

void cpu_store_edge(const cpu_plan *p, uint8_t *dst, const uint8_t *buffer,
                    const cpu_place *at)
{
    const uint32_t run = p->even_run == 0 ? 1 : p->even_run;
    const uint64_t n = (uint64_t)run * p->word_bytes;
    uint32_t slot = 0;

    while (slot < p->n_slots) {
        const uint32_t whole = p->even_run == 0 || p->pitch != p->word_bytes
                                   ? 0
                                   : whole_runs(p, slot, run, at);
        uint64_t coord[CPU_WALLS] = {0};

        cpu_scatter(dst + at->logical, buffer + (size_t)slot * p->pitch,
                    &p->logical_at[slot], run, whole, n);
        slot += whole * run;
        if (slot == p->n_slots) {
            break;
        }
        const uint8_t *word = buffer + (size_t)slot * p->pitch;
        uint8_t *to = dst + at->logical + p->logical_at[slot];
        coords_of(p, slot, at, coord);
        if (p->even_run == 0) {
            store_uneven(p, coord, word, to);
        } else {
            memcpy(to, word, (size_t)live_of(p, coord, n));
        }
        slot += run;
    }
}
