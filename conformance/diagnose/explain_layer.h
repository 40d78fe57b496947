/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explanation of a wrong layer by its output alone: the oracle answers calls
 * with one named fault each, and a fault whose answer is the actual output in
 * every element is named.  Where sums have no declared order, so that a
 * kernel cannot have the oracle's bits, it is one whose bounds hold the
 * actual output in every element.
 */
#ifndef MXO_EXPLAIN_LAYER_H
#define MXO_EXPLAIN_LAYER_H

#include "explain_work.h"
#include "judge/judge.h"

/* The sentence; 0 if no fault of layer_faults.def accounts for all, as far as
   the work allowed goes. */
int explain_layer(const evidence *e, explain_work *work, char *text,
                  size_t size);

#endif
