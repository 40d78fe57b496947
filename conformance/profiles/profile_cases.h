/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of "mxoracle run --profile NAME". */
#ifndef MXO_PROFILE_CASES_H
#define MXO_PROFILE_CASES_H

#include "case/grid.h"

/* profile: "NAME" or "NAME,key=value,...", which declares what the profile
   leaves open. EXIT_PASS; EXIT_USAGE or EXIT_BROKEN after a sentence. */
int profile_cases_append(case_list *cases, const char *profile, uint64_t seed);

#endif
