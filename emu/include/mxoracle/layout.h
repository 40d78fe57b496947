/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts: where an element of a weight, scale or bias tensor lies in memory.
 *
 * A layout is a row of layouts.def.  Bound to the shape of a tensor it becomes
 * a list of digits with strides, and both directions are a handful of
 * divisions: no table of indices is ever built, so the arithmetic holds at any
 * size.  The notation is specified in docs/design/005-layout-notation.md.
 *
 * Units: an index counts *units* of the layout: whole elements, or the nibbles
 * or bits of a byte, in little-endian order whatever the machine.
 */
#ifndef MXORACLE_LAYOUT_H
#define MXORACLE_LAYOUT_H

#include <mxoracle/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MXO_LAYOUT_DIGITS 24 /* most digits of one map */
#define MXO_LAYOUT_TABLE 128 /* entries of all its tables together */
#define MXO_LAYOUT_NAME 128  /* longest name with parameters, with the NUL */
#define MXO_LAYOUT_RECORDS 2 /* most records of one map */

/** A row of layouts.def; see there. */
typedef struct mxo_layout_row {
    const char *id;
    const char *bits;
    const char *values;
    const char *params;
    const char *where;
    const char *needs;
    const char *map;
    const char *summary;
    const char *source;
} mxo_layout_row;

/** Content of pads: elements beyond the logical extent of an axis. */
typedef struct mxo_layout_pad {
    uint8_t byte;      /* every byte of the pad element */
    uint8_t undefined; /* 1: nothing is promised */
} mxo_layout_pad;

/** One digit: its size, and its stride in the padded logical tensor. */
typedef struct mxo_layout_digit {
    uint64_t size;
    uint64_t src;
} mxo_layout_digit;

/** Neighbouring digits that move as one, perhaps through a table. */
typedef struct mxo_layout_term {
    uint64_t size;  /* product of the members' sizes */
    uint64_t dst;   /* stride in memory */
    uint8_t first;  /* index of the most significant member */
    uint8_t n;      /* members */
    uint8_t mapped; /* 1: value v is stored as to[table + v] */
    uint8_t table;
} mxo_layout_term;

/**
 * A record: memory repeats every so many units, and body units of it, from
 * unit first on, are this layout's.  The rest belongs to other tensors.
 */
typedef struct mxo_layout_record {
    uint64_t body;
    uint64_t every;
    uint64_t first;
} mxo_layout_record;

/** A layout bound to a shape. */
typedef struct mxo_layout {
    const mxo_layout_row *row;
    uint64_t logical[3]; /* experts, rows, columns of the tensor */
    uint64_t extent[3];  /* the same; of a stack one expert with all rows */
    uint64_t padded[3];
    mxo_layout_pad pad[3];
    uint64_t n_dense; /* units of the padded tensor */
    uint64_t n_units; /* of memory: n_dense, and what records leave out */
    uint32_t units;   /* in an element: 1, 2 or 8 */
    uint32_t rank;    /* of the result */
    uint64_t shape[MXO_MAX_RANK]; /* in elements */
    uint8_t n_digits;
    uint8_t n_records; /* innermost first */
    mxo_layout_record record[MXO_LAYOUT_RECORDS];
    uint8_t n_terms;
    mxo_layout_digit digit[MXO_LAYOUT_DIGITS]; /* in memory order */
    mxo_layout_term term[MXO_LAYOUT_DIGITS];
    uint8_t to[MXO_LAYOUT_TABLE];
    uint8_t from[MXO_LAYOUT_TABLE];
} mxo_layout;

/** Content of a unit of memory. */
typedef enum mxo_layout_content {
    MXO_LAYOUT_LIVE,
    MXO_LAYOUT_PAD,
    MXO_LAYOUT_UNDEFINED
} mxo_layout_content;

/**
 * Row of a layout name.
 * Shapes   name is "id" or "id/parameter=value/..."
 * Errors   NULL: no such id
 * Threads  any
 */
const mxo_layout_row *mxo_layout_find(const char *name);

/**
 * Row number i of layouts.def, sorted by id; NULL past the end.
 * Threads  any
 */
const mxo_layout_row *mxo_layout_at(uint32_t i);

#define MXO_CONVERSION_TENSORS 6

/** A row of conversions.def; see there. */
typedef struct mxo_conversion_row {
    const char *id;
    const char *params;
    const char *needs;
    const char *bias;
    /** w13, w13_scale, w13_bias, w2, w2_scale, w2_bias */
    const char *chain[MXO_CONVERSION_TENSORS];
    const char *source;
} mxo_conversion_row;

/**
 * Row number i of conversions.def, sorted by id, NULL past the end; row of
 * "id" or "id/parameter=value", NULL if there is none; name of tensor i.
 * Threads  any
 */
const mxo_conversion_row *mxo_conversion_at(uint32_t i);
const mxo_conversion_row *mxo_conversion_find(const char *name);
const char *mxo_conversion_tensor(uint32_t i);

/**
 * Bind a layout to a shape.
 * Shapes   extent: experts, rows, columns; elements of elem_bytes bytes
 * Needs    row from mxo_layout_find(name), or one of the caller's own; name
 *          gives the parameters and may be the bare id
 * Errors   PARAM: the row is malformed or a parameter is unknown; SHAPE: the
 *          vendor's code refuses this shape, or an index would not fit 63 bits
 * Threads  any; *l is plain data afterwards
 * Source   docs/design/005-layout-notation.md
 */
MXO_MUST_CHECK mxo_status mxo_layout_bind(mxo_layout *l,
                                          const mxo_layout_row *row,
                                          const char *name, uint32_t elem_bytes,
                                          const uint64_t extent[3],
                                          mxo_text why);

/**
 * Extents of the padded tensor as which memory is seen on the way back.
 * Shapes   name: a layout, or CONVERSION.TENSOR, with parameters; extent and
 *          padded: experts, rows, columns
 * Errors   PARAM: no such name; SHAPE: the vendor's code refuses the shape
 * Threads  any
 */
MXO_MUST_CHECK mxo_status mxo_layout_padded(const char *name, uint32_t dtype,
                                            const uint64_t extent[3],
                                            uint64_t padded[3], mxo_text why);

/**
 * Memory position of unit src of the padded logical tensor, and back.
 * Needs    src < l->n_dense; dst < l->n_units and not in a record's gap
 * Map      see docs/design/005-layout-notation.md
 * Threads  any
 */
uint64_t mxo_layout_forward(const mxo_layout *l, uint64_t src);
uint64_t mxo_layout_inverse(const mxo_layout *l, uint64_t dst);

/**
 * Content of an element of the padded tensor: live, pad or undefined.
 * Shapes   index: expert, row, column; *byte is set for MXO_LAYOUT_PAD
 * Needs    each index is below l->padded
 * Threads  any
 */
mxo_layout_content mxo_layout_content_of(const mxo_layout *l,
                                         const uint64_t index[3],
                                         uint8_t *byte);

/**
 * Logical unit (of the tensor without pads) that memory position dst holds.
 * Shapes   *src is set for MXO_LAYOUT_LIVE; *byte is set for MXO_LAYOUT_PAD
 * Needs    dst < l->n_units
 * Threads  any
 */
mxo_layout_content mxo_layout_content_at(const mxo_layout *l, uint64_t dst,
                                         uint64_t *src, uint8_t *byte);

/**
 * Unit of the padded tensor that is unit src of the logical one.
 * Needs    src < experts * rows * columns * units
 */
uint64_t mxo_layout_padded_index(const mxo_layout *l, uint64_t src);

#ifdef __cplusplus
}
#endif

#endif
