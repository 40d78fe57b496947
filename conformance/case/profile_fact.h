/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a profile, for drawing its cases and data. */
#ifndef MXO_CASE_PROFILE_FACT_H
#define MXO_CASE_PROFILE_FACT_H

/* Value of a fact such as "quant"; "" if there is no such profile or fact. */
const char *profile_fact(const char *profile, const char *key);

/* Key of fact number i, which is a parameter of the layer likewise; NULL
   behind the last. */
const char *profile_key(int i);

#endif
