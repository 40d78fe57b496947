/* SPDX-License-Identifier: Apache-2.0 */
/* A call as members of a JSON object, as docs/exec-protocol.md has them. */
#ifndef MXO_EXEC_CALL_JSON_H
#define MXO_EXEC_CALL_JSON_H

#include "base/tensors.h"

#include <jansson.h>

enum { CALL_PARAMS = 64 };

/* A call read from JSON: everything is borrowed from the object. */
typedef struct read_call {
    mxo_call call;
    mxo_param params[CALL_PARAMS];
    mxo_tensor in[MXO_MAX_TENSORS];
    mxo_tensor out[MXO_MAX_TENSORS];
    mxo_tensor workspace;
} read_call;

/* Where a tensor lies, as members of its object: "offset", and "buffer" where
   the subject has buffers of its own. */
typedef void call_place(const mxo_tensor *t, json_t *object);

/* Add op, params, in and out. */
void call_to_json(const mxo_call *call, call_place *place, json_t *object);
/* 0, or -1: it is not what call_to_json() made. */
int call_from_json(read_call *r, const json_t *object);

/* Numbers of 64 bits without a sign: a text beyond what JSON's integers hold
   here. */
json_t *json_u64(uint64_t n);
/* 1, else 0 and *n is as it was. */
int json_to_u64(const json_t *value, uint64_t *n);

#endif
