/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulator as a subject that takes one parameter of every call as another
 * word than the call says.
 */
#ifndef MXO_UNIT_OTHER_WORD_H
#define MXO_UNIT_OTHER_WORD_H

#include <mxoracle/abi.h>

typedef struct other_word {
    const char *key;
    const char *word; /* what it does instead */
    int ran;          /* the last call was no contradiction */
} other_word;

/* What the subject goes by. */
extern other_word other_word_now;

mxo_backend other_word_subject(void);

#endif
