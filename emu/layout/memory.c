/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Right of the arrow: the same digits in memory order, tables, records, and
 * which of them make up a dimension of the result.
 */
#include "parse.h"

#include <string.h>

/* State of the parser: tables fill a pool, groups make dimensions. */
typedef struct reader {
    const scan_context *c;
    mxo_layout *l;
    parse_digits *digits;
    int table_used;
    uint64_t n_inside[MXO_LAYOUT_RECORDS]; /* terms right of each record's @ */
} reader;

static mxo_status malformed(const reader *r, const scan_span *at)
{
    return parse_refuse(r->c, MXO_E_PARAM, "cannot read the map at \"%.*s\"",
                        (int)(at->len < 40 ? at->len : 40), at->ptr);
}

/* A digit of the left side, once. */
static mxo_status read_member(reader *r, scan_span *text, mxo_layout_term *t)
{
    const scan_span at = *text;
    const scan_span name = scan_name(text);

    for (int i = 0; i < r->digits->n; i++) {
        parse_digit *d = &r->digits->digit[i];
        if (scan_same(d->name, name) && !d->used) {
            mxo_layout_digit *to = &r->l->digit[r->l->n_digits++];
            d->used = 1;
            to->size = d->size;
            to->src = d->src;
            t->size *= d->size;
            t->n++;
            return MXO_OK;
        }
    }
    return malformed(r, &at);
}

/* "[1 0]": a permutation of 0..size-1 into the pool. */
static mxo_status read_table(reader *r, scan_span *text, mxo_layout_term *t)
{
    const scan_span at = *text;
    uint8_t *to = r->l->to + r->table_used;
    uint8_t *from = r->l->from + r->table_used;
    uint64_t entry;

    if (t->size > (uint64_t)(MXO_LAYOUT_TABLE - r->table_used)) {
        return malformed(r, &at);
    }
    memset(from, 0xff, (size_t)t->size);
    for (uint64_t v = 0; v < t->size; v++) {
        scan_blanks(text);
        if (!scan_value(text, r->c->names, &entry) || entry >= t->size ||
            from[entry] != 0xff) {
            return malformed(r, &at);
        }
        to[v] = (uint8_t)entry;
        from[entry] = (uint8_t)v;
    }
    scan_blanks(text);
    t->mapped = 1;
    t->table = (uint8_t)r->table_used;
    r->table_used += (int)t->size;
    return scan_take(text, ']') ? MXO_OK : malformed(r, &at);
}

/* "d", "d[..]" or "<d e>[..]". */
static mxo_status read_term(reader *r, scan_span *text, uint64_t *size)
{
    mxo_layout_term t = {1, 0, 0, 0, 0, 0};
    const int composite = scan_take(text, '<');
    mxo_status status;

    t.first = r->l->n_digits;
    do {
        scan_blanks(text);
        status = read_member(r, text, &t);
        scan_blanks(text);
    } while (composite && status == MXO_OK && !scan_take(text, '>'));
    if (status == MXO_OK && scan_take(text, '[')) {
        status = read_table(r, text, &t);
    }
    r->l->term[r->l->n_terms++] = t;
    *size *= t.size;
    return status;
}

/* A term, or terms in parentheses: one dimension. */
static mxo_status read_dimension(reader *r, scan_span *text)
{
    const scan_span at = *text;
    uint64_t size = 1;
    mxo_status status;

    const int is_inside = r->l->n_records > 0; /* a record is one dimension */

    if (r->l->rank == MXO_MAX_RANK) {
        return malformed(r, &at);
    }
    if (!scan_take(text, '(')) {
        status = read_term(r, text, &size);
    } else {
        do {
            scan_blanks(text);
            status = read_term(r, text, &size);
            scan_blanks(text);
        } while (status == MXO_OK && !scan_take(text, ')'));
    }
    if (!is_inside) {
        r->l->shape[r->l->rank++] = size;
    }
    scan_blanks(text);
    return status;
}

/* "@1/17": what follows lies in records of 17 bytes, from byte 1 on. */
static mxo_status read_record(reader *r, scan_span *text)
{
    const scan_span at = *text;
    mxo_layout *l = r->l;
    mxo_layout_record *record = &l->record[l->n_records];

    if (l->n_records == MXO_LAYOUT_RECORDS ||
        !scan_value(text, r->c->names, &record->first) ||
        !scan_take(text, '/') ||
        !scan_value(text, r->c->names, &record->every)) {
        return malformed(r, &at);
    }
    r->n_inside[l->n_records++] = l->n_terms;
    scan_blanks(text);
    return MXO_OK;
}

/* Bytes become units; the text has the outermost record first. */
static mxo_status measure_records(reader *r, uint32_t elem_bytes)
{
    mxo_layout *l = r->l;
    uint64_t size = 1;
    int term = l->n_terms;

    l->n_units = l->n_dense;
    for (int i = l->n_records - 1; i >= 0; i--) {
        mxo_layout_record *record = &l->record[i];
        while (term > (int)r->n_inside[i]) {
            size *= l->term[--term].size;
        }
        if (record->first % elem_bytes != 0 ||
            record->every % elem_bytes != 0) {
            return parse_refuse(r->c, MXO_E_SHAPE,
                                "its records do not hold elements of %u bytes",
                                (unsigned)elem_bytes);
        }
        record->body = size;
        record->first = record->first / elem_bytes * l->units;
        record->every = record->every / elem_bytes * l->units;
        if (size == 0 || record->first + size > record->every) {
            return parse_refuse(r->c, MXO_E_PARAM, "a record is too short");
        }
        l->n_units = l->n_units / size * record->every;
        size = record->every;
    }
    return MXO_OK;
}

/* Innermost first, and what they hold is one dimension. */
static void close_records(reader *r)
{
    mxo_layout *l = r->l;

    if (l->n_records == 0) {
        return;
    }
    l->shape[l->rank++] = l->record[0].every;
    for (int i = 0; i < l->n_records / 2; i++) {
        const mxo_layout_record outer = l->record[i];
        l->record[i] = l->record[l->n_records - 1 - i];
        l->record[l->n_records - 1 - i] = outer;
    }
}

/* The last dimension is counted in units so far; a byte holds several. */
static mxo_status finish(reader *r, const scan_span *at)
{
    mxo_layout *l = r->l;
    uint64_t stride = 1;

    for (int i = 0; i < r->digits->n; i++) {
        if (!r->digits->digit[i].used) {
            return parse_refuse(r->c, MXO_E_PARAM,
                                "the digit %.*s has no place in memory",
                                (int)r->digits->digit[i].name.len,
                                r->digits->digit[i].name.ptr);
        }
    }
    close_records(r);
    if (l->rank == 0 || l->shape[l->rank - 1] % l->units != 0) {
        return malformed(r, at);
    }
    l->shape[l->rank - 1] /= l->units;
    for (int i = l->n_terms - 1; i >= 0; i--) {
        l->term[i].dst = stride;
        stride *= l->term[i].size == 0 ? 1 : l->term[i].size;
    }
    return MXO_OK;
}

mxo_status parse_memory(const scan_context *c, scan_span *text, mxo_layout *l,
                        parse_digits *digits, uint32_t elem_bytes)
{
    reader r = {c, l, digits, 0, {0}};
    const scan_span at = *text;

    scan_blanks(text);
    while (text->len > 0) {
        MXO_TRY(scan_take(text, '@') ? read_record(&r, text)
                                     : read_dimension(&r, text));
    }
    MXO_TRY(measure_records(&r, elem_bytes));
    return finish(&r, &at);
}
