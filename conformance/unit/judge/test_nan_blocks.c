/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every code of a right answer is spoilt; what is settled must be the codes of
 * the blocks that hold a NaN or an infinity in the input, and no others.
 */
#include "data/fill.h"
#include "judge/nan_blocks.h"

#include <mxoracle/mxoracle.h>

#include <check.h>
#include <string.h>

enum { BLOCK = 32 };

typedef struct scene {
    judge j;
    test_case c;
    mxo_param params[OP_MAX_PARAMS];
    tensor_set in;
    tensor_set want;
    tensor_set got;
    op_call call;
} scene;

static void begin(scene *s, const char *text)
{
    char why[SUBJECT_TEXT] = "";
    const mxo_text say = {why, sizeof why};
    run_checks d;

    memset(s, 0, sizeof *s);
    ck_assert_int_eq(judge_open(&s->j, mxo_emulator(), 0, say), MXO_OK);
    ck_assert_msg(case_parse(&s->c, text, say) == 0, "%s", why);
    ck_assert_msg(fill_inputs(&s->c, 1, &s->in, say) == 0, "%s", why);
    case_params(&s->c, s->params);
    s->call = (op_call){s->c.schema->info->name, s->params,
                        (uint32_t)s->c.schema->n_params, &s->in};
    for (int i = 0; i < 2; i++) {
        tensor_set *out = i == 0 ? &s->want : &s->got;
        ck_assert_int_eq(subject_infer(&s->j.oracle, &s->call, out, say),
                         MXO_OK);
        ck_assert_int_eq(subject_run(&s->j.oracle, &s->call, out, &d, say),
                         MXO_OK);
    }
    for (uint64_t i = 0; i < s->got.t[0].n_bytes; i++) {
        s->got.t[0].data[i] ^= 0xff;
    }
}

static void end(scene *s)
{
    judge_close(&s->j);
    tensor_set_clear(&s->in);
    tensor_set_clear(&s->want);
    tensor_set_clear(&s->got);
}

/* Does an infinity make a block NaN, as a NaN does? */
static int infinity_counts = 1;

/* A bf16 that makes its block NaN. */
static int is_special(const host_tensor *x, uint64_t i)
{
    const uint64_t magnitude = tensor_load(x, i) & 0x7fff;

    return magnitude > 0x7f80 || (infinity_counts && magnitude == 0x7f80);
}

/* Does the block of x[r, c] hold a special number? */
static int is_nan_block(const host_tensor *x, int axis, uint64_t r, uint64_t c)
{
    const uint64_t cols = x->shape[1];
    const uint64_t at =
        axis == 0 ? r / BLOCK * BLOCK * cols + c : r * cols + c / BLOCK * BLOCK;
    int found = 0;

    for (uint64_t i = 0; i < BLOCK; i++) {
        found |= is_special(x, at + i * (axis == 0 ? cols : 1));
    }
    return found;
}

/* Codes of q alike in both sets; a byte holds two where pack is 2. */
static uint64_t count_alike(const scene *s, int pack)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < s->want.t[0].n_bytes; i++) {
        const unsigned differ = s->want.t[0].data[i] ^ s->got.t[0].data[i];
        n += pack == 1 ? differ == 0
                       : (uint64_t)((differ & 15) == 0) + (differ >> 4 == 0);
    }
    return n;
}

static void expect_settled(const char *text, int axis, int pack)
{
    static scene s;
    uint64_t n = 0;

    begin(&s, text);
    const host_tensor *x = &s.in.t[0];
    for (uint64_t i = 0; i < tensor_elems(x); i++) {
        n += (uint64_t)is_nan_block(x, axis, i / x->shape[1], i % x->shape[1]);
    }
    ck_assert_msg(n > 0, "%s has no NaN block", text);
    ck_assert_uint_lt(n, tensor_elems(x));
    ck_assert_uint_eq(count_alike(&s, pack), 0);
    ck_assert_uint_gt(nan_blocks_settle(&s.j, &s.c, &s.call, &s.want, &s.got),
                      0);
    ck_assert_msg(count_alike(&s, pack) == n, "%s", text);
    end(&s);
}

START_TEST(codes_of_nan_blocks_and_no_others_are_settled)
{
    expect_settled("quant.mx:rows=16,cols=768", 1, 2);
    expect_settled("quant.mx:element=e3m2,rule=even,rows=16,cols=768", 1, 1);
    expect_settled("quant.mx:rule=torchao_rceil,rows=16,cols=768", 1, 2);
    expect_settled("quant.mx:axis=0,rows=128,cols=80", 0, 2);
    expect_settled("quant.mx:sf_layout=128x4,rows=16,cols=768", 1, 2);
    expect_settled("quant.mx:sf_layout=aiter_linear,q_layout=aiter_16x16,"
                   "rows=64,cols=512",
                   1, 2);
}
END_TEST

START_TEST(an_engine_whose_infinite_blocks_are_not_nan)
{
    infinity_counts = 0;
    expect_settled("quant.engine:rule=torchao_floor,from=bf16,rows=16,cols=768",
                   1, 2);
    expect_settled("quant.engine:rule=torchao_rceil,from=bf16,rows=16,cols=768",
                   1, 2);
    infinity_counts = 1;
}
END_TEST

START_TEST(each_code_of_a_nan_block_is_settled_in_its_place)
{
    static scene s;

    begin(&s, "quant.mx:rows=16,cols=768");
    const host_tensor *x = &s.in.t[0];
    (void)nan_blocks_settle(&s.j, &s.c, &s.call, &s.want, &s.got);
    for (uint64_t i = 0; i < tensor_elems(x); i += 2) {
        const int same = s.want.t[0].data[i / 2] == s.got.t[0].data[i / 2];
        ck_assert_int_eq(same, is_nan_block(x, 1, i / 768, i % 768));
    }
    end(&s);
}
END_TEST

START_TEST(a_rule_that_names_the_codes_settles_nothing)
{
    static scene s;

    begin(&s, "quant.mx:rule=aiter_torch_even,rows=16,cols=768");
    ck_assert_uint_eq(nan_blocks_settle(&s.j, &s.c, &s.call, &s.want, &s.got),
                      0);
    ck_assert_uint_eq(count_alike(&s, 2), 0);
    end(&s);
}
END_TEST

Suite *suite_nan_blocks(void);
Suite *suite_nan_blocks(void)
{
    Suite *s = suite_create("nan_blocks");
    TCase *t = tcase_create("nan_blocks");

    tcase_add_test(t, codes_of_nan_blocks_and_no_others_are_settled);
    tcase_add_test(t, an_engine_whose_infinite_blocks_are_not_nan);
    tcase_add_test(t, each_code_of_a_nan_block_is_settled_in_its_place);
    tcase_add_test(t, a_rule_that_names_the_codes_settles_nothing);
    suite_add_tcase(s, t);
    return s;
}
