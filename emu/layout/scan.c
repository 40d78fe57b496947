/* SPDX-License-Identifier: Apache-2.0 */
/* Words, numbers and formulas of a layout row; see scan.h. */
#include "scan.h"

#include <string.h>

static const uint64_t largest = (uint64_t)1 << 62;

scan_span scan_text(const char *text)
{
    const scan_span s = {text, strlen(text)};

    return s;
}

int scan_is(scan_span s, const char *text)
{
    return scan_same(s, scan_text(text));
}

int scan_same(scan_span a, scan_span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static void skip(scan_span *rest, size_t n)
{
    rest->ptr += n;
    rest->len -= n;
}

void scan_blanks(scan_span *rest)
{
    while (rest->len > 0 && rest->ptr[0] == ' ') {
        skip(rest, 1);
    }
}

int scan_take(scan_span *rest, char c)
{
    if (rest->len == 0 || rest->ptr[0] != c) {
        return 0;
    }
    skip(rest, 1);
    return 1;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

scan_span scan_name(scan_span *rest)
{
    scan_span s = {rest->ptr, 0};

    if (rest->len == 0 || !is_letter(rest->ptr[0])) {
        return s;
    }
    while (rest->len > 0 && (is_letter(rest->ptr[0]) ||
                             is_digit(rest->ptr[0]) || rest->ptr[0] == '_')) {
        skip(rest, 1);
        s.len++;
    }
    return s;
}

scan_span scan_cut(scan_span *rest, char separator)
{
    scan_span head = {rest->ptr, 0};

    while (rest->len > 0 && rest->ptr[0] != separator) {
        skip(rest, 1);
        head.len++;
    }
    (void)scan_take(rest, separator);
    return head;
}

static int number(scan_span *rest, uint64_t *value)
{
    if (rest->len == 0 || !is_digit(rest->ptr[0])) {
        return 0;
    }
    *value = 0;
    while (rest->len > 0 && is_digit(rest->ptr[0])) {
        *value = *value * 10 + (uint64_t)(rest->ptr[0] - '0');
        if (*value >= largest) {
            return 0;
        }
        skip(rest, 1);
    }
    return 1;
}

int scan_find(const scan_names *names, scan_span name)
{
    for (int i = 0; i < names->n; i++) {
        if (scan_same(names->entry[i].name, name)) {
            return i;
        }
    }
    return -1;
}

int scan_define(scan_names *names, scan_span name, uint64_t value)
{
    if (names->n == SCAN_NAMES || name.len == 0) {
        return 0;
    }
    names->entry[names->n].name = name;
    names->entry[names->n].value = value;
    names->n++;
    return 1;
}

int scan_value(scan_span *rest, const scan_names *names, uint64_t *value)
{
    if (!scan_take(rest, '$')) {
        return number(rest, value);
    }
    const int i = scan_find(names, scan_name(rest));

    *value = i < 0 ? 0 : names->entry[i].value;
    return i >= 0;
}

uint64_t scan_round_up(uint64_t a, uint64_t b)
{
    if (b == 0 || b >= largest || a >= largest) {
        return 0;
    }
    return (a + b - 1) / b * b;
}

uint64_t scan_lcm(uint64_t a, uint64_t b)
{
    uint64_t x = a;
    uint64_t y = b;

    while (y != 0) {
        const uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x == 0 || a / x > largest / (b == 0 ? 1 : b) ? 0 : a / x * b;
}

/* 0: the result is negative, too large, or a division by zero. */
static int apply(char op, uint64_t *a, uint64_t b)
{
    switch (op) {
    case '*':
        if (b != 0 && *a > largest / b) {
            return 0;
        }
        *a *= b;
        return 1;
    case '/':
    case '%':
        if (b == 0) {
            return 0;
        }
        *a = op == '/' ? *a / b : *a % b;
        return 1;
    case '+':
        *a += b;
        return *a <= largest;
    case '-':
        if (*a < b) {
            return 0;
        }
        *a -= b;
        return 1;
    case '<':
        *a = *a < b ? *a : b;
        return 1;
    case '>':
        *a = *a > b ? *a : b;
        return 1;
    case '^':
        *a = scan_round_up(*a, b);
        return b != 0;
    case '|':
        *a = scan_lcm(*a, b);
        return *a != 0;
    default:
        return 0;
    }
}

int scan_formula(scan_span *rest, const scan_names *names, uint64_t *value)
{
    if (!scan_value(rest, names, value)) {
        return 0;
    }
    while (rest->len > 0 && rest->ptr[0] != ' ') {
        const char op = rest->ptr[0];
        uint64_t operand;

        skip(rest, 1);
        if (!scan_value(rest, names, &operand) || !apply(op, value, operand)) {
            return 0;
        }
    }
    return 1;
}
