/* SPDX-License-Identifier: Apache-2.0 */
/* See case_invalid.h. */
#include "case_invalid.h"

#include "case_shape.h"

#include "base/cli.h"

#include <stdio.h>
#include <string.h>

typedef enum invalid_target {
    ON_CALL,
    ON_TENSOR,
    ON_DIM,
    ON_PARAM
} invalid_target;

static const struct {
    const char *name;
    invalid_target on;
    mxo_status status;
    const char *what;
} invalid[N_INVALID] = {
#define MXO_INVALID_CALL(name, on, status, what) {#name, ON_##on, status, what},
#include "invalid_calls.def"
#undef MXO_INVALID_CALL
};

static int kind_of(word_span name)
{
    int i = 0;

    while (i < N_INVALID && !span_equals(name, invalid[i].name)) {
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

static int has_target(const test_case *c, invalid_target on, const char *name)
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

static int unknown_invalid(const char *value, mxo_text why)
{
    cli_nearest near = {NULL, 0};
    char hint[80];

    for (int i = 0; i < N_INVALID; i++) {
        cli_offer(&near, value, invalid[i].name);
    }
    (void)snprintf(why.ptr, why.size, "flaw=%s is not NAME.TARGET of a flaw%s",
                   value, cli_suggestion(&near, hint, sizeof hint));
    return -1;
}

int case_check_invalid(const test_case *c, mxo_text why)
{
    static const char *const kinds[] = {"call", "tensor", "dimension",
                                        "parameter"};
    word_span rest = {c->flaw, strlen(c->flaw)};
    const int kind = kind_of(span_cut(&rest, '.'));

    if (kind == N_INVALID) {
        return unknown_invalid(c->flaw, why);
    }
    if (!has_target(c, invalid[kind].on, rest.ptr)) {
        (void)snprintf(why.ptr, why.size,
                       "flaw=%s: with these parameters %s has no such %s",
                       c->flaw, c->schema->info->name, kinds[invalid[kind].on]);
        return -1;
    }
    return 0;
}

case_invalid case_invalid_of(const test_case *c)
{
    word_span rest = {c->flaw, strlen(c->flaw)};
    const int kind = kind_of(span_cut(&rest, '.'));

    return (case_invalid){(invalid_kind)kind, invalid[kind].status, rest.ptr,
                          invalid[kind].what};
}
