/* SPDX-License-Identifier: Apache-2.0 */
/* See judge.h. */
#include "judge.h"

#include "also.h"
#include "bound.h"
#include "diagnose.h"
#include "fill.h"
#include "fill_loaded.h"
#include "metamorph.h"
#include "refusal.h"
#include "stages.h"

#include <mxoracle/mxoracle.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Outputs with fewer elements may be constant by chance. */
enum { ENOUGH = 32, SENTENCE = 384 };

mxo_status judge_open(judge *j, const mxo_backend *table, int device,
                      mxo_text why)
{
    mxo_status status;

    memset(j, 0, sizeof *j);
    status = subject_open(&j->oracle, mxo_emulator(), 0, why);
    if (status == MXO_OK) {
        status = subject_open(&j->subject, table, device, why);
    }
    if (status == MXO_OK && j->subject.device[0] == '\0') {
        (void)snprintf(why.ptr, why.size, "it does not say which device it is");
        status = MXO_E_UNSUPPORTED;
    }
    if (status == MXO_OK) {
        subject_fence(&j->subject);
    }
    j->subject.decoy = 1;
    j->oracle.once = 1; /* it is judged as the backend emu */
    if (status != MXO_OK) {
        judge_close(j);
    }
    return status;
}

void judge_close(judge *j)
{
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
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 1; i < n; i++) {
        if (tensor_load(t, i) != tensor_load(t, 0)) {
            return 0;
        }
    }
    return 1;
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
                verdict_conclude(v, VERDICT_VACUOUS, "vacuous",
                         "%s is a copy of the input %s: no work would look "
                         "the same",
                         t->name, in->t[i].name);
                return 1;
            }
        }
    }
    return 0;
}

int doubts_are_red(const distrust *d, verdict *v)
{
    if (d->guards[0] != '\0') {
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

int judge_doubts(const distrust *d, mxo_text why)
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
    diagnose_index(want, e->diff.first, v->index, sizeof v->index);
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
    const int is_settled = plain.n_diff == 0 && bound_is_spare(row, e->c);

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
        const compare_rule *rule =
            compare_rule_for(e->call->op, backend, t->name);
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

static void say_doubts(const distrust *d, strbuf *lines)
{
    strbuf_add(lines, "%s, %s, %s",
               d->guards[0] == '\0' ? "guards intact" : "guards HIT",
               d->n_unwritten == 0 ? "fully written" : "partly UNWRITTEN",
               d->n_changing == 0 ? "deterministic" : "runs DIFFER");
}

static void decide(evidence *e, const tensor_set *in, verdict *v)
{
    strbuf lines = {NULL, 0, 0};
    const int differs = outputs_differ(e, e->j->subject.table->name, v);

    if (differs) {
        note_difference(e, v);
    }
    if (!doubts_are_red(e->doubts, v) && differs) {
        const host_tensor *t = &e->want->t[e->output];
        char why[256] = "";
        char kind[sizeof v->kind];
        const int known = !e->j->is_brief && explain(e, why, sizeof why);
        /* Without the explanation: which one is found depends on the size. */
        (void)snprintf(kind, sizeof kind, "%.40s differs", t->name);
        verdict_conclude(v, VERDICT_FAIL, kind,
                 "%s: %" PRIu64 " of %" PRIu64 " elements differ%s%s", t->name,
                 e->diff.n_diff, e->diff.n_total, known ? "; " : "", why);
    }
    if (v->status == VERDICT_FAIL && e->j->is_brief) {
        bound_clear(&e->bound);
        return;
    }
    if (v->status == VERDICT_FAIL) {
        if (differs) {
            diagnose(e, &lines);
            also_names(e->want, e->got, v->also, sizeof v->also);
        }
        if (e->bound.y != NULL) {
            bound_say(&e->bound, &e->got->t[e->output], &lines);
        }
        if (differs) {
            stages_say(e, &lines);
        }
        say_doubts(e->doubts, &lines);
        v->detail = lines.text;
        bound_clear(&e->bound);
        return;
    }
    if (e->j->subject.table->kernel != NULL && e->doubts->kernel[0] == '\0') {
        verdict_conclude(v, VERDICT_FAIL, "kernel",
                 "it has kernel() and yet does not say which kernel ran");
    } else if (v->n_total == 0) {
        verdict_conclude(v, VERDICT_SKIP, "empty", "the outputs have no elements");
    } else if (!is_vacuous(e->call->op, e->want, in, v)) {
        v->status = VERDICT_PASS;
    }
}

/* A status of the subject other than OK, on a call the oracle serves. */
static void subject_refused(mxo_status status, const char *sentence,
                            const distrust *d, verdict *v)
{
    if (doubts_are_red(d, v)) {
        return;
    }
    if (status == MXO_E_UNSUPPORTED) {
        verdict_conclude(v, VERDICT_UNSUPPORTED, "unsupported", "%s", sentence);
        return;
    }
    verdict_conclude(v, VERDICT_ERROR, "refused", "it refuses a legal call (%s)",
             sentence[0] == '\0' ? "without a word" : sentence);
}

static void judge_outputs(judge *j, const test_case *c, const op_call *call,
                          tensor_set *want, tensor_set *got, verdict *v)
{
    char text[SENTENCE];
    const mxo_text why = {text, sizeof text};
    distrust d;
    evidence e = {
        .j = j, .c = c, .call = call, .want = want, .got = got, .doubts = &d};
    mxo_status status = subject_infer(&j->oracle, call, want, why);

    if (status == MXO_OK) {
        status = subject_run(&j->oracle, call, want, &d, why);
        v->oracle_ms = d.ms;
    }
    if (status != MXO_OK) {
        refusal_judge(j, c, call, want, status, text, v);
        return;
    }
    if (doubts_are_red(&d, v)) {
        v->status = VERDICT_ERROR;
        return;
    }
    if (subject_infer(&j->oracle, call, got, why) != MXO_OK) {
        verdict_conclude(v, VERDICT_ERROR, "memory", "%s", text);
        return;
    }
    status = subject_run(&j->subject, call, got, &d, why);
    v->ms = d.ms;
    (void)snprintf(v->kernel, sizeof v->kernel, "%s", d.kernel);
    if (status != MXO_OK) {
        subject_refused(status, text, &d, v);
        return;
    }
    decide(&e, call->in, v);
}

void judge_answer(judge *j, const test_case *c, const tensor_set *in,
                  tensor_set *want, tensor_set *got, verdict *v)
{
    mxo_param params[OP_MAX_PARAMS];
    const op_call call = {c->schema->info->name, params,
                          (uint32_t)c->schema->n_params, in};

    memset(v, 0, sizeof *v);
    case_params(c, params);
    if (subject_has_op(&j->subject, call.op)) {
        judge_outputs(j, c, &call, want, got, v);
    } else {
        verdict_conclude(v, VERDICT_UNSUPPORTED, "operation",
                 "the operation is not among those it has");
    }
}

void judge_inputs(judge *j, const test_case *c, const tensor_set *in,
                  verdict *v)
{
    tensor_set want = {0};
    tensor_set got = {0};

    judge_answer(j, c, in, &want, &got, v);
    tensor_set_clear(&want);
    tensor_set_clear(&got);
}

void judge_case(judge *j, const test_case *c, uint64_t seed, verdict *v)
{
    const int has_loader = fill_has_loader(c);
    tensor_set checkpoint = {0};
    tensor_set loaded = {0};
    tensor_set *const in = has_loader ? &loaded : &checkpoint;
    tensor_set want = {0};
    tensor_set got = {0};
    char text[SENTENCE];
    const mxo_text why = {text, sizeof text};

    memset(v, 0, sizeof *v);
    if (fill_checkpoint(c, seed, &checkpoint, why) != 0 ||
        (has_loader && fill_load_copy(c, &checkpoint, &loaded, why) != 0)) {
        verdict_conclude(v, VERDICT_ERROR, "inputs", "%s", text);
    } else if (c->flaw[0] != '\0') {
        refusal_judge_flaw(j, c, in, v);
    } else {
        j->checkpoint = &checkpoint;
        judge_answer(j, c, in, &want, &got, v);
        j->checkpoint = NULL;
        metamorph_check(&(first_call){j, c, &checkpoint, in, &want, &got}, v);
    }
    tensor_set_clear(&checkpoint);
    tensor_set_clear(&loaded);
    tensor_set_clear(&want);
    tensor_set_clear(&got);
}
