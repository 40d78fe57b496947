/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the text of a layout row: words, numbers, and the names that stand
 * for numbers (see docs/design/005-layout-notation.md).
 */
#ifndef MXO_EMU_LAYOUT_SCAN_H
#define MXO_EMU_LAYOUT_SCAN_H

#include "../call.h"

#include <mxoracle/layout.h>

enum { SCAN_NAMES = 24, SCAN_WORD = 32 };

/* A stretch of borrowed text. */
typedef struct scan_span {
    const char *ptr;
    size_t len;
} scan_span;

/* Names with values: $rows, $cols, parameters, what is derived from them. */
typedef struct scan_names {
    int n;
    struct {
        scan_span name;
        uint64_t value;
    } entry[SCAN_NAMES];
} scan_names;

/* Where a sentence about a malformed row goes. */
typedef struct scan_context {
    const mxo_layout_row *row;
    const scan_names *names;
    mxo_text why;
} scan_context;

scan_span scan_text(const char *text);
int scan_is(scan_span s, const char *text);
int scan_same(scan_span a, scan_span b);
void scan_blanks(scan_span *rest);
/* Take one character if it is next. */
int scan_take(scan_span *rest, char c);
/* Letters, digits and '_', from a letter on; empty if there is none. */
scan_span scan_name(scan_span *rest);
/* The part before the separator; all of it if there is none. */
scan_span scan_cut(scan_span *rest, char separator);

/* 1 and the value: a decimal number below 2^62, or $name. */
int scan_value(scan_span *rest, const scan_names *names, uint64_t *value);
/* value op value ..., left to right, up to a blank or the end. */
int scan_formula(scan_span *rest, const scan_names *names, uint64_t *value);
/* Append; 0 if there is no room. */
int scan_define(scan_names *names, scan_span name, uint64_t value);
/* The entry of a name; -1. */
int scan_find(const scan_names *names, scan_span name);

/* a rounded up to a multiple of b; 0 if b is 0 or the result is too large. */
uint64_t scan_round_up(uint64_t a, uint64_t b);
uint64_t scan_lcm(uint64_t a, uint64_t b);

#endif
