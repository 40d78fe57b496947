/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts of DeepGEMM against the strides and index arithmetic of its torch
 * helpers: byte k % 4 of word (k / 4, m), row maps one after the other.
 */
#include "closed_form.h"

typedef uint64_t wide;

/* storage [b, sf_k, A], rows padded to A */
static wide mn_major(const wide p[3], wide b, wide m, wide k, wide u)
{
    (void)u;
    return b * p[1] * p[2] + k * p[1] + m;
}

/* byte 4 * ((b * P + k / 4) * A + m) + k % 4 */
static wide packed(const wide p[3], wide b, wide m, wide k, wide u)
{
    (void)u;
    return 4 * ((b * (p[2] / 4) + k / 4) * p[1] + m) + k % 4;
}

static wide same_place(const wide p[3], wide e, wide r, wide c, wide u)
{
    (void)u;
    return (e * p[1] + r) * p[2] + c;
}

/* 8 gates, 8 ups, and so on */
static wide gate_up(wide rows, wide r, wide gran)
{
    const wide half = rows / 2;
    const wide i = r % half;

    return i / gran * (2 * gran) + gran * (r / half) + i % gran;
}

static wide interleave_8(const wide p[3], wide e, wide r, wide c, wide u)
{
    return same_place(p, e, gate_up(p[1], r, 8), c, u);
}

static wide interleave_4(const wide p[3], wide e, wide r, wide c, wide u)
{
    return same_place(p, e, gate_up(p[1], r, 4), c, u);
}

static wide utccp_row(wide r)
{
    return r / 128 * 128 + r % 32 * 4 + r % 128 / 32;
}

static wide utccp(const wide p[3], wide e, wide r, wide c, wide u)
{
    return same_place(p, e, utccp_row(r), c, u);
}

static wide l1(const wide p[3], wide e, wide r, wide k, wide u)
{
    return packed(p, e, utccp_row(gate_up(p[1], r, 8)), k, u);
}

static wide l1_logical(const wide p[3], wide e, wide r, wide k, wide u)
{
    return same_place(p, e, utccp_row(gate_up(p[1], r, 8)), k, u);
}

static wide l2(const wide p[3], wide e, wide r, wide k, wide u)
{
    return packed(p, e, utccp_row(r), k, u);
}

/* word row p = row / 4, byte row % 4 of word m */
static wide k_grouped(const wide p[3], wide e, wide r, wide m, wide u)
{
    (void)u;
    return 4 * ((e * (p[1] / 4) + r / 4) * p[2] + m) + r % 4;
}

/* nibble (r, c) of [m, n] to nibble (c, r) of [n, m] */
static wide transposed(const wide p[3], wide e, wide r, wide c, wide u)
{
    const wide n = 2 * p[2];

    return e * p[1] * n + (2 * c + u) * p[1] + r;
}

enum { NO = CLOSED_REFUSED, PAD = CLOSED_PADDED, ANY = CLOSED_UNDEFINED };

static const closed_form forms[] = {
    {"deepgemm.interleave_weights", 1, 1, interleave_8, 16, 1, NO, PAD, 0, 0},
    {"deepgemm.interleave_weights/gran=4", 4, 1, interleave_4, 8, 1, NO, PAD, 0,
     0},
    {"deepgemm.k_grouped_packed_ue8m0", 1, 1, k_grouped, 4, 4, NO, NO, 0, 0},
    {"deepgemm.mega_l1_sf", 1, 1, l1, 128, 4, NO, NO, 0, 0},
    {"deepgemm.mega_l1_sf_logical", 1, 1, l1_logical, 128, 4, NO, NO, 0, 0},
    {"deepgemm.mega_l2_sf", 1, 1, l2, 128, 4, NO, NO, 0, 0},
    {"deepgemm.mega_l2_sf_logical", 1, 1, utccp, 128, 4, NO, NO, 0, 0},
    {"deepgemm.mn_major_tma_aligned", 4, 1, mn_major, 4, 1, PAD, PAD, ANY, 0},
    {"deepgemm.mn_major_tma_aligned_packed_ue8m0", 1, 1, packed, 4, 4, PAD, PAD,
     ANY, 0},
    {"deepgemm.mn_major_tma_aligned_packed_ue8m0_torch", 1, 1, packed, 4, 4,
     PAD, PAD, 0, 0},
    {"deepgemm.pack_ue8m0_to_int", 1, 1, same_place, 1, 4, PAD, NO, 0, 0},
    {"deepgemm.transpose_packed_fp4", 1, 2, transposed, 2, 1, NO, PAD, 0, 0},
    {"deepgemm.transpose_sf_for_utccp", 4, 1, utccp, 128, 1, NO, PAD, 0, 0},
    {"deepgemm.vllm_upcast_e8m0", 4, 1, same_place, 1, 1, PAD, PAD, 0, 0},
};

enum { N_FORMS = (int)(sizeof forms / sizeof forms[0]) };

START_TEST(the_rows_are_the_closed_forms)
{
    closed_form_holds(&forms[_i]);
}
END_TEST

START_TEST(the_examples_of_the_source_hold)
{
    const wide odd[3] = {1, 8, 8};
    const wide nine[3] = {1, 12, 8};

    ck_assert_uint_eq(packed(odd, 0, 5, 4, 0), 52);
    ck_assert_uint_eq(packed(nine, 0, 8, 7, 0), 83);
    ck_assert_uint_eq(gate_up(256, 63, 8), 119);
    ck_assert_uint_eq(gate_up(256, 136, 8), 24);
    ck_assert_uint_eq(utccp_row(130), 136);
    ck_assert_uint_eq(utccp_row(gate_up(256, 63, 8)), 95);
    ck_assert_uint_eq(utccp_row(gate_up(256, 129, 8)), 36);
}
END_TEST

Suite *suite_layout_deepgemm(void);
Suite *suite_layout_deepgemm(void)
{
    Suite *s = suite_create("layout_deepgemm");
    TCase *t = tcase_create("closed forms");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, the_rows_are_the_closed_forms, 0, N_FORMS);
    tcase_add_test(t, the_examples_of_the_source_hold);
    suite_add_tcase(s, t);
    return s;
}
