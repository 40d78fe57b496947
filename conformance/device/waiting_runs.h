/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runs of a call beside others that wait for the same synchronize(): one or
 * more of them before it or behind it, or one that reads what it gives.
 */
#ifndef MXO_WAITING_RUNS_H
#define MXO_WAITING_RUNS_H

#include "device_buffers.h"

mxo_status waiting_runs(stage *g, tensor_set *out, run_checks *d, mxo_text why);

#endif
