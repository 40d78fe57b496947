/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One block of any rule, any format, any input: the definition that lanes
 * repeat for ordinary blocks.  Quotients are exact in double, so an element
 * is rounded once, by the rule in hand.
 */
#include "number.h"
#include "quant.h"

#include <mxoracle/abi.h>

#define INF_BITS 0x7f800000u

static float load(uint32_t from, const uint8_t *x, int i)
{
    uint16_t half;
    uint32_t word;

    if (from == MXO_F32) {
        memcpy(&word, x + 4 * i, 4);
        return cpu_float(word);
    }
    memcpy(&half, x + 2 * i, 2);
    return from == MXO_BF16 ? cpu_from_bf16(half) : cpu_from_f16(half);
}

void cpu_quant_look(cpu_quant_max *max, float x)
{
    const uint32_t a = cpu_bits32(x) & 0x7fffffffu;

    if (a > INF_BITS) {
        max->has_nan = 1;
    } else {
        max->has_number = 1;
        max->amax = a > max->amax ? a : max->amax;
    }
}

uint32_t cpu_quant_amax(const cpu_quant *quant, const cpu_quant_max *max)
{
    const uint8_t kind = quant->rule->amax;

    if ((max->has_nan && kind == CPU_AMAX_POISON) ||
        (!max->has_number && kind == CPU_AMAX_SKIP)) {
        return 0x7fc00000u;
    }
    return max->amax < quant->rule->amax_floor ? quant->rule->amax_floor
                                               : max->amax;
}

static uint32_t flush(const cpu_quant *quant, uint32_t t)
{
    return (quant->flags & CPU_Q_FLUSH) != 0 && t < 0x00800000u ? 0 : t;
}

static uint32_t ratio_of(const cpu_quant *quant, uint32_t amax)
{
    const float a = cpu_float(flush(quant, amax));
    float t = a;

    switch (quant->rule->ratio) {
    case CPU_RATIO_DIVIDE:
        t = a / quant->largest;
        break;
    case CPU_RATIO_INVERSE:
        t = a * (1.0f / quant->largest);
        break;
    case CPU_RATIO_SHIFT:
        t = a * (float)cpu_pow2(-quant->element->emax);
        break;
    default:
        break;
    }
    return flush(quant, cpu_bits32(t));
}

/* 127 + ceil(log2(amax / largest)) with nothing rounded, at least 0. */
static int exact_ceil(const cpu_quant *quant, uint32_t amax)
{
    const double a = (double)cpu_float(amax);
    int byte = 0;

    while (byte < 255 && a > (double)quant->largest * cpu_pow2(byte - 127)) {
        byte++;
    }
    return byte;
}

uint8_t cpu_quant_byte(const cpu_quant *quant, uint32_t amax)
{
    const cpu_quant_rule *rule = quant->rule;
    const uint32_t ratio = ratio_of(quant, amax);
    const uint32_t t = ratio < rule->ratio_floor ? rule->ratio_floor : ratio;
    uint32_t field = t >> 23;

    if (t >= INF_BITS) {
        const int byte = t > INF_BITS ? rule->nan_byte : rule->inf_byte;
        const int formula = 255 - quant->element->emax;
        return (uint8_t)(byte != CPU_CARRY_FIELD ? byte
                         : formula > rule->high  ? rule->high
                                                 : formula);
    }
    if (rule->up == CPU_UP_15) {
        field = (t + (1u << 22)) >> 23;
    } else if (rule->up == CPU_UP_HALF) {
        field = (t + (1u << (22 - quant->element->mbits))) >> 23;
        if (field == 255 && rule->carry_byte != CPU_CARRY_FIELD) {
            return (uint8_t)rule->carry_byte;
        }
    } else if (rule->up == CPU_UP_BITS) {
        field += (t & 0x7fffffu) != 0;
    } else if (rule->up == CPU_UP_PTX) {
        /* 2^-127 is the pattern 400000. */
        field += field == 0 ? t > 0x400000u : (t & 0x7fffffu) != 0;
    }
    const int offset =
        (quant->flags & CPU_Q_EMAX) != 0 ? quant->element->emax : 0;
    const int byte = rule->ratio == CPU_RATIO_EXACT ? exact_ceil(quant, amax)
                                                    : (int)field - offset;
    const int low = (quant->flags & CPU_Q_BYTE_1) != 0;

    return (uint8_t)(byte < low ? low : byte > rule->high ? rule->high : byte);
}

cpu_quant_scale cpu_quant_under_byte(const cpu_quant *quant, uint32_t amax,
                                     uint8_t byte)
{
    const uint32_t f = quant->flags;
    const int dead = (byte == 0 && (f & CPU_Q_DEAD_0) != 0) ||
                     (byte == 254 && (f & CPU_Q_DEAD_254) != 0) ||
                     (byte == 255 && (f & CPU_Q_DEAD_255) != 0);
    cpu_quant_scale b = {quant, dead ? 0 : cpu_pow2(127 - byte), 0, 0, 0};

    if (byte == 254 && (f & CPU_Q_TURNED_254) != 0) {
        b.factor = -(double)cpu_float(INF_BITS);
    }
    b.all_nan = (byte == 255 && !dead && (f & CPU_Q_LIVE_255) == 0) ||
                (amax > INF_BITS && (f & CPU_Q_NAN_AMAX) != 0);
    return b;
}

static uint8_t nan_code(const cpu_quant *quant, uint32_t pattern)
{
    const cpu_element *e = quant->element;
    const uint8_t sign = (pattern >> 31) != 0 ? e->sign : 0;
    const int drop = 23 - e->mbits;

    if (quant->nan_is_zero) {
        return 0;
    }
    switch (quant->nan) {
    case CPU_NAN_LARGEST:
        return e->largest;
    case CPU_NAN_SIGNED:
        return e->largest | sign;
    case CPU_NAN_ZERO:
        return 0;
    case CPU_NAN_ONES:
        return (uint8_t)(e->sign - 1u);
    case CPU_NAN_MINUS:
        return e->largest | e->sign;
    case CPU_NAN_ARITHMETIC: {
        const uint32_t a = (pattern & 0x7fffffffu) -
                           ((uint32_t)(127 - e->bias) << 23) +
                           (1u << (drop - 1)) - 1 + (pattern >> drop & 1u);
        return (uint8_t)((a >> drop & (e->sign - 1u)) | sign);
    }
    case CPU_NAN_PLUS:
        return e->nan != 0 ? e->nan : e->largest;
    default:
        break;
    }
    if (e->nan == 0) {
        return e->largest;
    }
    return e->nan == 0x80 ? 0x80 : (uint8_t)(e->nan | sign);
}

static uint8_t overflow_code(const cpu_quant *quant, int finite)
{
    const cpu_element *e = quant->element;

    if ((quant->flags & CPU_Q_UNSATURATED) == 0 || e->nan == 0 ||
        (finite && quant->tie == CPU_RZ)) {
        return e->largest;
    }
    return e->nan == 0x80 ? 0x80 : (uint8_t)(e->largest + 1);
}

/* a >= 0 and finite, exact. */
static uint32_t magnitude_code(const cpu_quant *quant, double a)
{
    const cpu_element *e = quant->element;
    const int emin = 1 - e->bias;
    const int own = (int)(cpu_bits64(a) >> 52) - 1023;
    const int exponent = own < emin ? emin : own > 64 ? 64 : own;
    const double u = a * cpu_pow2(e->mbits - exponent);

    if (own > 64) {
        return UINT32_MAX;
    }
    uint32_t n = (uint32_t)u;
    const double rest = u - (double)n;
    int up;

    if (quant->tie == CPU_RZ) {
        up = 0;
    } else if (quant->tie == CPU_RNA) {
        up = rest >= 0.5;
    } else if (quant->tie == CPU_RNZ) {
        up = rest > 0.5;
    } else {
        up = rest > 0.5 || (rest == 0.5 && n % 2 != 0);
    }

    n += (uint32_t)up;
    return ((uint32_t)(exponent - emin) << e->mbits) + n;
}

static uint8_t sign_and_magnitude(const cpu_quant_scale *b, float x)
{
    const cpu_quant *quant = b->quant;
    const cpu_element *e = quant->element;
    uint32_t u = cpu_bits32(x);

    if ((u & 0x7fffffffu) > INF_BITS) {
        return nan_code(quant, u | 0x400000u);
    }
    if (b->all_nan) {
        return nan_code(quant, 0x7fc00000u);
    }
    if ((u & 0x7fffffffu) == INF_BITS && b->factor == 0) {
        const int minus = (quant->flags & CPU_Q_MINUS_NAN) != 0;
        return nan_code(quant, minus ? 0xffc00000u : 0x7fc00000u);
    }
    if (b->factor < 0) { /* minus infinity */
        return flush(quant, u & 0x7fffffffu) == 0
                   ? nan_code(quant, 0x7fc00000u)
                   : (uint8_t)(e->largest | ((u >> 31) != 0 ? 0 : e->sign));
    }
    const int positive = (quant->flags & CPU_Q_NO_MINUS_0) != 0 ||
                         ((quant->flags & CPU_Q_POSITIVE_0) != 0 &&
                          (float)(x * b->factor) == 0.0f);
    const uint8_t sign = (u >> 31) != 0 ? e->sign : 0;
    u = flush(quant, u & 0x7fffffffu);
    const int infinite = u == INF_BITS;
    uint32_t m =
        infinite ? UINT32_MAX : magnitude_code(quant, cpu_float(u) * b->factor);

    if (m > e->largest) {
        m = overflow_code(quant, !infinite);
    }
    if (m == 0 && (positive || e->nan == 0x80)) {
        return 0;
    }
    return (uint8_t)(m | (m == 0x80 ? 0 : sign));
}

static uint8_t code_of(const cpu_quant_scale *b, float x)
{
    const uint8_t code = sign_and_magnitude(b, x);

    return b->quant->twos_complement && code >= 0x80 ? (uint8_t)(0x80 - code)
                                                     : code;
}

uint8_t cpu_quant_code(const cpu_quant *quant, float x)
{
    const cpu_quant_scale b = {quant, 1, 0, 0, 0};

    return code_of(&b, x);
}

cpu_quant_scale cpu_quant_under_float(const cpu_quant *quant, uint32_t amax,
                                      float *scale)
{
    cpu_quant_scale b = {quant, 1, 0, 1, 0};

    *scale = cpu_float(ratio_of(quant, amax));
    if (*scale == 0 && (quant->flags & CPU_Q_SCALE_1) != 0) {
        *scale = 1;
    }
    *scale = *scale != *scale ? cpu_float(0x7fc00000u) : *scale;
    b.by = (quant->flags & CPU_Q_INVERSE) != 0 ? 1.0f / *scale : *scale;
    return b;
}

uint8_t cpu_quant_scaled(const cpu_quant_scale *scale, float x)
{
    const cpu_quant *quant = scale->quant;

    if (!scale->by_float || x != x) {
        return code_of(scale, x);
    }
    const float q =
        (quant->flags & CPU_Q_INVERSE) != 0 ? x * scale->by : x / scale->by;

    return code_of(scale, q != q ? cpu_float(0x7fc00000u) : q);
}

uint8_t cpu_quant_block(const cpu_quant *quant, uint8_t *code, const uint8_t *x,
                        int n)
{
    cpu_quant_max max = {0, 0, 0};
    float v[CPU_QUANT_MOST];

    for (int i = 0; i < n; i++) {
        v[i] = load(quant->from, x, i);
        cpu_quant_look(&max, v[i]);
    }
    const uint32_t amax = cpu_quant_amax(quant, &max);
    const uint8_t byte = cpu_quant_byte(quant, amax);
    const cpu_quant_scale b = cpu_quant_under_byte(quant, amax, byte);

    for (int i = 0; i < n; i++) {
        code[i] = code_of(&b, v[i]);
    }
    return byte;
}

void cpu_quant_hard(const cpu_quant_span *span, uint64_t at)
{
    const cpu_quant *quant = span->quant;
    const uint64_t size = quant->from == MXO_F32 ? 128 : 64;
    const int packed = quant->element->bits == 4;
    uint8_t code[32];

    span->scale[at] = cpu_quant_block(quant, code, span->x + at * size, 32);
    if (!packed) {
        memcpy(span->q + 32 * at, code, 32);
        return;
    }
    for (unsigned i = 0; i < 16; i++) {
        span->q[16 * at + i] = (uint8_t)(code[2 * i] | code[2 * i + 1] << 4);
    }
}

void cpu_quant_portable(const cpu_quant_span *span)
{
    for (uint64_t at = 0; at < span->blocks; at++) {
        cpu_quant_hard(span, at);
    }
}
