/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judging a sum whose order is not declared: the exact sum and the sum of
 * magnitudes come from the oracle, the bound from bound.def and K, and every
 * element is judged on its own (docs/design/007-exact-sums.md).
 */
#ifndef MXO_BOUND_H
#define MXO_BOUND_H

#include "base/strbuf.h"
#include "judge.h"

/* A row of bound.def; low is NULL unless the row is one of ends. */
typedef struct bound_row {
    const char *op;
    const char *tensor;
    const char *key;
    const char *value;
    int step;
    int fraction;
    int mantissa;
    const char *data;
    const char *low;
    const char *high;
} bound_row;

/* The row that holds for an output of a case; NULL: bits are compared, as
   they are where the oracle refuses what the row asks. */
const bound_row *bound_row_for(const test_case *c, const char *tensor);

/* No order rounds the data: the row is for answers that are not equal. */
int bound_is_spare(const bound_row *row, const test_case *c);

/* The bounds are for an exponential that is the kernel's own, not for an
   order of sums: few elements use them, and nobody asks how much of them. */
int bound_is_own(const bound_row *row);

/* Ask the oracle (want: what it gave without bounds). 0, or -1 and a
   sentence if it gives no bounds; bound_clear() either way. */
int bound_ask(bound_set *b, const evidence *e, const bound_row *row,
              const host_tensor *want, mxo_text why);
void bound_clear(bound_set *b);

/* Judge every element (want: the oracle's answer in the output's type); *use
   says how much of the bounds was needed. */
comparison bound_compare(bound_set *b, const host_tensor *want,
                         const host_tensor *got, verdict_use *use);

/* May this pattern be element i? */
int bound_holds(const bound_set *b, uint64_t i, uint32_t dtype, uint64_t code);

/* May this pattern be the result y, known up to limit? */
int bound_accepts(uint32_t dtype, uint64_t code, double y, double limit);
/* The least share of the limit that explains the pattern; 0 for the nearest
   one. */
double bound_share(uint32_t dtype, uint64_t code, double y, double limit);

/* The same between ends, both numbers of the output's type; the share is of
   the way from want to the end. From -Inf to +Inf: anything passes. */
int ends_accept(double got, double low, double high);
double ends_share(double got, double want, double low, double high);

/* Lines about the first elements beyond their bounds. */
void bound_say(const bound_set *b, const host_tensor *got, strbuf *lines);

#endif
