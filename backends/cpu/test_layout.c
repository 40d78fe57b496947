/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout engine from inside: what a plan is made of, and that every kind
 * of plan on every lane does what its map says unit by unit.  Results are
 * judged against the emulator elsewhere; here it is seen that the fast ways
 * are the ones taken.
 */
#include "layout/layout_chain.h"
#include "layout/layout_tile.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 5, NOT_RUN = 77 };

static char sentence[256];
static const mxo_text why = {sentence, sizeof sentence};

static uint64_t bytes_of(uint64_t bits)
{
    return bits / 8;
}

static uint8_t *noise(uint64_t n)
{
    uint8_t *x = malloc((size_t)n + 1);
    uint32_t state = 12345;

    for (uint64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (uint8_t)(state >> 24);
    }
    return x;
}

static cpu_chain *chain_of(const char *text, uint64_t e, uint64_t r, uint64_t c)
{
    const uint64_t extent[3] = {e, r, c};
    cpu_chain *chain = malloc(sizeof *chain);

    ck_assert_msg(cpu_chain_of(chain, text, MXO_U8, extent, why) == MXO_OK,
                  "%s: %s", text, sentence);
    return chain;
}

static cpu_plan *plan_of(const cpu_map *map, const cpu_isa_ops *lane)
{
    cpu_plan *plan = NULL;

    ck_assert_msg(cpu_plan_of(&plan, map, lane->transpose != NULL, why) ==
                      MXO_OK,
                  "%s", sentence);
    return plan;
}

/* A map unit by unit, without any plan. */
static void follow(const cpu_map *map, int forward, uint8_t *dst,
                   const uint8_t *src)
{
    cpu_plan *plain = calloc(1, sizeof *plain);

    plain->map = *map;
    cpu_move_units(plain, forward, dst, src);
    free(plain);
}

/* Lane of a device, NULL if this machine lacks it. */
static const cpu_isa_ops *lane_of(int device)
{
    return cpu_isa_of(device, why);
}

typedef struct shape {
    const char *layout;
    uint64_t extent[3];
} shape;

/* Odd digits, walls on both axes, tables outside and inside of vectors,
   nibbles and bits. */
static const shape shapes[] = {
    {"vllm.as_is", {3, 50, 7000}},
    {"trtllm.w13_gptoss", {2, 64, 1440}},
    {"aiter.shuffle_weight_a16w4", {2, 32, 1472}},
    {"flashinfer.128x4", {3, 130, 90}},
    {"triton.blackwell_value", {2, 33, 1440}},
    {"triton.interleave_last_axis", {2, 16, 1440}},
    {"triton.hopper_value_35", {2, 48, 1440}},
    {"triton.hopper_value_38", {2, 80, 90}},
    {"triton.hopper_scale", {1, 300, 90}},
    {"cutlass.sm90_deinterleave_weight_fp4_rev2", {2, 64, 1472}},
    {"cutlass.sm90_weight_fp4_fp8", {2, 32, 736}},
    {"marlin.repack", {2, 128, 1440}},
    {"marlin.repack_a8", {2, 128, 1472}},
    {"marlin.repack_w8", {2, 128, 1440}},
    {"marlin.repack_w8_a8", {2, 128, 1472}},
    {"marlin.scale", {2, 128, 90}},
    {"humming.weight_a16_mma", {2, 200, 720}},
    {"humming.scale", {2, 200, 45}},
    {"cpu.weight", {2, 64, 1440}},
    {"cpu.scale", {2, 64, 90}},
    {"deepgemm.mega_l1_sf", {1, 256, 92}},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void expect_same(const uint8_t *got, const uint8_t *want, uint64_t n,
                        const char *layout, const char *what)
{
    uint64_t i = 0;

    while (i < n && got[i] == want[i]) {
        i++;
    }
    ck_assert_msg(i == n, "%s, %s: byte %llu is %02x, not %02x", layout, what,
                  (unsigned long long)i, got[i], want[i]);
}

/* There and back along a plan of one lane. */
static void move_both_ways(const shape *s, int device)
{
    const cpu_isa_ops *lane = lane_of(device);
    cpu_context ctx = {.lane = lane, .n_threads = 2};
    cpu_chain *c =
        chain_of(s->layout, s->extent[0], s->extent[1], s->extent[2]);
    const cpu_map *map = &c->stage[0].map;
    const uint64_t n = bytes_of(map->logical_bits);
    const uint64_t m = bytes_of(map->physical_bits);
    cpu_plan *plan = plan_of(map, lane);
    uint8_t *x = noise(n);
    uint8_t *want = noise(m);
    uint8_t *got = noise(m);
    uint8_t *back = calloc(1, (size_t)n + 1);

    follow(map, 1, want, x);
    ck_assert(cpu_move(&ctx, plan, 1, got, x, why) == MXO_OK);
    expect_same(got, want, m, s->layout, lane->isa);
    ck_assert(cpu_move(&ctx, plan, 0, back, want, why) == MXO_OK);
    expect_same(back, x, n, s->layout, "back");
    cpu_plan_free(plan);
    free(x);
    free(want);
    free(got);
    free(back);
    free(c);
}

START_TEST(every_lane_moves_as_the_map_says)
{
    for (int device = 1; device < DEVICES; device++) {
        if (lane_of(device) != NULL) {
            move_both_ways(&shapes[_i], device);
        }
    }
}
END_TEST

/* The two stages by their own maps, and the one map that both became. */
static void expect_composed(const char *text, uint64_t e, uint64_t r,
                            uint64_t cols)
{
    cpu_chain *c = chain_of(text, e, r, cols);
    ck_assert_int_eq(c->n, 2);
    const uint64_t n = bytes_of(c->stage[0].map.logical_bits);
    const uint64_t between = bytes_of(c->stage[0].map.physical_bits);
    const uint64_t m = bytes_of(c->stage[1].map.physical_bits);
    uint8_t *x = noise(n);
    uint8_t *held = noise(between);
    uint8_t *want = noise(m);
    uint8_t *got = noise(m);

    follow(&c->stage[0].map, 1, held, x);
    follow(&c->stage[1].map, 1, want, held);
    cpu_chain_fuse(c);
    ck_assert_msg(c->n == 1, "%s does not become one map", text);
    for (int device = 1; device < DEVICES; device++) {
        const cpu_isa_ops *lane = lane_of(device);
        cpu_context ctx = {.lane = lane, .n_threads = 1};
        if (lane == NULL) {
            continue;
        }
        cpu_plan *plan = plan_of(&c->stage[0].map, lane);
        memset(got, 0x5a, (size_t)m);
        ck_assert(cpu_move(&ctx, plan, 1, got, x, why) == MXO_OK);
        expect_same(got, want, m, text, lane->isa);
        cpu_plan_free(plan);
    }
    free(x);
    free(held);
    free(want);
    free(got);
    free(c);
}

START_TEST(a_chain_becomes_one_map)
{
    expect_composed("triton.interleave_last_axis + triton.blackwell_value", 2,
                    16, 1440);
    expect_composed("triton.interleave_last_axis + triton.hopper_value_35", 2,
                    32, 1440);
    expect_composed("trtllm.shuffle_matrix_a + aiter.shuffle_weight_f4", 2, 64,
                    96);
}
END_TEST

/* Halves of 45 columns fall into tiles of 4 nowhere. */
START_TEST(digits_that_do_not_fall_into_each_other_stay_two)
{
    cpu_chain *c =
        chain_of("triton.interleave_last_axis + flashinfer.128x4", 1, 128, 90);

    cpu_chain_fuse(c);
    ck_assert_int_eq(c->n, 2);
    free(c);
}
END_TEST

static cpu_plan *vector_plan(const char *layout, uint64_t r, uint64_t c)
{
    cpu_chain *chain = chain_of(layout, 1, r, c);
    cpu_plan *plan = NULL;

    ck_assert(cpu_plan_of(&plan, &chain->stage[0].map, 1, why) == MXO_OK);
    free(chain);
    return plan;
}

START_TEST(weights_are_moved_by_whole_vectors)
{
    static const char *const names[] = {
        "trtllm.w13_gptoss",      "aiter.shuffle_weight_a16w4",
        "triton.hopper_value_35", "cutlass.sm90_weight_fp4_rev2",
        "marlin.repack",          "marlin.repack_a8"};
    cpu_plan *p = vector_plan(names[_i], 128, 1472);

    ck_assert_msg(p->kind == CPU_PLAN_VECTORS && p->word_bytes == CPU_VECTOR,
                  "%s: kind %d, chunks of %u bytes", names[_i], (int)p->kind,
                  p->word_bytes);
    cpu_plan_free(p);
}
END_TEST

/* 1440 = 32 * 45: 22 pairs of 32 bytes and one that overlaps. */
START_TEST(an_odd_digit_is_covered_by_blocks)
{
    cpu_plan *p = vector_plan("marlin.repack", 64, 1440);
    uint8_t covered[45] = {0};

    ck_assert(p->blocks != NULL);
    ck_assert_uint_eq(p->grain, 23);
    for (int i = 0; i < 23; i++) {
        const uint64_t first = p->blocks[i].logical / (8 * 32);
        ck_assert_msg(p->blocks[i].logical % (8 * 32) == 0 && first + 2 <= 45,
                      "block %d begins at bit %llu", i,
                      (unsigned long long)p->blocks[i].logical);
        covered[first]++;
        covered[first + 1]++;
    }
    for (int v = 0; v < 45; v++) {
        ck_assert_msg(covered[v] == (v == 43 ? 2 : 1), "value %d: %d times", v,
                      covered[v]);
    }
    cpu_plan_free(p);
}
END_TEST

/* gf2p8affineqb by its definition, bit by bit. */
static uint8_t affine(uint64_t matrix, uint8_t x)
{
    uint8_t y = 0;

    for (int k = 0; k < 8; k++) {
        const uint8_t row = (uint8_t)(matrix >> (8 * (7 - k)));
        int sum = 0;
        for (int j = 0; j < 8; j++) {
            sum ^= (row & x) >> j & 1;
        }
        y = (uint8_t)(y | sum << k);
    }
    return y;
}

static void run_network(const cpu_inner *n, const uint8_t in[CPU_VECTOR],
                        uint8_t out[CPU_VECTOR])
{
    uint8_t sum[CPU_VECTOR] = {0};

    for (int i = 0; i < CPU_VECTOR; i++) {
        sum[i] = n->n_terms == 0 ? in[i] : 0;
        for (int t = 0; t < n->n_terms; t++) {
            sum[i] ^= affine(n->matrix[t][i / 8], in[n->from[t][i]]);
        }
    }
    for (int i = 0; i < CPU_VECTOR; i++) {
        out[i] = n->ordered ? sum[n->order[i]] : sum[i];
    }
}

/* 512 different patterns, one bit each, tell where every bit goes. */
static void expect_network(const cpu_inner *n, const uint16_t from[512],
                           const char *what)
{
    for (int bit = 0; bit < 512; bit++) {
        uint8_t in[CPU_VECTOR] = {0};
        uint8_t out[CPU_VECTOR];
        uint8_t want[CPU_VECTOR] = {0};

        in[bit / 8] = (uint8_t)(1u << bit % 8);
        for (int to = 0; to < 512; to++) {
            if (from[to] == bit) {
                want[to / 8] |= (uint8_t)(1u << to % 8);
            }
        }
        run_network(n, in, out);
        ck_assert_msg(memcmp(out, want, sizeof want) == 0,
                      "%s: bit %d does not arrive", what, bit);
    }
}

/* The bits of the index of a bit, in another order. */
static void index_bits(uint16_t from[512], const int order[9])
{
    for (unsigned i = 0; i < 512; i++) {
        unsigned source = 0;
        for (int b = 0; b < 9; b++) {
            source |= (i >> b & 1) << order[b];
        }
        from[i] = (uint16_t)source;
    }
}

START_TEST(a_network_orders_bits)
{
    static const struct {
        const char *what;
        int order[9];
        int terms;
    } rows[] = {
        {"identity", {0, 1, 2, 3, 4, 5, 6, 7, 8}, 0},
        {"bytes reversed in pairs of bits", {0, 1, 2, 4, 3, 6, 5, 8, 7}, 0},
        {"nibbles between bytes", {0, 1, 5, 3, 4, 2, 6, 7, 8}, 2},
        {"pairs of bits between bytes", {0, 3, 4, 1, 2, 5, 6, 7, 8}, 4},
    };
    cpu_inner n;
    uint16_t from[512];

    index_bits(from, rows[_i].order);
    ck_assert_msg(cpu_inner_of(&n, from) != 0, "%s is refused", rows[_i].what);
    ck_assert_msg(n.n_terms == rows[_i].terms, "%s: %d terms", rows[_i].what,
                  n.n_terms);
    expect_network(&n, from, rows[_i].what);
}
END_TEST

START_TEST(a_byte_of_eight_bytes_is_refused)
{
    static const int transposed[9] = {3, 4, 5, 0, 1, 2, 6, 7, 8};
    cpu_inner n;
    uint16_t from[512];

    index_bits(from, transposed);
    ck_assert_int_eq(cpu_inner_of(&n, from), 0);
}
END_TEST

/* The comparison itself: a plan with one wrong place must differ. */
START_TEST(one_wrong_place_is_seen)
{
    const cpu_isa_ops *lane = lane_of(1);
    cpu_context ctx = {.lane = lane, .n_threads = 1};
    cpu_chain *c = chain_of("marlin.repack", 1, 64, 64);
    const cpu_map *map = &c->stage[0].map;
    cpu_plan *plan = plan_of(map, lane);
    const uint64_t n = bytes_of(map->logical_bits);
    uint8_t *x = noise(n);
    uint8_t *want = noise(n);
    uint8_t *got = noise(n);

    follow(map, 1, want, x);
    plan->logical_at[3] = plan->logical_at[2];
    plan->logical_run = 1;
    ck_assert(cpu_move(&ctx, plan, 1, got, x, why) == MXO_OK);
    ck_assert_int_ne(memcmp(got, want, (size_t)n), 0);
    cpu_plan_free(plan);
    free(x);
    free(want);
    free(got);
    free(c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu_layout");
    TCase *plans = tcase_create("plans");
    TCase *networks = tcase_create("networks");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(plans, every_lane_moves_as_the_map_says, 0, SHAPES);
    tcase_add_test(plans, a_chain_becomes_one_map);
    tcase_add_test(plans, digits_that_do_not_fall_into_each_other_stay_two);
    tcase_add_loop_test(plans, weights_are_moved_by_whole_vectors, 0, 6);
    tcase_add_test(plans, an_odd_digit_is_covered_by_blocks);
    tcase_add_test(plans, one_wrong_place_is_seen);
    tcase_add_loop_test(networks, a_network_orders_bits, 0, 4);
    tcase_add_test(networks, a_byte_of_eight_bytes_is_refused);
    suite_add_tcase(suite, plans);
    suite_add_tcase(suite, networks);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);

    const int n_run = srunner_ntests_run(runner);
    const int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (n_run == 0) {
        return NOT_RUN;
    }
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
