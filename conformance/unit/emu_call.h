/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of an emulator's operation, for unit suites: parameters from case
 * text ("rule=ceil,axis=0", the rest by ops.def), inputs from arrays, outputs
 * allocated from infer() and poisoned before the run.
 */
#ifndef MXO_UNIT_EMU_CALL_H
#define MXO_UNIT_EMU_CALL_H

#include <mxoracle/abi.h>

enum { EMU_MAX_PARAMS = 48, EMU_MAX_TENSORS = 16, EMU_POISON = 0xaa };

typedef struct emu_call {
    mxo_call call;
    char text[4096]; /* keys and values, cut at their separators */
    size_t used;
    mxo_param params[EMU_MAX_PARAMS];
    mxo_tensor in[EMU_MAX_TENSORS];
    mxo_tensor out[EMU_MAX_TENSORS];
    char why[256];
} emu_call;

/* Start a call; params is "key=value,..." or "". */
void emu_begin(emu_call *c, const char *op, const char *params);
/* Add an input; the bytes are borrowed. rank dimensions follow. */
void emu_in(emu_call *c, const char *name, uint32_t dtype, const void *data,
            uint32_t rank, ...);
/* infer, allocate, poison, run. */
mxo_status emu_run(emu_call *c);
/* An output after emu_run; fails the test if there is none. */
const mxo_tensor *emu_out(const emu_call *c, const char *name);
const uint8_t *emu_bytes(const emu_call *c, const char *name);
/* Free the outputs. */
void emu_end(emu_call *c);

/* emu_run must refuse with this status, saying a sentence with this word. */
void emu_refuses(emu_call *c, mxo_status status, const char *word);

#endif
