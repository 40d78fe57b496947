/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of options: what is taken for one is spelled as one, by a grammar
 * that is written here a second time, and has the value of its digits.
 */
#include "base/number.h"
#include "target.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 256, ROOM = 8 };

static void die(const char *text, const char *what)
{
    (void)fprintf(stderr, "\"%s\": %s\nrepro: mxoracle run --seed='%s'\n", text,
                  what, text);
    abort();
}

static int all_digits(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* Digits, most significant first, held against overflow by division. */
static int value_of(const char *text, uint64_t *n)
{
    *n = 0;
    for (; *text != '\0'; text++) {
        const uint64_t digit = (uint64_t)(*text - '0');
        if (*n > (UINT64_MAX - digit) / 10) {
            return 0;
        }
        *n = 10 * *n + digit;
    }
    return 1;
}

static void check_natural(const char *text, uint64_t least, uint64_t most)
{
    uint64_t got = 77;
    uint64_t want = 0;
    const int takes = number_natural(text, least, most, &got);
    const int is_one = all_digits(text) && value_of(text, &want) &&
                       want >= least && want <= most;

    if (takes != is_one) {
        die(text, takes ? "is taken for a number" : "is a number");
    }
    if (got != (is_one ? want : 77)) {
        die(text, "has another value");
    }
}

static void check_real(const char *text)
{
    double x = -1;

    if (!number_real(text, 0.5, 1e9, &x)) {
        if (x != -1) {
            die(text, "is refused, yet stored");
        }
        return;
    }
    if (!isfinite(x) || x < 0.5 || x > 1e9) {
        die(text, "lies outside what was asked for");
    }
    if (text[strspn(text, "0123456789.eE+-")] != '\0' ||
        strpbrk(text, "0123456789") == NULL) {
        die(text, "is taken for a decimal number");
    }
}

static void check_list(const char *text)
{
    uint64_t n[ROOM + 1];
    int commas = 0;

    n[ROOM] = 77;
    const int found = number_list(text, ",x", 1000, n, ROOM);

    for (const char *c = text; *c != '\0'; c++) {
        commas += *c == ',' || *c == 'x';
    }
    if (n[ROOM] != 77 || found < 0 || found > ROOM ||
        (found > 0 && found != commas + 1)) {
        die(text, "has another count of numbers");
    }
    for (int i = 0; i < found; i++) {
        if (n[i] > 1000) {
            die(text, "holds more than the most");
        }
    }
    if (found > 0 && text[strspn(text, "0123456789,x")] != '\0') {
        die(text, "is taken for a list");
    }
}

static void check_triple(const char *text)
{
    uint64_t triple[3] = {0, 0, 0};

    if (number_triple(text, 2, triple) &&
        (triple[0] < 2 || triple[1] < 2 || triple[2] < 2)) {
        die(text, "holds less than the least");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char text[LONGEST];

    n = n < LONGEST ? n : LONGEST - 1;
    if (n > 0) {
        memcpy(text, bytes, n);
    }
    text[n] = '\0';
    check_natural(text, 0, UINT64_MAX);
    check_natural(text, 1, 1000);
    check_real(text);
    check_list(text);
    check_triple(text);
    return 0;
}
