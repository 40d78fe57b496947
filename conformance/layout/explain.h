/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telling a person where a layout puts things: terminal text, an SVG picture,
 * a page of the documentation.  All three read the bound layout and nothing
 * else.
 */
#ifndef MXO_LAYOUT_EXPLAIN_H
#define MXO_LAYOUT_EXPLAIN_H

#include "base/strbuf.h"

#include <mxoracle/layout.h>

/* A digit as the text of the map names it, in memory order. */
enum { EXPLAIN_WORD = 16 };

typedef struct explained {
    const char *name; /* with parameters; borrowed */
    uint32_t elem_bytes;
    mxo_layout l;
    char digit[MXO_LAYOUT_DIGITS][EXPLAIN_WORD];
} explained;

/* Bind; -1 and a sentence. */
int explain_bind(explained *e, const char *name, uint32_t elem_bytes,
                 const uint64_t extent[3], mxo_text why);
/* The smallest whole tile: what the pages show. -1: nothing small fits. */
int explain_bind_example(explained *e, const char *name);

/* "expert 0, row 33, column 2, high nibble" of a logical unit, of which an
   element has so many. */
void explain_place(const explained *e, uint32_t units, uint64_t unit,
                   strbuf *out);
/* "byte 812, bit 4" of a memory unit, of which an element has so many. */
void explain_memory(const explained *e, uint32_t units, uint64_t unit,
                    strbuf *out);
/* "M 1, C 0, m32 17, m4 2, c4 3": the digits of an element of memory. */
void explain_digits(const explained *e, uint64_t unit, strbuf *out);

/* Name, source, map, shapes, digits; lines broken at columns, 0: never. */
void explain_text(const explained *e, int columns, strbuf *out);
/* Memory positions of the first rows and columns, as wide as fits. */
void explain_grid(const explained *e, int columns, strbuf *out);
/* Logical (row, column) of the first memory units. */
void explain_runs(const explained *e, int columns, strbuf *out);
void explain_svg(const explained *e, strbuf *out);
/* The page docs/layouts/ID.md. */
void explain_page(const explained *e, strbuf *out);

#endif
