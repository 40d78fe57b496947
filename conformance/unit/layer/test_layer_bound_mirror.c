/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a bound of sums in no declared order cannot depend on: the order of K
 * and signs that both factors share; and weights with the other sign turn the
 * ends around.
 */
#include "layer_fixture.h"

#include <bounds/bound.h>
#include <check.h>
#include <string.h>

enum { SEEDS = 60, K = 96, COLS = 8, NEG = 8 };

/* Sums of one row of x with COLS rows of weights. */
typedef struct rows {
    uint16_t x[K];
    uint8_t w[COLS][K / 2];
    uint8_t scale[COLS][K / 32];
} rows;

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 9;
}

static unsigned code_at(const uint8_t *row, int k)
{
    return row[k / 2] >> 4 * (k % 2) & 0xfu;
}

/* A fourth of the numbers are zero, others of 16 binades. */
static void fill_bf16(uint16_t *x, int n, uint32_t *seed)
{
    for (int i = 0; i < n; i++) {
        const uint32_t field = 116 + next(seed) % 16;
        x[i] = (uint16_t)(next(seed) % 4 == 0
                              ? 0
                              : (next(seed) & 0x807f) | field << 7);
    }
}

static void fill_bytes(void *bytes, size_t n, uint32_t *seed)
{
    uint8_t *to = bytes;

    for (size_t i = 0; i < n; i++) {
        to[i] = (uint8_t)next(seed);
    }
}

/* The products from the last to the first, of some both factors negated. */
static rows turned(const rows *from, uint32_t *seed)
{
    rows to = {{0}, {{0}}, {{0}}};

    for (int k = 0; k < K; k++) {
        const unsigned neg = next(seed) % 2;
        to.x[K - 1 - k] = (uint16_t)(from->x[k] ^ neg << 15);
        for (int r = 0; r < COLS; r++) {
            layer_put(to.w[r], K - 1 - k, code_at(from->w[r], k) ^ neg * NEG);
            to.scale[r][(K - 1 - k) / 32] = from->scale[r][k / 32];
        }
    }
    return to;
}

static void run_rows(emu_call *c, const rows *r)
{
    static const int32_t id = 0;

    emu_begin(c, "moe.gemm1", "order=any,stage=gemm,gemm1_out=f32,bounds=1");
    emu_in(c, "x", MXO_BF16, r->x, 2, 1, K);
    emu_in(c, "topk_ids", MXO_I32, &id, 2, 1, 1);
    emu_in(c, "w13", MXO_U8, r->w, 3, 1, COLS, K / 2);
    emu_in(c, "w13_scale", MXO_E8M0, r->scale, 3, 1, COLS, K / 32);
    ck_assert_msg(emu_run(c) == MXO_OK, "%s", c->why);
}

START_TEST(ends_do_not_depend_on_the_order_of_k)
{
    for (uint32_t i = 0; i < SEEDS; i++) {
        uint32_t seed = i;
        emu_call c;
        emu_call d;
        rows r;
        fill_bf16(r.x, K, &seed);
        fill_bytes(r.w, sizeof r.w, &seed);
        for (int b = 0; b < COLS * K / 32; b++) {
            r.scale[b / (K / 32)][b % (K / 32)] =
                (uint8_t)(124 + next(&seed) % 6);
        }
        const rows t = turned(&r, &seed);
        run_rows(&c, &r);
        run_rows(&d, &t);
        ck_assert_mem_eq(emu_bytes(&c, "y_lo"), emu_bytes(&d, "y_lo"),
                         COLS * 4);
        ck_assert_mem_eq(emu_bytes(&c, "y_hi"), emu_bytes(&d, "y_hi"),
                         COLS * 4);
        emu_end(&c);
        emu_end(&d);
    }
}
END_TEST

static void run_whole(emu_call *c, const layer *l)
{
    layer_begin(c, l,
                "order=any,quant=none,requant=none,gemm1_out=bf16,glu=triton,"
                "glu_out=bf16,routing_at=sum,row_out=f32,out=f32,bounds=1");
    ck_assert_msg(emu_run(c) == MXO_OK, "%s", c->why);
}

/* The end of every output as a pattern; a zero has no sign here. */
static uint32_t end_at(const emu_call *c, const char *name, int i, int negate)
{
    uint32_t y;

    memcpy(&y, emu_bytes(c, name) + 4 * i, sizeof y);
    y ^= negate ? 0x80000000u : 0;
    return y == 0x80000000u ? 0 : y;
}

START_TEST(ends_turn_around_with_the_sign_of_weights)
{
    for (uint32_t i = 0; i < SEEDS; i++) {
        uint32_t seed = i;
        emu_call c;
        emu_call d;
        layer l;
        layer_clear(&l);
        fill_bf16(l.x, H, &seed);
        fill_bytes(l.w13, sizeof l.w13, &seed);
        fill_bytes(l.w2, sizeof l.w2, &seed);
        layer m = l;
        for (int k = 0; k < H * I / 2; k++) {
            m.w2[0][k / (I / 2)][k % (I / 2)] ^= NEG | NEG << 4;
        }
        run_whole(&c, &l);
        run_whole(&d, &m);
        for (int k = 0; k < H; k++) {
            ck_assert_uint_eq(end_at(&c, "y_lo", k, 0),
                              end_at(&d, "y_hi", k, 1));
            ck_assert_uint_eq(end_at(&c, "y_hi", k, 0),
                              end_at(&d, "y_lo", k, 1));
        }
        emu_end(&c);
        emu_end(&d);
    }
}
END_TEST

/* Exponent of the lowest bit of a code's value; zero has none. */
static const int lowest_bit[8] = {INT16_MAX, -1, 0, -1, 1, 0, 2, 1};

START_TEST(nonzero_codes_and_their_unit)
{
    uint32_t seed = 1;

    for (int i = 0; i < 200; i++) {
        uint8_t codes[16];
        mxo_dot_block x;
        uint32_t mask = 0;
        int unit = INT16_MAX;
        fill_bytes(codes, sizeof codes, &seed);
        for (int k = 0; k < 32; k++) {
            /* Some blocks of large codes alone, with one that is not. */
            codes[k / 2] |= i % 2 != 0 && k != i % 32 ? 4 << 4 * (k % 2) : 0;
            const unsigned size = code_at(codes, k) & 7;
            mask |= (uint32_t)(size != 0) << k;
            unit = lowest_bit[size] < unit ? lowest_bit[size] : unit;
        }
        mxo_dot_load_e2m1(&x, codes, 7);
        const bound_nonzero live = bound_nonzero_of(&x);
        ck_assert_uint_eq(live.mask, mask);
        ck_assert_int_eq(live.unit, unit + 7);
    }
}
END_TEST

Suite *suite_layer_bound_mirror(void);
Suite *suite_layer_bound_mirror(void)
{
    Suite *s = suite_create("layer_bound_mirror");
    TCase *t = tcase_create("mirror");

    tcase_add_test(t, ends_do_not_depend_on_the_order_of_k);
    tcase_add_test(t, ends_turn_around_with_the_sign_of_weights);
    tcase_add_test(t, nonzero_codes_and_their_unit);
    suite_add_tcase(s, t);
    return s;
}
