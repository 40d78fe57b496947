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

/* The next word of *at, which then stands behind it; its length. */
static size_t next_word(const char **at, const char **word)
{
    *word = *at + strspn(*at, " ");
    const size_t n = strcspn(*word, " ");

    *at = *word + n;
    return n;
}

/* Is there an entry "key:..." of that key? */
static int has_key(const char *text, const char *key, size_t n)
{
    const char *word;
    size_t length;

    while ((length = next_word(&text, &word)) > 0) {
        if (strcspn(word, ": ") == n && strncmp(word, key, n) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The first key of one text that the other lacks; *n = 0: there is none. */
static const char *lacks(const char *text, const char *other, int *n)
{
    const char *word;

    while (next_word(&text, &word) > 0) {
        const size_t length = strcspn(word, ": ");
        if (!has_key(other, word, length)) {
            *n = (int)length;
            return word;
        }
    }
    *n = 0;
    return "";
}

static int compare(const mxo_op_info *theirs, const mxo_op_info *ours,
                   const char *name, mxo_text why)
{
    int n_new;
    int n_old;

    if (theirs->params == NULL || theirs->in == NULL || theirs->out == NULL) {
        (void)snprintf(why.ptr, why.size,
                       "%s describes %s without its parameters or tensors",
                       name, ours->name);
        return 0;
    }
    const char *added = lacks(ours->params, theirs->params, &n_new);
    const char *gone = lacks(theirs->params, ours->params, &n_old);

    if (strcmp(theirs->params, ours->params) == 0 &&
        strcmp(theirs->in, ours->in) == 0 &&
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
                       name,
                       strcmp(theirs->params, ours->params) != 0
                           ? "values of parameters"
                           : "tensors",
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
