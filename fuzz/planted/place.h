/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where sixteen layouts put an element, as vendors' kernels say it: shifts,
 * masks and remainders of a row and a column.  Nothing of the emulator's
 * notation is used.
 */
#ifndef PLANTED_PLACE_H
#define PLANTED_PLACE_H

#include <stdint.h>

/* One expert: elements, or nibbles where a layout moves nibbles. */
typedef struct extents {
    uint64_t rows;
    uint64_t cols;
    uint64_t padded_rows;
    uint64_t padded_cols;
    uint64_t knob; /* the layout's parameter */
} extents;

/* Offset in the image of the expert. */
typedef uint64_t placing(const extents *x, uint64_t r, uint64_t c);

typedef struct layout_rule {
    const char *id;
    const char *knob_name; /* "": it has no parameter */
    uint64_t knob;         /* default */
    uint64_t row_granule;  /* padded to, times the knob if there is a 0 */
    uint64_t col_granule;
    uint64_t rows_of; /* a multiple is needed */
    uint64_t cols_of;
    uint64_t tile_rows; /* taken by a kernel at a time */
    uint64_t tile_cols;
    uint8_t pad;
    uint8_t is_nibbles;
    uint8_t takes_all; /* elements of any size; else bytes */
    placing *place;
} layout_rule;

placing place_128x4, place_8x4, place_swapped, place_halves, place_shuffled,
    place_hopper, place_cdna4, place_32x4, place_transposed;

/* Mistakes. */
placing place_64x4, place_128x4_across, place_8x4_across, place_4x4,
    place_halves_all, place_shuffled_128, place_hopper_8, place_hopper_4,
    place_cdna4_rows, place_cdna4_cols, place_cdna4_unpadded, place_16x4,
    place_nibbles_kept, place_swapped_next;
placing place_marlin;
placing place_marlin_across;
placing place_marlin_plain;
placing place_eights;
placing place_fours;
placing place_humming;
placing place_gptoss;
placing place_gptoss_late;
placing place_deinterleaved;
placing place_deinterleaved_across;

#endif
