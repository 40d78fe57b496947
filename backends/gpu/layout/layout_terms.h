/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.*, the way back where bits go through tables: every word of the
 * tensor takes bits of up to four words of memory, each turned several ways.
 * A digit that counts rows may be part of a table; then rows of either kind
 * have their own terms.
 */
#ifndef GPU_LAYOUT_TERMS_H
#define GPU_LAYOUT_TERMS_H

#include "layout/layout.h"
#include "layout/layout_gather.h"
#include "port/device.h"

enum { TERMS_SOURCES = 4, TERMS_EACH = 6, TERMS_KINDS = 2 };

typedef struct terms_word {
    uint32_t at[TERMS_SOURCES]; /* bytes from the vector's place */
    uint32_t turn[TERMS_SOURCES * TERMS_EACH];
    uint32_t mask[TERMS_SOURCES * TERMS_EACH];
} terms_word;

typedef struct terms_args {
    tile_args tile;
    uint32_t kind_from; /* vectors from here on are of the second kind */
    terms_word word[TERMS_KINDS][4];
} terms_args;

GPU_FN uint32_t terms_gather(const terms_word *w, const uint8_t *cell)
{
    uint32_t y = 0;

    GPU_UNROLL
    for (uint32_t s = 0; s < TERMS_SOURCES; s++) {
        const uint32_t x = gpu_cell_load_u8x4(cell + w->at[s]);

        GPU_UNROLL
        for (uint32_t k = 0; k < TERMS_EACH; k++) {
            const uint32_t i = s * TERMS_EACH + k;
            y |= gpu_turn(x, w->turn[i]) & w->mask[i];
        }
    }
    return y;
}

GPU_FN void terms_body(const terms_args *terms)
{
    GPU_SHARED GPU_ALIGN16 tile_room shared;
    tile_room *const room = &shared;
    const tile_args *const a = &terms->tile;

    tile_list_runs(a, room, 1);
    GPU_LOOP
    for (uint32_t tile = gpu_block(); tile < a->tiles; tile += gpu_grid()) {
        const tile_place t = tile_find(a, tile);

        tile_fill(a, room, &t, 1);
        GPU_LOOP
        for (uint32_t i = gpu_thread(); i < a->n_vectors; i += GPU_BLOCK) {
            const tile_inner at = tile_vector(a, i);
            const uint8_t *const cell =
                (const uint8_t *)room->cell + (at.bits >> 3);
            const terms_word *const word = terms->word[i >= terms->kind_from];
            gpu_u128 x;

            GPU_UNROLL
            for (uint32_t k = 0; k < 4; k++) {
                x.w[k] = terms_gather(&word[k], cell);
            }
            tile_store(a, &t, at.row, at.col, x);
        }
        gpu_barrier();
    }
}

GPU_ENTRY(layout_back_terms, terms_args, terms_body(a))

#endif
