/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a row of layouts.def and a shape to strides: names are given values,
 * the vendor's preconditions are checked, the map is read.
 */
#include "parse.h"

#include <stdio.h>
#include <string.h>

static const mxo_layout_row rows[] = {
#define MXO_LAYOUT(id, bits, values, params, where, needs, map, summary, \
                   source)                                               \
    {id, bits, values, params, where, needs, map, summary, source},
#include <mxoracle/layouts.def>
#undef MXO_LAYOUT
};

enum { N_ROWS = (int)(sizeof rows / sizeof rows[0]) };

const mxo_layout_row *mxo_layout_at(uint32_t i)
{
    return i < N_ROWS ? &rows[i] : NULL;
}

const mxo_layout_row *mxo_layout_find(const char *name)
{
    scan_span rest = scan_text(name);
    const scan_span id = scan_cut(&rest, '/');

    for (int i = 0; i < N_ROWS; i++) {
        if (rows[i].id[0] == name[0] && scan_is(id, rows[i].id)) {
            return &rows[i];
        }
    }
    return NULL;
}

/* "name=value" of the caller's name; 1 if it sets this parameter. */
static int caller_sets(const char *name, scan_span key, scan_span *value)
{
    scan_span rest = scan_text(name);

    (void)scan_cut(&rest, '/');
    while (rest.len > 0) {
        scan_span entry = scan_cut(&rest, '/');
        if (scan_same(scan_cut(&entry, '='), key)) {
            *value = entry;
            return 1;
        }
    }
    return 0;
}

/* Each parameter's default, or what the caller's name says. */
static mxo_status define_params(const scan_context *c, scan_names *names,
                                const char *name)
{
    scan_span rest = scan_text(c->row->params);

    for (scan_blanks(&rest); rest.len > 0; scan_blanks(&rest)) {
        scan_span value = scan_cut(&rest, ' ');
        const scan_span key = scan_cut(&value, '=');
        uint64_t number;

        const int given = caller_sets(name, key, &value);
        if (!scan_value(&value, names, &number) || value.len > 0 ||
            !scan_define(names, key, number)) {
            return parse_refuse(c, MXO_E_PARAM,
                                given ? "%.*s is not a number"
                                      : "cannot read its parameter %.*s",
                                (int)key.len, key.ptr);
        }
    }
    return MXO_OK;
}

/* Every parameter the caller names exists. */
static mxo_status check_caller(const scan_context *c, const char *name)
{
    scan_span rest = scan_text(name);

    (void)scan_cut(&rest, '/');
    while (rest.len > 0) {
        scan_span entry = scan_cut(&rest, '/');
        const scan_span key = scan_cut(&entry, '=');
        scan_span params = scan_text(c->row->params);
        scan_span again;
        int known = 0;

        while (params.len > 0 && !known) {
            scan_span one = scan_cut(&params, ' ');
            known = scan_same(scan_cut(&one, '='), key);
        }
        if (!known || entry.len == 0) {
            return parse_refuse(c, MXO_E_PARAM, "it has no parameter \"%.*s\"",
                                (int)key.len, key.ptr);
        }
        if (caller_sets(name, key, &again) && again.ptr != entry.ptr) {
            return parse_refuse(c, MXO_E_PARAM, "%.*s is given twice",
                                (int)key.len, key.ptr);
        }
    }
    return MXO_OK;
}

static mxo_status define_derived(const scan_context *c, scan_names *names)
{
    scan_span rest = scan_text(c->row->where);

    for (scan_blanks(&rest); rest.len > 0; scan_blanks(&rest)) {
        const scan_span name = scan_cut(&rest, '=');
        uint64_t value;

        if (!scan_formula(&rest, names, &value) ||
            !scan_define(names, name, value)) {
            return parse_refuse(c, MXO_E_SHAPE,
                                "%.*s has no value for this shape",
                                (int)name.len, name.ptr);
        }
    }
    return MXO_OK;
}

/* The vendor's words with {name} filled in. */
static mxo_status refuse_in_words(const scan_context *c, scan_span words)
{
    char text[256];
    size_t used = 0;

    scan_blanks(&words);
    while (words.len > 0 && used + 24 < sizeof text) {
        if (!scan_take(&words, '{')) {
            text[used++] = words.ptr[0];
            (void)scan_take(&words, words.ptr[0]);
            continue;
        }
        const int i = scan_find(c->names, scan_cut(&words, '}'));
        used += (size_t)snprintf(
            text + used, sizeof text - used, "%llu",
            i < 0 ? 0ULL : (unsigned long long)c->names->entry[i].value);
    }
    return parse_refuse(c, MXO_E_SHAPE, "%.*s", (int)used, text);
}

/* "$rows%16" that is not zero, as "rows % 16 is not 0 (rows = 70)". */
static mxo_status refuse_formula(const scan_context *c, scan_span formula)
{
    char text[128];
    size_t used = 0;
    scan_span rest = formula;

    for (size_t i = 0; i < formula.len && used + 4 < sizeof text; i++) {
        const char ch = formula.ptr[i];
        if (strchr("*/+-%", ch) != NULL) {
            used +=
                (size_t)snprintf(text + used, sizeof text - used, " %c ", ch);
        } else if (ch != '$') {
            text[used++] = ch;
        }
    }
    (void)scan_take(&rest, '$');
    const scan_span name = scan_name(&rest);
    const int i = scan_find(c->names, name);

    return parse_refuse(c, MXO_E_SHAPE, "it needs %.*s == 0, and %.*s is %llu",
                        (int)used, text, (int)name.len, name.ptr,
                        i < 0 ? 0ULL
                              : (unsigned long long)c->names->entry[i].value);
}

/* "formula; formula: words": each formula must be zero. */
static mxo_status check_needs(const scan_context *c)
{
    scan_span rest = scan_text(c->row->needs);

    for (scan_blanks(&rest); rest.len > 0; scan_blanks(&rest)) {
        scan_span words = scan_cut(&rest, ';');
        const scan_span formula = scan_cut(&words, ':');
        scan_span text = formula;
        uint64_t value;

        /* A formula without a value (a parameter of 0) has the same words. */
        if (!scan_formula(&text, c->names, &value) || text.len > 0) {
            if (words.len > 0) {
                return refuse_in_words(c, words);
            }
            return parse_refuse(c, MXO_E_PARAM, "cannot read its need \"%.*s\"",
                                (int)formula.len, formula.ptr);
        }
        if (value != 0) {
            return words.len > 0 ? refuse_in_words(c, words)
                                 : refuse_formula(c, formula);
        }
    }
    return MXO_OK;
}

/* "any", or elem_bytes * 8 among "8|16". */
static mxo_status check_bits(const scan_context *c, uint32_t elem_bytes)
{
    scan_span rest = scan_text(c->row->bits);
    char bits[16];

    (void)snprintf(bits, sizeof bits, "%u", (unsigned)elem_bytes * 8);
    while (rest.len > 0) {
        const scan_span one = scan_cut(&rest, '|');
        if (scan_is(one, "any") || scan_is(one, bits)) {
            return MXO_OK;
        }
    }
    return parse_refuse(c, MXO_E_SHAPE, "it moves elements of %s bits, not %s",
                        c->row->bits, bits);
}

static mxo_status define_all(const scan_context *c, scan_names *names,
                             const char *name, uint32_t elem_bytes,
                             const uint64_t extent[3])
{
    MXO_TRY(check_bits(c, elem_bytes));
    (void)scan_define(names, scan_text("elem_bytes"), elem_bytes);
    (void)scan_define(names, scan_text("experts"), extent[0]);
    (void)scan_define(names, scan_text("rows"), extent[1]);
    (void)scan_define(names, scan_text("cols"), extent[2]);
    MXO_TRY(check_caller(c, name));
    MXO_TRY(define_params(c, names, name));
    MXO_TRY(define_derived(c, names));
    return check_needs(c);
}

mxo_status mxo_layout_bind(mxo_layout *l, const mxo_layout_row *row,
                           const char *name, uint32_t elem_bytes,
                           const uint64_t extent[3], mxo_text why)
{
    scan_names names = {0};
    const scan_context c = {row, &names, why};
    scan_span text = scan_text(row->map);
    parse_digits digits = {0};

    memset(l, 0, sizeof *l);
    l->row = row;
    memcpy(l->logical, extent, sizeof l->logical);
    memcpy(l->extent, extent, sizeof l->extent);
    for (int axis = 0; axis < 3; axis++) {
        if (extent[axis] >= (uint64_t)1 << 40) {
            return parse_refuse(&c, MXO_E_SHAPE, "the tensor is too large");
        }
    }
    MXO_TRY(define_all(&c, &names, name, elem_bytes, extent));
    MXO_TRY(parse_source(&c, &text, l, &digits));
    if (l->units > 1 && elem_bytes != 1) {
        return parse_refuse(&c, MXO_E_SHAPE, "it splits bytes only");
    }
    return parse_memory(&c, &text, l, &digits, elem_bytes);
}
