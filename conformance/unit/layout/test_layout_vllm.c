/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vLLM's own layouts: row orders, Marlin, the CPU kernels, and Humming, which
 * shares Marlin's tiles.  Against the index formulas of the vendors' code;
 * permutations are stated result to source, as there, and turned round by
 * looking for the place.
 */
#include "closed_form.h"

#include <mxoracle/layout.h>

#include <string.h>

typedef uint64_t wide;

/* Source of place i of the result, n places in all. */
typedef wide source_of(wide i, wide n);

static wide place_of(source_of *source, wide from, wide n)
{
    wide i = 0;

    while (i < n && source(i, n) != from) {
        i++;
    }
    return i;
}

static wide swapped_pairs(wide r, wide n)
{
    (void)n;
    return r ^ 1;
}

static wide stacked(wide r, wide n)
{
    return r % 2 == 0 ? n / 2 + r / 2 : (r - 1) / 2;
}

static wide split_swapped(wide r, wide n)
{
    return r < n / 2 ? 2 * r + 1 : 2 * (r - n / 2);
}

static wide split(wide r, wide n)
{
    return r < n / 2 ? 2 * r : 2 * (r - n / 2) + 1;
}

static wide halves(wide r, wide n)
{
    return (r + n / 2) % n;
}

/* Marlin: 64 columns as 8x8, transposed; 32 by table; 0 2 1 3 of four. */
static wide grouped(wide p, wide n)
{
    (void)n;
    return p / 64 * 64 + p % 64 / 8 + 8 * (p % 8);
}

static wide single(wide p, wide n)
{
    static const wide table[] = {0, 1, 8, 9, 16, 17, 24, 25};

    (void)n;
    return p / 32 * 32 + 2 * (p % 32 / 8) + table[p % 8];
}

static wide of_four(wide p, wide n)
{
    static const wide table[] = {0, 2, 1, 3};

    (void)n;
    return p / 4 * 4 + table[p % 4];
}

static wide grouped_of_four(wide p, wide n)
{
    return grouped(of_four(p, n), n);
}

static wide single_of_four(wide p, wide n)
{
    return single(of_four(p, n), n);
}

#define ROWS(name)                                                           \
    static wide rows_##name(const wide p[3], wide e, wide r, wide c, wide u) \
    {                                                                        \
        (void)u;                                                             \
        return (e * p[1] + place_of(name, r, p[1])) * p[2] + c;              \
    }
ROWS(swapped_pairs)
ROWS(stacked)
ROWS(split_swapped)
ROWS(split)
ROWS(halves)
ROWS(single)

/* Along the columns of [groups][outputs]. */
#define COLS(name)                                                           \
    static wide cols_##name(const wide p[3], wide e, wide g, wide n, wide u) \
    {                                                                        \
        (void)u;                                                             \
        return (e * p[1] + g) * p[2] + place_of(name, n, p[2]);              \
    }
COLS(grouped)
COLS(single)
COLS(of_four)

/* From the checkpoint's [outputs][groups] to [groups][outputs]. */
#define TURNED(name)                                                         \
    static wide turn_##name(const wide p[3], wide e, wide n, wide g, wide u) \
    {                                                                        \
        (void)u;                                                             \
        return (e * p[2] + g) * p[1] + place_of(name, n, p[1]);              \
    }
TURNED(grouped)
TURNED(single)
TURNED(grouped_of_four)
TURNED(single_of_four)

/* K of one group has the permutation of its own. */
static wide turn_scale(const wide p[3], wide e, wide n, wide g, wide u)
{
    return p[2] == 1 ? turn_single_of_four(p, e, n, g, u)
                     : turn_grouped_of_four(p, e, n, g, u);
}

/* 2025-08: result place f of [groups][n] takes this place of [groups][n]. */
static wide paired(wide f, wide n)
{
    const wide q = f / (2 * n);
    const wide v = f % (2 * n);

    return (2 * q + v / 8 % 2) * n + 8 * (v / 16) + v % 8;
}

static wide cols_paired(const wide p[3], wide e, wide g, wide n, wide u)
{
    wide f = 0;

    (void)u;
    while (paired(f, p[2]) != g * p[2] + n) {
        f++;
    }
    return e * p[1] * p[2] + f;
}

static wide turn_2025_08(const wide p[3], wide e, wide n, wide g, wide u)
{
    const wide permuted = g * p[1] + place_of(grouped, n, p[1]);
    wide f = 0;

    (void)u;
    while (paired(of_four(f, 0), p[1]) != permuted) {
        f++;
    }
    return e * p[1] * p[2] + f;
}

/* Nibbles: word w, nibble b of row k/16 of the result. */
static wide tile_a16(const wide ext[2], wide n, wide k, int wgmma)
{
    const wide w = n / 64 * 128 + (n % 8 * 4 + k % 8 / 2) * 4 + n % 64 / 16;
    const wide b = wgmma ? 4 * (k % 2) + 2 * (k % 16 / 8) + n % 16 / 8
                         : 4 * (k % 2) + 2 * (n % 16 / 8) + k % 16 / 8;

    return k / 16 * (2 * ext[0]) * 8 + w * 8 + b;
}

static wide tile_a8(const wide ext[2], wide n, wide k)
{
    const wide w = (k / 32 * (ext[0] / 32) + n / 32) * 128 +
                   (n % 8 * 4 + k % 16 / 4) * 4 + n % 32 / 8;

    return w * 8 + 2 * (k % 4) + k % 32 / 16;
}

static wide repack(const wide p[3], wide e, wide n, wide c, wide u)
{
    return e * p[1] * p[2] * 2 + tile_a16(p + 1, n, 2 * c + u, 0);
}

static wide repack_wgmma(const wide p[3], wide e, wide n, wide c, wide u)
{
    return e * p[1] * p[2] * 2 + tile_a16(p + 1, n, 2 * c + u, 1);
}

static wide repack_a8(const wide p[3], wide e, wide n, wide c, wide u)
{
    return e * p[1] * p[2] * 2 + tile_a8(p + 1, n, 2 * c + u);
}

/* Codes of 8 bits: byte b of word w (layouts-vllm 4.9). */
static wide repack_w8(const wide p[3], wide e, wide n, wide k, wide u)
{
    const wide w = (k / 16 * (p[1] / 64) + n / 64) * 256 +
                   (n % 8 * 4 + k % 8 / 2) * 8 + n % 64 / 16 * 2 + n % 16 / 8;

    (void)u;
    return e * p[1] * p[2] + w * 4 + 2 * (k % 2) + k % 16 / 8;
}

static wide repack_w8_a8(const wide p[3], wide e, wide n, wide k, wide u)
{
    const wide w = (k / 32 * (p[1] / 32) + n / 32) * 256 +
                   (n % 8 * 4 + k % 16 / 4) * 8 + n % 32 / 8 * 2 + k % 32 / 16;

    (void)u;
    return e * p[1] * p[2] + w * 4 + k % 4;
}

/* [K/8][N] words: nibble i of word n of row r is element 8r + i of row n. */
static wide words(const wide p[3], wide e, wide r, wide c, wide u)
{
    const wide n[2] = {p[2] / 4, 0};

    return e * p[1] * p[2] * 2 + tile_a16(n, c / 4, 8 * r + 2 * (c % 4) + u, 0);
}

static wide words_a8(const wide p[3], wide e, wide r, wide c, wide u)
{
    const wide n[2] = {p[2] / 4, 0};

    return e * p[1] * p[2] * 2 + tile_a8(n, c / 4, 8 * r + 2 * (c % 4) + u);
}

static wide cpu_weight(const wide p[3], wide e, wide r, wide k, wide u)
{
    const wide n = 2 * (r % 16) + u;

    return (e * p[1] * p[2] + r / 32 * 32 * p[2] + k * 32 + n) * 2 +
           r % 32 / 16;
}

static wide cpu_scale(const wide p[3], wide e, wide r, wide g, wide u)
{
    (void)u;
    return e * p[1] * p[2] + r / 32 * 32 * p[2] + g * 32 + r % 32;
}

static wide cpu_vnni(const wide p[3], wide e, wide n, wide k, wide u)
{
    (void)u;
    return ((e * (p[2] / 2) + k / 2) * p[1] + n) * 2 + k % 2;
}

static wide same_place(const wide p[3], wide e, wide r, wide c, wide u)
{
    (void)u;
    return (e * p[1] + r) * p[2] + c;
}

enum { NO = CLOSED_REFUSED, PAD = CLOSED_PADDED, ANY = CLOSED_NOT_TRIED };

static const closed_form forms[] = {
    {"cpu.scale", 1, 1, cpu_scale, 32, 1, NO, NO, 0, 0},
    {"cpu.vnni", 2, 1, cpu_vnni, 1, 2, NO, NO, 0, 0},
    {"cpu.weight", 1, 2, cpu_weight, 32, 16, NO, NO, 0, 0},
    {"humming.bias", 2, 1, rows_single, 256, 1, PAD, NO, 0, 0},
    {"humming.repack_a16_mma", 1, 2, repack, 64, 8, NO, NO, 0, 0},
    {"humming.repack_a16_wgmma", 1, 2, repack_wgmma, 64, 8, NO, NO, 0, 0},
    {"humming.repack_a8", 1, 2, repack_a8, 64, 16, NO, NO, 0, 0},
    {"humming.scale", 1, 1, turn_grouped, 256, 4, PAD, PAD, 0x7f, 0x7f},
    {"marlin.bias", 2, 1, rows_single, 32, 1, NO, NO, 0, 0},
    {"marlin.permute_scales", 2, 1, cols_grouped, 1, 64, NO, NO, 0, 0},
    {"marlin.permute_scales_single", 1, 1, cols_single, 1, 32, NO, NO, 0, 0},
    {"marlin.process_scales", 1, 1, cols_of_four, 1, 4, NO, NO, 0, 0},
    {"marlin.process_scales_a8", 1, 1, same_place, 1, 1, NO, NO, 0, 0},
    {"marlin.repack", 1, 2, repack, 64, 8, NO, NO, 0, 0},
    {"marlin.repack_a8", 1, 2, repack_a8, 64, 16, NO, NO, 0, 0},
    {"marlin.repack_w8", 1, 1, repack_w8, 64, 16, NO, NO, 0, 0},
    {"marlin.repack_w8_a8", 1, 1, repack_w8_a8, 64, 32, NO, NO, 0, 0},
    {"marlin.repack_words", 1, 2, words, 2, 256, NO, NO, 0, 0},
    {"marlin.repack_words_a8", 1, 2, words_a8, 4, 256, NO, NO, 0, 0},
    {"marlin.scale", 1, 1, turn_scale, 64, 1, NO, NO, 0, 0},
    {"marlin.scale_2025_08", 1, 1, turn_2025_08, 64, 2, NO, NO, 0, 0},
    {"marlin.scale_a8", 1, 1, turn_single, 32, 1, NO, NO, 0, 0},
    {"marlin.scale_pairs", 1, 1, cols_paired, 2, 8, NO, NO, 0, 0},
    {"vllm.aiter_deinterleave_w13", 1, 1, rows_split, 2, 1, NO, NO, 0, 0},
    {"vllm.as_is", 4, 1, same_place, 1, 1, NO, NO, 0, 0},
    {"vllm.cutlass_deinterleave_swap", 2, 1, rows_split_swapped, 2, 1, NO, NO,
     0, 0},
    {"vllm.reorder_w1w3_to_w3w1", 1, 1, rows_halves, 2, 1, NO, NO, 0, 0},
    {"vllm.swap_every_two_rows", 1, 1, rows_swapped_pairs, 2, 1, NO, NO, 0, 0},
    {"vllm.trtllm_stack_w3w1", 1, 1, rows_stacked, 2, 1, NO, NO, 0, 0},
};

enum { N_FORMS = (int)(sizeof forms / sizeof forms[0]) };

START_TEST(row_follows_the_vendors_formula)
{
    closed_form_holds(&forms[_i]);
}
END_TEST

/*
 * Humming pads weights to 256 rows and 128 elements; K itself need only be
 * whole words, so the granule of the pad is not that of the refusal, and
 * columns off the granule have a test of their own.
 */
static const closed_form padded[] = {
    {"humming.weight_a16_mma", 1, 2, repack, 256, 64, PAD, ANY, 0, 0},
    {"humming.weight_a16_wgmma", 1, 2, repack_wgmma, 256, 64, PAD, ANY, 0, 0},
    {"humming.weight_a8", 1, 2, repack_a8, 256, 64, PAD, ANY, 0, 0},
};

/* The vendors' sentences, word for word. */
static void refused_as(const char *name, uint64_t rows, uint64_t cols,
                       const char *words_of_the_vendor)
{
    const uint64_t extent[3] = {2, rows, cols};
    char why[256] = "";
    mxo_layout l;
    const mxo_status status = mxo_layout_bind(&l, mxo_layout_find(name), name,
                                              1, extent, (mxo_text){why, 256});

    ck_assert_msg(status == MXO_E_SHAPE, "%s: status %d", name, (int)status);
    ck_assert_msg(strstr(why, words_of_the_vendor) != NULL, "%s: %s", name,
                  why);
}

START_TEST(refusals_are_the_vendors_sentences)
{
    refused_as("marlin.repack", 64, 12,
               "size_k = 24 is not divisible by tile_k_size = 16");
    refused_as("marlin.repack", 96, 32,
               "size_n = 96 is not divisible by tile_n_size = 64");
    refused_as("marlin.repack_w8_a8", 64, 48,
               "size_k = 48 is not divisible by tile_k_size = 32");
    refused_as("marlin.repack_w8", 32, 32,
               "size_n = 32 is not divisible by tile_n_size = 64");
    refused_as("marlin.repack_words", 3, 256,
               "size_k = 24 is not divisible by tile_k_size = 16");
    refused_as("marlin.repack_words_a8", 4, 128,
               "size_n = 32 is not divisible by tile_n_size = 64");
    refused_as("marlin.repack_a8", 64, 24, "size_k = 48 is no multiple of 32");
    refused_as("marlin.scale", 32, 2, "rows % n");
    refused_as("marlin.scale", 48, 1, "rows % n");
    refused_as("cpu.weight", 40, 16, "invalid weight out features 40");
    refused_as("cpu.weight", 48, 16, "invalid weight out features 48");
    refused_as("cpu.weight", 64, 8, "invalid weight input features 16");
    refused_as("humming.weight_a16_mma", 64, 6, "k % 8");
    refused_as("cpu.scale", 48, 3, "invalid weight out features 48");
}
END_TEST

START_TEST(padded_weights_follow_the_formula)
{
    closed_form_holds(&padded[_i]);
}
END_TEST

START_TEST(weights_of_whole_words_are_padded_to_128_elements)
{
    const closed_form *form = &padded[_i];
    const uint64_t extent[3] = {1, 3, 68};
    const uint64_t p[3] = {1, 256, 128};
    char why[256] = "";
    mxo_layout l;

    ck_assert_msg(mxo_layout_bind(&l, mxo_layout_find(form->layout),
                                  form->layout, 1, extent,
                                  (mxo_text){why, 256}) == MXO_OK,
                  "%s: %s", form->layout, why);
    ck_assert_uint_eq(l.n_units, (uint64_t)256 * 128 * 2);
    for (wide i = 0; i < l.n_units; i++) {
        const wide r = i / 256;
        const wide c = i % 256 / 2;
        const int live = r < 3 && c < 68;
        uint64_t src = 0;
        uint8_t byte = 1;
        const mxo_layout_content content =
            mxo_layout_content_at(&l, form->at(p, 0, r, c, i % 2), &src, &byte);

        ck_assert_msg(content == (live ? MXO_LAYOUT_LIVE : MXO_LAYOUT_PAD),
                      "%s: row %u byte %u", form->layout, (unsigned)r,
                      (unsigned)c);
        ck_assert_msg(live ? src == (r * 68 + c) * 2 + i % 2 : byte == 0,
                      "%s: row %u byte %u holds %u", form->layout, (unsigned)r,
                      (unsigned)c, (unsigned)src);
    }
}
END_TEST

START_TEST(every_row_has_a_formula_here)
{
    closed_forms_cover(forms, N_FORMS, "cpu.");
    closed_forms_cover(forms, N_FORMS, "marlin.");
}
END_TEST

Suite *suite_layout_vllm(void);
Suite *suite_layout_vllm(void)
{
    Suite *s = suite_create("layout_vllm");
    TCase *c = tcase_create("closed forms");

    tcase_add_loop_test(c, row_follows_the_vendors_formula, 0, N_FORMS);
    tcase_add_loop_test(c, padded_weights_follow_the_formula, 0, 3);
    tcase_add_loop_test(c, weights_of_whole_words_are_padded_to_128_elements, 0,
                        3);
    tcase_add_test(c, refusals_are_the_vendors_sentences);
    tcase_add_test(c, every_row_has_a_formula_here);
    suite_add_tcase(s, c);
    return s;
}
