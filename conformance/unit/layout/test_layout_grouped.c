/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of rows: small buffers written out, the vendors' bound on the size
 * of a buffer, and what is refused.
 */
#include "unit/emu_call.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static void begin(emu_call *c, const char *params, const uint8_t *x,
                  uint64_t rows, const int32_t *groups, uint64_t n)
{
    emu_begin(c, "layout.grouped", params);
    emu_in(c, "x", MXO_U8, x, 3, (uint64_t)1, rows, (uint64_t)1);
    if (n > 0) {
        emu_in(c, "groups", MXO_I32, groups, 1, n);
    }
}

static void expect(emu_call *c, const char *want)
{
    char got[128] = "";

    ck_assert_msg(emu_run(c) == MXO_OK, "%s", c->why);
    const mxo_tensor *y = emu_out(c, "y");

    for (uint64_t i = 0; i < y->n_bytes; i++) {
        (void)snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d",
                       i == 0 ? "" : " ", emu_bytes(c, "y")[i]);
    }
    ck_assert_str_eq(got, want);
    emu_end(c);
}

static const uint8_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8};

START_TEST(compact_groups_move_to_aligned_starts)
{
    static const int32_t sizes[] = {2, 0, 3};
    static const int32_t ends[] = {2, 4, 7};
    emu_call c;

    begin(&c, "layout=vllm.as_is,dtype=u8,align=4,blocks=2", rows, 5, sizes, 3);
    expect(&c, "1 2 0 0 3 4 5 0");
    /* the sixth row belongs to nobody */
    begin(&c, "layout=vllm.as_is,dtype=u8,align=4,blocks=3", rows, 6, sizes, 3);
    expect(&c, "1 2 0 0 3 4 5 0 0 0 0 0");
    /* the same groups by their ends in a buffer aligned to 4 */
    begin(&c, "layout=vllm.as_is,dtype=u8,align=4,blocks=2,ends_align=4", rows,
          5, ends, 3);
    expect(&c, "1 2 0 0 3 4 5 0");
}
END_TEST

/* k = 5, 0, 8 elements, four to a row: 2, 0 and 2 rows. */
START_TEST(a_list_may_count_elements)
{
    static const int32_t elements[] = {5, 0, 8};
    emu_call c;

    begin(&c, "layout=vllm.as_is,dtype=u8,align=3,blocks=2,gran=4", rows, 4,
          elements, 3);
    expect(&c, "1 2 0 3 4 0");
}
END_TEST

START_TEST(rows_between_groups_in_place_are_cleared)
{
    static const int32_t ends[] = {2, 4, 7};
    emu_call c;

    begin(&c, "layout=vllm.as_is,dtype=u8,rule=in_place,ends_align=4", rows, 8,
          ends, 3);
    expect(&c, "1 2 0 0 5 6 7 0");
}
END_TEST

START_TEST(rows_repeat)
{
    emu_call c;

    begin(&c, "layout=vllm.as_is,dtype=u8,rule=repeat,gran=3,align=1,blocks=7",
          rows, 3, NULL, 0);
    expect(&c, "1 1 1 2 2 2 3");
    begin(&c, "layout=vllm.as_is,dtype=u8,rule=repeat,gran=2", rows, 2, NULL,
          0);
    expect(&c, "1 1 2 2");
}
END_TEST

/* 128 * nblk rows, nblk = M if M <= E, else ceil((M - E + 1) / 128) + E - 1 */
static uint64_t vendor_rows(uint64_t m, uint64_t experts)
{
    const uint64_t blocks =
        m <= experts ? m : (m - experts + 1 + 127) / 128 + experts - 1;

    return 128 * blocks;
}

START_TEST(the_buffer_holds_any_sizes)
{
    static const uint8_t x[700];
    static const int32_t sizes[7];

    for (uint64_t m = 1; m < 700; m += 37) {
        for (uint64_t n = 1; n <= 7; n++) {
            emu_call c;
            begin(&c, "layout=vllm.as_is,dtype=u8", x, m, sizes, n);
            ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
            ck_assert_msg(emu_out(&c, "y")->n_bytes == vendor_rows(m, n),
                          "%d rows in %d groups: %d", (int)m, (int)n,
                          (int)emu_out(&c, "y")->n_bytes);
            emu_end(&c);
        }
    }
}
END_TEST

START_TEST(groups_that_do_not_fit_are_refused)
{
    static const int32_t negative[] = {2, -1};
    static const int32_t long_input[] = {2, 5};
    static const int32_t back[] = {5, 3};
    emu_call c;

    begin(&c, "layout=vllm.as_is,dtype=u8,align=4", rows, 6, negative, 2);
    emu_refuses(&c, MXO_E_PARAM, "group 1 has -1 rows");
    begin(&c, "layout=vllm.as_is,dtype=u8,align=4", rows, 6, long_input, 2);
    emu_refuses(&c, MXO_E_PARAM, "group 1 ends at row 7 of 6");
    begin(&c, "layout=vllm.as_is,dtype=u8,align=4,blocks=2", rows, 7,
          long_input, 2);
    emu_refuses(&c, MXO_E_PARAM, "group 1 ends at row 9 of a buffer of 8");
    begin(&c, "layout=vllm.as_is,dtype=u8,rule=in_place,ends_align=4", rows, 8,
          back, 2);
    emu_refuses(&c, MXO_E_PARAM, "group 1 has -5 rows");
    begin(&c, "layout=vllm.as_is,dtype=u8,rule=in_place", rows, 8, back, 2);
    emu_refuses(&c, MXO_E_PARAM, "ends_align");
    begin(&c, "layout=vllm.as_is,dtype=u8,rule=repeat,gran=3,align=1,blocks=7",
          rows, 4, NULL, 0);
    emu_refuses(&c, MXO_E_SHAPE, "another number of input rows than 4");
    begin(&c, "layout=triton.hopper_pack_bits,dtype=u8", rows, 4, back, 2);
    emu_refuses(&c, MXO_E_SHAPE, "cols = 1");
}
END_TEST

/* Only rows that a group owns must be powers of two. */
START_TEST(what_lies_between_groups_is_not_looked_at)
{
    static const float sf[] = {1, 2, 3, 4, 0.5f, 0, 0, 0};
    static const int32_t ends[] = {2, 6};
    static const int32_t bad[] = {3, 6};
    static const uint8_t want[] = {127, 0, 0, 0, 128, 0, 0,   0, 0, 0,
                                   0,   0, 0, 0, 0,   0, 126, 0, 0, 0};
    emu_call c;

    emu_begin(&c, "layout.grouped",
              "layout=deepgemm.mn_major_tma_aligned_packed_ue8m0,dtype=f32,"
              "rule=in_place,ends_align=4");
    emu_in(&c, "x", MXO_F32, sf, 3, (uint64_t)1, (uint64_t)8, (uint64_t)1);
    emu_in(&c, "groups", MXO_I32, ends, 1, (uint64_t)2);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    ck_assert_mem_eq(emu_bytes(&c, "y"), want, sizeof want);
    emu_end(&c);
    emu_begin(&c, "layout.grouped",
              "layout=deepgemm.mn_major_tma_aligned_packed_ue8m0,dtype=f32,"
              "rule=in_place,ends_align=4");
    emu_in(&c, "x", MXO_F32, sf, 3, (uint64_t)1, (uint64_t)8, (uint64_t)1);
    emu_in(&c, "groups", MXO_I32, bad, 1, (uint64_t)2);
    emu_refuses(&c, MXO_E_PARAM, "row 2 of the buffer");
}
END_TEST

START_TEST(groups_tell_rows_and_ends)
{
    static const int32_t sizes[] = {3, 0, 2};
    static const int32_t index[] = {0, 0, 0, -1, 2, 2, -1};
    static const int32_t ends[] = {3, 4, 6};
    emu_call c;

    emu_begin(&c, "layout.groups", "align=4,total=7");
    emu_in(&c, "sizes", MXO_I32, sizes, 1, (uint64_t)3);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    ck_assert_mem_eq(emu_bytes(&c, "index"), index, sizeof index);
    ck_assert_mem_eq(emu_bytes(&c, "ends"), ends, sizeof ends);
    emu_end(&c);
    emu_begin(&c, "layout.groups", "align=4,total=5");
    emu_in(&c, "sizes", MXO_I32, sizes, 1, (uint64_t)3);
    emu_refuses(&c, MXO_E_PARAM, "group 2 ends at row 6 of a buffer of 5");
}
END_TEST

Suite *suite_layout_grouped(void);
Suite *suite_layout_grouped(void)
{
    Suite *s = suite_create("layout_grouped");
    TCase *t = tcase_create("groups");

    tcase_add_test(t, compact_groups_move_to_aligned_starts);
    tcase_add_test(t, a_list_may_count_elements);
    tcase_add_test(t, rows_between_groups_in_place_are_cleared);
    tcase_add_test(t, rows_repeat);
    tcase_add_test(t, the_buffer_holds_any_sizes);
    tcase_add_test(t, groups_that_do_not_fit_are_refused);
    tcase_add_test(t, what_lies_between_groups_is_not_looked_at);
    tcase_add_test(t, groups_tell_rows_and_ends);
    suite_add_tcase(s, t);
    return s;
}
