/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by glue.c (names and values) and glue_steps.c (the steps). */
#ifndef MXO_VECTORS_GLUE_STEP_H
#define MXO_VECTORS_GLUE_STEP_H

#include "glue.h"

/* Input of a step beside its operand. */
typedef struct step_call {
    const glue_source *source;
    piece arguments;
    mxo_text why;
} step_call;

/* A step replaces *g, or leaves it and returns a status. */
typedef mxo_status (*glue_step)(glue *g, const step_call *call);

/* [i,i] of the last two axes; glue.c. */
mxo_status glue_diagonal(glue *g, const step_call *call);
/* In the shape of another tensor; glue.c. */
mxo_status glue_shaped(glue *g, const step_call *call);

/* NULL if there is no step of that name. */
glue_step glue_find_step(const char *name);

/* An empty result of this shape; with room for validity if valid. */
MXO_MUST_CHECK mxo_status glue_make(glue *g, uint32_t dtype, uint32_t rank,
                                    const uint64_t *shape, int valid);
/* glue_rows.c: results whose length or values another tensor decides, and
   wider ones. */
mxo_status glue_filled(glue *g, const step_call *call);
mxo_status glue_head(glue *g, const step_call *call);
mxo_status glue_wide(glue *g, const step_call *call);
mxo_status glue_merge(glue *g, const step_call *call);
mxo_status glue_cast(glue *g, const step_call *call);
mxo_status glue_part(glue *g, const step_call *call);

void glue_put(glue *g, uint64_t i, uint64_t code);
int glue_counts(const glue *g, uint64_t i);
/* Copy element j of from, and whether it counts, to element i of g. */
void glue_move(glue *g, uint64_t i, const glue *from, uint64_t j);

#endif
