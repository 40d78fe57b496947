/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A name that people give (a layout, or CONVERSION.TENSOR) as the layouts it
 * stands for, one after the other, and an index carried through all of them.
 */
#ifndef MXO_LAYOUT_STEPS_H
#define MXO_LAYOUT_STEPS_H

#include "explain.h"

enum { MOST_STEPS = 4, STEP_NAME = 128 };

typedef struct steps {
    int n;
    uint32_t units; /* the finest of any step's, in an element */
    char name[MOST_STEPS][STEP_NAME];
    explained step[MOST_STEPS];
} steps;

/* The chain of tensor i of a conversion, parameters filled in from name
   ("id/parameter=value"); -1 and a sentence: no such parameter or value. */
int steps_chain(const mxo_conversion_row *row, const char *name, uint32_t i,
                char text[2 * STEP_NAME], mxo_text why);
/* The names of the steps; -1 and a sentence: nothing has this name. */
int steps_find(steps *s, const char *name, mxo_text why);
/* Bind the steps found to a logical tensor; elem_bytes 0: the smallest. */
int steps_bind(steps *s, uint32_t elem_bytes, const uint64_t extent[3],
               mxo_text why);

/* Units of memory and of the logical tensor, in the finest units. */
uint64_t steps_forward(const steps *s, uint64_t unit);
mxo_layout_content steps_content_at(const steps *s, uint64_t unit,
                                    uint64_t *logical, uint8_t *byte);
/* Do both names put the same everywhere in a tensor of this shape?  0 as well:
   one of them is no layout that can have it. */
int steps_agree(const char *name, const char *other, uint32_t elem_bytes,
                const uint64_t extent[3]);

#endif
