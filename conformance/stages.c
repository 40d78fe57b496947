/* SPDX-License-Identifier: Apache-2.0 */
/* See stages.h. */
#include "stages.h"

#include <mxoracle/profile.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE = 384 };

/* A stage: its operation, how far it goes, what it is called. */
typedef struct stage_row {
    const char *op;
    const char *key;
    const char *value;
    const char *name;
} stage_row;

static const stage_row rows[] = {
    {"moe.gemm1", "stage", "gemm", "first GEMM"},
    {"moe.gemm1", "stage", "act", "activation"},
    {"quant.mx", "axis", "-1", "requantisation"},
    {"moe.gemm2", "stage", "row", "second GEMM"},
    {"moe.gemm2", "stage", "sum", "sum over experts"},
};

enum { N_STAGES = sizeof rows / sizeof rows[0], ACT = 1 };

/* What a case of the layer says of an entry, its profile asked. */
static const char *entry(const test_case *c, const char *key)
{
    const char *own = case_value(c, key);
    const mxo_profile *p = mxo_profile_by_name(case_value(c, "profile"));
    const mxo_profile_field field = mxo_profile_field_by_key(key);

    return strcmp(own, "profile") == 0 && p != NULL &&
                   field < MXO_N_PROFILE_FIELDS
               ? p->fact[field].value
               : own;
}

static int set(test_case *c, const char *key, const char *value)
{
    char why[SENTENCE];

    return case_set(c, key, value, (mxo_text){why, sizeof why});
}

static int set_dim(test_case *c, const char *key, uint64_t n)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%" PRIu64, n);
    return set(c, key, text);
}

/* Everything that the stage's operation shares with the layer's. */
static int share(test_case *to, const test_case *from)
{
    int bad = 0;

    for (int i = 0; i < to->schema->n_params; i++) {
        const char *key = to->schema->params[i].key;
        if (case_value(from, key)[0] != '\0') {
            bad |= set(to, key, case_value(from, key));
        }
    }
    for (int i = 0; i < to->schema->n_dims; i++) {
        const char *name = to->schema->dims[i];
        if (op_dim_index(from->schema, name) >= 0) {
            to->dim[i] = case_dim(from, name);
        }
    }
    return bad;
}

static const char *from_of(const host_tensor *act)
{
    return act->dtype == MXO_F32 ? "f32" : "bf16";
}

/* 0, or -1: the layer has no such stage. */
static int make_case(test_case *c, const evidence *e, const stage_row *row,
                     const host_tensor *act)
{
    const int is_quant = strcmp(row->op, "quant.mx") == 0;

    memset(c, 0, sizeof *c);
    c->schema = op_by_name(row->op);
    for (int i = 0; i < c->schema->n_params; i++) {
        (void)snprintf(c->value[i], sizeof c->value[i], "%s",
                       c->schema->params[i].standard);
    }
    (void)snprintf(c->data, sizeof c->data, "%s", e->c->data);
    c->keep_last = UINT64_MAX;
    if (is_quant) {
        if (strcmp(entry(e->c, "requant"), "same") != 0 ||
            strcmp(entry(e->c, "quant"), "quant.mx") != 0 || act == NULL) {
            return -1;
        }
        (void)snprintf(c->data, sizeof c->data, "corners");
        return set(c, "element", entry(e->c, "quant_element")) |
               set(c, "rule", entry(e->c, "quant_rule")) |
               set(c, "from", from_of(act)) |
               set_dim(c, "rows", act->shape[0] * act->shape[1]) |
               set_dim(c, "cols", act->shape[2]);
    }
    if (share(c, e->c) != 0 || set(c, row->key, row->value) != 0) {
        return -1;
    }
    if (strcmp(row->op, "moe.gemm2") == 0) {
        return act == NULL ? -1 : set(c, "from", from_of(act));
    }
    return 0;
}

/* A copy of a tensor under another name and shape. */
static int copy(tensor_set *to, const char *name, const host_tensor *t,
                uint32_t rank, const uint64_t *shape)
{
    host_tensor *added;

    if (tensor_set_add(to, name, t->dtype, rank, shape, &added) != MXO_OK ||
        added->n_bytes != t->n_bytes) {
        return -1;
    }
    if (t->n_bytes > 0) {
        memcpy(added->data, t->data, t->n_bytes);
    }
    return 0;
}

/* The stage's inputs: the layer's own, and the activation's output. */
static int make_inputs(tensor_set *in, const test_case *c, const evidence *e,
                       const host_tensor *act)
{
    int bad = 0;

    for (int i = 0; !bad && i < c->schema->n_inputs; i++) {
        const char *name = c->schema->inputs[i].name;
        const host_tensor *t = tensor_set_find(e->call->in, name);
        if (!case_has_input(c, i)) {
            continue;
        }
        if (strcmp(c->schema->info->name, "quant.mx") == 0) {
            const uint64_t shape[2] = {act->shape[0] * act->shape[1],
                                       act->shape[2]};
            bad = copy(in, name, act, 2, shape);
        } else if (strcmp(name, "act") == 0) {
            bad = copy(in, name, act, act->rank, act->shape);
        } else {
            bad = t == NULL || copy(in, name, t, t->rank, t->shape);
        }
    }
    return bad;
}

/* What the oracle's activation gives; an empty set if it cannot. */
static void oracle_act(const evidence *e, tensor_set *out)
{
    mxo_param params[OP_MAX_PARAMS];
    char text[SENTENCE];
    const mxo_text why = {text, sizeof text};
    tensor_set in = {0};
    test_case c;
    distrust d;

    if (make_case(&c, e, &rows[ACT], NULL) == 0 &&
        make_inputs(&in, &c, e, NULL) == 0) {
        const op_call call = {rows[ACT].op, params,
                              (uint32_t)c.schema->n_params, &in};
        case_params(&c, params);
        if (subject_infer(&e->j->oracle, &call, out, why) != MXO_OK ||
            subject_run(&e->j->oracle, &call, out, &d, why) != MXO_OK) {
            tensor_set_clear(out);
        }
    }
    tensor_set_clear(&in);
}

static void say_stage(const stage_row *row, const verdict *v, strbuf *lines)
{
    strbuf_add(lines, "stage %-17s ", row->name);
    if (verdict_is_red(v->status)) {
        strbuf_add(lines, "WRONG: %s\n", v->reason);
    } else if (v->status == VERDICT_PASS) {
        strbuf_add(lines, "right (%s)\n", v->rule);
    } else {
        strbuf_add(lines, "not judged: %s\n",
                   v->status == VERDICT_UNSUPPORTED ? "it is not offered"
                                                    : v->reason);
    }
}

static void sum_up(const stage_row *wrong, int n_right, int n_open,
                   strbuf *lines)
{
    if (wrong != NULL) {
        strbuf_add(lines, "first wrong stage: %s (%s)\n", wrong->name,
                   wrong->op);
    } else if (n_right > 0 && n_open == 0) {
        strbuf_add(lines,
                   "every stage is right on given bytes: the fault is in how "
                   "they are put together\n");
    } else if (n_right > 0) {
        strbuf_add(lines, "no stage that it offers is wrong\n");
    }
}

void stages_say(const evidence *e, strbuf *lines)
{
    const stage_row *wrong = NULL;
    tensor_set made = {0};
    int n_right = 0;
    int n_open = 0;

    if (strcmp(e->call->op, "moe.layer") != 0 ||
        (!subject_has_op(&e->j->subject, "moe.gemm1") &&
         !subject_has_op(&e->j->subject, "moe.gemm2"))) {
        return;
    }
    oracle_act(e, &made);
    const host_tensor *act = made.n == 1 ? &made.t[0] : NULL;

    for (int i = 0; i < N_STAGES; i++) {
        tensor_set in = {0};
        test_case c;
        verdict v;
        if (make_case(&c, e, &rows[i], act) == 0 &&
            make_inputs(&in, &c, e, act) == 0) {
            e->j->is_brief = 1;
            judge_inputs(e->j, &c, &in, &v);
            e->j->is_brief = 0;
            say_stage(&rows[i], &v, lines);
            n_right += v.status == VERDICT_PASS;
            n_open += v.status == VERDICT_UNSUPPORTED;
            wrong =
                wrong == NULL && verdict_is_red(v.status) ? &rows[i] : wrong;
            verdict_clear(&v);
        }
        tensor_set_clear(&in);
    }
    sum_up(wrong, n_right, n_open, lines);
    tensor_set_clear(&made);
}
