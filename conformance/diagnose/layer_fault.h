/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of a layer that have one named fault: what a wrong kernel might have
 * computed, for the oracle to answer (explain_layer.c).
 */
#ifndef MXO_LAYER_FAULT_H
#define MXO_LAYER_FAULT_H

#include "base/tensors.h"
#include "case/case_text.h"

/* A case and its inputs, as in the checkpoint: to be edited. */
typedef struct layer_call {
    test_case c;
    tensor_set in;
    uint64_t which; /* the expert that an edit is for */
} layer_call;

/* Outcome of an edit: nothing to edit at all, nothing that this number changes,
   or an edited call. */
typedef enum layer_edit { EDIT_END, EDIT_SAME, EDIT_DONE } layer_edit;

typedef struct layer_fault {
    layer_edit (*edit)(layer_call *call, const char *on, unsigned which);
    const char *on;
    const char *says; /* "expert %s did not contribute" */
} layer_fault;

extern const layer_fault layer_faults[]; /* ended by one without an edit */

/* The same layer, with every entry of its profile as a parameter; 0 if it
   cannot be said so. */
int layer_spell_out(test_case *c);

#endif
