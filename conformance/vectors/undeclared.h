/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outputs of files with canonical names whose order of summation nobody
 * declared: what a machine elsewhere filled in is judged as "run" would judge
 * it, by the bounds of bound.h.
 */
#ifndef MXO_VECTORS_UNDECLARED_H
#define MXO_VECTORS_UNDECLARED_H

#include "rows.h"

/* One call of such a file: its case, inputs, and the subject's outputs. */
typedef struct answered {
    const test_case *c;
    const tensor_set *in;
    const tensor_set *out;
} answered;

/* The case that bounds depend on: sizes, from the inputs, and the kind of data,
   if the file's metadata names one.  On some kinds no order rounds, and bits
   are compared. */
void undeclared_case(const scope *s, const tensor_set *in, test_case *c);

/* Judge the file's tensor t, and what the subject computed for it, by bounds.
   0: not such an output, compare bits. */
int undeclared_judge(judging *j, const answered *a, host_tensor *t,
                     const char *name);

#endif
