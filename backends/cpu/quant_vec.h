/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantising ordinary blocks, written once over vec_*.h and compiled by every
 * lane.  Elements stay unscaled: instead of multiplying them by 2^(127-byte),
 * the format's smallest exponent and largest value are moved to the block's
 * scale.  Adding 2^(e+23-mbits) to a number of exponent e makes the float
 * adder round it to the element's mantissa, nearest even, and leaves the
 * significand as an integer in the low bits.
 */
#ifndef CPU_QUANT_VEC_H
#define CPU_QUANT_VEC_H

#include "number.h"
#include "quant.h"

#include <mxoracle/abi.h>

/* amax from 2^-67 to 2^83: bytes, anchors and limits stay inside the range. */
#define ORDINARY_LOW ((127u - 67u) << 23)
#define ORDINARY_HIGH ((127u + 83u) << 23)

enum { PARTS = 32 / VEC_N };

static inline vec_u load_part(uint32_t from, const uint8_t *x)
{
    if (from == MXO_BF16) {
        return vec_u_shl(vec_u_load16(x), 16);
    }
    return from == MXO_F16 ? vec_u_load_f16(x) : vec_u_load(x);
}

static inline uint32_t byte_of_amax(const cpu_quant *quant, uint32_t amax)
{
    const float a = cpu_float(amax);
    const float t = quant->divides ? a / quant->by : a * quant->by;

    return ((cpu_bits32(t) + quant->add) >> 23) - quant->sub;
}

/* x in place of its codes, low bits of each lane. */
static inline void encode_parts(vec_u x[PARTS], const cpu_element *e,
                                uint32_t largest, uint32_t byte)
{
    const int drop = 23 - e->mbits;
    const uint32_t shift = (byte - 127u) << 23;
    const vec_u top = vec_u_set(largest + shift);
    const uint32_t low = ((uint32_t)(128 - e->bias) << 23) + shift;
    const vec_u floor = vec_u_set(low);
    const vec_u lift = vec_u_set((uint32_t)drop << 23);
    const vec_u base = vec_u_set(((low >> 23) + (uint32_t)drop) << e->mbits);
    const int to_sign = e->sign == 0x80 ? 24 : 28;
    const vec_u sign = vec_u_set(e->sign);
    const vec_u magnitude = vec_u_set(0x7fffffffu);
    const vec_u field = vec_u_set(0x7f800000u);

    for (int i = 0; i < PARTS; i++) {
        const vec_u a = vec_u_min(vec_u_and(x[i], magnitude), top);
        const vec_u anchor =
            vec_u_add(vec_u_max(vec_u_and(a, field), floor), lift);
        const vec_u n = vec_u_sub(vec_u_fadd(a, anchor), anchor);
        const vec_u m = vec_u_add(n, vec_u_sub(vec_u_shr(anchor, drop), base));

        x[i] = vec_u_or(m, vec_u_and(vec_u_shr(x[i], to_sign), sign));
    }
}

static inline void quant_run(const cpu_quant_span *span, uint32_t from,
                             const cpu_element *e)
{
    const cpu_quant *quant = span->quant;
    const uint64_t size = from == MXO_F32 ? 4 : 2;
    const int checked = (quant->flags & CPU_Q_UNSATURATED) != 0;

    for (uint64_t b = 0; b < span->blocks; b++) {
        const uint8_t *src = span->x + 32 * size * b;
        vec_u x[PARTS];
        vec_u high = vec_u_set(0);

        for (int i = 0; i < PARTS; i++) {
            x[i] = load_part(from, src + size * VEC_N * (unsigned)i);
            high = vec_u_max(high, vec_u_and(x[i], vec_u_set(0x7fffffffu)));
        }
        const uint32_t amax = vec_u_largest(high);
        const uint32_t byte = byte_of_amax(quant, amax);
        if (amax - ORDINARY_LOW >= ORDINARY_HIGH - ORDINARY_LOW ||
            (checked && amax - ((byte - 127u) << 23) > quant->largest_bits)) {
            cpu_quant_hard(span, b);
            continue;
        }
        span->scale[b] = (uint8_t)byte;
        encode_parts(x, e, quant->largest_bits, byte);
        for (int i = 0; i < PARTS; i++) {
            const uint64_t at = 32 * b + VEC_N * (unsigned)i;

            if (e->bits == 4) {
                vec_u_store4(span->q + at / 2, x[i]);
            } else {
                vec_u_store8(span->q + at, x[i]);
            }
        }
    }
}

/* A constant row lets the compiler fold the format into the loop. */
static inline void quant_element(const cpu_quant_span *span, uint32_t from)
{
    const cpu_element e2m1 = {.mbits = 1, .bias = 1, .sign = 0x08, .bits = 4};
    const cpu_element e4m3 = {.mbits = 3, .bias = 7, .sign = 0x80, .bits = 8};
    const cpu_element e5m2 = {.mbits = 2, .bias = 15, .sign = 0x80, .bits = 8};

    switch (span->quant->element->mbits) {
    case 1:
        quant_run(span, from, &e2m1);
        break;
    case 3:
        quant_run(span, from, &e4m3);
        break;
    default:
        quant_run(span, from, &e5m2);
        break;
    }
}

static void quant(const cpu_quant_span *span)
{
    switch (span->quant->from) {
    case MXO_BF16:
        quant_element(span, MXO_BF16);
        break;
    case MXO_F16:
        quant_element(span, MXO_F16);
        break;
    default:
        quant_element(span, MXO_F32);
        break;
    }
}

#endif
