/* SPDX-License-Identifier: Apache-2.0 */
/* Judges of linked backends, for targets. */
#ifndef MXO_FUZZ_JUDGES_H
#define MXO_FUZZ_JUDGES_H

#include "judge/judge.h"

/* Opened on first use and then kept; aborts where it does not open.  NULL, and
   once a line on stderr, where it is not built.  At most four names. */
judge *judge_of(const char *name);

#endif
