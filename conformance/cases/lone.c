/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data=lone: one product in every sum that is not zero, so that no order of
 * adding can change a bit, and numbers that other data keep out lest they
 * decide everything: each scale byte beside each code, activations that are
 * infinite, NaN, subnormal or as large as there are, rows and sums that are
 * subnormal, ties of every rounding, routing weights of zero.
 *
 * A row of activations has one live element, the rest are zeros of either
 * sign.  A block of K has scales near one power of two, and what is live in it
 * is about as far off the other way: the two ends of the scale bytes meet
 * numbers that make ordinary products.  What would spread all over a token
 * (0 x Inf) comes in few tokens and few rows: the scale bytes 0 and from 253
 * on, with which some rules read a weight as no number, only in every eighth
 * row, of w13 in few experts, and over codes of at most 1.
 *
 * data=lifted: the same of GEMMs without such numbers; scale bytes from 68 to
 * 172, and activations so small that products are near the least normals.
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { BLOCK = 32, ONE = 127, CODES = 16, MINUS = 8 };

/* The scale byte that those of a block of K are near to, BF16 holding six times
   the largest of them, and the exponent that what is live there is near to:
   beside 250 most are subnormal. */
typedef struct block_kind {
    int byte;
    int power;
} block_kind;

static int is_lifted(const test_case *c)
{
    return strcmp(c->data, "lifted") == 0;
}

static block_kind kind_of(const test_case *c, uint64_t block)
{
    static const block_kind kinds[] = {
        {ONE, 0}, {250, -127}, {3, 124}, {190, -63}, {60, 67}};
    static const block_kind lifted[] = {
        {170, -160}, {70, -60}, {132, -126}, {100, -92}};

    return is_lifted(c) ? lifted[block % (sizeof lifted / sizeof lifted[0])]
                        : kinds[block % (sizeof kinds / sizeof kinds[0])];
}

/* Has the block a scale byte with which a weight may be no number? */
static int is_wild(uint64_t row, uint64_t block, uint64_t blocks)
{
    return row % 8 == 5 && row / 8 % blocks == block;
}

/* Of one expert in four: every output of a layer may hang on a row of w13. */
static int is_wild_half(const test_case *c, const host_tensor *t, uint64_t row,
                        uint64_t block, uint64_t blocks)
{
    return !is_lifted(c) && row / t->shape[1] % 4 == 1 &&
           is_wild(row, block, blocks);
}

static void put_special(host_tensor *t, uint64_t i, int is_nan, int is_minus)
{
    const code_format *f = dtype_format(t->dtype);
    const uint64_t inf = code_last_finite(f) + 1;
    const uint64_t nan = is_nan ? UINT64_C(1) << (f->mbits - 1) : 0;
    const uint64_t sign = is_minus ? UINT64_C(1) << (f->bits - 1) : 0;

    tensor_store(t, i, inf | nan | sign);
}

/* One to eight significant bits: few of them leave ties to what is made of
   two such numbers. */
static double few_bits(prng *rng)
{
    const int bits = (int)prng_below(rng, 8);
    const double x =
        ldexp(1 + (double)prng_below(rng, UINT64_C(1) << bits), -bits);

    return prng_below(rng, 2) != 0 ? -x : x;
}

/* Columns of K in turn: where gates have positive codes, codes from 0 on, and
   any (twice). */
enum { POSITIVE, FROM_ZERO, ANY, TURNS = 4 };

/* Every other row is special in one of these ways; FAINT makes products below
   2^-126 where the scales are not large. */
enum { INF, INF_OR_NAN, MINUS_INF, NAN_ITSELF, NOTHING, FAINT, N_SPECIAL };

static void put_live(const test_case *c, host_tensor *t, uint64_t first,
                     uint64_t turn, prng *rng)
{
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t block = turn / 2 % ((cols + BLOCK - 1) / BLOCK);
    const uint64_t left = cols - block * BLOCK;
    const uint64_t draw = prng_below(rng, left < BLOCK ? left : BLOCK);
    const uint64_t at = first + block * BLOCK + draw;
    const uint64_t group = at - draw % TURNS;
    const int power = (int)prng_below(rng, 8) - 5 + kind_of(c, block).power;
    const double x = few_bits(rng);
    const int special =
        turn % 2 == 0 || is_lifted(c) ? -1 : (int)(turn / 2 % N_SPECIAL);

    if (special < 0 || special == FAINT) {
        fill_put(t, at, ldexp(x, special < 0 ? power : power - 126));
    } else if (special == INF || special == INF_OR_NAN) {
        put_special(t, group + (special == INF ? POSITIVE : FROM_ZERO), 0, 0);
    } else if (special != NOTHING) {
        put_special(t, at, special == NAN_ITSELF, x < 0);
    }
}

static void fill_lone(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);
    const uint64_t start = prng_below(rng, 60);

    if (t->dtype == MXO_U8) { /* quantised already */
        fill_random(c, t, rng);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, prng_below(rng, 2) != 0 ? -0.0 : 0.0);
    }
    for (uint64_t i = 0; i < n; i += cols) {
        put_live(c, t, i, start + i / cols, rng);
    }
}

/* A gate's code where an infinity may be, lest -Inf take all of a token. */
static uint64_t gate_code(uint64_t col, uint64_t draw)
{
    switch (col % BLOCK % TURNS) {
    case POSITIVE:
        return 1 + draw % (MINUS - 1);
    case FROM_ZERO:
        return draw % MINUS;
    default:
        return draw;
    }
}

static int is_gate(const test_case *c, const host_tensor *t, uint64_t row)
{
    const uint64_t rows = t->shape[1];

    return strcmp(case_value(c, "rows"), "halves") == 0 ? row % rows < rows / 2
                                                        : row % 2 == 0;
}

static uint64_t code_at(const test_case *c, const host_tensor *t, uint64_t row,
                        uint64_t col, prng *rng)
{
    const uint64_t cols = 2 * t->shape[2];
    const uint64_t code = prng_below(rng, CODES);

    if (is_wild_half(c, t, row, col / BLOCK, (cols + BLOCK - 1) / BLOCK)) {
        return code % 3 + (code & MINUS); /* 0, 0.5 or 1 */
    }
    return is_gate(c, t, row) ? gate_code(col, code) : code;
}

static void fill_lone_codes(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t bytes = t->shape[2];
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t col = i % bytes * 2;
        const uint64_t low = code_at(c, t, i / bytes, col, rng);
        const uint64_t high = code_at(c, t, i / bytes, col + 1, rng);
        tensor_store(t, i, low | high << 4);
    }
}

/* In turn, so that all of them come. */
static uint64_t wild_byte(uint64_t turn)
{
    static const uint8_t bytes[] = {255, 254, 0, 253, 255, 0, 255};

    return bytes[turn % sizeof bytes];
}

static uint64_t near_byte(int near, prng *rng)
{
    const int byte = near - 2 + (int)prng_below(rng, 5);

    return byte < 1 ? 1 : (uint64_t)byte;
}

static void fill_lone_scales(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t blocks = t->shape[2];
    const uint64_t n = tensor_elems(t);
    uint64_t turn = prng_below(rng, 7);

    for (uint64_t i = 0; i < n; i++) {
        const int near = kind_of(c, i % blocks).byte;
        const int wild = is_wild_half(c, t, i / blocks, i % blocks, blocks);
        tensor_store(t, i, wild ? wild_byte(turn++) : near_byte(near, rng));
    }
}

/* Activations of the layer's own are all live, so codes of w2 are zeros of
   either sign but one a row. */
static void fill_lone_rows(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t bytes = t->shape[2];
    const uint64_t n = tensor_elems(t);
    const uint64_t start = prng_below(rng, 1000);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t low = MINUS * prng_below(rng, 2);
        tensor_store(t, i, low + MINUS * CODES * prng_below(rng, 2));
    }
    for (uint64_t i = 0; i < n; i += bytes) {
        const uint64_t col = (start + i / bytes) % (2 * bytes);
        const uint64_t code = 1 + prng_below(rng, MINUS - 1);
        const uint64_t at = i + col / 2;
        tensor_store(t, at,
                     tensor_load(t, at) ^ code << (col % 2 == 0 ? 0 : 4));
    }
}

/* Ordinary, low and high scales, and any. */
static void fill_lone_row_scales(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t blocks = t->shape[2];
    const uint64_t n = tensor_elems(t);
    uint64_t turn = prng_below(rng, 7);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const int low = 4 + (int)prng_below(rng, 24);
        const int any = (int)prng_below(rng, 251);
        const int kinds[] = {ONE, low, any, low, ONE, 250};
        const int near = kinds[prng_below(rng, 6)];
        const int wild = is_wild(i / blocks, i % blocks, blocks);
        tensor_store(t, i, wild ? wild_byte(turn++) : near_byte(near, rng));
    }
}

/* Powers of two, other numbers, tiny ones, zeros, and now and then what no
   router should give. */
static void fill_lone_weights(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    const uint64_t start = prng_below(rng, 12);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const double power = ldexp(1, (int)prng_below(rng, 5) - 3);
        const double x = fill_uniform(rng) + 0.125;
        const double tiny = ldexp(x, -9 - (int)prng_below(rng, 8));
        const double kind[] = {power, tiny, x,    0,    power, x,
                               tiny,  x,    -0.0, tiny, -x,    power};
        fill_put(t, i, kind[(start + i * 5) % 12]);
        if (i % 23 == 22) {
            put_special(t, i, i % 2 == 0, x < 0.5);
        }
    }
}

static const fill_row fills[] = {
    {"moe.layer*", "x", "lone", fill_lone},
    {"moe.gemm1", "x", "lone", fill_lone},
    {"moe.gemm2", "act", "lone", fill_lone},
    {"moe.layer*", "w13", "lone", fill_lone_codes},
    {"moe.gemm1", "w13", "lone", fill_lone_codes},
    {"moe.gemm2", "w2", "lone", fill_lone_codes},
    {"moe.layer*", "w2", "lone", fill_lone_rows},
    {"moe.layer*", "w13_scale", "lone", fill_lone_scales},
    {"moe.gemm1", "w13_scale", "lone", fill_lone_scales},
    {"moe.gemm2", "w2_scale", "lone", fill_lone_scales},
    {"moe.layer*", "w2_scale", "lone", fill_lone_row_scales},
    {"moe.layer", "topk_weights", "lone", fill_lone_weights},
    {"moe.gemm2", "topk_weights", "lone", fill_lone_weights},
    {"moe.layer*", "x_scale", "lone", fill_scale_ordinary},
    {"moe.gemm1", "x_scale", "lone", fill_scale_ordinary},
    {"moe.gemm1", "x", "lifted", fill_lone},
    {"moe.gemm2", "act", "lifted", fill_lone},
    {"moe.gemm1", "w13", "lifted", fill_lone_codes},
    {"moe.gemm2", "w2", "lifted", fill_lone_codes},
    {"moe.gemm1", "w13_scale", "lifted", fill_lone_scales},
    {"moe.gemm2", "w2_scale", "lifted", fill_lone_scales},
    {NULL, NULL, NULL, NULL},
};

#define KNOWN "exact|MARLIN|TRITON|TRITON_UNFUSED|EMULATION|CPU"
#define ROWS "tokens=24,experts=7,"
static const grid_row grid[] = {
    {2, 0,
     "moe.gemm1:profile=" KNOWN ",stage=gemm|act," ROWS
     "topk=2,hidden=160,inter=24,bias=none|bf16,data=lone"},
    {2, 0,
     "moe.gemm2:profile=" KNOWN ",stage=row|sum," ROWS
     "topk=2,hidden=48,inter=160,bias=none|bf16,data=lone"},
    {2, 0,
     "moe.layer:profile=" KNOWN "," ROWS
     "topk=1|2,hidden=160,inter=64,data=lone"},
    {2, 0,
     "moe.layer:profile=exact|MARLIN|TRITON_UNFUSED|EMULATION|CPU,"
     "activation=silu,rows=halves,limit=none|10," ROWS
     "topk=2,hidden=160,inter=64,data=lone"},
    {2, 0, /* half of the gate times up and beta: on ties, too */
     "moe.gemm1:profile=exact|CPU,alpha=0,limit=none|7," ROWS
     "topk=2,hidden=160,inter=24,data=lone"},
    {2, 0, /* in tiles of 32 and 64, of few columns and of many */
     "moe.gemm1:profile=" KNOWN ",tokens=24|97,experts=7,topk=2,hidden=160,"
     "inter=32,data=lifted"},
    {2, 0,
     "moe.gemm2:profile=" KNOWN ",tokens=24|97,experts=7,topk=2,hidden=64,"
     "inter=160,data=lifted"},
    {2, 0,
     "moe.gemm1:from=f16|f32,stage=gemm|act," ROWS
     "topk=2,hidden=160,inter=24,data=lone"},
    {2, 0,
     "moe.gemm2:from=f16|f32,stage=row|sum," ROWS
     "topk=2,hidden=48,inter=160,data=lone"},
    {0, 0, NULL},
};

const case_family cases_lone = {"lone", fills, grid};
