/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts read a second time: a row of layouts.def becomes digits that know
 * their axis, and a place in memory becomes coordinates and back.  Written
 * from docs/design/005-layout-notation.md alone.
 */
#ifndef BROKEN_LAYOUT_H
#define BROKEN_LAYOUT_H

#include "broken.h"

#include <mxoracle/abi.h>

enum { LAY_DIGITS = 24, LAY_NAMES = 24, LAY_WORD = 24, LAY_TABLE = 64 };
enum { LAY_ROWS = 1, LAY_COLS, LAY_PARTS, LAY_AXES }; /* 0: experts */
enum { LAY_ANYTHING = -1 };                           /* pad not defined */

typedef struct lay_row {
    const char *id;
    const char *bits;
    const char *values;
    const char *params;
    const char *where;
    const char *map;
} lay_row;

typedef struct lay_axis {
    uint64_t extent;
    uint64_t padded;
    uint64_t granule; /* product of the sizes that are written out */
    int pad;          /* byte, or LAY_ANYTHING */
} lay_axis;

typedef struct lay_digit {
    char name[LAY_WORD];
    int axis;
    int is_free;
    uint64_t size;
    uint64_t weight; /* in its axis */
    int shift;       /* weight is 2^shift, or -1: it is no power of two */
} lay_digit;

/* Neighbours in memory that move as one. */
typedef struct lay_term {
    int n;
    int digit[LAY_DIGITS];
    int n_entries;
    uint8_t entry[LAY_TABLE];
    uint64_t stride;
} lay_term;

/* body units of every are the layout's, from unit first on. */
typedef struct lay_record {
    uint64_t body;
    uint64_t first;
    uint64_t every;
    int before; /* terms left of it */
} lay_record;

typedef struct lay {
    lay_axis axis[LAY_AXES];
    int n_digits;
    lay_digit digit[LAY_DIGITS];
    int n_terms;
    lay_term term[LAY_DIGITS];
    int n_records; /* the outer one first */
    lay_record record[2];
    uint64_t n_units;
} lay;

typedef struct lay_at {
    uint64_t at[LAY_AXES];
} lay_at;

/* The row of a layout name, NULL. */
const lay_row *lay_row_of(const char *name);
/* Does the row move elements of that size, and has it the parameters that stand
   behind a layout's name? */
int lay_takes_width(const lay_row *row, uint32_t elem_bytes);
int lay_knows(const lay_row *row, const char *name);
/* 0, or -1 if map (of the row, or another one) does not fit the extents. */
int lay_read(lay *l, const lay_row *row, const char *map, const char *name,
             uint32_t elem_bytes, const uint64_t *extent);
/* Sizes of free digits and strides, after the axes. */
void lay_measure(lay *l);
int lay_measure_records(lay *l, uint64_t units_per_byte, uint64_t elem_bytes);
uint64_t lay_size(const lay *l, const lay_term *t);
uint64_t lay_place(const lay *l, lay_at from);
/* Does a place lie between the bodies of records? */
int lay_is_gap(const lay *l, uint64_t place);
lay_at lay_source(const lay *l, uint64_t place);
/* Bytes of an element, and element i, of one, two or four of them. */
uint32_t lay_width(const mxo_tensor *t);
uint64_t lay_load(const mxo_tensor *t, uint64_t i);
void lay_store(const mxo_tensor *t, uint64_t i, uint64_t code);
/* Does a change of values take this code? */
int lay_has_image(const char *values, uint64_t code, int back);
/* An element after its change of values, or before it. */
uint64_t lay_changed(const broken *b, const char *values, uint64_t code,
                     int back);

#endif
