/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.mx: formats and rules as rows, and the plan of a call.  Where each
 * rule was found: docs/ops/quant.scale.md.
 */
#include "host/call.h"
#include "host/plans.h"
#include "ops/quant.h"
#include "ops/quant_plain.h"
#include "ops/quant_rare.h"
#include "port/runtime.h"

static const struct {
    const char *name;
    quant_format f;
} quant_formats[] = {
    /*         mbits emin emax max  width nan   inf  fnuz max_value */
    {"e2m1", {1, 0, 2, 0x07, 3, 0, 0x07, 0, 6}},
    {"e2m3", {3, 0, 2, 0x1f, 5, 0, 0x1f, 0, 7.5f}},
    {"e3m2", {2, 2, 4, 0x1f, 5, 0, 0x1f, 0, 28}},
    {"e4m3fn", {3, 6, 8, 0x7e, 7, 0x7f, 0x7f, 0, 448}},
    {"e4m3fnuz", {3, 7, 7, 0x7f, 7, 0x80, 0x80, 1, 240}},
    {"e5m2", {2, 14, 15, 0x7b, 7, 0x7e, 0x7c, 0, 57344}},
    {"e5m2fnuz", {2, 15, 15, 0x7f, 7, 0x80, 0x80, 1, 57344}},
    /* Its scales; codes are two's complement, which nothing here makes. */
    {"int8", {6, 0, 0, 0x7f, 7, 0, 0x7f, 0, 127.0f / 64}},
};

/* Rounding of an element: tie, saturation, NaN, sign of zero. */
typedef struct quant_class {
    uint8_t tie, sat, code_nan, zero;
} quant_class;

#define OCP                                             \
    {                                                   \
        QUANT_RNE, 1, QUANT_NAN_FORMAT, QUANT_ZERO_KEEP \
    }
#define CAST                                            \
    {                                                   \
        QUANT_RNE, 0, QUANT_NAN_FORMAT, QUANT_ZERO_KEEP \
    }
#define TORCH                                          \
    {                                                  \
        QUANT_RNE, 1, QUANT_NAN_TORCH, QUANT_ZERO_KEEP \
    }
#define FMIN                                         \
    {                                                \
        QUANT_RNE, 1, QUANT_NAN_MAX, QUANT_ZERO_KEEP \
    }
#define BELOW0                                           \
    {                                                    \
        QUANT_RNE, 1, QUANT_NAN_ZERO, QUANT_ZERO_NONZERO \
    }
#define SCAN                                          \
    {                                                 \
        QUANT_RNZ, 1, QUANT_NAN_ZERO, QUANT_ZERO_DROP \
    }
#define HALFUP                                              \
    {                                                       \
        QUANT_RNA, 1, QUANT_NAN_SIGNED_MAX, QUANT_ZERO_KEEP \
    }
#define EVENUP                                              \
    {                                                       \
        QUANT_RNE, 1, QUANT_NAN_SIGNED_MAX, QUANT_ZERO_KEEP \
    }

#define MINUS                                          \
    {                                                  \
        QUANT_RNE, 1, QUANT_NAN_MINUS, QUANT_ZERO_KEEP \
    }
#define PLUS                                          \
    {                                                 \
        QUANT_RNE, 1, QUANT_NAN_PLUS, QUANT_ZERO_KEEP \
    }
#define ONES                                          \
    {                                                 \
        QUANT_RNE, 1, QUANT_NAN_ONES, QUANT_ZERO_KEEP \
    }
#define FMIN_AWAY                                    \
    {                                                \
        QUANT_RNA, 1, QUANT_NAN_MAX, QUANT_ZERO_KEEP \
    }

#define POISON QUANT_AMAX_POISON
#define SKIP QUANT_AMAX_SKIP
#define ZERO QUANT_AMAX_ZERO
#define NULL_ENDS (QUANT_NULL_0 | QUANT_NULL_255)
#define NULL_ALL (NULL_ENDS | QUANT_NULL_254)

typedef struct quant_row {
    const char *name;
    uint8_t amax_nan, from, exponent, high;
    int16_t nan, inf, carry;
    uint16_t flags;
    quant_class with_nan, without_nan; /* formats that have one, or none */
    uint32_t amax_floor, ratio_floor;  /* binary32 patterns */
    uint8_t low;                       /* the smallest byte */
} quant_row;

/* name, NaN in amax, t, its exponent, largest byte, bytes of NaN, infinity and
   carry, flags, classes; then floors of the maximum and of t, smallest byte */
#define FLOORED(name, nan_in, from, exponent, high, nan, inf, carry, flags, a, \
                b, floor, ratio, low)                                          \
    {                                                                          \
        name, nan_in, QUANT_FROM_##from, QUANT_EXP_##exponent, high, nan, inf, \
            carry, flags, a, b, floor, ratio, low                              \
    }
#define ROW(name, nan_in, from, exponent, high, nan, inf, carry, flags, a, b)  \
    {                                                                          \
        name, nan_in, QUANT_FROM_##from, QUANT_EXP_##exponent, high, nan, inf, \
            carry, flags, a, b, 0, 0, 0                                        \
    }
#define FORMULA QUANT_FORMULA

static const quant_row quant_rows[] = {
    ROW("floor", POISON, AMAX, FLOOR, 254, 255, 255, 0, QUANT_OFFSET, OCP, OCP),
    ROW("ceil", POISON, AMAX, CEIL, 254, 255, 255, 0, QUANT_OFFSET, OCP, OCP),
    ROW("even", POISON, AMAX, EVEN, 254, 255, 255, FORMULA, QUANT_OFFSET, OCP,
        OCP),
    ROW("rceil", POISON, PRODUCT, CEIL, 254, 255, 255, 0, 0, OCP, OCP),
    ROW("rceil_div", POISON, QUOTIENT, CEIL, 254, 255, 255, 0, 0, OCP, OCP),
    ROW("rceil_exact", POISON, EXACT, CEIL, 254, 255, 255, 0, 0, OCP, OCP),
    ROW("floor_div", POISON, QUOTIENT, FLOOR, 254, 255, 255, 0, 0, OCP, OCP),
    ROW("floor_mul", POISON, PRODUCT, FLOOR, 254, 255, 255, 0, 0, OCP, OCP),
    ROW("floor_nooffset", POISON, AMAX, FLOOR, 254, 255, 255, 0, 0, OCP, OCP),
    ROW("aiter_torch_rounddown", POISON, SHIFTED, FLOOR, 255, 255, 255, 0, 0,
        CAST, TORCH),
    ROW("aiter_torch_roundup", POISON, QUOTIENT, BITS, 255, 255, 255, 0, 0,
        CAST, TORCH),
    ROW("aiter_torch_even", POISON, AMAX, EVEN, 255, 255, 255, 255,
        QUANT_OFFSET, CAST, TORCH),
    ROW("aiter_torch_ceil", POISON, SHIFTED, BITS, 255, 255, 255, 0, 0, CAST,
        TORCH),
    ROW("aiter_hip_rounddown", ZERO, SHIFTED, FLOOR, 255, 255, 255, 0,
        NULL_ENDS, FMIN, BELOW0),
    ROW("aiter_hip_roundup", ZERO, PRODUCT, BITS, 255, 255, 255, 0, NULL_ENDS,
        FMIN, BELOW0),
    ROW("aiter_hip_even", ZERO, AMAX, EVEN, 255, 255, 254, 254, QUANT_OFFSET,
        FMIN, BELOW0),
    /* The shared helper of quant.scale: the formula at overflow. */
    ROW("aiter_hip_even_helper", ZERO, AMAX, EVEN, 255, 255, FORMULA, FORMULA,
        QUANT_OFFSET, FMIN, BELOW0),
    ROW("aiter_hip_ceil", ZERO, SHIFTED, BITS, 255, 255, 255, 0, NULL_ENDS,
        FMIN, BELOW0),
    ROW("aiter_dynamic", SKIP, AMAX, EVEN, 254, 254, 254, 254, QUANT_OFFSET,
        CAST, TORCH),
    ROW("flashinfer", SKIP, PRODUCT, BITS, 254, 255, 254, 0,
        NULL_ALL | QUANT_FTZ, FMIN, FMIN),
    ROW("triton35_up", POISON, QUOTIENT, BITS, 255, 0, 255, 0,
        NULL_ENDS | QUANT_NEGATIVE, OCP, HALFUP),
    ROW("triton35_down", POISON, QUOTIENT, FLOOR, 255, 255, 255, 0,
        NULL_ENDS | QUANT_NEGATIVE, OCP, HALFUP),
    ROW("triton36_up", POISON, QUOTIENT, BITS, 255, 0, 255, 0,
        NULL_ENDS | QUANT_NEGATIVE, OCP, EVENUP),
    ROW("triton36_down", POISON, SHIFTED, FLOOR, 255, 255, 255, 0,
        NULL_ENDS | QUANT_NEGATIVE, OCP, EVENUP),
    ROW("triton35_kernel_up", SKIP, PRODUCT, BITS, 255, 0, 255, 0, NULL_ENDS,
        ONES, FMIN_AWAY),
    ROW("triton35_kernel_down", SKIP, PRODUCT, FLOOR, 255, 255, 255, 0,
        NULL_ENDS, ONES, FMIN_AWAY),
    /* The smallest maximum is the smallest normal. */
    FLOORED("vllm_torch", POISON, AMAX, FLOOR, 254, 0, 254, 0,
            QUANT_NAN_SPREADS, CAST, OCP, 0x00800000u, 0, 0),
    FLOORED("vllm_torch_ceil", POISON, QUOTIENT, CEIL, 254, 0, 254, 0,
            QUANT_NAN_SPREADS, OCP, OCP, 0x00800000u, 0, 0),
    ROW("vllm_cuda", SKIP, PRODUCT, FLOOR, 255, 255, 255, 0, NULL_ALL, FMIN,
        FMIN),
    ROW("torchao_rceil", POISON, PRODUCT, CEIL, 255, 255, 255, 0, 0, OCP,
        TORCH),
    ROW("ggml", ZERO, AMAX, FLOOR, 254, 0, 254, 0, QUANT_OFFSET, SCAN, SCAN),
    ROW("quark_triton", SKIP, AMAX, EVEN, 254, 254, 254, 254, QUANT_OFFSET,
        HALFUP, HALFUP),
    ROW("trtllm_gen", ZERO, AMAX, FLOOR, 254, 0, 254, 0,
        QUANT_OFFSET | QUANT_NULL_0 | QUANT_TURNED_254 | QUANT_FTZ, PLUS, FMIN),
    ROW("aiter_flydsl", POISON, AMAX, 15, 254, FORMULA, FORMULA, FORMULA,
        QUANT_OFFSET, OCP, OCP),
    ROW("b12x_mxfp8", ZERO, PRODUCT, BITS, 254, 255, 255, 0,
        QUANT_NULL_0 | QUANT_LIVE_255, FMIN, FMIN),
    FLOORED("deepgemm", POISON, QUOTIENT, BITS, 254, 254, 254, 0,
            QUANT_INVERSE | QUANT_PACK_FULL, CAST, SCAN, 0x38d1b717u, 0, 1),
    ROW("deepgemm_mega", ZERO, PRODUCT, BITS, 255, 255, 255, 0, QUANT_NULL_255,
        FMIN, FMIN),
    FLOORED("vllm_group", ZERO, QUOTIENT, BITS, 255, 255, 255, 0,
            QUANT_NULL_255 | QUANT_END_224, MINUS, MINUS, 0x2edbe6ffu,
            0x2edbe6ffu, 0),
    FLOORED("vllm_group_mul", ZERO, PRODUCT, BITS, 255, 255, 255, 0,
            QUANT_NULL_255 | QUANT_END_224, MINUS, MINUS, 0x2edbe6ffu, 0, 0),
    ROW("aiter_token", POISON, QUOTIENT, BITS, 255, 255, 255, 0, QUANT_SCALE_1,
        CAST, TORCH),
    ROW("aiter_tensor", POISON, QUOTIENT, BITS, 255, 255, 255, 0, 0, CAST,
        TORCH),
};

#undef OCP
#undef CAST
#undef TORCH
#undef FMIN
#undef BELOW0
#undef SCAN
#undef HALFUP
#undef EVENUP
#undef MINUS
#undef PLUS
#undef ONES
#undef FMIN_AWAY
#undef POISON
#undef SKIP
#undef ZERO
#undef NULL_ENDS
#undef NULL_ALL
#undef ROW
#undef FLOORED
#undef FORMULA

static const char *const quant_ties[] = {"rne", "rz", "rna", "rnz"};

static void quant_fill_rule(quant_args *a, const quant_row *row,
                            const char *tie)
{
    const quant_class c = a->f.nan != 0 ? row->with_nan : row->without_nan;

    a->rule.amax_nan = row->amax_nan;
    a->rule.from = row->from;
    a->rule.exponent = row->exponent;
    a->rule.high = row->high;
    a->rule.nan = row->nan;
    a->rule.inf = row->inf;
    a->rule.carry = row->carry;
    a->rule.flags = row->flags;
    a->rule.tie = c.tie;
    a->rule.sat = c.sat;
    a->rule.code_nan = c.code_nan;
    a->rule.zero = c.zero;
    a->rule.amax_floor = row->amax_floor;
    a->rule.ratio_floor = row->ratio_floor;
    a->rule.low = row->low;
    for (uint8_t i = 0; i < 4; i++) {
        if (strcmp(tie, quant_ties[i]) == 0) {
            a->rule.tie = i;
        }
    }
}

/* Byte of a block of zeros: what the floor under the maximum gives. */
static uint32_t quant_zero_byte(const quant_args *a, int divides, int up)
{
    uint32_t t = a->rule.amax_floor;
    float floor;

    if (divides) {
        memcpy(&floor, &t, sizeof floor);
        floor /= a->f.max_value;
        memcpy(&t, &floor, sizeof t);
    }
    const int to_half = t >> 23 == 0 && a->rule.exponent == QUANT_EXP_CEIL;

    return (t >> 23) + (up && (t & 0x7fffffu) > (to_half ? 0x400000u : 0u));
}

/*
 * Numbers of the fast path.  A quotient by max = 1.M * 2^emax reaches the
 * next exponent where the mantissa of amax reaches M.  One exception: amax one
 * unit below max, times the rounded 1 / max, may round up to a power of two.
 */
static void quant_fill_fast(quant_args *a)
{
    const int divides = a->rule.from == QUANT_FROM_QUOTIENT ||
                        a->rule.from == QUANT_FROM_PRODUCT ||
                        a->rule.from == QUANT_FROM_EXACT;
    const int up = a->rule.exponent == QUANT_EXP_BITS ||
                   a->rule.exponent == QUANT_EXP_CEIL;
    uint32_t bits;
    float below;

    memcpy(&bits, &a->f.max_value, sizeof bits);
    const uint32_t mantissa = bits & 0x7fffffu;
    bits--;
    memcpy(&below, &bits, sizeof below);
    a->offset = divides || a->rule.from == QUANT_FROM_SHIFTED ||
                        (a->rule.flags & QUANT_OFFSET) != 0
                    ? a->f.emax
                    : 0;
    a->add = up ? 0x7fffffu : 0;
    if (a->rule.exponent == QUANT_EXP_EVEN) {
        a->add = 1u << (22 - a->f.mbits);
    } else if (a->rule.exponent == QUANT_EXP_15) {
        a->add = 1u << 22;
    }
    if (divides) {
        a->add -= mantissa;
        const float reciprocal = 1.0f / a->f.max_value;
        const float product = below * reciprocal;
        if (a->rule.from == QUANT_FROM_PRODUCT && !up && product >= 1.0f) {
            a->add += 1;
        }
    }
    /* add may be below 0: its upper half then borrows from none. */
    a->add_two = ((a->add >> 16) - (a->add >> 31 << 16)) * 0x10001u;
    a->plain = !a->f.fnuz && a->rule.zero == QUANT_ZERO_KEEP;
    /* Plain E2M1 rounds in binary16, all else in binary32. */
    const uint32_t wide = a->plain && a->f.width == 3 ? 10 : 23;
    const uint32_t half = 1u << (wide - a->f.mbits - 1);
    a->zero_byte = quant_zero_byte(a, divides, up);
    a->tie_add = a->rule.tie == QUANT_RZ    ? 0
                 : a->rule.tie == QUANT_RNA ? half
                                            : half - 1;
    a->tie_odd = a->rule.tie == QUANT_RNE;
    a->limit = a->rule.sat || a->rule.tie == QUANT_RZ ? a->f.max : a->f.inf;
}

int quant_make(quant_args *a, const char *element, const char *rule,
               const char *tie)
{
    const size_t n_formats = sizeof quant_formats / sizeof quant_formats[0];
    const size_t n_rows = sizeof quant_rows / sizeof quant_rows[0];
    size_t i = 0;
    size_t k = 0;

    while (i < n_formats && strcmp(element, quant_formats[i].name) != 0) {
        i++;
    }
    while (k < n_rows && strcmp(rule, quant_rows[k].name) != 0) {
        k++;
    }
    if (i == n_formats || k == n_rows) {
        return -1;
    }
    a->f = quant_formats[i].f;
    if (a->f.fnuz && a->f.mbits == 3 &&
        (quant_rows[k].flags & QUANT_END_224) != 0) {
        a->f.max = 0x7e;
        a->f.max_value = 224;
    }
    quant_fill_rule(a, &quant_rows[k], tie);
    quant_fill_fast(a);
    return 0;
}

mxo_status quant_need(const mxo_call *call, quant_args *a, const char *rule,
                      mxo_text why)
{
    const char *const element = call_text(call, "element");

    return quant_make(a, element, rule, call_text(call, "tie")) == 0
               ? MXO_OK
               : gpu_fail(MXO_E_UNSUPPORTED, why,
                          "%s on %s has no element=%s with rule=%s", call->op,
                          GPU_NAME, element, rule);
}

/* Rows of whole blocks along the last axis, nothing padded, in orders that the
   vector kernels know. */
static int quant_has_runs(const mxo_call *call, const mxo_tensor *x)
{
    const double axis = call_number(call, "axis");
    const double align = call_number(call, "align");
    const int last = x->rank > 0 && (axis == -1 || axis == (double)x->rank - 1);
    const uint64_t len = last ? x->shape[x->rank - 1] : 0;

    return last && len % 32 == 0 && align >= 32 && align < 0x1p40 &&
           len % (uint64_t)align == 0 &&
           (call_is(call, "sf_layout", "linear") ||
            call_is(call, "sf_layout", "128x4") ||
            call_is(call, "sf_layout", "8x4")) &&
           call_is(call, "sf_batch", "flat") &&
           call_is(call, "q_layout", "linear") &&
           !call_is(call, "element", "int8");
}

/* Order of the scales, their number with padding, what must be cleared. */
static mxo_status quant_scales(const mxo_call *call, const mxo_tensor *x,
                               uint64_t blocks, gpu_plan *plan, mxo_text why)
{
    quant_args *const a = PLAN_ARGS(plan, quant_args);
    const uint64_t cols = x->shape[x->rank - 1] / 32;
    const uint64_t rows = cols == 0 ? 0 : blocks / cols;
    uint64_t n = blocks;

    a->tiles = call_is(call, "sf_layout", "128x4") ? 128
               : call_is(call, "sf_layout", "8x4") ? 8
                                                   : 0;
    if (a->tiles != 0 && blocks >= 1u << 31) {
        return gpu_fail(MXO_E_UNSUPPORTED, why,
                        "quant.mx on %s: too many scales for tiles", GPU_NAME);
    }
    a->cols = divisor_of(a->tiles != 0 ? (uint32_t)cols : 1);
    if (a->tiles != 0) {
        n = (rows + a->tiles - 1) / a->tiles * a->tiles * ((cols + 3) / 4 * 4);
    }
    const gpu_want w = want_beside(x, MXO_E8M0, cols);
    const mxo_status status =
        a->tiles != 0 ? need_memory(call, "scale", MXO_E8M0, n, &a->scale, why)
                      : need_shaped(call, 1, "scale", &w, &a->scale, why);
    plan->clear = a->scale;
    plan->n_clear = n == blocks ? 0 : n;
    return status;
}

/* The shorter kernels serve what needs nothing but rounding. */
static const gpu_kernel *quant_kernel(const quant_args *a, int from, int packed)
{
    static const gpu_kernel kernels[2][3] = {
        {KERNEL(quant_byte_bf16, 1), KERNEL(quant_byte_f16, 1),
         KERNEL(quant_byte_f32, 1)},
        {KERNEL(quant_fp4_bf16, 1), KERNEL(quant_fp4_f16, 1),
         KERNEL(quant_fp4_f32, 1)},
    };
    static const gpu_kernel plain[2] = {KERNEL(quant_plain_e4m3_bf16, 1),
                                        KERNEL(quant_plain_e2m1_bf16, 1)};
    /* An instruction rounds to E4M3FN: to nearest even, never beyond 448. */
    const int rounds =
        a->f.max == 0x7e && a->rule.tie == QUANT_RNE && a->rule.sat;

    return from == QUANT_BF16 && a->plain && (packed || rounds)
               ? &plain[packed]
               : &kernels[packed][from];
}

static uint32_t quant_dtype(const mxo_call *call)
{
    const char *const element = call_text(call, "element");

    return call_dtype(call, element);
}

mxo_status plan_quant(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    const mxo_tensor *const x = call_in(call, "x");
    const int from = call_is(call, "from", "f32")   ? QUANT_F32
                     : call_is(call, "from", "f16") ? QUANT_F16
                                                    : QUANT_BF16;
    const int packed = call_is(call, "element", "e2m1");
    quant_args *const a = PLAN_ARGS(plan, quant_args);
    uint8_t *q = NULL;

    if (x == NULL) {
        return gpu_fail(MXO_E_SHAPE, why, "quant.mx needs the tensor x");
    }
    const uint64_t n = x->n_bytes / (from == QUANT_F32 ? 4 : 2);

    if (!quant_has_runs(call, x)) {
        return plan_quant_any(call, plan, why);
    }
    MXO_TRY(quant_need(call, a, call_text(call, "rule"), why));
    MXO_TRY(quant_scales(call, x, n / 32, plan, why));
    const uint64_t cols = x->shape[x->rank - 1];
    const gpu_want w =
        want_beside(x, quant_dtype(call), packed ? cols / 2 : cols);
    MXO_TRY(need_shaped(call, 1, "q", &w, &q, why));
    a->x = tensor_address(x);
    a->q = q;
    a->n = x->n_bytes / 16;
    plan->kernel = quant_kernel(a, from, packed);
    plan->blocks =
        (a->n + QUANT_STEPS * GPU_BLOCK - 1) / (QUANT_STEPS * GPU_BLOCK);
    plan->waves = 8;
    return MXO_OK;
}
