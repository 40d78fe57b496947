/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See nearest_legal_shape.h.  Along a number two legal values show how each
 * extent grows: top_k of 8 experts may be 1 and 2, whose outputs have 1 and 2
 * columns, so the outputs for 9 have 9.
 */
#include "nearest_legal_shape.h"

#include "base/number.h"
#include "case/case_shape.h"
#include "fill_loaded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Larger tensors than this many bytes are no help in a test. */
#define LARGEST (UINT64_C(1) << 26)

enum { SENTENCE = 256, N_NUMBERS = 21 };

typedef struct legal_call {
    double at; /* the number that was changed */
    tensor_set out;
} legal_call;

typedef struct searching {
    subject *oracle;
    const test_case *c;
    nearest_outputs *near;
    legal_call legal[2];
    int n_legal;
} searching;

mxo_status nearest_inputs(const test_case *c, tensor_set *in, mxo_text why)
{
    uint64_t shape[MXO_MAX_RANK];
    uint32_t dtype;

    for (int i = 0; i < c->schema->n_inputs; i++) {
        const op_input *spec = &c->schema->inputs[i];
        if (!case_has_input(c, i)) {
            continue;
        }
        if (case_input(c, i, &dtype, shape, why) != 0) {
            return MXO_E_SHAPE;
        }
        MXO_TRY(tensor_set_add(in, spec->name, dtype, spec->rank, shape, NULL));
    }
    return fill_load_shapes(c, in, why) != 0 ? MXO_E_NOMEM : MXO_OK;
}

mxo_status nearest_infer(subject *oracle, const test_case *c, tensor_set *out,
                         mxo_text why)
{
    mxo_param params[OP_MAX_PARAMS];
    tensor_set in = {0};
    const op_call call = {c->schema->info->name, params,
                          (uint32_t)c->schema->n_params, &in};
    mxo_status status = nearest_inputs(c, &in, why);

    case_params(c, params);
    if (status == MXO_OK) {
        status = subject_infer(oracle, &call, out, why);
    }
    tensor_set_clear(&in);
    return status;
}

static int is_legal(subject *oracle, const test_case *c, tensor_set *out)
{
    char text[SENTENCE];

    return nearest_infer(oracle, c, out, (mxo_text){text, sizeof text}) ==
           MXO_OK;
}

/* Try the case with this value; if it is legal its outputs are kept. */
static void try_value(searching *s, const char *key, const char *value)
{
    char text[SENTENCE];
    test_case c = *s->c;
    legal_call *legal = &s->legal[s->n_legal];

    if (s->n_legal == 2 ||
        case_vary(&c, key, value, (mxo_text){text, sizeof text}) != 0) {
        return;
    }
    legal->at = strcmp(value, "none") == 0 ? 0 : number_decimal(value, NULL);
    if (is_legal(s->oracle, &c, &legal->out)) {
        s->n_legal++;
    } else {
        tensor_set_clear(&legal->out);
    }
}

static int is_alike(const tensor_set *a, const tensor_set *b, int with_shapes)
{
    int alike = a->n == b->n;

    for (uint32_t i = 0; alike && i < a->n; i++) {
        const host_tensor *x = &a->t[i];
        const host_tensor *y = &b->t[i];
        alike = strcmp(x->name, y->name) == 0 && x->dtype == y->dtype &&
                x->rank == y->rank &&
                (!with_shapes ||
                 memcmp(x->shape, y->shape, x->rank * sizeof x->shape[0]) == 0);
    }
    return alike;
}

/* The extent extrapolated from a and b. */
static uint64_t continued(const searching *s, double at, uint64_t a, uint64_t b)
{
    const double per_one =
        ((double)b - (double)a) / (s->legal[1].at - s->legal[0].at);
    const double n = (double)a + (at - s->legal[0].at) * per_one;

    if (a == b) {
        return a;
    }
    if (!(n >= 0)) {
        return 0;
    }
    if (n < 0x1p32) {
        return (uint64_t)ceil(n);
    }
    return a;
}

/* Outputs for the number that was asked for, between or beyond two legal. */
static int continue_outputs(const searching *s, double at, tensor_set *out)
{
    const tensor_set *a = &s->legal[0].out;
    const tensor_set *b = &s->legal[1].out;
    const int both = s->n_legal == 2 && is_alike(a, b, 0);

    for (uint32_t i = 0; i < a->n; i++) {
        const host_tensor *t = &a->t[i];
        uint64_t shape[MXO_MAX_RANK] = {0};
        uint64_t bytes = dtype_bytes(t->dtype);

        for (uint32_t r = 0; r < t->rank; r++) {
            shape[r] = both ? continued(s, at, t->shape[r], b->t[i].shape[r])
                            : t->shape[r];
            bytes = bytes <= LARGEST ? bytes * shape[r] : bytes;
        }
        if (tensor_set_add(out, t->name, t->dtype, t->rank,
                           bytes <= LARGEST ? shape : t->shape,
                           NULL) != MXO_OK) {
            return 0;
        }
    }
    return 1;
}

/* Keep what was found along one key, unless it was found before. */
static void conclude(searching *s, double at)
{
    nearest_outputs *near = s->near;
    tensor_set *out = &near->set[near->n < NEAR_MOST ? near->n : 0];

    if (s->n_legal > 0 && near->n < NEAR_MOST) {
        int is_new = continue_outputs(s, at, out);
        for (int i = 0; i < near->n; i++) {
            is_new = is_new && !is_alike(&near->set[i], out, 1);
        }
        if (is_new) {
            near->n++;
        } else {
            tensor_set_clear(out);
        }
    }
    while (s->n_legal > 0) {
        tensor_set_clear(&s->legal[--s->n_legal].out);
    }
}

/* Numbers beside x, on blocks beside x, and small ones. */
static void try_numbers(searching *s, const char *key, double x)
{
    const double list[N_NUMBERS] = {x - 1,
                                    x + 1,
                                    x - 2,
                                    x + 2,
                                    floor(x / 32) * 32,
                                    floor(x / 32) * 32 + 32,
                                    floor(x / 128) * 128,
                                    floor(x / 128) * 128 + 128,
                                    x / 2,
                                    2 * x,
                                    1,
                                    2,
                                    0,
                                    4,
                                    8,
                                    16,
                                    32,
                                    64,
                                    128,
                                    256,
                                    -1};

    for (int i = 0; i < N_NUMBERS && s->n_legal < 2; i++) {
        char value[OP_WORD];
        if (list[i] != x && fabs(list[i]) < 0x1p31 &&
            !(s->n_legal == 1 && s->legal[0].at == list[i])) {
            (void)snprintf(value, sizeof value, "%.0f", list[i]);
            try_value(s, key, value);
        }
    }
    conclude(s, x);
}

static void try_choices(searching *s, const op_param *p)
{
    word_span rest = p->choices;
    char value[OP_WORD];

    while (rest.len > 0 && s->n_legal == 0) {
        if (span_copy(span_cut(&rest, '|'), value)) {
            try_value(s, p->key, value);
        }
    }
    conclude(s, 0);
}

/* Reals, and names that the operation knows. */
static void try_words(searching *s, const op_param *p)
{
    const char *const words[] = {p->standard, "none", "1"};

    for (int i = 0; i < 3 && s->n_legal == 0; i++) {
        try_value(s, p->key, words[i]);
    }
    conclude(s, 0);
}

static void try_param(searching *s, const op_param *p)
{
    switch (p->kind) {
    case PARAM_CHOICE:
        try_choices(s, p);
        break;
    case PARAM_INT:
    case PARAM_BOOL:
        try_numbers(s, p->key, case_number(s->c, p->key));
        break;
    default:
        try_words(s, p);
    }
}

/* Try the case; if it is legal its outputs are kept. */
static void try_case(searching *s, const test_case *c)
{
    legal_call *legal = &s->legal[0];

    legal->at = 0;
    if (is_legal(s->oracle, c, &legal->out)) {
        s->n_legal = 1;
    } else {
        tensor_set_clear(&legal->out);
    }
}

/* More than one is wrong: parameters take their defaults, one after the other
   and all of them in the end, and then sizes whole blocks, until the oracle is
   content. */
static void try_defaults(searching *s)
{
    char text[SENTENCE];
    test_case c = *s->c;

    for (int i = 0; i < c.schema->n_params && s->n_legal == 0; i++) {
        const op_param *p = &c.schema->params[i];
        (void)case_vary(&c, p->key, p->standard, (mxo_text){text, sizeof text});
        try_case(s, &c);
    }
    for (int d = 0; d < c.schema->n_dims && s->n_legal == 0; d++) {
        if (case_uses_dim(&c, d)) {
            (void)case_vary(&c, c.schema->dims[d], "128",
                            (mxo_text){text, sizeof text});
            try_case(s, &c);
        }
    }
    conclude(s, 0);
}

void nearest_find(subject *oracle, const test_case *c, nearest_outputs *near)
{
    searching s = {.oracle = oracle, .c = c, .near = near};

    memset(near, 0, sizeof *near);
    for (int i = 0; i < c->schema->n_params; i++) {
        try_param(&s, &c->schema->params[i]);
    }
    for (int d = 0; d < c->schema->n_dims; d++) {
        if (case_uses_dim(c, d)) {
            try_numbers(&s, c->schema->dims[d], (double)c->dim[d]);
        }
    }
    if (near->n == 0) {
        try_defaults(&s);
    }
}

void nearest_clear(nearest_outputs *near)
{
    while (near->n > 0) {
        tensor_set_clear(&near->set[--near->n]);
    }
}
