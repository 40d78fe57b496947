/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantising again: the rules for which it changes nothing
 * (requantise_check.def), and the inputs that ask a backend for it.
 */
#ifndef MXO_IDEMPOTENCE_H
#define MXO_IDEMPOTENCE_H

#include "case/case_text.h"
#include "device/device_under_test.h"

typedef enum idempotence {
    IDEMPOTENCE_NOT,
    IDEMPOTENCE_VALUES,
    IDEMPOTENCE_BYTES
} idempotence;

/* element: of quant.qdq, the type of its numbers. NOT for what has no row. */
idempotence idempotence_of(const char *op, const char *rule,
                           const char *element);

/*
 * Must the case answer as it did once its input x is replaced by what x is
 * after quantising?  A quantiser whose bytes come back, without tiles and
 * padding; a layer whose activations come back as the same numbers.
 */
int idempotence_holds(const test_case *c);

/* Make that x, the only tensor of given, by the oracle and by the first answer;
   0 if there is none. */
int idempotence_inputs(subject *oracle, const test_case *c,
                       const tensor_set *in, const tensor_set *want,
                       tensor_set *given);

#endif
