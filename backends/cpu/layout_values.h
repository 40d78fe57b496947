/* SPDX-License-Identifier: Apache-2.0 */
/* Element conversions that layouts name. */
#ifndef CPU_LAYOUT_VALUES_H
#define CPU_LAYOUT_VALUES_H

#include "layout_plan.h"

typedef struct cpu_values {
    const char *from; /* dtype, "*": any */
    const char *to;
    /* n elements; -1 if a code has no image. */
    int (*move)(const uint8_t *src, uint64_t n, uint8_t *dst, int forward);
} cpu_values;

/* A layout on the tensor of one type. */
typedef struct cpu_step {
    const cpu_row *row;
    const cpu_values *values;
    uint32_t logical; /* dtypes */
    uint32_t physical;
    uint64_t shape[3];
} cpu_step;

/* shape and dtype are those of the input; the map is made of shape. */
mxo_status cpu_step_of(cpu_step *s, const char *text, uint32_t dtype,
                       const uint64_t shape[3], int forward, mxo_text why);
/* Values, then the move; or the other way round. */
mxo_status cpu_step_run(cpu_context *ctx, const cpu_step *s, const cpu_map *map,
                        int forward, uint8_t *dst, const uint8_t *src,
                        mxo_text why);

/* NULL if there is no such row. */
const cpu_values *cpu_values_of(const char *name);

#endif
