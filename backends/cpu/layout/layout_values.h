/* SPDX-License-Identifier: Apache-2.0 */
/* Element conversions that layouts name. */
#ifndef CPU_LAYOUT_VALUES_H
#define CPU_LAYOUT_VALUES_H

#include "cpu.h"

typedef struct cpu_values {
    const char *from; /* dtype, "*": any */
    const char *to;
    /* n elements; -1 if a code has no image. */
    int (*move)(const uint8_t *src, uint64_t n, uint8_t *dst, int forward);
} cpu_values;

/* Does every code have an image forward? */
int cpu_values_total(const cpu_values *v);
/* NULL if there is no such row. */
const cpu_values *cpu_values_of(const char *name);

#endif
