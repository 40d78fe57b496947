/* SPDX-License-Identifier: Apache-2.0 */
/* The order of an expert's rows, where nobody promises one (row_order.def). */
#ifndef MXO_ROW_ORDER_H
#define MXO_ROW_ORDER_H

#include "judge.h"

/* Does nobody promise it for this case? */
int row_order_is_free(const test_case *c);

/* Bring the rows of each expert into the oracle's order, with what moves with
   them, where the subject has the same pairs there and its outputs agree with
   one another; others stay as they are.  How many rows moved. */
uint64_t row_order_settle(const test_case *c, const op_call *call,
                          const tensor_set *want, tensor_set *got);

#endif
