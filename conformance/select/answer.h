/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of backend selection as JSON, in the form of selection.json. */
#ifndef MXO_SELECT_ANSWER_H
#define MXO_SELECT_ANSWER_H

#include <mxoracle/select.h>

#include <jansson.h>

/*
 * Asks what the case's fn asks and makes what should be its "expect"; for the
 * two selections *trace is what should be its "trace", else NULL.  Both are
 * the caller's.  NULL and a sentence if the case is not one.
 */
json_t *case_answer(const mxo_select_config *config, const json_t *object,
                    json_t **trace, mxo_text why);

/* Pieces of that, for reports. Never NULL but for want of memory. */
json_t *answer_failure(const mxo_select_config *c, const mxo_sel_failure *f);
json_t *answer_result(const mxo_select_config *c, const mxo_select_result *r);
json_t *answer_trace(const mxo_select_config *c, const mxo_select_result *r);
/* A word of an enumerator, null if it has none. */
json_t *answer_word(mxo_sel_words kind, int value);

#endif
