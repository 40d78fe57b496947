/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second call, made from the first in what must not matter (derive.h), and
 * what an answer may be instead of equal: where the exponential of a unit is
 * the kernel's own, other bits between the ends that the oracle gives.
 */
#ifndef MXO_VARIANT_CALL_H
#define MXO_VARIANT_CALL_H

#include "data/derive.h"
#include "judge/bound.h"

typedef struct variant_call {
    judge *j;
    test_case c;
    tensor_set in;
    int is_red; /* the subject refuses it alone, or two runs disagree */
    char why[SUBJECT_TEXT];
} variant_call;

/* 0, or -1 if there is no such call; variant_clear() either way.  in: the
   checkpoint's tensors. */
int variant_make(variant_call *s, judge *j, const derivation *d,
                 const test_case *c, const tensor_set *in);
void variant_clear(variant_call *s);

/*
 * Ask the oracle or the subject, without a decoy before it: what another call
 * left behind shall show.  MXO_OK and its answer, added to an empty set, or
 * the call means nothing to it, or is_red and a sentence.
 */
mxo_status variant_ask(variant_call *s, subject *by, tensor_set *out);

/*
 * Accepted range of the answer to an order-free call, whose sums lose nothing:
 * that of an open exponential.  Fill in the first
 * four; the oracle is asked when it is first needed; bound_clear() the ends.
 */
typedef struct accepted_range {
    judge *j;
    const test_case *c;
    const tensor_set *in;
    const host_tensor *want; /* the oracle's answer */
    int is_asked;
    int is_open; /* 0: the exponential is declared, or the data lose something
                  */
    bound_set ends;
} accepted_range;

/* May element i of got be element k of the answer? */
int accepted_range_holds(accepted_range *r, uint64_t k, const host_tensor *got,
                         uint64_t i);

/* Equal bits, or any NaN for any other. */
int variant_is_equal(const host_tensor *a, uint64_t i, const host_tensor *b,
                     uint64_t k);

#endif
