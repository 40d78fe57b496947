/* SPDX-License-Identifier: Apache-2.0 */
/* See described.h. */
#include "described.h"

#include <mxoracle/mxoracle.h>

#include <stdio.h>
#include <string.h>

static const mxo_op_info *find(const mxo_op_info *rows, const char *op)
{
    while (rows->name != NULL && strcmp(rows->name, op) != 0) {
        rows++;
    }
    return rows->name == NULL ? NULL : rows;
}

/* Entries of texts that follow one another. */
typedef struct entries {
    const char *const *texts;
    int n; /* texts begun */
    const char *at;
} entries;

static entries params_of(const mxo_op_info *info)
{
    return (entries){info->params, 0, ""};
}

/* The next entry; its length, 0 behind the last. */
static size_t next_entry(entries *e, const char **entry)
{
    size_t length;

    do {
        *entry = e->at + strspn(e->at, " ");
        length = strcspn(*entry, " ");
        e->at = *entry + length;
        if (length > 0 || e->n == MXO_PARAM_TEXTS || e->texts[e->n] == NULL) {
            return length;
        }
        e->at = e->texts[e->n++];
    } while (1);
}

/* Whether there is an entry "key:..." of that key. */
static int has_key(entries e, const char *key, size_t n)
{
    const char *entry;

    while (next_entry(&e, &entry) > 0) {
        if (strcspn(entry, ": ") == n && strncmp(entry, key, n) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The first key of one operation that the other lacks; *n = 0: none. */
static const char *lacks(entries e, entries other, int *n)
{
    const char *entry;

    while (next_entry(&e, &entry) > 0) {
        const size_t length = strcspn(entry, ": ");
        if (!has_key(other, entry, length)) {
            *n = (int)length;
            return entry;
        }
    }
    *n = 0;
    return "";
}

static int have_same(entries a, entries b)
{
    const char *of_a;
    const char *of_b;
    size_t n_a;

    do {
        n_a = next_entry(&a, &of_a);
        if (next_entry(&b, &of_b) != n_a || strncmp(of_a, of_b, n_a) != 0) {
            return 0;
        }
    } while (n_a > 0);
    return 1;
}

static int compare(const mxo_op_info *theirs, const mxo_op_info *ours,
                   const char *name, mxo_text why)
{
    int n_new;
    int n_old;

    if (theirs->params[0] == NULL || theirs->in == NULL ||
        theirs->out == NULL) {
        (void)snprintf(why.ptr, why.size,
                       "%s describes %s without its parameters or tensors",
                       name, ours->name);
        return 0;
    }
    const entries here = params_of(ours);
    const entries there = params_of(theirs);
    const char *added = lacks(here, there, &n_new);
    const char *gone = lacks(there, here, &n_old);
    const int is_same = have_same(there, here);

    if (is_same && strcmp(theirs->in, ours->in) == 0 &&
        strcmp(theirs->out, ours->out) == 0) {
        return 1;
    }
    if (n_new > 0) {
        (void)snprintf(why.ptr, why.size,
                       "%s was built when %s had no parameter %.*s: build it "
                       "again with this judge's headers",
                       name, ours->name, n_new, added);
    } else if (n_old > 0) {
        (void)snprintf(why.ptr, why.size,
                       "%s was built when %s had a parameter %.*s: build it "
                       "again with this judge's headers",
                       name, ours->name, n_old, gone);
    } else {
        (void)snprintf(why.ptr, why.size,
                       "%s was built with other %s of %s: build it again with "
                       "this judge's headers",
                       name, is_same ? "tensors" : "values of parameters",
                       ours->name);
    }
    return 0;
}

int described_as_here(const mxo_backend *b, const char *name, mxo_text why)
{
    for (size_t i = 0; b->op_info != NULL && b->ops[i] != NULL; i++) {
        const mxo_op_info *theirs = find(b->op_info, b->ops[i]);
        const mxo_op_info *ours = find(mxo_emulator()->op_info, b->ops[i]);
        if (theirs != NULL && ours != NULL &&
            !compare(theirs, ours, name, why)) {
            return 0;
        }
    }
    return 1;
}
