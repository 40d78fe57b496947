/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the text of a map to a layout_map: the left side gives the digits and
 * their strides in the tensor, the right side their order in memory.
 */
#ifndef GPU_LAYOUT_MAP_H
#define GPU_LAYOUT_MAP_H

#include "layout_plan/layout_text.h"
#include "port/runtime.h"

/* name or name:size; n stays 0 where the digit is free. */
static void map_digit(layout_map *m, layout_reader *r, int axis)
{
    if (m->n_digits == LAYOUT_DIGITS) {
        r->bad = 1;
        return;
    }
    layout_digit *const d = &m->digit[m->n_digits++];
    memset(d, 0, sizeof *d);
    reader_name(r, d->name);
    d->axis = axis;
    if (reader_takes(r, ':')) {
        const int64_t n = reader_value(r);
        r->bad |= n <= 0 || n > (int64_t)1 << 40;
        d->n = r->bad ? 1 : (uint64_t)n;
    }
}

static uint8_t reader_hex(layout_reader *r)
{
    uint32_t value = 0;

    for (int i = 0; i < 2; i++) {
        const char c = *r->at++;
        const int low = c >= 'a' && c <= 'f';

        r->bad |= !low && !is_digit(c);
        value = value * 16 + (uint32_t)(low ? c - 'a' + 10 : c - '0');
        if (r->bad) {
            return 0;
        }
    }
    return (uint8_t)value;
}

/* The suffix ^, ^64, ^64=7f or ^64=?; returns the multiple, 0: no padding. */
static uint64_t map_suffix(layout_axis *axis, layout_reader *r)
{
    int64_t multiple = 1;

    if (!reader_takes(r, '^')) {
        return 0;
    }
    if (is_digit(*r->at) || *r->at == '$') {
        multiple = reader_value(r);
        r->bad |= multiple <= 0;
    }
    if (*r->at == '=') {
        r->at++;
        if (*r->at == '?') {
            r->at++;
            axis->undefined = 1;
        } else {
            axis->byte = reader_hex(r);
        }
    }
    return r->bad ? 1 : (uint64_t)multiple;
}

/* Sizes and strides of one axis, least significant digit last. */
static int map_strides(layout_map *m, uint32_t first, layout_axis *axis,
                       uint64_t multiple)
{
    layout_digit *open = NULL;
    uint64_t product = 1;

    for (uint32_t i = first; i < m->n_digits; i++) {
        if (m->digit[i].n != 0) {
            product *= m->digit[i].n;
        } else if (open != NULL) {
            return 0;
        } else {
            open = &m->digit[i];
        }
    }
    axis->padded = axis->extent;
    if (multiple != 0) {
        const uint64_t granule =
            product / (uint64_t)gcd_of((int64_t)product, (int64_t)multiple) *
            multiple;
        axis->padded = (axis->extent + granule - 1) / granule * granule;
    }
    if (open != NULL) {
        open->n = axis->padded / product;
        product *= open->n;
    }
    uint64_t stride = 1;
    for (uint32_t i = m->n_digits; i-- > first;) {
        m->digit[i].stride = stride;
        stride *= m->digit[i].n;
    }
    return product == axis->padded;
}

/* Digits after the third axis, which split a byte. */
static void map_below(layout_map *m, layout_reader *r, uint32_t first)
{
    uint64_t product = 1;

    for (uint32_t i = first; i < m->n_digits; i++) {
        product *= m->digit[i].n;
    }
    if (product != 1 && product != 2 && product != 4 && product != 8) {
        r->bad = 1;
        return;
    }
    r->bad |= product != 1 && m->elem_bytes != 1;
    m->unit_bits = product == 1 ? 8 * m->elem_bytes : 8 / (uint32_t)product;
    uint64_t stride = m->unit_bits;
    for (uint32_t i = m->n_digits; i-- > first;) {
        m->digit[i].stride = stride;
        stride *= m->digit[i].n;
    }
}

/* 0: the axis is off the product of its digits. */
static int map_left(layout_map *m, layout_reader *r)
{
    int fits = 1;

    m->is_stack = reader_takes(r, '*');
    if (m->is_stack) {
        m->axis[1].extent *= m->axis[0].extent;
        m->axis[0].extent = 1;
        m->axis[0].padded = 1;
    }
    for (int axis = m->is_stack; axis < 3; axis++) {
        const uint32_t first = m->n_digits;

        if (reader_takes(r, '(')) {
            while (reader_peek(r) != ')' && *r->at != '\0' && !r->bad) {
                map_digit(m, r, axis);
            }
            r->bad |= !reader_takes(r, ')');
        } else {
            map_digit(m, r, axis);
        }
        const uint64_t multiple =
            *r->at == '^' ? map_suffix(&m->axis[axis], r) : 0;
        fits &= r->bad || map_strides(m, first, &m->axis[axis], multiple);
    }
    const uint32_t first = m->n_digits;
    while (reader_peek(r) != '-' && *r->at != '\0' && !r->bad) {
        map_digit(m, r, LAYOUT_BELOW);
    }
    map_below(m, r, first);
    r->bad |= !reader_takes(r, '-') || *r->at != '>';
    r->at += !r->bad;
    return fits;
}

static void map_member(layout_map *m, layout_reader *r, layout_group *g)
{
    char name[LAYOUT_NAME];

    reader_name(r, name);
    for (uint32_t i = 0; i < m->n_digits && !r->bad; i++) {
        layout_digit *const d = &m->digit[i];

        if (strcmp(d->name, name) == 0 && !d->used) {
            r->bad |= g->n_members == LAYOUT_MEMBERS;
            d->used = 1;
            g->member[r->bad ? 0 : g->n_members++] = i;
            g->n *= d->n;
            return;
        }
    }
    r->bad = 1;
}

/* [1 0]: entry v is the number that stands for value v; a permutation. */
static void map_table(layout_map *m, layout_reader *r, layout_group *g)
{
    uint8_t seen[LAYOUT_TABLE] = {0};

    if (g->n > LAYOUT_TABLE - m->n_table) {
        r->bad = 1;
        return;
    }
    g->table = (int)m->n_table;
    for (uint64_t i = 0; i < g->n && !r->bad; i++) {
        const int64_t number = reader_value(r);

        if (number >= (int64_t)g->n || seen[number]) {
            r->bad = 1;
            return;
        }
        seen[number] = 1;
        m->table[m->n_table++] = (uint16_t)number;
    }
    r->bad |= !reader_takes(r, ']');
}

/* One digit, or <several digits>, and a table if there is one. */
static void map_group(layout_map *m, layout_reader *r)
{
    if (m->n_groups == LAYOUT_GROUPS) {
        r->bad = 1;
        return;
    }
    layout_group *const g = &m->group[m->n_groups++];
    memset(g, 0, sizeof *g);
    g->n = 1;
    g->table = -1;
    if (reader_takes(r, '<')) {
        while (reader_peek(r) != '>' && *r->at != '\0' && !r->bad) {
            map_member(m, r, g);
        }
        r->bad |= !reader_takes(r, '>');
    } else {
        map_member(m, r, g);
    }
    if (*r->at == '[') {
        r->at++;
        map_table(m, r, g);
    }
}

/* Elements count in the shape: what splits a byte is no dimension. */
static void map_dimension(layout_map *m, uint32_t first)
{
    uint64_t n = 1;

    for (uint32_t i = first; i < m->n_groups; i++) {
        for (uint32_t k = 0; k < m->group[i].n_members; k++) {
            const layout_digit *const d = &m->digit[m->group[i].member[k]];
            n *= d->axis == LAYOUT_BELOW ? 1 : d->n;
        }
    }
    if (m->rank < 6) {
        m->shape[m->rank] = n;
    }
    m->rank++;
}

/* @1/17: what follows lies in records of 17 bytes, from byte 1 on. */
static void map_record(layout_map *m, layout_reader *r)
{
    if (m->n_records == LAYOUT_RECORDS || m->n_groups == 0) {
        r->bad = 1;
        return;
    }
    layout_record *const to = &m->record[m->n_records++];
    to->group = m->n_groups;
    to->axis = m->rank;
    to->first = (uint64_t)reader_value(r);
    r->bad |= !reader_takes(r, '/');
    to->every = (uint64_t)reader_value(r);
}

/* What records hold, and the dimension that they are. */
static void map_measure(layout_map *m, layout_reader *r)
{
    const layout_record outer = m->record[0];
    uint64_t inner = 1; /* bytes that take up so many in memory */
    uint64_t taken = 1;

    for (uint32_t i = m->n_records; i-- > 0;) {
        layout_record *const at = &m->record[i];
        const uint64_t bits = m->group[at->group - 1].stride;

        at->body = bits / 8 / inner * taken;
        r->bad |= bits % 8 != 0 || at->first % m->elem_bytes != 0 ||
                  at->every % m->elem_bytes != 0 ||
                  at->first + at->body > at->every;
        inner = bits / 8;
        taken = at->every;
    }
    if (m->n_records > 0 && outer.axis < 6) {
        m->rank = outer.axis + 1;
        m->shape[outer.axis] = outer.every / m->elem_bytes;
    }
    if (m->n_records == 2) { /* the text has the outer one first */
        const layout_record first = m->record[0];
        m->record[0] = m->record[1];
        m->record[1] = first;
    }
}

static void map_right(layout_map *m, layout_reader *r)
{
    while (reader_peek(r) != '\0' && !r->bad) {
        if (reader_takes(r, '@')) {
            map_record(m, r);
            continue;
        }
        const uint32_t first = m->n_groups;

        if (reader_takes(r, '(')) {
            while (reader_peek(r) != ')' && *r->at != '\0' && !r->bad) {
                map_group(m, r);
            }
            r->bad |= !reader_takes(r, ')');
        } else {
            map_group(m, r);
        }
        map_dimension(m, first);
    }
    uint64_t stride = m->unit_bits;
    for (uint32_t i = m->n_groups; i-- > 0;) {
        m->group[i].stride = stride;
        stride *= m->group[i].n;
    }
    for (uint32_t i = 0; i < m->n_digits; i++) {
        r->bad |= !m->digit[i].used;
    }
    if (!r->bad) {
        map_measure(m, r);
    }
}

/* Parameters, the tensor's extents, and what follows from them. */
static int map_names(const layout_map *m, const char *overrides,
                     layout_names *names)
{
    names->n = 0;
    return names_derive(names, m->row->params) &&
           names_override(names, overrides) &&
           names_set(names, "elem_bytes", m->elem_bytes) &&
           names_set(names, "experts", (int64_t)m->axis[0].extent) &&
           names_set(names, "rows", (int64_t)m->axis[1].extent) &&
           names_set(names, "cols", (int64_t)m->axis[2].extent) &&
           names_derive(names, m->row->where);
}

static int map_has_pads(const layout_map *m)
{
    return m->axis[0].padded != m->axis[0].extent ||
           m->axis[1].padded != m->axis[1].extent ||
           m->axis[2].padded != m->axis[2].extent;
}

/* name: id or id/name=value/...; shape: experts, rows, columns. */
static mxo_status map_read(layout_map *m, const char *name, size_t n_name,
                           const uint64_t shape[3], uint32_t elem_bytes,
                           mxo_text why)
{
    const char *const slash = (const char *)memchr(name, '/', n_name);
    const size_t n_id = slash == NULL ? n_name : (size_t)(slash - name);
    char overrides[256] = "";
    layout_names names;
    int unreadable = 0;

    memset(m, 0, sizeof *m);
    m->row = layout_find(name, n_id);
    if (m->row == NULL || n_name - n_id >= sizeof overrides) {
        return gpu_fail(MXO_E_PARAM, why, "no layout is called %.*s", (int)n_id,
                        name);
    }
    memcpy(overrides, name + n_id, n_name - n_id);
    m->elem_bytes = elem_bytes;
    for (int i = 0; i < 3; i++) {
        m->axis[i].extent = shape[i];
    }
    if (!layout_takes(m->row, 8 * elem_bytes)) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "%s does not move elements of %u bits", m->row->id,
                        (unsigned)(8 * elem_bytes));
    }
    if (!map_names(m, overrides, &names)) {
        return gpu_fail(MXO_E_PARAM, why, "%s: a parameter is wrong",
                        m->row->id);
    }
    if (!layout_needs(&names, m->row->needs, &unreadable)) {
        return gpu_fail(MXO_E_SHAPE, why, "%s needs %s", m->row->id,
                        m->row->needs);
    }
    layout_reader r = {m->row->map, &names, 0};
    const int fits = map_left(m, &r);
    if (!r.bad && fits) {
        map_right(m, &r);
    }
    if (r.bad || unreadable) {
        return gpu_fail(MXO_E_PARAM, why, "%s: the text cannot be read",
                        m->row->id);
    }
    return fits ? MXO_OK
                : gpu_fail(MXO_E_SHAPE, why,
                           "%s: an axis is off the product of its digits",
                           m->row->id);
}

#endif
