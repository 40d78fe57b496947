/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON of strangers, member by member: the tree of one small member is in
 * memory at a time, never that of the whole.
 */
#ifndef MXO_JSON_WALK_H
#define MXO_JSON_WALK_H

#include <jansson.h>
#include <stddef.h>

typedef struct json_walk {
    const char *at; /* borrowed: what was not read yet */
    const char *end;
    size_t n;         /* members so far */
    char closer;      /* of the object or array; 0: it is neither */
    json_t *key;      /* owned: of this member of an object */
    json_t *value;    /* owned: what json_walk_value() made of it */
    const char *text; /* of this member's value */
    size_t n_text;
    char error[JSON_ERROR_TEXT_LENGTH]; /* why it is no JSON */
} json_walk;

/* An object or array and, behind it, blanks alone; text is borrowed. */
json_walk json_walk_begin(const char *text, size_t n);
/* Of a text that ends in a zero byte; NULL is as one of nothing. */
json_walk json_walk_of(const char *text);
/* 1: there is a member; 0: there are no more; -1: this is no JSON. */
int json_walk_next(json_walk *w);
/* Of a member of an object; "" of one of an array. */
const char *json_walk_key(const json_walk *w);
/* This member's value; NULL: no JSON, or too long for one that is no text.
   Valid until the next member. */
const json_t *json_walk_value(json_walk *w);
void json_walk_end(json_walk *w);

#endif
