/* SPDX-License-Identifier: Apache-2.0 */
/* See undeclared.h. */
#include "undeclared.h"

#include "judge/bound.h"

#include <stdio.h>
#include <string.h>

/* Dimensions by the first tensor that has them, never a count of blocks. */
static void take_sizes(const tensor_set *in, test_case *c)
{
    for (int i = 0; i < c->schema->n_inputs; i++) {
        const op_input *input = &c->schema->inputs[i];
        const host_tensor *t = tensor_set_find(in, input->name);

        if (!case_has_input(c, i) || t == NULL || t->rank != input->rank) {
            continue;
        }
        for (uint32_t r = 0; r < t->rank; r++) {
            const op_extent *e = &input->shape[r];
            const int packed =
                e->pack && strcmp(case_value(c, "element"), "e2m1") == 0;

            if (e->dim >= 0 && c->dim[e->dim] == 0) {
                c->dim[e->dim] =
                    t->shape[r] * e->divisor * (packed ? 2 : 1) / e->multiple;
            }
        }
    }
}

void undeclared_case(const scope *s, const tensor_set *in, test_case *c)
{
    const char *text = safetensors_meta(s->file, "case");
    const char *at = text == NULL ? NULL : strstr(text, "data=");
    char why[128];

    take_sizes(in, c);
    if (at == NULL || at == text || (at[-1] != ':' && at[-1] != ',')) {
        return;
    }
    const size_t n = strcspn(at + 5, ",");

    if (n < sizeof c->data) {
        char kind[sizeof c->data];
        (void)snprintf(kind, sizeof kind, "%.*s", (int)n, at + 5);
        /* A kind that this operation has not is no reason to refuse. */
        (void)case_set(c, "data", kind, (mxo_text){why, sizeof why});
    }
}

static void say_beyond(judging *j, const host_tensor *t, const char *whose,
                       const bound_set *b, const comparison *c)
{
    strbuf lines = {NULL, 0, 0};
    char at[80];

    finding_index(t, c->first, at, sizeof at);
    finding_add(&j->found, VECTOR_FAILED,
                "%s%s: %llu of %llu elements are beyond their bounds, first "
                "at %s",
                whose, t->name, (unsigned long long)c->n_diff,
                (unsigned long long)c->n_total, at);
    bound_say(b, t, &lines);
    for (const char *line = strbuf_text(&lines); *line != '\0';) {
        const size_t n = strcspn(line, "\n");
        finding_add(&j->found, VECTOR_FAILED, "  %.*s", (int)n, line);
        line += n + (line[n] == '\n');
    }
    strbuf_clear(&lines);
}

/* got against the bounds that the oracle gives; -1: it gives none. */
static int compare(judging *j, evidence *e, const bound_row *row,
                   const host_tensor *want, const host_tensor *got,
                   const char *whose)
{
    verdict_use use = {0};
    char why[256] = "";
    bound_set b;
    int status = -1;

    if (bound_ask(&b, e, row, want, (mxo_text){why, sizeof why}) == 0) {
        const comparison c = bound_compare(&b, want, got, &use);

        finding_count(&j->found, c.n_total, map_find_rule("bound"));
        if (c.n_diff > 0) {
            say_beyond(j, got, whose, &b, &c);
        }
        status = 0;
    }
    bound_clear(&b);
    return status;
}

/* The oracle's own outputs, in an empty set. */
static mxo_status ask_oracle(subject *oracle, const op_call *call,
                             tensor_set *want)
{
    char sentence[256] = "";
    const mxo_text why = {sentence, sizeof sentence};
    run_checks d;

    MXO_TRY(subject_infer(oracle, call, want, why));
    return subject_run(oracle, call, want, &d, why);
}

/* Leading axes may be one axis on one side. */
static int fits(const host_tensor *computed, const host_tensor *t)
{
    return computed->dtype == t->dtype && computed->rank > 0 && t->rank > 0 &&
           tensor_elems(computed) == tensor_elems(t) &&
           computed->shape[computed->rank - 1] == t->shape[t->rank - 1];
}

/* The file's choice of experts, borrowed, as if an operation had given it. */
static void take_choice(const judging *j, const answered *a, tensor_set *choice)
{
    const host_tensor *theirs =
        tensor_set_find(&j->scope.file->tensors, "out.topk_ids");
    const host_tensor *ours = tensor_set_find(a->out, "topk_ids");

    choice->n = 0;
    if (theirs != NULL && ours != NULL && fits(ours, theirs)) {
        choice->t[0] = *ours;
        choice->t[0].data = theirs->data;
        choice->n = 1;
    }
}

int undeclared_judge(judging *j, const answered *a, host_tensor *t,
                     const char *name)
{
    const bound_row *row = bound_row_for(a->c, name);
    const host_tensor *computed = tensor_set_find(a->out, name);
    subject *oracle = &j->j->oracle;
    mxo_param params[OP_MAX_PARAMS];
    const op_call call = {a->c->schema->info->name, params,
                          (uint32_t)a->c->schema->n_params, a->in};
    evidence e = {.j = j->j, .c = a->c, .call = &call};
    tensor_set want = {0};
    tensor_set choice;
    int status = -1;

    if (row == NULL || computed == NULL || !fits(computed, t)) {
        return 0;
    }
    take_choice(j, a, &choice);
    e.got = &choice;
    case_params(a->c, params);
    if (ask_oracle(oracle, &call, &want) == MXO_OK) {
        const host_tensor *y = tensor_set_find(&want, name);

        status = compare(j, &e, row, y, t, "");
        if (status == 0 && j->j->subject.table != oracle->table) {
            e.got = a->out;
            (void)compare(j, &e, row, y, computed, "computed ");
        }
    }
    tensor_set_clear(&want);
    return status == 0;
}
