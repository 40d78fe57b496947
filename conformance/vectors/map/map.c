/* SPDX-License-Identifier: Apache-2.0 */
/* The table of map.def as data, and its "each" column.  See map.h. */
#include "map.h"

#include <ctype.h>
#include <string.h>

static const map_row rows[] = {
#define MXO_VECTOR(vector_op, when, each, op, params, in, out, rule) \
    {vector_op, when, each, op, params, in, out, rule},
#include "map.def"
#undef MXO_VECTOR
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};

static const map_rule rules[] = {
#define MXO_RULE(name, kind, limit, reason, source) \
    {#name, MAP_##kind, limit, reason, source},
#include "rules.def"
#undef MXO_RULE
};

/* Parameters that describe a file to people, whatever its operation. */
static const char *const informative[] = {"note", "seed", NULL};

const map_row *map_rows(void)
{
    return rows;
}

const map_rule *map_find_rule(const char *name)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(rules[i].name, name) == 0) {
            return &rules[i];
        }
    }
    return NULL;
}

static int is_word(int c)
{
    return isalnum(c) || c == '_';
}

/* Whether key is a whole word of text, led by a character of before. */
static int mentions(const char *text, const char *key, const char *before)
{
    const size_t n = strlen(key);

    for (const char *at = n == 0 ? NULL : strstr(text, key); at != NULL;
         at = strstr(at + 1, key)) {
        const int lead = at == text ? ' ' : at[-1];
        if (strchr(before, lead) != NULL && !is_word((unsigned char)at[n])) {
            return 1;
        }
    }
    return 0;
}

int map_knows_op(const char *vector_op)
{
    const map_row *r = rows;

    while (r->vector_op != NULL && strcmp(r->vector_op, vector_op) != 0) {
        r++;
    }
    return r->vector_op != NULL;
}

int map_knows_param(const char *vector_op, const char *key)
{
    for (int i = 0; informative[i] != NULL; i++) {
        if (strcmp(informative[i], key) == 0) {
            return 1;
        }
    }
    for (const map_row *r = rows; r->vector_op != NULL; r++) {
        if (strcmp(r->vector_op, vector_op) == 0 &&
            (mentions(r->when, key, " ~") || mentions(r->params, key, "$(") ||
             mentions(r->in, key, "$(") || mentions(r->out, key, "$("))) {
            return 1;
        }
    }
    return 0;
}

static uint32_t count(piece list)
{
    uint32_t n = 0;

    while (list.len > 0) {
        (void)piece_cut(&list, '|');
        n++;
    }
    return n;
}

int map_combination(const map_row *row, uint32_t i, scope *s)
{
    piece rest = {row->each, strlen(row->each)};

    s->n_variables = 0;
    while (rest.len > 0 && s->n_variables < MAX_VARIABLES) {
        piece values = piece_cut(&rest, ' ');
        const piece name = piece_cut(&values, ':');
        const uint32_t n = count(values);
        uint32_t skip = n == 0 ? 0 : i % n;
        variable *v = &s->variables[s->n_variables++];
        piece value = piece_cut(&values, '|');

        while (skip-- > 0) {
            value = piece_cut(&values, '|');
        }
        if (!piece_copy(name, v->name, sizeof v->name) ||
            !piece_copy(value, v->text, sizeof v->text)) {
            return 0;
        }
        i /= n == 0 ? 1 : n;
    }
    return i == 0;
}
