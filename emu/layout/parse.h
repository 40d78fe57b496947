/* SPDX-License-Identifier: Apache-2.0 */
/* The map of a layout row, read into a bound layout. */
#ifndef MXO_EMU_LAYOUT_PARSE_H
#define MXO_EMU_LAYOUT_PARSE_H

#include "scan.h"

/* A digit as the left side of the map tells it. */
typedef struct parse_digit {
    scan_span name;
    uint64_t size; /* 0: free, until the axis is closed */
    uint64_t src;
    int used; /* met on the right */
} parse_digit;

typedef struct parse_digits {
    int n;
    parse_digit digit[MXO_LAYOUT_DIGITS];
} parse_digits;

/* "layout ID: sentence" into why; returns the status. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
mxo_status
parse_refuse(const scan_context *c, mxo_status status, const char *format, ...);

/* Left of the arrow: l->extent is given; padded, pad, units are set. */
mxo_status parse_source(const scan_context *c, scan_span *text, mxo_layout *l,
                        parse_digits *digits);
/* Right of the arrow: digits, terms, tables, records and shape
   are set. */
mxo_status parse_memory(const scan_context *c, scan_span *text, mxo_layout *l,
                        parse_digits *digits, uint32_t elem_bytes);

#endif
