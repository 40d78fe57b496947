/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call that must be refused, before one that is judged: what a subject has
 * put in place of a call before it refuses it, a plan, a key, half a
 * workspace, is not the next one's.
 */
#ifndef MXO_REFUSED_CALL_H
#define MXO_REFUSED_CALL_H

#include "device_buffers.h"

/* Which call has the flaw: the one that is judged, on its own tensors, or,
   drawn by it, that of other sizes beside it; or that of another operation. */
typedef enum refused_kind { REFUSED_OWN, REFUSED_OPERATION } refused_kind;

/* Is there one, and is it worth its time? */
int refused_call_is_before(const stage *g, refused_kind kind);

/* Make it with one flaw, drawn by the call that is judged. That it is accepted
   is red in a case of its own, and nothing here.  words: "behind a refused call
   of other sizes: flaw=bytes.q". */
void refused_call_make(stage *g, refused_kind kind, mxo_text words);

#endif
