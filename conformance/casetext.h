/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A case is text: "op:key=value,...".  The same string is a test's name, its
 * repro and its key in JSON.  Keys are the operation's parameters, the
 * dimensions of its inputs, "data" (how inputs are filled), "stretch" (which
 * columns are live, where one case has too few rows to meet them all) and
 * "keep" (which elements were not blanked when the case was shrunk).  What has
 * its default value is left out, unless the canonical form is asked for;
 * parsing what was printed gives the same case.  "flaw" spoils the call that
 * the other keys describe (caseflaw.h).
 */
#ifndef MXO_CASETEXT_H
#define MXO_CASETEXT_H

#include "opinfo.h"

enum { CASE_TEXT = 4096 };

typedef struct test_case {
    const op_schema *schema;            /* borrowed */
    char value[OP_MAX_PARAMS][OP_WORD]; /* canonical spelling */
    uint64_t dim[OP_MAX_DIMS];
    char data[OP_WORD];
    char flaw[OP_WORD];  /* "": none */
    uint64_t stretch;    /* 0 .. fill_stretches() - 1 */
    uint64_t keep_first; /* elements outside keep_first..keep_last of the */
    uint64_t keep_last;  /* largest inputs are zero; 0..UINT64_MAX: none */
} test_case;

/* Every parameter at its default, every dimension 0. */
void case_begin(test_case *c, const op_schema *schema);

/* 0, or -1 and one sentence in why that names near keys. */
int case_parse(test_case *c, const char *text, mxo_text why);

/* Does the case blank anything? */
int case_keeps_all(const test_case *c);

/* Always fits: CASE_TEXT bounds every field.  A parameter without a value is
   left out. */
void case_print(const test_case *c, int canonical, char text[CASE_TEXT]);

/* Value of a parameter; "" if the operation has no such key. */
const char *case_value(const test_case *c, const char *key);
double case_number(const test_case *c, const char *key);
/* A number that counts, for data: least where it is less, in calls that must
   be refused. */
uint64_t case_count(const test_case *c, const char *key, uint64_t least);
/* Size of a dimension; 0 if the operation has no such name. */
uint64_t case_dim(const test_case *c, const char *name);

/* Set one parameter, dimension or "data"; as case_parse. */
int case_set(test_case *c, const char *key, const char *value, mxo_text why);

/* Every parameter as the ABI wants it; texts are borrowed from c. */
void case_params(const test_case *c, mxo_param params[OP_MAX_PARAMS]);

/* Is input i there under these parameters? */
int case_has_input(const test_case *c, int i);
/* Is a dimension the extent of an input that is there? */
int case_uses_dim(const test_case *c, int dim);
/* dtype and shape of an input; -1 and a sentence if an extent is not whole. */
int case_input(const test_case *c, int i, uint32_t *dtype,
               uint64_t shape[MXO_MAX_RANK], mxo_text why);

/* Data kind of a case that names none. */
#define CASE_DATA_STANDARD "random"

#endif
