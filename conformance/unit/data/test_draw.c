/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls from bytes: every input is a call, a slot is one change, sizes meet
 * the granules of the layout at hand.
 */
#include "draw/granule.h"
#include "draw/plan.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static void make(draw_plan *p, const char *wanted)
{
    char text[256];
    char *list[] = {text};
    char why[512] = "";

    (void)snprintf(text, sizeof text, "%s", wanted);
    ck_assert_msg(draw_plan_make(p, list, 1, (mxo_text){why, sizeof why}) == 0,
                  "%s", why);
}

static test_case draw_call(const draw_plan *p, prng *rng)
{
    draw_record r;
    test_case c;
    uint64_t seed;

    draw_random(p, rng, &r);
    draw_decode(p, r.byte, sizeof r.byte, &c, &seed);
    return c;
}

/* Print, parse, print again: the same call. */
static void check_round_trip(const test_case *c)
{
    char text[CASE_TEXT];
    char again[CASE_TEXT];
    char why[512] = "";
    test_case parsed;

    case_print(c, 1, text);
    ck_assert_msg(case_parse(&parsed, text, (mxo_text){why, sizeof why}) == 0,
                  "%s: %s", text, why);
    case_print(&parsed, 1, again);
    ck_assert_str_eq(text, again);
}

START_TEST(every_input_is_a_call)
{
    draw_plan p;
    prng rng;
    int n_legal = 0;

    make(&p, "*");
    prng_seed(&rng, 7);
    for (int i = 0; i < 3000; i++) {
        test_case c;
        test_case again;
        uint64_t seed;
        uint64_t same;
        uint64_t most = 0;
        draw_record r;
        size_t n = DRAW_BYTES;
        draw_random(&p, &rng, &r);
        if (i % 3 == 1) { /* any bytes at all, of any length */
            n = prng_below(&rng, sizeof r.byte + 1);
            for (size_t k = 0; k < n; k++) {
                r.byte[k] = (uint8_t)prng_next(&rng);
            }
        }
        draw_decode(&p, r.byte, n, &c, &seed);
        draw_decode(&p, r.byte, n, &again, &same);
        ck_assert_mem_eq(&c, &again, sizeof c);
        ck_assert_uint_eq(seed, same);
        check_round_trip(&c);
        ck_assert_uint_le(draw_bytes(&c), 1 << 23);
        n_legal += i % 3 != 1 && c.flaw[0] == '\0' && draw_is_legal(&c, &most);
    }
    ck_assert_msg(n_legal > 1400, "of 2000 drawn calls %d are legal", n_legal);
    ck_assert_msg(n_legal < 1990, "none of the drawn calls is refused");
    draw_plan_clear(&p);
}
END_TEST

START_TEST(nothing_is_the_first_case_of_the_grid)
{
    draw_plan p;
    test_case c;
    uint64_t seed = 9;

    make(&p, "quant.mx");
    draw_decode(&p, NULL, 0, &c, &seed);
    ck_assert_mem_eq(&c, &p.group[0].base[0], sizeof c);
    ck_assert_uint_eq(seed, 0);
    draw_plan_clear(&p);
}
END_TEST

START_TEST(a_mutation_changes_one_thing)
{
    draw_plan p;
    prng rng;

    make(&p, "layout.apply");
    prng_seed(&rng, 3);
    for (int i = 0; i < 2000; i++) {
        draw_record before;
        draw_record r;
        int first = DRAW_BYTES;
        int last = -1;
        draw_random(&p, &rng, &before);
        r = before;
        draw_mutate(&p, &rng, &r);
        for (int k = 0; k < DRAW_BYTES; k++) {
            if (r.byte[k] != before.byte[k]) {
                first = k < first ? k : first;
                last = k;
            }
        }
        ck_assert_msg(last < 0 || last - first < 4, "bytes %d..%d changed",
                      first, last);
    }
    draw_plan_clear(&p);
}
END_TEST

/* A tile of 128 rows, in four stretches of 32, and 4 columns. */
START_TEST(granules_are_those_of_the_layout)
{
    granules axis[3];
    int rows = 0;
    int cols = 0;

    granules_of("flashinfer.128x4", 1, axis);
    for (int i = 0; i < axis[1].n; i++) {
        rows |= axis[1].size[i] == 128 ? 1 : axis[1].size[i] == 32 ? 2 : 0;
    }
    for (int i = 0; i < axis[2].n; i++) {
        cols |= axis[2].size[i] == 4;
    }
    ck_assert_msg(rows == 3, "128 rows or 32 are no granule");
    ck_assert_msg(cols, "4 columns are no granule");
}
END_TEST

START_TEST(sizes_meet_every_edge_of_the_layout)
{
    draw_plan p;
    prng rng;
    int tail[4] = {0};
    int row_edge[3] = {0};
    int n_back = 0;

    make(&p, "layout.apply:layout=flashinfer.128x4");
    prng_seed(&rng, 1);
    for (int i = 0; i < 3000; i++) {
        const test_case c = draw_call(&p, &rng);
        uint64_t most;
        const uint64_t rows = case_dim(&c, "rows");
        ck_assert_str_eq(case_value(&c, "layout"), "flashinfer.128x4");
        tail[case_dim(&c, "cols") % 4]++;
        row_edge[0] += rows % 128 == 0;
        row_edge[1] += rows > 128 && rows % 128 == 1;
        row_edge[2] += rows % 128 == 127;
        n_back += strcmp(case_value(&c, "dir"), "inverse") == 0 &&
                  draw_is_legal(&c, &most);
    }
    for (int k = 0; k < 4; k++) {
        ck_assert_msg(tail[k] > 100, "%d cases with cols %% 4 = %d", tail[k],
                      k);
    }
    for (int k = 0; k < 3; k++) {
        ck_assert_msg(row_edge[k] > 5, "%d cases on row edge %d", row_edge[k],
                      k);
    }
    ck_assert_msg(n_back > 300, "%d legal cases back", n_back);
    draw_plan_clear(&p);
}
END_TEST

START_TEST(some_draws_go_beyond_65536_rows)
{
    draw_plan p;
    test_case c;
    uint64_t seed;
    draw_record r;

    make(&p, "layout.apply:layout=flashinfer.128x4,cols=3,dir=forward");
    memset(&r, 0, sizeof r);
    const int rows = op_dim_index(p.group[0].base[0].schema, "rows");
    uint64_t most;
    while (!draw_is_legal(&p.group[0].base[r.byte[DRAW_BASE]], &most)) {
        r.byte[DRAW_BASE]++;
    }
    /* Kind 5, and number 16 of its values. */
    const unsigned slot = 1 + (16 << 4 | 5);
    r.byte[DRAW_DIMS + 4 * rows] = (uint8_t)slot;
    r.byte[DRAW_DIMS + 4 * rows + 1] = (uint8_t)(slot >> 8);
    draw_decode(&p, r.byte, sizeof r.byte, &c, &seed);
    ck_assert_uint_eq(case_dim(&c, "rows"), 65537);
    /* What comes of it is not so slow. */
    prng rng;
    prng_seed(&rng, 2);
    draw_mutate(&p, &rng, &r);
    draw_decode(&p, r.byte, sizeof r.byte, &c, &seed);
    ck_assert_uint_lt(case_dim(&c, "rows"), 65537);
    draw_plan_clear(&p);
}
END_TEST

START_TEST(given_keys_stay)
{
    draw_plan p;
    prng rng;

    make(&p, "quant.mx:rows=3,element=e4m3fn,data=corners");
    prng_seed(&rng, 5);
    for (int i = 0; i < 500; i++) {
        const test_case c = draw_call(&p, &rng);
        ck_assert_uint_eq(case_dim(&c, "rows"), 3);
        ck_assert_str_eq(case_value(&c, "element"), "e4m3fn");
        ck_assert_str_eq(c.data, "corners");
        check_round_trip(&c);
    }
    draw_plan_clear(&p);
}
END_TEST

/* Codes that the emulator refuses when it runs, not when it infers. */
START_TEST(a_call_that_is_refused_gets_no_flaw)
{
    draw_plan p;
    prng rng;

    make(&p, "quant.requant_table:data=unfit");
    prng_seed(&rng, 5);
    for (int i = 0; i < 2000; i++) {
        ck_assert_str_eq(draw_call(&p, &rng).flaw, "");
    }
    draw_plan_clear(&p);
}
END_TEST

/* Of 500 draws: how many have the layout, how many with a parameter set. */
static void count_names(const char *wanted, const char *layout, int *named,
                        int *set)
{
    draw_plan p;
    prng rng;

    make(&p, wanted);
    prng_seed(&rng, 5);
    *named = 0;
    *set = 0;
    for (int i = 0; i < 500; i++) {
        const test_case c = draw_call(&p, &rng);
        const char *name = case_value(&c, "layout");
        *named += strncmp(name, layout, strlen(layout)) == 0;
        *set += strchr(name, '/') != NULL;
    }
    draw_plan_clear(&p);
}

START_TEST(a_star_leaves_the_parameters_of_a_layout_free)
{
    int named;
    int set;

    count_names("layout.apply:layout=triton.hopper_scale/*",
                "triton.hopper_scale", &named, &set);
    ck_assert_int_eq(named, 500);
    ck_assert_int_gt(set, 20);
    count_names("layout.apply:layout=triton.hopper_scale",
                "triton.hopper_scale", &named, &set);
    ck_assert_int_eq(named, 500);
    ck_assert_int_eq(set, 0);
}
END_TEST

/* Such a call holds more than a draw is given, and its rows must be 32 k. */
START_TEST(more_than_65536_columns_are_drawn_beside_whole_blocks_of_rows)
{
    draw_plan p;
    prng rng;
    int n = 0;

    make(&p, "layout.apply:layout=trtllm.shuffle_matrix_a,dtype=u8");
    prng_seed(&rng, 5);
    for (int i = 0; i < 10000; i++) {
        const test_case c = draw_call(&p, &rng);
        n += case_dim(&c, "cols") > 65536 && case_dim(&c, "rows") % 32 == 0;
    }
    ck_assert_int_ge(n, 3);
    draw_plan_clear(&p);
}
END_TEST

/* Rare draws: more experts than fit a byte, several tiles on both axes, more
   bytes than 16 bits count though no axis is long, and what is kept of memory
   of several tiles. */
START_TEST(rare_draws_are_large_on_each_side)
{
    draw_plan p;
    prng rng;
    int n[4] = {0};

    make(&p, "layout.apply:layout=cutlass.sm90_weight_fp4_rev2");
    prng_seed(&rng, 5);
    for (int i = 0; i < 20000; i++) {
        const test_case c = draw_call(&p, &rng);
        uint64_t most;
        const uint64_t rows = case_dim(&c, "rows");
        const uint64_t cols = case_dim(&c, "cols");
        const int is_legal = c.flaw[0] == '\0' && draw_is_legal(&c, &most);
        n[0] += is_legal && case_dim(&c, "experts") > 256;
        n[1] += is_legal && rows > 8 * 16 && cols > 8 * 32;
        n[2] += is_legal && rows * cols > 65536 && rows < 32768 && cols < 32768;
        n[3] += is_legal && case_count(&c, "keep_rows", 0) % 16 != 0 &&
                case_count(&c, "keep_cols", 0) % 32 != 0 && rows > 16 &&
                cols > 32;
    }
    for (int k = 0; k < 4; k++) {
        ck_assert_msg(n[k] > 0, "%d cases of kind %d", n[k], k);
    }
    draw_plan_clear(&p);
}
END_TEST

START_TEST(what_matches_nothing_is_refused)
{
    static const char *const wrong[] = {"layout.aply", "quant.mx:rows=x",
                                        "quant.mx:nobody=1", "no.such:rows=1"};

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        draw_plan p;
        char text[64];
        char *list[] = {text};
        char why[512] = "";
        (void)snprintf(text, sizeof text, "%s", wrong[i]);
        ck_assert_int_eq(
            draw_plan_make(&p, list, 1, (mxo_text){why, sizeof why}), -1);
        ck_assert_msg(why[0] != '\0', "no sentence for %s", wrong[i]);
    }
}
END_TEST

START_TEST(a_stamp_of_another_version_is_seen)
{
    uint8_t bytes[DRAW_BYTES + DRAW_STAMP] = {0};

    ck_assert_int_eq(draw_version_of(bytes, 0), DRAW_VERSION);
    ck_assert_int_eq(draw_version_of(bytes, sizeof bytes), DRAW_VERSION);
    draw_stamp(bytes + DRAW_BYTES);
    ck_assert_int_eq(draw_version_of(bytes, sizeof bytes), DRAW_VERSION);
    bytes[DRAW_BYTES + 2] ^= 1; /* a change of one byte is none of version */
    ck_assert_int_eq(draw_version_of(bytes, sizeof bytes), DRAW_VERSION);
    bytes[DRAW_BYTES + 3] ^= 1;
    ck_assert_int_eq(draw_version_of(bytes, sizeof bytes), DRAW_VERSION ^ 1);
}
END_TEST

Suite *suite_draw(void);

Suite *suite_draw(void)
{
    Suite *s = suite_create("draw");
    TCase *t = tcase_create("decode");

    tcase_add_test(t, every_input_is_a_call);
    tcase_add_test(t, nothing_is_the_first_case_of_the_grid);
    tcase_add_test(t, a_mutation_changes_one_thing);
    tcase_add_test(t, granules_are_those_of_the_layout);
    tcase_add_test(t, sizes_meet_every_edge_of_the_layout);
    tcase_add_test(t, some_draws_go_beyond_65536_rows);
    tcase_add_test(t, given_keys_stay);
    tcase_add_test(t, a_call_that_is_refused_gets_no_flaw);
    tcase_add_test(t, rare_draws_are_large_on_each_side);
    tcase_add_test(t, a_star_leaves_the_parameters_of_a_layout_free);
    tcase_add_test(
        t, more_than_65536_columns_are_drawn_beside_whole_blocks_of_rows);
    tcase_add_test(t, what_matches_nothing_is_refused);
    tcase_add_test(t, a_stamp_of_another_version_is_seen);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return s;
}
