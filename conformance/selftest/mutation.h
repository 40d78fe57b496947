/* SPDX-License-Identifier: Apache-2.0 */
/* One change among many: each calls turn() in order; see mutate.c. */
#ifndef MXO_SELFTEST_MUTATION_H
#define MXO_SELFTEST_MUTATION_H

#include "../../emu/select/rules.h"

#include "../../emu/call.h"

typedef struct mutation {
    mxo_select_rules *r;
    int left; /* changes to pass over */
    mxo_text what;
} mutation;

/* Whether it is this change's turn. */
static inline int turn(mutation *m)
{
    return m->left-- == 0;
}

/* A change is made; its name. */
#define MADE(m, ...) ((void)mxo_fail(MXO_OK, (m)->what, __VA_ARGS__), 1)

static inline const char *version_of(int v)
{
    return mxo_select_word(MXO_SEL_WORDS_VERSION, v);
}

static inline const char *backend_of(int b)
{
    return mxo_select_word(MXO_SEL_WORDS_BACKEND, b);
}

static inline const char *env_of(int e)
{
    return mxo_select_word(MXO_SEL_WORDS_ENV, e);
}

/* Changes to classes of experts; 1 if one was made. */
int mutate_classes(mutation *m);

#endif
