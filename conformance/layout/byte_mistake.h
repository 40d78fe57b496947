/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes with the value of a byte: an exponent that is one too high, a zero
   that lost its sign. */
#ifndef MXO_LAYOUT_BYTE_MISTAKE_H
#define MXO_LAYOUT_BYTE_MISTAKE_H

#include "pair.h"

#include <stddef.h>

typedef struct byte_change {
    uint8_t (*of)(uint8_t byte);
    const char *words; /* "every wrong byte is ..." */
} byte_change;

extern const byte_change byte_changes[];
extern const size_t n_byte_changes;

/* One sentence without a full stop: every byte that is wrong went through the
   same change, or the bytes of every word are reversed; 0: neither. */
int byte_mistake(const pair *p, char *text, size_t size);

#endif
