/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of map.def, and what they say about one vector file. */
#ifndef MXO_VECTORS_MAP_H
#define MXO_VECTORS_MAP_H

#include "scope.h"

typedef struct map_row {
    const char *vector_op;
    const char *when;   /* condition, see scope_holds() */
    const char *each;   /* "key:a|b other:c": the row stands for all of them */
    const char *op;     /* canonical operation */
    const char *params; /* "key=template ..."; others take their default */
    const char *in;     /* "name=in.NAME>glue ..." */
    const char *out;    /* "out.NAME=name>glue ..." */
    const char *rule;   /* of rules.def */
} map_row;

typedef enum map_rule_kind {
    MAP_BITS,
    MAP_STRICT,
    MAP_CLASS, /* this and the next are looser than bits */
    MAP_ULP,
    MAP_FTZ,
    MAP_EXPF,
    MAP_LOG,
    MAP_RMS
} map_rule_kind;

typedef struct map_rule {
    const char *name;
    map_rule_kind kind;
    double limit;
    const char *reason;
    const char *source;
} map_rule;

/* Rows in the order of the table, ended by one whose vector_op is NULL. */
const map_row *map_rows(void);
/* NULL if there is no rule of that name. */
const map_rule *map_find_rule(const char *name);

int map_knows_op(const char *vector_op);
/* Does any row of this operation know the parameter? */
int map_knows_param(const char *vector_op, const char *key);

/* Set the scope's variables to combination number i of the row's "each";
   0 when there is none. "" has exactly one combination. */
int map_combination(const map_row *row, uint32_t i, scope *s);

#endif
