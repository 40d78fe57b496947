/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of matrix instructions.  Random bits over all codes meet NaN and
 * infinity in most rows of long steps, so there are kinds of data that stay
 * finite: one binade, all binades, and sums that cancel.
 */
#include "data/fills.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static int is_codes(const host_tensor *t)
{
    return t->dtype == MXO_U8;
}

/* Any bits, but none of NaN or infinity in every second row: a long row of
   8-bit floats would hold one of them nearly always. */
static void fill_bits(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t per_row = t->rank > 1 ? t->shape[t->rank - 1] : 1;
    const uint64_t n = tensor_elems(t);

    fill_random(c, t, rng);
    for (uint64_t i = 0; i < n && !is_codes(t); i++) {
        if (i / per_row % 2 == 0 &&
            !isfinite(dtype_value(t->dtype, tensor_load(t, i)))) {
            fill_put(t, i, 1);
        }
    }
}

/* The last mantissa bits decide what is cut: all of them are met. */
static void fill_binades(const test_case *c, host_tensor *t, prng *rng, int low,
                         int span)
{
    const uint64_t n = tensor_elems(t);

    if (is_codes(t)) {
        fill_random(c, t, rng);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        const double sign = prng_below(rng, 2) != 0 ? 1 : -1;
        const double x = 1 + fill_uniform(rng);
        const int e = low + (int)prng_below(rng, (uint64_t)span);
        fill_put(t, i, sign * ldexp(x, e));
    }
}

static void fill_near(const test_case *c, host_tensor *t, prng *rng)
{
    fill_binades(c, t, rng, -2, 4);
}

static void fill_spread(const test_case *c, host_tensor *t, prng *rng)
{
    fill_binades(c, t, rng, -8, 15);
}

/* Neighbours in k that cancel but for their last bits, and zeros. */
static void fill_cancel(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    fill_near(c, t, rng);
    for (uint64_t i = 1; i < n && !is_codes(t); i += 2) {
        const uint64_t kind = prng_below(rng, 4);
        const uint64_t sign = UINT64_C(1) << (8 * dtype_bytes(t->dtype) - 1);
        if (kind != 0) {
            tensor_store(t, i, tensor_load(t, i - 1) ^ sign);
        }
        if (kind == 1) {
            tensor_store(t, i, 0);
        }
    }
}

/* Products far below the smallest normal of binary32; an accumulator that is
   not zero would set the exponent alone.  Of every second row all of them lie
   below the least exponent that a step is aligned by. */
static void fill_deep(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t per_row = t->shape[t->rank - 1];
    const uint64_t rows = tensor_elems(t) / per_row;
    host_tensor row = *t;

    row.rank = 1;
    row.shape[0] = per_row;
    row.n_bytes = per_row * dtype_bytes(t->dtype);
    for (uint64_t r = 0; r < rows; r++) {
        row.data = (uint8_t *)t->data + r * row.n_bytes;
        fill_binades(c, &row, rng, r % 2 == 0 ? -77 : -80,
                     r % 2 == 0 ? 14 : 12);
    }
}

static void fill_mostly_zero(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    fill_binades(c, t, rng, -140, 20);
    for (uint64_t i = 0; i < n; i++) {
        if (i % 4 != 0) {
            tensor_store(t, i, 0);
        }
    }
}

/* Zeros of both signs, which meet huge numbers and must not be addends, and
   few numbers whose products are of the accumulator's size. */
static void fill_zeros(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t sign = UINT64_C(1) << (8 * dtype_bytes(t->dtype) - 1);
    const uint64_t n = tensor_elems(t);

    fill_binades(c, t, rng, -126, 6);
    for (uint64_t i = 0; i < n; i++) {
        if (i % 11 != 3) {
            tensor_store(t, i, prng_below(rng, 2) != 0 ? sign : 0);
        }
    }
}

/* Products that cancel to nothing, and a negative one so far below them that
   the unit cuts it off: what is left of it is no sign. */
static void fill_vanishing(host_tensor *t, double second, double small)
{
    const double tiny = ldexp(small, dtype_bytes(t->dtype) == 1 ? -8 : -14);
    const double first[] = {1, second, tiny};
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, i % 8 < 3 ? first[i % 8] : 0);
    }
}

static void fill_vanishing_a(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    (void)rng;
    fill_vanishing(t, -1, -1);
}

static void fill_vanishing_b(const test_case *c, host_tensor *t, prng *rng)
{
    (void)c;
    (void)rng;
    fill_vanishing(t, 1, 1);
}

static void fill_nothing(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, 0);
    }
}

static void fill_below_one(const test_case *c, host_tensor *t, prng *rng)
{
    fill_binades(c, t, rng, -24, 20);
}

static void fill_huge(const test_case *c, host_tensor *t, prng *rng)
{
    fill_binades(c, t, rng, 100, 27);
}

/* Ordinary numbers with a corner of the format here and there. */
static void fill_wild(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t n = tensor_elems(t);
    host_tensor one = *t;

    fill_near(c, t, rng);
    one.rank = 1;
    one.shape[0] = 1;
    one.n_bytes = dtype_bytes(t->dtype);
    for (uint64_t i = 0; i < n && !is_codes(t); i++) {
        one.data = (uint8_t *)t->data + i * one.n_bytes;
        if (prng_below(rng, 48) == 0) {
            fill_corners(c, &one, rng);
        }
    }
}

/* Around the smallest normals of operands and results: who flushes, shows. */
static void fill_faint(const test_case *c, host_tensor *t, prng *rng)
{
    const int is_half = t->dtype == MXO_F16;

    fill_binades(c, t, rng, is_half ? -22 : -132, is_half ? 14 : 10);
}

/* Two groups of 16 that cancel, and nothing else: what is left is an
   accumulator cut by the exponents of the scales. */
static void fill_two_groups(const test_case *c, host_tensor *t, prng *rng,
                            uint8_t signs)
{
    enum { GROUP_BYTES = 8 };
    const uint64_t row_bytes = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    fill_random(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = i % row_bytes / GROUP_BYTES;
        const uint64_t twin =
            at == 1 ? tensor_load(t, i - GROUP_BYTES) ^ signs : 0;
        if (at > 0) {
            tensor_store(t, i, twin);
        }
    }
}

static void fill_faint_a(const test_case *c, host_tensor *t, prng *rng)
{
    if (is_codes(t)) {
        fill_two_groups(c, t, rng, 0);
    } else {
        fill_faint(c, t, rng);
    }
}

/* UE4M3: subnormals, the same for a whole row. */
static void fill_faint_scale(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t per_row = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    if (t->dtype != MXO_E4M3) {
        fill_scale_ordinary(c, t, rng);
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, 1 + i / per_row % 7);
    }
}

/* With scales: where the accumulator is cut, so that some of it is left. */
static void fill_faint_sum(const test_case *c, host_tensor *t, prng *rng)
{
    if (strcmp(case_value(c, "scale"), "none") != 0) {
        fill_binades(c, t, rng, -30, 8);
    } else {
        fill_faint(c, t, rng);
    }
}

static void fill_faint_b(const test_case *c, host_tensor *t, prng *rng)
{
    if (is_codes(t)) {
        fill_two_groups(c, t, rng, 0x88);
    } else if (t->dtype == MXO_F16) {
        fill_faint(c, t, rng);
    } else {
        fill_binades(c, t, rng, -6, 9);
    }
}

/* Far above sums of products of numbers near 1, of which it leaves few bits. */
static void fill_outweighing(const test_case *c, host_tensor *t, prng *rng)
{
    fill_binades(c, t, rng, 5, 30);
}

/* A type of operands: mantissa bits, exponent of the least normal number, and
   one of large ones. */
typedef struct operand_type {
    const char *name;
    int mbits, least, large;
} operand_type;

static const operand_type *type_of(const test_case *c)
{
    static const operand_type types[] = {
        {"bf16", 7, -126, 100},   {"f16", 10, -14, 12}, {"tf32", 10, -126, 100},
        {"e4m3fn", 3, -6, 7},     {"e5m2", 2, -14, 12}, {"e4m3fnuz", 3, -7, 6},
        {"e5m2fnuz", 2, -15, 12}, {"e2m3", 3, 0, 2},    {"e3m2", 2, -2, 4},
        {"e2m1", 1, 0, 2}};
    size_t i = 0;

    while (i + 1 < sizeof types / sizeof types[0] &&
           strcmp(types[i].name, case_value(c, "type")) != 0) {
        i++;
    }
    return &types[i];
}

/* Pairs of subnormal numbers that cancel. */
static void fill_lifted_a(const test_case *c, host_tensor *t, prng *rng)
{
    const operand_type *type = type_of(c);
    const int shift = t->dtype == MXO_F32 ? 13 : 0;
    const uint64_t sign = is_codes(t)
                              ? UINT64_C(32)
                              : UINT64_C(1) << (8 * dtype_bytes(t->dtype) - 1);
    const uint64_t n = tensor_elems(t);
    const uint64_t codes = (UINT64_C(1) << type->mbits) - 1;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t x = type->mbits == 1 ? 0x91
                           : i % 2 == 1     ? tensor_load(t, i - 1) | sign
                                        : (1 + prng_below(rng, codes)) << shift;
        tensor_store(t, i, x);
    }
}

/* Large ones for them: their products are lifted to where the least normal
   number would stand, and cut the accumulator there. */
static void fill_lifted_b(const test_case *c, host_tensor *t, prng *rng)
{
    const operand_type *type = type_of(c);
    const uint64_t n = tensor_elems(t);

    if (is_codes(t)) { /* 4.0, 16.0, two of 6.0 */
        const uint64_t code = type->mbits == 1   ? 0x77
                              : type->mbits == 3 ? 0x18
                                                 : 0x1c;
        for (uint64_t i = 0; i < n; i++) {
            tensor_store(t, i, code);
        }
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (i % 2 == 0) {
            fill_put(t, i, ldexp(1 + 0.875 * fill_uniform(rng), type->large));
        } else {
            tensor_store(t, i, tensor_load(t, i - 1));
        }
    }
}

static void fill_lifted_sum(const test_case *c, host_tensor *t, prng *rng)
{
    const operand_type *type = type_of(c);

    fill_binades(c, t, rng, type->least + type->large - 30, 30);
}

static const fill_row fills[] = {
    {"mma.*", "?_scale", "wild", fill_random},
    {"mma.*", "?_scale", "faint", fill_faint_scale},
    {"mma.*", "?_scale", "*", fill_scale_ordinary},
    {"mma.*", "?", "random", fill_bits},
    {"mma.*", "c", "near", fill_near},
    {"mma.*", "a", "near", fill_near},
    {"mma.*", "b", "near", fill_near},
    {"mma.*", "?", "spread", fill_spread},
    {"mma.*", "a", "cancel", fill_near},
    {"mma.*", "b", "cancel", fill_cancel},
    {"mma.*", "c", "cancel", fill_spread},
    {"mma.*", "?", "wild", fill_wild},
    {"mma.*", "a", "faint", fill_faint_a},
    {"mma.*", "b", "faint", fill_faint_b},
    {"mma.*", "c", "faint", fill_faint_sum},
    {"mma.*", "c", "outweighed", fill_outweighing},
    {"mma.*", "?", "outweighed", fill_near},
    {"mma.*", "c", "deep", fill_mostly_zero},
    {"mma.*", "a", "vanishing", fill_vanishing_a},
    {"mma.*", "b", "vanishing", fill_vanishing_b},
    {"mma.*", "c", "vanishing", fill_nothing},
    {"mma.*", "c", "zeros", fill_below_one},
    {"mma.*", "a", "zeros", fill_zeros},
    {"mma.*", "b", "zeros", fill_huge},
    {"mma.*", "?", "deep", fill_deep},
    {"mma.*", "a", "lifted", fill_lifted_a},
    {"mma.*", "b", "lifted", fill_lifted_b},
    {"mma.*", "c", "lifted", fill_lifted_sum},
    {NULL, NULL, NULL, NULL},
};

#define DATA "data=random|near|spread|cancel"

static const grid_row grid[] = {
    {1, 0, "mma.step:rows=64,k=16,data=near|cancel"},
    {2, 0,
     "mma.step:unit=hopper_wgmma|hopper_mma_sync,"
     "type=bf16|f16|tf32|e4m3fn|e5m2,rows=128,k=32," DATA "|wild"},
    {2, 0, /* where the alignment ends, and what takes no part in it */
     "mma.step:unit=hopper_wgmma|hopper_mma_sync,type=bf16|tf32,rows=96,k=16,"
     "data=zeros"},
    {2, 0,
     "mma.step:unit=hopper_wgmma|hopper_mma_sync,type=bf16|tf32,rows=3000,"
     "k=16,data=deep"},
    {2, 0,
     "mma.step:unit=hopper_wgmma|hopper_mma_sync,"
     "type=bf16|f16|tf32|e4m3fn|e5m2,rows=8,k=32,data=vanishing"},
    {2, 0,
     "mma.step:unit=ampere|ada|blackwell|cdna3|cdna1|cdna2|turing|volta,"
     "type=f16,rows=96,k=32," DATA},
    {2, 0,
     "mma.step:unit=ampere|ada|blackwell|cdna3|cdna1|cdna2,type=bf16,rows=96,"
     "k=32," DATA "|wild"},
    {2, 0, "mma.step:unit=ampere|ada|cdna3,type=tf32,rows=96,k=32," DATA},
    {2, 0, "mma.step:unit=ada|blackwell,type=e4m3fn|e5m2,rows=96,k=64," DATA},
    {2, 0, "mma.step:unit=blackwell,type=e2m3|e3m2|e2m1,rows=96,k=64," DATA},
    {2, 0, "mma.step:unit=cdna3,type=e4m3fnuz|e5m2fnuz,rows=96,k=32," DATA},
    {2, 0,
     "mma.step:unit=blackwell_mx,type=e4m3fn|e5m2|e2m1,scale=e8m0,rows=96,"
     "k=64," DATA "|wild"},
    {2, 0, /* by which exponent subnormal operands are aligned */
     "mma.step:unit=hopper_wgmma|ada,type=bf16|f16|tf32|e4m3fn|e5m2,rows=96,"
     "k=64,data=lifted"},
    {2, 0,
     "mma.step:unit=blackwell,type=bf16|f16|e4m3fn|e5m2|e2m3|e3m2|e2m1,"
     "rows=96,k=64,data=lifted"},
    {2, 0,
     "mma.step:unit=cdna3,type=bf16|f16|tf32|e4m3fnuz|e5m2fnuz,rows=96,k=64,"
     "data=lifted"},
    {2, 0,
     "mma.step:unit=hopper_mma_sync|ampere,type=bf16|f16|tf32,rows=96,k=64,"
     "data=lifted"},
    {2, 0, "mma.step:unit=volta|turing,type=f16,rows=96,k=64,data=lifted"},
    {2, 0,
     "mma.step:unit=blackwell_mx,type=e4m3fn|e5m2|e2m1,scale=e8m0,rows=96,"
     "k=64,data=lifted"},
    {2, 0, /* who adds to a NaN has another one */
     "mma.chain:unit=hopper_wgmma|hopper_mma_sync,type=bf16|e4m3fn,"
     "promote=64,rows=3,cols=5,k=256,data=wild"},
    {2, 0, /* flushed subnormals, and floors of far smaller terms */
     "mma.step:unit=ampere|blackwell|cdna1|cdna2|cdna3,type=f16|bf16,rows=96,"
     "k=32,data=faint"},
    {2, 0,
     "mma.step:unit=ampere|blackwell|cdna3,type=f16|bf16,rows=1500,k=32,"
     "data=outweighed"},
    {2, 0,
     "mma.step:unit=cdna3,type=e4m3fnuz|e5m2fnuz,rows=1500,k=32,"
     "data=outweighed"},
    {2, 0,
     "mma.step:unit=blackwell_fp4,type=e2m1,scale=e8m0|ue4m3,rows=96,"
     "k=64|192,data=random|near|wild|faint"},
    {2, 0,
     "mma.chain:unit=hopper_wgmma|hopper_mma_sync,"
     "type=bf16|f16|tf32|e4m3fn|e5m2,promote=0|64|128,rows=3,cols=5,k=256,"
     "data=near|spread"},
    {2, 0,
     "mma.chain:unit=ampere|blackwell|cdna3|cdna2,rows=3,cols=5,k=96|2880,"
     "data=near"},
    {2, 0,
     "mma.chain:unit=blackwell_mx|blackwell_fp4,type=e2m1,scale=e8m0,rows=3,"
     "cols=7,k=320,data=near"},
    {2, 0,
     "mma.chain:unit=volta|turing|ada|cdna1,type=f16,rows=3,cols=5,k=96,"
     "data=near"},
    {2, 0,
     "mma.chain:unit=cdna3,type=e4m3fnuz|e5m2fnuz,rows=3,cols=5,k=96,"
     "data=near"},
    {2, 0,
     "mma.chain:unit=blackwell,type=e2m3|e3m2|e2m1|e4m3fn,rows=3,cols=5,k=96,"
     "data=near"},
    {2, 0,
     "mma.chain:unit=blackwell_fp4,type=e2m1,scale=ue4m3,rows=3,cols=7,k=320,"
     "data=random"},
    {2, 0, /* accumulators in binary16, which are models on every unit */
     "mma.step:acc=f16,type=f16,unit=hopper_wgmma|hopper_mma_sync|volta|"
     "turing|ampere|ada|blackwell,rows=96,k=32," DATA "|wild|faint"},
    {2, 0,
     "mma.chain:acc=f16,type=f16,unit=hopper_wgmma|volta|turing|ampere|"
     "blackwell,rows=3,cols=5,k=96,data=random|near|spread"},
    {2, 0, /* no other operands have them, and no promotion adds them */
     "mma.step:acc=f16,unit=ada|cdna3,type=e4m3fn|bf16|tf32,rows=4,k=32,"
     "data=near"},
    {2, 0,
     "mma.chain:acc=f16,type=f16,promote=32,rows=3,cols=5,k=96,data=near"},
    {3, 200,
     "mma.chain:unit=hopper_wgmma|hopper_mma_sync|ampere|blackwell,type=*,"
     "promote=0|32|128,rows=4,cols=$N,k=128|256|2880," DATA},
    {0, 0, NULL},
};

const case_family cases_mma = {"mma", fills, grid};
