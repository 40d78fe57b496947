/* SPDX-License-Identifier: Apache-2.0 */
/* See layer_stage_half.h. */
#include "layer_stage_half.h"

#include "case/case_shape.h"
#include "case/profile_fact.h"
#include "data/fill_loaded.h"

#include <stdio.h>
#include <string.h>

enum { SENTENCE = 384 };

/* A case's own value of an entry, else its profile's. */
static const char *entry(const test_case *c, const char *key)
{
    const char *own = case_value(c, key);
    const char *fact = profile_fact(case_value(c, "profile"), key);

    return strcmp(own, "profile") == 0 && *fact != '\0' ? fact : own;
}

static int says(const test_case *c, const char *key, const char *word)
{
    return strcmp(entry(c, key), word) == 0;
}

static int set(test_case *c, const char *key, const char *value)
{
    char why[SENTENCE];

    return case_set(c, key, value, (mxo_text){why, sizeof why});
}

static void set_dim(test_case *c, const char *name, uint64_t n)
{
    const int i = op_dim_index(c->schema, name);

    if (i >= 0) {
        case_resize(c, i, n);
    }
}

/* Everything that the stage's operation shares with the layer's. */
static int share(test_case *to, const test_case *from)
{
    int bad = 0;

    for (int i = 0; i < to->schema->n_params; i++) {
        const char *key = to->schema->params[i].key;
        if (to->schema->params[i].kind != PARAM_SIZE &&
            case_value(from, key)[0] != '\0' && strcmp(key, "from") != 0) {
            bad |= set(to, key, case_value(from, key));
        }
    }
    for (int i = 0; i < to->schema->n_dims; i++) {
        const char *name = to->schema->dims[i];
        if (op_dim_index(from->schema, name) >= 0) {
            case_resize(to, i, case_dim(from, name));
        }
    }
    return bad;
}

/* The half's operation up to a stage, on the layer's own data. */
static int make_case(test_case *c, const stage_half *h, const char *stage)
{
    case_begin(c, op_by_name(h->p->op));
    (void)snprintf(c->data, sizeof c->data, "%s", h->e->c->data);
    return share(c, h->e->c) == 0 && set(c, "from", h->from) == 0
               ? set(c, "stage", stage)
               : -1;
}

/* The same on gemm_probe_inputs.h, which no order of summation rounds. */
static int make_probe_case(test_case *c, const stage_half *h, const char *stage,
                           const tensor_set *in)
{
    const uint64_t k = probe_depth(h->p, in);

    if (make_case(c, h, stage) != 0) {
        return -1;
    }
    (void)snprintf(c->data, sizeof c->data, "orderfree");
    set_dim(c, h->p->k, k);
    set_dim(c, h->p->blocks, k / 32 + (k % 32 != 0));
    set_dim(c, h->p->n, probe_columns(h->p, in) / h->p->n_times);
    return 0;
}

/* The oracle's outputs, for which a loader makes no difference; an empty set if
   it has none. */
static void oracle_gives(const evidence *e, const test_case *c,
                         const tensor_set *in, tensor_set *out)
{
    mxo_param params[OP_MAX_PARAMS];
    char text[SENTENCE];
    const mxo_text why = {text, sizeof text};
    const op_call call = {c->schema->info->name, params,
                          (uint32_t)c->schema->n_params, in};
    test_case plain = *c;
    run_checks d;

    (void)set(&plain, "conversion", "none");
    case_params(&plain, params);
    if (subject_infer(&e->j->oracle, &call, out, why) != MXO_OK ||
        subject_run(&e->j->oracle, &call, out, &d, why) != MXO_OK ||
        out->n != 1) {
        tensor_set_clear(out);
    }
}

static void conclude(finding *f, finding_kind kind, const char *text)
{
    f->kind = kind;
    (void)snprintf(f->says, sizeof f->says, "%s", text);
}

/* The backend against the oracle.  A call that the oracle refuses, or on whose
   data no work would look the same, tells nothing. */
static finding ask(const stage_half *h, const test_case *c,
                   const tensor_set *in)
{
    finding f = {.kind = OPEN};
    tensor_set loaded = {0};
    verdict v;

    if (fill_load_copy(c, in, &loaded, (mxo_text){f.says, sizeof f.says}) !=
        0) {
        tensor_set_clear(&loaded);
        return f;
    }
    judge_inputs(h->e->j, c, &loaded, &v);
    tensor_set_clear(&loaded);
    f.is_vacuous = v.status == VERDICT_VACUOUS;
    if (v.status == VERDICT_UNSUPPORTED) {
        conclude(&f, OPEN, "it is not offered");
    } else if (f.is_vacuous || v.status == VERDICT_SKIP ||
               strcmp(v.rule, "refusal") == 0) {
        conclude(&f, OPEN, v.reason);
    } else if (verdict_is_red(v.status)) {
        conclude(&f, WRONG, v.reason);
    } else {
        conclude(&f, RIGHT, v.rule);
    }
    verdict_clear(&v);
    return f;
}

static finding ask_own(const stage_half *h, const char *stage,
                       const tensor_set *in)
{
    finding f = {.kind = OPEN};
    test_case c;

    return make_case(&c, h, stage) == 0 ? ask(h, &c, in) : f;
}

static finding ask_probe(const stage_half *h, const char *stage,
                         const tensor_set *in)
{
    finding f = {.kind = OPEN};
    test_case c;

    return make_probe_case(&c, h, stage, in) == 0 ? ask(h, &c, in) : f;
}

static int is_good(const finding *f)
{
    return f->kind == RIGHT || f->is_vacuous;
}

static void leave_open(const stage_half *h, finding *f, stage_id culprit)
{
    (void)snprintf(f->says, sizeof f->says, "the %s in it is wrong",
                   h->name[culprit]);
    f->kind = OPEN;
}

static int quantises(const stage_half *h)
{
    const test_case *c = h->e->c;

    return !says(c, "quant", "none") && strcmp(h->from, "e2m1") != 0 &&
           (h->p == &probe_halves[0] || says(c, "requant", "same"));
}

/* The quantiser, through the unit matrix. */
static void find_before(stage_half *h)
{
    finding *f = &h->found[BEFORE];
    tensor_set signs = {0};
    tensor_set made = {0};

    if (!quantises(h)) {
        return;
    }
    conclude(f, OPEN, "its columns are none");
    if (probe_identity(&made, h->p, h->in, PROBE_NEAR_GIVEN) == 0) {
        *f = ask_probe(h, h->p->alone, &made);
    }
    if (f->kind == WRONG && probe_signs(&signs, h->p, h->in) == 0) {
        const finding gemm = ask_probe(h, h->p->alone, &signs);
        if (!is_good(&gemm)) {
            conclude(f, OPEN, "the GEMM that it is asked through is wrong");
        }
    }
    tensor_set_clear(&signs);
    tensor_set_clear(&made);
}

/* The GEMM on numbers that are quantised already. */
static finding ask_quantised(const stage_half *h)
{
    finding f = {.kind = OPEN};
    tensor_set made = {0};
    tensor_set rows = {0};
    tensor_set given = {0};
    test_case c;

    if (probe_identity(&made, h->p, h->in, PROBE_KEEP_NONE) == 0 &&
        make_probe_case(&c, h, h->p->alone, &made) == 0) {
        oracle_gives(h->e, &c, &made, &rows);
    }
    if (rows.n == 1 && probe_quantised(&given, h->p, h->in, &rows.t[0]) == 0) {
        f = ask_own(h, h->p->alone, &given);
    }
    tensor_set_clear(&made);
    tensor_set_clear(&rows);
    tensor_set_clear(&given);
    return f;
}

/* A scale that is given for all is near its own behind the unit matrix: what is
   wrong there only under the scale itself shows here. */
static void find_gemm(stage_half *h)
{
    const int is_given = says(h->e->c, "input_scale", "given");
    finding *before = &h->found[BEFORE];
    finding *f = &h->found[GEMM];

    *f = ask_own(h, h->p->alone, h->in);
    h->is_right = is_good(f);
    if (f->kind != WRONG || before->kind == ABSENT ||
        (before->kind == RIGHT && !is_given)) {
        return;
    }
    const finding given = ask_quantised(h);

    if (is_good(&given) && before->kind != WRONG) {
        conclude(before, WRONG, f->says);
    }
    if (is_good(&given)) {
        conclude(f, RIGHT, "of numbers that are quantised already");
    } else if (before->kind == WRONG) {
        leave_open(h, f, BEFORE);
    }
}

/* Where the GEMM is not offered alone: it is wrong if what follows it is right
   behind the probe's, and not behind its own. */
static void find_whole(stage_half *h)
{
    finding *gemm = &h->found[GEMM];
    finding *f = &h->found[BEHIND];

    if (f->kind == WRONG) {
        f->is_whole = 1;
    } else if (f->kind == RIGHT) {
        const finding whole = ask_own(h, h->p->through, h->in);
        if (whole.kind == WRONG) {
            conclude(gemm, WRONG, whole.says);
            gemm->is_whole = h->found[BEFORE].kind != ABSENT;
        }
    }
}

/* Rows that the probe's GEMM got wrong are nobody's fault but its own; or its
   quantiser's, if it has one, right as that may be on the layer's numbers. */
static void blame_gemm(stage_half *h, const finding *alone)
{
    finding *gemm = &h->found[GEMM];

    if (gemm->kind != WRONG && h->found[BEFORE].kind == ABSENT) {
        *gemm = *alone;
    }
    if (h->found[BEFORE].kind == WRONG) {
        leave_open(h, &h->found[BEHIND], BEFORE);
    } else if (gemm->kind == WRONG) {
        leave_open(h, &h->found[BEHIND], GEMM);
    } else {
        conclude(&h->found[BEHIND], OPEN,
                 "the GEMM that it is asked through is wrong");
    }
}

/* Judge the steps after the GEMM, on rows that the probe's GEMM gives. */
static void judge_behind(stage_half *h, const tensor_set *made)
{
    finding *f = &h->found[BEHIND];

    *f = ask_probe(h, h->p->through, made);
    if (f->kind == RIGHT && h->found[GEMM].kind != OPEN) {
        return; /* whatever it went through */
    }
    const finding alone = ask_probe(h, h->p->alone, made);

    if (alone.kind == WRONG) {
        blame_gemm(h, &alone);
    } else if (!is_good(&alone)) {
        find_whole(h);
    }
}

/* Also on the layer's own data, if the GEMM is right on them: NaN and infinity
   do not go through a probe, and room for tokens is limited there. */
static void find_behind(stage_half *h)
{
    const probe_keep keeps = says(h->e->c, "routing_at", "sum")
                                 ? PROBE_KEEP_WEIGHTS
                                 : PROBE_KEEP_NONE;
    finding *f = &h->found[BEHIND];
    tensor_set rows = {0};
    tensor_set made = {0};
    test_case c;

    conclude(f, OPEN, "there are no rows for it");
    if (make_case(&c, h, h->p->alone) == 0) {
        oracle_gives(h->e, &c, h->in, &rows);
    }
    if (rows.n == 1 && probe_rows(&made, h->p, h->in, &rows.t[0], keeps) == 0) {
        judge_behind(h, &made);
    }
    if (f->kind != WRONG && h->is_right && h->found[GEMM].kind != WRONG) {
        const finding own = ask_own(h, h->p->through, h->in);
        *f = own.kind != OPEN || f->kind == OPEN ? own : *f;
    }
    tensor_set_clear(&rows);
    tensor_set_clear(&made);
}

void stage_half_judge(stage_half *h)
{
    const char *why = !subject_has_op(&h->e->j->subject, h->p->op)
                          ? "it is not offered"
                      : h->in->n == 0 ? "the oracle has nothing to ask it with"
                                      : NULL;

    for (int i = 0; why != NULL && i < N_STAGES; i++) {
        conclude(&h->found[i], i == BEFORE && !quantises(h) ? ABSENT : OPEN,
                 why);
    }
    if (why != NULL) {
        return;
    }
    find_before(h);
    find_gemm(h);
    find_behind(h);
}

/* A copy of a tensor; 0 without memory. */
static int keep(tensor_set *to, const char *name, const host_tensor *t)
{
    host_tensor *added;

    if (tensor_set_add(to, name, t->dtype, t->rank, t->shape, &added) !=
        MXO_OK) {
        return 0;
    }
    if (t->n_bytes > 0) {
        memcpy(added->data, t->data, (size_t)t->n_bytes);
    }
    return 1;
}

void stage_half_inputs(tensor_set *in, const stage_half *h,
                       const host_tensor *act)
{
    const tensor_set *from =
        h->e->j->checkpoint != NULL ? h->e->j->checkpoint : h->e->call->in;
    test_case c;
    int good = make_case(&c, h, h->p->alone) == 0;

    for (int i = 0; good && i < c.schema->n_inputs; i++) {
        const char *name = c.schema->inputs[i].name;
        const host_tensor *t =
            strcmp(name, "act") == 0 ? act : tensor_set_find(from, name);
        if (case_has_input(&c, i)) {
            good = t != NULL && keep(in, name, t);
        }
    }
    if (!good) {
        tensor_set_clear(in);
    }
}

void stage_half_gives(const stage_half *h, tensor_set *out)
{
    test_case c;

    if (h->in->n > 0 && make_case(&c, h, h->p->through) == 0) {
        oracle_gives(h->e, &c, h->in, out);
    }
}
