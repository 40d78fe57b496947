/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runs of a call that has other calls beside it: its answer must be the
 * first run's each time.  The second context is opened by the first of them
 * that has a use for it.
 */
#ifndef MXO_OTHER_RUNS_H
#define MXO_OTHER_RUNS_H

#include "device_buffers.h"

/* Before the call, that of other words on the same bytes, if there is one: what
   is kept for good by the bytes of inputs alone is that one's then. */
mxo_status other_run_early(const stage *g, run_checks *d, mxo_text why);

/* Behind a call of other sizes and constants, there or in a second context,
   behind one of another operation, and behind calls that must be refused. */
mxo_status other_runs(stage *g, tensor_set *out, run_checks *d, mxo_text why);

/* With another call before it or behind it that waits for the same
   synchronize(); and in the second context, or on tensors in one buffer.  What
   kernel served the call before is forgotten. */
mxo_status other_runs_elsewhere(stage *g, tensor_set *out, run_checks *d,
                                mxo_text why);

/* A call that was refused: again in each way, and in a second context, if it
   must be.  OK, and how in called: it was accepted so.  Numbers are refused on
   a stream when they are there, if at all: not asked. */
mxo_status refused_runs(stage *g, mxo_status refused, tensor_set *out,
                        run_checks *d, mxo_text why);

#endif
