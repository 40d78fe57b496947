/* SPDX-License-Identifier: Apache-2.0 */
/* See number.h. */
#include "number.h"

#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS "0123456789"

/* Extents of tensors: their products with each other are checked where they
   are made. */
#define LARGEST_EXTENT ((UINT64_C(1) << 40) - 1)

/* Up to here every whole number is a double, however it is rounded. */
#define EXACT (UINT64_C(1) << 53)

/* The digits at the start of text, at most most; how many characters, 0 if
   there are none or they mean more than that. */
static size_t take_digits(const char *text, uint64_t most, uint64_t *n)
{
    const size_t length = strspn(text, DIGITS);
    uint64_t sum = 0;

    for (size_t i = 0; i < length; i++) {
        const uint64_t digit = (uint64_t)(text[i] - '0');
        if (sum > (UINT64_MAX - digit) / 10) {
            return 0;
        }
        sum = 10 * sum + digit;
    }
    if (length > 0 && sum <= most) {
        *n = sum;
        return length;
    }
    return 0;
}

void number_standard(void)
{
#if defined(__x86_64__)
    __asm__ volatile("fninit"); /* precision and registers of long double */
#endif
    (void)fesetenv(FE_DFL_ENV);
    (void)uselocale(LC_GLOBAL_LOCALE);
    (void)setlocale(LC_ALL, "C");
}

/* What a caller computes and spells numbers in. */
typedef struct ways {
    fenv_t arithmetic;
    locale_t locale;
    locale_t standard;
} ways;

static ways leave(void)
{
    ways w;

    (void)fegetenv(&w.arithmetic);
    (void)fesetenv(FE_DFL_ENV);
    w.standard = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    w.locale = uselocale(w.standard);
    return w;
}

static void come_back(const ways *w)
{
    (void)fesetenv(&w->arithmetic);
    (void)uselocale(w->locale);
    freelocale(w->standard);
}

double number_decimal(const char *text, char **end)
{
    uint64_t n;
    const size_t digits = take_digits(text, EXACT, &n);

    if (digits > 0 && text[digits] == '\0') {
        if (end != NULL) {
            *end = (char *)text + digits;
        }
        return (double)n;
    }
    const ways caller = leave();
    const double x = strtod(text, end);

    come_back(&caller);
    return x;
}

void number_spell(double x, char *text, size_t size)
{
    const ways caller = leave();
    int digits = 1;

    if (isnan(x)) {
        (void)snprintf(text, size, "nan");
    } else if (x == trunc(x) && fabs(x) < 1e15) {
        (void)snprintf(text, size, "%.0f", x);
    } else {
        do {
            (void)snprintf(text, size, "%.*g", digits++, x);
        } while (digits <= 17 && strtod(text, NULL) != x);
    }
    come_back(&caller);
}

int number_natural(const char *text, uint64_t least, uint64_t most, uint64_t *n)
{
    uint64_t taken = 0;
    const size_t length = take_digits(text, most, &taken);

    if (length == 0 || text[length] != '\0' || taken < least) {
        return 0;
    }
    *n = taken;
    return 1;
}

int number_real(const char *text, double low, double high, double *x)
{
    char *end;

    if (strspn(text, DIGITS) == 0 ||
        text[strspn(text, DIGITS ".eE+-")] != '\0') {
        return 0;
    }
    const double taken = number_decimal(text, &end);

    if (*end != '\0' || !isfinite(taken) || !(taken >= low && taken <= high)) {
        return 0;
    }
    *x = taken;
    return 1;
}

int number_list(const char *text, const char *between, uint64_t most,
                uint64_t n[], int room)
{
    for (int count = 0; count < room; count++) {
        const size_t length = take_digits(text, most, &n[count]);

        text += length;
        if (length == 0 || *text == '\0') {
            return length == 0 ? 0 : count + 1;
        }
        if (strchr(between, *text++) == NULL) {
            return 0;
        }
    }
    return 0;
}

int number_triple(const char *text, uint64_t least, uint64_t triple[3])
{
    uint64_t n[3];
    const int count = number_list(text, ",x", LARGEST_EXTENT, n, 3);

    for (int i = 0; i < count; i++) {
        if (n[i] < least) {
            return 0;
        }
    }
    if (count < 2) {
        return 0;
    }
    triple[0] = count == 3 ? n[0] : least;
    triple[1] = n[count - 2];
    triple[2] = n[count - 1];
    return 1;
}
