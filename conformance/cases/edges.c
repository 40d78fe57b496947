/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Halves of the layer, and steps of matrix instructions, on data that one kind
 * of fault each needs, and that random numbers do not have: sums beside a tie
 * in rows of few bits, rows at the end of an integer's range, quotients on a
 * tie, groups all but zero.
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { KINDS = 3, COLUMNS = 16, BLOCK = 32, FAR = 57, STEPS = 56 };

/* Element k of a row.  A tie of binary32 and what a double has no room for
   beside it; 255 2^7 and odd numbers, which end digits to base 256; one
   number throughout, for the largest sum there is. */
static double brink(uint64_t row, uint64_t k)
{
    if (row % KINDS == 0) {
        if (k == 0) {
            return 1;
        }
        if (k == 1) {
            return 0x1p-24;
        }
        if (k == 2) {
            return row % 2 != 0 ? -0x1p-54 : 0x1p-54;
        }
        return 0;
    }
    if (row % KINDS == 1) {
        return k % 7 == 0 ? 32640 : (double)(1 + 2 * (k % 2));
    }
    return 127;
}

static void fill_brink(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t k = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, brink(i / k, i % k));
    }
}

/* The first four codes of a column are the same power of two; every second
   column has 6.0 everywhere else. */
static void fill_brink_codes(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t row = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t code = prng_below(rng, 256);
        const uint64_t first = i / row % 3 == 0 ? 0x11 : 0x22;
        tensor_store(t, i,
                     i % row < 2        ? first
                     : i / row % 2 == 0 ? 0x77
                                        : code);
    }
}

/* Scale bytes of 16 columns: alike; one far below the others; up to NaN; down
   to 0; and near each other. */
static uint64_t brink_scale(uint64_t col, uint64_t b, prng *rng)
{
    const uint64_t any = prng_below(rng, 8);

    switch (col / COLUMNS) {
    case 0:
        return 127;
    case 1:
        return b == 0 ? 118 : 127;
    case 2:
        return b == 1 ? 255 : 254 - any;
    case 3:
        return any;
    default:
        return 120 + any;
    }
}

static void fill_brink_scales(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t blocks = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, brink_scale(i / blocks, i % blocks, rng));
    }
}

/* A given scale of 7, and multiples of 7 by odd numbers of five bits: each
   quotient is a tie of E4M3 or E5M2, which a product with 1/7 misses. */
static void fill_seven(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    (void)rng;
    fill_put(t, 0, 7);
}

static void fill_sevenfold(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const double tie = (double)(2 * prng_below(rng, 12) + 9);
        const double sign = prng_below(rng, 2) != 0 ? -7 : 7;
        fill_put(t, i, ldexp(sign * tie, (int)prng_below(rng, 6) - 4));
    }
}

/* Blocks whose largest numbers lie around 1e-10, where quantisers have floors
   for the maximum (2^-33) and for the maximum over 448 (2^-24 before). */
static void fill_faint(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    int exponent = 0;

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        exponent = i % BLOCK == 0 ? -(int)prng_below(rng, 20) - 20 : exponent;
        fill_put(t, i, ldexp(2 * fill_uniform(rng) - 1, exponent));
    }
}

/* 1 meets a zero.  The next two cancel, though who parts a row by size may
   have them in two parts: where that is, no row can miss.  What is left has
   no room in a double beside either. */
static double cascade(uint64_t row, uint64_t k)
{
    const int e = -8 - (int)(row % STEPS);

    if (k == 0) {
        return 1;
    }
    if (k == 1) {
        return ldexp(1, e);
    }
    if (k == 2) {
        return ldexp(1, e - 1);
    }
    if (k == 3) {
        return ldexp(1.25, e - FAR);
    }
    return 0;
}

static void fill_cascade(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t k = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, cascade(i / k, i % k));
    }
}

/* 0, 0.5, -1 and 1, then anything. */
static void fill_cascade_codes(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t row = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t code = prng_below(rng, 256);
        tensor_store(t, i, i % row == 0 ? 0x10 : i % row == 1 ? 0x2a : code);
    }
}

/* Of five weights the third is the sum, if rows are alike. */
static void fill_cascade_weights(const test_case *c, host_tensor *t, prng *rng)
{
    static const double weight[] = {0x1p60, 1, 0x1.4p-60, -0x1p60, -1};
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, weight[i % (sizeof weight / sizeof weight[0])]);
    }
}

/* Rows of all experts are alike: their bias, for w2 is zero. */
static void fill_alike(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, 1 + (double)(i % cols) / 64);
    }
}

/* Codes of gemm.q8_0 by columns: 6.0, -6.0, zeros, any; and activations by
   rows: 127, -128, any.  A block's sum needs 17 bits, or is zero. */
static void fill_full_codes(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint8_t of_columns[] = {0x77, 0xff, 0x80};
    static const uint8_t of_rows[] = {127, 0x80};
    const int is_w = t->dtype == MXO_U8;
    const uint8_t *bytes = is_w ? of_columns : of_rows;
    const uint64_t kinds = is_w ? sizeof of_columns : sizeof of_rows;
    const uint64_t k = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    fill_random(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t kind = i / k % (kinds + 1);
        if (kind < kinds) {
            tensor_store(t, i, bytes[kind]);
        }
    }
}

/* One factor in every other row is infinite or a NaN. */
static void fill_full_halves(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint16_t bits[] = {0x7c00, 0x7e00, 0xfc00};
    const uint64_t blocks = t->shape[t->rank - 1];

    fill_positive(c, t, rng);
    for (uint64_t r = 1; r < t->shape[0]; r += 2) {
        tensor_store(t, r * blocks + r / 2 % blocks, bits[r / 2 % 3]);
    }
}

/* Scale bytes: of E4M3 any, the NaN below zero, which counts 240, among them.
 */
static void fill_full_bytes(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = t->dtype == MXO_E8M0 ? 0 : tensor_elems(t);

    (n == 0 ? fill_scale_typical : fill_random)(c, t, rng);
    for (uint64_t i = 0; i < n; i += 5) {
        tensor_store(t, i, 0xff);
    }
}

/* Factors around the least normal binary16 number. */
static void fill_faint_halves(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, 0x100 + prng_below(rng, 0x700));
    }
}

/* Scale bytes by which such products, and their sums, lie on both sides of the
   least normal binary32 number. */
static void fill_faint_bytes(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, prng_below(rng, 10));
    }
}

static void fill_zero(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    (void)rng;
    memset(t->data, 0, (size_t)t->n_bytes);
}

/* A step's accumulator and first products.  From turn to turn one of these is
   halved, and has the other sign. */
typedef struct nudged_step {
    double c, a[4], b[4];
    int moved;
} nudged_step;

typedef struct nudged_steps {
    const char *unit, *acc; /* how they begin */
    uint64_t n;
    nudged_step steps[9];
} nudged_steps;

static const nudged_steps step_tables[] = {
    /* ties of binary16, beside a subnormal accumulator, which sets the
       exponent, and beside what binary32 rounds away */
    {"",
     "f16",
     4,
     {{0x1p-24, {0x1p-12, 0x1p-20}, {0x1p-13, 0x1p-15}, 1},
      {0x1p-23, {0x1p-12, 0x1p-20}, {0x1p-13, 0x1p-15}, 1},
      {0, {1, 0x1p-5, 0x1p-11}, {1, 0x1p-6, 0x1p-11}, 2},
      {0, {1.5, 0x1p-5, 0x1p-11}, {1.5, 0x1p-5, 0x1p-11}, 2}}},
    /* FP8 in two steps: subnormals of the second cut the first's sum */
    {"hopper_mma_sync",
     "",
     1,
     {{0, {0x1p-14, 0, 0x1p-16, -0x1p-16}, {0x1p-9, 0, 0x1p12, 0x1p12}, 0}}},
    /* ties of binary32 beside a subnormal accumulator */
    {"cdna3",
     "",
     2,
     {{0x1p-148, {0x1p-75, 0x1p-75}, {0x1p-75, 0x1p-78}, 1},
      {0x1p-148, {0x1p-75, 0x1p-75}, {0x1p-75, 0x1p-77}, 1}}},
    /* flushed to -0: operands, products, sums and accumulators */
    {"",
     "",
     9,
     {{-0.0, {-0x1p-129}, {1}, 3},
      {-0.0, {1}, {-0x1p-129}, 3},
      {-0.0, {-0x1p-17}, {1}, 3},
      {-0.0, {1}, {-0x1p-17}, 3},
      {-0.0, {-0x1p-65}, {0x1p-65}, 3},
      {-0.0, {-0x1p-63, 0x1p-63}, {0x1.8p-63, 0x1p-63}, 3},
      {-0.0, {-0x1p-63, 0, 0x1p-63}, {0x1.8p-63, 0, 0x1p-63}, 3},
      {-0x1p-130, {0}, {0}, 3},
      {-0x1.8p-126, {0x1p-63}, {0x1p-63}, 3}}},
};

static nudged_step step_of(const test_case *c, uint64_t row)
{
    const nudged_steps *t = step_tables;

    while (strncmp(t->unit, case_value(c, "unit"), strlen(t->unit)) != 0 ||
           strncmp(t->acc, case_value(c, "acc"), strlen(t->acc)) != 0) {
        t++;
    }
    const uint64_t turn = row / t->n;
    nudged_step s = t->steps[row % t->n];

    s.b[s.moved] *= ldexp(turn % 2 == 0 ? 1 : -1, -(int)(turn % 8));
    return s;
}

static void fill_step_sums(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, step_of(c, i).c);
    }
}

/* Behind the first products -0 and 0; all ones where there are scales, of
   every second pair of rows negative in a. */
static void fill_step_numbers(const test_case *c, host_tensor *t, prng *rng)
{
    const int has_scales = strcmp(case_value(c, "scale"), "none") != 0;
    const int is_a = t->name[0] == 'a';
    const uint64_t per_row = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i / per_row;
        const uint64_t k = i % per_row;
        const nudged_step s = step_of(c, row);
        const double x = k >= 4 ? 0 : is_a ? s.a[k] : s.b[k];
        if (has_scales) {
            fill_put(t, i, is_a && row / 2 % 2 == 1 ? -1 : 1);
        } else {
            fill_put(t, i, is_a && x == 0 ? -0.0 : x);
        }
    }
}

/* NaN: in even rows one scale of a, in odd ones of b. */
static void fill_step_scales(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t blocks = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    fill_scale_ordinary(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i / blocks;
        if (row % 2 == (t->name[0] != 'a') && i % blocks == row / 2 % blocks) {
            tensor_store(t, i, t->dtype == MXO_E8M0 ? 255 : 127);
        }
    }
}

static const fill_row fills[] = {
    {"moe.gemm1", "x", "brink", fill_brink},
    {"moe.gemm2", "act", "brink", fill_brink},
    {"moe.gemm1", "w13", "brink", fill_brink_codes},
    {"moe.gemm2", "w2", "brink", fill_brink_codes},
    {"moe.gemm?", "*_scale", "brink", fill_brink_scales},
    {"moe.gemm1", "x", "nudged", fill_nudged},
    {"moe.gemm2", "act", "nudged", fill_nudged},
    {"moe.gemm1", "w13", "nudged", fill_nudged_codes},
    {"moe.gemm2", "w2", "nudged", fill_nudged_codes},
    {"moe.gemm?", "*_scale", "nudged", fill_nudged_scales},
    {"moe.gemm?", "*_bias", "nudged", fill_nudges},
    {"moe.gemm1", "x", "sevenfold", fill_sevenfold},
    {"moe.gemm2", "act", "sevenfold", fill_sevenfold},
    {"moe.gemm?", "*_input_scale", "sevenfold", fill_seven},
    {"moe.gemm?", "*_scale", "sevenfold", fill_scale_ordinary},
    {"moe.gemm1", "x", "faint", fill_faint},
    {"moe.gemm2", "act", "faint", fill_faint},
    {"moe.gemm?", "*_scale", "faint", fill_scale_ordinary},
    {"moe.gemm1", "x", "cascade", fill_cascade},
    {"moe.gemm1", "w13", "cascade", fill_cascade_codes},
    {"moe.gemm2", "act", "cascade", fill_ordinary},
    {"moe.gemm2", "w2", "cascade", fill_zero},
    {"moe.gemm2", "w2_bias", "cascade", fill_alike},
    {"moe.gemm2", "topk_weights", "cascade", fill_cascade_weights},
    {"moe.gemm?", "*_scale", "cascade", fill_scale_ordinary},
    {"gemm.q8_0", "a_scale", "brink", fill_full_halves},
    {"gemm.q8_0", "w_scale", "brink", fill_full_bytes},
    {"gemm.q8_0", "*", "brink", fill_full_codes},
    {"gemm.q8_0", "a_scale", "faint", fill_faint_halves},
    {"gemm.q8_0", "w_scale", "faint", fill_faint_bytes},
    {"gemm.q8_0", "*", "faint", fill_random},
    {"mma.step", "c", "nudged", fill_step_sums},
    {"mma.step", "?_scale", "nudged", fill_step_scales},
    {"mma.step", "?", "nudged", fill_step_numbers},
    {NULL, NULL, NULL, NULL},
};

#define TINY "tokens=2,topk=2,experts=3,hidden=32,inter=32"
#define STATIC                                            \
    "input_scale=given,quant=quant.static,quant_element=" \
    "e4m3fn|e5m2,quant_rule=divide|reciprocal,"
#define GROUP                                                       \
    "quant=quant.group,quant_element=e4m3fn,quant_rule=vllm_group|" \
    "vllm_group_mul,quant_group=32|64|128,"

static const grid_row grid[] = {
    {2, 0, /* an expert per token, and all tokens in one */
     "moe.gemm1:stage=gemm,from=bf16|f32,gemm1_out=f32,tokens=9,topk=1,"
     "experts=1|40,hidden=160|2880,inter=48,data=brink"},
    {2, 0,
     "moe.gemm2:stage=row,from=bf16|f32,row_out=f32,out=f32,tokens=9,topk=1,"
     "experts=1|40,hidden=96,inter=160|2880,data=brink"},
    {2, 0,
     "moe.gemm1:stage=gemm," STATIC "from=bf16|f16|f32," TINY
     ",data=sevenfold"},
    {2, 0, "moe.gemm2:requant=same," STATIC TINY ",data=sevenfold"},
    {2, 0,
     "moe.gemm1:stage=gemm,from=bf16|f32,gemm1_out=f32," GROUP
     "tokens=3,topk=2,experts=3,hidden=160,inter=32,data=faint"},
    {2, 0,
     "moe.gemm2:requant=same," GROUP
     "tokens=3,topk=2,experts=3,hidden=32,inter=160,data=faint"},
    {2, 0,
     "moe.gemm1:stage=gemm,from=bf16|f32,gemm1_out=f32,tokens=56,topk=1,"
     "experts=1|9,hidden=160|2880,inter=8,data=cascade"},
    {2, 0,
     "moe.gemm2:bias=f32,routing_at=sum,sum=exact,row_out=f32,out=bf16|f32,"
     "tokens=3,topk=5,experts=7,hidden=64,inter=32,data=cascade"},
    {2, 0, /* a bias that decides how the sum is rounded */
     "moe.gemm1:stage=gemm,from=bf16|f32,bias=f32,bias1=order|acc,"
     "gemm1_out=f32,tokens=1|3,topk=1,experts=2,hidden=48|160,inter=64,"
     "data=nudged"},
    {2, 0,
     "moe.gemm2:stage=row,from=bf16|f32,bias=f32,bias2=order|acc,row_out=f32,"
     "out=f32,tokens=1|3,topk=1,experts=2,hidden=80,inter=64|160,"
     "data=nudged"},
    {2, 0, /* one more addend where there are many parts, or none is safe */
     "moe.gemm2:stage=row,row_out=f32,from=bf16|f32,bias=f32,tokens=1|3,topk=1,"
     "experts=2,hidden=32,inter=80|560,data=ordinary|cancel"},
    {2, 0,
     "moe.gemm2:stage=row,row_out=f32,from=bf16|f32,bias=f32,tokens=1|3,topk=1,"
     "experts=2,hidden=48,inter=80,data=corners"},
    /* A sum in 16 bits, a zero that is skipped beside a NaN; flushed numbers;
       one column, or a few, of a long sum. */
    {2, 0, "gemm.q8_0:order=*,rows=12,k=32|96,cols=9,data=brink"},
    {2, 0, "gemm.q8_0:weights=nvfp4,rows=12,k=64|192,cols=9,data=brink"},
    {2, 0, "gemm.q8_0:order=*,rows=5,k=32|96,cols=4,data=faint"},
    {2, 0, "gemm.q8_0:order=*,rows=3,k=32|2080,cols=1|4|8,data=random"},
    {2, 0, "gemm.q8_0:weights=nvfp4,rows=3,k=64|2112,cols=1|4|8,data=random"},
    {2, 0,
     "mma.step:acc=f16,type=f16,unit=hopper_wgmma|hopper_mma_sync|volta|"
     "turing|ampere|ada|blackwell,rows=64,k=16,data=nudged"},
    {2, 0, "mma.step:unit=hopper_mma_sync,type=e5m2,rows=16,k=32,data=nudged"},
    {2, 0, "mma.step:unit=cdna3,type=bf16|tf32,rows=32,k=8,data=nudged"},
    {2, 0, "mma.step:unit=cdna1|cdna2,type=f16|bf16,rows=18,k=8,data=nudged"},
    {2, 0,
     "mma.step:unit=blackwell_mx,type=e4m3fn|e5m2|e2m1,scale=e8m0,rows=8,k=64,"
     "data=nudged"},
    {2, 0,
     "mma.step:unit=blackwell_fp4,type=e2m1,scale=e8m0|ue4m3,rows=8,k=64,"
     "data=nudged"},
    {0, 0, NULL},
};

const case_family cases_edges = {"edges", fills, grid};
