/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A property is a row: which operations have it, how the second call is made
 * from the first (derive.h), and which element of the first answer each new
 * one must be.  The first answer is the oracle's, which the subject has just
 * equalled.  Where rounding decides whether a property holds at all - sums of
 * rounded parts, numbers quantised a second time - the oracle is asked too,
 * and only what holds for it is asked of the subject.
 */
#include "metamorph.h"

#include "cli.h"
#include "derive.h"
#include "fills.h"
#include "idempotence.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Layers above this many products, and tensors above this many elements, are
   asked only once; parts are for layers that are cheaper still. */
enum {
    CHEAP = 1 << 19,
    CHEAP_PARTS = 1 << 18,
    FEW = 1 << 12,
    MANY = 5,
    MAX_PARTS = 6
};

typedef enum relation {
    ROWS_SAME,
    ROWS_REVERSED,
    ROWS_LAST,
    ROWS_PAIRED, /* row i is row i - i % 2 */
    PARTS_ADD_UP,
    SAME_AGAIN /* where it is so for the oracle */
} relation;

typedef enum cut_kind {
    CUT_NONE,
    CUT_HALVES,
    CUT_FIRST,  /* the first alone, and the rest */
    CUT_EACH,   /* one by one */
    CUT_BLOCKS, /* on a block of 32 */
    CUT_INSIDE  /* within a block */
} cut_kind;

typedef struct property {
    const char *name;
    const char *op; /* a pattern */
    const char *axis;
    derive_how how;
    cut_kind cut;
    relation relation;
} property;

static const property properties[] = {
    {"experts in reverse order", "moe.layer", "experts", DERIVE_REVERSED,
     CUT_NONE, ROWS_SAME},
    {"tokens in reverse order", "moe.layer*", "tokens", DERIVE_REVERSED,
     CUT_NONE, ROWS_REVERSED},
    {"the last token alone", "moe.layer*", "tokens", DERIVE_LAST, CUT_NONE,
     ROWS_LAST},
    {"all tokens, right after one alone", "moe.layer*", "tokens", DERIVE_WHOLE,
     CUT_NONE, ROWS_SAME},
    {"every token twice", "moe.layer*", "tokens", DERIVE_PAIRS, CUT_NONE,
     ROWS_PAIRED},
    {"rows of NaN behind the tokens", "moe.layer*", "tokens", DERIVE_GROWN,
     CUT_NONE, ROWS_SAME},
    {"experts in two halves", "moe.layer*", "experts", DERIVE_SLICE, CUT_HALVES,
     PARTS_ADD_UP},
    {"the first expert alone and the rest", "moe.layer*", "experts",
     DERIVE_SLICE, CUT_FIRST, PARTS_ADD_UP},
    {"every expert alone", "moe.layer*", "experts", DERIVE_SLICE, CUT_EACH,
     PARTS_ADD_UP},
    {"two shards of the intermediate", "moe.layer*", "inter", DERIVE_SHARD,
     CUT_BLOCKS, PARTS_ADD_UP},
    {"two shards that share a block", "moe.layer*", "inter", DERIVE_SHARD,
     CUT_INSIDE, PARTS_ADD_UP},
    {"quantised numbers quantised again", "*", "", DERIVE_WHOLE, CUT_NONE,
     SAME_AGAIN},
};

typedef struct trial {
    judge *j;
    const test_case *c;
    const tensor_set *in;
    const tensor_set *want;
    const property *p;
} trial;

/* What a call gave beside its answer. */
typedef struct outcome {
    int is_red;
    char why[SUBJECT_TEXT];
} outcome;

static void blame(const trial *t, const char *why, verdict *v)
{
    v->status = VERDICT_FAIL;
    (void)snprintf(v->kind, sizeof v->kind, "metamorphic");
    (void)snprintf(v->reason, sizeof v->reason, "%s: %s", t->p->name, why);
}

static void blame_element(const trial *t, const host_tensor *y, uint64_t i,
                          verdict *v)
{
    char why[SUBJECT_TEXT];
    const uint64_t n = y->rank > 1 ? y->shape[y->rank - 1] : 1;

    (void)snprintf(why, sizeof why,
                   "row %" PRIu64 " of %s is not that of the first call",
                   n == 0 ? 0 : i / n, y->name);
    blame(t, why, v);
}

/* Products of the layer; 0 for another operation. */
static uint64_t products(const test_case *c)
{
    const uint64_t slots = case_dim(c, "topk") > 0
                               ? case_dim(c, "topk")
                               : (uint64_t)case_number(c, "top_k");

    return case_dim(c, "tokens") * slots * case_dim(c, "hidden") *
           case_dim(c, "inter");
}

static uint64_t most_elements(const tensor_set *set)
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < set->n; i++) {
        const uint64_t n = tensor_elems(&set->t[i]);
        most = n > most ? n : most;
    }
    return most;
}

static int is_layer(const test_case *c)
{
    return strncmp(c->schema->info->name, "moe.layer", 9) == 0;
}

/* A whole layer whose answer no order of summation changes. */
static int is_plain_layer(const test_case *c, const tensor_set *want)
{
    return is_layer(c) && strcmp(c->data, "orderfree") == 0 &&
           case_keeps_all(c) && case_value(c, "map")[0] == '0' &&
           case_value(c, "bounds")[0] == '0' && want->n == 1 &&
           case_dim(c, "tokens") > 1 && case_dim(c, "experts") > 1 &&
           case_dim(c, "hidden") > 0 && case_dim(c, "inter") > 0 &&
           products(c) <= CHEAP;
}

static int is_cut_small(const trial *t)
{
    const uint64_t n = case_dim(t->c, t->p->axis);

    switch (t->p->cut) {
    case CUT_NONE:
    case CUT_HALVES:
        return 1;
    case CUT_EACH:
        return n > 2 && n <= MAX_PARTS && products(t->c) <= CHEAP_PARTS;
    case CUT_BLOCKS:
        return n > 32 && products(t->c) <= CHEAP_PARTS;
    default:
        return n > 2 && products(t->c) <= CHEAP_PARTS;
    }
}

/* One more call of the first one's size at most. */
static int is_cheap(const property *p)
{
    return p->relation != PARTS_ADD_UP && p->how != DERIVE_GROWN;
}

static int applies(const trial *t)
{
    if (!cli_matches(t->p->op, t->c->schema->info->name)) {
        return 0;
    }
    if (t->p->relation == SAME_AGAIN) {
        return idempotence_holds(t->c) && case_keeps_all(t->c) &&
               products(t->c) <= CHEAP &&
               (is_layer(t->c) || most_elements(t->in) <= FEW);
    }
    return is_plain_layer(t->c, t->want) && is_cut_small(t) &&
           (is_cheap(t->p) || case_dim(t->c, "tokens") >= MANY);
}

static int n_parts(const trial *t)
{
    return t->p->cut == CUT_NONE   ? 1
           : t->p->cut == CUT_EACH ? (int)case_dim(t->c, t->p->axis)
                                   : 2;
}

/* Where the second of two parts begins. */
static uint64_t middle(const trial *t)
{
    const uint64_t n = case_dim(t->c, t->p->axis);

    switch (t->p->cut) {
    case CUT_FIRST:
        return 1;
    case CUT_BLOCKS:
        return (n / 2 + 31) / 32 * 32;
    case CUT_INSIDE:
        return n * 3 / 16 * 2 + (n < 6 ? 2 : 0);
    default:
        return n / 2;
    }
}

static derivation part_of(const trial *t, int part, const host_tensor *x)
{
    const uint64_t n = case_dim(t->c, t->p->axis);
    derivation d = {t->p->how, t->p->axis, 0, n, x};

    if (t->p->cut == CUT_EACH) {
        d.first = (uint64_t)part;
        d.n = 1;
    } else if (t->p->cut != CUT_NONE) {
        d.first = part == 0 ? 0 : middle(t);
        d.n = part == 0 ? middle(t) : n - middle(t);
    }
    return d;
}

/*
 * One call on a subject, the oracle or the backend, without a decoy before
 * it: what another call left behind shall show.  MXO_OK and its answer, or
 * the call means nothing to it; is_red if the backend refuses it alone, or
 * answers two runs differently.
 */
static mxo_status ask(const trial *t, subject *s, const derivation *d,
                      tensor_set *out, outcome *o)
{
    mxo_param params[OP_MAX_PARAMS];
    test_case c;
    tensor_set in = {0};
    const mxo_text why = {o->why, sizeof o->why};
    distrust doubts;
    mxo_status status =
        derive_call(d, t->c, t->in, &c, &in, why) == 0 ? MXO_OK : MXO_E_SHAPE;
    const op_call call = {c.schema->info->name, params,
                          (uint32_t)c.schema->n_params, &in};
    const int decoy = s->decoy;

    case_params(&c, params);
    status = status == MXO_OK ? subject_infer(&t->j->oracle, &call, out, why)
                              : status;
    if (status == MXO_OK) {
        s->decoy = 0;
        status = subject_run(s, &call, out, &doubts, why);
        s->decoy = decoy;
        o->is_red = status != MXO_OK && status != MXO_E_UNSUPPORTED;
        if (status == MXO_OK && judge_doubts(&doubts, why)) {
            o->is_red = 1;
            status = MXO_E_PARAM;
        } else if (o->is_red) {
            (void)snprintf(why.ptr, why.size,
                           "it refuses what differs in nothing else");
        }
    }
    tensor_set_clear(&in);
    return status;
}

/* Equal bits, or any NaN for any other. */
static int is_equal(const host_tensor *a, uint64_t i, const host_tensor *b,
                    uint64_t k)
{
    const uint64_t x = tensor_load(a, i);
    const uint64_t y = tensor_load(b, k);

    return x == y || (dtype_is_nan(a->dtype, x) && dtype_is_nan(b->dtype, y));
}

/* The row of the first answer that row i must be. */
static uint64_t row_for(const trial *t, uint64_t i)
{
    const uint64_t last = t->want->t[0].shape[0] - 1;

    switch (t->p->relation) {
    case ROWS_REVERSED:
        return last - i;
    case ROWS_LAST:
        return last;
    case ROWS_PAIRED:
        return i - i % 2;
    default:
        return i;
    }
}

static void check_rows(const trial *t, verdict *v)
{
    const host_tensor *want = &t->want->t[0];
    const uint64_t cols = want->shape[1];
    const derivation d = part_of(t, 0, NULL);
    tensor_set out = {0};
    outcome o = {0};

    if (ask(t, &t->j->subject, &d, &out, &o) == MXO_OK) {
        const uint64_t rows = out.t[0].shape[0] < want->shape[0]
                                  ? out.t[0].shape[0]
                                  : want->shape[0];
        for (uint64_t i = 0; i < rows * cols && v->status == VERDICT_PASS;
             i++) {
            const uint64_t k = row_for(t, i / cols) * cols + i % cols;
            if (!is_equal(&out.t[0], i, want, k)) {
                blame_element(t, want, i, v);
            }
        }
    } else if (o.is_red) {
        blame(t, o.why, v);
    }
    tensor_set_clear(&out);
}

/* Sums of parts in double, the oracle's and the subject's, and where the
   subject has something that the oracle has not. */
typedef struct sums {
    double *oracle;
    double *subject;
    uint64_t stray; /* first such element; UINT64_MAX: none */
} sums;

static void add_part(sums *s, const host_tensor *want, const host_tensor *got)
{
    for (uint64_t i = 0; i < tensor_elems(want); i++) {
        const double o = dtype_value(want->dtype, tensor_load(want, i));
        const double y = dtype_value(got->dtype, tensor_load(got, i));
        if (o == 0 && !(y == 0) && s->stray == UINT64_MAX) {
            s->stray = i;
        }
        s->oracle[i] += o;
        s->subject[i] += y;
    }
}

/* Is x, rounded to the type, element i?  Zeros may differ in sign. */
static int rounds_to(host_tensor *one, double x, const host_tensor *want,
                     uint64_t i)
{
    const double y = dtype_value(want->dtype, tensor_load(want, i));

    fill_put(one, 0, x);
    return dtype_value(one->dtype, tensor_load(one, 0)) == y;
}

static void compare_sums(const trial *t, const sums *s, verdict *v)
{
    const host_tensor *want = &t->want->t[0];
    const uint64_t shape[1] = {1};
    tensor_set scratch = {0};
    host_tensor *one;

    if (s->stray != UINT64_MAX) {
        blame_element(t, want, s->stray, v);
        return;
    }
    if (tensor_set_add(&scratch, "one", want->dtype, 1, shape, &one) !=
        MXO_OK) {
        return;
    }
    for (uint64_t i = 0; i < tensor_elems(want) && v->status == VERDICT_PASS;
         i++) {
        if (rounds_to(one, s->oracle[i], want, i) &&
            !rounds_to(one, s->subject[i], want, i)) {
            blame_element(t, want, i, v);
        }
    }
    tensor_set_clear(&scratch);
}

/* 0 if the property means nothing here, or is red. */
static int ask_both(const trial *t, const derivation *d, sums *s, verdict *v)
{
    tensor_set out[2] = {0};
    outcome o[2] = {0};
    mxo_status status = ask(t, &t->j->oracle, d, &out[0], &o[0]);

    status =
        status == MXO_OK ? ask(t, &t->j->subject, d, &out[1], &o[1]) : status;
    if (status == MXO_OK) {
        add_part(s, &out[0].t[0], &out[1].t[0]);
    } else if (o[1].is_red) {
        blame(t, o[1].why, v);
    }
    tensor_set_clear(&out[0]);
    tensor_set_clear(&out[1]);
    return status == MXO_OK;
}

static void check_parts(const trial *t, verdict *v)
{
    const size_t n = (size_t)tensor_elems(&t->want->t[0]);
    sums s = {calloc(n + 1, sizeof *s.oracle), calloc(n + 1, sizeof *s.subject),
              UINT64_MAX};
    int all = s.oracle != NULL && s.subject != NULL;

    for (int i = 0; all && i < n_parts(t); i++) {
        const derivation d = part_of(t, i, NULL);
        all = ask_both(t, &d, &s, v);
    }
    if (all) {
        compare_sums(t, &s, v);
    }
    free(s.oracle);
    free(s.subject);
}

static void compare_again(const trial *t, const tensor_set *good,
                          const tensor_set *got, verdict *v)
{
    for (uint32_t o = 0; o < t->want->n; o++) {
        const host_tensor *want = &t->want->t[o];
        for (uint64_t i = 0;
             i < tensor_elems(want) && v->status == VERDICT_PASS; i++) {
            if (is_equal(&good->t[o], i, want, i) &&
                !is_equal(&got->t[o], i, want, i)) {
                blame_element(t, want, i, v);
            }
        }
    }
}

static void check_again(const trial *t, verdict *v)
{
    tensor_set given = {0};
    tensor_set out[2] = {0};
    outcome o[2] = {0};

    if (idempotence_inputs(&t->j->oracle, t->c, t->in, t->want, &given)) {
        const derivation d = part_of(t, 0, &given.t[0]);
        if (ask(t, &t->j->oracle, &d, &out[0], &o[0]) == MXO_OK &&
            ask(t, &t->j->subject, &d, &out[1], &o[1]) == MXO_OK) {
            compare_again(t, &out[0], &out[1], v);
        } else if (o[1].is_red) {
            blame(t, o[1].why, v);
        }
    }
    tensor_set_clear(&given);
    tensor_set_clear(&out[0]);
    tensor_set_clear(&out[1]);
}

/* Was the first answer equal, but for the bits of a NaN?  One within the room
   of an open exponential promises no bits to a second: another place, or
   another number of tokens, may be computed another way. */
static int is_equality(const verdict *v)
{
    return strcmp(v->rule, "bits") == 0 || strcmp(v->rule, "exact_nan") == 0;
}

void metamorph_check(judge *j, const test_case *c, const tensor_set *in,
                     const tensor_set *want, verdict *v)
{
    const size_t n = sizeof properties / sizeof properties[0];

    for (size_t i = 0; i < n && v->status == VERDICT_PASS && is_equality(v);
         i++) {
        const trial t = {j, c, in, want, &properties[i]};
        if (!applies(&t)) {
            continue;
        }
        switch (properties[i].relation) {
        case PARTS_ADD_UP:
            check_parts(&t, v);
            break;
        case SAME_AGAIN:
            check_again(&t, v);
            break;
        default:
            check_rows(&t, v);
            break;
        }
    }
}
