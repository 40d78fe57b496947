/* SPDX-License-Identifier: Apache-2.0 */
/* See judge.h. */
#include "judge.h"

#include "base/say.h"
#include "bound.h"
#include "nan_blocks.h"
#include "other_call.h"
#include "other_operation.h"
#include "refusal.h"
#include "row_order.h"
#include "views.h"

#include <mxoracle/mxoracle.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Outputs with fewer elements may be constant by chance. */
enum { ENOUGH = 32, SENTENCE = 384 };

/* Both are open, or status says what failed. */
static mxo_status accept(judge *j, mxo_status status, mxo_text why)
{
    if (status == MXO_OK && j->subject.device[0] == '\0') {
        status =
            say(MXO_E_UNSUPPORTED, why, "it does not say which device it is");
    }
    if (status == MXO_OK) {
        subject_fence(&j->subject);
    }
    j->subject.decoy = 1;
    j->oracle.once = 1; /* believed here, judged as backend emu */
    j->oracle.all_cores = 1;
    if (status != MXO_OK) {
        judge_close(j);
    }
    return status;
}

mxo_status judge_open(judge *j, const mxo_backend *table, int device,
                      mxo_text why)
{
    mxo_status status;

    memset(j, 0, sizeof *j);
    status = subject_open(&j->oracle, mxo_emulator(), 0, why);
    if (status == MXO_OK) {
        status = subject_open(&j->subject, table, device, why);
    }
    return accept(j, status, why);
}

mxo_status judge_attach(judge *j, const mxo_backend *table, void *ctx,
                        const subject_link *link, mxo_text why)
{
    memset(j, 0, sizeof *j);
    const mxo_status status = subject_open(&j->oracle, mxo_emulator(), 0, why);

    subject_attach(&j->subject, table, ctx, link);
    return accept(j, status, why);
}

void judge_close(judge *j)
{
    other_operations_free(&j->operations);
    subject_close(&j->subject);
    subject_close(&j->oracle);
}

static int is_mask(const char *op, const host_tensor *t)
{
    return strcmp(view_of(op, t->name)->format, "mask") == 0;
}

static int is_moved(const char *op, const host_tensor *t)
{
    return strcmp(view_of(op, t->name)->format, "moved") == 0;
}

static int is_constant(const host_tensor *t)
{
    const uint64_t width = dtype_bytes(t->dtype);

    return memcmp(t->data, t->data + width, t->n_bytes - width) == 0;
}

static int is_copy(const host_tensor *t, const host_tensor *in)
{
    return t->dtype == in->dtype && t->n_bytes == in->n_bytes &&
           memcmp(t->data, in->data, t->n_bytes) == 0;
}

/* Would a subject that leaves the operation out pass? */
static int is_vacuous(const char *op, const tensor_set *want,
                      const tensor_set *in, verdict *v)
{
    for (uint32_t o = 0; o < want->n; o++) {
        const host_tensor *t = &want->t[o];
        if (tensor_elems(t) < ENOUGH || is_mask(op, t)) {
            continue;
        }
        if (is_constant(t)) {
            verdict_conclude(v, VERDICT_VACUOUS, "vacuous",
                             "every element of %s is %0*" PRIx64
                             ": no work would look the same",
                             t->name, (int)dtype_bytes(t->dtype) * 2,
                             tensor_load(t, 0));
            return 1;
        }
        for (uint32_t i = 0; i < in->n && !is_moved(op, t); i++) {
            if (is_copy(t, &in->t[i])) {
                verdict_conclude(
                    v, VERDICT_VACUOUS, "vacuous",
                    "%s is a copy of the input %s: no work would look "
                    "the same",
                    t->name, in->t[i].name);
                return 1;
            }
        }
    }
    return 0;
}

int doubts_are_red(const run_checks *d, verdict *v)
{
    if (d->gone[0] != '\0') {
        verdict_conclude(v, d->is_late ? VERDICT_TIMEOUT : VERDICT_CRASH,
                         d->is_late ? "timeout" : "crash", "%s", d->gone);
    } else if (d->left[0] != '\0') {
        verdict_conclude(v, VERDICT_FAIL, "left",
                         "it leaves something changed behind: %s", d->left);
    } else if (d->guards[0] != '\0') {
        verdict_conclude(v, VERDICT_FAIL, "guard", "%s", d->guards);
    } else if (d->inputs[0] != '\0') {
        verdict_conclude(v, VERDICT_FAIL, "input", "%s", d->inputs);
    } else if (d->refusal[0] != '\0') {
        verdict_conclude(v, VERDICT_FAIL, "refusal", "%s", d->refusal);
    } else if (d->n_unwritten > 0) {
        verdict_conclude(v, VERDICT_FAIL, "unwritten",
                         "%" PRIu64 " bytes were never written, first %s",
                         d->n_unwritten, d->unwritten);
    } else if (d->device[0] != '\0') {
        verdict_conclude(v, VERDICT_FAIL, "device", "%s", d->device);
    } else if (d->n_changing > 0) {
        verdict_conclude(v, VERDICT_FAIL, "changing",
                         "%" PRIu64 " bytes differ between two runs, first %s",
                         d->n_changing, d->changing);
    }
    return v->reason[0] != '\0';
}

int judge_doubts(const run_checks *d, mxo_text why)
{
    verdict v;

    memset(&v, 0, sizeof v);
    if (!doubts_are_red(d, &v)) {
        return 0;
    }
    (void)snprintf(why.ptr, why.size, "%s", v.reason);
    return 1;
}

static void note_difference(const evidence *e, verdict *v)
{
    const host_tensor *want = &e->want->t[e->output];
    const host_tensor *got = &e->got->t[e->output];
    const int digits = (int)dtype_bytes(want->dtype) * 2;

    (void)snprintf(v->tensor, sizeof v->tensor, "%s", want->name);
    view_index(want, e->diff.first, v->index, sizeof v->index);
    (void)snprintf(v->want, sizeof v->want, "%0*" PRIx64, digits,
                   tensor_load(want, e->diff.first));
    (void)snprintf(v->got, sizeof v->got, "%0*" PRIx64, digits,
                   tensor_load(got, e->diff.first));
}

/* One output, by bits or by bounds, which are kept in *b. */
static comparison compare_output(const evidence *e, const compare_rule *rule,
                                 uint32_t o, bound_set *b, verdict *v)
{
    const host_tensor *want = &e->want->t[o];
    const bound_row *row = bound_row_for(e->c, want->name);
    char why[SENTENCE] = "";
    char name[sizeof v->rule] = "bound";

    const comparison plain = compare_tensors(
        rule, want, &e->got->t[o],
        rule->mask[0] == '\0' ? NULL : tensor_set_find(e->want, rule->mask));
    /* Equal bits need no bounds, unless how much of them is used is told. */
    const int is_settled =
        plain.n_diff == 0 && (bound_is_spare(row, e->c) || bound_is_own(row));

    memset(b, 0, sizeof *b);
    if (row != NULL && !is_settled &&
        bound_ask(b, e, row, want, (mxo_text){why, sizeof why}) == 0) {
        (void)snprintf(v->rule, sizeof v->rule, "%s", name);
        return bound_compare(b, want, &e->got->t[o], &v->use);
    }
    bound_clear(b);
    (void)compare_rule_name(rule, name, sizeof name);
    if (rule->kind != RULE_BITS || v->rule[0] == '\0') {
        (void)snprintf(v->rule, sizeof v->rule, "%s", name);
    }
    return plain;
}

/* Compare all outputs; e describes the first that differs. */
static int outputs_differ(evidence *e, const char *backend, verdict *v)
{
    int differs = 0;

    for (uint32_t o = 0; o < e->want->n; o++) {
        const host_tensor *t = &e->want->t[o];
        const compare_rule *rule = compare_rule_for(e->call, backend, t->name);
        bound_set bound;
        const comparison c = compare_output(e, rule, o, &bound, v);
        v->n_total += c.n_total;
        v->n_diff += c.n_diff;
        if (c.n_diff > 0 && !differs) {
            differs = 1;
            e->output = o;
            e->diff = c;
            e->rule = rule;
            e->bound = bound;
        } else {
            bound_clear(&bound);
        }
    }
    return differs;
}

/* The verdict on what both gave; what differs stays as evidence. */
static void decide(judgement *g, const tensor_set *in, verdict *v)
{
    evidence *e = &g->evidence;

    g->differs = outputs_differ(e, e->j->subject.table->name, v);
    if (g->differs) {
        note_difference(e, v);
    }
    if (!doubts_are_red(e->doubts, v) && g->differs) {
        const host_tensor *t = &e->want->t[e->output];
        char kind[sizeof v->kind];
        (void)snprintf(kind, sizeof kind, "%.40s differs", t->name);
        verdict_conclude(v, VERDICT_FAIL, kind,
                         "%s: %" PRIu64 " of %" PRIu64 " elements differ",
                         t->name, e->diff.n_diff, e->diff.n_total);
    }
    if (verdict_is_red(v->status)) {
        g->has_evidence = 1;
        return;
    }
    if (e->j->subject.table->kernel != NULL && e->doubts->kernel[0] == '\0') {
        verdict_conclude(
            v, VERDICT_FAIL, "kernel",
            "it has kernel() and yet does not say which kernel ran");
    } else if (v->n_total == 0) {
        verdict_conclude(v, VERDICT_SKIP, "empty",
                         "the outputs have no elements");
    } else if (!is_vacuous(e->call->op, e->want, in, v)) {
        v->status = VERDICT_PASS;
    }
}

/* A status of the subject other than OK, on a call the oracle serves. */
static void subject_refused(mxo_status status, int promises,
                            const char *sentence, const run_checks *d,
                            verdict *v)
{
    const char *said = sentence[0] == '\0' ? "without a word" : sentence;

    const int is_failure = status == MXO_E_NOMEM || status == MXO_E_DEVICE;

    /* A call that failed half-way may have written. */
    if ((!is_failure || d->gone[0] != '\0' || d->left[0] != '\0') &&
        doubts_are_red(d, v)) {
        return;
    }
    if (status == MXO_E_UNSUPPORTED && promises) {
        verdict_conclude(v, VERDICT_FAIL, "declined",
                         "it declines what lies within its declared limits "
                         "(%s)",
                         said);
    } else if (status == MXO_E_UNSUPPORTED) {
        verdict_conclude(v, VERDICT_UNSUPPORTED, "unsupported", "%s", sentence);
    } else if (!is_failure) {
        verdict_conclude(v, VERDICT_ERROR, "refused",
                         "it refuses a legal call (%s)", said);
    } else {
        verdict_conclude(v, VERDICT_ERROR, "failed", "it fails (%s)", said);
    }
}

int judge_accepts(judge *j, const test_case *c, const op_call *call,
                  const tensor_set *want, tensor_set *got, mxo_text what)
{
    run_checks none;
    verdict v;
    evidence e = {.j = j, .c = c, .call = call, .want = want, .got = got};

    memset(&none, 0, sizeof none);
    memset(&v, 0, sizeof v);
    e.doubts = &none;
    (void)nan_blocks_settle(j, c, call, want, got);
    (void)row_order_settle(c, call, want, got);
    const int differs = outputs_differ(&e, j->subject.table->name, &v);

    if (differs) {
        (void)snprintf(what.ptr, what.size,
                       "%s: %" PRIu64 " of %" PRIu64 " elements differ",
                       want->t[e.output].name, e.diff.n_diff, e.diff.n_total);
    }
    bound_clear(&e.bound);
    return !differs;
}

static mxo_status ask_once(judgement *g, const other_list *beside,
                           tensor_set *got, mxo_text why)
{
    judge *j = g->evidence.j;
    other_calls others;

    other_calls_make(j, g->evidence.c, g->call.in, &others);
    j->subject.before = beside->before;
    j->subject.n_before = beside->n;
    j->subject.legal_only = j->legal_only;
    const mxo_status status =
        subject_run(&j->subject, &g->call, got, &g->doubts, why);

    j->subject.n_before = 0;
    other_calls_clear(j, &others);
    return status;
}

/* Leave out those that were made and are no good in themselves: how many. */
static int leave_bad_out(judge *j, other_list *beside)
{
    const int n = beside->n;

    beside->n = 0;
    for (int i = 0; i < n; i++) {
        other_operation *o = beside->at[i];
        if (!o->before.is_made || other_operation_prove(j, o)) {
            beside->before[beside->n] = &o->before;
            beside->at[beside->n++] = o;
        }
    }
    return n - beside->n;
}

/* The subject's answer, with other calls beside it.  Where one of another
   operation is no good in itself, it is not to blame on the case. */
static mxo_status ask_subject(judgement *g, other_list *beside, tensor_set *got,
                              mxo_text why)
{
    judge *j = g->evidence.j;
    int is_good;
    mxo_status status;

    other_operations_for(j, g->evidence.c, g->call.in, beside);
    do {
        verdict doubts = {0};
        status = ask_once(g, beside, got, why);
        is_good = status == MXO_OK && !doubts_are_red(&g->doubts, &doubts);
    } while (leave_bad_out(j, beside) > 0 && !is_good);
    return status;
}

/* The answers to the calls of other operations before it. */
static void judge_operations(judge *j, const other_list *beside, verdict *v)
{
    char what[SENTENCE];

    for (int i = 0; i < beside->n && !verdict_is_red(v->status); i++) {
        other_operation *o = beside->at[i];
        if (!other_operation_is_right(j, o, (mxo_text){what, sizeof what})) {
            verdict_conclude(v, VERDICT_FAIL, "other operation",
                             "a call of another operation is wrong behind it, "
                             "and right behind itself: %s: %.200s",
                             o->before.name, what);
            (void)snprintf(v->beside, sizeof v->beside, "%s",
                           o->before.call.op);
        }
    }
}

/* Both sides of a call; the subject's outputs are judged. */
static void judge_outputs(judgement *g, tensor_set *want, tensor_set *got,
                          verdict *v)
{
    char text[SENTENCE];
    const mxo_text why = {text, sizeof text};
    judge *j = g->evidence.j;
    const op_call *call = &g->call;
    run_checks *d = &g->doubts;
    other_list beside;
    mxo_status status = subject_infer(&j->oracle, call, want, why);

    if (status == MXO_OK) {
        status = subject_run(&j->oracle, call, want, d, why);
        v->oracle_ms = d->ms;
    }
    if (status != MXO_OK) {
        refusal_judge(j, g->evidence.c, call, want, status, text, v);
        return;
    }
    if (doubts_are_red(d, v)) {
        v->status = VERDICT_ERROR;
        return;
    }
    if (subject_infer(&j->oracle, call, got, why) != MXO_OK) {
        verdict_conclude(v, VERDICT_SKIP, "memory", "%s", text);
        return;
    }
    status = ask_subject(g, &beside, got, why);
    v->ms = d->ms;
    (void)snprintf(v->beside, sizeof v->beside, "%.63s", d->beside);
    (void)snprintf(v->kernel, sizeof v->kernel, "%s", d->kernel);
    (void)snprintf(v->called, sizeof v->called, "%.190s", d->called);
    if (status != MXO_OK) {
        subject_refused(status, j->promises, text, d, v);
        return;
    }
    const uint64_t n_free =
        nan_blocks_settle(j, g->evidence.c, call, want, got);
    const uint64_t n_moved = row_order_settle(g->evidence.c, call, want, got);

    decide(g, call->in, v);
    judge_operations(j, &beside, v);
    if (n_free + n_moved > 0 && strcmp(v->rule, "bits") == 0) {
        (void)snprintf(v->rule, sizeof v->rule,
                       n_free > 0 ? "nan_block" : "row_order");
    }
}

int judge_begins(const judge *j, verdict *v)
{
    char text[SENTENCE] = "";

    if (subject_begin(&j->subject, (mxo_text){text, sizeof text}) == MXO_OK) {
        return 1;
    }
    verdict_conclude(v, VERDICT_ERROR, "open", "it cannot be started again: %s",
                     text);
    return 0;
}

void judge_answer(judge *j, const test_case *c, const tensor_set *in,
                  tensor_set *want, tensor_set *got, judgement *g, verdict *v)
{
    memset(v, 0, sizeof *v);
    memset(g, 0, sizeof *g);
    g->call = (op_call){c->schema->info->name, g->params,
                        (uint32_t)c->schema->n_params, in};
    g->evidence = (evidence){.j = j,
                             .c = c,
                             .call = &g->call,
                             .want = want,
                             .got = got,
                             .doubts = &g->doubts};
    case_params(c, g->params);
    if (!judge_begins(j, v)) {
        return;
    }
    if (subject_has_op(&j->subject, g->call.op)) {
        judge_outputs(g, want, got, v);
        return;
    }
    subject_see(&j->subject, &g->doubts);
    if (!doubts_are_red(&g->doubts, v)) {
        verdict_conclude(v, VERDICT_UNSUPPORTED, "operation",
                         "the operation is not among those it has");
    }
}

void judgement_clear(judgement *g)
{
    bound_clear(&g->evidence.bound);
}

void judge_inputs(judge *j, const test_case *c, const tensor_set *in,
                  verdict *v)
{
    tensor_set want = {0};
    tensor_set got = {0};
    judgement g;

    judge_answer(j, c, in, &want, &got, &g, v);
    judgement_clear(&g);
    tensor_set_clear(&want);
    tensor_set_clear(&got);
}
