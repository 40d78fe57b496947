/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of selection with one of them wrong, to see whether tests notice. */
#ifndef MXO_SELFTEST_MUTATE_H
#define MXO_SELFTEST_MUTATE_H

#include "select/cases.h"

/*
 * Copies vLLM's rules into [select_rules_bytes()] bytes, aligned as malloc
 * aligns, and makes change number i: each step dropped, each list with two
 * neighbours swapped, each cell of the tables changed.  what says which.
 * MXO_E_PARAM if there is no change number i.
 */
MXO_MUST_CHECK mxo_status select_rules_mutate(void *copy, int i, mxo_text what);

/* Bytes of a copy of the rules. */
size_t select_rules_bytes(void);

#endif
