/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.glu_quant: dialects as rows, and a group's scale.  Steps of binary32,
 * each rounded; C that CUDA C++ and HIP C++ also accept.
 * docs/ops/act.glu_quant.md
 */
#ifndef BACKENDS_GLU_QUANT_H
#define BACKENDS_GLU_QUANT_H

#include "../codes.h"

enum { GLUQ_F32, GLUQ_E8M0, GLUQ_WORDS, GLUQ_WORDS_DOWN };

static const char *const gluq_forms[] = {"f32", "e8m0", "packed", "packed_mn"};

typedef struct gluq_row {
    const char *name;
    const char *unit;     /* dialect of act.glu; NULL: the exact product */
    uint32_t keeps;       /* the result has the input's type, not bfloat16 */
    uint32_t inverse;     /* times RN(1 / 448), not divided by 448 */
    uint32_t floor_first; /* 1e-10 is the least maximum */
    uint32_t floor_last;  /* or the least scale */
    uint32_t by_byte;     /* elements are multiplied by 2^(127 - byte) */
} gluq_row;

static const gluq_row gluq_rows[] = {
    {"vllm_packed", "vllm_packed", 0, 0, 0, 1, 0},
    {"vllm_colmajor", "vllm_silu_clamp", 1, 1, 1, 0, 0},
    {"deepgemm_mega", NULL, 0, 1, 0, 0, 1},
};

/* NULL if there is no such dialect. */
static inline const gluq_row *gluq_row_of(const char *name)
{
    for (size_t i = 0; i < sizeof gluq_rows / sizeof gluq_rows[0]; i++) {
        if (strcmp(gluq_rows[i].name, name) == 0) {
            return &gluq_rows[i];
        }
    }
    return NULL;
}

typedef struct gluq_steps {
    uint32_t by_power; /* scales are powers of two */
    uint32_t inverse, floor_first, floor_last;
} gluq_steps;

/* From the largest magnitude, NaN apart, to the scale's pattern. */
CODES_FN uint32_t gluq_scale(const gluq_steps *a, float amax)
{
    const uint32_t patterns[2] = {0x2edbe6ffu, 0x3b124925u};
    float least, inverse;
    uint32_t bits;

    memcpy(&least, &patterns[0], sizeof least);
    memcpy(&inverse, &patterns[1], sizeof inverse);
    float s = a->floor_first && amax < least ? least : amax;

    s = a->inverse ? s * inverse : s / 448.0f;
    s = a->floor_last && s < least ? least : s;
    memcpy(&bits, &s, sizeof bits);
    return a->by_power ? ((bits >> 23) + ((bits & 0x7fffffu) != 0)) << 23
                       : bits;
}

#endif
