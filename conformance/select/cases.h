/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of published selections, in the form of vectors/vllm/selection.json:
 * asks each case and compares with what vLLM answered, text and trace
 * included.
 */
#ifndef MXO_SELECT_CASES_H
#define MXO_SELECT_CASES_H

#include <mxoracle/select.h>

#include <jansson.h>
#include <stddef.h>

/* A file that has been read. */
typedef struct selection_cases {
    char *text; /* owned, as the rest */
    size_t n_text;
    json_t *meta; /* the defaults borrow from it */
    size_t n;
    struct selection_span *span; /* of n cases in the text */
    mxo_select_config defaults;
} selection_cases;

/* 0, or -1 and a sentence. close() in both cases. */
int selection_cases_open(selection_cases *s, const char *path, mxo_text why);
int selection_cases_read(selection_cases *s, const char *text, size_t n,
                         mxo_text why);
void selection_cases_close(selection_cases *s);

size_t selection_cases_count(const selection_cases *s);
/* Case i, to be released by its caller; NULL: out of memory. */
json_t *selection_case(const selection_cases *s, size_t i);
/* A case's id, or "" */
const char *selection_case_id(const json_t *object);
/* The version it is about, "" if it names none. */
const char *selection_case_profile(const json_t *object);

/*
 * Ask a case by some rules (NULL: vLLM's). 0 if the answer is the published
 * one, 1 if not, 2 if it could not be asked; what then says what differs.
 */
int selection_case_run(const selection_cases *s, const json_t *object,
                       const mxo_select_rules *rules, mxo_text what);

#endif
