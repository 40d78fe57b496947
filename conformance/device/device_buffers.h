/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tensors of one call in a backend's memory, each between guard bytes in
 * a buffer of its own: placing them, moving their bytes, and seeing what was
 * written where nothing may be.
 */
#ifndef MXO_STAGE_H
#define MXO_STAGE_H

#include "device_under_test.h"
#include "fence.h"

/* Bytes before and after a tensor; keeps offsets aligned for any device. */
enum { STAGE_GUARD = 4096 };

/* Bytes that are on their way at once.  A layer's weights are the larger part
   of memory: they exist once here and once in the backend, and no third time
   for being uploaded or looked at. */
enum { STAGE_CHUNK = 4 << 20, STAGE_NOISE = -1 };

/* A tensor in the backend's memory: guard, bytes, guard. */
typedef struct placed {
    const host_tensor *host;
    void *buffer;
    uint64_t size;
    uint64_t offset; /* of the bytes */
    uint64_t salt;   /* of the guard bytes */
} placed;

typedef struct stage {
    subject *s;
    const op_call *call;
    placed *in; /* owned, n_in of them */
    placed *out;
    uint32_t n_in;
    uint32_t n_out;
    uint8_t *chunk;  /* owned: STAGE_CHUNK bytes */
    fence_side side; /* of inputs: a decoy has it before them */
} stage;

/* As the ABI wants to see it. */
void stage_describe(mxo_tensor *t, const host_tensor *h, void *buffer,
                    uint64_t offset);

/* Room for the call's inputs and n_out outputs; then allocate them. */
mxo_status stage_open(stage *g, subject *s, const op_call *call,
                      uint32_t n_out);
mxo_status stage_place_inputs(stage *g, mxo_text why);
mxo_status stage_place_outputs(stage *g, const tensor_set *out, mxo_text why);
void stage_release(stage *g);

/* All inputs: noise, or what they are to be. */
mxo_status stage_send_inputs(stage *g, int noise, mxo_text why);
/* What they hold before run number 0 or 1. */
mxo_status stage_send_outputs(stage *g, int run, mxo_text why);

/* All inputs once more, now with the fence on their other side; only where they
   are fenced. */
mxo_status stage_turn_inputs(stage *g, mxo_text why);

/* No page at that side of an input may be touched any more, where the backend's
   memory is this process's (fence.h); until fence_lower(). */
void stage_raise_fences(const stage *g);

/* Do guards and inputs come back as they were sent? */
mxo_status stage_check_guards(stage *g, distrust *d, mxo_text why);
/* The outputs of a first run, into out; of a second, against out; of a
   refused call. */
mxo_status stage_fetch_outputs(stage *g, tensor_set *out, mxo_text why);
mxo_status stage_compare_outputs(stage *g, const tensor_set *out, distrust *d,
                                 mxo_text why);
mxo_status stage_check_refusal(stage *g, int run, distrust *d, mxo_text why);

#endif
