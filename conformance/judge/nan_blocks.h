/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codes that mean nothing: those of a block whose scale byte says NaN, where
 * the rule of the case says so (nan_blocks.def).
 */
#ifndef MXO_NAN_BLOCKS_H
#define MXO_NAN_BLOCKS_H

#include "judge.h"

/* Put the oracle's codes over the subject's in every block that the oracle's
   own scale bytes call NaN.  How many elements of outputs changed; 0 where no
   row of nan_blocks.def holds. */
uint64_t nan_blocks_settle(judge *j, const test_case *c, const op_call *call,
                           const tensor_set *want, tensor_set *got);

#endif
