/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants that each expert has for itself.  With alpha 0 the sigmoid is 1/2,
 * so that (min(gate, limit) / 2) * (up clamped + beta) is right by hand.
 */
#include "layer_fixture.h"

#include <check.h>
#include <math.h>
#include <string.h>

typedef struct constants {
    float alpha[E];
    float beta[E];
    float limit[E];
} constants;

/* gate 4 and up -6, whichever expert it is. */
static void make(layer *l, constants *k)
{
    layer_clear(l);
    l->x[0] = 0x4000; /* 2 */
    for (int e = 0; e < E; e++) {
        layer_put(l->w13[e][0], 0, 4);  /* 2 */
        layer_put(l->w13[e][1], 0, 13); /* -3 */
    }
    *k = (constants){{0, 0}, {1, 3}, {8, 2}};
}

static void begin(emu_call *c, const layer *l, const constants *k,
                  const char *params)
{
    layer_begin_first(c, l, params);
    emu_in(c, "gemm1_alpha", MXO_F32, k->alpha, 1, E);
    emu_in(c, "gemm1_beta", MXO_F32, k->beta, 1, E);
    emu_in(c, "gemm1_clamp_limit", MXO_F32, k->limit, 1, E);
}

static void expect(const layer *l, const constants *k, const char *params,
                   float want)
{
    emu_call c;
    uint32_t bits;

    begin(&c, l, k, params);
    memcpy(&bits, &want, sizeof bits);
    const uint32_t got = layer_first(&c);

    ck_assert_msg(got == bits, "%s: %08x, not %08x", params, got, bits);
}

#define WIDE "glu_out=f32,"
START_TEST(an_expert_has_its_own)
{
    layer l;
    constants k;

    make(&l, &k);
    expect(&l, &k, WIDE "per_expert=all", -10); /* 4/2 * (-6 + 1) */
    l.ids[0] = 1;
    expect(&l, &k, WIDE "per_expert=all", 1); /* 2/2 * (-2 + 3) */
}
END_TEST

START_TEST(the_rest_is_the_calls)
{
    layer l;
    constants k;

    make(&l, &k);
    l.ids[0] = 1;
    expect(&l, &k, WIDE "per_expert=none,alpha=0,beta=0.5,limit=5", -9);
    expect(&l, &k, WIDE "per_expert=alpha,beta=0.5,limit=5", -9);
    expect(&l, &k, WIDE "per_expert=beta,alpha=0,limit=5", -4);
    expect(&l, &k, WIDE "per_expert=limit,alpha=0,beta=0.5", -1.5F);
    k.limit[1] = INFINITY;
    expect(&l, &k, WIDE "per_expert=limit,alpha=0,beta=0.5,limit=1", -11);
}
END_TEST

START_TEST(entries_belong_to_the_experts_here)
{
    layer l;
    constants k;

    make(&l, &k);
    l.n_map = 2;
    l.map[0] = 1;
    l.map[1] = 0;
    expect(&l, &k, WIDE "map=1,per_expert=all", 1);
    l.ids[0] = 1;
    expect(&l, &k, WIDE "map=1,per_expert=all", -10);
}
END_TEST

static void refuses(const layer *l, const constants *k, const char *params,
                    mxo_status status, const char *word)
{
    emu_call c;

    begin(&c, l, k, params);
    emu_refuses(&c, status, word);
}

START_TEST(what_is_no_limit_is_refused)
{
    layer l;
    constants k;

    make(&l, &k);
    k.limit[1] = -1; /* of the expert without a token */
    refuses(&l, &k, "per_expert=all", MXO_E_PARAM,
            "expert 1: a limit is not negative");
    k.limit[1] = -INFINITY;
    refuses(&l, &k, "per_expert=limit", MXO_E_PARAM, "not negative");
    k.limit[1] = NAN;
    refuses(&l, &k, "per_expert=limit", MXO_E_PARAM,
            "expert 1: a limit is a number");
    expect(&l, &k, WIDE "per_expert=beta,alpha=0,limit=8", -10);
    k.alpha[1] = NAN;
    refuses(&l, &k, "per_expert=alpha", MXO_E_PARAM,
            "expert 1: alpha and beta are numbers");
    refuses(&l, &k, "per_expert=none,beta=nan", MXO_E_PARAM,
            "alpha and beta are numbers");
}
END_TEST

START_TEST(constants_without_a_place_are_refused)
{
    layer l;
    constants k;

    make(&l, &k);
    refuses(&l, &k, "activation=silu,per_expert=all", MXO_E_PARAM,
            "no gemm1_alpha");
    refuses(&l, &k, "activation=silu,per_expert=beta", MXO_E_PARAM,
            "no gemm1_beta");
    refuses(&l, &k, "profile=TRITON,per_expert=limit", MXO_E_PARAM,
            "has limit=7 in its code");
    refuses(&l, &k, "profile=TRITON_UNFUSED,per_expert=all", MXO_E_PARAM,
            "has beta=1");
    expect(&l, &k,
           WIDE "activation=silu,per_expert=limit,stage=gemm,"
                "gemm1_out=f32",
           4);
}
END_TEST

START_TEST(vectors_have_an_entry_for_every_expert)
{
    layer l;
    constants k;
    emu_call c;

    make(&l, &k);
    layer_begin_first(&c, &l, "per_expert=limit");
    emu_in(&c, "gemm1_clamp_limit", MXO_F32, k.limit, 1, 1);
    emu_refuses(&c, MXO_E_SHAPE, "gemm1_clamp_limit");
    layer_begin_first(&c, &l, "per_expert=beta");
    emu_in(&c, "gemm1_beta", MXO_F32, k.beta, 2, 1, E);
    emu_refuses(&c, MXO_E_SHAPE, "gemm1_beta");
    layer_begin_first(&c, &l, "per_expert=alpha");
    emu_refuses(&c, MXO_E_SHAPE, "needs the input gemm1_alpha");
}
END_TEST

Suite *suite_layer_per_expert(void);
Suite *suite_layer_per_expert(void)
{
    Suite *s = suite_create("layer_per_expert");
    TCase *t = tcase_create("layer_per_expert");

    tcase_add_test(t, an_expert_has_its_own);
    tcase_add_test(t, the_rest_is_the_calls);
    tcase_add_test(t, entries_belong_to_the_experts_here);
    tcase_add_test(t, what_is_no_limit_is_refused);
    tcase_add_test(t, constants_without_a_place_are_refused);
    tcase_add_test(t, vectors_have_an_entry_for_every_expert);
    suite_add_tcase(s, t);
    return s;
}
