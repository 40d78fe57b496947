/* SPDX-License-Identifier: Apache-2.0 */
/* How many decisions a core makes in a second. */
#ifndef MXO_SELECT_SPEED_H
#define MXO_SELECT_SPEED_H

/* Decisions per second on this thread: auto and by name, chosen and refused,
   on every device of hardware.def, the median of n samples. */
double selection_rate(int n_samples);

#endif
