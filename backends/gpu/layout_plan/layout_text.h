/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts as text, read on the host.  A row of layouts.def and the shape of a
 * tensor become a layout_map: digits with a stride on either side.  This is a
 * reading of docs/design/005-layout-notation.md of its own; nothing here is
 * shared with the emulator but the text.
 */
#ifndef GPU_LAYOUT_TEXT_H
#define GPU_LAYOUT_TEXT_H

#include "port/runtime.h"

enum {
    LAYOUT_NAME = 24,  /* bytes of a name, its end included */
    LAYOUT_NAMES = 40, /* parameters and derived names */
    LAYOUT_DIGITS = 32,
    LAYOUT_GROUPS = 32,
    LAYOUT_MEMBERS = 6,
    LAYOUT_TABLE = 256, /* entries of all tables of a layout */
    LAYOUT_RECORDS = 2
};

typedef struct layout_row {
    const char *id;
    const char *bits;
    const char *values;
    const char *params;
    const char *where;
    const char *needs;
    const char *map;
} layout_row;

#define MXO_LAYOUT(id, bits, values, params, where, needs, map, summary, \
                   source)                                               \
    {id, bits, values, params, where, needs, map},
static const layout_row layout_rows[] = {
#include <mxoracle/layouts.def>
};
#undef MXO_LAYOUT

typedef struct layout_names {
    uint32_t n;
    struct {
        char name[LAYOUT_NAME];
        int64_t value;
    } at[LAYOUT_NAMES];
} layout_names;

/* Experts, rows, columns; a fourth axis is the inside of a byte. */
enum { LAYOUT_E, LAYOUT_R, LAYOUT_C, LAYOUT_BELOW };

typedef struct layout_axis {
    uint64_t extent;
    uint64_t padded;
    int undefined; /* the pad has no promised value */
    uint8_t byte;
} layout_axis;

typedef struct layout_digit {
    char name[LAYOUT_NAME];
    int axis;
    int used;
    uint64_t n;
    uint64_t stride; /* along the axis; below the byte: in bits */
} layout_digit;

/* One or more digits that are neighbours in memory. */
typedef struct layout_group {
    uint32_t n_members;
    uint32_t member[LAYOUT_MEMBERS]; /* most significant first */
    uint64_t n;
    uint64_t stride; /* in memory, in bits */
    int table;       /* first of n entries, or -1 */
} layout_group;

/* Pieces of memory, and between them bytes of another tensor. */
typedef struct layout_record {
    uint64_t first; /* bytes before the body */
    uint64_t body;
    uint64_t every;
    uint32_t group; /* its first */
    uint32_t axis;  /* dimension of memory */
} layout_record;

typedef struct layout_map {
    const layout_row *row;
    uint32_t elem_bytes;
    uint32_t unit_bits; /* bits that move as a whole */
    int is_stack;       /* of all experts' rows, one below the other */
    layout_axis axis[3];
    uint32_t n_digits;
    layout_digit digit[LAYOUT_DIGITS];
    uint32_t n_groups;
    layout_group group[LAYOUT_GROUPS]; /* most significant first */
    uint32_t n_records;
    layout_record record[LAYOUT_RECORDS]; /* innermost first */
    uint32_t rank; /* of memory; shape has the first six dimensions */
    uint64_t shape[6];
    uint32_t n_table;
    uint16_t table[LAYOUT_TABLE]; /* value -> number in memory */
} layout_map;

/* The text that is left, and the names that it may use. */
typedef struct layout_reader {
    const char *at;
    const layout_names *names;
    int bad;
} layout_reader;

static char reader_peek(layout_reader *r)
{
    while (*r->at == ' ') {
        r->at++;
    }
    return *r->at;
}

static int reader_takes(layout_reader *r, char c)
{
    if (reader_peek(r) != c) {
        return 0;
    }
    r->at++;
    return 1;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* A name of the alphabet that parameters and digits share. */
static void reader_name(layout_reader *r, char name[LAYOUT_NAME])
{
    size_t n = 0;

    (void)reader_peek(r);
    if (!is_letter(*r->at)) {
        r->bad = 1;
    }
    while (is_letter(*r->at) || is_digit(*r->at)) {
        if (n + 1 < LAYOUT_NAME) {
            name[n++] = *r->at;
        } else {
            r->bad = 1;
        }
        r->at++;
    }
    name[n] = '\0';
}

static const int64_t *names_find(const layout_names *names, const char *name)
{
    for (uint32_t i = 0; i < names->n; i++) {
        if (strcmp(names->at[i].name, name) == 0) {
            return &names->at[i].value;
        }
    }
    return NULL;
}

static int names_set(layout_names *names, const char *name, int64_t value)
{
    uint32_t i = 0;

    while (i < names->n && strcmp(names->at[i].name, name) != 0) {
        i++;
    }
    if (i == LAYOUT_NAMES || strlen(name) >= LAYOUT_NAME) {
        return 0;
    }
    memcpy(names->at[i].name, name, strlen(name) + 1);
    names->at[i].value = value;
    names->n += i == names->n;
    return 1;
}

/* A number, or $name. */
static int64_t reader_value(layout_reader *r)
{
    char name[LAYOUT_NAME];
    int64_t value = 0;

    if (reader_takes(r, '$')) {
        reader_name(r, name);
        const int64_t *const found = names_find(r->names, name);
        r->bad |= found == NULL;
        return found == NULL ? 1 : *found;
    }
    if (!is_digit(reader_peek(r))) {
        r->bad = 1;
    }
    while (is_digit(*r->at) && value < INT64_MAX / 10 - 1) {
        value = value * 10 + (*r->at++ - '0');
    }
    return value;
}

static int64_t gcd_of(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* Sizes of tensors leave 64 bits far away; a row that does not is refused. */
static int64_t reader_product(layout_reader *r, int64_t a, int64_t b)
{
    const int64_t limit = (int64_t)1 << 31;

    if ((a > limit || a < -limit) && (b > limit || b < -limit)) {
        r->bad = 1;
        return 1;
    }
    return a * b;
}

static int64_t reader_apply(layout_reader *r, char op, int64_t a, int64_t b)
{
    const int divides = op == '/' || op == '%' || op == '^' || op == '|';

    if (divides && b == 0) {
        r->bad = 1;
        return 1;
    }
    switch (op) {
    case '*':
        return reader_product(r, a, b);
    case '/':
        return a / b;
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '%':
        return a % b;
    case '<':
        return a < b ? a : b;
    case '>':
        return a > b ? a : b;
    case '^':
        return reader_product(r, (a + b - 1) / b, b);
    default: /* | */
        return reader_product(r, a / gcd_of(a, b), b);
    }
}

/* name=value op value op ..., as often as there are names. */
static int names_derive(layout_names *names, const char *where)
{
    layout_reader r = {where, names, 0};

    while (reader_peek(&r) != '\0' && !r.bad) {
        char name[LAYOUT_NAME];

        reader_name(&r, name);
        r.bad |= !reader_takes(&r, '=');
        int64_t value = reader_value(&r);
        for (char op = reader_peek(&r);
             op != '\0' && !r.bad && strchr("*/+-%<>^|", op) != NULL;
             op = reader_peek(&r)) {
            r.at++;
            value = reader_apply(&r, op, value, reader_value(&r));
        }
        r.bad |= !names_set(names, name, value);
    }
    return !r.bad;
}

/* Does "/name=value/..." set the name of n letters? */
static int is_set_in(const char *text, const char *name, size_t n)
{
    const char *at = strchr(text, '/');

    while (at != NULL && (strncmp(at + 1, name, n) != 0 || at[1 + n] != '=')) {
        at = strchr(at + 1, '/');
    }
    return at != NULL;
}

/* /name=value/name=value: only names that the row has, each once. */
static int names_override(layout_names *names, const char *text)
{
    layout_reader r = {text, names, 0};

    while (*r.at != '\0' && !r.bad) {
        char name[LAYOUT_NAME];

        r.bad |= !reader_takes(&r, '/');
        reader_name(&r, name);
        r.bad |= names_find(names, name) == NULL || !reader_takes(&r, '=');
        r.bad |= !names_set(names, name, reader_value(&r));
        r.bad |= is_set_in(r.at, name, strlen(name));
    }
    return !r.bad;
}

static const layout_row *layout_find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof layout_rows / sizeof layout_rows[0]; i++) {
        if (strlen(layout_rows[i].id) == n &&
            memcmp(layout_rows[i].id, name, n) == 0) {
            return &layout_rows[i];
        }
    }
    return NULL;
}

/* "8|16|32" or "any". */
static int layout_takes(const layout_row *row, uint32_t bits)
{
    const char *at = row->bits;

    if (strcmp(at, "any") == 0) {
        return 1;
    }
    while (*at != '\0') {
        uint32_t n = 0;

        while (is_digit(*at)) {
            n = n * 10 + (uint32_t)(*at++ - '0');
        }
        if (n == bits) {
            return 1;
        }
        at += *at != '\0';
    }
    return 0;
}

/* "value%value; value%value: in words; ...": nothing may be left over. */
static int layout_needs(const layout_names *names, const char *needs,
                        int *unreadable)
{
    layout_reader r = {needs, names, 0};
    int met = 1;

    while (reader_peek(&r) != '\0' && !r.bad) {
        const int64_t a = reader_value(&r);
        const int taken = reader_takes(&r, '%');
        const int64_t b = reader_value(&r);

        r.bad |= !taken || b == 0;
        met &= r.bad || a % b == 0;
        while (*r.at != '\0' && *r.at != ';') {
            r.at++;
        }
        r.at += *r.at != '\0';
    }
    *unreadable = r.bad;
    return met;
}

#endif
