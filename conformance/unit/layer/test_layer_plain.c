/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fast layer has the bits of the plain one: every case of moe.layer in the
 * grid that is small enough, whatever its profile, order, quantiser, rounding
 * points, conversion and data.
 */
#include "case/grid.h"
#include "data/fill.h"
#include "layer/plain.h"
#include "unit/part.h"

#include <mxoracle/mxoracle.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Products of a case; the plain layer does some millions a second. */
enum { MOST_PRODUCTS = 400000, MAX_OUT = 4, ONE_IN = 8 };

typedef struct both_calls {
    mxo_call call;
    mxo_param params[OP_MAX_PARAMS];
    mxo_tensor in[OP_MAX_INPUTS];
    mxo_tensor out[MAX_OUT];
    uint32_t n_out;
    char why[256];
} both_calls;

static void describe(mxo_tensor *to, const host_tensor *from)
{
    *to = (mxo_tensor){.name = from->name,
                       .dtype = from->dtype,
                       .rank = from->rank,
                       .n_bytes = from->n_bytes,
                       .buffer = from->data};
    memcpy(to->shape, from->shape, sizeof to->shape);
}

static mxo_status begin(both_calls *b, const test_case *c, const tensor_set *in)
{
    const mxo_text why = {b->why, sizeof b->why};

    b->n_out = MAX_OUT;
    b->call = (mxo_call){.struct_size = sizeof b->call,
                         .n_params = (uint32_t)c->schema->n_params,
                         .n_in = in->n,
                         .op = c->schema->info->name,
                         .params = b->params,
                         .in = b->in,
                         .out = b->out};
    case_params(c, b->params);
    for (uint32_t i = 0; i < in->n; i++) {
        describe(&b->in[i], &in->t[i]);
    }
    /* The operation's own: the ABI's hides the scratch. */
    return infer_moe_layer(&b->call, b->out, &b->n_out, why);
}

/* The bytes of y, or NULL and the status. */
static uint8_t *answer(both_calls *b,
                       mxo_status (*run)(const mxo_call *call, mxo_text why),
                       mxo_status *status)
{
    for (uint32_t i = 0; i < b->n_out; i++) {
        b->out[i].buffer = calloc(1, (size_t)b->out[i].n_bytes + 1);
        ck_assert_ptr_nonnull(b->out[i].buffer);
    }
    b->call.n_out = b->n_out;
    *status = run(&b->call, (mxo_text){b->why, sizeof b->why});
    for (uint32_t i = 1; i < b->n_out; i++) {
        free(b->out[i].buffer);
    }
    return b->out[0].buffer;
}

static uint64_t products(const test_case *c)
{
    return case_dim(c, "tokens") * case_dim(c, "topk") * case_dim(c, "hidden") *
           case_dim(c, "inter") * 3;
}

/* 1 if both answered. */
static int compare(const test_case *c, uint64_t seed, const char *text)
{
    static tensor_set in;
    both_calls b;
    mxo_status fast_status;
    mxo_status plain_status;
    int answered = 0;

    ck_assert_msg(fill_inputs(c, seed, &in, (mxo_text){b.why, sizeof b.why}) ==
                      0,
                  "%s: %s", text, b.why);
    if (begin(&b, c, &in) == MXO_OK) {
        const size_t n = (size_t)b.out[0].n_bytes;
        uint8_t *fast = answer(&b, run_moe_layer, &fast_status);
        uint8_t *plain = answer(&b, run_moe_layer_plain, &plain_status);
        ck_assert_msg(fast_status == plain_status, "%s: %d and %d, %s", text,
                      (int)fast_status, (int)plain_status, b.why);
        answered = fast_status == MXO_OK;
        ck_assert_msg(!answered || memcmp(fast, plain, n) == 0,
                      "%s: the fast layer and the plain one differ", text);
        free(fast);
        free(plain);
    }
    tensor_set_clear(&in);
    return answered;
}

START_TEST(the_fast_layer_has_the_bits_of_the_plain_one)
{
    static char pattern[] = "moe.layer";
    char *const patterns[] = {pattern};
    case_list cases = {0};
    char why[256] = "";
    test_case c;
    int n = 0;

    ck_assert_msg(grid_append(&cases, 2, patterns, 1, 1,
                              (mxo_text){why, sizeof why}) == 0,
                  "%s", why);
    for (size_t i = 0; i < cases.n; i += unit_step(ONE_IN)) {
        ck_assert_int_eq(
            case_parse(&c, cases.item[i].text, (mxo_text){why, sizeof why}), 0);
        if (strcmp(case_value(&c, "bounds"), "0") == 0 &&
            products(&c) <= MOST_PRODUCTS) {
            n += compare(&c, cases.item[i].seed, cases.item[i].text);
        }
    }
    ck_assert_int_gt(n, 200 / (int)unit_part());
    case_list_clear(&cases);
}
END_TEST

Suite *suite_layer_plain(void);
Suite *suite_layer_plain(void)
{
    Suite *s = suite_create("layer_plain");
    TCase *t = tcase_create("bits");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, the_fast_layer_has_the_bits_of_the_plain_one);
    suite_add_tcase(s, t);
    return s;
}
