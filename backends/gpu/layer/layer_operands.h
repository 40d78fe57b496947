/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows on their way into a GEMM, as binary64 numbers or in BF16: widened,
 * weighted, decoded, or quantised and read back, a group of elements per
 * thread.
 * docs/ops/quant.*.md say what each quantiser is.
 */
#ifndef GPU_LAYER_OPERANDS_H
#define GPU_LAYER_OPERANDS_H

#include "layer/layer.h"
#include "layer/layer_any.h"
#include "layer/layer_type.h"
#include "ops/nvfp4.h"
#include "ops/quant_block.h"
#include "port/device.h"

enum {
    LAYER_AS_IS,
    LAYER_BY_MX, /* codes under E8M0 bytes, of groups of any length */
    LAYER_BY_QDQ,
    LAYER_BY_QUARK_HIP, /* the same in 16 bits throughout */
    LAYER_BY_GIVEN,     /* codes under the one scale that was given */
    LAYER_BY_INVERSE,   /* the same by its reciprocal */
    LAYER_BY_NVFP4      /* codes under it and E4M3 bytes, of groups of 16 */
};

typedef struct layer_operands_args {
    layer_pairs p;
    const void *from;
    const uint8_t *from_scale; /* of LAYER_CODES */
    double *x;                 /* [rows, k], or NULL */
    uint16_t *narrow;          /* then the same in BF16 */
    uint32_t *misfits;         /* set where a number has no BF16 */
    const uint32_t *when;      /* layer_is_needed() */
    double *scale;             /* [rows, blocks], apart; NULL: in x */
    const float *given;
    uint64_t rows, k;
    uint32_t type; /* of from */
    uint32_t op;
    uint32_t group; /* elements that a thread takes: 16, 32, 64 or 128 */
    uint32_t weigh; /* by the row's routing weight first, in its type */
    nvfp4_rule rule;
    quant_args q;
} layer_operands_args;

/* Elements of one group. */
typedef struct layer_group {
    const layer_operands_args *a;
    uint64_t row, first; /* first: in the row */
    uint32_t n;
} layer_group;

/* Pattern of element i in the source's type, as binary32. */
GPU_FN float layer_group_at(const layer_group *g, uint32_t i)
{
    const layer_operands_args *const a = g->a;
    const float x = layer_get(a->type, a->from, g->row * a->k + g->first + i);

    return a->weigh ? layer_to(a->type, x * layer_weight_of(&a->p, g->row)) : x;
}

/* A scale byte's number goes apart, or into the elements: what is left. */
GPU_FN double layer_group_unit(const layer_group *g, double unit)
{
    const layer_operands_args *const a = g->a;
    const uint64_t blocks = (a->k + LAYER_BLOCK - 1) / LAYER_BLOCK;
    const uint64_t at = g->row * blocks + g->first / LAYER_BLOCK;

    for (uint32_t b = 0; a->scale != NULL && b * LAYER_BLOCK < g->n; b++) {
        a->scale[at + b] = unit;
    }
    return a->scale == NULL ? unit : 1.0;
}

/* Number i of the group leaves. */
GPU_FN void layer_group_put(const layer_group *g, uint32_t i, double x)
{
    const layer_operands_args *const a = g->a;
    const uint64_t at = g->row * a->k + g->first + i;

    if (a->narrow == NULL) {
        a->x[at] = x;
        return;
    }
    const float y = layer_round(LAYER_BF16, (float)x);

    layer_store(LAYER_BF16, a->narrow, at, y);
    if (x == x && (double)y != x) {
        gpu_store_u32(a->misfits, 0, 1);
    }
}

GPU_FN void layer_group_codes(const layer_group *g)
{
    const layer_operands_args *const a = g->a;
    const uint64_t blocks = (a->k + LAYER_BLOCK - 1) / LAYER_BLOCK;
    const uint8_t *const codes =
        (const uint8_t *)a->from + (g->row * a->k + g->first) / 2;
    const uint32_t byte =
        a->from_scale[g->row * blocks + g->first / LAYER_BLOCK];
    const double unit = layer_group_unit(g, quant_unit(byte));

    for (uint32_t i = 0; i < g->n; i++) {
        layer_group_put(
            g, i,
            0.5 * layer_halves((uint32_t)codes[i / 2] >> 4 * (i & 1)) * unit);
    }
}

/* The block's byte by its rule; elements are read as they came. */
GPU_FN uint32_t layer_group_byte(const layer_group *g, uint32_t *amax)
{
    const quant_args *const q = &g->a->q;
    uint32_t numbers = 0;
    uint32_t any_nan = 0;

    for (uint32_t i = 0; i < g->n; i++) {
        const uint32_t m = gpu_bits(layer_group_at(g, i)) & 0x7fffffffu;
        any_nan |= (uint32_t)quant_is_nan(m);
        numbers = quant_is_nan(m) ? numbers : gpu_max(numbers, m + 1);
    }
    *amax = quant_amax_of(q, numbers, any_nan);
    return quant_rare_byte(q, *amax);
}

GPU_FN void layer_group_mx(const layer_group *g)
{
    const quant_args *const q = &g->a->q;
    uint32_t amax;
    const uint32_t byte = layer_group_byte(g, &amax);
    const double unit = layer_group_unit(g, quant_unit(byte));

    for (uint32_t i = 0; i < g->n; i++) {
        const uint32_t code =
            quant_rare_code(q, gpu_bits(layer_group_at(g, i)), amax, byte);
        layer_group_put(g, i, quant_value(&q->f, code) * unit);
    }
}

/* amd-quark's byte: the exponent of the maximum's own 16 bits after half of
   the first mantissa bit was added; zero, infinity and NaN give 254. */
GPU_FN uint32_t layer_quark_byte(const layer_group *g)
{
    const int f16 = g->a->type == LAYER_F16;
    const int mbits = f16 ? 10 : 7;
    const int bias = f16 ? 15 : 127;
    float most = -1;

    for (uint32_t i = 0; i < g->n; i++) {
        const float m = gpu_fabsf(layer_group_at(g, i));
        most = m > most ? m : most;
    }
    if (most < 0) {
        return 254; /* NaN alone */
    }
    const int code = (int)glu_finish(f16 ? GLU_F16 : GLU_BF16, most);
    const int field = (code + (1 << (mbits - 2))) >> mbits;
    const int byte = field - bias + 125;

    return field == 0 || field > 2 * bias ? 254u
           : byte < 0                     ? 0
                                          : (uint32_t)byte;
}

/* A scale byte as a number of 16 bits; FP16 has no such range. */
GPU_FN float layer_narrow_scale(int type, uint32_t byte)
{
    const float wide =
        byte == 255 ? (float)GPU_INFINITY : (float)quant_unit(byte);

    return glu_through(type, wide);
}

/* A block that is quantised and comes back in its type of 16 bits. */
typedef struct layer_qdq {
    uint32_t byte, amax;
    float scale;
    int type;
} layer_qdq;

GPU_FN layer_qdq layer_qdq_of(const layer_group *g)
{
    const int quark = g->a->op == LAYER_BY_QUARK_HIP;
    layer_qdq u;

    u.amax = 0;
    u.byte = quark ? layer_quark_byte(g) : layer_group_byte(g, &u.amax);
    u.type = g->a->type == LAYER_F16 ? GLU_F16 : GLU_BF16;
    u.scale = u.byte == 0 && !quark ? 0 : layer_narrow_scale(u.type, u.byte);
    return u;
}

GPU_FN uint32_t layer_qdq_code(const layer_group *g, const layer_qdq *u,
                               uint32_t i)
{
    const layer_operands_args *const a = g->a;
    const float x = layer_group_at(g, i);

    if (a->op != LAYER_BY_QUARK_HIP) {
        return quant_rare_code(&a->q, gpu_bits(x), u->amax, u->byte);
    }
    const float q = glu_through(u->type, x / u->scale);

    return quant_rare_code(&a->q, q != q ? QUANT_QUIET : gpu_bits(q), 0, 127);
}

GPU_FN float layer_qdq_value(const layer_group *g, const layer_qdq *u,
                             uint32_t code)
{
    const float product = (float)quant_value(&g->a->q.f, code) * u->scale;

    return glu_through(u->type, product);
}

GPU_FN void layer_group_qdq(const layer_group *g)
{
    const layer_qdq u = layer_qdq_of(g);

    (void)layer_group_unit(g, 1.0);
    for (uint32_t i = 0; i < g->n; i++) {
        layer_group_put(
            g, i, (double)layer_qdq_value(g, &u, layer_qdq_code(g, &u, i)));
    }
}

GPU_FN void layer_group_given(const layer_group *g)
{
    const layer_operands_args *const a = g->a;
    const float scale = gpu_float(gpu_load_u32(a->given, 0));
    const float inverse = 1.0f / scale;

    (void)layer_group_unit(g, 1.0);
    for (uint32_t i = 0; i < g->n; i++) {
        const float x = layer_group_at(g, i);
        const float q = a->op == LAYER_BY_INVERSE ? x * inverse : x / scale;
        layer_group_put(
            g, i,
            quant_value(&a->q.f, quant_rare_code(&a->q, gpu_bits(q), 0, 127)));
    }
}

/* A code times its scale has six bits. */
GPU_FN void layer_group_nvfp4(const layer_group *g)
{
    const layer_operands_args *const a = g->a;
    float x[NVFP4_BLOCK];
    uint8_t code[NVFP4_BLOCK];

    for (uint32_t i = 0; i < NVFP4_BLOCK; i++) {
        x[i] = layer_group_at(g, i);
    }
    const int32_t units = nvfp4_units(nvfp4_quantise(
        &a->rule, gpu_float(gpu_load_u32(a->given, 0)), x, NVFP4_BLOCK, code));
    const double unit = units < 0 ? (double)nvfp4_nan() : units * 0x1p-9;

    (void)layer_group_unit(g, 1.0);
    for (uint32_t i = 0; i < NVFP4_BLOCK; i++) {
        layer_group_put(g, i, 0.5 * layer_halves(code[i]) * unit);
    }
}

GPU_FN void layer_group_wide(const layer_group *g)
{

    (void)layer_group_unit(g, 1.0);
    for (uint32_t i = 0; i < g->n; i++) {
        layer_group_put(g, i, (double)layer_group_at(g, i));
    }
}

GPU_FN void layer_operands_body(const layer_operands_args *a)
{
    const uint64_t groups = (a->k + a->group - 1) / a->group;

    if (!layer_is_needed(a->when)) {
        return;
    }
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->rows * groups; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const uint64_t first = i % groups * a->group;
        const uint64_t left = a->k - first;
        const layer_group g = {a, i / groups, first,
                               left < a->group ? (uint32_t)left : a->group};

        switch (a->op) {
        case LAYER_BY_MX:
            layer_group_mx(&g);
            break;
        case LAYER_BY_QDQ:
        case LAYER_BY_QUARK_HIP:
            layer_group_qdq(&g);
            break;
        case LAYER_BY_GIVEN:
        case LAYER_BY_INVERSE:
            layer_group_given(&g);
            break;
        case LAYER_BY_NVFP4:
            layer_group_nvfp4(&g);
            break;
        default:
            if (a->type == LAYER_CODES) {
                layer_group_codes(&g);
            } else {
                layer_group_wide(&g);
            }
            break;
        }
    }
}

#endif
