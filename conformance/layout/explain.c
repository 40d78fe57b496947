/* SPDX-License-Identifier: Apache-2.0 */
/* A bound layout in words and small tables; see explain.h. */
#include "explain.h"

#include "base/citation.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The names right of the arrow are the digits in memory order. */
static void name_digits(explained *e)
{
    const char *p = strstr(e->l.row->map, "->");
    int n = 0;

    while (p != NULL && *p != '\0' && n < e->l.n_digits) {
        p +=
            strcspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz[");
        if (*p == '[') {
            p += strcspn(p, "]");
            continue;
        }
        const size_t len = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "abcdefghijklmnopqrstuvwxyz0123456789_");
        (void)snprintf(e->digit[n++], EXPLAIN_WORD, "%.*s", (int)len, p);
        p += len;
    }
}

int explain_bind(explained *e, const char *name, uint32_t elem_bytes,
                 const uint64_t extent[3], mxo_text why)
{
    const mxo_layout_row *row = mxo_layout_find(name);

    memset(e, 0, sizeof *e);
    e->name = name;
    e->elem_bytes = elem_bytes;
    if (row == NULL) {
        (void)snprintf(why.ptr, why.size, "no layout is called %.60s", name);
        return -1;
    }
    if (mxo_layout_bind(&e->l, row, name, elem_bytes, extent, why) != MXO_OK) {
        return -1;
    }
    name_digits(e);
    return 0;
}

static int is_whole(const explained *e)
{
    return memcmp(e->l.extent, e->l.padded, sizeof e->l.extent) == 0;
}

/* Bytes of the smallest element the layout takes. */
static uint32_t smallest_element(const mxo_layout_row *row)
{
    return strncmp(row->bits, "16", 2) == 0   ? 2
           : strncmp(row->bits, "32", 2) == 0 ? 4
                                              : 1;
}

/* Does every unit lie in memory where it lies in the tensor? */
static int stays(const explained *e)
{
    for (uint64_t i = 0; i < e->l.n_dense; i++) {
        if (mxo_layout_forward(&e->l, i) != i) {
            return 0;
        }
    }
    return 1;
}

int explain_bind_example(explained *e, const char *name)
{
    const mxo_layout_row *row = mxo_layout_find(name);
    uint64_t best = UINT64_MAX;
    uint64_t chosen[3] = {1, 0, 0};
    char text[256];
    const mxo_text why = {text, sizeof text};

    for (uint64_t rows = 1; row != NULL && rows <= 1024; rows *= 2) {
        for (uint64_t cols = 1; cols <= 1024; cols *= 2) {
            const uint64_t extent[3] = {1, rows, cols};
            /* A picture of one row or one column shows nothing. */
            const uint64_t size =
                rows * cols + (rows < 4 || cols < 4 ? 256u : 0u);
            if (size < best &&
                explain_bind(e, name, smallest_element(row), extent, why) ==
                    0 &&
                is_whole(e)) {
                best = size;
                memcpy(chosen, extent, sizeof chosen);
            }
        }
    }
    if (best == UINT64_MAX) {
        return -1;
    }
    /* Four tiles say more than one, if they stay legible, and all there is to
       say where nothing moves within a tile. */
    const uint64_t four[3] = {1, 2 * chosen[1], 2 * chosen[2]};
    const int still =
        explain_bind(e, name, smallest_element(row), chosen, why) == 0 &&
        stays(e);

    if ((4 * best <= 512 || still) &&
        explain_bind(e, name, smallest_element(row), four, why) == 0) {
        return 0;
    }
    return explain_bind(e, name, smallest_element(row), chosen, why);
}

static const char *part_name(uint32_t units, uint64_t i, char text[16])
{
    if (units == 2) {
        return i == 0 ? ", low nibble" : ", high nibble";
    }
    (void)snprintf(text, 16, ", bit %d", (int)i);
    return units == 1 ? "" : text;
}

void explain_place(const explained *e, uint32_t units, uint64_t unit,
                   strbuf *out)
{
    const uint64_t *extent = e->l.logical;
    const uint64_t element = unit / units;
    char part[16];

    strbuf_add(out, "expert %" PRIu64 ", row %" PRIu64 ", column %" PRIu64 "%s",
               element / extent[2] / extent[1], element / extent[2] % extent[1],
               element % extent[2], part_name(units, unit % units, part));
}

void explain_memory(const explained *e, uint32_t units, uint64_t unit,
                    strbuf *out)
{
    char part[16];

    strbuf_add(out, "byte %" PRIu64 "%s", unit / units * e->elem_bytes,
               part_name(units, unit % units, part));
}

void explain_digits(const explained *e, uint64_t unit, strbuf *out)
{
    const mxo_layout *l = &e->l;

    for (uint8_t i = 0; i < l->n_terms; i++) {
        const mxo_layout_term *t = &l->term[i];
        strbuf_add(out, "%s%s", i == 0 ? "" : ", ", t->n > 1 ? "<" : "");
        for (uint8_t k = 0; k < t->n; k++) {
            strbuf_add(out, "%s%s", k == 0 ? "" : " ", e->digit[t->first + k]);
        }
        strbuf_add(out, "%s %" PRIu64, t->n > 1 ? ">" : "",
                   unit / t->dst % t->size);
    }
}

/* "label   words", continued below the words where the line ends. */
static void add_line(const char *label, const char *words, int columns,
                     strbuf *out)
{
    const size_t room = columns < 24 ? SIZE_MAX : (size_t)columns - 8;

    strbuf_add(out, "%-8s", label);
    while (columns > 0 && strlen(words) > room) {
        size_t n = room;
        while (n > 0 && words[n] != ' ') {
            n--;
        }
        if (n == 0) {
            break;
        }
        strbuf_add(out, "%.*s\n        ", (int)n, words);
        words += n + 1;
    }
    strbuf_add(out, "%s\n", words);
}

static void add_shape(strbuf *out, const uint64_t *shape, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++) {
        strbuf_add(out, "%s%" PRIu64, i == 0 ? "" : " x ", shape[i]);
    }
}

static const char *unit_name(const explained *e)
{
    return e->l.units == 8 ? "bit" : e->l.units == 2 ? "nibble" : "element";
}

static void add_source(const char *source, int columns, strbuf *out)
{
    strbuf text = {0};

    citation_add(&text, source, CITATION_PATH);
    add_line("from", strbuf_text(&text), columns, out);
    strbuf_clear(&text);
}

static void add_shapes(const explained *e, int columns, strbuf *out)
{
    const mxo_layout *l = &e->l;
    strbuf tensor = {0};
    strbuf memory = {0};

    add_shape(&tensor, l->logical, 3);
    strbuf_add(&tensor, " (experts x rows x columns)");
    if (!is_whole(e)) {
        strbuf_add(&tensor, ", padded to ");
        add_shape(&tensor, l->padded, 3);
    }
    add_line("tensor", strbuf_text(&tensor), columns, out);
    add_shape(&memory, l->shape, l->rank);
    strbuf_add(&memory, ", the unit is one %s", unit_name(e));
    add_line("memory", strbuf_text(&memory), columns, out);
    strbuf_clear(&tensor);
    strbuf_clear(&memory);
}

static void add_digits(const explained *e, int is_narrow, strbuf *out)
{
    const mxo_layout *l = &e->l;
    const int size = is_narrow ? 7 : 11;
    const int stride = is_narrow ? 9 : 16;

    strbuf_add(out, "\n%-10s %*s  %*s  in memory\n", "digit", size, "size",
               stride, is_narrow ? "in tensor" : "stride in tensor");
    for (uint8_t i = 0; i < l->n_terms; i++) {
        const mxo_layout_term *t = &l->term[i];
        for (uint8_t k = 0; k < t->n; k++) {
            const mxo_layout_digit *d = &l->digit[t->first + k];
            strbuf_add(out, "%-10s %*" PRIu64 "  %*" PRIu64,
                       e->digit[t->first + k], size, d->size, stride, d->src);
            if (t->n > 1 || t->mapped) {
                strbuf_add(out, "%s  by table of %" PRIu64,
                           is_narrow ? "\n" : "", t->size);
            }
            if (k == t->n - 1) {
                strbuf_add(out, "  %9" PRIu64, t->dst);
            }
            strbuf_add(out, "\n");
        }
    }
}

void explain_text(const explained *e, int columns, strbuf *out)
{
    const mxo_layout *l = &e->l;

    if (columns > 0 &&
        strlen(e->name) + strlen(l->row->summary) + 2 > (size_t)columns) {
        strbuf_add(out, "%s:\n", e->name);
        add_line("", l->row->summary, columns, out);
    } else {
        strbuf_add(out, "%s: %s\n", e->name, l->row->summary);
    }
    add_source(l->row->source, columns, out);
    add_line("map", l->row->map, columns, out);
    add_shapes(e, columns, out);
    add_digits(e, columns > 0 && columns < 80, out);
}

/* How many of n cells of this width fit beside a margin. */
static uint64_t fitting(uint64_t n, int columns, int margin, int width)
{
    const int room = (columns - margin) / width;
    const uint64_t fits = room < 1 ? 1 : (uint64_t)room;

    return n < fits ? n : fits;
}

static int digits_of(uint64_t n)
{
    return snprintf(NULL, 0, "%" PRIu64, n);
}

void explain_grid(const explained *e, int columns, strbuf *out)
{
    const mxo_layout *l = &e->l;
    const int width = digits_of(l->n_units) + 1;
    const uint64_t per_row = l->extent[2] * l->units;
    const uint64_t cols = fitting(per_row, columns, 9, width);
    const uint64_t rows = l->extent[1] < 16 ? l->extent[1] : 16;

    strbuf_add(out, "\nwhere the %ss of the first rows go%s(memory, in %ss)\n",
               unit_name(e), columns < 62 ? "\n" : " ", unit_name(e));
    for (uint64_t r = 0; r < rows; r++) {
        strbuf_add(out, "row %-4" PRIu64 " ", r);
        for (uint64_t c = 0; c < cols; c++) {
            strbuf_add(out, "%*" PRIu64, width,
                       mxo_layout_forward(
                           l, mxo_layout_padded_index(l, r * per_row + c)));
        }
        strbuf_add(out, "%s\n", cols < per_row ? " .." : "");
    }
    if (rows < l->extent[1]) {
        strbuf_add(out, "..\n");
    }
}

/* The largest power of two that is not larger. */
static uint64_t whole_power(uint64_t n)
{
    uint64_t power = 1;

    while (power * 2 <= n) {
        power *= 2;
    }
    return power;
}

void explain_runs(const explained *e, int columns, strbuf *out)
{
    const mxo_layout *l = &e->l;
    const uint64_t per_row = l->extent[2] * l->units;
    const int width = digits_of(l->extent[1]) + digits_of(per_row) + 2;
    const uint64_t cells = whole_power(fitting(16, columns, 9, width + 1));
    const uint64_t n = l->n_units < 4 * cells ? l->n_units : 4 * cells;

    strbuf_add(out, "\nwhat the first %ss of memory hold%s(row,column)\n",
               unit_name(e), columns < 53 ? "\n" : " ");
    for (uint64_t i = 0; i < n; i++) {
        uint64_t src = 0;
        uint8_t byte = 0;
        char cell[48] = "-";
        if (i % cells == 0) {
            strbuf_add(out, "%-8" PRIu64, i);
        }
        if (mxo_layout_content_at(l, i, &src, &byte) == MXO_LAYOUT_LIVE) {
            (void)snprintf(cell, sizeof cell, "%" PRIu64 ",%" PRIu64,
                           src / per_row % l->extent[1], src % per_row);
        }
        strbuf_add(out, " %*s%s", width, cell,
                   i % cells == cells - 1 || i == n - 1 ? "\n" : "");
    }
}
