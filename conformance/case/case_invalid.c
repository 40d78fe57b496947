/* SPDX-License-Identifier: Apache-2.0 */
/* See case_invalid.h. */
#include "case_invalid.h"

#include "case_shape.h"

#include "base/cli.h"

#include <stdio.h>
#include <string.h>

typedef enum flaw_target { ON_CALL, ON_TENSOR, ON_DIM, ON_PARAM } flaw_target;

static const struct {
    const char *name;
    flaw_target on;
    mxo_status status;
    const char *what;
} flaws[N_FLAWS] = {
#define MXO_FLAW(name, on, status, what) {#name, ON_##on, status, what},
#include "invalid_calls.def"
#undef MXO_FLAW
};

static int kind_of(word_span name)
{
    int i = 0;

    while (i < N_FLAWS && !span_equals(name, flaws[i].name)) {
        i++;
    }
    return i;
}

/* Whether name is an input that is present, or an output. */
static int has_tensor(const test_case *c, const char *name)
{
    word_span rest = {c->schema->info->out, strlen(c->schema->info->out)};

    for (int i = 0; i < c->schema->n_inputs; i++) {
        if (strcmp(c->schema->inputs[i].name, name) == 0 &&
            case_has_input(c, i)) {
            return 1;
        }
    }
    while (rest.len > 0) {
        if (span_equals(span_cut(&rest, ' '), name)) {
            return 1;
        }
    }
    return 0;
}

static int has_target(const test_case *c, flaw_target on, const char *name)
{
    const int dim = op_dim_index(c->schema, name);

    switch (on) {
    case ON_TENSOR:
        return has_tensor(c, name);
    case ON_DIM:
        return dim >= 0 && case_uses_dim(c, dim);
    case ON_PARAM:
        return op_param_index(c->schema, name) >= 0;
    default:
        return name[0] == '\0';
    }
}

static int unknown_flaw(const char *value, mxo_text why)
{
    cli_nearest near = {NULL, 0};
    char hint[80];

    for (int i = 0; i < N_FLAWS; i++) {
        cli_offer(&near, value, flaws[i].name);
    }
    (void)snprintf(why.ptr, why.size, "flaw=%s is not NAME.TARGET of a flaw%s",
                   value, cli_suggestion(&near, hint, sizeof hint));
    return -1;
}

int case_check_flaw(const test_case *c, mxo_text why)
{
    static const char *const kinds[] = {"call", "tensor", "dimension",
                                        "parameter"};
    word_span rest = {c->flaw, strlen(c->flaw)};
    const int kind = kind_of(span_cut(&rest, '.'));

    if (kind == N_FLAWS) {
        return unknown_flaw(c->flaw, why);
    }
    if (!has_target(c, flaws[kind].on, rest.ptr)) {
        (void)snprintf(why.ptr, why.size,
                       "flaw=%s: with these parameters %s has no such %s",
                       c->flaw, c->schema->info->name, kinds[flaws[kind].on]);
        return -1;
    }
    return 0;
}

case_flaw case_flaw_of(const test_case *c)
{
    word_span rest = {c->flaw, strlen(c->flaw)};
    const int kind = kind_of(span_cut(&rest, '.'));

    return (case_flaw){(flaw_kind)kind, flaws[kind].status, rest.ptr,
                       flaws[kind].what};
}
