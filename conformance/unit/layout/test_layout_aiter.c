/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts of AITER and Composable Kernel against the index arithmetic of
 * shuffle.py and fp4_utils.py: row maps are applied first, the tile second,
 * as the vendor's code does, also where layouts.def has one step for both.
 */
#include "closed_form.h"
#include "unit/emu_call.h"

#include <mxoracle/layout.h>

#include <stdio.h>
#include <string.h>

typedef uint64_t wide;

/* Bands of in rows; chunks of kv columns outermost, rows innermost. */
static wide bands(const wide p[3], wide e, wide n, wide k, wide in, wide kv)
{
    return e * p[1] * p[2] + n / in * in * p[2] + k / kv * in * kv +
           n % in * kv + k % kv;
}

static wide weight_16(const wide p[3], wide e, wide n, wide k, wide u)
{
    (void)u;
    return bands(p, e, n, k, 16, 16);
}

static wide weight_32(const wide p[3], wide e, wide n, wide k, wide u)
{
    (void)u;
    return bands(p, e, n, k, 32, 16);
}

static wide weight_kv8(const wide p[3], wide e, wide n, wide k, wide u)
{
    (void)u;
    return bands(p, e, n, k, 16, 8);
}

static wide weight_kv4(const wide p[3], wide e, wide n, wide k, wide u)
{
    (void)u;
    return bands(p, e, n, k, 16, 4);
}

static wide weight_int4(const wide p[3], wide e, wide n, wide k, wide u)
{
    (void)u;
    return bands(p, e, n, k, 16, 32);
}

/* inst_n = 32, inst_k = 64: two lanes, vectors of 32 */
static wide weight_nk32(const wide p[3], wide e, wide n, wide k, wide u)
{
    (void)u;
    return bands(p, e, n, k, 32, 32);
}

/* [gates | ups] to lanes of gates, lanes of ups, and so on. */
static wide lanes(wide rows, wide n, wide nlane)
{
    const wide half = rows / 2;
    const wide g = n / half;
    const wide r = n % half;

    return (2 * (r / nlane) + g) * nlane + r % nlane;
}

/* g0, u0, g1, u1, .. to [gates | ups] */
static wide deinterleave(wide rows, wide n)
{
    return n % 2 * (rows / 2) + n / 2;
}

static wide gate_up_16(const wide p[3], wide e, wide n, wide k, wide u)
{
    (void)u;
    return bands(p, e, lanes(p[1], n, 16), k, 16, 16);
}

static wide gate_up_32(const wide p[3], wide e, wide n, wide k, wide u)
{
    (void)u;
    return bands(p, e, lanes(p[1], n, 32), k, 32, 16);
}

static wide gpt_oss_16(const wide p[3], wide e, wide n, wide k, wide u)
{
    return gate_up_16(p, e, deinterleave(p[1], n), k, u);
}

/* Words of {row, row + 16} x {scale, scale + 4}. */
static wide words(wide cols, wide m, wide s)
{
    return m / 32 * 32 * cols + s / 8 * 256 + s % 4 * 64 + m % 16 * 4 +
           s % 8 / 4 * 2 + m % 32 / 16;
}

static wide scale(const wide p[3], wide e, wide m, wide s, wide u)
{
    (void)u;
    return e * p[1] * p[2] + words(p[2], m, s);
}

static wide scale_gate_up(const wide p[3], wide e, wide m, wide s, wide u)
{
    return scale(p, e, lanes(p[1], m, 16), s, u);
}

static wide scale_gpt_oss(const wide p[3], wide e, wide m, wide s, wide u)
{
    return scale_gate_up(p, e, deinterleave(p[1], m), s, u);
}

/* T(mi, ma) of each expert */
static wide tile(const wide p[3], wide e, wide m, wide n, wide mi, wide ma)
{
    return e * p[1] * p[2] + (m / mi * (p[2] / ma) + n / ma) * mi * ma +
           m % mi * ma + n % ma;
}

static wide tile_2_128(const wide p[3], wide e, wide m, wide n, wide u)
{
    (void)u;
    return tile(p, e, m, n, 2, 128);
}

static wide tile_16_16(const wide p[3], wide e, wide m, wide n, wide u)
{
    (void)u;
    return tile(p, e, m, n, 16, 16);
}

static wide tile_32_4(const wide p[3], wide e, wide m, wide n, wide u)
{
    (void)u;
    return tile(p, e, m, n, 32, 4);
}

static wide tile_32_8(const wide p[3], wide e, wide m, wide n, wide u)
{
    (void)u;
    return tile(p, e, m, n, 32, 8);
}

/* row n to 2 * (n % I) + n / I */
static wide interleaved_row(wide rows, wide n)
{
    return 2 * (n % (rows / 2)) + n / (rows / 2);
}

static wide n32k4_gate_up(const wide p[3], wide e, wide n, wide s, wide u)
{
    return tile_32_4(p, e, interleaved_row(p[1], n), s, u);
}

static wide interleave(const wide p[3], wide e, wide n, wide c, wide u)
{
    (void)u;
    return (e * p[1] + interleaved_row(p[1], n)) * p[2] + c;
}

static wide undo_interleave(const wide p[3], wide e, wide n, wide c, wide u)
{
    (void)u;
    return (e * p[1] + deinterleave(p[1], n)) * p[2] + c;
}

static wide same_place(const wide p[3], wide e, wide r, wide c, wide u)
{
    (void)u;
    return (e * p[1] + r) * p[2] + c;
}

/* [E, S, N]: the transpose, then the tile */
static wide moe_gfx950(const wide p[3], wide e, wide s, wide n, wide u)
{
    (void)u;
    return e * p[1] * p[2] + words(p[1], n, s);
}

static wide moe_gfx1250(const wide p[3], wide e, wide s, wide n, wide u)
{
    const wide transposed[3] = {p[0], p[2], p[1]};

    return tile_32_8(transposed, e, n, s, u);
}

static wide weight_gfx1250(const wide p[3], wide e, wide k, wide n, wide u)
{
    const wide transposed[3] = {p[0], p[2], p[1]};

    return weight_16(transposed, e, n, k, u);
}

enum { NO = CLOSED_REFUSED, PAD = CLOSED_PADDED, WHOLE = CLOSED_NOT_TRIED };
enum { ANY = CLOSED_UNDEFINED };

static const closed_form forms[] = {
    {"aiter.shuffle_weight", 1, 1, weight_16, 16, 32, NO, NO, 0, 0},
    {"aiter.shuffle_weight", 2, 1, weight_kv8, 16, 32, NO, NO, 0, 0},
    {"aiter.shuffle_weight", 4, 1, weight_kv4, 16, 32, NO, NO, 0, 0},
    {"aiter.shuffle_weight/in=32", 1, 1, weight_32, 32, 32, NO, NO, 0, 0},
    {"aiter.shuffle_weight/ik=32", 1, 1, weight_16, 16, 64, NO, NO, 0, 0},
    {"aiter.shuffle_weight/pad_k_to=128", 1, 1, weight_16, 16, 128, NO, PAD, 0,
     0},
    {"aiter.shuffle_weight_int4", 1, 1, weight_int4, 16, 32, NO, NO, 0, 0},
    {"aiter.shuffle_weight_nk", 1, 1, weight_16, 16, 64, NO, NO, 0, 0},
    {"aiter.shuffle_weight_nk/inst_n=32", 1, 1, weight_nk32, 32, 64, NO, NO, 0,
     0},
    {"aiter.shuffle_weight_a16w4", 1, 1, weight_16, 16, 64, NO, NO, 0, 0},
    {"aiter.shuffle_weight_a16w4/nlane=32", 1, 1, weight_32, 32, 32, NO, NO, 0,
     0},
    {"aiter.shuffle_weight_a16w4_gate_up", 1, 1, gate_up_16, 32, 64, NO, NO, 0,
     0},
    {"aiter.shuffle_weight_a16w4_gate_up/nlane=32", 1, 1, gate_up_32, 64, 32,
     NO, NO, 0, 0},
    {"aiter.shuffle_weight_a16w4_gpt_oss", 1, 1, gpt_oss_16, 32, 64, NO, NO, 0,
     0},
    {"aiter.shuffle_weight_f4", 1, 1, tile_16_16, 16, 16, NO, NO, 0, 0},
    {"aiter.shuffle_weight_gfx1250", 1, 1, weight_gfx1250, 32, 16, NO, NO, 0,
     0},
    {"aiter.shuffle_mxfp8fp4_a", 1, 1, tile_2_128, 2, 128, NO, NO, 0, 0},
    {"aiter.shuffle_mxfp8fp4_b", 1, 1, tile_16_16, 16, 16, NO, NO, 0, 0},
    {"aiter.shuffle_mxfp8fp4_scale", 1, 1, tile_32_4, 32, 4, PAD, NO, 0x7f, 0},
    {"aiter.e8m0_shuffle", 1, 1, scale, 256, 8, PAD, PAD, ANY, ANY},
    {"aiter.e8m0_shuffle_all", 1, 1, scale, 256, 8, PAD, PAD, ANY, ANY},
    {"aiter.e8m0_shuffle_stacked", 1, 1, scale, 256, 8, WHOLE, PAD, 0, ANY},
    {"aiter.e8m0_unpadded", 1, 1, scale, 32, 8, NO, NO, 0, 0},
    {"aiter.shuffle_scale_a16w4", 1, 1, scale, 32, 8, NO, PAD, 0, 0x7f},
    {"aiter.shuffle_scale_a16w4_2025", 1, 1, scale, 32, 8, NO, NO, 0, 0},
    {"aiter.shuffle_scale_a16w4_gate_up", 1, 1, scale_gate_up, 32, 8, NO, PAD,
     0, 0x7f},
    {"aiter.shuffle_scale_a16w4_gate_up_2025", 1, 1, scale_gate_up, 32, 8, NO,
     NO, 0, 0},
    {"aiter.shuffle_scale_a16w4_gpt_oss", 1, 1, scale_gpt_oss, 32, 8, NO, PAD,
     0, 0x7f},
    {"aiter.shuffle_scale_a16w4_gpt_oss_2025", 1, 1, scale_gpt_oss, 32, 8, NO,
     NO, 0, 0},
    {"aiter.shuffle_scale_f4", 1, 1, tile_32_4, 32, 4, NO, NO, 0, 0},
    {"aiter.shuffle_scale_f4/tile_cols=8", 1, 1, tile_32_8, 32, 8, NO, NO, 0,
     0},
    {"aiter.shuffle_scale_n32k4", 1, 1, tile_32_4, 32, 4, NO, NO, 0, 0},
    {"aiter.shuffle_scale_n32k4_gate_up", 1, 1, n32k4_gate_up, 32, 4, NO, NO, 0,
     0},
    {"aiter.interleave_gate_up_rows", 2, 1, interleave, 2, 1, NO, PAD, 0, 0},
    {"aiter.deinterleave_gate_up_rows", 1, 1, undo_interleave, 2, 1, NO, PAD, 0,
     0},
    {"aiter.triton_shuffle_scale_moe_gfx950", 1, 1, moe_gfx950, 8, 32, NO, NO,
     0, 0},
    {"aiter.triton_shuffle_scale_moe_gfx1250", 1, 1, moe_gfx1250, 8, 32, NO, NO,
     0, 0},
    {"vllm.bias_f32", 4, 1, same_place, 1, 1, PAD, PAD, 0, 0},
    {"vllm.bias_f32_deinterleaved", 4, 1, undo_interleave, 2, 1, NO, PAD, 0, 0},
    {"vllm.bias_f32_interleaved", 4, 1, interleave, 2, 1, NO, PAD, 0, 0},
};

enum { N_FORMS = (int)(sizeof forms / sizeof forms[0]) };

START_TEST(the_rows_are_the_closed_forms)
{
    closed_form_holds(&forms[_i]);
}
END_TEST

/* n[] elements of elem_bytes: refused, and the sentence says this. */
static void refuses(const char *name, uint32_t elem_bytes, wide experts,
                    wide rows, wide cols, const char *word)
{
    const wide extent[3] = {experts, rows, cols};
    char why[256] = "";
    mxo_layout l;

    ck_assert_msg(mxo_layout_bind(&l, mxo_layout_find(name), name, elem_bytes,
                                  extent,
                                  (mxo_text){why, sizeof why}) != MXO_OK,
                  "%s [%u,%u,%u] is not refused", name, (unsigned)experts,
                  (unsigned)rows, (unsigned)cols);
    ck_assert_msg(strstr(why, word) != NULL, "%s: \"%s\" lacks \"%s\"", name,
                  why, word);
}

START_TEST(what_the_vendor_asserts_is_refused)
{
    /* 2 * ik is no multiple of the vector of 16 bytes */
    refuses("aiter.shuffle_weight/ik=4", 1, 1, 16, 32,
            "2 * IK = 8 is no multiple of 16");
    /* 32 bytes, not 32 codes */
    refuses("aiter.shuffle_weight", 1, 1, 16, 16, "2 * IK = 32");
    /* padding to 16 does not help the granule of 32 */
    refuses("aiter.shuffle_weight/pad_k_to=16", 1, 1, 16, 33, "K = 48");
    refuses("aiter.shuffle_weight_a16w4/nlane=24", 1, 1, 48, 64, "NLane");
    refuses("aiter.shuffle_weight_a16w4", 1, 1, 16, 32,
            "K = 32 bytes is no multiple of 16 * KLane = 64");
    refuses("aiter.shuffle_weight_a16w4", 2, 1, 16, 64, "bits");
    refuses("aiter.e8m0_shuffle", 4, 1, 16, 64, "bits");
    /* two experts of 64 rows: the view holds half of each */
    refuses("aiter.e8m0_shuffle_stacked", 1, 2, 64, 8, "128");
    refuses("triton.hopper_scale/num_warps=6", 1, 1, 192, 2, "power of two");
}
END_TEST

/* layout.convert on a layer of zeros of this size. */
static void conversion_refuses(const char *name, uint64_t experts,
                               uint64_t hidden, uint64_t inter,
                               const char *word)
{
    static const uint8_t zero[2 * 512 * 256];
    char params[128];
    emu_call c;

    (void)snprintf(params, sizeof params, "conversion=%s,bias=0", name);
    emu_begin(&c, "layout.convert", params);
    emu_in(&c, "w13", MXO_U8, zero, 3, experts, 2 * inter, hidden / 2);
    emu_in(&c, "w13_scale", MXO_E8M0, zero, 3, experts, 2 * inter, hidden / 32);
    emu_in(&c, "w2", MXO_U8, zero, 3, experts, hidden, inter / 2);
    emu_in(&c, "w2_scale", MXO_E8M0, zero, 3, experts, hidden, inter / 32);
    emu_refuses(&c, MXO_E_SHAPE, word);
    emu_end(&c);
}

/* One of the tensors is of a layer with another size. */
static void misfit(int which)
{
    static const uint8_t zero[2 * 512 * 256];
    static const char *const names[4] = {"w13_scale", "w2", "w2_scale",
                                         "w2_bias"};
    const uint64_t more = 64;
    char word[64];
    emu_call c;

    (void)snprintf(word, sizeof word, "%s does not fit w13", names[which]);
    emu_begin(&c, "layout.convert", "conversion=identity,bias=1");
    emu_in(&c, "w13", MXO_U8, zero, 3, 2, 128, 64);
    emu_in(&c, "w13_scale", MXO_E8M0, zero, 3, 2, 128, 4 + (which == 0));
    emu_in(&c, "w13_bias", MXO_BF16, zero, 2, 2, 128);
    emu_in(&c, "w2", MXO_U8, zero, 3, 2, 128 + (which == 1 ? more : 0), 32);
    emu_in(&c, "w2_scale", MXO_E8M0, zero, 3, 2, 128, 2 + (which == 2));
    emu_in(&c, "w2_bias", MXO_BF16, zero, 2, 2, 128 + (which == 3 ? more : 0));
    emu_refuses(&c, MXO_E_SHAPE, word);
    emu_end(&c);
}

START_TEST(tensors_of_layers_of_other_sizes_are_refused)
{
    misfit(_i);
}
END_TEST

START_TEST(the_conversions_refuse_what_the_loader_breaks_on)
{
    conversion_refuses("aiter_mxfp4_bf16", 1, 192, 128,
                       "hidden = 192 is no multiple of 128");
    conversion_refuses("aiter_mxfp4_bf16", 1, 128, 192,
                       "intermediate = 192 is no multiple of 128");
    conversion_refuses("aiter_mxfp4_mxfp4", 1, 96, 128,
                       "hidden = 96 is no multiple of 64");
    /* E * N = 128: the view does not hold one expert's scales */
    conversion_refuses("aiter_mxfp4_mxfp4", 1, 128, 64,
                       "experts * rows = 128 is no multiple of 256");
    conversion_refuses("deepgemm_mega", 1, 128, 64,
                       "intermediate = 64 is no multiple of 128");
    /* tk 3.5 and 3.6 of CDNA4 pad nothing */
    conversion_refuses("triton_cdna4", 1, 128, 64, "cols = 4");
    /* the generic TRITON interleaves an odd number of scales */
    conversion_refuses("triton_hopper_generic", 1, 96, 64, "cols = 3");
}
END_TEST

/* AITER shuffle.py: (3,40) -> 616 of int4, (17,33) -> 1553 of bytes. */
START_TEST(the_examples_of_the_source_hold)
{
    const wide p[3] = {1, 32, 64};

    ck_assert_uint_eq(weight_16(p, 0, 3, 20, 0), 308);
    ck_assert_uint_eq(weight_16(p, 0, 17, 33, 0), 1553);
    ck_assert_uint_eq(weight_kv8(p, 0, 3, 20, 0), 284);
    ck_assert_uint_eq(weight_int4(p, 0, 3, 40, 0), 616);
    ck_assert_uint_eq(words(16, 299, 11), 5100);
    ck_assert_uint_eq(lanes(64, 37, 16), 21);
    ck_assert_uint_eq(lanes(96, 64, 16), 48);
    ck_assert_uint_eq(lanes(64, deinterleave(64, 33), 16), 48);
}
END_TEST

Suite *suite_layout_aiter(void);
Suite *suite_layout_aiter(void)
{
    Suite *s = suite_create("layout_aiter");
    TCase *t = tcase_create("closed forms");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, the_rows_are_the_closed_forms, 0, N_FORMS);
    tcase_add_test(t, what_the_vendor_asserts_is_refused);
    tcase_add_test(t, the_conversions_refuse_what_the_loader_breaks_on);
    tcase_add_loop_test(t, tensors_of_layers_of_other_sizes_are_refused, 0, 4);
    tcase_add_test(t, the_examples_of_the_source_hold);
    suite_add_tcase(s, t);
    return s;
}
