/* SPDX-License-Identifier: Apache-2.0 */
/* See explain_layer.h. */
#include "explain_layer.h"

#include "data/fill_loaded.h"
#include "judge/bound.h"
#include "layer_fault.h"
#include "layer_reach.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE = 256 };

/* How far an answer of the oracle accounts for the subject's outputs. */
typedef enum account { NOT, WITHIN_BOUNDS, IN_EVERY_BIT } account;

/* One output; e is of the call that was asked. */
static account account_of(const evidence *e, const host_tensor *want,
                          const host_tensor *got, int has_bounds)
{
    const compare_rule *rule =
        compare_rule_for(e->call, e->j->subject.table->name, want->name);
    const bound_row *row = bound_row_for(e->c, want->name);
    char text[SENTENCE];
    verdict_use use = {0};
    account found = NOT;
    bound_set b;

    if (want->dtype != got->dtype || want->n_bytes != got->n_bytes) {
        return NOT;
    }
    if (compare_tensors(rule, want, got, NULL).n_diff == 0) {
        return IN_EVERY_BIT;
    }
    if (has_bounds && row != NULL) {
        if (bound_ask(&b, e, row, want, (mxo_text){text, sizeof text}) == 0 &&
            bound_compare(&b, want, got, &use).n_diff == 0) {
            found = WITHIN_BOUNDS;
        }
        bound_clear(&b);
    }
    return found;
}

/* Leave out columns that the answer does not have; 0: there are none. */
static int cut_columns(host_tensor *t, const host_tensor *answer)
{
    const uint64_t n = t->rank > 0 ? t->shape[t->rank - 1] : 0;
    const uint64_t left =
        answer->rank > 0 ? answer->shape[answer->rank - 1] : 0;

    if (t->rank != answer->rank || t->dtype != answer->dtype || left >= n) {
        return 0;
    }
    for (uint64_t i = 0; i < tensor_elems(t) / n * left; i++) {
        tensor_store(t, i, tensor_load(t, i / left * n + i % left));
    }
    t->n_bytes = t->n_bytes / n * left;
    t->shape[t->rank - 1] = left;
    return 1;
}

/* Ask the oracle: are its answers to this call those in want, or got? */
static account ask(const evidence *e, const test_case *c, const tensor_set *in,
                   const tensor_set *answers, int has_bounds)
{
    mxo_param params[OP_MAX_PARAMS];
    const op_call call = {e->call->op, params, e->call->n_params, in};
    evidence asked = *e;
    tensor_set out = {0};
    run_checks d;
    char text[SENTENCE];
    const mxo_text why = {text, sizeof text};
    account least = NOT;

    case_params(c, params);
    asked.c = c;
    asked.call = &call;
    if (subject_infer(&e->j->oracle, &call, &out, why) == MXO_OK &&
        out.n == answers->n &&
        subject_run(&e->j->oracle, &call, &out, &d, why) == MXO_OK) {
        least = IN_EVERY_BIT;
    }
    for (uint32_t o = 0; least != NOT && o < out.n; o++) {
        const int is_cut = cut_columns(&out.t[o], &answers->t[o]);
        const account a = account_of(&asked, &out.t[o], &answers->t[o],
                                     has_bounds && !is_cut);
        least = a < least ? a : least;
    }
    tensor_set_clear(&out);
    return least;
}

static int copy_inputs(tensor_set *to, const tensor_set *from)
{
    for (uint32_t i = 0; i < from->n; i++) {
        const host_tensor *t = &from->t[i];
        host_tensor *made;
        if (tensor_set_add(to, t->name, t->dtype, t->rank, t->shape, &made) !=
            MXO_OK) {
            return -1;
        }
        if (t->n_bytes > 0) {
            memcpy(made->data, t->data, t->n_bytes);
        }
    }
    return 0;
}

/* The edited checkpoint, converted by the layer's loader. */
static account ask_loaded(const evidence *e, const layer_call *edited)
{
    const int has_bounds = e->bound.y != NULL;
    char text[SENTENCE];
    tensor_set loaded = {0};
    account a = NOT;

    if (!fill_has_loader(&edited->c)) {
        return ask(e, &edited->c, &edited->in, e->got, has_bounds);
    }
    if (fill_load_copy(&edited->c, &edited->in, &loaded,
                       (mxo_text){text, sizeof text}) == 0) {
        a = ask(e, &edited->c, &loaded, e->got, has_bounds);
    }
    tensor_set_clear(&loaded);
    return a;
}

/* Have both the same parameters and sizes? */
static int is_asked_alike(const test_case *a, const test_case *b)
{
    int same = memcmp(a->dim, b->dim, sizeof a->dim) == 0;

    for (int i = 0; i < a->schema->n_params; i++) {
        same &= strcmp(a->value[i], b->value[i]) == 0;
    }
    return same;
}

/* One fault, for one of the experts or slots that it goes through. */
static layer_edit attempt(const evidence *e, explain_work *work,
                          const layer_fault *f, unsigned which, account *found)
{
    layer_call edited = {*e->c, {0}, 0};
    const tensor_set *in =
        fill_has_loader(e->c) ? e->j->checkpoint : e->call->in;
    layer_edit done = EDIT_END;

    if (explain_work_edit(work, in) && copy_inputs(&edited.in, in) == 0) {
        done = f->edit(&edited, f->on, which);
    }
    const int is_worth =
        done == EDIT_DONE &&
        (!is_asked_alike(&edited.c, e->c) ||
         layer_reaches(e, in, &edited.in)) &&
        explain_work_ask(work, &edited.c, &edited.in,
                         e->bound.y != NULL ? BOUND_WORK : COLUMN_WORK);

    *found = is_worth ? ask_loaded(e, &edited) : NOT;
    tensor_set_clear(&edited.in);
    return done;
}

static void say(const layer_fault *f, unsigned which, account how, char *text,
                size_t size)
{
    const char *gap = strstr(f->says, "%s");
    const int head = gap == NULL ? (int)strlen(f->says) : (int)(gap - f->says);
    char number[16] = "";

    if (gap != NULL) {
        (void)snprintf(number, sizeof number, "%u", which);
    }
    (void)snprintf(
        text, size, "%sas if %.*s%s%s%s", how == IN_EVERY_BIT ? "exactly " : "",
        head, f->says, number, gap == NULL ? "" : gap + 2,
        how == IN_EVERY_BIT ? ""
                            : ": every element is within the bounds of that");
}

static int try_fault(const evidence *e, explain_work *work,
                     const layer_fault *f, char *text, size_t size)
{
    account found = NOT;
    layer_edit done = EDIT_SAME;
    unsigned which = 0;

    for (; done != EDIT_END && found == NOT && !work->is_short; which++) {
        done = attempt(e, work, f, which, &found);
    }
    if (found != NOT) {
        say(f, which - 1, found, text, size);
    }
    return found != NOT;
}

int explain_layer(const evidence *e, explain_work *work, char *text,
                  size_t size)
{
    const int is_layer = strncmp(e->call->op, "moe.", 4) == 0;

    if ((!is_layer && strncmp(e->call->op, "quant.", 6) != 0) ||
        (fill_has_loader(e->c) && e->j->checkpoint == NULL)) {
        return 0;
    }
    for (const layer_fault *f = layer_faults; f->edit != NULL; f++) {
        if (try_fault(e, work, f, text, size)) {
            return 1;
        }
    }
    return 0;
}
