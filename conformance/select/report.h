/* SPDX-License-Identifier: Apache-2.0 */
/* Output of mxoracle select: a page for people, JSON, tables. */
#ifndef MXO_SELECT_REPORT_H
#define MXO_SELECT_REPORT_H

#include "options.h"

#include <jansson.h>

typedef enum select_form {
    SELECT_TEXT,
    SELECT_MARKDOWN,
    SELECT_CSV,
    SELECT_JSON
} select_form;

/* One decision. reads_env: the variables are those of this process. */
typedef struct select_page {
    const select_question *q;
    const mxo_select_result *r;
    int64_t asked_hidden; /* before the transport enlarged it */
    int why;
    int reads_env;
} select_page;

void select_print_text(const select_page *page);
void select_print_json(const select_page *page);

/* Platforms by backends; q holds everything but these two. 0, or -1 and a
   sentence. */
int select_print_matrix(const select_question *q, select_form form,
                        mxo_text why);

/*
 * Changes on a platform between a version and that of q: for its model,
 * or for every model known. 0, or -1 and a sentence.
 */
int select_print_since(const select_question *q, mxo_sel_version from,
                       mxo_text why);

/* Treatment of activations, in a few words. */
void select_say_activations(const mxo_select_config *c, mxo_sel_backend b,
                            mxo_text text);
/* The kernel object, in a few words; 0: the version does not tell. */
int select_say_kernel(const mxo_select_config *c, const mxo_select_result *r,
                      mxo_text text);

#endif
