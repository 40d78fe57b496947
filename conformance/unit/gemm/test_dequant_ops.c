/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes, axes and refusals of the dequantising operations, through the ABI.
 * The products themselves are the suite dequant_product.
 */
#include "unit/emu_call.h"

#include <mxoracle/dequant.h>

#include <check.h>
#include <string.h>

/* An input of up to three axes. */
static void add(emu_call *c, const char *name, uint32_t dtype, uint32_t rank,
                const uint64_t *shape, const void *data)
{
    emu_in(c, name, dtype, data, rank, rank > 0 ? (int)shape[0] : 0,
           rank > 1 ? (int)shape[1] : 0, rank > 2 ? (int)shape[2] : 0);
}

/* Run, and copy the outputs into these arrays, in order. */
static void run(emu_call *c, void *first, void *second)
{
    ck_assert_msg(emu_run(c) == MXO_OK, "%s: %s", c->call.op, c->why);
    memcpy(first, c->out[0].buffer, (size_t)c->out[0].n_bytes);
    if (second != NULL) {
        memcpy(second, c->out[1].buffer, (size_t)c->out[1].n_bytes);
    }
    emu_end(c);
}

enum { D0 = 4, D1 = 70, D2 = 6, N = D0 * D1 * D2 };

/* Codes and scales that differ from place to place. */
static uint8_t code_at(uint64_t i)
{
    return (uint8_t)(i * 37 % 251);
}

static uint8_t scale_at(uint64_t i)
{
    return (uint8_t)(100 + i * 7 % 50);
}

static void fill(uint8_t *bytes, size_t n, uint8_t (*at)(uint64_t))
{
    for (size_t i = 0; i < n; i++) {
        bytes[i] = at(i);
    }
}

typedef struct axis_case {
    const char *params;
    uint64_t q[3];
    uint64_t scale[3];
    uint32_t axis;
    int packed;
} axis_case;

/* 70 elements are two blocks and a tail of six. */
static const axis_case axes[] = {
    {"axis=1,to=f32", {D0, D1 / 2, D2}, {D0, 3, D2}, 1, 1},
    {"axis=-2,to=bf16", {D0, D1 / 2, D2}, {D0, 3, D2}, 1, 1},
    {"axis=0,to=f16", {D0 / 2, D1, D2}, {1, D1, D2}, 0, 1},
    {"axis=-1,to=f32", {D0, D1, D2 / 2}, {D0, D1, 1}, 2, 1},
    {"axis=1,to=f32,element=int8", {D0, D1, D2}, {D0, 3, D2}, 1, 0},
    {"axis=-1,to=bf16,element=e3m2", {D0, D1, D2}, {D0, D1, 1}, 2, 0},
};

static uint64_t flat(const uint64_t *shape, const uint64_t *at)
{
    return (at[0] * shape[1] + at[1]) * shape[2] + at[2];
}

/* Coordinates of element i of [D0, D1, D2]. */
static void unflatten(uint64_t i, uint64_t *at)
{
    at[0] = i / D2 / D1;
    at[1] = i / D2 % D1;
    at[2] = i % D2;
}

static uint32_t expected(const axis_case *a, const emu_call *c, uint64_t i)
{
    const char *element = c->params[0].text;
    const mxo_format to = mxo_format_by_name(c->params[1].text);
    uint64_t at[3];

    unflatten(i, at);
    const uint64_t along = at[a->axis];
    at[a->axis] = along / 32;
    const uint8_t s = scale_at(flat(a->scale, at));
    at[a->axis] = a->packed ? along / 2 : along;
    const uint8_t byte = code_at(flat(a->q, at));
    const uint8_t code = !a->packed       ? byte
                         : along % 2 == 0 ? byte & 0xf
                                          : byte >> 4;
    return mxo_dequant_mx(MXO_DEQUANT_OCP, mxo_format_by_name(element), to,
                          code, s);
}

static uint32_t element_of(const void *y, uint32_t dtype, uint64_t i)
{
    uint32_t wide;
    uint16_t narrow;

    if (dtype == MXO_F32) {
        memcpy(&wide, (const uint8_t *)y + 4 * i, 4);
        return wide;
    }
    memcpy(&narrow, (const uint8_t *)y + 2 * i, 2);
    return narrow;
}

START_TEST(mx_blocks_lie_along_any_axis_with_a_short_tail)
{
    const axis_case *a = &axes[_i];
    const uint64_t shape[3] = {D0, D1, D2};
    uint8_t q[N];
    uint8_t scale[N];
    uint32_t y[N];
    emu_call c;

    fill(q, sizeof q, code_at);
    fill(scale, sizeof scale, scale_at);
    emu_begin(&c, "dequant.mx", a->params);
    add(&c, "q", MXO_U8, 3, a->q, q);
    add(&c, "scale", MXO_E8M0, 3, a->scale, scale);
    run(&c, y, NULL);
    ck_assert_uint_eq(c.out[0].rank, 3);
    ck_assert_mem_eq(c.out[0].shape, shape, sizeof shape);
    for (uint64_t i = 0; i < N; i++) {
        ck_assert_msg(element_of(y, c.out[0].dtype, i) == expected(a, &c, i),
                      "%s: element %llu", a->params, (unsigned long long)i);
    }
}
END_TEST

START_TEST(mx_takes_one_axis_and_none_of_its_elements)
{
    const uint64_t sixteen[1] = {16};
    const uint64_t one[1] = {1};
    const uint64_t none[1] = {0};
    const uint8_t q[16] = {0x21};
    const uint8_t scale[1] = {128};
    uint16_t y[32];
    emu_call c;

    emu_begin(&c, "dequant.mx", "");
    add(&c, "q", MXO_U8, 1, sixteen, q);
    add(&c, "scale", MXO_E8M0, 1, one, scale);
    run(&c, y, NULL);
    ck_assert_uint_eq(y[0], 0x3f80);
    ck_assert_uint_eq(y[1], 0x4000);
    emu_begin(&c, "dequant.mx", "");
    add(&c, "q", MXO_U8, 1, none, q);
    add(&c, "scale", MXO_E8M0, 1, none, scale);
    run(&c, y, NULL);
}
END_TEST

START_TEST(mx_writes_plus_zero_on_request)
{
    const uint64_t shape[1] = {4};
    const uint64_t one[1] = {1};
    const uint8_t q[4] = {0x88, 0x88, 0x88, 0x8f};
    const uint8_t scale[1] = {127};
    uint16_t y[8];
    emu_call c;

    emu_begin(&c, "dequant.mx", "zero=positive");
    add(&c, "q", MXO_U8, 1, shape, q);
    add(&c, "scale", MXO_E8M0, 1, one, scale);
    run(&c, y, NULL);
    ck_assert_uint_eq(y[0], 0);
    ck_assert_uint_eq(y[6], 0xc0c0);
    ck_assert_uint_eq(y[7], 0);
}
END_TEST

typedef struct refused_case {
    const char *op;
    const char *params;
    uint64_t q[2];
    uint64_t scale[2];
    mxo_status status;
    const char *says;
} refused_case;

static const refused_case refused[] = {
    {"dequant.mx", "axis=2", {4, 16}, {4, 1}, MXO_E_PARAM, "axis=2"},
    {"dequant.mx", "axis=-3", {4, 16}, {4, 1}, MXO_E_PARAM, "axis=-3"},
    {"dequant.mx", "", {4, 17}, {4, 1}, MXO_E_SHAPE, "32 elements"},
    {"dequant.mx", "axis=0", {4, 16}, {4, 1}, MXO_E_SHAPE, "32 elements"},
    {"dequant.mx",
     "rule=marlin,to=f16",
     {4, 16},
     {4, 1},
     MXO_E_PARAM,
     "rule=marlin"},
    {"dequant.mx",
     "rule=ggml,element=e5m2",
     {4, 32},
     {4, 1},
     MXO_E_SHAPE,
     "wrong dtype"},
    {"dequant.mx",
     "rule=ggml,element=e3m2,to=f32",
     {4, 32},
     {4, 1},
     MXO_E_PARAM,
     "ggml"},
    {"dequant.mx", "rule=none", {4, 16}, {4, 1}, MXO_E_PARAM, "rule=none"},
};

START_TEST(mx_refuses_in_one_sentence)
{
    const refused_case *r = &refused[_i];
    const uint8_t bytes[256] = {0};
    emu_call c;

    emu_begin(&c, r->op, r->params);
    add(&c, "q", MXO_U8, 2, r->q, bytes);
    add(&c, "scale", MXO_E8M0, 2, r->scale, bytes);
    emu_refuses(&c, r->status, r->says);
}
END_TEST

START_TEST(mx_table_is_scales_by_codes)
{
    const uint64_t codes[1] = {3};
    const uint64_t scales[1] = {2};
    const uint64_t shape[2] = {2, 3};
    const uint8_t code[3] = {1, 0, 7};
    const uint8_t scale[2] = {0, 254};
    const uint8_t want[6] = {1, 6, 0, 0, 6, 4};
    uint32_t y[6];
    uint8_t status[6];
    emu_call c;

    emu_begin(&c, "dequant.mx_table", "to=f32");
    add(&c, "code", MXO_U8, 1, codes, code);
    add(&c, "scale", MXO_E8M0, 1, scales, scale);
    run(&c, y, status);
    ck_assert_uint_eq(c.out[0].rank, 2);
    ck_assert_mem_eq(c.out[0].shape, shape, sizeof shape);
    ck_assert_mem_eq(status, want, sizeof want);
    ck_assert_uint_eq(y[0], 0x00200000);
    ck_assert_uint_eq(y[5], 0x7f800000);
}
END_TEST

START_TEST(mx_table_refuses_rules_without_the_target)
{
    const uint64_t one[1] = {1};
    const uint8_t byte = 0;
    emu_call c;

    emu_begin(&c, "dequant.mx_table", "rule=quark_hip,to=f32");
    add(&c, "code", MXO_U8, 1, one, &byte);
    add(&c, "scale", MXO_E8M0, 1, one, &byte);
    emu_refuses(&c, MXO_E_PARAM, "quark_hip");
}
END_TEST

typedef struct group_case {
    const char *params;
    uint64_t scale[3];
    /* index of the scale of batch 1, row 3, column 4 of [2, 5, 6] */
    uint64_t used;
} group_case;

static const group_case groups[] = {
    {"group_rows=1,group_cols=4", {2, 5, 2}, 10 + 3 * 2 + 1},
    {"group_rows=2,group_cols=0", {2, 3, 1}, 3 + 1},
    {"group_rows=0,group_cols=3", {2, 1, 2}, 2 + 1},
    {"group_rows=0,group_cols=0", {2, 1, 1}, 1},
};

START_TEST(group_scales_cover_rectangles)
{
    const group_case *g = &groups[_i];
    const uint64_t shape[3] = {2, 5, 6};
    uint8_t q[60];
    uint32_t scale[60];
    uint32_t y[60];
    emu_call c;

    memset(q, 0x38, sizeof q); /* 1.0 in E4M3 */
    for (uint32_t i = 0; i < 60; i++) {
        scale[i] = 0x3f800000 + i;
    }
    emu_begin(&c, "dequant.group", g->params);
    add(&c, "q", MXO_E4M3, 3, shape, q);
    add(&c, "scale", MXO_F32, 3, g->scale, scale);
    run(&c, y, NULL);
    ck_assert_uint_eq(y[30 + 3 * 6 + 4], 0x3f800000 + g->used);
    ck_assert_uint_eq(y[0], 0x3f800000);
}
END_TEST

START_TEST(group_unpacks_e2m1_and_its_minus_zero)
{
    const uint64_t q_shape[2] = {1, 2};
    const uint64_t one[2] = {1, 1};
    const uint8_t q[2] = {0x28, 0x9a};
    const uint32_t scale = 0x40000000;
    const uint32_t want[4] = {0, 0x40000000, 0xc0000000, 0xbf800000};
    uint32_t y[4];
    emu_call c;

    emu_begin(&c, "dequant.group", "element=e2m1,zero=positive");
    add(&c, "q", MXO_U8, 2, q_shape, q);
    add(&c, "scale", MXO_F32, 2, one, &scale);
    run(&c, y, NULL);
    ck_assert_mem_eq(y, want, sizeof want);
    emu_begin(&c, "dequant.group", "element=e2m1");
    add(&c, "q", MXO_U8, 2, q_shape, q);
    add(&c, "scale", MXO_F32, 2, one, &scale);
    run(&c, y, NULL);
    ck_assert_uint_eq(y[0], 0x80000000);
}
END_TEST

START_TEST(group_refuses_bad_shapes_and_sizes)
{
    const uint64_t shape[2] = {4, 4};
    const uint64_t wrong[2] = {4, 2};
    const uint8_t q[16] = {0};
    const float scale[16] = {0};
    emu_call c;

    emu_begin(&c, "dequant.group", "");
    add(&c, "q", MXO_E4M3, 2, shape, q);
    add(&c, "scale", MXO_F32, 2, wrong, scale);
    emu_refuses(&c, MXO_E_SHAPE, "");
    emu_begin(&c, "dequant.group", "group_rows=-1");
    add(&c, "q", MXO_E4M3, 2, shape, q);
    add(&c, "scale", MXO_F32, 2, wrong, scale);
    emu_refuses(&c, MXO_E_PARAM, "");
    emu_begin(&c, "dequant.group", "");
    add(&c, "q", MXO_E4M3, 1, shape, q);
    add(&c, "scale", MXO_F32, 1, shape, scale);
    emu_refuses(&c, MXO_E_SHAPE, "");
}
END_TEST

START_TEST(nvfp4_has_a_scale_per_sixteen)
{
    const uint64_t q_shape[2] = {2, 10};
    const uint64_t s_shape[2] = {2, 2};
    const uint64_t one[1] = {1};
    const uint8_t scale[4] = {0x38, 0x40, 0x48, 0x50}; /* 1 2 4 8 */
    const uint32_t global = 0x3f000000;
    uint8_t q[20];
    uint32_t y[40];
    emu_call c;

    memset(q, 0x22, sizeof q);
    emu_begin(&c, "dequant.nvfp4", "to=f32");
    add(&c, "q", MXO_U8, 2, q_shape, q);
    add(&c, "scale", MXO_E4M3, 2, s_shape, scale);
    add(&c, "global_scale", MXO_F32, 1, one, &global);
    run(&c, y, NULL);
    ck_assert_uint_eq(y[15], 0x3f000000);
    ck_assert_uint_eq(y[16], 0x3f800000);
    ck_assert_uint_eq(y[20], 0x40000000);
    ck_assert_uint_eq(y[39], 0x40800000);
}
END_TEST

START_TEST(nvfp4_refuses_other_shapes)
{
    const uint64_t q_shape[2] = {2, 8};
    const uint64_t s_shape[2] = {2, 2};
    const uint64_t two[1] = {2};
    const uint8_t bytes[16] = {0};
    const float global[2] = {1, 1};
    emu_call c;

    emu_begin(&c, "dequant.nvfp4", "");
    add(&c, "q", MXO_U8, 2, q_shape, bytes);
    add(&c, "scale", MXO_E4M3, 2, s_shape, bytes);
    add(&c, "global_scale", MXO_F32, 0, NULL, global);
    emu_refuses(&c, MXO_E_SHAPE, "16 elements");
    emu_begin(&c, "dequant.nvfp4", "");
    add(&c, "q", MXO_U8, 2, q_shape, bytes);
    add(&c, "scale", MXO_E4M3, 2, s_shape, bytes);
    add(&c, "global_scale", MXO_F32, 1, two, global);
    emu_refuses(&c, MXO_E_SHAPE, "");
    emu_begin(&c, "dequant.nvfp4", "");
    add(&c, "q", MXO_U8, 0, NULL, bytes);
    add(&c, "scale", MXO_E4M3, 0, NULL, bytes);
    add(&c, "global_scale", MXO_F32, 0, NULL, global);
    emu_refuses(&c, MXO_E_SHAPE, "");
}
END_TEST

Suite *suite_dequant_ops(void);
Suite *suite_dequant_ops(void)
{
    Suite *s = suite_create("dequant_ops");
    TCase *mx = tcase_create("mx");
    TCase *table = tcase_create("mx_table");
    TCase *group = tcase_create("group");
    TCase *nvfp4 = tcase_create("nvfp4");

    tcase_add_loop_test(mx, mx_blocks_lie_along_any_axis_with_a_short_tail, 0,
                        6);
    tcase_add_test(mx, mx_takes_one_axis_and_none_of_its_elements);
    tcase_add_test(mx, mx_writes_plus_zero_on_request);
    tcase_add_loop_test(mx, mx_refuses_in_one_sentence, 0, 8);
    tcase_add_test(table, mx_table_is_scales_by_codes);
    tcase_add_test(table, mx_table_refuses_rules_without_the_target);
    tcase_add_loop_test(group, group_scales_cover_rectangles, 0, 4);
    tcase_add_test(group, group_unpacks_e2m1_and_its_minus_zero);
    tcase_add_test(group, group_refuses_bad_shapes_and_sizes);
    tcase_add_test(nvfp4, nvfp4_has_a_scale_per_sixteen);
    tcase_add_test(nvfp4, nvfp4_refuses_other_shapes);
    suite_add_tcase(s, mx);
    suite_add_tcase(s, table);
    suite_add_tcase(s, group);
    suite_add_tcase(s, nvfp4);
    return s;
}
