/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The elementwise operations through the ABI: shapes, packing, parameters,
 * refusals.  What they compute is the business of the other format suites.
 */
#include "unit/emu_call.h"

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

START_TEST(outputs_have_the_shape_of_the_input)
{
    const uint64_t shape[3] = {2, 1, 3};
    const uint8_t code[6] = {0, 1, 2, 0x7f, 0x80, 0xff};
    const uint8_t want[6] = {0, 1, 1, 4, 0, 4};
    uint8_t class[6];
    emu_call c;

    emu_begin(&c, "format.classify", "format=e4m3fn");
    add(&c, "code", MXO_U8, 3, shape, code);
    run(&c, class, NULL);
    ck_assert_uint_eq(c.out[0].rank, 3);
    ck_assert_mem_eq(c.out[0].shape, shape, sizeof shape);
    ck_assert_mem_eq(class, want, sizeof want);
}
END_TEST

START_TEST(decode_takes_two_codes_per_byte)
{
    const uint64_t shape[2] = {1, 2};
    const uint8_t code[2] = {0x18, 0xf7};
    const uint32_t want[4] = {0x80000000, 0x3f000000, 0x40c00000, 0xc0c00000};
    uint32_t y[4];
    emu_call c;

    emu_begin(&c, "format.decode", "packed=1");
    add(&c, "code", MXO_U8, 2, shape, code);
    run(&c, y, NULL);
    ck_assert_uint_eq(c.out[0].shape[1], 4);
    ck_assert_mem_eq(y, want, sizeof want);
}
END_TEST

START_TEST(decode_drops_the_sign_of_zero_on_request)
{
    const uint64_t shape[1] = {3};
    const uint8_t code[3] = {0x80, 0x81, 0x00};
    const uint16_t want[3] = {0, 0x9800, 0};
    uint16_t y[3];
    emu_call c;

    emu_begin(&c, "format.decode", "format=e4m3fn,zero=positive,to=f16");
    add(&c, "code", MXO_U8, 1, shape, code);
    run(&c, y, NULL);
    ck_assert_mem_eq(y, want, sizeof want);
}
END_TEST

START_TEST(encode_packs_the_even_index_low)
{
    const uint64_t shape[1] = {4};
    const uint32_t x[4] = {0x3f800000, 0xc0c00000, 0x80000000, 0x3f000000};
    const uint8_t want[2] = {0xf2, 0x18};
    uint8_t code[2];
    emu_call c;

    emu_begin(&c, "format.encode", "packed=1");
    add(&c, "x", MXO_F32, 1, shape, x);
    run(&c, code, NULL);
    ck_assert_uint_eq(c.out[0].shape[0], 2);
    ck_assert_mem_eq(code, want, sizeof want);
}
END_TEST

START_TEST(encode_draws_one_random_word_per_element)
{
    const uint64_t shape[1] = {2};
    const uint32_t x[2] = {0x3fa00000, 0x3fa00000}; /* 1.25: r = 1/2 */
    const uint32_t rand[2] = {0x7f, 0x80};
    const uint8_t want[2] = {2, 3};
    uint8_t code[2];
    emu_call c;

    emu_begin(&c, "format.encode", "tie=sr,bits=8");
    add(&c, "x", MXO_F32, 1, shape, x);
    add(&c, "rand", MXO_U32, 1, shape, rand);
    run(&c, code, NULL);
    ck_assert_mem_eq(code, want, sizeof want);
}
END_TEST

START_TEST(convert_and_rcp_read_their_parameters)
{
    const uint64_t shape[1] = {2};
    const uint32_t x[2] = {0x3f80ffff, 0xffffffff};
    uint16_t bf16[2];
    uint32_t rcp[2];
    emu_call c;

    emu_begin(&c, "format.convert", "tie=rz,nan=ones");
    add(&c, "x", MXO_F32, 1, shape, x);
    run(&c, bf16, NULL);
    ck_assert_uint_eq(bf16[0], 0x3f80);
    ck_assert_uint_eq(bf16[1], 0x7fff);
    emu_begin(&c, "math.rcp", "mode=hopper");
    add(&c, "x", MXO_F32, 1, shape, x);
    run(&c, rcp, NULL);
    ck_assert_uint_eq(rcp[1], 0x7fffffff);
    emu_begin(&c, "math.rcp", "");
    add(&c, "x", MXO_F32, 1, shape, x);
    run(&c, rcp, NULL);
    ck_assert_uint_eq(rcp[1], 0x7fc00000);
}
END_TEST

START_TEST(scale_bytes_go_both_ways)
{
    const uint64_t shape[1] = {3};
    const uint16_t x[3] = {0x3f80, 0x3fc0, 0x0000};
    const uint8_t want[3] = {127, 128, 0};
    const uint32_t values[3] = {0x3f800000, 0x40000000, 0};
    uint8_t code[3];
    uint32_t y[3];
    emu_call c;

    emu_begin(&c, "format.e8m0_encode", "from=bf16,rule=rp");
    add(&c, "x", MXO_BF16, 1, shape, x);
    run(&c, code, NULL);
    ck_assert_mem_eq(code, want, sizeof want);
    emu_begin(&c, "format.e8m0_decode", "rule=shift");
    add(&c, "code", MXO_E8M0, 1, shape, code);
    run(&c, y, NULL);
    ck_assert_mem_eq(y, values, sizeof values);
}
END_TEST

typedef struct refused_case {
    const char *op;
    const char *params;
    const char *input;
    uint32_t dtype;
    uint32_t rank;
    uint64_t n;
    mxo_status status;
    const char *says;
} refused_case;

static const refused_case refused[] = {
    {"format.decode", "packed=1,format=e2m3", "code", MXO_U8, 1, 4, MXO_E_PARAM,
     "e2m1"},
    {"format.decode", "packed=1", "code", MXO_U8, 0, 0, MXO_E_PARAM, "an axis"},
    {"format.encode", "packed=1,format=e5m2", "x", MXO_F32, 1, 4, MXO_E_PARAM,
     "e2m1"},
    {"format.encode", "packed=1", "x", MXO_F32, 1, 3, MXO_E_SHAPE, "even"},
    {"format.encode", "dialect=hip", "x", MXO_F32, 1, 4, MXO_E_PARAM,
     "no such format"},
    {"format.encode", "dialect=ggml", "x", MXO_F32, 1, 4, MXO_E_PARAM,
     "round that way"},
    {"format.encode", "tie=sr,bits=0", "x", MXO_F32, 1, 4, MXO_E_SHAPE, "rand"},
    {"format.encode", "tie=sr", "x", MXO_F32, 1, 4, MXO_E_SHAPE, "rand"},
    {"format.e8m0_decode", "rule=ggml,to=f16", "code", MXO_E8M0, 1, 4,
     MXO_E_PARAM, "ggml"},
    {"format.e8m0_decode", "rule=quark", "code", MXO_E8M0, 1, 4, MXO_E_PARAM,
     "f32"},
};

START_TEST(what_cannot_be_done_is_refused_in_one_sentence)
{
    const refused_case *r = &refused[_i];
    const uint8_t bytes[64] = {0};
    emu_call c;

    emu_begin(&c, r->op, r->params);
    add(&c, r->input, r->dtype, r->rank, &r->n, bytes);
    emu_refuses(&c, r->status, r->says);
}
END_TEST

START_TEST(stochastic_encoding_checks_its_random_words)
{
    const uint64_t four[1] = {4};
    const uint64_t three[1] = {3};
    const uint32_t words[4] = {0};
    emu_call c;

    emu_begin(&c, "format.encode", "tie=sr");
    add(&c, "x", MXO_F32, 1, four, words);
    add(&c, "rand", MXO_U32, 1, three, words);
    emu_refuses(&c, MXO_E_SHAPE, "");
    emu_begin(&c, "format.encode", "tie=sr,bits=300");
    add(&c, "x", MXO_F32, 1, four, words);
    add(&c, "rand", MXO_U32, 1, four, words);
    emu_refuses(&c, MXO_E_PARAM, "random bits");
}
END_TEST

Suite *suite_format_ops(void);
Suite *suite_format_ops(void)
{
    Suite *s = suite_create("format_ops");
    TCase *t = tcase_create("ops");

    tcase_add_test(t, outputs_have_the_shape_of_the_input);
    tcase_add_test(t, decode_takes_two_codes_per_byte);
    tcase_add_test(t, decode_drops_the_sign_of_zero_on_request);
    tcase_add_test(t, encode_packs_the_even_index_low);
    tcase_add_test(t, encode_draws_one_random_word_per_element);
    tcase_add_test(t, convert_and_rcp_read_their_parameters);
    tcase_add_test(t, scale_bytes_go_both_ways);
    tcase_add_loop_test(t, what_cannot_be_done_is_refused_in_one_sentence, 0,
                        10);
    tcase_add_test(t, stochastic_encoding_checks_its_random_words);
    suite_add_tcase(s, t);
    return s;
}
