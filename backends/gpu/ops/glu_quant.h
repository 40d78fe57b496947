/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.glu_quant: a gated unit an element per thread, the scale of a group by
 * one thread, then stored scales and codes.  docs/ops/act.glu_quant.md
 */
#ifndef GPU_GLU_QUANT_H
#define GPU_GLU_QUANT_H

#include "ops/glu.h"
#include "ops/quant_args.h"
#include "ops/quant_rare.h"
#include "port/device.h"

#define CODES_FN GPU_FN
#define CODES_CALLED GPU_SLOW
#include "../../common/glu/glu_quant.h"

typedef struct glu_quant_args {
    glu_args glu;
    quant_args q;       /* E4M3FN */
    const void *weight; /* binary32[rows], of the exact product; or NULL */
    uint64_t rows, cols;
    uint64_t pitch;         /* elements from row to row of gate and up */
    uint64_t group, groups; /* columns of one; groups of a row */
    uint64_t words;         /* of a row of words, or rows of them */
    uint64_t n_scales;
    gluq_steps steps;
    uint32_t by_byte; /* elements are multiplied by 2^(127 - byte) */
    uint32_t form;
    uint32_t *unit; /* scales of all groups, binary32 */
    void *scale;
    uint8_t *codes;
    void *y;
} glu_quant_args;

/* y 2^-500, rounded once; below the normal numbers a large number beside it
   makes the last bit, and what is left decides ties. */
GPU_FN double gluq_shrink(glu_pair y)
{
    const double quantum = glu_power(-574);
    const double large = 0x1.8p52 * quantum;

    if (y.hi >= glu_power(-522) || y.hi <= -glu_power(-522)) {
        return y.hi * glu_power(-500);
    }
    double s = y.hi + large;
    const double rest = y.hi - (s - large);

    s += rest == quantum / 2 && y.lo > 0    ? quantum
         : rest == -quantum / 2 && y.lo < 0 ? -quantum
                                            : 0;
    const double n = s - large;

    if (n == 0) {
        return y.hi < 0 ? -0.0 : 0.0;
    }
    return n * glu_power(-500);
}

/* f e^-z for z from 300 on, where the sigmoid is e^-z. */
GPU_FN double gluq_tail(double f, double z)
{
    const glu_pair large = {f * glu_power(500), 0};

    if (z > 1020) {
        return f < 0 ? -0.0 : 0.0;
    }
    const glu_pair half = glu_exp_pair(-z / 2);

    return gluq_shrink(glu_times(glu_times(large, half), half));
}

/* g sigmoid(g) (u w) rounded once to binary64; u w has 32 bits, and with g
   40: all that is inexact is the exponential. */
GPU_SLOW double gluq_exact(float g, float u, float w)
{
    const glu_pair one = {1, 0};
    const double v = (double)u * (double)w + 0.0; /* -0 counts as +0 */
    const double f = (double)g * v;
    const double z = (double)gpu_fabsf(g);

    if (f == 0 || f - f != 0 || z - z != 0) { /* classes and signs alone */
        const double sigmoid = g == -(float)GPU_INFINITY ? 0.0 : 1.0;
        return (double)g * sigmoid * v;
    }
    if (z < 0x1p-60 || g > 70) {
        return g > 70 ? f : f / 2;
    }
    if (g < -300) {
        return gluq_tail(f, z);
    }
    const glu_pair e = glu_exp_pair(-z);
    const glu_pair whole = {f, 0};

    return glu_over(g < 0 ? glu_times(whole, e) : whole, glu_add(one, e)).hi;
}

GPU_FN float gluq_load(const glu_quant_args *a, const void *p, uint64_t i)
{
    return glu_scalar((int)a->glu.from, p, i);
}

GPU_FN void gluq_put_exact(const glu_quant_args *a, uint64_t i, float g,
                           float u)
{
    const float limit = glu_through(GLU_BF16, a->glu.limit);
    const float w = gpu_float(gpu_load_u32(a->weight, i / a->cols));
    const double y = gluq_exact(
        glu_clamp_gate(GLU_NAN_LOW, limit, glu_through(GLU_BF16, g)),
        glu_clamp_up(GLU_NAN_LOW, limit, glu_through(GLU_BF16, u)), w);

    ((uint64_t *)a->y)[i] = y != y ? 0x7ff8ull << 48 : gpu_bits64(y);
}

GPU_FN void gluq_unit_body(const glu_quant_args *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->rows * a->cols; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const uint64_t at = i / a->cols * a->pitch + i % a->cols;
        const float g = gluq_load(a, a->glu.gate, at);
        const float u = gluq_load(a, a->glu.up, at);

        if (a->weight != NULL) {
            gluq_put_exact(a, i, g, u);
            continue;
        }
        const uint32_t code =
            glu_slow_of(&a->glu, NULL, (int)a->glu.from, (int)a->glu.to, g, u);
        if (a->glu.to == GLU_F32) {
            gpu_store_u32(a->y, i, code);
        } else {
            gpu_store_u16(a->y, i, code);
        }
    }
}

/* The result as binary32. */
GPU_FN float gluq_y(const glu_quant_args *a, uint64_t i)
{
    return a->weight != NULL ? (float)((const double *)a->y)[i]
                             : glu_scalar((int)a->glu.to, a->y, i);
}

GPU_FN void gluq_scale_body(const glu_quant_args *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->rows * a->groups; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const uint64_t first =
            i / a->groups * a->cols + i % a->groups * a->group;
        float amax = 0;

        for (uint64_t c = 0; c < a->group; c++) {
            const float y = gpu_fabsf(gluq_y(a, first + c));
            amax = y > amax ? y : amax;
        }
        a->unit[i] = gluq_scale(&a->steps, amax);
    }
}

/* Bytes of four groups; rows and groups that are not there have 0. */
GPU_FN uint32_t gluq_word(const glu_quant_args *a, uint64_t r, uint64_t g)
{
    uint32_t word = 0;

    for (uint32_t i = 0; i < 4 && r < a->rows && g + i < a->groups; i++) {
        word |= (a->unit[r * a->groups + g + i] >> 23 & 255u) << 8 * i;
    }
    return word;
}

GPU_FN void gluq_store_body(const glu_quant_args *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->n_scales; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const int down = a->form == GLUQ_WORDS_DOWN;

        if (a->form >= GLUQ_WORDS) {
            const uint64_t r = down ? i % a->words : i / a->words;
            const uint64_t g = down ? i / a->words : i % a->words;
            gpu_store_u32(a->scale, i, gluq_word(a, r, 4 * g));
        } else if (a->form == GLUQ_F32) {
            gpu_store_u32(a->scale, i, a->unit[i]);
        } else {
            ((uint8_t *)a->scale)[i] = (uint8_t)(a->unit[i] >> 23);
        }
    }
}

GPU_FN void gluq_code_body(const glu_quant_args *a)
{
    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < a->rows * a->cols; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const uint64_t at = i / a->cols * a->groups + i % a->cols / a->group;
        const uint32_t unit = a->unit[at];
        const float y = gluq_y(a, i);
        const float x = a->by_byte ? y : y / gpu_float(unit);
        const uint32_t byte = a->by_byte ? unit >> 23 & 255u : 127u;

        a->codes[i] = (uint8_t)quant_rare_code(
            &a->q, x != x ? QUANT_QUIET : gpu_bits(x), 0, byte);
    }
}

#endif
