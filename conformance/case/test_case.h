/* SPDX-License-Identifier: Apache-2.0 */
/* A case as data: an operation, the value of each key, the data it asks for. */
#ifndef MXO_TEST_CASE_H
#define MXO_TEST_CASE_H

#include "opinfo.h"

enum { CASE_TEXT = 4096 };

typedef struct test_case {
    const op_schema *schema;            /* borrowed */
    char value[OP_MAX_PARAMS][OP_WORD]; /* canonical spelling */
    uint64_t dim[OP_MAX_DIMS];
    char data[OP_WORD];
    char flaw[OP_WORD];  /* "": none */
    int repeats;         /* ids=repeated: an expert twice in a token's choice */
    uint64_t stretch;    /* 0 .. fill_stretches() - 1 */
    uint64_t keep_first; /* elements outside keep_first..keep_last of the */
    uint64_t keep_last;  /* largest inputs are zero; 0..UINT64_MAX: none */
} test_case;

/* Every parameter at its default, every dimension 0. */
void case_begin(test_case *c, const op_schema *schema);

/* Has the operation experts of tokens as an input, so that ids= is a key? */
int case_has_ids(const test_case *c);

/* Does the case blank anything? */
int case_keeps_all(const test_case *c);

/* Value of a parameter; "" if the operation has no such key. */
const char *case_value(const test_case *c, const char *key);
double case_number(const test_case *c, const char *key);
/* A number that counts, for data: least where it is less, in calls that must
   be refused. */
uint64_t case_count(const test_case *c, const char *key, uint64_t least);
/* Size of a dimension; 0 if the operation has no such name. */
uint64_t case_dim(const test_case *c, const char *name);

/* Every parameter as the ABI wants it; texts are borrowed from c. */
void case_params(const test_case *c, mxo_param params[OP_MAX_PARAMS]);

/* Data kind of a case that names none. */
#define CASE_DATA_STANDARD "random"

#endif
