/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.unary and act.glu as operations: layouts and orders, constants per
 * expert, gathered rows, and what is refused before anything is written.
 */
#include "unit/emu_call.h"

#include <check.h>
#include <string.h>

/* up = 0 and beta = 1: y = silu-like of the gate; or up marks the element. */
static const uint16_t interleaved[8] = {0x4100, 0x3f80, 0x4100, 0x4000,
                                        0x4100, 0x4040, 0x4100, 0x4080};
static const uint16_t halves[8] = {0x4100, 0x4100, 0x3f80, 0x4000,
                                   0x4100, 0x4100, 0x4040, 0x4080};
static const uint16_t gates[4] = {0x4100, 0x4100, 0x4100, 0x4100};
static const uint16_t ups[4] = {0x3f80, 0x4000, 0x4040, 0x4080};
/* silu(8) = 7.9973 times 1, 2, 3, 4 -> 8, 16, 24, 32 */
static const uint16_t want[4] = {0x4100, 0x4180, 0x41c0, 0x4200};

static void expect(emu_call *c, const uint16_t *y, size_t n)
{
    ck_assert_int_eq(emu_run(c), MXO_OK);
    for (size_t i = 0; i < n; i++) {
        uint16_t code;
        memcpy(&code, emu_bytes(c, "y") + 2 * i, 2);
        ck_assert_msg(code == y[i], "element %zu: %04x want %04x", i, code,
                      y[i]);
    }
    emu_end(c);
}

static void swap_pairs(uint16_t *dst, const uint16_t *src)
{
    for (int i = 0; i < 8; i++) {
        dst[i] = src[i ^ 1];
    }
}

START_TEST(layouts_and_orders_say_where_the_gate_is)
{
    emu_call c;
    uint16_t x[8];

    emu_begin(&c, "act.glu", "alpha=1,beta=0,limit=none");
    emu_in(&c, "x", MXO_BF16, interleaved, 2, 2, 4);
    expect(&c, want, 4);
    swap_pairs(x, interleaved);
    emu_begin(&c, "act.glu", "alpha=1,beta=0,limit=none,order=up_gate");
    emu_in(&c, "x", MXO_BF16, x, 2, 2, 4);
    expect(&c, want, 4);
    emu_begin(&c, "act.glu", "alpha=1,beta=0,limit=none,layout=halves");
    emu_in(&c, "x", MXO_BF16, halves, 2, 2, 4);
    expect(&c, want, 4);
    memcpy(x, halves + 2, 4);
    memcpy(x + 2, halves, 4);
    memcpy(x + 4, halves + 6, 4);
    memcpy(x + 6, halves + 4, 4);
    emu_begin(&c, "act.glu",
              "alpha=1,beta=0,limit=none,layout=halves,order=up_gate");
    emu_in(&c, "x", MXO_BF16, x, 2, 2, 4);
    expect(&c, want, 4);
    emu_begin(&c, "act.glu", "alpha=1,beta=0,limit=none,layout=split");
    emu_in(&c, "gate", MXO_BF16, gates, 2, 2, 2);
    emu_in(&c, "up", MXO_BF16, ups, 2, 2, 2);
    expect(&c, want, 4);
}
END_TEST

START_TEST(every_row_has_the_constants_of_its_expert)
{
    /* rows of two gates 8 and ups 1, 2; limits none and 2 per expert, tiles
       of one row; rows gathered in reverse */
    const uint16_t x[8] = {0x4100, 0x3f80, 0x4100, 0x4000,
                           0x4100, 0x3f80, 0x4100, 0x4000};
    const int32_t expert[2] = {1, 0};
    const int32_t row[3] = {1, 1, 0};
    const uint32_t limit[2] = {0x7f800000, 0x40000000};
    /* expert 0: 8, 16; expert 1: silu(2) = 1.7616 -> 1.7578125, 3.515625 */
    const uint16_t y[6] = {0x4100, 0x4180, 0x4100, 0x4180, 0x3fe1, 0x4061};
    emu_call c;

    emu_begin(&c, "act.glu", "alpha=1,beta=0,per_expert=limit,gather=1");
    emu_in(&c, "x", MXO_BF16, x, 2, 2, 4);
    emu_in(&c, "row", MXO_I32, row, 1, 3);
    emu_in(&c, "expert", MXO_I32, expert, 1, 2);
    emu_in(&c, "limit", MXO_F32, limit, 1, 2);
    expect(&c, y, 6);
}
END_TEST

START_TEST(tiles_share_an_expert)
{
    const uint16_t x[8] = {0x4100, 0x3f80, 0x4100, 0x3f80,
                           0x4100, 0x3f80, 0x4100, 0x3f80};
    const int32_t expert[2] = {1, 0};
    const uint32_t none[2] = {0x7f800000, 0x7f800000};
    const uint32_t alpha[2] = {0x00000000, 0x42c80000}; /* 0, 100 */
    const uint32_t beta[2] = {0x3f800000, 0x00000000};
    /* rows 0..2: alpha 100, beta 0: 8; row 3: alpha 0: 8/2 * 2 = 8 */
    const uint16_t y[4] = {0x4100, 0x4100, 0x4100, 0x4100};
    emu_call c;

    emu_begin(&c, "act.glu", "per_expert=all,tile=3");
    emu_in(&c, "x", MXO_BF16, x, 2, 4, 2);
    emu_in(&c, "expert", MXO_I32, expert, 1, 2);
    emu_in(&c, "limit", MXO_F32, none, 1, 2);
    emu_in(&c, "alpha", MXO_F32, alpha, 1, 2);
    emu_in(&c, "beta", MXO_F32, beta, 1, 2);
    expect(&c, y, 4);
}
END_TEST

static void begin_gathered(emu_call *c, const int32_t *row,
                           const int32_t *expert, const uint32_t *limit)
{
    emu_begin(c, "act.glu", "per_expert=limit,gather=1");
    emu_in(c, "x", MXO_BF16, interleaved, 2, 2, 4);
    emu_in(c, "row", MXO_I32, row, 1, 1);
    emu_in(c, "expert", MXO_I32, expert, 1, 2);
    emu_in(c, "limit", MXO_F32, limit, 1, 1);
}

START_TEST(indices_out_of_range_are_refused)
{
    const int32_t zero[2] = {0, 0};
    const int32_t two = 2;
    const int32_t minus[2] = {-1, 0};
    const uint32_t limit = 0x40e00000;
    const uint32_t bad = 0xc0e00000;
    emu_call c;

    begin_gathered(&c, &two, zero, &limit);
    emu_refuses(&c, MXO_E_PARAM, "row[0] is not below 2");
    begin_gathered(&c, zero, minus, &limit);
    emu_refuses(&c, MXO_E_PARAM, "expert[0] is not below 1");
    begin_gathered(&c, zero, zero, &bad);
    emu_refuses(&c, MXO_E_PARAM, "expert 0: a limit is not negative");
    emu_begin(&c, "act.glu", "per_expert=limit,tile=1");
    emu_in(&c, "x", MXO_BF16, interleaved, 2, 2, 4);
    emu_in(&c, "expert", MXO_I32, zero, 1, 1);
    emu_in(&c, "limit", MXO_F32, &limit, 1, 1);
    emu_refuses(&c, MXO_E_SHAPE, "expert has no element 1");
}
END_TEST

START_TEST(shapes_that_do_not_fit_are_refused)
{
    const float three[3] = {1, 1, 1};
    const int32_t zero[2] = {0, 0};
    emu_call c;

    emu_begin(&c, "act.glu", "");
    emu_in(&c, "x", MXO_BF16, interleaved, 2, 2, 3);
    emu_refuses(&c, MXO_E_SHAPE, "even");
    emu_begin(&c, "act.glu", "");
    emu_in(&c, "x", MXO_BF16, interleaved, 1, 4);
    emu_refuses(&c, MXO_E_SHAPE, "two dimensions");
    emu_begin(&c, "act.glu", "layout=split");
    emu_in(&c, "gate", MXO_BF16, gates, 2, 2, 2);
    emu_in(&c, "up", MXO_BF16, ups, 2, 4, 1);
    emu_refuses(&c, MXO_E_SHAPE, "same two dimensions");
    emu_begin(&c, "act.glu", "per_expert=all");
    emu_in(&c, "x", MXO_BF16, interleaved, 2, 2, 4);
    emu_in(&c, "expert", MXO_I32, zero, 1, 2);
    emu_in(&c, "limit", MXO_F32, three, 1, 3);
    emu_in(&c, "alpha", MXO_F32, three, 1, 2);
    emu_in(&c, "beta", MXO_F32, three, 1, 3);
    emu_refuses(&c, MXO_E_SHAPE, "alpha");
    emu_begin(&c, "act.glu", "gather=1");
    emu_in(&c, "x", MXO_BF16, interleaved, 2, 2, 4);
    emu_in(&c, "row", MXO_I32, zero, 2, 1, 2);
    emu_refuses(&c, MXO_E_SHAPE, "row");
    emu_begin(&c, "act.glu", "tile=0");
    emu_in(&c, "x", MXO_BF16, interleaved, 2, 2, 4);
    emu_refuses(&c, MXO_E_PARAM, "tile");
    emu_begin(&c, "act.glu", "dialect=aiter_triton,beta=0.5");
    emu_in(&c, "x", MXO_BF16, interleaved, 2, 2, 4);
    emu_refuses(&c, MXO_E_PARAM, "beta");
}
END_TEST

START_TEST(unary_takes_any_shape_and_flushes_on_request)
{
    const uint32_t x[4] = {0x00000001, 0x80000001, 0x00800000, 0x3f800000};
    const uint32_t kept[4] = {0x00000001, 0x80000000, 0x00400000, 0x3f3b26a8};
    const uint32_t flushed[4] = {0, 0x80000000, 0, 0x3f3b26a8};
    emu_call c;

    emu_begin(&c, "act.unary", "");
    emu_in(&c, "x", MXO_F32, x, 3, 1, 2, 2);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_out(&c, "y")->rank, 3);
    ck_assert_mem_eq(emu_bytes(&c, "y"), kept, sizeof kept);
    emu_end(&c);
    emu_begin(&c, "act.unary", "ftz=1");
    emu_in(&c, "x", MXO_F32, x, 1, 4);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_mem_eq(emu_bytes(&c, "y"), flushed, sizeof flushed);
    emu_end(&c);
}
END_TEST

START_TEST(unary_refuses_an_alpha_that_is_no_number)
{
    const uint32_t one = 0x3f800000;
    emu_call c;

    emu_begin(&c, "act.unary", "fn=silu_alpha,alpha=nan");
    emu_in(&c, "x", MXO_F32, &one, 1, 1);
    emu_refuses(&c, MXO_E_PARAM, "alpha");
}
END_TEST

START_TEST(alpha_is_binary32_unless_the_result_is_binary64)
{
    /* RN32(1.702) = 1.70200002193..., so the two results differ. */
    const uint32_t one = 0x3f800000;
    const char *const text[2] = {
        "fn=silu_alpha,alpha=1.702,to=f64",
        "fn=silu_alpha,alpha=1.702000021934509,to=f64"};
    uint64_t y[2];
    emu_call c;

    for (int i = 0; i < 2; i++) {
        emu_begin(&c, "act.unary", text[i]);
        emu_in(&c, "x", MXO_F32, &one, 1, 1);
        ck_assert_int_eq(emu_run(&c), MXO_OK);
        memcpy(&y[i], emu_bytes(&c, "y"), 8);
        emu_end(&c);
    }
    /* d sigmoid = sigmoid (1 - sigmoid) 2.2e-8 = 2.86e-9: 0.1304 * 2.2e-8 */
    ck_assert_uint_gt(y[1], y[0]);
    ck_assert_uint_lt(y[1] - y[0], UINT64_C(1) << 26);
}
END_TEST

START_TEST(unary_functions_are_the_named_ones)
{
    static const char *const params[] = {
        "fn=exp",     "fn=exp2", "fn=tanh",
        "fn=sigmoid", "fn=silu", "fn=silu_alpha,alpha=1.702",
        "fn=exp_u20"};
    /* at 1: e, 2, 0.76159416, 0.73105858 twice, sigmoid(1.702) =
       0.84579573, e to twenty bits */
    const uint32_t y[] = {0x402df854, 0x40000000, 0x3f42f7d6, 0x3f3b26a8,
                          0x3f3b26a8, 0x3f588612, 0x402df855};
    const uint32_t one = 0x3f800000;
    uint32_t got;
    emu_call c;

    emu_begin(&c, "act.unary", params[_i]);
    emu_in(&c, "x", MXO_F32, &one, 1, 1);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    memcpy(&got, emu_bytes(&c, "y"), 4);
    ck_assert_msg(got == y[_i], "%s: %08x want %08x", params[_i], got, y[_i]);
    emu_end(&c);
}
END_TEST

Suite *suite_act_ops(void);
Suite *suite_act_ops(void)
{
    Suite *s = suite_create("act_ops");
    TCase *t = tcase_create("act.glu");

    tcase_add_test(t, layouts_and_orders_say_where_the_gate_is);
    tcase_add_test(t, every_row_has_the_constants_of_its_expert);
    tcase_add_test(t, tiles_share_an_expert);
    tcase_add_test(t, indices_out_of_range_are_refused);
    tcase_add_test(t, shapes_that_do_not_fit_are_refused);
    suite_add_tcase(s, t);
    t = tcase_create("act.unary");
    tcase_add_test(t, unary_takes_any_shape_and_flushes_on_request);
    tcase_add_test(t, unary_refuses_an_alpha_that_is_no_number);
    tcase_add_test(t, alpha_is_binary32_unless_the_result_is_binary64);
    tcase_add_loop_test(t, unary_functions_are_the_named_ones, 0, 7);
    suite_add_tcase(s, t);
    return s;
}
