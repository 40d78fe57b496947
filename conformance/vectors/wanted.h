/* SPDX-License-Identifier: Apache-2.0 */
/* The metadata by which `gen` says what a file wants. */
#ifndef MXO_VECTORS_WANTED_H
#define MXO_VECTORS_WANTED_H

#include "rows.h"

/* Are case, params_text and outputs, where the file has them, what `gen` writes
   for the operation? Else -1 and a finding. */
int wanted_check(judging *j, const char *op);

#endif
