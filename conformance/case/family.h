/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Families of operations: which kinds of data there are for which tensors, and
 * the grids of cases.  The rows stand in cases/<family>.c.
 */
#ifndef MXO_FAMILY_H
#define MXO_FAMILY_H

#include "base/prng.h"
#include "base/tensors.h"
#include "test_case.h"

typedef void (*fill_fn)(const test_case *c, host_tensor *t, prng *rng);

/* For tensors that match both patterns, under one kind of data ("*": any).
   The first row that fits counts; without one the tensor gets random bits. */
typedef struct fill_row {
    const char *op;
    const char *tensor;
    const char *data;
    fill_fn fill;
} fill_row;

/* picks: as few cases as meet every two, or every three, values of different
   keys. */
enum { GRID_PAIRS = -2, GRID_TRIPLES = -3 };

/* Cases of a level: the product of all values of a template, or picks draws
   from it.  Values: a|b|c, * (the whole domain), $K $M $N (pools of sizes). */
typedef struct grid_row {
    int level;
    int picks;
    const char *text;
} grid_row;

typedef struct case_family {
    const char *name;
    const fill_row *fills; /* ended by a row whose op is NULL */
    const grid_row *grid;  /* ended by a row whose text is NULL */
} case_family;

/* Random bits over all codes of the dtype: what a tensor that no row names
   gets. */
void fill_random(const test_case *c, host_tensor *t, prng *rng);
/* One live code in every row of w2, and over an expert's rows in all stretches
   in every column. */
void fill_one_live(const test_case *c, host_tensor *t, prng *rng);

int family_count(void);
const case_family *family_at(int i);
/* Must its calls be refused, for the values of their data? */
int family_is_refused(int i);

/* Does some row give this operation this kind of data? */
int fill_has_data(const char *op, const char *data);
/* "random, corners, ..." */
void fill_data_kinds(const char *op, char *text, size_t size);

/* How many cases, stretch = 0, 1, .., make one whole sweep over the columns
   of w2: more than one where an expert has fewer rows, each with one live
   code, than columns. */
uint64_t fill_stretches(const test_case *c);
/* 0, or -1 and a sentence if the case's stretch is none of them. */
int fill_check_stretch(const test_case *c, mxo_text why);

/* 0, or -1 and a sentence if a token has more experts to choose than there
   are, and the case does not say ids=repeated. */
int fill_check_ids(const test_case *c, mxo_text why);

/* The function of the first row that fits. */
fill_fn family_fill_of(const test_case *c, const char *tensor);

#endif
