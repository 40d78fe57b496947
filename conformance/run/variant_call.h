/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second call, made from the first in what must not matter (derive.h), and
 * what an answer may be instead of equal: where the exponential of a unit is
 * the kernel's own, other bits between the ends that the oracle gives.
 */
#ifndef MXO_SECOND_H
#define MXO_SECOND_H

#include "data/derive.h"
#include "judge/bound.h"

typedef struct second_call {
    judge *j;
    test_case c;
    tensor_set in;
    int is_red; /* the subject refuses it alone, or two runs disagree */
    char why[SUBJECT_TEXT];
} second_call;

/* 0, or -1 if there is no such call; second_clear() either way.  in: the
   checkpoint's tensors. */
int second_make(second_call *s, judge *j, const derivation *d,
                const test_case *c, const tensor_set *in);
void second_clear(second_call *s);

/*
 * Ask the oracle or the subject, without a decoy before it: what another call
 * left behind shall show.  MXO_OK and its answer, added to an empty set, or
 * the call means nothing to it, or is_red and a sentence.
 */
mxo_status second_ask(second_call *s, subject *by, tensor_set *out);

/*
 * What the answer to an order-free call, whose sums lose nothing, may be
 * besides its bits: within the room of an open exponential.  Fill in the first
 * four; the oracle is asked when it is first needed; bound_clear() the ends.
 */
typedef struct second_room {
    judge *j;
    const test_case *c;
    const tensor_set *in;
    const host_tensor *want; /* the oracle's answer */
    int is_asked;
    int is_open; /* 0: the exponential is declared, or the data lose something
                  */
    bound_set ends;
} second_room;

/* May element i of got be element k of the answer? */
int second_has_room(second_room *r, uint64_t k, const host_tensor *got,
                    uint64_t i);

/* Equal bits, or any NaN for any other. */
int second_is_equal(const host_tensor *a, uint64_t i, const host_tensor *b,
                    uint64_t k);

#endif
