/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the search for an explanation may cost.  It is counted in what the
 * oracle computes, never in time, so that one wrong output always has one
 * explanation: a byte of inputs counts 1; a column of a layer's GEMM counts its
 * K and one of the numbers below, for each pair of token and slot.
 */
#ifndef MXO_EXPLAIN_WORK_H
#define MXO_EXPLAIN_WORK_H

#include "base/tensors.h"
#include "case/case_text.h"

enum {
    COLUMN_WORK = 64,       /* its activation, its part of the sum */
    BOUND_WORK = 512,       /* the same, and the ends of its bounds */
    EXPLAIN_WORK = 3 << 28, /* two seconds of processor time or so */
};

typedef struct explain_work {
    uint64_t left;
    unsigned n_asked; /* answers of the oracle */
    int is_short;     /* something was left out */
} explain_work;

/* One answer of the oracle to a case with such inputs; a column counts so much
   besides its K. */
uint64_t explain_work_of(const test_case *c, const tensor_set *in,
                         uint64_t column);

/* Take the work of one edit of such inputs, or of one answer; 0: that is too
   much, and nothing further is tried. */
int explain_work_edit(explain_work *w, const tensor_set *in);
int explain_work_ask(explain_work *w, const test_case *c, const tensor_set *in,
                     uint64_t column);

#endif
