/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layout as two tables: the tensor, and memory in its own order. Both have
 * a digit of the notation a level of headings, innermost last, and leave out
 * what repeats. Rendered as SVG (svg.c) and for terminals (terminal.c).
 */
#ifndef MXO_LAYOUT_PICTURE_H
#define MXO_LAYOUT_PICTURE_H

#include "explain.h"

enum { PICTURE_AT = 32, PICTURE_COLOURS = 8, PICTURE_NAME = 64 };

/* A level of headings: a digit of the tensor, or a term of memory. */
typedef struct picture_part {
    char name[PICTURE_NAME];
    uint64_t size;
    uint64_t stride;             /* within its side */
    uint64_t src;                /* stride in the tensor, where term is NULL */
    const mxo_layout_term *term; /* borrowed */
} picture_part;

/* The rows, or the columns, of a table: outermost part first. */
typedef struct picture_side {
    picture_part part[MXO_LAYOUT_DIGITS];
    int n_parts;
    uint64_t size;
    uint64_t at[PICTURE_AT]; /* shown, ascending */
    int n;
} picture_side;

typedef struct picture_table {
    int is_memory;
    picture_side rows;
    picture_side cols;
} picture_table;

typedef struct picture {
    const explained *e;
    int moving; /* index of the digit that gives the colours; -1: none moves */
    uint64_t colours;
    picture_table tensor;
    picture_table memory;
} picture;

/* One cell. unit counts in memory; live: source is a unit of the tensor. */
typedef struct picture_cell {
    uint64_t unit;
    uint64_t source;
    int live;
    int colour; /* below PICTURE_COLOURS; -1: no digit moves */
} picture_cell;

/* Expert 0; at most so many rows of each table, and columns, are shown. */
void picture_make(picture *p, const explained *e, int rows, int cols,
                  int memory_cols);
picture_cell picture_at(const picture *p, const picture_table *t, int row,
                        int col);
/* Value in the heading of a part; first row or column with this value. */
uint64_t picture_value(const picture *p, const picture_part *part,
                       uint64_t index);
/* Whether the heading of part k differs between positions i and i - 1. */
int picture_starts(const picture_side *s, int k, int i);
/* Outermost part whose heading changes at position i, 0 < i < n. */
int picture_level(const picture_side *s, int i);
/* Rows or columns left out before position i; i = n: after the last. */
uint64_t picture_skipped(const picture_side *s, int i);
/* "4-7" where a colour stands for several values of the moving digit. */
void picture_legend(const picture *p, uint64_t colour, char text[48]);
/* Of a table: a unit, or the row and column that lie there, "33,2" or "33,2h"
   for a high nibble, or "pad". */
void picture_cell_text(const picture *p, const picture_table *t,
                       const picture_cell *c, char text[64]);

/* The same drawing with ANSI colours, or without, as wide as columns. */
void explain_terminal(const explained *e, int columns, int colour, strbuf *out);

#endif
