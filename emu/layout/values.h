/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise changes that ride along with a move: values.def. */
#ifndef MXO_EMU_LAYOUT_VALUES_H
#define MXO_EMU_LAYOUT_VALUES_H

#include "../call.h"

typedef struct layout_values {
    const char *name;
    const char *from; /* dtype, or "*" */
    const char *to;
    int (*there)(uint64_t *code); /* 0: the code is refused */
    int (*back)(uint64_t *code);
} layout_values;

/* Row of values.def; NULL. */
const layout_values *layout_values_find(const char *name);

/* dtype after the change forward, or before it: MXO_N_DTYPES if refused. */
uint32_t layout_values_to(const layout_values *v, uint32_t dtype);
uint32_t layout_values_from(const layout_values *v, uint32_t dtype);

#endif
