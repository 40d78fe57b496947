/* SPDX-License-Identifier: Apache-2.0 */
/* See filled.h. */
#include "filled.h"

#include "diagnose/diagnose.h"
#include "judge/bound.h"
#include "judge/nan_blocks.h"

#include <stdio.h>
#include <string.h>

/* The file's tensor for an output, if it is labelled as that. */
static const host_tensor *find(const judging *j, const host_tensor *computed)
{
    char name[MXO_NAME_SIZE + 8];

    (void)snprintf(name, sizeof name, "out.%s", computed->name);
    const host_tensor *t = tensor_set_find(&j->scope.file->tensors, name);

    return t != NULL && t->n_bytes == computed->n_bytes ? t : NULL;
}

/* The file's outputs in the order of the operation, borrowed. 0, or -1: one is
   missing or of another size. */
static int borrow(const judging *j, const answered *a, tensor_set *got)
{
    got->n = 0;
    for (uint32_t o = 0; o < a->out->n; o++) {
        const host_tensor *t = find(j, &a->out->t[o]);

        if (t == NULL) {
            return -1;
        }
        got->t[o] = a->out->t[o];
        got->t[o].data = t->data;
        got->n = o + 1;
    }
    return 0;
}

static op_call call_of(const answered *a, mxo_param params[OP_MAX_PARAMS])
{
    case_params(a->c, params);
    return (op_call){a->c->schema->info->name, params,
                     (uint32_t)a->c->schema->n_params, a->in};
}

static int is_by_oracle(const judging *j)
{
    return j->j->subject.table == j->j->oracle.table;
}

void filled_settle(judging *j, const answered *a)
{
    mxo_param params[OP_MAX_PARAMS];
    const op_call call = call_of(a, params);
    tensor_set got;

    if (is_by_oracle(j) && borrow(j, a, &got) == 0) {
        finding_free(&j->found,
                     nan_blocks_settle(j->j, a->c, &call, a->out, &got));
    }
}

/* The bounds of the output, if its operation has any. */
static void take_bounds(evidence *e)
{
    const host_tensor *want = &e->want->t[e->output];
    const bound_row *row = bound_row_for(e->c, want->name);
    char text[256];
    verdict_use use = {0};

    if (row != NULL && bound_ask(&e->bound, e, row, want,
                                 (mxo_text){text, sizeof text}) == 0) {
        e->diff = bound_compare(&e->bound, want, &e->got->t[e->output], &use);
    }
}

void filled_explain(judging *j, const answered *a, const char *name)
{
    mxo_param params[OP_MAX_PARAMS];
    const op_call call = call_of(a, params);
    tensor_set got;
    char text[256];
    evidence e = {
        .j = j->j, .c = a->c, .call = &call, .want = a->out, .got = &got};

    if (!is_by_oracle(j) || borrow(j, a, &got) != 0) {
        return;
    }
    while (e.output < a->out->n &&
           strcmp(a->out->t[e.output].name, name) != 0) {
        e.output++;
    }
    if (e.output == a->out->n) {
        return;
    }
    e.rule = compare_rule_for(&call, "emu", name);
    e.diff = compare_tensors(
        e.rule, &a->out->t[e.output], &got.t[e.output],
        e.rule->mask[0] == '\0' ? NULL : tensor_set_find(a->out, e.rule->mask));
    take_bounds(&e);
    if (e.diff.n_diff > 0 && explain(&e, text, sizeof text)) {
        finding_add(&j->found, VECTOR_FAILED, "  %s", text);
    }
    bound_clear(&e.bound);
}
