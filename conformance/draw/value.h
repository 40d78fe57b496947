/* SPDX-License-Identifier: Apache-2.0 */
/* Slots into values: sizes, parameters, kinds of data, faults. */
#ifndef MXO_DRAW_VALUE_H
#define MXO_DRAW_VALUE_H

#include "draw.h"
#include "granule.h"

#include "case/case_text.h"

uint32_t slot16(const draw_record *r, int at);
uint32_t slot32(const draw_record *r, int at);
/* Any slot is a size of at least 1: below 64 one more than the slot; then
   small, around a power of two, around multiples of a granule, or now and then
   beyond 2^16. */
uint64_t value_of_dim(const granules *g, uint32_t slot);
/* Is it one of those?  One slot in 256. */
int value_is_long(uint32_t slot);
/* 0 if the parameter has no other value. */
int value_of_param(const test_case *c, int param, uint32_t slot,
                   char word[OP_WORD]);
/* Of a list of kinds, as fill_data_kinds() has it. */
int value_of_data(const char *kinds, uint32_t slot, char word[OP_WORD]);
void value_of_invalid_call(const test_case *c, uint32_t kind, uint32_t target,
                           char word[OP_WORD]);
/* Extents of memory of a layout.apply whose logical extents are given; those
   of a stack become one expert's, as memory has it. */
int value_padded(const test_case *c, uint64_t extent[3], uint64_t padded[3]);

#endif
