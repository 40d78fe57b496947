/* SPDX-License-Identifier: Apache-2.0 */
/* Other choices of experts are legal ones, and others. */
#include "device/reroute.h"

#include <check.h>
#include <string.h>

/* Two tokens that choose two of the experts. */
static host_tensor choices(const int32_t ids[4])
{
    static uint8_t bytes[16];
    host_tensor t = {.dtype = MXO_I32,
                     .rank = 2,
                     .shape = {2, 2},
                     .n_bytes = sizeof bytes,
                     .data = bytes};

    memcpy(bytes, ids, sizeof bytes);
    return t;
}

START_TEST(choices_are_others_and_legal)
{
    static const struct {
        int32_t ids[4];
        int has_map, is_crowd, differs;
        int32_t want[4];
    } rows[] = {
        /* Up to the largest, from there down. */
        {{0, 1, 3, 2}, 0, 1, 1, {3, 2, 3, 2}},
        {{0, 1, 3, 2}, 0, 0, 1, {3, 2, 1, 0}},
        {{3, 2, 1, 0}, 0, 0, 0, {3, 2, 1, 0}},
        /* Behind a map those that occur. */
        {{7, 1, 1, 4}, 1, 1, 1, {7, 4, 7, 4}},
        {{7, 1, 1, 4}, 1, 0, 1, {7, 4, 1, 7}},
        /* Too few for a token without a repetition. */
        {{0, -1, -1, 0}, 0, 1, 0, {0, 0, 0, 0}},
        {{-1, -1, -1, -1}, 0, 0, 0, {0, 0, 0, 0}},
    };
    const host_tensor t = choices(rows[_i].ids);
    int32_t to[4] = {0, 0, 0, 0};

    ck_assert_int_eq(
        reroute_choices(&t, rows[_i].has_map, rows[_i].is_crowd, to),
        rows[_i].differs);
    ck_assert_int_eq(memcmp(to, rows[_i].want, sizeof to), 0);
}
END_TEST

START_TEST(maps_are_turned)
{
    static const struct {
        int32_t map[4];
        int differs;
        int32_t want[4];
    } rows[] = {
        {{0, -1, 1, 2}, 1, {2, -1, 1, 0}},
        {{-1, 1, 0, -1}, 1, {-1, 0, 1, -1}},
        {{-1, 0, -1, -1}, 0, {-1, 0, -1, -1}},
        {{-1, -1, -1, -1}, 0, {-1, -1, -1, -1}},
    };
    const host_tensor t = choices(rows[_i].map);
    int32_t to[4] = {0, 0, 0, 0};

    ck_assert_int_eq(reroute_map(&t, to), rows[_i].differs);
    ck_assert_int_eq(memcmp(to, rows[_i].want, sizeof to), 0);
}
END_TEST

Suite *suite_reroute(void);
Suite *suite_reroute(void)
{
    Suite *s = suite_create("reroute");
    TCase *t = tcase_create("reroute");

    tcase_add_loop_test(t, choices_are_others_and_legal, 0, 7);
    tcase_add_loop_test(t, maps_are_turned, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
