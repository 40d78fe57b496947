/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as people type them: digits and no more.  strtoull() and scanf()
 * would also take blanks, signs, hexadecimal and what overflows.
 */
#ifndef MXO_NUMBER_H
#define MXO_NUMBER_H

#if defined(__FAST_MATH__) || \
    (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
#error "-ffast-math, -Ofast or a part of them: no bit would be sure"
#endif

#include <stddef.h>
#include <stdint.h>

/* The next multiple of by, n if it is one. */
static inline uint64_t round_up(uint64_t n, uint64_t by)
{
    return (n + by - 1) / by * by;
}

/* Rounding to nearest, subnormal numbers, long double as it is and the locale
   C, in which numbers are computed, read and printed, whatever somebody's
   library has left. */
void number_standard(void);
/* strtod() to nearest, subnormal numbers kept, in the locale C, whatever the
   caller's are. */
double number_decimal(const char *text, char **end);
/* The shortest spelling that reads back as the same number; in the same way. */
void number_spell(double x, char *text, size_t size);
/* A natural number of least .. most: 1 and *n; else 0, *n as it was. */
int number_natural(const char *text, uint64_t least, uint64_t most,
                   uint64_t *n);
/* A finite decimal number ("0.5", "1e3") of low .. high, low >= 0. */
int number_real(const char *text, double low, double high, double *x);
/* "1,0,8": up to room natural numbers of at most most, between any two of
   them one of the characters between. How many; 0 if text is no such list. */
int number_list(const char *text, const char *between, uint64_t most,
                uint64_t n[], int room);
/* "E,R,C", or "R,C" for an E of least, or with x for commas; each at least
   least. 1, else 0. */
int number_triple(const char *text, uint64_t least, uint64_t triple[3]);

#endif
