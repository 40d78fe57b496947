/* SPDX-License-Identifier: Apache-2.0 */
/* Fault of one converted checkpoint. */
#ifndef MXO_FUZZ_CONVERTER_FAULT_H
#define MXO_FUZZ_CONVERTER_FAULT_H

#include "base/strbuf.h"
#include "ranks.h"

#include <mxoracle/abi.h>

enum conversion_fault_word {
    CONVERSION_FAULT_NONE,
#define MXO_FAULT(id, word) CONVERSION_FAULT_##id,
#include "words.def"
#undef MXO_FAULT
    CONVERSION_FAULT_WORDS
};

enum { CONVERSION_FAULT_CAUSE = 480 };

typedef struct conversion_fault {
    int word;                           /* of enum conversion_fault_word */
    char cause[CONVERSION_FAULT_CAUSE]; /* word, tensor and mistake, without
                                           numbers */
    int is_brief; /* of wrong bytes the first tensor will do */
    strbuf text;  /* lines for people */
} conversion_fault;

const char *conversion_fault_word_text(int word);
/* Take a line; it becomes the cause if its word goes before the one so far.
   what: the tensor's role, or how it ended. */
void conversion_fault_add(conversion_fault *f, int word, const char *what,
                          const char *mistake, const char *line);
void conversion_fault_clear(conversion_fault *f);

/* Hold a converted file against the right one, and what is wrong against those
   of other ranks; experts_only: look at no other tensor. 0, or -1 and a
   sentence: the right one cannot be read. */
int conversion_fault_compare(conversion_fault *f, const char *expected,
                             const char *actual, const rank_files *others,
                             int experts_only, mxo_text why);

#endif
