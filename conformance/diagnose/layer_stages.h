/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole layer that is wrong, taken apart: each of its stages is judged on
 * the oracle's bytes, so that a wrong stage does not make the next one look
 * wrong.  A GEMM is an operation of its own.  What lies before it and behind
 * it is asked for in the same operation, as the backend has it there, through
 * a GEMM that only hands numbers on (gemm_probe_inputs.h).
 */
#ifndef MXO_STAGES_H
#define MXO_STAGES_H

#include "base/strbuf.h"
#include "judge/judge.h"

/* Lines about the stages of a failed moe.layer, as far as the backend offers
   them: each one's verdict, and the first that is wrong by name; a line that
   says so if it offers none. */
void stages_say(const evidence *e, strbuf *lines);

#endif
