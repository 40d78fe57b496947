/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of activations as a quantiser leaves them: codes under scale bytes, or
 * numbers of 16 bits, or codes under the one scale that was given, with E4M3
 * bytes beside it or without.  See
 * layer.h; docs/ops/quant.*.md say what each of them is.
 */
#include "layer.h"

#include <math.h>
#include <string.h>

enum { RUN_BLOCKS = CPU_RUN / CPU_MX };

static double byte_value(uint8_t byte)
{
    return byte == 255 ? (double)NAN : cpu_pow2(byte - 127);
}

void cpu_layer_decode(const cpu_element *e, const uint8_t *codes,
                      const uint8_t *scale, size_t n, const layer_parts *to)
{
    for (size_t i = 0; i < n; i++) {
        const uint8_t byte = codes[e->bits == 4 ? i / 2 : i];
        const uint8_t code =
            (uint8_t)(e->bits == 4 ? byte >> (i % 2 * 4) & 15 : byte);
        const double unit = byte_value(scale[i / CPU_MX]);
        const double x = (double)cpu_element_value(e, code);

        to->x[i] = to->scale == NULL ? x * unit : x;
        if (to->scale != NULL) {
            to->scale[i / CPU_MX] = unit;
        }
    }
}

/* Codes one per byte, in pairs where that is how they travel. */
static void pack(const cpu_element *e, const uint8_t *code, size_t n,
                 uint8_t *q)
{
    if (e->bits != 4) {
        memcpy(q, code, n);
        return;
    }
    for (size_t i = 0; i < n; i += 2) {
        q[i / 2] = (uint8_t)(code[i] | (i + 1 < n ? code[i + 1] : 0) << 4);
    }
}

/* One block or group, with what is left at the end of a row. */
static void one_group(const layer_quant *quant, const uint8_t *src, size_t n,
                      const layer_parts *to)
{
    uint8_t code[CPU_QUANT_MOST];
    uint8_t q[CPU_QUANT_MOST];
    uint8_t scale[CPU_QUANT_MOST / CPU_MX];

    memset(scale, cpu_quant_block(&quant->by, code, src, (int)n), sizeof scale);
    pack(quant->by.element, code, n, q);
    cpu_layer_decode(quant->by.element, q, scale, n, to);
}

static layer_parts parts_at(const layer_parts *to, size_t i)
{
    return (layer_parts){to->x + i,
                         to->scale == NULL ? NULL : to->scale + i / CPU_MX};
}

/* Whole blocks of 32 by the lane. */
static void by_blocks(const layer_quant *quant, const cpu_isa_ops *lane,
                      const uint8_t *src, size_t n, const layer_parts *to)
{
    uint8_t q[CPU_RUN];
    uint8_t scale[RUN_BLOCKS];
    const size_t whole = n / CPU_MX;
    const size_t size = cpu_dtype_bytes(quant->by.from);
    const cpu_quant_span span = {&quant->by, src, q, scale, whole};

    if (quant->by.lane_may) {
        lane->quant(&span);
    } else {
        cpu_quant_portable(&span);
    }
    cpu_layer_decode(quant->by.element, q, scale, whole * CPU_MX, to);
    if (n % CPU_MX != 0) {
        const layer_parts rest = parts_at(to, whole * CPU_MX);
        one_group(quant, src + whole * CPU_MX * size, n % CPU_MX, &rest);
    }
}

static void by_groups(const layer_quant *quant, const uint8_t *src, size_t n,
                      const layer_parts *to)
{
    const size_t size = cpu_dtype_bytes(quant->by.from);

    for (size_t at = 0; at < n; at += quant->group) {
        const size_t left = n - at;
        const layer_parts part = parts_at(to, at);

        one_group(quant, src + at * size,
                  left < quant->group ? left : quant->group, &part);
    }
}

/* Quantised and back, a block at a time; what comes out has 16 bits again. */
static void by_qdq(const layer_quant *quant, const uint8_t *src, size_t n,
                   double *y)
{
    const size_t size = cpu_dtype_bytes(quant->by.from);
    uint8_t code[CPU_MX];
    float back[CPU_MX];

    for (size_t at = 0; at < n; at += CPU_MX) {
        const size_t left = n - at;
        const int own = left < CPU_MX ? (int)left : CPU_MX;

        (void)cpu_quant_qdq(&quant->by, quant->is_quark_hip, src + at * size,
                            own, code, back);
        for (int i = 0; i < own; i++) {
            y[at + (size_t)i] = (double)back[i];
        }
    }
}

static void by_given(const layer_quant *quant, const uint8_t *src, size_t n,
                     double *y)
{
    const float inverse = 1.0f / quant->scale;
    float x[CPU_RUN];

    cpu_widen(quant->by.from, src, (uint32_t)n, x);
    for (size_t i = 0; i < n; i++) {
        const float q =
            quant->is_reciprocal ? x[i] * inverse : x[i] / quant->scale;
        y[i] = (double)cpu_element_value(quant->by.element,
                                         cpu_quant_code(&quant->by, q));
    }
}

/* A code times the scale of its block has six bits. */
static void by_nvfp4(const layer_quant *quant, const uint8_t *src, size_t n,
                     double *y)
{
    const cpu_element *e = cpu_element_of("e2m1");
    const size_t size = cpu_dtype_bytes(quant->by.from);
    float x[CPU_NVFP4_BLOCK];
    uint8_t code[CPU_NVFP4_BLOCK];

    for (size_t at = 0; at < n; at += CPU_NVFP4_BLOCK) {
        cpu_widen(quant->by.from, src + at * size, CPU_NVFP4_BLOCK, x);
        const int32_t units = cpu_nvfp4_scale(
            cpu_nvfp4_block(quant->nvfp4, quant->scale, x, code));
        const double unit = units < 0 ? (double)NAN : units * 0x1p-9;

        for (size_t i = 0; i < CPU_NVFP4_BLOCK; i++) {
            y[at + i] = (double)cpu_element_value(e, code[i]) * unit;
        }
    }
}

int cpu_layer_is_given(const layer_quant *quant)
{
    return quant->op == LAYER_BY_SCALE || quant->op == LAYER_BY_NVFP4;
}

void cpu_layer_quantise(const layer_quant *quant, const cpu_isa_ops *lane,
                        const uint8_t *src, size_t n, const layer_parts *to)
{
    for (size_t b = 0; to->scale != NULL && b * CPU_MX < n; b++) {
        to->scale[b] = 1;
    }
    switch (quant->op) {
    case LAYER_BY_MX:
        by_blocks(quant, lane, src, n, to);
        break;
    case LAYER_BY_GROUP:
        by_groups(quant, src, n, to);
        break;
    case LAYER_BY_QDQ:
        by_qdq(quant, src, n, to->x);
        break;
    case LAYER_BY_NVFP4:
        by_nvfp4(quant, src, n, to->x);
        break;
    default:
        by_given(quant, src, n, to->x);
        break;
    }
}
