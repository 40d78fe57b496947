/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a layout row, read from left to right. */
#include "layout.h"

#include <stdlib.h>
#include <string.h>

static const lay_row rows[] = {
#define MXO_LAYOUT(id, bits, values, params, where, needs, map, summary, \
                   source)                                               \
    {id, bits, values, params, where, map},
#include <mxoracle/layouts.def>
#undef MXO_LAYOUT
};

typedef struct lay_names {
    int n;
    char name[LAY_NAMES][LAY_WORD];
    uint64_t value[LAY_NAMES];
} lay_names;

const lay_row *lay_row_of(const char *name)
{
    const size_t n = strcspn(name, "/");

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strlen(rows[i].id) == n && strncmp(rows[i].id, name, n) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static void blanks(const char **s)
{
    *s += strspn(*s, " ");
}

static int took(const char **s, char c)
{
    blanks(s);
    if (**s != c) {
        return 0;
    }
    (*s)++;
    return 1;
}

static void word(const char **s, char *to)
{
    const size_t n =
        strspn(*s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                   "0123456789_");
    const size_t kept = n < LAY_WORD ? n : LAY_WORD - 1;

    memcpy(to, *s, kept);
    to[kept] = '\0';
    *s += n;
}

static uint64_t value_of(const lay_names *names, const char **s)
{
    char name[LAY_WORD];
    char *end;

    if (**s != '$') {
        const uint64_t value = strtoull(*s, &end, 10);
        *s = end;
        return value;
    }
    (*s)++;
    word(s, name);
    for (int i = 0; i < names->n; i++) {
        if (strcmp(names->name[i], name) == 0) {
            return names->value[i];
        }
    }
    return 0;
}

static uint64_t up_to(uint64_t a, uint64_t b)
{
    return b == 0 ? 0 : (a + b - 1) / b * b;
}

static uint64_t common(uint64_t a, uint64_t b)
{
    uint64_t m = a;

    while (a != 0 && b != 0 && m % b != 0) {
        m += a;
    }
    return m;
}

static uint64_t combine(char op, uint64_t a, uint64_t b)
{
    switch (op) {
    case '*':
        return a * b;
    case '/':
        return b == 0 ? 0 : a / b;
    case '%':
        return b == 0 ? 0 : a % b;
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '<':
        return a < b ? a : b;
    case '>':
        return a > b ? a : b;
    case '^':
        return up_to(a, b);
    default:
        return common(a, b);
    }
}

static void define(lay_names *names, const char *name, uint64_t value)
{
    if (names->n < LAY_NAMES) {
        (void)strcpy(names->name[names->n], name);
        names->value[names->n++] = value;
    }
}

/* "name=value op value name=..." in order of appearance. */
static void define_all(lay_names *names, const char *s)
{
    char name[LAY_WORD];

    for (blanks(&s); *s != '\0'; blanks(&s)) {
        word(&s, name);
        s += *s == '=';
        uint64_t value = value_of(names, &s);
        while (*s != '\0' && *s != ' ') {
            const char op = *s++;
            value = combine(op, value, value_of(names, &s));
        }
        define(names, name, value);
    }
}

/* A parameter of the layout's name replaces the default. */
static void override(lay_names *names, const char *name)
{
    char key[LAY_WORD];

    for (name += strcspn(name, "/"); *name == '/';) {
        name++;
        word(&name, key);
        name += *name == '=';
        const uint64_t value = strtoull(name, NULL, 10);
        for (int i = 0; i < names->n; i++) {
            if (strcmp(names->name[i], key) == 0) {
                names->value[i] = value;
            }
        }
        name += strcspn(name, "/");
    }
}

int lay_takes_width(const lay_row *row, uint32_t elem_bytes)
{
    const char *at = row->bits;
    int takes = strcmp(row->bits, "any") == 0;

    while (*at != '\0' && !takes) {
        char *end;

        takes = strtoull(at, &end, 10) == 8 * (uint64_t)elem_bytes;
        at = *end == '|' ? end + 1 : end;
    }
    return takes;
}

/* Is it one of "name=value name=value"? */
static int has_param(const char *params, const char *key)
{
    char name[LAY_WORD];
    int has = 0;

    for (blanks(&params); *params != '\0' && !has; blanks(&params)) {
        word(&params, name);
        has = strcmp(name, key) == 0;
        params += strcspn(params, " ");
    }
    return has;
}

int lay_knows(const lay_row *row, const char *name)
{
    char key[LAY_WORD];
    int knows = 1;

    for (name += strcspn(name, "/"); *name == '/' && knows;) {
        name++;
        word(&name, key);
        knows = *name == '=' && has_param(row->params, key);
        name += strcspn(name, "/");
    }
    return knows;
}

static int read_digit(lay *l, const lay_names *names, const char **s, int axis)
{
    lay_digit *d = &l->digit[l->n_digits];

    blanks(s);
    if (l->n_digits == LAY_DIGITS || **s == '\0') {
        return -1;
    }
    word(s, d->name);
    d->axis = axis;
    d->is_free = **s != ':';
    d->size = 1;
    if (!d->is_free) {
        (*s)++;
        d->size = value_of(names, s);
        l->axis[axis].granule *= d->size;
    }
    l->n_digits++;
    return d->name[0] == '\0' || d->size == 0 ? -1 : 0;
}

/* "^64=7f" after an axis; the multiple, 0 without. */
static uint64_t read_pad(lay_axis *a, const lay_names *names, const char **s)
{
    uint64_t multiple = 1;
    char *end;

    if (**s != '^') {
        return 0;
    }
    (*s)++;
    if (**s == '$' || (**s >= '0' && **s <= '9')) {
        multiple = value_of(names, s);
    }
    if (**s == '=') {
        (*s)++;
        if (**s == '?') {
            a->pad = LAY_ANYTHING;
            (*s)++;
        } else {
            a->pad = (int)strtoul(*s, &end, 16);
            *s = end;
        }
    }
    return common(a->granule, multiple);
}

static int read_axis(lay *l, const lay_names *names, const char **s, int axis)
{
    lay_axis *a = &l->axis[axis];
    int status = 0;

    if (took(s, '(')) {
        do {
            status |= read_digit(l, names, s, axis);
        } while (status == 0 && !took(s, ')'));
    } else {
        status = read_digit(l, names, s, axis);
    }
    const uint64_t multiple = read_pad(a, names, s);

    a->padded = multiple == 0 ? a->extent : up_to(a->extent, multiple);
    return status != 0 || a->granule == 0 || a->padded % a->granule != 0 ? -1
                                                                         : 0;
}

static int read_parts(lay *l, const lay_names *names, const char **s)
{
    blanks(s);
    while (**s != '-' && **s != '\0') {
        if (read_digit(l, names, s, LAY_PARTS) != 0) {
            return -1;
        }
        blanks(s);
    }
    l->axis[LAY_PARTS].extent = l->axis[LAY_PARTS].granule;
    l->axis[LAY_PARTS].padded = l->axis[LAY_PARTS].granule;
    *s += strspn(*s, "->");
    return 0;
}

static int read_member(lay *l, lay_term *t, const char **s)
{
    char name[LAY_WORD];

    blanks(s);
    word(s, name);
    for (int i = 0; i < l->n_digits; i++) {
        if (strcmp(l->digit[i].name, name) == 0) {
            t->digit[t->n++] = i;
            return 0;
        }
    }
    return -1;
}

static int read_term(lay *l, const lay_names *names, const char **s)
{
    lay_term *t = &l->term[l->n_terms];
    const int composite = took(s, '<');
    int status = 0;

    memset(t, 0, sizeof *t);
    do {
        status |= read_member(l, t, s);
    } while (composite && status == 0 && !took(s, '>'));
    if (status == 0 && **s == '[') {
        (*s)++;
        while (!took(s, ']') && t->n_entries < LAY_TABLE) {
            t->entry[t->n_entries++] = (uint8_t)value_of(names, s);
        }
    }
    l->n_terms++;
    return status;
}

/* "@1/17": first byte and size. */
static int read_record(lay *l, const lay_names *names, const char **s)
{
    if (l->n_records == 2) {
        return -1;
    }
    lay_record *r = &l->record[l->n_records++];

    r->first = value_of(names, s);
    r->before = l->n_terms;
    if (!took(s, '/')) {
        return -1;
    }
    r->every = value_of(names, s);
    return 0;
}

static int read_memory(lay *l, const lay_names *names, const char *s)
{
    int n = 0;

    for (blanks(&s); *s != '\0'; blanks(&s)) {
        if (took(&s, '(') || took(&s, ')')) {
            continue;
        }
        if (took(&s, '@')) {
            if (read_record(l, names, &s) != 0) {
                return -1;
            }
            continue;
        }
        if (l->n_terms == LAY_DIGITS || read_term(l, names, &s) != 0) {
            return -1;
        }
        n += l->term[l->n_terms - 1].n;
    }
    return n == l->n_digits ? 0 : -1;
}

int lay_read(lay *l, const lay_row *row, const char *map, const char *name,
             uint32_t elem_bytes, const uint64_t *extent)
{
    lay_names names = {0};
    int status = 0;

    memset(l, 0, sizeof *l);
    for (int i = 0; i < LAY_AXES; i++) {
        l->axis[i].extent = i < LAY_PARTS ? extent[i] : 1;
        l->axis[i].granule = 1;
    }
    define(&names, "elem_bytes", elem_bytes);
    define(&names, "experts", extent[0]);
    define(&names, "rows", extent[LAY_ROWS]);
    define(&names, "cols", extent[LAY_COLS]);
    define_all(&names, row->params);
    override(&names, name);
    define_all(&names, row->where);
    const int is_stack = took(&map, '*');
    if (is_stack) {
        l->axis[LAY_ROWS].extent *= extent[0];
        l->axis[0].extent = 1;
        l->axis[0].padded = 1;
    }
    for (int i = is_stack; i < LAY_PARTS && status == 0; i++) {
        status = read_axis(l, &names, &map, i);
    }
    if (status == 0) {
        status = read_parts(l, &names, &map);
    }
    if (status == 0) {
        status = read_memory(l, &names, map);
    }
    lay_measure(l);
    return status == 0
               ? lay_measure_records(l, l->axis[LAY_PARTS].granule, elem_bytes)
               : status;
}
