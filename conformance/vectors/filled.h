/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outputs that a machine elsewhere filled in, as "run" sees those of a subject:
 * codes that mean nothing are free, and a fault is explained.
 */
#ifndef MXO_VECTORS_FILLED_H
#define MXO_VECTORS_FILLED_H

#include "undeclared.h"

/* Free the codes of NaN blocks in the file's outputs (judge/nan_blocks.h). */
void filled_settle(judging *j, const answered *a);

/* Say which known mistake gives the file's output of that name exactly, where
   the oracle computed and the file has every output of the operation. */
void filled_explain(judging *j, const answered *a, const char *name);

#endif
