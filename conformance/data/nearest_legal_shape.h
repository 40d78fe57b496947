/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outputs for a call that has none, because its sizes or parameters are
 * refused: those of the nearest legal calls, continued to the size that was
 * asked for.  They are what a backend that forgot the check would write to.
 */
#ifndef MXO_NEAR_H
#define MXO_NEAR_H

#include "case/case_text.h"
#include "device/device_under_test.h"

enum { NEAR_MOST = 4 };

typedef struct nearest_outputs {
    int n; /* sets that differ in names, types or shapes */
    tensor_set set[NEAR_MOST];
} nearest_outputs;

/* Inputs of zeros: the sizes are all that is asked about. */
mxo_status nearest_inputs(const test_case *c, tensor_set *in, mxo_text why);

/* The oracle's status for a case by its sizes and parameters alone; OK: out
   becomes its outputs. */
mxo_status nearest_infer(subject *oracle, const test_case *c, tensor_set *out,
                         mxo_text why);

/* One parameter or dimension after the other is changed until the oracle is
   content; where more than one must change, parameters take their defaults and
   then sizes whole blocks.  n stays 0 if that is no good either. */
void nearest_find(subject *oracle, const test_case *c, nearest_outputs *near);
void nearest_clear(nearest_outputs *near);

#endif
