/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drawn calls for languages that load a library and compile nothing: the
 * decoder of `mxoracle fuzz` (conformance/draw), its data and the emulator's
 * answer.  backends/python/mxoracle/drawn.py is the other side.
 */
#ifndef MXO_FUZZ_CALLS_H
#define MXO_FUZZ_CALLS_H

#include <mxoracle/abi.h>

/* The call at hand, as others read it. */
typedef struct mxo_drawn {
    const char *text;  /* the case, as mxoracle run takes it */
    const char *whole; /* with every default spelled out */
    const char *why;   /* reason of the last failure */
    uint64_t seed;
    uint32_t record_bytes;
    uint32_t version; /* of the draw */
    mxo_call call;    /* inputs and right outputs, after mxo_draw_answer() */
} mxo_drawn;

/* wanted: an operation, or "op:key=value,..." with keys that stay. NULL and a
   sentence. */
MXO_EXPORT mxo_drawn *mxo_draw_open(const char *wanted, mxo_text why);
MXO_EXPORT void mxo_draw_close(mxo_drawn *d);

/* Records from a generator: reset, and the next. */
MXO_EXPORT void mxo_draw_seed(mxo_drawn *d, uint64_t seed);
MXO_EXPORT void mxo_draw_random(mxo_drawn *d, uint8_t *record);
/* One slot changed. */
MXO_EXPORT void mxo_draw_mutate(mxo_drawn *d, uint8_t *record, uint64_t seed);
/* A record of slots: which case of the grid, seed, data, then dimensions, then
   parameters in their order; a slot of 0 changes nothing, size n has the slot
   n. */
MXO_EXPORT void mxo_draw_pack(const mxo_drawn *d, const uint32_t *slots,
                              uint32_t n, uint8_t *record);

/* These become the call at hand; 0, or -1: a call to be refused, or no case. */
MXO_EXPORT int mxo_draw_decode(mxo_drawn *d, const uint8_t *record, size_t n);
MXO_EXPORT int mxo_draw_parse(mxo_drawn *d, const char *text, uint64_t seed);
/* Fill its inputs, and answer it; 0, or -1: the emulator refuses it. */
MXO_EXPORT int mxo_draw_answer(mxo_drawn *d);

#endif
