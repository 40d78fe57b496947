/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One vector file, and what the text of map.def can refer to in it: its
 * parameters, the variables of a row's "each" column, its tensors.
 */
#ifndef MXO_VECTORS_SCOPE_H
#define MXO_VECTORS_SCOPE_H

#include "files/safetensors.h"

enum { MAX_VARIABLES = 4, TEXT_SIZE = 256 };

typedef struct variable {
    char name[24];
    char text[40];
} variable;

typedef struct scope {
    const char *path;
    safetensors *file; /* tensors named tmp.* are added to it */
    json_t *params;    /* owned; the object in the metadata */
    uint32_t n_variables;
    variable variables[MAX_VARIABLES];
    uint32_t read[MXO_MAX_TENSORS];   /* times used as an input */
    uint32_t judged[MXO_MAX_TENSORS]; /* times compared */
} scope;

/* Parse the metadata "params"; SHAPE if there is none, or no JSON object. */
MXO_MUST_CHECK mxo_status scope_open(scope *s, const char *path,
                                     safetensors *file, mxo_text why);
void scope_close(scope *s);

/* Tensor of the file, marked as read; NULL if absent. */
const host_tensor *scope_tensor(scope *s, const char *name);

/* Text of a variable or parameter: "none" for null, "1" for true, "1.702";
   "file" is the file's name where no parameter is called so. 0 if there is
   none. */
int scope_text(const scope *s, const char *name, char *text, size_t size);

/*
 * Expand a template:
 *   $key  $(key)       parameter or variable; $key?word: word if absent
 *   $dtype(in.x)       dtype of a tensor, "bf16"
 *   $rows(in.x)        length of the last axis but one;  $cols(in.x): the last
 *   $value(in.alpha)   its first element; "none" if infinite
 *   ...{a:x,b*:y}      after any of these: translate; patterns are globs,
 *                      "=" stands for the text itself
 * PARAM with a sentence if something is missing.
 */
MXO_MUST_CHECK mxo_status scope_expand(scope *s, const char *text, size_t len,
                                       char *out, size_t size, mxo_text why);

/*
 * Does the condition hold?  Words, all of which must be true:
 *   key=a|b  key!=a|b  dtype(in.x)=a|b  value(in.x)=a|b  has(in.x)  !has(in.x)
 *   ~key  ~in.x   the parameter or tensor is known and does not matter
 * Alternatives are globs; an absent parameter has the empty text.
 */
int scope_holds(scope *s, const char *condition);

/* Cut the text before the separator off *rest (outside brackets). */
typedef struct piece {
    const char *ptr;
    size_t len;
} piece;

piece piece_cut(piece *rest, char separator);
int piece_copy(piece p, char *out, size_t size);

#endif
