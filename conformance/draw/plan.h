/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that plans share with the decoder. */
#ifndef MXO_DRAW_PLAN_H
#define MXO_DRAW_PLAN_H

#include "draw.h"

/* A wanted call with given keys: "op:key=value,...". */
typedef struct draw_pin {
    char op[OP_WORD];
    char keys[CASE_TEXT]; /* "key=value,..." */
} draw_pin;

/* Whether a key of the case is given. */
int draw_is_pinned(const draw_plan *p, const test_case *c, const char *key);
/* Set what is given. */
void draw_pin_keys(const draw_plan *p, test_case *c);

/* Bytes of all inputs, or UINT64_MAX if an extent is not whole. */
uint64_t draw_bytes(const test_case *c);
/* Does the emulator take the call?  *most is the bytes of its inputs or of its
   outputs, whichever are more; only where it does. */
int draw_is_legal(const test_case *c, uint64_t *most);
/* Does it, with the data of this seed?  0 of calls of more than 256 KiB, which
   are not asked. */
int draw_is_served(const test_case *c, uint64_t seed);

#endif
