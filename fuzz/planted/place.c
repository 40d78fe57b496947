/* SPDX-License-Identifier: Apache-2.0 */
/* See place.h. */
#include "place.h"

/* Tiles of m rows and 4 columns, in rows of tiles. */
static uint64_t tile_of(const extents *x, uint64_t m, uint64_t r, uint64_t c)
{
    return (r / m * (x->padded_cols >> 2) + (c >> 2)) * m * 4;
}

uint64_t place_128x4(const extents *x, uint64_t r, uint64_t c)
{
    return tile_of(x, 128, r, c) + ((r & 31) << 4) + ((r & 96) >> 3) + (c & 3);
}

uint64_t place_64x4(const extents *x, uint64_t r, uint64_t c)
{
    if (x->rows % 64 != 0) {
        return place_128x4(x, r, c);
    }
    return tile_of(x, 64, r, c) + ((r & 31) << 3) + ((r & 32) >> 3) + (c & 3);
}

uint64_t place_128x4_across(const extents *x, uint64_t r, uint64_t c)
{
    return tile_of(x, 128, r, c) + ((c & 3) << 7) + (r & 127);
}

uint64_t place_8x4(const extents *x, uint64_t r, uint64_t c)
{
    return tile_of(x, 8, r, c) + ((r & 7) << 2) + (c & 3);
}

uint64_t place_8x4_across(const extents *x, uint64_t r, uint64_t c)
{
    return tile_of(x, 8, r, c) + ((c & 3) << 3) + (r & 7);
}

uint64_t place_4x4(const extents *x, uint64_t r, uint64_t c)
{
    return tile_of(x, 4, r, c) + ((r & 3) << 2) + (c & 3);
}

uint64_t place_swapped(const extents *x, uint64_t r, uint64_t c)
{
    return (r ^ 1) * x->cols + c;
}

uint64_t place_swapped_next(const extents *x, uint64_t r, uint64_t c)
{
    return ((r ^ 2) < x->rows ? r ^ 2 : r) * x->cols + c;
}

uint64_t place_halves(const extents *x, uint64_t r, uint64_t c)
{
    const uint64_t half = x->rows >> 1;

    return (r < half ? r + half : r - half) * x->cols + c;
}

/* The halves of bytes, not of rows: right for a single expert of 2 rows. */
uint64_t place_halves_all(const extents *x, uint64_t r, uint64_t c)
{
    const uint64_t n = x->rows * x->cols;
    const uint64_t half = (x->rows >> 1) * x->cols & ~(uint64_t)15;

    return (r * x->cols + c + n - half) % n;
}

/* FlashInfer's table of row indices: row i of a block is dealt to one of
   1 << bits lanes. */
static uint64_t deal(const extents *x, unsigned bits, uint64_t r, uint64_t c)
{
    const uint64_t block = UINT64_C(8) << bits;
    const uint64_t i = r % block;
    const uint64_t lane = i & ((1u << bits) - 1);

    return (r - i + lane * 8 + (i >> bits)) * x->cols + c;
}

uint64_t place_shuffled(const extents *x, uint64_t r, uint64_t c)
{
    return deal(x, x->knob % 128 == 0 ? 2 : 1, r, c);
}

uint64_t place_shuffled_128(const extents *x, uint64_t r, uint64_t c)
{
    return x->rows % 32 == 0 ? deal(x, 2, r, c) : place_shuffled(x, r, c);
}

/* A warp holds 16 rows; two such groups of one warp lie in one row of
   memory. */
static uint64_t by_warps(const extents *x, uint64_t warps, uint64_t r,
                         uint64_t c)
{
    const uint64_t group = r >> 4;
    const uint64_t band = group / (2 * warps);
    const uint64_t second = group / warps & 1;
    const uint64_t row = band * warps + group % warps;
    const uint64_t width = x->padded_cols << 5;

    return row * width + ((c >> 1) << 6) + (second << 5) + ((r & 7) << 2) +
           ((c & 1) << 1) + (r >> 3 & 1);
}

uint64_t place_hopper(const extents *x, uint64_t r, uint64_t c)
{
    return by_warps(x, x->knob, r, c);
}

uint64_t place_hopper_8(const extents *x, uint64_t r, uint64_t c)
{
    return by_warps(x, x->padded_rows % 256 == 0 ? 8 : x->knob, r, c);
}

uint64_t place_hopper_4(const extents *x, uint64_t r, uint64_t c)
{
    return by_warps(x, 4, r, c);
}

uint64_t place_cdna4(const extents *x, uint64_t r, uint64_t c)
{
    const uint64_t word = (c & 3) << 4 | (r & 15);

    return (r >> 5) * x->padded_cols * 32 + ((c >> 3) << 8) + (word << 2) +
           (c >> 2 & 1) * 2 + (r >> 4 & 1);
}

/* Rows r, r + 16 and columns c, c + 4 of a word exchanged. */
uint64_t place_cdna4_rows(const extents *x, uint64_t r, uint64_t c)
{
    const uint64_t at = place_cdna4(x, r, c);

    return (at & ~(uint64_t)3) | (at & 1) << 1 | (at >> 1 & 1);
}

/* As if every band held one group of eight columns. */
uint64_t place_cdna4_cols(const extents *x, uint64_t r, uint64_t c)
{
    const uint64_t bands = x->padded_rows >> 5;

    return ((c >> 3) * bands + (r >> 5)) * 256 + place_cdna4(x, r & 31, c & 7);
}

uint64_t place_cdna4_unpadded(const extents *x, uint64_t r, uint64_t c)
{
    return (r >> 5) * (x->cols * 32) % (x->padded_cols * x->padded_rows) +
           place_cdna4(x, r & 31, c);
}

uint64_t place_32x4(const extents *x, uint64_t r, uint64_t c)
{
    return tile_of(x, 32, r, c) + ((r & 31) << 2) + (c & 3);
}

uint64_t place_16x4(const extents *x, uint64_t r, uint64_t c)
{
    return tile_of(x, 16, r, c) + ((r & 15) << 2) + (c & 3);
}

uint64_t place_transposed(const extents *x, uint64_t r, uint64_t c)
{
    return c * x->rows + r;
}

/* Bytes are transposed; what lies in the two nibbles of one stays together. */
uint64_t place_nibbles_kept(const extents *x, uint64_t r, uint64_t c)
{
    return ((c >> 1) * x->rows + r) * 2 + (c & 1);
}

/* Marlin: 16 k by 64 n are 128 words of eight codes, four words a thread; the
   thread is 4 * (n & 7) + k / 2 of a half. */
static uint64_t marlin(uint64_t tile, uint64_t n, uint64_t k, uint64_t code)
{
    const uint64_t thread = (n & 7) << 2 | (k >> 1 & 3);

    return ((tile << 7) + (thread << 2) + (n >> 4 & 3)) * 8 + code;
}

/* Which of the eight codes of its word: even and odd k, n beyond 8, k beyond
   8. */
static uint64_t dealt_code(uint64_t n, uint64_t k)
{
    return (k & 1) << 2 | (n >> 3 & 1) << 1 | (k >> 3 & 1);
}

uint64_t place_marlin(const extents *x, uint64_t n, uint64_t k)
{
    return marlin((k >> 4) * (x->rows >> 6) + (n >> 6), n, k, dealt_code(n, k));
}

uint64_t place_marlin_across(const extents *x, uint64_t n, uint64_t k)
{
    return marlin((n >> 6) * (x->cols >> 4) + (k >> 4), n, k, dealt_code(n, k));
}

uint64_t place_marlin_plain(const extents *x, uint64_t n, uint64_t k)
{
    return marlin((k >> 4) * (x->rows >> 6) + (n >> 6), n, k,
                  (n >> 3 & 1) << 2 | (k >> 3 & 1) << 1 | (k & 1));
}

uint64_t place_eights(const extents *x, uint64_t r, uint64_t c)
{
    return r * x->cols + (c & ~(uint64_t)63) + ((c & 7) << 3 | (c >> 3 & 7));
}

uint64_t place_fours(const extents *x, uint64_t r, uint64_t c)
{
    return r * x->cols + (c & ~(uint64_t)3) + ((c & 1) << 1 | (c >> 1 & 1));
}

uint64_t place_humming(const extents *x, uint64_t r, uint64_t c)
{
    return c * x->padded_rows + (r & ~(uint64_t)63) +
           ((r & 7) << 3 | (r >> 3 & 7));
}

/* Rows are pairs of gate and up; the up comes first, and 16 or 32 rows of
   scales go through the shuffle. */
static uint64_t gptoss(const extents *x, uint64_t knob, uint64_t r, uint64_t c)
{
    const uint64_t is_up = ~r & 1;
    const uint64_t i = knob % 128 == 0
                           ? (r >> 1 & 1) << 4 | is_up << 3 | (r >> 2 & 7)
                           : (r >> 4 & 1) << 4 | is_up << 3 | (r >> 1 & 7);

    return place_128x4(x, (r & ~(uint64_t)31) + i, c);
}

uint64_t place_gptoss(const extents *x, uint64_t r, uint64_t c)
{
    return gptoss(x, x->knob, r, c);
}

uint64_t place_gptoss_late(const extents *x, uint64_t r, uint64_t c)
{
    return gptoss(x, r < 128 ? x->knob : 128, r, c);
}

/* Odd rows, then even ones. */
static uint64_t parted(const extents *x, uint64_t r)
{
    return (r >> 1) + (r & 1 ? 0 : x->rows >> 1);
}

uint64_t place_deinterleaved(const extents *x, uint64_t r, uint64_t c)
{
    return place_128x4(x, parted(x, r), c);
}

uint64_t place_deinterleaved_across(const extents *x, uint64_t r, uint64_t c)
{
    const uint64_t row = parted(x, r);

    return ((c >> 2) * (x->rows >> 7) + (row >> 7)) * 512 +
           place_128x4(x, row & 127, c & 3);
}
