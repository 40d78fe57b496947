/* SPDX-License-Identifier: Apache-2.0 */
/* See mistake.h. */
#include "mistake.h"

#include <string.h>

placing *mistake_place(const conversion *k)
{
    return k->row->mistake == MISTAKE_INVERSE && !k->is_back ? k->rule->place
                                                             : k->row->place;
}

int mistake_forgets(const conversion *k, uint64_t e, uint64_t r, uint64_t c)
{
    const uint64_t tile_rows = k->rule->tile_rows;
    const uint64_t tile_cols = k->rule->tile_cols;
    const uint64_t tiles = (k->x.cols + tile_cols - 1) / tile_cols;

    switch (k->row->mistake) {
    case MISTAKE_TAIL_ROWS:
        return r >= k->x.rows / tile_rows * tile_rows;
    case MISTAKE_TAIL_COLS:
        return c >= k->x.cols / tile_cols * tile_cols;
    case MISTAKE_LAST_PAIR:
        return k->x.rows > 2 && r + 2 >= k->x.rows;
    case MISTAKE_MANY:
        return e > 0 && r + 1 == k->x.rows;
    case MISTAKE_ODD_ROWS:
        return k->x.rows % 2 == 1 && r + 1 == k->x.rows && r > 0;
    case MISTAKE_EIGHTS:
        return k->experts > 8 && e >= k->experts / 8 * 8;
    case MISTAKE_ODD_BOTH:
        return k->x.rows % 2 == 1 && tiles % 2 == 1 && tiles > 1 && r > 0 &&
               r + 1 == k->x.rows && c / tile_cols + 1 == tiles;
    case MISTAKE_CROP_BOTH:
        return k->keep_rows > 1 && k->keep_cols > 0 && r + 1 == k->keep_rows;
    case MISTAKE_TILE_9:
        return c / tile_cols == 8;
    case MISTAKE_REMAINDER:
        return tiles > 4 && c / tile_cols >= tiles / 4 * 4;
    default:
        return 0;
    }
}

void mistake_copy(const conversion *k, uint8_t *dst, const uint8_t *src)
{
    const int mistake = k->row->mistake;
    const int is_turned = mistake == MISTAKE_WIDE ||
                          (mistake == MISTAKE_WIDE_4 && k->elem_bytes == 4);

    for (uint64_t i = 0; i < k->elem_bytes; i++) {
        const uint64_t at = is_turned ? k->elem_bytes - 1 - i : i;
        uint8_t byte = src[at];
        byte = mistake == MISTAKE_HIGH_NIBBLE ? byte & 15 : byte;
        dst[i] = mistake == MISTAKE_NAN_LOST && byte == 255 ? 254 : byte;
    }
}

void mistake_spoil_pads(const conversion *k, const extents *x, uint64_t e)
{
    uint8_t *image = k->dst + e * k->image * k->elem_bytes;

    if (k->row->mistake == MISTAKE_STALE && e > 0 && !k->is_back) {
        const uint64_t plain = x->rows * x->cols * k->elem_bytes;
        memcpy(image, k->src + (e - 1) * plain, (size_t)plain);
    }
    for (uint64_t r = 0;
         k->row->mistake == MISTAKE_PAD_COLS && !k->is_back && r < x->rows;
         r++) {
        for (uint64_t c = x->cols; c < x->padded_cols; c++) {
            image[mistake_place(k)(x, r, c) * k->elem_bytes] = 0;
        }
    }
}
