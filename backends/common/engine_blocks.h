/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.engine, quant.nvfp4_engine and quant.mxfp4_to_nvfp4: a block of E2M1
 * as other engines make it.  Steps of binary32, each rounded; C that CUDA C++
 * and HIP C++ also accept.  docs/ops/ has the steps, engine.def the rows.
 */
#ifndef BACKENDS_ENGINE_BLOCKS_H
#define BACKENDS_ENGINE_BLOCKS_H

#include "engine_steps.h"

CODES_FN int32_t blocks_rounded(float x, uint32_t how)
{
    int32_t low = (int32_t)x;

    low -= (float)low > x;
    const float rest = x - (float)low;

    return how == BLOCKS_DOWN ? low
           : how == BLOCKS_NEAR
               ? low + (rest > 0.5f || (rest == 0.5f && low % 2 != 0))
               : low + (rest != 0);
}

/* Exponent of a finite t > 0, before the offset. */
CODES_FN int32_t blocks_exponent(const blocks_job *j, float t)
{
    const uint32_t bits = engines_bits(t);
    const codes_real x = blocks_read(j, t);
    const int32_t field = (int32_t)(bits >> 23) - 127;
    float log = 0;

    switch (j->rule.exponent) {
    case BLOCKS_FIELD:
        return field;
    case BLOCKS_UP:
        return field + ((bits & 0x7fffffu) != 0);
    case BLOCKS_HALF:
        return (int32_t)((bits + 0x200000u) >> 23) - 127;
    case BLOCKS_EXACT:
        return codes_lg(x.sig) + x.exp + ((x.sig & (x.sig - 1)) != 0);
    case BLOCKS_LN:
        log = t == 1 ? 0.0f : blocks_write(j, functions_ln(x));
        return blocks_rounded(log * 0x1.715476p+0f, BLOCKS_CEIL);
    default:
        return blocks_rounded(blocks_write(j, functions_log(x)),
                              j->rule.exponent);
    }
}

CODES_FN uint32_t blocks_byte(const blocks_job *j, int32_t exponent)
{
    const int32_t byte = exponent - (int32_t)j->rule.offset + 127;

    if (j->rule.edge == BLOCKS_WRAP) {
        return (uint32_t)byte & 255;
    }
    return byte < 0 ? 0 : byte > 254 ? 254 : (uint32_t)byte;
}

/* MLX divides by *unit, whatever the byte says. */
CODES_FN uint32_t blocks_typed_scale(const blocks_job *j, float t, float *unit)
{
    const int32_t n =
        t == 0 || t == blocks_infinity() ? 0 : blocks_exponent(j, t);

    *unit = t == blocks_infinity() ? 0 : blocks_typed(j, blocks_power(j, n));
    if (t == blocks_infinity()) {
        return j->type.mbits == 23 ? 128 : 0;
    }
    return t == 0 ? j->rule.zero : blocks_byte(j, n);
}

CODES_FN uint32_t blocks_scale(const blocks_job *j, const float *x, float *unit)
{
    const blocks_rule *const r = &j->rule;
    const float least = engines_float(r->least);
    int has_nan;
    float t = blocks_amax(x, 32, &has_nan);

    if (r->edge == BLOCKS_LOST && (has_nan || t == blocks_infinity())) {
        *unit = blocks_infinity();
        return 0;
    }
    if (has_nan && j->poisoned) {
        return r->base == BLOCKS_TYPED
                   ? blocks_typed_scale(j, blocks_infinity(), unit)
               : r->edge == BLOCKS_WRAP ? 0
                                        : 255;
    }
    if (r->exponent == BLOCKS_LN && t < 0x1p-23f) {
        t = 0x1p-23f;
    }
    if (r->base != BLOCKS_AMAX) {
        t = t / (j->wide ? 448.0f : 6.0f);
    }
    if (r->base == BLOCKS_TYPED) {
        return blocks_typed_scale(j, blocks_typed(j, t), unit);
    }
    t = t < least ? least : t;
    if (t == blocks_infinity()) {
        return r->edge == BLOCKS_WRAP     ? 0
               : r->edge == BLOCKS_NORMAL ? blocks_byte(j, 128)
                                          : 254;
    }
    return t == 0 ? r->zero : blocks_byte(j, blocks_exponent(j, t));
}

/* A NaN in E4M3 saturates: with the sign of x, or the one that x86-64 gives 0
   by 0, but that BF16 keeps no sign of a NaN. */
CODES_FN uint32_t blocks_typed_code(const blocks_job *j, float x, float unit)
{
    const float v = blocks_typed(j, x / unit);
    const int is_minus = x == x || engines_bits(x) >> 31 != 0;

    if (!j->wide) {
        return blocks_scan(1, v);
    }
    return v == v                                ? blocks_e4m3(j, v)
           : j->type.mbits != 7 && is_minus != 0 ? 0xfe
                                                 : 0x7e;
}

CODES_FN uint32_t blocks_mx_code(const blocks_job *j, float x, uint32_t byte,
                                 float unit)
{
    const blocks_rule *const r = &j->rule;
    const int32_t least = r->edge == BLOCKS_NORMAL ? -126
                          : r->edge == BLOCKS_ONE  ? 0
                                                   : -127;
    const int32_t exponent = byte != 0 ? (int32_t)byte - 127 : least;

    if (r->base == BLOCKS_TYPED) {
        return blocks_typed_code(j, x, unit);
    }
    if (unit == blocks_infinity()) { /* LOST */
        return 8;
    }
    if (r->element == BLOCKS_SCAN) {
        return blocks_scan(
            byte == 255 ? blocks_infinity() : blocks_power(j, exponent), x);
    }
    codes_real quotient = blocks_read(j, x);

    quotient.exp -= exponent;
    const uint32_t tie = r->element == BLOCKS_RNZ ? CODES_RNZ : CODES_RNE;
    const uint32_t code =
        (uint32_t)codes_write(&j->in.e2m1, quotient, tie, 1, 0, 0);

    if ((code & 7) != 0 || r->sign == BLOCKS_KEEP) {
        return code;
    }
    return r->sign == BLOCKS_PLUS               ? 0
           : r->sign == BLOCKS_ALWAYS || x == 0 ? 8
                                                : code;
}

CODES_FN uint32_t blocks_mx(const blocks_job *j, uint8_t *code, const float *x)
{
    float unit = 0;
    const uint32_t byte = blocks_scale(j, x, &unit);

    for (int i = 0; i < 32; i++) {
        code[i] = (uint8_t)blocks_mx_code(j, x[i], byte, unit);
    }
    return byte;
}

/* d d + sum in one rounding, both at least 0: binary64 to odd, then once
   more. */
CODES_FN float blocks_add_square(float d, float sum)
{
    const functions_pair s = functions_sum((double)d * d, sum);
    uint64_t bits = functions_bits(s.hi);
    double odd;

    if (s.hi - s.hi == 0 && s.lo != 0 && (bits & 1) == 0) {
        bits += s.lo > 0 ? 1 : UINT64_MAX;
    }
    memcpy(&odd, &bits, 8);
    return (float)odd;
}

CODES_FN float blocks_inverse(float scale)
{
    const float half = scale * 0.5f;

    return scale == 0 ? 0.0f : 0.5f / half;
}

/* What a candidate byte costs. */
CODES_FN float blocks_cost(const blocks_job *j, uint32_t byte, const float *v)
{
    const float scale = engines_value(&j->in, &j->in.e4m3, byte);
    const float inverse = blocks_inverse(scale);
    float sum = 0;

    for (int i = 0; i < 16; i++) {
        const uint32_t q = blocks_e2m1(j, blocks_size(v[i] * inverse));
        const float value = (float)engines_doubled(q) * 0.5f * scale;
        sum = blocks_add_square(blocks_size(v[i]) - value, sum);
    }
    return sum;
}

CODES_FN uint32_t blocks_ggml_cuda(const blocks_job *j, uint8_t *code,
                                   const float *x, float row)
{
    const float inverse = row == 0 ? 0.0f : 1.0f / row;
    float v[16];
    float least = 0;
    int32_t best = -1;
    int has_nan;

    for (int i = 0; i < 16; i++) {
        v[i] = x[i] * inverse;
    }
    const float amax = blocks_amax(v, 16, &has_nan);
    const int32_t first = amax == 0 ? 0 : (int32_t)blocks_e4m3(j, amax / 6.0f);

    for (int32_t i = 0; i < 5; i++) { /* 0 -1 1 -2 2 beside the first */
        const int32_t byte = first + (i % 2 != 0 ? -1 : 1) * ((i + 1) / 2);
        if (byte < 0 || byte > 0x7e) {
            continue;
        }
        const float cost = blocks_cost(j, (uint32_t)byte, v);
        if (best < 0 || cost < least) {
            best = byte;
            least = cost;
        }
    }
    const float by = inverse * blocks_inverse(engines_value(&j->in, &j->in.e4m3,
                                                            (uint32_t)best));

    for (int i = 0; i < 16; i++) {
        code[i] = (uint8_t)blocks_e2m1(j, x[i] * by);
    }
    return (uint32_t)best;
}

/* A NaN wins the maximum, and saturates; a global scale comes in behind the
   quotients, which are in the type of x. */
CODES_FN uint32_t blocks_mlx(const blocks_job *j, uint8_t *code, const float *x,
                             float global)
{
    int has_nan;
    const float s = blocks_typed(j, blocks_amax(x, 16, &has_nan) / 6.0f);
    const uint32_t byte = blocks_e4m3(j, has_nan ? 448.0f : s * global);
    const float unit =
        blocks_typed(j, engines_value(&j->in, &j->in.e4m3, byte));

    for (int i = 0; i < 16; i++) {
        const float quotient = blocks_typed(j, x[i] / unit);
        code[i] = (uint8_t)blocks_scan(1, quotient * global);
    }
    return byte;
}

CODES_FN uint32_t blocks_modelopt(const blocks_job *j, uint8_t *code,
                                  const float *x, float global)
{
    int has_nan;
    const float sixfold = 6.0f * global;
    float s = blocks_amax(x, 16, &has_nan) / sixfold;

    if (s != s) { /* 0/0 of a tensor of zeros: every quotient is NaN */
        for (int i = 0; i < 16; i++) {
            code[i] = 7;
        }
        return 0x7f;
    }
    s = s == 0 ? 1.0f : s;
    s = s < 0x1p-9f ? 0x1p-9f : s > 448 ? 448.0f : s;
    const uint32_t byte = blocks_e4m3(j, s);
    const float unit = engines_value(&j->in, &j->in.e4m3, byte) * global;

    for (int i = 0; i < 16; i++) { /* a zero of either sign is code 0 */
        const float quotient = x[i] / unit;
        code[i] = quotient != quotient ? 7
                  : quotient == 0      ? 0
                                       : (uint8_t)blocks_e2m1(j, quotient);
    }
    return byte;
}

CODES_FN uint32_t blocks_ggml(const blocks_job *j, uint8_t *code,
                              const float *x)
{
    int has_nan;
    const float sixth = blocks_amax(x, 16, &has_nan) / 6.0f;
    const uint32_t byte = codes_ue4m3_encode(engines_bits(sixth));
    const float half = engines_half_e4m3(&j->in, byte);

    for (int i = 0; i < 16; i++) {
        code[i] = (uint8_t)blocks_scan(half + half, x[i]);
    }
    return byte;
}

CODES_FN uint32_t blocks_nvfp4(const blocks_job *j, uint8_t *code,
                               const float *x, uint64_t block)
{
    switch (j->nvfp4) {
    case BLOCKS_GGML:
        return blocks_ggml(j, code, x);
    case BLOCKS_GGML_CUDA:
        return blocks_ggml_cuda(j, code, x, j->global[block / (j->cols / 16)]);
    case BLOCKS_MODELOPT:
        return blocks_modelopt(j, code, x, j->global[0]);
    case BLOCKS_MLX:
        return blocks_mlx(j, code, x, 1);
    default:
        return blocks_mlx(
            j, code, x,
            2688.0f / engines_float((uint32_t)codes_load(j->in.global, 4, 0)));
    }
}

/* A block that is at most 2^17 below the largest keeps its codes;
   any other one is rounded again under the smallest scale. */
CODES_FN int blocks_fits(const blocks_job *j, uint32_t byte)
{
    return (int32_t)byte - 127 >= j->k_max - BLOCKS_SPAN;
}

CODES_FN uint32_t blocks_cast(const blocks_job *j, uint8_t *code,
                              uint64_t block)
{
    const uint32_t byte = (uint32_t)codes_load(j->in.scale, 1, block);
    const int32_t k = (int32_t)byte - 127;
    const int fits = blocks_fits(j, byte);

    for (uint32_t i = 0; i < 32; i++) {
        const uint32_t old = (uint32_t)codes_load(j->in.x, 0, 32 * block + i);
        codes_real x = codes_read(&j->in.e2m1, old);

        x.exp += k - j->k_max + BLOCKS_SPAN;
        code[i] =
            (uint8_t)(old == 8 ? 0
                      : fits   ? old
                             : codes_write(&j->in.e2m1, x, CODES_RNE, 1, 0, 0));
    }
    return fits ? blocks_e4m3(j, blocks_power(j, k - j->k_max + 8)) : 1;
}

CODES_FN void blocks_put(const blocks_job *j, uint64_t block)
{
    const uint32_t n = j->op == BLOCKS_NVFP4 ? 16 : 32;
    uint8_t *const q = (uint8_t *)j->in.y;
    uint8_t *const scale = (uint8_t *)j->in.y_scale;
    float x[32];
    uint8_t code[32];
    uint32_t byte;

    for (uint32_t i = 0; i < n && j->op != BLOCKS_CAST; i++) {
        x[i] = engines_load(&j->in, block * n + i);
    }
    if (j->op == BLOCKS_CAST) {
        byte = blocks_cast(j, code, block);
        scale[2 * block + 1] = (uint8_t)byte;
        scale[2 * block] = (uint8_t)byte;
    } else {
        byte = j->op == BLOCKS_MX ? blocks_mx(j, code, x)
                                  : blocks_nvfp4(j, code, x, block);
        scale[block] = (uint8_t)byte;
    }
    for (uint32_t i = 0; i < n / 2; i++) {
        if (j->wide) {
            q[block * n + 2 * i] = code[2 * i];
            q[block * n + 2 * i + 1] = code[2 * i + 1];
        } else {
            q[block * n / 2 + i] =
                (uint8_t)(code[2 * i] | code[2 * i + 1] << 4);
        }
    }
}

/* Largest magnitude of every step-th element of a row; for modelopt a NaN wins.
 */
CODES_FN float blocks_row(const blocks_job *j, uint64_t row, uint64_t first,
                          uint64_t step)
{
    float amax = 0;

    for (uint64_t i = first; i < j->cols; i += step) {
        const float x = engines_load(&j->in, row * j->cols + i);
        const float size = blocks_size(x);
        if (x != x && j->nvfp4 == BLOCKS_MODELOPT) {
            return engines_float(0x7fc00000u);
        }
        amax = size > amax ? size : amax;
    }
    return amax;
}

CODES_FN void blocks_put_row(const blocks_job *j, uint64_t row, float amax)
{
    if (j->nvfp4 == BLOCKS_GGML_CUDA) {
        j->global[row] = amax / 2688.0f;
    } else {
        j->amax[row] = amax;
    }
}

/* What stands once in the outputs. */
CODES_FN void blocks_put_tensor(const blocks_job *j)
{
    float amax = 0;

    if (j->op == BLOCKS_CAST) {
        j->global[0] = blocks_power(j, j->k_max - 8);
        j->blocks[0] = (int32_t)j->n;
        j->blocks[1] = j->kept;
        return;
    }
    for (uint64_t i = 0; i < j->rows; i++) {
        amax =
            j->amax[i] > amax || j->amax[i] != j->amax[i] ? j->amax[i] : amax;
    }
    j->global[0] = amax / 2688.0f;
}

#endif
