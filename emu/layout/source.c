/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Left of the arrow: three axes of digits, how each is padded, and the digits
 * below the byte.  Sizes become strides in the padded logical tensor.
 */
#include "parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const uint64_t MOST_ROWS = (uint64_t)1 << 40;

static const char *const axis_names[] = {"experts", "rows", "cols"};

mxo_status parse_refuse(const scan_context *c, mxo_status status,
                        const char *format, ...)
{
    char text[384];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return mxo_fail(status, c->why, "layout %s: %s", c->row->id, text);
}

static mxo_status malformed(const scan_context *c, const scan_span *at)
{
    return parse_refuse(c, MXO_E_PARAM, "cannot read the map at \"%.*s\"",
                        (int)(at->len < 40 ? at->len : 40), at->ptr);
}

/* "name" or "name:size"; the name is new. */
static mxo_status read_digit(const scan_context *c, scan_span *text,
                             parse_digits *digits)
{
    const scan_span at = *text;
    parse_digit d = {scan_name(text), 0, 0, 0};

    if (d.name.len == 0 || digits->n == MXO_LAYOUT_DIGITS) {
        return malformed(c, &at);
    }
    if (scan_take(text, ':') &&
        (!scan_value(text, c->names, &d.size) || d.size == 0)) {
        return malformed(c, &at);
    }
    for (int i = 0; i < digits->n; i++) {
        if (scan_same(digits->digit[i].name, d.name)) {
            return malformed(c, &at);
        }
    }
    digits->digit[digits->n++] = d;
    return MXO_OK;
}

/* A name alone, or digits in parentheses. */
static mxo_status read_item(const scan_context *c, scan_span *text,
                            parse_digits *digits)
{
    if (!scan_take(text, '(')) {
        return read_digit(c, text, digits);
    }
    do {
        scan_blanks(text);
        MXO_TRY(read_digit(c, text, digits));
        scan_blanks(text);
    } while (!scan_take(text, ')'));
    return MXO_OK;
}

static int hex_digit(scan_span *text)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = text->len == 0 || text->ptr[0] == '\0'
                         ? NULL
                         : strchr(digits, text->ptr[0]);

    return at == NULL || !scan_take(text, *at) ? -1 : (int)(at - digits);
}

/* "^", "^64", "^64=7f", "^64=?": 1 and the multiple; 0: no pad; -1: bad. */
static int read_pad(const scan_context *c, scan_span *text, mxo_layout_pad *pad,
                    uint64_t *multiple)
{
    if (!scan_take(text, '^')) {
        return 0;
    }
    if (text->len > 0 && text->ptr[0] != ' ' && text->ptr[0] != '=' &&
        (!scan_value(text, c->names, multiple) || *multiple == 0)) {
        return -1;
    }
    if (!scan_take(text, '=')) {
        return 1;
    }
    if (scan_take(text, '?')) {
        pad->undefined = 1;
        return 1;
    }
    const int high = hex_digit(text);
    const int low = hex_digit(text);

    pad->byte = (uint8_t)(high * 16 + low);
    return high < 0 || low < 0 ? -1 : 1;
}

/* The product of the sizes in digits first.., and which one is free. */
static int product_of(const parse_digits *digits, int first, uint64_t *product)
{
    int free_digit = -1;

    *product = 1;
    for (int i = first; i < digits->n; i++) {
        const uint64_t size = digits->digit[i].size;
        if (size == 0) {
            if (free_digit >= 0) {
                return -2;
            }
            free_digit = i;
        } else if (*product > ((uint64_t)1 << 40) / size) {
            return -2;
        } else {
            *product *= size;
        }
    }
    return free_digit;
}

/* The padded extent of an axis whose digits start at first. */
static mxo_status close_axis(const scan_context *c, mxo_layout *l, int axis,
                             parse_digits *digits, int first, int padding,
                             uint64_t multiple)
{
    const uint64_t extent = l->extent[axis];
    uint64_t product;
    const int free_digit = product_of(digits, first, &product);
    const uint64_t unit = scan_lcm(product, multiple);

    if (free_digit == -2 || unit == 0) {
        return parse_refuse(c, MXO_E_PARAM, "the digits of %s make no number",
                            axis_names[axis]);
    }
    if (padding == 0 && extent % product != 0) {
        return parse_refuse(c, MXO_E_SHAPE, "%s = %llu is no multiple of %llu",
                            axis_names[axis], (unsigned long long)extent,
                            (unsigned long long)product);
    }
    l->padded[axis] = padding ? scan_round_up(extent, unit) : extent;
    if (free_digit >= 0) {
        digits->digit[free_digit].size = l->padded[axis] / product;
    } else if (l->padded[axis] != product) {
        return parse_refuse(c, MXO_E_SHAPE, "%s = %llu is not %llu",
                            axis_names[axis], (unsigned long long)extent,
                            (unsigned long long)product);
    }
    return MXO_OK;
}

static mxo_status read_axis(const scan_context *c, scan_span *text,
                            mxo_layout *l, int axis, parse_digits *digits)
{
    const int first = digits->n;
    uint64_t multiple = 1;
    mxo_status status;

    scan_blanks(text);
    const scan_span at = *text;
    status = read_item(c, text, digits);
    if (status != MXO_OK) {
        return status;
    }
    const int padding = read_pad(c, text, &l->pad[axis], &multiple);

    return padding < 0
               ? malformed(c, &at)
               : close_axis(c, l, axis, digits, first, padding, multiple);
}

/* "f:2" or "f:2 i:4" and the arrow. */
static mxo_status read_sub_digits(const scan_context *c, scan_span *text,
                                  mxo_layout *l, parse_digits *digits)
{
    scan_blanks(text);
    while (!scan_take(text, '-')) {
        const scan_span at = *text;
        MXO_TRY(read_digit(c, text, digits));
        const uint64_t size = digits->digit[digits->n - 1].size;
        if ((size != 2 && size != 4 && size != 8) || l->units * size > 8) {
            return malformed(c, &at);
        }
        l->units *= (uint32_t)size;
        scan_blanks(text);
    }
    return scan_take(text, '>') ? MXO_OK : malformed(c, text);
}

/* Strides from the least significant digit up; 63 bits are the limit. */
static mxo_status set_strides(const scan_context *c, mxo_layout *l,
                              parse_digits *digits)
{
    const uint64_t limit = (uint64_t)1 << 60;
    uint64_t stride = 1;

    for (int i = digits->n - 1; i >= 0; i--) {
        const uint64_t size = digits->digit[i].size;
        digits->digit[i].src = stride;
        if (size > 1 && stride > limit / size) {
            return parse_refuse(c, MXO_E_SHAPE, "the tensor is too large");
        }
        stride *= size == 0 ? 1 : size;
    }
    l->n_dense = l->units;
    for (int axis = 0; axis < 3; axis++) {
        l->n_dense *= l->padded[axis];
    }
    return MXO_OK;
}

/* "*": the experts' rows stand one below the other, as one expert's. */
static mxo_status stack_experts(const scan_context *c, mxo_layout *l)
{
    if (l->extent[1] > 0 && l->extent[0] > MOST_ROWS / l->extent[1]) {
        return parse_refuse(c, MXO_E_SHAPE, "the tensor is too large");
    }
    l->extent[1] *= l->extent[0];
    l->extent[0] = 1;
    l->padded[0] = 1;
    return MXO_OK;
}

mxo_status parse_source(const scan_context *c, scan_span *text, mxo_layout *l,
                        parse_digits *digits)
{
    const int is_stack = scan_take(text, '*');

    l->units = 1;
    if (is_stack) {
        MXO_TRY(stack_experts(c, l));
    }
    for (int axis = is_stack; axis < 3; axis++) {
        MXO_TRY(read_axis(c, text, l, axis, digits));
    }
    MXO_TRY(read_sub_digits(c, text, l, digits));
    return set_strides(c, l, digits);
}
