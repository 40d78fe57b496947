/* SPDX-License-Identifier: Apache-2.0 */
/* Building and running the layer of layer_fixture.h. */
#include "layer_fixture.h"

#include <check.h>
#include <string.h>

void layer_clear(layer *l)
{
    memset(l, 0, sizeof *l);
    memset(l->s13, ONE, sizeof l->s13);
    memset(l->s2, ONE, sizeof l->s2);
    l->topk = 1;
    l->half = MXO_BF16;
    l->given[0] = 0x3f800000;
    l->given[1] = 0x3f800000;
    for (int i = 0; i < 8; i++) {
        l->weights[i] = 0x3f800000;
    }
}

void layer_put(uint8_t *row, int k, unsigned code)
{
    row[k / 2] |= (uint8_t)(code << (4 * (k % 2)));
}

static void add_ids(emu_call *c, const layer *l)
{
    emu_in(c, "topk_ids", MXO_I32, l->ids, 2, 1, l->topk);
    if (l->n_map > 0) {
        emu_in(c, "expert_map", MXO_I32, l->map, 1, l->n_map);
    }
}

static void add_first(emu_call *c, const layer *l)
{
    emu_in(c, "x", l->half, l->x, 2, 1, H);
    emu_in(c, "w13", MXO_U8, l->w13, 3, E, 2 * I, H / 2);
    emu_in(c, "w13_scale", MXO_E8M0, l->s13, 3, E, 2 * I, H / 32);
    emu_in(c, "w13_bias", l->half, l->b13, 2, E, 2 * I);
}

static void add_second(emu_call *c, const layer *l)
{
    emu_in(c, "topk_weights", MXO_F32, l->weights, 2, 1, l->topk);
    emu_in(c, "w2", MXO_U8, l->w2, 3, E, H, I / 2);
    emu_in(c, "w2_scale", MXO_E8M0, l->s2, 3, E, H, I / 32);
    emu_in(c, "w2_bias", l->half, l->b2, 2, E, H);
}

void layer_begin(emu_call *c, const layer *l, const char *params)
{
    emu_begin(c, "moe.layer", params);
    add_ids(c, l);
    add_first(c, l);
    add_second(c, l);
    emu_in(c, "w13_input_scale", MXO_F32, &l->given[0], 1, 1);
    emu_in(c, "w2_input_scale", MXO_F32, &l->given[1], 1, 1);
}

void layer_begin_first(emu_call *c, const layer *l, const char *params)
{
    emu_begin(c, "moe.gemm1", params);
    add_ids(c, l);
    add_first(c, l);
    emu_in(c, "w13_input_scale", MXO_F32, &l->given[0], 1, 1);
}

void layer_begin_second(emu_call *c, const layer *l, const char *params)
{
    emu_begin(c, "moe.gemm2", params);
    add_ids(c, l);
    add_second(c, l);
    emu_in(c, "act", l->half, l->act, 3, 1, l->topk, I);
    emu_in(c, "w2_input_scale", MXO_F32, &l->given[1], 1, 1);
}

uint32_t layer_first(emu_call *c)
{
    const mxo_status status = emu_run(c);
    uint32_t wide = 0;
    uint16_t half = 0;

    ck_assert_msg(status == MXO_OK, "%s", c->why);
    if (emu_out(c, "y")->dtype == MXO_F32) {
        memcpy(&wide, emu_bytes(c, "y"), sizeof wide);
    } else {
        memcpy(&half, emu_bytes(c, "y"), sizeof half);
        wide = half;
    }
    emu_end(c);
    return wide;
}

static void expect(emu_call *c, const char *params, uint32_t want)
{
    const uint32_t got = layer_first(c);

    ck_assert_msg(got == want, "%s: %08x, not %08x", params, got, want);
}

void expect_layer(const layer *l, const char *params, uint32_t want)
{
    emu_call c;

    layer_begin(&c, l, params);
    expect(&c, params, want);
}

void expect_first(const layer *l, const char *params, uint32_t want)
{
    emu_call c;

    layer_begin_first(&c, l, params);
    expect(&c, params, want);
}

void expect_second(const layer *l, const char *params, uint32_t want)
{
    emu_call c;

    layer_begin_second(&c, l, params);
    expect(&c, params, want);
}
