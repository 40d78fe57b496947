/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles that meet a wall: what is beyond reads as the wall's byte and is not
 * written.  Mostly a coordinate grows by the same step from byte to byte of
 * a word, and what lies before a wall is the beginning of the word.
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

/* Bytes of a word before wall number w. */
static uint32_t before_wall(const cpu_plan *p, uint64_t coord, int w)
{
    const uint64_t end = p->map.wall[w].end;
    const uint64_t step = p->byte_coord[1][w];

    if (coord + p->byte_most[w] < end) {
        return p->word_bytes;
    }
    return coord >= end ? 0 : (uint32_t)((end - coord + step - 1) / step);
}

static void coords_of(const cpu_plan *p, uint32_t slot, const cpu_place *at,
                      uint64_t coord[CPU_WALLS])
{
    for (int w = 0; w < p->map.n_walls; w++) {
        coord[w] = at->coord[w] +
                   p->slot_coord[(size_t)slot * CPU_WALLS + (unsigned)w];
    }
}

/* Of several walls the first counts: its byte is written last. */
static void load_word(const cpu_plan *p, const uint64_t *coord, uint8_t *word,
                      const uint8_t *from)
{
    uint32_t live = p->word_bytes;

    for (int w = p->map.n_walls - 1; w >= 0 && p->even; w--) {
        const uint32_t n = before_wall(p, coord[w], w);
        memset(word + n, p->map.wall[w].byte, p->word_bytes - n);
        live = n < live ? n : live;
    }
    if (p->even) {
        memcpy(word, from, live);
        return;
    }
    for (uint32_t b = 0; b < p->word_bytes; b++) {
        const int w = cpu_beyond(p, coord, p->byte_coord[b]);
        word[b] = w < 0 ? from[b] : p->map.wall[w].byte;
    }
}

static void store_word(const cpu_plan *p, const uint64_t *coord,
                       const uint8_t *word, uint8_t *to)
{
    uint32_t live = p->word_bytes;

    for (int w = 0; w < p->map.n_walls && p->even; w++) {
        const uint32_t n = before_wall(p, coord[w], w);
        live = n < live ? n : live;
    }
    if (p->even) {
        memcpy(to, word, live);
        return;
    }
    for (uint32_t b = 0; b < p->word_bytes; b++) {
        if (cpu_beyond(p, coord, p->byte_coord[b]) < 0) {
            to[b] = word[b];
        }
    }
}

void cpu_load_edge(const cpu_plan *p, uint8_t *buffer, const uint8_t *src,
                   const cpu_place *at)
{
    const uint64_t here = 0;

    for (uint32_t slot = 0; slot < p->n_slots; slot++) {
        uint64_t coord[CPU_WALLS] = {0};
        uint8_t *word = buffer + (size_t)slot * p->pitch;
        const uint8_t *from = src + at->logical + p->logical_at[slot];

        if (p->pitch != p->word_bytes) {
            memset(word, 0, p->pitch);
        }
        coords_of(p, slot, at, coord);
        if (cpu_beyond(p, coord, p->byte_most) < 0) {
            cpu_gather(word, from, &here, 1, 1, p->word_bytes);
        } else {
            load_word(p, coord, word, from);
        }
    }
}

void cpu_store_edge(const cpu_plan *p, uint8_t *dst, const uint8_t *buffer,
                    const cpu_place *at)
{
    const uint64_t here = 0;

    for (uint32_t slot = 0; slot < p->n_slots; slot++) {
        uint64_t coord[CPU_WALLS] = {0};
        const uint8_t *word = buffer + (size_t)slot * p->pitch;
        uint8_t *to = dst + at->logical + p->logical_at[slot];

        coords_of(p, slot, at, coord);
        if (cpu_beyond(p, coord, p->byte_most) < 0) {
            cpu_scatter(to, word, &here, 1, 1, p->word_bytes);
        } else {
            store_word(p, coord, word, to);
        }
    }
}
