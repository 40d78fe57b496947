/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binary64 steps on bit patterns, each rounded once to nearest even: what a
 * reference run "in double" does, for the dialects that have one.
 * Any NaN, and any invalid operation, gives 7ff8000000000000.
 */
#ifndef MXO_EMU_ACT_F64_H
#define MXO_EMU_ACT_F64_H

#include <stdint.h>

uint64_t mxo_f64_add(uint64_t a, uint64_t b);
uint64_t mxo_f64_mul(uint64_t a, uint64_t b);
uint64_t mxo_f64_div(uint64_t a, uint64_t b);

#endif
