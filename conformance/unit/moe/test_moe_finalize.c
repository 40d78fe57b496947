/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.finalize and moe.permute: numbers whose sums tell the orders and the
 * roundings apart, worked out by hand; fma() of the C library as the second
 * way.
 */
#include "unit/emu_call.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static float f32_at(const emu_call *c, int i)
{
    float v;

    memcpy(&v, emu_bytes(c, "y") + 4 * i, 4);
    return v;
}

/* One token, n slots of one column, f32 throughout. */
static float total(const char *sum, const float *x, const float *w, int n)
{
    char params[160];
    emu_call c;

    (void)snprintf(params, sizeof params,
                   "from=f32,to=f32,source=pairs,sum=%s%s", sum,
                   w == NULL ? ",weight=none,top_k=5" : "");
    emu_begin(&c, "moe.finalize", params);
    emu_in(&c, "x", MXO_F32, x, 2, n, 1);
    if (w != NULL) {
        emu_in(&c, "topk_weights", MXO_F32, w, 2, 1, n);
    }
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    const float y = f32_at(&c, 0);

    emu_end(&c);
    return y;
}

START_TEST(orders_differ)
{
    /* 2^24 + 1 is 2^24: a tie, and even */
    const float x[5] = {0x1p24f, 1, 1, 1, 1};

    ck_assert(total("add", x, NULL, 5) == 0x1p24f);
    /* (2^24, 1 + 1), 1: 2^24 + 2, then + 1 is a tie, and + 4 is even */
    ck_assert(total("pairwise", x, NULL, 5) == 0x1p24f + 4);
    /* lanes (2^24 + 1), 1, 1, 1: three more ones, each lost */
    ck_assert(total("lanes4", x, NULL, 5) == 0x1p24f);
    ck_assert(total("vllm", x, NULL, 5) == 0x1p24f);
}
END_TEST

START_TEST(fma_keeps_what_a_product_loses)
{
    const float a = 1 + 0x1p-12f;
    const float x[2] = {a * a, a};
    const float w[2] = {-1, a};

    ck_assert(total("add", x, w, 2) == 0);
    ck_assert(total("fma", x, w, 2) == 0x1p-24f);
    ck_assert(total("fma", x, w, 2) == fmaf(w[1], x[1], w[0] * x[0]));
}
END_TEST

/* 2^24 + 1 + 1 - 2^24, and 1/3 is no binary32. */
START_TEST(the_real_sum_loses_nothing)
{
    const float x[4] = {0x1p24f, 1, 1, -0x1p24f};
    const float w[4] = {1, 1, 1, 1};
    const float a = 1 + 0x1p-23f;
    const float y[2] = {a * 0x1p60f, -0x1p60f};
    const float v[2] = {a, 1 + 0x1p-22f};

    ck_assert(total("exact", x, w, 4) == 2);
    ck_assert(total("add", x, w, 4) == 0);
    /* a^2 - (1 + 2^-22) is 2^-46: the product has 47 bits. */
    ck_assert(total("exact", y, v, 2) == 0x1p14f);
}
END_TEST

/* Two halves of the smallest normal number make one; a quarter and a half
   do not, and are flushed; one slot alone is copied. */
START_TEST(the_cpu_flushes_sums_of_several)
{
    const float x[2] = {0x1p-127f, 0x1p-127f};
    const float y[2] = {0x1p-127f, 0x1p-128f};
    const float w[2] = {1, 1};

    ck_assert(total("cpu", x, w, 2) == 0x1p-126f);
    ck_assert(total("cpu", y, w, 2) == 0);
    ck_assert(total("add", y, w, 2) == 0x1.8p-127f);
    ck_assert(total("cpu", x, w, 1) == 0x1p-127f);
}
END_TEST

static uint32_t bf16_sum(const char *params, const uint16_t *x, int n)
{
    uint16_t y;
    emu_call c;

    emu_begin(&c, "moe.finalize", params);
    emu_in(&c, "x", MXO_BF16, x, 2, n, 1);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    memcpy(&y, emu_bytes(&c, "y"), 2);
    emu_end(&c);
    return y;
}

/* 256 + 1 is a tie of 256 and 258: typed sums stay at 256. */
START_TEST(few_slots_round_every_step)
{
    const uint16_t x[5] = {0x4380, 0x3f80, 0x3f80, 0, 0};

    ck_assert_uint_eq(
        bf16_sum("weight=none,source=pairs,sum=vllm,top_k=3", x, 3), 0x4380);
    ck_assert_uint_eq(
        bf16_sum("weight=none,source=pairs,sum=vllm,top_k=5", x, 5), 0x4381);
    ck_assert_uint_eq(
        bf16_sum("weight=none,source=pairs,sum=add,top_k=3", x, 3), 0x4381);
}
END_TEST

START_TEST(rows_are_found_through_the_index)
{
    const float x[] = {1, 2, 99, 3, 4, 99, 5, 6, 99};
    const float w[] = {0.5f, 2, 4, 8};
    const int32_t index[] = {2, 0, -1, -1};
    emu_call c;

    emu_begin(&c, "moe.finalize", "from=f32,to=f32,hidden_dim=2");
    emu_in(&c, "x", MXO_F32, x, 2, 3, 3);
    emu_in(&c, "index", MXO_I32, index, 2, 2, 2);
    emu_in(&c, "topk_weights", MXO_F32, w, 2, 2, 2);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert(f32_at(&c, 0) == 4.5f);
    ck_assert(f32_at(&c, 1) == 7);
    ck_assert(f32_at(&c, 2) == 0);
    ck_assert(!signbit(f32_at(&c, 3)));
    emu_end(&c);
}
END_TEST

START_TEST(an_absent_nan_weight_shows_if_it_is_multiplied)
{
    const float x[] = {1, 1};
    const float w[] = {NAN, 2};
    const int32_t ids[] = {0, 1};
    const int32_t map[] = {-1, 0};

    for (int zero = 0; zero < 2; zero++) {
        emu_call c;

        emu_begin(&c, "moe.finalize",
                  zero ? "from=f32,to=f32,source=pairs,map=1,absent=zero"
                       : "from=f32,to=f32,source=pairs,map=1");
        emu_in(&c, "x", MXO_F32, x, 2, 2, 1);
        emu_in(&c, "topk_weights", MXO_F32, w, 2, 1, 2);
        emu_in(&c, "topk_ids", MXO_I32, ids, 2, 1, 2);
        emu_in(&c, "expert_map", MXO_I32, map, 1, 2);
        ck_assert_int_eq(emu_run(&c), MXO_OK);
        ck_assert_int_eq(isnan(f32_at(&c, 0)) != 0, zero);
        emu_end(&c);
    }
}
END_TEST

START_TEST(bad_indices_are_refused)
{
    const float x[2] = {0};
    const float w[2] = {0};
    const int32_t over[] = {0, 2};
    const int32_t under[] = {-2, 0};
    const int32_t ids[] = {0, 0};
    const int32_t nowhere[] = {-1};
    emu_call c;

    emu_begin(&c, "moe.finalize", "from=f32");
    emu_in(&c, "x", MXO_F32, x, 2, 2, 1);
    emu_in(&c, "index", MXO_I32, over, 2, 1, 2);
    emu_in(&c, "topk_weights", MXO_F32, w, 2, 1, 2);
    emu_refuses(&c, MXO_E_PARAM, "index[0,1]");
    emu_begin(&c, "moe.finalize", "from=f32");
    emu_in(&c, "x", MXO_F32, x, 2, 2, 1);
    emu_in(&c, "index", MXO_I32, under, 2, 1, 2);
    emu_in(&c, "topk_weights", MXO_F32, w, 2, 1, 2);
    emu_refuses(&c, MXO_E_PARAM, "index[0,0]");
    emu_begin(&c, "moe.finalize", "from=f32,map=1");
    emu_in(&c, "x", MXO_F32, x, 2, 2, 1);
    emu_in(&c, "index", MXO_I32, over, 2, 1, 2);
    emu_in(&c, "topk_weights", MXO_F32, w, 2, 1, 2);
    emu_in(&c, "topk_ids", MXO_I32, ids, 2, 1, 2);
    emu_in(&c, "expert_map", MXO_I32, nowhere, 1, 1);
    emu_refuses(&c, MXO_E_PARAM, "index[0,1]"); /* of a pair left out */
    emu_begin(&c, "moe.finalize", "from=f32,weight=none,source=pairs,top_k=3");
    emu_in(&c, "x", MXO_F32, x, 2, 2, 1);
    emu_refuses(&c, MXO_E_PARAM, "top_k");
    emu_begin(&c, "moe.finalize",
              "from=f32,weight=none,source=pairs,top_k=2,hidden_dim=2");
    emu_in(&c, "x", MXO_F32, x, 2, 2, 1);
    emu_refuses(&c, MXO_E_PARAM, "hidden_dim");
}
END_TEST

START_TEST(rows_follow_their_pairs)
{
    static const uint8_t x[] = {1, 2, 3, 4, 5, 6};
    static const int32_t rows[] = {3, 0, -1, 6, 5};
    static const uint8_t want[] = {3, 4, 1, 2, 9, 9, 9, 9, 5, 6};
    emu_call c;

    emu_begin(&c, "moe.permute", "top_k=2,pad=9");
    emu_in(&c, "x", MXO_U8, x, 2, 3, 2);
    emu_in(&c, "rows", MXO_I32, rows, 1, 5);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_mem_eq(emu_bytes(&c, "y"), want, sizeof want);
    emu_end(&c);
}
END_TEST

START_TEST(aiter_words_end_at_num_valid)
{
    static const uint8_t x[] = {1, 2, 3, 4};
    static const int32_t rows[] = {1 << 24 | 1, 0, 2, 1};
    static const int32_t valid[] = {3};
    static const uint8_t want[] = {4, 1, 0, 0};
    emu_call c;

    emu_begin(&c, "moe.permute", "ids=aiter,top_k=2,per_pair=1");
    emu_in(&c, "x", MXO_U8, x, 2, 4, 1);
    emu_in(&c, "rows", MXO_I32, rows, 1, 4);
    emu_in(&c, "num_valid", MXO_I32, valid, 1, 1);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_mem_eq(emu_bytes(&c, "y"), want, sizeof want);
    emu_end(&c);
}
END_TEST

Suite *suite_moe_finalize(void);

Suite *suite_moe_finalize(void)
{
    Suite *s = suite_create("moe_finalize");
    TCase *sums = tcase_create("sums");
    TCase *rows = tcase_create("rows");

    tcase_add_test(sums, the_real_sum_loses_nothing);
    tcase_add_test(sums, the_cpu_flushes_sums_of_several);
    tcase_add_test(sums, orders_differ);
    tcase_add_test(sums, fma_keeps_what_a_product_loses);
    tcase_add_test(sums, few_slots_round_every_step);
    tcase_add_test(sums, an_absent_nan_weight_shows_if_it_is_multiplied);
    tcase_add_test(rows, rows_are_found_through_the_index);
    tcase_add_test(rows, bad_indices_are_refused);
    tcase_add_test(rows, rows_follow_their_pairs);
    tcase_add_test(rows, aiter_words_end_at_num_valid);
    suite_add_tcase(s, sums);
    suite_add_tcase(s, rows);
    return s;
}
