/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs that are the call's own in part and noise elsewhere: an answer that is
 * kept and known again by such a part of the inputs shows in the run behind it.
 */
#ifndef MXO_ALIKE_H
#define MXO_ALIKE_H

#include "device_buffers.h"

/* Sends all inputs so.  The call draws what is its own: the first or last 64
   bytes of each input (half the longest, if that is less), the first or last
   half of each, all but four bytes of one input, one input, or all but one; or
   all bytes, where numbers and codes of both halves of an input have changed
   places. */
mxo_status alike_send(stage *g, mxo_text why);

/* Is the call made so before its second run, in the way of that?  Half of those
   that were so taken plainly. */
int alike_comes_first(const stage *g);

/* It is, where no stream or graph sends the inputs late, which has such a call
   of its own (launch.c); then the inputs hold their bytes. */
mxo_status alike_run(stage *g, mxo_text why);

#endif
