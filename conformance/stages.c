/* SPDX-License-Identifier: Apache-2.0 */
/* See stages.h. */
#include "stages.h"

#include <mxoracle/profile.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE = 384 };

/* Stands for the operation that the layer's entry quant names. */
#define QUANTISER ""

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
    {QUANTISER, "", "", "requantisation"},
    {"moe.gemm2", "stage", "row", "second GEMM"},
    {"moe.gemm2", "stage", "sum", "sum over experts"},
};

enum { N_STAGES = sizeof rows / sizeof rows[0], ACT = 1 };

/* Parameters of a quantiser that are entries of the layer, or fixed. */
typedef struct quantiser_row {
    const char *op;
    const char *key;
    const char *entry;
    const char *value; /* if entry is "" */
} quantiser_row;

static const quantiser_row quantisers[] = {
    {"quant.mx", "element", "quant_element", ""},
    {"quant.mx", "rule", "quant_rule", ""},
    {"quant.group", "element", "quant_element", ""},
    {"quant.group", "rule", "quant_rule", ""},
    {"quant.group", "group_cols", "quant_group", ""},
    {"quant.group", "pow2", "", "1"},
    {"quant.qdq", "rule", "quant_rule", ""},
    {"quant.static", "element", "quant_element", ""},
    {"quant.static", "apply", "quant_rule", ""},
    {"quant.nvfp4", "math", "quant_rule", ""},
};

enum { N_QUANTISERS = sizeof quantisers / sizeof quantisers[0] };

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
    return dtype_name(act->dtype);
}

static int is_quantiser(const stage_row *row)
{
    return strcmp(row->op, QUANTISER) == 0;
}

/* The operation of a stage; NULL: the layer has no such stage. */
static const op_schema *operation_of(const evidence *e, const stage_row *row)
{
    if (!is_quantiser(row)) {
        return op_by_name(row->op);
    }
    return strcmp(entry(e->c, "requant"), "same") == 0
               ? op_by_name(entry(e->c, "quant"))
               : NULL;
}

static int make_quantiser(test_case *c, const evidence *e,
                          const host_tensor *act)
{
    int bad = set(c, "from", from_of(act)) |
              set_dim(c, "rows", act->shape[0] * act->shape[1]) |
              set_dim(c, "cols", act->shape[2]);

    for (int i = 0; i < N_QUANTISERS; i++) {
        const quantiser_row *q = &quantisers[i];
        if (strcmp(q->op, c->schema->info->name) == 0) {
            bad |= set(c, q->key,
                       q->entry[0] == '\0' ? q->value : entry(e->c, q->entry));
        }
    }
    (void)snprintf(c->data, sizeof c->data, "corners");
    return bad;
}

/* 0, or -1: the layer has no such stage. */
static int make_case(test_case *c, const evidence *e, const stage_row *row,
                     const host_tensor *act)
{
    memset(c, 0, sizeof *c);
    c->schema = operation_of(e, row);
    if (c->schema == NULL) {
        return -1;
    }
    for (int i = 0; i < c->schema->n_params; i++) {
        (void)snprintf(c->value[i], sizeof c->value[i], "%s",
                       c->schema->params[i].standard);
    }
    (void)snprintf(c->data, sizeof c->data, "%s", e->c->data);
    c->keep_last = UINT64_MAX;
    if (is_quantiser(row)) {
        return act == NULL ? -1 : make_quantiser(c, e, act);
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
        if (strcmp(name, "act") == 0) {
            bad = copy(in, name, act, act->rank, act->shape);
        } else {
            bad = t == NULL || copy(in, name, t, t->rank, t->shape);
        }
    }
    return bad;
}

/* A quantiser's: the activation's output as rows, and the layer's scale for
   it. */
static int make_quantiser_inputs(tensor_set *in, const test_case *c,
                                 const evidence *e, const host_tensor *act)
{
    const uint64_t shape[2] = {act->shape[0] * act->shape[1], act->shape[2]};
    const uint64_t one[1] = {1};
    const host_tensor *scale = tensor_set_find(e->call->in, "w2_input_scale");
    int bad = copy(in, c->schema->inputs[0].name, act, 2, shape);

    for (int i = 1; !bad && i < c->schema->n_inputs; i++) {
        bad =
            scale == NULL || copy(in, c->schema->inputs[i].name, scale, 1, one);
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

/* Data on which a wrong stage would look right tell nothing of this one, and
   neither does a call that the oracle refuses. */
static int is_open(const verdict *v)
{
    return v->status == VERDICT_VACUOUS || v->status == VERDICT_UNSUPPORTED ||
           v->status == VERDICT_SKIP || strcmp(v->rule, "refusal") == 0;
}

static int is_wrong(const verdict *v)
{
    return verdict_is_red(v->status) && !is_open(v);
}

static void say_stage(const stage_row *row, const verdict *v, strbuf *lines)
{
    strbuf_add(lines, "stage %-17s ", row->name);
    if (is_wrong(v)) {
        strbuf_add(lines, "WRONG: %s\n", v->reason);
    } else if (!is_open(v)) {
        strbuf_add(lines, "right (%s)\n", v->rule);
    } else {
        strbuf_add(lines, "not judged: %s\n",
                   v->status == VERDICT_UNSUPPORTED ? "it is not offered"
                                                    : v->reason);
    }
}

/* What the stages so far told. */
typedef struct findings {
    const stage_row *wrong; /* the first */
    const stage_row *last;  /* the last that is wrong */
    const char *op;         /* the first one's operation */
    int n_right;
    int n_open;
} findings;

static void note_stage(findings *f, const stage_row *row, const test_case *c,
                       const verdict *v)
{
    f->n_right += !is_wrong(v) && !is_open(v);
    f->n_open += is_open(v);
    if (f->wrong == NULL && is_wrong(v)) {
        f->wrong = row;
        f->op = c->schema->info->name;
    }
    f->last = is_wrong(v) ? row : f->last;
}

/* A stage that goes on where the one before it ends, in the same operation,
   begins with that one: if it is wrong, nothing is known of what follows. */
static int is_spoilt(findings *f, const stage_row *row, strbuf *lines)
{
    if (row == rows || f->last != row - 1 ||
        strcmp(row->op, f->last->op) != 0) {
        return 0;
    }
    strbuf_add(lines, "stage %-17s not judged: the %s in it is wrong\n",
               row->name, f->last->name);
    f->n_open++;
    return 1;
}

static void sum_up(const findings *f, strbuf *lines)
{
    if (f->wrong != NULL) {
        strbuf_add(lines, "first wrong stage: %s (%s)\n", f->wrong->name,
                   f->op);
    } else if (f->n_right > 0 && f->n_open == 0) {
        strbuf_add(lines,
                   "every stage is right on given bytes: the fault is in how "
                   "they are put together\n");
    } else if (f->n_right > 0) {
        strbuf_add(lines, "no stage that could be judged is wrong\n");
    }
}

void stages_say(const evidence *e, strbuf *lines)
{
    tensor_set made = {0};
    findings found = {0};

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
        if (!is_spoilt(&found, &rows[i], lines) &&
            make_case(&c, e, &rows[i], act) == 0 &&
            (is_quantiser(&rows[i]) ? make_quantiser_inputs(&in, &c, e, act)
                                    : make_inputs(&in, &c, e, act)) == 0) {
            e->j->is_brief = 1;
            judge_inputs(e->j, &c, &in, &v);
            e->j->is_brief = 0;
            say_stage(&rows[i], &v, lines);
            note_stage(&found, &rows[i], &c, &v);
            verdict_clear(&v);
        }
        tensor_set_clear(&in);
    }
    sum_up(&found, lines);
    tensor_set_clear(&made);
}
