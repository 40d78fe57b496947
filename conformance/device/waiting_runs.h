/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runs of a call beside others that wait for the same synchronize(): one or
 * more of them before it or behind it, or one that reads what it gives.
 */
#ifndef MXO_WAITING_RUNS_H
#define MXO_WAITING_RUNS_H

#include "device_buffers.h"

/* Of a call that has larger ones: a graph behind whose capture one is made, and
   the call with one behind it while it waits.  Before others are made, as what
   grows does it once. */
mxo_status growing_runs(stage *g, tensor_set *out, run_checks *d, mxo_text why);
mxo_status waiting_runs(stage *g, tensor_set *out, run_checks *d, mxo_text why);

#endif
