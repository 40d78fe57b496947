/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts add up to the whole: tensor-parallel shards of any even size, on the
 * block or off it, and slices of the experts.  Outputs of the activation lie
 * between 1 and 2^8 with 8 bits, and a row of w2 has 16 live columns of them,
 * so that every sum is exact in binary32 and bits must agree.
 */
#include "unit/emu_call.h"

#include <check.h>
#include <string.h>

enum { T = 4, K = 2, E = 5, H = 32, I = 96, BLOCKS = 3, LIVE = 16 };

/* Weights as one code per byte, so that any column can be taken. */
typedef struct whole {
    uint16_t x[T][H];
    uint8_t w13[E][2 * I][H];
    uint8_t w2[E][H][I];
    int32_t ids[T][K];
    uint32_t weights[T][K];
} whole;

static uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 12;
}

/* x is 1 in column 0 and 2 in column 1; gates are 4 or 6 times it, ups 2 to
   12: silu(gate) * up is above 1 and below 2^8. */
static void fill(whole *w)
{
    uint32_t state = 11;

    memset(w, 0, sizeof *w);
    for (int t = 0; t < T; t++) {
        w->x[t][t % 2] = 0x3f80;
        w->x[t][t % 2 + 1] = 0x4000;
        for (int j = 0; j < K; j++) {
            w->ids[t][j] = (int32_t)((draw(&state) + 2 * (uint32_t)j) % E);
            w->weights[t][j] = j == 0 ? 0x3f800000 : 0x3f000000;
        }
    }
    for (int i = 0; i < E * I; i++) {
        uint8_t(*rows)[H] = &w->w13[i / I][2 * (i % I)];
        for (int k = 0; k < 3; k++) {
            rows[0][k] = (uint8_t)(2 + draw(&state) % 5);
            rows[1][k] = (uint8_t)(2 + draw(&state) % 6);
        }
    }
    for (int i = 0; i < E * H; i++) {
        for (int k = 0; k < LIVE; k++) {
            const uint32_t col = draw(&state) % I;
            w->w2[i / H][i % H][col] = (uint8_t)(draw(&state) % 16);
        }
    }
}

/* Experts first .. end - 1 and columns from .. to - 1 of the activation. */
typedef struct part {
    int first, end;
    int from, to;
} part;

static void pack(uint8_t *to, const uint8_t *codes, int n)
{
    for (int i = 0; i < n; i += 2) {
        to[i / 2] = (uint8_t)(codes[i] | codes[i + 1] << 4);
    }
}

static void run_part(const whole *w, part p, float y[T][H])
{
    static uint8_t w13[E * 2 * I * H / 2];
    static uint8_t w2[E * H * I / 2];
    static uint8_t scale[E * 2 * I * BLOCKS];
    const int n = p.to - p.from;
    const int experts = p.end - p.first;
    int32_t map[E];
    emu_call c;

    memset(scale, 0x7f, sizeof scale);
    for (int e = 0; e < E; e++) {
        const int here = e >= p.first && e < p.end;
        map[e] = here ? e - p.first : -1;
        for (int r = 0; here && r < 2 * n; r++) {
            pack(w13 + ((e - p.first) * 2 * n + r) * (H / 2),
                 w->w13[e][2 * p.from + r], H);
        }
        for (int r = 0; here && r < H; r++) {
            pack(w2 + ((e - p.first) * H + r) * (n / 2), w->w2[e][r] + p.from,
                 n);
        }
    }
    emu_begin(&c, "moe.layer", "activation=silu,limit=none,out=f32,map=1");
    emu_in(&c, "x", MXO_BF16, w->x, 2, T, H);
    emu_in(&c, "topk_ids", MXO_I32, w->ids, 2, T, K);
    emu_in(&c, "expert_map", MXO_I32, map, 1, E);
    emu_in(&c, "topk_weights", MXO_F32, w->weights, 2, T, K);
    emu_in(&c, "w13", MXO_U8, w13, 3, experts, 2 * n, H / 2);
    emu_in(&c, "w13_scale", MXO_E8M0, scale, 3, experts, 2 * n, 1);
    emu_in(&c, "w2", MXO_U8, w2, 3, experts, H, n / 2);
    emu_in(&c, "w2_scale", MXO_E8M0, scale, 3, experts, H, (n + 31) / 32);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    memcpy(y, emu_bytes(&c, "y"), sizeof(float[T][H]));
    emu_end(&c);
}

static void expect_parts(const part *parts, int n)
{
    static whole w;
    float want[T][H];
    float got[T][H];
    float sum[T][H] = {{0}};
    int live = 0;

    fill(&w);
    run_part(&w, (part){0, E, 0, I}, want);
    for (int p = 0; p < n; p++) {
        run_part(&w, parts[p], got);
        for (int i = 0; i < T * H; i++) {
            sum[i / H][i % H] += got[i / H][i % H];
        }
    }
    for (int i = 0; i < T * H; i++) {
        live += want[i / H][i % H] != 0;
        ck_assert_msg(sum[i / H][i % H] == want[i / H][i % H],
                      "token %d, column %d: %a, not %a", i / H, i % H,
                      (double)sum[i / H][i % H], (double)want[i / H][i % H]);
    }
    ck_assert_int_gt(live, T * H / 2);
}

/* Where the intermediate size is cut. */
static const int cuts[][2] = {{32, 64}, {18, 50}, {2, 4}, {46, 94}, {34, 34}};

START_TEST(shards_add_up)
{
    const int *cut = cuts[_i];
    const part parts[] = {
        {0, E, 0, cut[0]}, {0, E, cut[0], cut[1]}, {0, E, cut[1], I}};

    if (cut[0] == cut[1]) { /* two of them */
        const part two[] = {parts[0], parts[2]};
        expect_parts(two, 2);
    } else {
        expect_parts(parts, 3);
    }
}
END_TEST

START_TEST(slices_of_experts_add_up)
{
    static const part parts[] = {{0, 1, 0, I}, {1, 3, 0, I}, {3, E, 0, I}};

    expect_parts(parts, 3);
}
END_TEST

/* Both at once: every expert's columns are somewhere, once. */
START_TEST(slices_of_shards_add_up)
{
    static const part parts[] = {
        {0, 2, 0, 22}, {0, 2, 22, I}, {2, E, 0, 70}, {2, E, 70, I}};

    expect_parts(parts, 4);
}
END_TEST

Suite *suite_layer_parts(void);
Suite *suite_layer_parts(void)
{
    Suite *s = suite_create("layer_parts");
    TCase *sums = tcase_create("sums");

    tcase_add_loop_test(sums, shards_add_up, 0, sizeof cuts / sizeof cuts[0]);
    tcase_add_test(sums, slices_of_experts_add_up);
    tcase_add_test(sums, slices_of_shards_add_up);
    suite_add_tcase(s, sums);
    return s;
}
