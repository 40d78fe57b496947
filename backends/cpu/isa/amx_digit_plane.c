/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_plane_mac for AMX.  A tile's rows are 64 codes of 16 columns, as integers
 * times their block's factor; the other operand has 64 digits of 16 planes, as
 * pack() has put them.  Bytes hold factors from 1 to 8: columns whose scale
 * bytes are further apart are two operands, of the blocks with small factors
 * and, divided by 16, of those with large ones.  Sums are those of
 * avx512digit_plane.c, integers that fit, so the order does not matter: a panel
 * of k at a time, whose weights stay in the nearest cache while all planes
 * meet them.
 */
#include "gemm/gemm_digit_plane.h"
#include "isa_ops.h"

#include <immintrin.h>
#include <string.h>

enum {
    SIDE = 16, /* columns, or planes, of a tile */
    STEP = 64, /* bytes of a tile's row */
    TILE = SIDE * STEP,
    PART_BITS = 2, /* factors of an operand: 1 to 8 */
    PARTS = 2,
    HALF = CPU_PLANE_GROUP / 4,
    STEPS = CPU_PLANE_GROUP / STEP, /* of a group */
    PANEL = 3 * STEPS,
    SUMS = 2 * PARTS * SIDE * SIDE /* of 16 columns and 32 planes */
};

/* Operand of LDTILECFG: every tile is 16 rows of 64 bytes. */
typedef struct tile_config {
    uint8_t palette;
    uint8_t start_row;
    uint8_t none[14];
    uint16_t bytes[SIDE];
    uint8_t rows[SIDE];
} tile_config;

static void configure(void)
{
    tile_config c;

    memset(&c, 0, sizeof c);
    c.palette = 1;
    for (int i = 0; i < 8; i++) {
        c.bytes[i] = STEP;
        c.rows[i] = SIDE;
    }
    __asm__ volatile("" ::"r"(&c) : "memory");
    _tile_loadconfig(&c);
}

/* 16 rows of 16 words, rows and words exchanged. */
CPU_INLINE void transpose(__m512i *v)
{
    __m512i t[SIDE];

    for (int i = 0; i < SIDE; i += 2) {
        t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
    }
    for (int i = 0; i < SIDE; i += 4) {
        v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int k = 0; k < 4; k++) {
        t[k] = _mm512_shuffle_i32x4(v[k], v[4 + k], 0x88);
        t[4 + k] = _mm512_shuffle_i32x4(v[k], v[4 + k], 0xdd);
        t[8 + k] = _mm512_shuffle_i32x4(v[8 + k], v[12 + k], 0x88);
        t[12 + k] = _mm512_shuffle_i32x4(v[8 + k], v[12 + k], 0xdd);
    }
    for (int k = 0; k < 4; k++) {
        v[k] = _mm512_shuffle_i32x4(t[k], t[8 + k], 0x88);
        v[8 + k] = _mm512_shuffle_i32x4(t[k], t[8 + k], 0xdd);
        v[4 + k] = _mm512_shuffle_i32x4(t[4 + k], t[12 + k], 0x88);
        v[12 + k] = _mm512_shuffle_i32x4(t[4 + k], t[12 + k], 0xdd);
    }
}

static size_t steps_of(size_t k)
{
    return (k + CPU_PLANE_GROUP - 1) / CPU_PLANE_GROUP * STEPS;
}

static size_t tiles_of(size_t items)
{
    return (items + SIDE - 1) / SIDE;
}

/* Planes, and sums behind them. */
size_t cpu_plane_packed_amx(size_t items, size_t k)
{
    return tiles_of(items) * (steps_of(k) * TILE + SUMS * sizeof(int32_t));
}

/* Four digits of 16 planes, the next four, and so on. */
void cpu_plane_pack_amx(const cpu_plane_item *item, size_t items, size_t k,
                        int8_t *to)
{
    for (size_t first = 0; first < items; first += SIDE) {
        for (size_t step = 0; step < steps_of(k); step++) {
            __m512i v[SIDE];

            for (size_t i = 0; i < SIDE; i++) {
                const size_t at = first + i < items ? first + i : first;
                const cpu_plane *p =
                    item[at].plane + step / STEPS * item[at].step;
                v[i] = _mm512_load_si512(p->digit + step % STEPS * STEP);
            }
            transpose(v);
            for (size_t i = 0; i < SIDE; i++) {
                _mm512_store_si512(to + i * STEP, v[i]);
            }
            to += TILE;
        }
    }
}

static __mmask64 first_bytes(size_t n)
{
    return n == 0 ? 0 : ~(__mmask64)0 >> (n < 64 ? 64 - n : 0);
}

/* Codes as integers times 1, 2, 4 and 8. */
static __m512i code_table(void)
{
    const __m128i one =
        _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
    const __m128i two = _mm_add_epi8(one, one);
    const __m128i four = _mm_add_epi8(two, two);
    __m512i t = _mm512_castsi128_si512(one);

    t = _mm512_inserti32x4(t, two, 1);
    t = _mm512_inserti32x4(t, four, 2);
    return _mm512_inserti32x4(t, _mm_add_epi8(four, four), 3);
}

/* A group of a column into its row of four steps, for each part. */
CPU_INLINE void decode_group(const uint8_t *codes, size_t bytes,
                             const uint8_t *scale, size_t blocks, uint8_t least,
                             int parts, int8_t *to)
{
    const __m512i turns = _mm512_set_epi64(
        0x0707070707070707, 0x0303030303030303, 0x0606060606060606,
        0x0202020202020202, 0x0505050505050505, 0x0101010101010101,
        0x0404040404040404, 0);
    const __m512i table = code_table();
    const __m512i nibble = _mm512_set1_epi8(15);
    const __m512i a = _mm512_maskz_loadu_epi8(first_bytes(bytes), codes);
    const __m512i b = _mm512_maskz_loadu_epi8(
        first_bytes(bytes < HALF ? 0 : bytes - HALF), codes + HALF);
    const __m128i s = _mm_maskz_loadu_epi8(
        (__mmask16)first_bytes(
            blocks < CPU_PLANE_BLOCKS ? blocks : (size_t)CPU_PLANE_BLOCKS),
        scale);
    const __m512i e = _mm512_permutexvar_epi8(
        turns,
        _mm512_castsi128_si512(_mm_subs_epu8(s, _mm_set1_epi8((char)least))));
    const __m512i by = _mm512_slli_epi16(
        _mm512_and_si512(e, _mm512_set1_epi8((1 << PART_BITS) - 1)), 4);
    const __m512i lo = _mm512_unpacklo_epi64(a, b);
    const __m512i hi = _mm512_unpackhi_epi64(a, b);
    const __m512i half[STEPS] = {lo, _mm512_srli_epi16(lo, 4), hi,
                                 _mm512_srli_epi16(hi, 4)};
    const __mmask64 is_large =
        _mm512_test_epi8_mask(e, _mm512_set1_epi8(1 << PART_BITS));

    for (int i = 0; i < STEPS; i++) {
        const __m512i index =
            _mm512_or_si512(_mm512_and_si512(half[i], nibble), by);

        _mm512_store_si512(to + i * TILE, _mm512_maskz_permutexvar_epi8(
                                              ~is_large, index, table));
        if (parts > 1) {
            _mm512_store_si512(
                to + (PANEL + i) * TILE,
                _mm512_maskz_permutexvar_epi8(is_large, index, table));
        }
    }
}

/* So many steps of all columns. */
static void decode(const cpu_plane_mac *job, int parts, size_t first, size_t n,
                   int8_t *to)
{
    const size_t blocks = job->k / 32 + (job->k % 32 != 0);
    const size_t bytes = job->k / 2;

    for (size_t c = 0; c < job->n; c++) {
        for (size_t i = 0; i < n; i += STEPS) {
            const size_t g = (first + i) / STEPS;
            const size_t at = 2 * HALF * g;
            const size_t block = CPU_PLANE_BLOCKS * g;
            const uint8_t *codes = job->codes + c * bytes + at;

            CPU_FETCH_L2(codes + job->n * bytes);
            CPU_FETCH_L2(codes + job->n * bytes + HALF);
            decode_group(codes, bytes - at, job->scale + c * blocks + block,
                         blocks - block, job->least[c], parts,
                         to + i * TILE + c * STEP);
        }
    }
}

/* Sums of 16 columns and 32 planes, y[part][half][column][plane]. */
static void multiply_one(const int8_t *w, const int8_t *x, const int8_t *more,
                         size_t n, int is_first, int32_t *y)
{
    if (is_first) {
        _tile_zero(0);
        _tile_zero(1);
    } else {
        _tile_loadd(0, y, STEP);
        _tile_loadd(1, y + TILE / 4, STEP);
    }
    for (size_t i = 0; i < n; i++) {
        _tile_loadd(4, w + i * TILE, STEP);
        _tile_loadd(6, x + i * TILE, STEP);
        _tile_loadd(7, more + i * TILE, STEP);
        _tile_dpbssd(0, 4, 6);
        _tile_dpbssd(1, 4, 7);
    }
    _tile_stored(0, y, STEP);
    _tile_stored(1, y + TILE / 4, STEP);
}

static void multiply_two(const int8_t *w, const int8_t *x, const int8_t *more,
                         size_t n, int is_first, int32_t *y)
{
    if (is_first) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    } else {
        _tile_loadd(0, y, STEP);
        _tile_loadd(1, y + TILE / 4, STEP);
        _tile_loadd(2, y + 2 * (TILE / 4), STEP);
        _tile_loadd(3, y + 3 * (TILE / 4), STEP);
    }
    for (size_t i = 0; i < n; i++) {
        _tile_loadd(4, w + i * TILE, STEP);
        _tile_loadd(5, w + (PANEL + i) * TILE, STEP);
        _tile_loadd(6, x + i * TILE, STEP);
        _tile_loadd(7, more + i * TILE, STEP);
        _tile_dpbssd(0, 4, 6);
        _tile_dpbssd(1, 4, 7);
        _tile_dpbssd(2, 5, 6);
        _tile_dpbssd(3, 5, 7);
    }
    _tile_stored(0, y, STEP);
    _tile_stored(1, y + TILE / 4, STEP);
    _tile_stored(2, y + 2 * (TILE / 4), STEP);
    _tile_stored(3, y + 3 * (TILE / 4), STEP);
}

/* Parts together, planes first. */
CPU_INLINE void put_sums(const int32_t *y, int parts, size_t planes,
                         int32_t (*sum)[CPU_PLANE_COLS])
{
    __m512i v[SIDE];

    for (size_t c = 0; c < SIDE; c++) {
        v[c] = _mm512_load_si512(y + c * SIDE);
        if (parts > 1) {
            const __m512i large = _mm512_load_si512(y + (2 * SIDE + c) * SIDE);
            v[c] = _mm512_add_epi32(v[c],
                                    _mm512_slli_epi32(large, 1 << PART_BITS));
        }
    }
    transpose(v);
    for (size_t i = 0; i < planes; i++) {
        _mm512_storeu_si512(sum[i], v[i]);
    }
}

static size_t at_most(size_t n, size_t most)
{
    return n < most ? n : most;
}

static void multiply(const cpu_plane_mac *job, int parts, size_t steps,
                     int32_t *y)
{
    _Alignas(64) int8_t w[PARTS * PANEL * TILE];

    memset(w, 0, sizeof w); /* columns that there are not */
    configure();
    for (size_t at = 0; at < steps; at += PANEL) {
        const size_t n = at_most(steps - at, PANEL);

        decode(job, parts, at, n, w);
        __asm__ volatile("" ::"r"(w) : "memory");
        for (size_t i = 0; i < tiles_of(job->items); i += 2) {
            const int8_t *x = job->packed + (i * steps + at) * TILE;
            const int8_t *more =
                i + 1 < tiles_of(job->items) ? x + steps * TILE : x;

            (parts == 1 ? multiply_one : multiply_two)(w, x, more, n, at == 0,
                                                       y + i / 2 * SUMS);
        }
        __asm__ volatile("" ::: "memory");
    }
    _tile_release();
}

int cpu_plane_amx(cpu_plane_mac *job)
{
    const size_t steps = steps_of(job->k);
    int spread = 0;

    if (job->packed == NULL) {
        return cpu_plane_both(job);
    }
    if (!cpu_plane_ends(job)) {
        return 0;
    }
    for (size_t c = 0; c < job->n; c++) {
        const int apart = job->most[c] - job->least[c];
        spread = apart > spread ? apart : spread;
    }
    const int parts = (spread >> PART_BITS) + 1;

    if (parts > PARTS) {
        return cpu_plane_both(job);
    }
    int32_t *const y =
        (int32_t *)(void *)(job->packed + tiles_of(job->items) * steps * TILE);

    multiply(job, parts, steps, y);
    for (size_t i = 0; i < job->items; i += SIDE) {
        put_sums(y + i / SIDE / 2 * SUMS + i / SIDE % 2 * SIDE * SIDE, parts,
                 at_most(job->items - i, SIDE), job->sum + i);
    }
    return 1;
}
