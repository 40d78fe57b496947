/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tensors of one call in a backend's memory, each between guard bytes in
 * a buffer of its own: placing them, moving their bytes, and seeing what was
 * written where nothing may be.
 */
#ifndef MXO_STAGE_H
#define MXO_STAGE_H

#include "subject.h"

/* Bytes before and after a tensor; keeps offsets aligned for any device. */
enum { STAGE_GUARD = 4096 };

/* A tensor in the backend's memory: guard, bytes, guard. */
typedef struct placed {
    const host_tensor *host;
    void *buffer;
    uint8_t *image; /* owned: what was uploaded, guards included */
    uint8_t *back;  /* owned: what came back */
    uint64_t size;
    uint64_t salt; /* of the guard bytes */
} placed;

typedef struct stage {
    subject *s;
    const op_call *call;
    placed *in; /* owned, n_in of them */
    placed *out;
    uint32_t n_in;
    uint32_t n_out;
} stage;

/* As the ABI wants to see it. */
void stage_describe(mxo_tensor *t, const host_tensor *h, void *buffer,
                    uint64_t offset);

/* Allocate; n_in and n_out tell how many there are to be released. */
mxo_status stage_place_inputs(stage *g, mxo_text why);
mxo_status stage_place_outputs(stage *g, const tensor_set *out, mxo_text why);
void stage_release(stage *g);

/* All inputs zero, or what they are to be. */
void stage_set_inputs(stage *g, int zero);
mxo_status stage_send_inputs(stage *g, mxo_text why);
mxo_status stage_send_outputs(stage *g, int fill, mxo_text why);
mxo_status stage_fetch_all(stage *g, mxo_text why);

/* Of what was fetched: guards and inputs; outputs of a refused call. */
void stage_check_guards(const stage *g, distrust *d);
void stage_check_refusal(const stage *g, int fill, distrust *d);

#endif
