/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts of FlashInfer's TRTLLM-gen and CUTLASS backends, against the index
 * formulas of the vendor's code.  Row permutations are stated as the vendor
 * does, result row to source row, and turned round by looking for the row.
 */
#include "closed_form.h"

typedef uint64_t wide;

/* Source row of row r of the result, m rows in all. */
typedef wide row_source(wide r, wide m);

static wide s32(wide r, wide m)
{
    (void)m;
    return r / 32 * 32 + 4 * (r % 8) + r % 32 / 8;
}

static wide s16(wide r, wide m)
{
    (void)m;
    return r / 16 * 16 + 2 * (r % 8) + r % 16 / 8;
}

static wide gated(wide r, wide m)
{
    return r / 2 + r % 2 * (m / 2);
}

static wide gated_s32(wide r, wide m)
{
    return gated(s32(r, m), m);
}

static wide gated_s16(wide r, wide m)
{
    return gated(s16(r, m), m);
}

static wide pairs_s32(wide r, wide m)
{
    return s32(r, m) ^ 1;
}

static wide pairs_s16(wide r, wide m)
{
    return s16(r, m) ^ 1;
}

/* Up rows are the second half of the source and come first. */
static wide stacked(wide r, wide m)
{
    return r % 2 == 0 ? m / 2 + r / 2 : (r - 1) / 2;
}

static wide stacked_s32(wide r, wide m)
{
    return stacked(s32(r, m), m);
}

static wide stacked_s16(wide r, wide m)
{
    return stacked(s16(r, m), m);
}

static wide split_swapped(wide r, wide m)
{
    return r < m / 2 ? 2 * r + 1 : 2 * (r - m / 2);
}

/* The result row that takes row `from`. */
static wide row_of(row_source *source, wide from, wide m)
{
    wide r = 0;

    while (r < m && source(r, m) != from) {
        r++;
    }
    return r;
}

static wide off_128x4(wide r, wide c, wide cols)
{
    return (r / 128 * (cols / 4) + c / 4) * 512 + r % 32 * 16 +
           r % 128 / 32 * 4 + c % 4;
}

static wide off_8x4(wide r, wide c, wide cols)
{
    return (r / 8 * (cols / 4) + c / 4) * 32 + r % 8 * 4 + c % 4;
}

/* Rows moved by a formula; rows moved, then 128x4 tiles. */
#define MOVES_ROWS(name, source)                                              \
    static wide name(const wide p[3], wide e, wide r, wide c, wide u)         \
    {                                                                         \
        (void)u;                                                              \
        return (e * p[1] + row_of(source, r, p[1])) * p[2] + c;               \
    }                                                                         \
    static wide name##_sf(const wide p[3], wide e, wide r, wide c, wide u)    \
    {                                                                         \
        (void)u;                                                              \
        return e * p[1] * p[2] + off_128x4(row_of(source, r, p[1]), c, p[2]); \
    }
MOVES_ROWS(shuffled_32, s32)
MOVES_ROWS(shuffled_16, s16)
MOVES_ROWS(w3_w1_32, gated_s32)
MOVES_ROWS(w3_w1_16, gated_s16)
MOVES_ROWS(gptoss_32, pairs_s32)
MOVES_ROWS(gptoss_16, pairs_s16)
MOVES_ROWS(general_32, stacked_s32)
MOVES_ROWS(general_16, stacked_s16)

static wide reordered(const wide p[3], wide e, wide r, wide c, wide u)
{
    (void)u;
    return (e * p[1] + row_of(gated, r, p[1])) * p[2] + c;
}

static wide tiles_128x4(const wide p[3], wide e, wide r, wide c, wide u)
{
    (void)u;
    return e * p[1] * p[2] + off_128x4(r, c, p[2]);
}

static wide tiles_8x4(const wide p[3], wide e, wide r, wide c, wide u)
{
    (void)u;
    return e * p[1] * p[2] + off_8x4(r, c, p[2]);
}

static wide split_128x4(const wide p[3], wide e, wide r, wide c, wide u)
{
    (void)u;
    return e * p[1] * p[2] + off_128x4(row_of(split_swapped, r, p[1]), c, p[2]);
}

/* out[e][c/4][4n + c%4] */
static wide scales_rev1(const wide p[3], wide e, wide n, wide c, wide u)
{
    (void)u;
    return (e * (p[2] / 4) + c / 4) * 4 * p[1] + 4 * n + c % 4;
}

/* out[e][n/64][c/g][(n%64)%fm][((n%64)/fm)*g + c%g] */
static wide scales_rev2(const wide p[3], wide at[3], wide g, wide pc)
{
    const wide fm = 64 / (pc / g);
    const wide e = at[0];
    const wide n = at[1];
    const wide c = at[2];

    return (((e * (p[1] / 64) + n / 64) * (p[2] / g) + c / g) * fm +
            n % 64 % fm) *
               pc +
           n % 64 / fm * g + c % g;
}

static wide scales_32(const wide p[3], wide e, wide n, wide c, wide u)
{
    (void)u;
    return scales_rev2(p, (wide[]){e, n, c}, 4, 16);
}

static wide scales_64(const wide p[3], wide e, wide n, wide c, wide u)
{
    (void)u;
    return scales_rev2(p, (wide[]){e, n, c}, 2, 16);
}

static wide scales_128_bf16(const wide p[3], wide e, wide n, wide c, wide u)
{
    (void)u;
    return scales_rev2(p, (wide[]){e, n, c}, 1, 8);
}

static wide split_scales_rev1(const wide p[3], wide e, wide n, wide c, wide u)
{
    return scales_rev1(p, e, row_of(split_swapped, n, p[1]), c, u);
}

static wide split_scales_rev2(const wide p[3], wide e, wide n, wide c, wide u)
{
    return scales_32(p, e, row_of(split_swapped, n, p[1]), c, u);
}

/* Nibble u of byte c: byte 32p + 16h + 4t + 2j + u, nibble by the row's 8. */
static wide fp4_rev1(const wide p[3], wide e, wide r, wide c, wide u)
{
    const wide o = c % 32;
    const wide s = o % 16 / 8;
    const wide row = r / 16 * 16 + 8 * s + r % 8;
    const wide col = c / 32 * 32 + o / 16 * 16 + o % 4 * 4 + o % 8 / 4 * 2 + u;

    return ((e * p[1] + row) * p[2] + col) * 2 + r % 16 / 8;
}

/* The 16 bits that value v of a word's half is read from, as the kernel does:
   masks after shifts of 0, 3 and 6; the fourth from bits 14 to 10. */
static wide kernel_reads(wide half, wide v)
{
    switch (v) {
    case 0: /* row ra, k0 */
        return half & 0x81c0;
    case 1: /* row rb, k0 */
        return half << 3 & 0x81c0;
    case 2: /* row ra, k0 + 8 */
        return half << 6 & 0x81c0;
    default: /* row rb, k0 + 8 */
        return (half << 1 & 0x8000) | (half >> 3 & 0x0180) |
               (half >> 7 & 0x0040);
    }
}

/* Bit i of value v: it must reach bf16's sign, exponent or top mantissa. */
static wide fp4_bit(wide v, wide i)
{
    const wide want = (wide)1 << (i == 3 ? 15 : 6 + i);
    wide at = 0;

    while (at < 16 && kernel_reads((wide)1 << at, v) != want) {
        at++;
    }
    return at;
}

/* Bit u % 4 of element k = 2c + u / 4: word q = 8p + 4h + t of row R. */
static wide fp4_rev2(const wide p[3], wide e, wide r, wide c, wide u)
{
    const wide k = 2 * c + u / 4;
    const wide s = k / 16 % 2;
    const wide row = r / 16 * 16 + 8 * s + r % 8;
    const wide q = k / 64 * 8 + k % 64 / 32 * 4 + k % 8 / 2;
    const wide v = k % 16 / 8 * 2 + r % 16 / 8;

    return (e * p[1] + row) * p[2] * 8 + q * 32 + k % 2 * 16 +
           fp4_bit(v, u % 4);
}

/* The 16-bit unit that takes unit `unit` of row r, before its two halves. */
static wide int4_unit(const wide p[3], wide e, wide r, wide unit)
{
    const wide o = unit % 16;
    const wide row = r / 16 * 16 + o % 8 / 4 * 8 + r % 8;

    return (e * p[1] + row) * (p[2] / 2) + unit / 16 * 16 + o / 8 * 8 +
           o % 4 * 2;
}

static wide int4(const wide p[3], wide e, wide r, wide c, wide u)
{
    (void)u;
    return (int4_unit(p, e, r, c / 2) + r % 16 / 8) * 2 + c % 2;
}

/* The same, and the sign of nibble i of the 32-bit word moves. */
static wide fp4_fp8(const wide p[3], wide e, wide r, wide c, wide u)
{
    static const wide sign_of[] = {7, 15, 23, 31, 3, 11, 19, 27};
    const wide i = r % 16 / 8 * 4 + c % 2 * 2 + u / 4;

    return int4_unit(p, e, r, c / 2) * 16 +
           (u % 4 == 3 ? sign_of[i] : 4 * i + u % 4);
}

#define SPLIT(name)                                                           \
    static wide split_##name(const wide p[3], wide e, wide r, wide c, wide u) \
    {                                                                         \
        return name(p, e, row_of(split_swapped, r, p[1]), c, u);              \
    }
SPLIT(fp4_rev1)
SPLIT(fp4_rev2)

#define TILE_64 "/epilogue_tile_m=64"

enum { NO = CLOSED_REFUSED, PAD = CLOSED_PADDED };

/* Gates, then ups to ups, then gates. */
static uint64_t halves_swapped(const uint64_t p[3], uint64_t e, uint64_t r,
                               uint64_t c, uint64_t u)
{
    return (e * p[1] + (r + p[1] / 2) % p[1]) * p[2] + c + u;
}

static const closed_form forms[] = {
    {"cutlass.deinterleave_128x4", 1, 1, split_128x4, 256, 4, NO, NO, 0, 0},
    {"cutlass.sm90_deinterleave_scales_rev1", 1, 1, split_scales_rev1, 2, 4, NO,
     NO, 0, 0},
    {"cutlass.sm90_deinterleave_scales_rev2", 1, 1, split_scales_rev2, 128, 4,
     NO, NO, 0, 0},
    {"cutlass.sm90_deinterleave_weight_fp4_rev1", 1, 2, split_fp4_rev1, 32, 32,
     NO, NO, 0, 0},
    {"cutlass.sm90_deinterleave_weight_fp4_rev2", 1, 8, split_fp4_rev2, 32, 32,
     NO, NO, 0, 0},
    {"cutlass.sm90_scales_rev1", 1, 1, scales_rev1, 1, 4, NO, NO, 0, 0},
    {"cutlass.sm90_scales_rev2", 1, 1, scales_32, 64, 4, NO, NO, 0, 0},
    {"cutlass.sm90_scales_rev2/group_size=64", 1, 1, scales_64, 64, 2, NO, NO,
     0, 0},
    {"cutlass.sm90_scales_rev2/group_size=128", 2, 1, scales_128_bf16, 64, 1,
     NO, NO, 0, 0},
    {"cutlass.sm90_weight_fp4_fp8", 1, 8, fp4_fp8, 16, 32, NO, NO, 0, 0},
    {"cutlass.sm90_weight_fp4_rev1", 1, 2, fp4_rev1, 16, 32, NO, NO, 0, 0},
    {"cutlass.sm90_weight_fp4_rev2", 1, 8, fp4_rev2, 16, 32, NO, NO, 0, 0},
    {"cutlass.sm90_weight_int4", 1, 1, int4, 16, 32, NO, NO, 0, 0},
    {"flashinfer.128x4", 2, 1, tiles_128x4, 128, 4, PAD, PAD, 0, 0},
    {"flashinfer.8x4", 1, 1, tiles_8x4, 8, 4, PAD, PAD, 0, 0},
    {"trtllm.reorder_rows_for_gated_act_gemm", 1, 1, reordered, 2, 1, NO, NO, 0,
     0},
    {"trtllm.shuffle_matrix_a", 4, 1, shuffled_32, 32, 1, NO, NO, 0, 0},
    {"trtllm.shuffle_matrix_a/epilogue_tile_m=256", 1, 1, shuffled_32, 32, 1,
     NO, NO, 0, 0},
    {"trtllm.shuffle_matrix_a/epilogue_tile_m=192", 1, 1, shuffled_16, 16, 1,
     NO, NO, 0, 0},
    {"trtllm.shuffle_matrix_a/epilogue_tile_m=8", 1, 1, shuffled_16, 16, 1, NO,
     NO, 0, 0},
    {"trtllm.shuffle_matrix_sf_a", 1, 1, shuffled_32_sf, 128, 4, NO, PAD, 0, 0},
    {"trtllm.shuffle_matrix_sf_a" TILE_64, 1, 1, shuffled_16_sf, 128, 4, NO,
     PAD, 0, 0},
    {"trtllm.w13_general", 1, 1, general_32, 32, 1, NO, NO, 0, 0},
    {"trtllm.w13_general" TILE_64, 1, 1, general_16, 16, 1, NO, NO, 0, 0},
    {"trtllm.w13_general_sf", 1, 1, general_32_sf, 128, 4, NO, PAD, 0, 0},
    {"trtllm.w13_general_sf" TILE_64, 1, 1, general_16_sf, 128, 4, NO, PAD, 0,
     0},
    {"trtllm.w13_gptoss", 2, 1, gptoss_32, 32, 1, NO, NO, 0, 0},
    {"trtllm.w13_gptoss" TILE_64, 1, 1, gptoss_16, 16, 1, NO, NO, 0, 0},
    {"trtllm.w13_gptoss_sf", 1, 1, gptoss_32_sf, 128, 4, NO, PAD, 0, 0},
    {"trtllm.w13_gptoss_sf" TILE_64, 1, 1, gptoss_16_sf, 128, 4, NO, PAD, 0, 0},
    {"trtllm.w3_w1", 1, 1, w3_w1_32, 32, 1, NO, NO, 0, 0},
    {"trtllm.w3_w1" TILE_64, 1, 1, w3_w1_16, 16, 1, NO, NO, 0, 0},
    {"trtllm.w3_w1_sf", 1, 1, w3_w1_32_sf, 128, 4, NO, PAD, 0, 0},
    {"trtllm.w3_w1_sf" TILE_64, 1, 1, w3_w1_16_sf, 128, 4, NO, PAD, 0, 0},
    {"trtllm.w3_w1_halves", 1, 1, halves_swapped, 2, 1, NO, NO, 0, 0},
};

enum { N_FORMS = (int)(sizeof forms / sizeof forms[0]) };

START_TEST(row_follows_the_vendors_formula)
{
    closed_form_holds(&forms[_i]);
}
END_TEST

/* Rows 0.. of the result in the words of the vendor's documentation. */
START_TEST(first_rows_are_the_documented_ones)
{
    static const wide s[] = {0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13};
    static const wide w3_w1[] = {0, 2, 4, 6, 8, 10, 12, 14, 32, 34, 36, 38};
    static const wide w3w1[] = {32, 34, 36, 38, 40, 42, 44, 46, 0, 2, 4, 6};
    static const wide gptoss[] = {1, 5, 9, 13, 17, 21, 25, 29, 0, 4, 8, 12};

    for (wide r = 0; r < 12; r++) {
        ck_assert_msg(s32(r, 64) == s[r], "S: row %u", (unsigned)r);
        ck_assert_msg(gated_s32(r, 64) == w3_w1[r], "w3_w1: row %u",
                      (unsigned)r);
        ck_assert_msg(stacked_s32(r, 64) == w3w1[r], "general: row %u",
                      (unsigned)r);
        ck_assert_msg(pairs_s32(r, 64) == gptoss[r], "gptoss: row %u",
                      (unsigned)r);
    }
}
END_TEST

START_TEST(every_row_has_a_formula_here)
{
    closed_forms_cover(forms, N_FORMS, "cutlass.");
    closed_forms_cover(forms, N_FORMS, "flashinfer.");
    closed_forms_cover(forms, N_FORMS, "trtllm.");
}
END_TEST

Suite *suite_layout_trtllm(void);
Suite *suite_layout_trtllm(void)
{
    Suite *s = suite_create("layout_trtllm");
    TCase *c = tcase_create("closed forms");

    tcase_add_loop_test(c, row_follows_the_vendors_formula, 0, N_FORMS);
    tcase_add_test(c, first_rows_are_the_documented_ones);
    tcase_add_test(c, every_row_has_a_formula_here);
    suite_add_tcase(s, c);
    return s;
}
