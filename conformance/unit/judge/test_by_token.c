/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call in parts has the bytes of the call in one piece: cases of the grid of
 * every operation that by_token.def lists, whatever their profile, data and
 * conversion.
 */
#include "by_token/by_token.h"

#include "case/grid.h"
#include "data/fill.h"
#include "unit/part.h"

#include <mxoracle/mxoracle.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OUT = 16, ONE_IN = 20 };

static const uint64_t MOST_WORK = 400000;

typedef struct scene {
    mxo_call call;
    mxo_param params[OP_MAX_PARAMS];
    mxo_tensor in[OP_MAX_INPUTS];
    mxo_tensor out[MAX_OUT];
    char why[256];
} scene;

/* Inputs lie at offset 0, outputs at 16 of their buffers. */
static mxo_status begin(scene *s, const test_case *c, const tensor_set *in)
{
    uint32_t n = MAX_OUT;

    s->call = (mxo_call){.struct_size = sizeof s->call,
                         .n_params = (uint32_t)c->schema->n_params,
                         .n_in = in->n,
                         .op = c->schema->info->name,
                         .params = s->params,
                         .in = s->in,
                         .out = s->out};
    case_params(c, s->params);
    for (uint32_t i = 0; i < in->n; i++) {
        const host_tensor *t = &in->t[i];
        s->in[i] = (mxo_tensor){.name = t->name,
                                .dtype = t->dtype,
                                .rank = t->rank,
                                .n_bytes = t->n_bytes,
                                .buffer = t->data};
        memcpy(s->in[i].shape, t->shape, sizeof t->shape);
    }
    const mxo_status status = mxo_emulator()->infer(
        NULL, &s->call, s->out, &n, (mxo_text){s->why, sizeof s->why});

    s->call.n_out = n;
    return status;
}

/* All bytes of the outputs, guards included; the caller frees them. */
static uint8_t *answer(scene *s, unsigned n_parts, size_t *n_bytes,
                       mxo_status *status)
{
    size_t at = 0;
    uint8_t *bytes;

    *n_bytes = 0;
    for (uint32_t i = 0; i < s->call.n_out; i++) {
        *n_bytes += (size_t)s->out[i].n_bytes + 32;
    }
    bytes = malloc(*n_bytes);
    ck_assert_ptr_nonnull(bytes);
    memset(bytes, 0xaa, *n_bytes);
    for (uint32_t i = 0; i < s->call.n_out; i++) {
        s->out[i].buffer = bytes + at;
        s->out[i].offset = 16;
        at += (size_t)s->out[i].n_bytes + 32;
    }
    *status = by_token_run(mxo_emulator(), NULL, &s->call, n_parts,
                           (mxo_text){s->why, sizeof s->why});
    return bytes;
}

/* 1 if the call could be cut. */
static int compare(const char *text, uint64_t seed)
{
    static const unsigned n_parts[] = {2, 3, 64};
    tensor_set in = {0};
    test_case c;
    scene s;
    mxo_status want_status;
    mxo_status status;
    size_t n;
    int is_cut = 0;

    ck_assert_int_eq(case_parse(&c, text, (mxo_text){s.why, sizeof s.why}), 0);
    if (c.flaw[0] != '\0' || case_dim(&c, "tokens") < 2 ||
        case_dim(&c, "tokens") * case_dim(&c, "topk") * case_dim(&c, "inter") *
                case_dim(&c, "hidden") >
            MOST_WORK) {
        return 0;
    }
    ck_assert_int_eq(
        fill_inputs(&c, seed, &in, (mxo_text){s.why, sizeof s.why}), 0);
    if (begin(&s, &c, &in) == MXO_OK) {
        uint8_t *want = answer(&s, 1, &n, &want_status);
        const unsigned parts = n_parts[seed % 3];
        is_cut = by_token_count(&s.call) > 1;
        uint8_t *got = answer(&s, parts, &n, &status);
        ck_assert_msg(status == want_status, "%s: in %u parts %d, not %d", text,
                      parts, (int)status, (int)want_status);
        ck_assert_msg(memcmp(want, got, n) == 0,
                      "%s: %u parts have other bytes than one", text, parts);
        free(want);
        free(got);
    }
    tensor_set_clear(&in);
    return is_cut;
}

static void compare_all(const char *op)
{
    char pattern[OP_WORD];
    char *const patterns[] = {pattern};
    case_list cases = {0};
    char why[256] = "";
    int n = 0;

    (void)snprintf(pattern, sizeof pattern, "%s", op);
    ck_assert_msg(grid_append(&cases, 2, patterns, 1, 1,
                              (mxo_text){why, sizeof why}) == 0,
                  "%s", why);
    for (size_t i = 0; i < cases.n; i += unit_step(ONE_IN)) {
        n += compare(cases.item[i].text, cases.item[i].seed + i);
    }
    ck_assert_msg(n > 0, "no case of %s was cut", op);
    case_list_clear(&cases);
}

START_TEST(parts_have_the_bytes_of_the_whole)
{
    static const char *const ops[] = {
#define MXO_BY_BATCH(key, value)
#define MXO_BY_TOKEN(op, inputs) op,
#include "by_token/by_token.def"
#undef MXO_BY_TOKEN
#undef MXO_BY_BATCH
    };

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        compare_all(ops[i]);
    }
}
END_TEST

Suite *suite_by_token(void);
Suite *suite_by_token(void)
{
    Suite *s = suite_create("by_token");
    TCase *t = tcase_create("bytes");

    tcase_add_test(t, parts_have_the_bytes_of_the_whole);
    suite_add_tcase(s, t);
    return s;
}
