/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the handlers of a case's fn; see answer.c. */
#ifndef MXO_SELECT_ASKING_H
#define MXO_SELECT_ASKING_H

#include "answer.h"

/* Input of a handler. */
typedef struct asking {
    mxo_select_config c;
    const json_t *object;
    json_t **trace;
    mxo_text why;
} asking;

/* A handler makes what should be "expect", or NULL and a sentence. */
typedef json_t *ask(asking *a);

ask ask_tile;
ask ask_weights;
ask ask_can_support;
ask ask_quant_method;
ask ask_method;
ask ask_gemm_impl;
ask ask_input_scales;
ask ask_prepare;

/* "what is not wanted"; NULL. */
json_t *no_answer(mxo_text why, const char *what, const char *wanted);
/* The number of a key, other if there is none. */
int64_t asked_integer(const json_t *object, const char *key, int64_t other);
/* The case's backend, or -1 and a sentence. */
int the_backend(const asking *a);

#endif
