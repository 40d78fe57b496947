/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A case is text: "op:key=value,...".  The same string is a test's name, its
 * repro and its key in JSON.  Keys are the operation's parameters, the
 * dimensions of its inputs, "data" (how inputs are filled), "ids" (may a token
 * choose an expert twice; distinct, or repeated), "stretch" (which
 * columns are live, where one case has too few rows to meet them all) and
 * "keep" (which elements were not blanked when the case was shrunk).  What has
 * its default value is left out, unless the canonical form is asked for;
 * parsing what was printed gives the same case.  "flaw" spoils the call that
 * the other keys describe (case_invalid.h).
 */
#ifndef MXO_CASETEXT_H
#define MXO_CASETEXT_H

#include "case_shape.h"

/* 0, or -1 and one sentence in why that names near keys. */
int case_parse(test_case *c, const char *text, mxo_text why);

/* Always fits: CASE_TEXT bounds every field.  A parameter without a value is
   left out. */
void case_print(const test_case *c, int canonical, char text[CASE_TEXT]);

/* In full, so that two spellings of one case are one.  0, or -1: it is none. */
int case_spell(const char *text, char full[CASE_TEXT]);

/* Set one parameter, dimension or "data"; as case_parse. */
int case_set(test_case *c, const char *key, const char *value, mxo_text why);

/* As case_set(); dimensions that followed follow still. */
int case_vary(test_case *c, const char *key, const char *value, mxo_text why);
/* The same of a dimension that the case uses. */
void case_vary_dim(test_case *c, int dim, uint64_t n);

#endif
