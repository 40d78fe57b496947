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
   half of each, all but four bytes of one input, one input, or all but one.
   Inputs with gaps are noise alone.
 */
mxo_status alike_send(stage *g, mxo_text why);

#endif
