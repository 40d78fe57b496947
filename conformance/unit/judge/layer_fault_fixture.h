/* SPDX-License-Identifier: Apache-2.0 */
/* What the suites of a layer's faults begin with. */
#ifndef MXO_UNIT_LAYER_FAULT_FIXTURE_H
#define MXO_UNIT_LAYER_FAULT_FIXTURE_H

#include "diagnose/layer_fault.h"

/* The fault that says so; there must be one. */
const layer_fault *layer_fault_named(const char *says);

/* A call of a case, with inputs that are to be edited: the caller clears
   call->in. */
void layer_call_begin(layer_call *call, const char *case_text);

#endif
