/* SPDX-License-Identifier: Apache-2.0 */
/* See refusal.h. */
#include "refusal.h"

#include "data/invalid_call.h"
#include "data/nearest_legal_shape.h"

#include <stdio.h>
#include <string.h>

enum { SENTENCE = 384 };

typedef struct refusing {
    judge *j;
    const op_call *call;
    mxo_status status;    /* required; OK: SHAPE or PARAM */
    const char *sentence; /* of the oracle */
    must_refuse what;
    verdict *v;
} refusing;

static const char *status_name(mxo_status status)
{
    static const char *const names[] = {"OK",          "SHAPE", "PARAM",
                                        "UNSUPPORTED", "NOMEM", "DEVICE"};

    return status >= MXO_OK && status <= MXO_E_DEVICE ? names[status]
                                                      : "no status";
}

static int is_right(mxo_status said, mxo_status asked)
{
    return asked == MXO_OK ? said == MXO_E_SHAPE || said == MXO_E_PARAM
                           : said == asked;
}

/* Conclude the verdict from the subject's status. */
static void weigh(const refusing *r, mxo_status said, const char *called,
                  const char *text)
{
    verdict *v = r->v;

    if (said == MXO_OK) {
        verdict_conclude(v, VERDICT_FAIL, "accepted",
                         "it accepts what must be refused%s%s: %s",
                         called[0] == '\0' ? "" : ", ", called, r->sentence);
    } else if (text[0] == '\0') {
        verdict_conclude(v, VERDICT_FAIL, "silent",
                         "it refuses without a word; the emulator: %s",
                         r->sentence);
    } else if (said == MXO_E_UNSUPPORTED) {
        verdict_conclude(v, VERDICT_UNSUPPORTED, "declined", "%s", text);
    } else if (!is_right(said, r->status)) {
        verdict_conclude(v, VERDICT_FAIL, "status",
                         "it refuses with %s (%.200s), which is %s: %s",
                         status_name(said), text,
                         r->status == MXO_OK ? "SHAPE or PARAM"
                                             : status_name(r->status),
                         r->sentence);
    } else {
        v->status = VERDICT_PASS;
        (void)snprintf(v->rule, sizeof v->rule, "refusal");
    }
}

/* Ask the subject, with these outputs. */
static void ask(const refusing *r, tensor_set *out)
{
    run_checks d;
    char text[SENTENCE] = "";
    subject *s = &r->j->subject;

    s->refuses = r->what;
    const mxo_status said =
        subject_run(s, r->call, out, &d, (mxo_text){text, sizeof text});

    s->refuses = REFUSE_NOTHING;
    r->v->reason[0] = '\0';
    (void)snprintf(r->v->kernel, sizeof r->v->kernel, "%s", d.kernel);
    if (said == MXO_OK || !doubts_are_red(&d, r->v)) {
        weigh(r, said, d.called, text);
    }
}

/* Ask with each set of outputs until one is red. */
static void ask_near(const refusing *r, const test_case *c)
{
    nearest_outputs near;

    nearest_find(&r->j->oracle, c, &near);
    if (near.n == 0) {
        verdict_conclude(r->v, VERDICT_VACUOUS, "vacuous",
                         "no legal call is near this one, whose outputs could "
                         "be given: %s",
                         r->sentence);
    }
    for (int i = 0; i < near.n && !verdict_is_red(r->v->status); i++) {
        ask(r, &near.set[i]);
    }
    nearest_clear(&near);
}

void refusal_judge(judge *j, const test_case *c, const op_call *call,
                   tensor_set *out, mxo_status status, const char *sentence,
                   verdict *v)
{
    const refusing r = {.j = j,
                        .call = call,
                        .status = MXO_OK,
                        .sentence = sentence,
                        .what = out->n == 0 ? REFUSE_CALL : REFUSE_NUMBERS,
                        .v = v};

    if (status == MXO_E_UNSUPPORTED) {
        verdict_conclude(v, VERDICT_UNSUPPORTED, "oracle", "the emulator: %s",
                         sentence);
    } else if (status == MXO_E_NOMEM) { /* no fault of the subject's */
        verdict_conclude(v, VERDICT_SKIP, "memory", "the emulator: %s",
                         sentence);
    } else if (!is_right(status, MXO_OK)) {
        verdict_conclude(v, VERDICT_ERROR, "oracle", "the emulator: %s",
                         sentence);
    } else if (j->legal_only) {
        verdict_conclude(v, VERDICT_UNSUPPORTED, "outside",
                         "it declares that it takes legal calls alone: %s",
                         sentence);
    } else if (out->n == 0) {
        ask_near(&r, c);
    } else {
        ask(&r, out);
    }
}

/* Does the oracle refuse the invalid call, by its inputs or, if there are any,
   by its outputs? */
static mxo_status oracle_says(judge *j, const op_call *call, tensor_set *out,
                              mxo_text why)
{
    tensor_set inferred = {0};
    run_checks d;
    mxo_status status = subject_infer(&j->oracle, call, &inferred, why);

    tensor_set_clear(&inferred);
    if (status == MXO_OK && out != NULL) {
        status = subject_run(&j->oracle, call, out, &d, why);
    }
    return status;
}

static void judge_invalid(judge *j, const test_case *c, invalid_call *made,
                          verdict *v)
{
    char text[SENTENCE] = "";
    const case_invalid how = case_invalid_of(c);
    const op_call call = {c->schema->info->name, made->params, made->n_params,
                          made->in};
    const refusing r = {.j = j,
                        .call = &call,
                        .status = how.status,
                        .sentence = text,
                        .what = REFUSE_CALL,
                        .v = v};
    const int is_resized = how.kind == INVALID_odd || how.kind == INVALID_off;
    const mxo_status status = oracle_says(
        j, &call, is_resized ? NULL : made->out, (mxo_text){text, sizeof text});

    if (!is_right(status, how.status)) {
        verdict_conclude(v, VERDICT_ERROR, "oracle",
                         "%s %s, and the emulator says %s (%.200s)",
                         how.target[0] == '\0' ? "the call" : how.target,
                         how.what, status_name(status), text);
    } else if (is_resized) {
        test_case resized;

        invalid_call_resize(c, &resized);
        ask_near(&r, &resized);
    } else {
        ask(&r, made->out);
    }
}

void refusal_judge_invalid(judge *j, const test_case *c, tensor_set *in,
                           verdict *v)
{
    mxo_param params[OP_MAX_PARAMS + 1];
    tensor_set out = {0};
    char text[SENTENCE] = "";
    const mxo_text why = {text, sizeof text};
    invalid_call made = {in, &out, params, (uint32_t)c->schema->n_params};
    const op_call call = {c->schema->info->name, params, made.n_params, in};

    case_params(c, params);
    if (!subject_has_op(&j->subject, call.op)) {
        verdict_conclude(v, VERDICT_UNSUPPORTED, "operation",
                         "the operation is not among those it has");
    } else if (subject_infer(&j->oracle, &call, &out, why) != MXO_OK ||
               invalid_call_make(c, &made, why) != 0) {
        verdict_conclude(v, VERDICT_ERROR, "inputs", "%s", text);
    } else {
        judge_invalid(j, c, &made, v);
    }
    tensor_set_clear(&out);
}
