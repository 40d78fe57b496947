/* SPDX-License-Identifier: Apache-2.0 */
/* Differences of two runs: new, gone, changed and slower cases. */
#ifndef MXO_CHANGES_H
#define MXO_CHANGES_H

#include "stored.h"

/* A case is slower if it takes so many times as long, and
   a millisecond more. */
void changes_print(FILE *out, const stored_run *now, const stored_run *old,
                   double slower);

#endif
