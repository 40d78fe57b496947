/* SPDX-License-Identifier: Apache-2.0 */
/* One call of the subject.  See invoke.h. */
#include "invoke.h"

#include "judge/row_order.h"

#include "base/say.h"

#include <string.h>

enum { MAX_OUTPUTS = 16, SENTENCE = 384 };

static void as_abi(const host_tensor *t, mxo_tensor *a)
{
    memset(a, 0, sizeof *a);
    a->name = t->name;
    a->dtype = t->dtype;
    a->rank = t->rank;
    memcpy(a->shape, t->shape, sizeof t->shape);
    a->n_bytes = t->n_bytes;
    a->buffer = t->data;
}

/* Types and shapes of the outputs, before any memory is taken for them. */
static mxo_status infer(judge *j, const op_call *call, uint64_t limit,
                        tensor_set *out, mxo_text why)
{
    mxo_tensor in[MXO_MAX_TENSORS];
    mxo_tensor want[MAX_OUTPUTS];
    uint32_t n = MAX_OUTPUTS;
    mxo_call c;

    memset(&c, 0, sizeof c);
    for (uint32_t i = 0; i < call->in->n; i++) {
        as_abi(&call->in->t[i], &in[i]);
    }
    c.struct_size = sizeof c;
    c.op = call->op;
    c.params = call->params;
    c.n_params = call->n_params;
    c.in = in;
    c.n_in = call->in->n;
    mxo_status status =
        j->oracle.table->infer(j->oracle.ctx, &c, want, &n, why);

    for (uint32_t i = 0; status == MXO_OK && i < n; i++) {
        if (want[i].n_bytes > limit) {
            return say(MXO_E_SHAPE, why,
                       "asks for outputs that its size cannot hold");
        }
        limit -= want[i].n_bytes;
        status = tensor_set_add(out, want[i].name, want[i].dtype, want[i].rank,
                                want[i].shape, NULL);
        if (status != MXO_OK) {
            (void)say(status, why, "has outputs that do not fit memory");
        }
    }
    /* Unknown to the oracle is unknown to the judge. */
    return status == MXO_E_UNSUPPORTED ? MXO_E_PARAM : status;
}

static void add_doubts(const run_checks *d, findings *f)
{
    const char *const texts[] = {d->left, d->guards, d->inputs, d->refusal};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i][0] != '\0') {
            finding_add(f, VECTOR_FAILED, "%s", texts[i]);
        }
    }
    if (d->n_unwritten > 0) {
        finding_add(f, VECTOR_FAILED, "%llu bytes were never written, first %s",
                    (unsigned long long)d->n_unwritten, d->unwritten);
    }
    if (d->n_changing > 0) {
        finding_add(f, VECTOR_FAILED,
                    "%llu bytes differ between two runs, first %s",
                    (unsigned long long)d->n_changing, d->changing);
    }
}

/* Rows whose order nobody promises, in the oracle's: files have no other. */
static mxo_status settle_rows(judge *j, const test_case *c, const op_call *call,
                              tensor_set *out, mxo_text why)
{
    tensor_set want = {0};
    run_checks d;
    mxo_status status = MXO_OK;

    if (j->subject.table != j->oracle.table && row_order_is_free(c)) {
        status = subject_infer(&j->oracle, call, &want, why);
        if (status == MXO_OK) {
            status = subject_run(&j->oracle, call, &want, &d, why);
        }
        if (status == MXO_OK) {
            (void)row_order_settle(c, call, &want, out);
        }
        tensor_set_clear(&want);
    }
    return status;
}

mxo_status invoke(judge *j, const test_case *c, const tensor_set *in,
                  uint64_t limit, tensor_set *out, findings *f, mxo_text why)
{
    mxo_param params[OP_MAX_PARAMS];
    op_call call = {c->schema->info->name, params,
                    (uint32_t)c->schema->n_params, in};
    run_checks doubts;

    case_params(c, params);
    mxo_status status = infer(j, &call, limit, out, why);

    if (status != MXO_OK) {
        return status;
    }
    if (!subject_has_op(&j->subject, call.op)) {
        return say(MXO_E_UNSUPPORTED, why, "%s has no %s",
                   j->subject.table->name, call.op);
    }
    char text[SENTENCE] = "";

    if (subject_begin(&j->subject, (mxo_text){text, sizeof text}) != MXO_OK) {
        return say(MXO_E_DEVICE, why, "it cannot be started again: %s", text);
    }
    status = subject_run(&j->subject, &call, out, &doubts, why);
    add_doubts(&doubts, f);
    f->result->ms += doubts.ms;
    if (status == MXO_OK && doubts.gone[0] == '\0') {
        status = settle_rows(j, c, &call, out, why);
    }
    return doubts.gone[0] == '\0' ? status
                                  : say(MXO_E_DEVICE, why, "%s", doubts.gone);
}
