/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals of the layer's operations, and their words. */
#include "layer_fixture.h"

#include <check.h>
#include <string.h>

static void refuses(const layer *l, const char *params, mxo_status status,
                    const char *word)
{
    emu_call c;

    layer_begin(&c, l, params);
    emu_refuses(&c, status, word);
}

START_TEST(unknown_entries_are_named)
{
    layer l;

    layer_clear(&l);
    refuses(&l, "profile=NONE", MXO_E_UNSUPPORTED, "does not say weight_rule");
    refuses(&l, "profile=NONE,weight_rule=ocp", MXO_E_UNSUPPORTED, "scale_at");
    refuses(&l,
            "profile=NONE,weight_rule=ocp,scale_at=weight,order=any,"
            "quant=quant.mx,quant_element=e4m3fn",
            MXO_E_UNSUPPORTED, "does not say quant_rule");
    refuses(&l, "profile=FLASHINFER_TRTLLM_NVFP4", MXO_E_UNSUPPORTED,
            "are not MXFP4");
    refuses(&l, "profile=TRITON,activation=silu", MXO_E_UNSUPPORTED,
            "no activation=silu");
    refuses(&l,
            "profile=NONE,weight_rule=ocp,scale_at=weight,order=any,"
            "quant=none,gemm1_out=f32,activation=silu,limit=none",
            MXO_E_UNSUPPORTED, "declare it with glu=");
    l.ids[0] = -1;
    refuses(&l, "profile=CPU", MXO_E_UNSUPPORTED, "reads past the weights");
}
END_TEST

START_TEST(contradictions_are_refused)
{
    layer l;

    layer_clear(&l);
    refuses(&l, "scale_at=block", MXO_E_PARAM, "order=exact");
    refuses(&l, "order=block32", MXO_E_PARAM, "scale_at");
    refuses(&l, "sum=slots", MXO_E_PARAM, "routing_at=sum");
    refuses(&l, "sum=fma,routing_at=acc", MXO_E_PARAM, "sum=fma");
    refuses(&l, "order=pairwise,bias=bf16", MXO_E_PARAM, "bias1=order");
    refuses(&l, "order=any,bias=bf16,bias1=acc", MXO_E_PARAM, "bias2=order");
    refuses(&l, "quant=quant.mx", MXO_E_PARAM, "quant_element");
    refuses(&l, "quant=quant.group,quant_element=e4m3fn,quant_rule=vllm_group",
            MXO_E_PARAM, "multiple of 32");
    refuses(&l, "limit=-1", MXO_E_PARAM, "limit");
}
END_TEST

START_TEST(ids_out_of_range_are_refused)
{
    layer l;

    layer_clear(&l);
    l.ids[0] = E;
    refuses(&l, "", MXO_E_PARAM, "topk_ids[0] is 2");
    l.ids[0] = 1;
    l.n_map = 2;
    l.map[1] = E;
    refuses(&l, "map=1", MXO_E_PARAM, "expert_map[1]");
}
END_TEST

START_TEST(slots_that_overflow_are_refused)
{
    emu_call c;

    emu_begin(&c, "moe.gemm1", "");
    emu_in(&c, "topk_ids", MXO_I32, NULL, 2, 1 << 30, 1 << 27);
    emu_in(&c, "x", MXO_BF16, NULL, 2, 1 << 30, H);
    emu_in(&c, "w13", MXO_U8, NULL, 3, E, 2 * I, H / 2);
    emu_in(&c, "w13_scale", MXO_E8M0, NULL, 3, E, 2 * I, H / 32);
    emu_refuses(&c, MXO_E_SHAPE, "overflows");
}
END_TEST

/* Any negative id, or entry of the map, is an expert that is elsewhere. */
START_TEST(negative_ids_are_absent)
{
    layer l;
    emu_call c;

    layer_clear(&l);
    l.act[0][0] = 0x3f80;
    layer_put(l.w2[0][0], 0, 2);
    l.ids[0] = INT32_MIN;
    layer_begin_second(&c, &l, "");
    ck_assert_uint_eq(layer_first(&c), 0);
    l.ids[0] = 0;
    l.n_map = 1;
    l.map[0] = INT32_MIN;
    layer_begin_second(&c, &l, "map=1");
    ck_assert_uint_eq(layer_first(&c), 0);
    l.ids[0] = INT32_MAX;
    layer_begin_second(&c, &l, "map=1");
    emu_refuses(&c, MXO_E_PARAM, "2147483647, and there are 1 experts");
}
END_TEST

START_TEST(sizes_of_nothing_are_refused)
{
    layer l;
    emu_call c;

    layer_clear(&l);
    emu_begin(&c, "moe.gemm2", "");
    emu_in(&c, "topk_ids", MXO_I32, l.ids, 2, 1, 0);
    emu_in(&c, "topk_weights", MXO_F32, l.weights, 2, 1, 0);
    emu_in(&c, "act", MXO_BF16, l.act, 3, 1, 0, I);
    emu_in(&c, "w2", MXO_U8, l.w2, 3, E, H, I / 2);
    emu_in(&c, "w2_scale", MXO_E8M0, l.s2, 3, E, H, I / 32);
    emu_refuses(&c, MXO_E_SHAPE, "at least 1");
    emu_begin(&c, "moe.gemm1", "");
    emu_in(&c, "topk_ids", MXO_I32, l.ids, 2, 1, 1);
    emu_in(&c, "x", MXO_BF16, l.x, 2, 1, H);
    emu_in(&c, "w13", MXO_U8, l.w13, 3, 0, 2 * I, H / 2);
    emu_in(&c, "w13_scale", MXO_E8M0, l.s13, 3, 0, 2 * I, H / 32);
    emu_refuses(&c, MXO_E_SHAPE, "at least 1");
    emu_begin(&c, "moe.gemm1", "");
    emu_in(&c, "topk_ids", MXO_I32, l.ids, 2, 1, 1);
    emu_in(&c, "x", MXO_BF16, l.x, 2, 1, H);
    emu_in(&c, "w13", MXO_U8, l.w13, 3, E, 2 * I - 1, H / 2);
    emu_in(&c, "w13_scale", MXO_E8M0, l.s13, 3, E, 2 * I - 1, H / 32);
    emu_refuses(&c, MXO_E_SHAPE, "rows in pairs");
}
END_TEST

static uint32_t element(const layer *l, const char *params, int i)
{
    uint16_t y;
    emu_call c;

    layer_begin(&c, l, params);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    memcpy(&y, emu_bytes(&c, "y") + 2 * i, sizeof y);
    emu_end(&c);
    return y;
}

/* A NaN reaches what it enters, and nothing else; a slot that takes no part
   keeps its own to itself. */
START_TEST(nan_reaches_what_it_enters)
{
    layer l;

    layer_clear(&l);
    l.topk = 2;
    l.s2[0][3][0] = 255;
    ck_assert_uint_eq(element(&l, "", 3), 0x7fc0);
    ck_assert_uint_eq(element(&l, "", 2), 0);
    l.ids[0] = 1;
    l.ids[1] = 1;
    ck_assert_uint_eq(element(&l, "", 3), 0);
    l.s13[1][0][0] = 255;
    ck_assert_uint_eq(element(&l, "", 0), 0x7fc0);
    l.s13[1][0][0] = ONE;
    l.x[5] = 0x7fc1;
    ck_assert_uint_eq(element(&l, "", 31), 0x7fc0);
    l.x[5] = 0;
    l.weights[1] = 0x7fc00000;
    ck_assert_uint_eq(element(&l, "", 0), 0x7fc0);
    l.ids[1] = -1;
    ck_assert_uint_eq(element(&l, "", 0), 0);
    ck_assert_uint_eq(element(&l, "absent=zero", 0), 0x7fc0);
}
END_TEST

START_TEST(shapes_must_fit)
{
    layer l;
    emu_call c;

    layer_clear(&l);
    layer_begin(&c, &l, "");
    c.in[1].shape[1] = H - 2; /* x */
    c.in[1].n_bytes -= 4;
    emu_refuses(&c, MXO_E_SHAPE, "shape of x");
    layer_begin(&c, &l, "");
    c.in[6].shape[2] = 1; /* w2 */
    c.in[6].n_bytes = E * H;
    emu_refuses(&c, MXO_E_SHAPE, "shape of w2");
}
END_TEST

START_TEST(no_tokens_no_work)
{
    layer l;
    emu_call c;

    layer_clear(&l);
    emu_begin(&c, "moe.gemm2", "");
    emu_in(&c, "topk_ids", MXO_I32, l.ids, 2, 0, 4);
    emu_in(&c, "topk_weights", MXO_F32, l.weights, 2, 0, 4);
    emu_in(&c, "act", MXO_BF16, l.act, 3, 0, 4, I);
    emu_in(&c, "w2", MXO_U8, l.w2, 3, E, H, I / 2);
    emu_in(&c, "w2_scale", MXO_E8M0, l.s2, 3, E, H, I / 32);
    ck_assert_int_eq(emu_run(&c), MXO_OK);
    ck_assert_uint_eq(emu_out(&c, "y")->shape[0], 0);
    emu_end(&c);
}
END_TEST

/* Scales that DeepGEMM has in binary32; expert 1 has no token. */
START_TEST(a_value_without_a_way_back_is_refused_of_any_expert)
{
    uint32_t scale[E][H];
    layer l;
    emu_call c;

    layer_clear(&l);
    for (int i = 0; i < E * H; i++) {
        scale[i / H][i % H] = 0x3f800000;
    }
    for (int is_bad = 0; is_bad < 2; is_bad++) {
        emu_begin(&c, "moe.gemm2",
                  "conversion=deepgemm,hidden_size=32,intermediate_size=32");
        emu_in(&c, "topk_ids", MXO_I32, l.ids, 2, 1, 1);
        emu_in(&c, "topk_weights", MXO_F32, l.weights, 2, 1, 1);
        emu_in(&c, "act", MXO_BF16, l.act, 3, 1, 1, I);
        emu_in(&c, "w2", MXO_U8, l.w2, 3, E, H, I / 2);
        emu_in(&c, "w2_scale", MXO_F32, scale, 3, E, H, I / 32);
        if (is_bad) {
            emu_refuses(&c, MXO_E_PARAM, "element 37 has no value there");
        } else {
            ck_assert_int_eq(emu_run(&c), MXO_OK);
            emu_end(&c);
        }
        scale[1][5] = 0x3f800001;
    }
}
END_TEST

Suite *suite_layer_refuse(void);
Suite *suite_layer_refuse(void)
{
    Suite *s = suite_create("layer_refuse");
    TCase *refused = tcase_create("refused");

    tcase_add_test(refused, unknown_entries_are_named);
    tcase_add_test(refused, contradictions_are_refused);
    tcase_add_test(refused, ids_out_of_range_are_refused);
    tcase_add_test(refused, slots_that_overflow_are_refused);
    tcase_add_test(refused, negative_ids_are_absent);
    tcase_add_test(refused, sizes_of_nothing_are_refused);
    tcase_add_test(refused, nan_reaches_what_it_enters);
    tcase_add_test(refused, shapes_must_fit);
    tcase_add_test(refused, no_tokens_no_work);
    tcase_add_test(refused,
                   a_value_without_a_way_back_is_refused_of_any_expert);
    suite_add_tcase(s, refused);
    return s;
}
