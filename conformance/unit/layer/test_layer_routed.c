/* SPDX-License-Identifier: Apache-2.0 */
/* A layer from its logits on is the router, then the layer. */
#include "unit/emu_call.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { T = 3, R = 8, N = 4, K = 2, H = 32, I = 32 };

typedef struct inputs {
    float logits[T][R];
    float correction[R];
    int32_t map[R]; /* experts 2 .. 5 are here, in reverse */
    uint16_t x[T][H];
    uint8_t w13[N][2 * I][H / 2];
    uint8_t s13[N][2 * I][1];
    uint8_t w2[N][H][I / 2];
    uint8_t s2[N][H][1];
} inputs;

static void fill(inputs *in)
{
    uint32_t state = 3;

    memset(in, 0, sizeof *in);
    for (int i = 0; i < T * R; i++) {
        state = state * 1664525u + 1013904223u;
        in->logits[i / R][i % R] = (float)(state >> 16) / 8192 - 4;
        in->correction[i % R] = (float)(state >> 20) / 4096;
    }
    for (int i = 0; i < R; i++) {
        in->map[i] = i >= 2 && i < 6 ? 5 - i : -1;
    }
    for (int i = 0; i < T * H; i++) {
        state = state * 1664525u + 1013904223u;
        in->x[i / H][i % H] = (uint16_t)(0x3f00 + (state >> 24));
    }
    for (size_t i = 0; i < sizeof in->w13; i++) {
        state = state * 1664525u + 1013904223u;
        ((uint8_t *)in->w13)[i] = (uint8_t)(state >> 24);
        ((uint8_t *)in->w2)[i / 2] = (uint8_t)(state >> 16);
    }
    memset(in->s13, 0x7c, sizeof in->s13);
    memset(in->s2, 0x7e, sizeof in->s2);
}

static void add_weights(emu_call *c, const inputs *in)
{
    emu_in(c, "x", MXO_BF16, in->x, 2, T, H);
    emu_in(c, "expert_map", MXO_I32, in->map, 1, R);
    emu_in(c, "w13", MXO_U8, in->w13, 3, N, 2 * I, H / 2);
    emu_in(c, "w13_scale", MXO_E8M0, in->s13, 3, N, 2 * I, 1);
    emu_in(c, "w2", MXO_U8, in->w2, 3, N, H, I / 2);
    emu_in(c, "w2_scale", MXO_E8M0, in->s2, 3, N, H, 1);
}

typedef struct routed_case {
    const char *route; /* of route.topk */
    const char *whole; /* the same for the layer */
    const char *layer;
} routed_case;

static const routed_case cases[] = {
    {"dialect=softmax_topk,from=f32,top_k=2,renormalize=1",
     "dialect=softmax_topk,logits=f32,top_k=2,renormalize=1", "map=1"},
    {"dialect=topk_softmax,from=f32,top_k=2",
     "dialect=topk_softmax,logits=f32,top_k=2", "map=1,profile=MARLIN"},
    {"dialect=trtllm_deepseek_v3,from=f32,top_k=2,n_group=4,topk_group=2,"
     "bias=f32,routed_scaling_factor=2.5",
     "dialect=trtllm_deepseek_v3,logits=f32,top_k=2,n_group=4,topk_group=2,"
     "correction=f32,routed_scaling_factor=2.5",
     "map=1,profile=TRITON"},
};

START_TEST(a_routed_layer_is_a_router_and_a_layer)
{
    const routed_case *k = &cases[_i];
    int32_t ids[T][K];
    float weights[T][K];
    uint16_t want[T][H];
    char text[256];
    inputs in;
    emu_call c;

    fill(&in);
    emu_begin(&c, "route.topk", k->route);
    emu_in(&c, "logits", MXO_F32, in.logits, 2, T, R);
    emu_in(&c, "bias", MXO_F32, in.correction, 1, R);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    memcpy(ids, emu_bytes(&c, "topk_ids"), sizeof ids);
    memcpy(weights, emu_bytes(&c, "topk_weights"), sizeof weights);
    emu_end(&c);

    emu_begin(&c, "moe.layer", k->layer);
    emu_in(&c, "topk_ids", MXO_I32, ids, 2, T, K);
    emu_in(&c, "topk_weights", MXO_F32, weights, 2, T, K);
    add_weights(&c, &in);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    memcpy(want, emu_bytes(&c, "y"), sizeof want);
    emu_end(&c);

    (void)snprintf(text, sizeof text, "%s,%s", k->whole, k->layer);
    emu_begin(&c, "moe.layer_routed", text);
    emu_in(&c, "logits", MXO_F32, in.logits, 2, T, R);
    emu_in(&c, "correction_bias", MXO_F32, in.correction, 1, R);
    add_weights(&c, &in);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    ck_assert_mem_eq(emu_bytes(&c, "y"), want, sizeof want);
    emu_end(&c);
}
END_TEST

START_TEST(what_either_refuses_is_refused)
{
    static const char *const params[] = {
        "logits=f32,top_k=2", "logits=f32,top_k=9,map=1",
        "logits=f32,top_k=2,map=1,profile=NONE",
        "logits=f32,top_k=2,map=1,routing_at=input"};
    static const char *const words[] = {"each of 4 experts", "top_k",
                                        "does not say", "top-k of 1"};
    static const mxo_status status[] = {MXO_E_SHAPE, MXO_E_PARAM,
                                        MXO_E_UNSUPPORTED, MXO_E_PARAM};
    inputs in;
    emu_call c;

    fill(&in);
    emu_begin(&c, "moe.layer_routed", params[_i]);
    emu_in(&c, "logits", MXO_F32, in.logits, 2, T, R);
    if (strstr(params[_i], "map=1") != NULL) {
        add_weights(&c, &in);
    } else {
        emu_in(&c, "x", MXO_BF16, in.x, 2, T, H);
        emu_in(&c, "w13", MXO_U8, in.w13, 3, N, 2 * I, H / 2);
        emu_in(&c, "w13_scale", MXO_E8M0, in.s13, 3, N, 2 * I, 1);
        emu_in(&c, "w2", MXO_U8, in.w2, 3, N, H, I / 2);
        emu_in(&c, "w2_scale", MXO_E8M0, in.s2, 3, N, H, 1);
    }
    emu_refuses(&c, status[_i], words[_i]);
}
END_TEST

Suite *suite_layer_routed(void);
Suite *suite_layer_routed(void)
{
    Suite *s = suite_create("layer_routed");
    TCase *both = tcase_create("both");

    tcase_add_loop_test(both, a_routed_layer_is_a_router_and_a_layer, 0,
                        sizeof cases / sizeof cases[0]);
    tcase_add_loop_test(both, what_either_refuses_is_refused, 0, 4);
    suite_add_tcase(s, both);
    return s;
}
