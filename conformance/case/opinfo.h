/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signature of an operation, parsed from the text of mxo_op_info: its
 * parameters with domains and defaults, its inputs with types, shapes and
 * conditions, and the dimension names a case must give.
 */
#ifndef MXO_OPINFO_H
#define MXO_OPINFO_H

#include <mxoracle/abi.h>

#include <stddef.h>

enum { OP_MAX_PARAMS = 48, OP_MAX_INPUTS = 24, OP_MAX_DIMS = 16, OP_WORD = 64 };

/* A stretch of borrowed text. */
typedef struct word_span {
    const char *ptr;
    size_t len;
} word_span;

typedef enum param_kind {
    PARAM_CHOICE,
    PARAM_INT,
    PARAM_REAL,
    PARAM_REAL_OR_NONE,
    PARAM_BOOL,
    PARAM_NAME, /* any word without comma, quote or blank */
    PARAM_SIZE  /* the extent of the dimension that its standard names */
} param_kind;

typedef struct op_param {
    char key[OP_WORD];
    param_kind kind;
    word_span choices; /* "a|b|c" of a CHOICE */
    char standard[OP_WORD];
} op_param;

/* multiple * dim / divisor, exact; dim < 0: the number alone. pack: divided
   by 2 once more if the parameter element is e2m1; by: divided once more by
   the value of that integer parameter, unless by < 0. */
typedef struct op_extent {
    int dim;
    uint64_t multiple;
    uint64_t divisor;
    int pack;
    int by;
} op_extent;

typedef struct op_input {
    char name[OP_WORD];
    char dtype[OP_WORD]; /* a type's name, or $parameter */
    uint32_t rank;
    op_extent shape[MXO_MAX_RANK];
    int when; /* index of the deciding parameter; < 0: always there */
    word_span values;
    int conversion; /* index of the parameter that says how a loader leaves
                       it; < 0: as it is described */
} op_input;

typedef struct op_schema {
    const mxo_op_info *info; /* borrowed */
    int n_params;
    int n_inputs;
    int n_dims;
    op_param params[OP_MAX_PARAMS];
    op_input inputs[OP_MAX_INPUTS];
    char dims[OP_MAX_DIMS][OP_WORD];
} op_schema;

/* Cut the part before the separator off *rest; all of it if there is none. */
word_span span_cut(word_span *rest, char separator);
int span_equals(word_span s, const char *text);
/* Whether text is one of "a|b|c". */
int span_lists(word_span list, const char *text);
/* Copy into word[OP_WORD]; 0 if it does not fit. */
int span_copy(word_span s, char *word);

/* 0, or -1 and a sentence in why: the description itself is at fault. */
int op_schema_parse(op_schema *s, const mxo_op_info *info, mxo_text why);

/* Index of a parameter or dimension; -1 if there is none. */
int op_param_index(const op_schema *s, const char *key);
int op_dim_index(const op_schema *s, const char *name);

/* The schemas of the emulator's operations: parsed once, never freed. */
int op_count(void);
const op_schema *op_at(int i);
const op_schema *op_by_name(const char *name);
/* Its number for op_at(); -1 if there is none. */
int op_index(const char *name);

#endif
