/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.engine: blocks of 32 under an E8M0 byte as other engines make them.
 * The rows are engine.def; where C or CUDA leaves a NaN open, it is dropped.
 */
#include "engine.h"

#include <mxoracle/route.h>

#include <string.h>

#define MAGNITUDE 0x7fffffffu
#define INFINITE 0x7f800000u
#define TWO_TO_M23 0x34000000u

typedef enum engine_base { AMAX, DIV, TYPED } engine_base;
typedef enum engine_exponent {
    FIELD,
    UP,
    HALF,
    EXACT,
    DOWN,
    CEIL,
    NEAR,
    LN
} engine_exponent;
typedef enum engine_edge { WRAP, CLAMP, NORMAL, ONE, LOST } engine_edge;
typedef enum engine_element { SCAN, RNE, RNZ } engine_element;
typedef enum engine_sign { KEEP, PLUS, MINUS, ALWAYS } engine_sign;

typedef struct engine_rule {
    const char *name;
    uint8_t base;
    uint32_t least;
    uint8_t exponent;
    uint8_t offset;
    uint8_t edge;
    uint8_t zero;
    uint8_t element;
    uint8_t sign;
} engine_rule;

static const engine_rule rules[] = {
#define MXO_ENGINE(name, base, least, exponent, offset, edge, zero, element, \
                   sign, source)                                             \
    {name, base, least, exponent, offset, edge, zero, element, sign},
#include <mxoracle/engine.def>
#undef MXO_ENGINE
};

static const engine_rule *find_rule(const char *name)
{
    size_t i = 0;

    while (strcmp(rules[i].name, name) != 0) {
        i++; /* the domain of the parameter is this list */
    }
    return &rules[i];
}

/* Whether one NaN element makes the rule's maximum NaN. */
static int is_poisoned(const engine_rule *r)
{
    return strncmp(r->name, "torchao", 7) == 0 ||
           strcmp(r->name, "gguf_py") == 0 || r->base == TYPED;
}

static int has_nan(const uint32_t *x, size_t n)
{
    int found = 0;

    for (size_t i = 0; i < n; i++) {
        found |= (x[i] & MAGNITUDE) > INFINITE;
    }
    return found;
}

/* Integers around a finite binary32 number. */
static int floor_of(uint32_t pattern, uint32_t *rest)
{
    float v;
    int i;

    memcpy(&v, &pattern, sizeof v);
    i = (int)v;
    i -= (float)i > v;
    v -= (float)i; /* exact: |v| is below 2^8 */
    memcpy(rest, &v, sizeof v);
    return i;
}

static int rounded(uint32_t pattern, engine_exponent how)
{
    uint32_t rest;
    const int low = floor_of(pattern, &rest);

    if (how == DOWN) {
        return low;
    }
    if (how == NEAR) { /* to even */
        return low + (rest > 0x3f000000u || (rest == 0x3f000000u && low % 2));
    }
    return low + (rest != 0);
}

/* Exponent of a finite t > 0. */
static int exponent_of(const engine_rule *r, uint32_t t)
{
    const mxo_real x = mxo_format_decode(MXO_FMT_F32, t);
    const int field = (int)(t >> 23);

    switch ((engine_exponent)r->exponent) {
    case FIELD:
        return field - 127;
    case UP:
        return field - 127 + ((t & 0x7fffff) != 0);
    case HALF:
        return (int)((t + 0x200000) >> 23) - 127;
    case EXACT:
        return mxo_real_lg(x) + ((x.mant & (x.mant - 1)) != 0);
    case LN:
        return rounded(mxo_f32_mul(mxo_f32_ln(t), 0x3fb8aa3bu), CEIL);
    default:
        return rounded(mxo_lg2_rn(t), (engine_exponent)r->exponent);
    }
}

static uint8_t byte_of(const engine_rule *r, int exponent)
{
    const int byte = exponent - r->offset + 127;

    if (r->edge == WRAP) {
        return (uint8_t)byte;
    }
    return (uint8_t)(byte < 0 ? 0 : byte > 254 ? 254 : byte);
}

/* 2^n of a subnormal or normal number, as binary32. */
static uint32_t power(int n)
{
    const mxo_real x = {1, n, MXO_CLASS_FINITE, 0, 0};
    const mxo_rounding how = {MXO_TIE_RNE, 0, 0, 0};

    return (uint32_t)mxo_format_encode(MXO_FMT_F32, x, how);
}

typedef struct plan {
    const engine_rule *rule;
    mxo_format type;
    mxo_format element;
    uint64_t rows;
    uint64_t cols;
} plan;

/* Of TYPED: what it divides by, which is not what its byte says where that
   wraps.  Beyond all numbers that is 0; the byte is a cast that C leaves open,
   as x86-64 has it. */
static uint8_t typed_scale(const plan *p, uint32_t t, uint32_t *unit)
{
    const int is_zero = t == 0;
    const int n = is_zero || t >= INFINITE ? 0 : exponent_of(p->rule, t);

    *unit = t >= INFINITE ? 0 : power(n);
    if (t >= INFINITE) {
        return p->type == MXO_FMT_F32 ? 128 : 0;
    }
    return is_zero ? p->rule->zero : byte_of(p->rule, n);
}

static uint8_t scale_of(const plan *p, const uint32_t *x, uint32_t *unit)
{
    const engine_rule *r = p->rule;
    const uint32_t max = p->element == MXO_FMT_E2M1 ? 0x40c00000u : 0x43e00000u;
    uint32_t t = engine_amax(x, MXO_MX_BLOCK);

    if (r->edge == LOST && (t == INFINITE || has_nan(x, MXO_MX_BLOCK))) {
        *unit = INFINITE;
        return 0;
    }
    if (is_poisoned(r) && has_nan(x, MXO_MX_BLOCK)) {
        return r->base == TYPED  ? typed_scale(p, INFINITE, unit)
               : r->edge == WRAP ? 0
                                 : 255;
    }
    if (r->exponent == LN && t < TWO_TO_M23) {
        t = TWO_TO_M23;
    }
    if (r->base != AMAX) {
        t = engine_divide(r->base == TYPED ? p->type : MXO_FMT_F32, t, max);
    }
    t = t < r->least ? r->least : t;
    if (r->base == TYPED) {
        return typed_scale(p, t, unit);
    }
    if (t == 0) {
        return r->zero;
    }
    if (t == INFINITE) {
        return r->edge == WRAP ? 0 : r->edge == NORMAL ? byte_of(r, 128) : 254;
    }
    return byte_of(r, exponent_of(r, t));
}

static uint8_t with_sign(const engine_rule *r, uint32_t x, uint8_t code)
{
    if ((code & 7) != 0) {
        return code;
    }
    switch ((engine_sign)r->sign) {
    case PLUS:
        return 0;
    case MINUS:
        return (x & MAGNITUDE) == 0 ? 8 : code;
    case ALWAYS:
        return 8;
    default:
        return code;
    }
}

/* The quotient, exactly, as a number to be encoded. */
static mxo_real quotient(const engine_rule *r, uint32_t x, uint8_t byte)
{
    const mxo_real number = mxo_format_decode(MXO_FMT_F32, x);
    int exponent = -127;

    if (byte != 0) {
        exponent = byte - 127;
    } else if (r->edge == NORMAL) {
        exponent = -126;
    } else if (r->edge == ONE) {
        exponent = 0;
    }

    return mxo_real_scale(number, -exponent);
}

/* E4M3 saturates, NaN too: with the sign of x, or the one that x86-64 gives 0
   by 0, but that BF16 keeps no sign of a NaN. */
static uint8_t typed_e4m3(const plan *p, uint32_t x, uint32_t v)
{
    const int is_minus = (x & MAGNITUDE) > INFINITE ? (x >> 31) != 0 : 1;

    if ((v & MAGNITUDE) <= INFINITE) {
        return engine_e4m3(v);
    }
    return p->type != MXO_FMT_BF16 && is_minus ? 0xfe : 0x7e;
}

static uint8_t typed_code(const plan *p, uint32_t x, uint32_t unit)
{
    const uint32_t v = engine_divide(p->type, x, engine_round(p->type, unit));

    return p->element == MXO_FMT_E2M1 ? engine_scan(0x3f800000u, v)
                                      : typed_e4m3(p, x, v);
}

static uint8_t code_of(const plan *p, uint32_t x, uint8_t byte, uint32_t unit)
{
    const engine_rule *r = p->rule;
    const mxo_rounding how = {
        (uint8_t)(r->element == RNZ ? MXO_TIE_RNZ : MXO_TIE_RNE), 1, 0, 0};

    if (r->base == TYPED) {
        return typed_code(p, x, unit);
    }
    if (unit == INFINITE) { /* LOST: 0 or NaN, which ModelOpt calls minus */
        return 8;
    }
    if (r->element == SCAN) { /* doubled codes under half the scale, exactly */
        return engine_scan(byte == 255 ? INFINITE : quant_power(byte), x);
    }
    return with_sign(
        r, x,
        (uint8_t)mxo_format_encode(p->element, quotient(r, x, byte), how));
}

static mxo_status make_plan(const mxo_call *call, plan *p, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");

    p->rule = find_rule(mxo_call_text(call, "rule"));
    p->type = mxo_call_format(call, "from");
    p->element = mxo_call_format(call, "element");
    p->rows = x->shape[0];
    p->cols = x->rank == 2 ? x->shape[1] : 0;
    if (x->rank != 2 || p->cols % MXO_MX_BLOCK != 0) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: x needs rows of whole blocks of 32", call->op);
    }
    if (p->element != MXO_FMT_E2M1 && p->rule->base != TYPED) {
        return mxo_fail(MXO_E_PARAM, why, "%s: rule=%s is for e2m1", call->op,
                        p->rule->name);
    }
    return MXO_OK;
}

mxo_status infer_quant_engine(const mxo_call *call, mxo_tensor *out_tensor,
                              uint32_t *n_out, mxo_text why)
{
    const char *element = mxo_call_text(call, "element");
    plan p;

    MXO_TRY(make_plan(call, &p, why));
    const uint64_t codes[2] = {p.rows,
                               p.element == MXO_FMT_E2M1 ? p.cols / 2 : p.cols};
    const uint64_t scales[2] = {p.rows, p.cols / MXO_MX_BLOCK};

    mxo_out(out_tensor, 0, "q", mxo_dtype_by_name(element, strlen(element)), 2,
            codes);
    mxo_out(out_tensor, 1, "scale", MXO_E8M0, 2, scales);
    *n_out = 2;
    return MXO_OK;
}

mxo_status run_quant_engine(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const mxo_tensor *q = mxo_call_out(call, "q");
    uint32_t block[MXO_MX_BLOCK];
    plan p;

    MXO_TRY(make_plan(call, &p, why));
    for (uint64_t b = 0; b < p.rows * p.cols / MXO_MX_BLOCK; b++) {
        for (uint64_t i = 0; i < MXO_MX_BLOCK; i++) {
            block[i] = quant_load(x, b * MXO_MX_BLOCK + i);
        }
        uint32_t unit = 0;
        const uint8_t byte = scale_of(&p, block, &unit);
        mxo_store(mxo_call_out(call, "scale"), b, byte);
        for (uint64_t i = 0; i < MXO_MX_BLOCK; i++) {
            const uint8_t code = code_of(&p, block[i], byte, unit);
            const uint64_t at = b * MXO_MX_BLOCK + i;
            if (p.element == MXO_FMT_E2M1) {
                mxo_store_nibble(mxo_tensor_data(q), at, code);
            } else {
                mxo_store(q, at, code);
            }
        }
    }
    return MXO_OK;
}
