/* SPDX-License-Identifier: Apache-2.0 */
/* See refused_call.h. */
#include "refused_call.h"

#include "call_before.h"
#include "case/opinfo.h"

#include <stdio.h>
#include <string.h>

/* Calls up to SMALL bytes are made behind one, one in four up to LARGE, and one
   in 32 of the others. */
enum { SMALL = 1 << 12, LARGE = 1 << 16 };

/* A call in the making: everything is changed in place. */
typedef struct refused {
    mxo_call call;
    mxo_param params[OP_MAX_PARAMS + 1];
    mxo_tensor in[MXO_MAX_TENSORS];
    mxo_tensor out[MAX_OUT];
    mxo_tensor workspace;
} refused;

/* Which tensor or parameter, of n. */
static uint32_t draw_one(uint64_t drawn, uint32_t n)
{
    return (uint32_t)(drawn % n);
}

/* Each of these as the row of its name in case/invalid_calls.def; its target,
   or NULL: there is none. */
static const char *spoil_bytes(refused *r, uint64_t drawn)
{
    const uint32_t n = r->call.n_in + r->call.n_out;
    const uint32_t i = draw_one(drawn, n == 0 ? 1 : n);
    mxo_tensor *t = i < r->call.n_in ? &r->in[i] : &r->out[i - r->call.n_in];

    if (n == 0 || t->n_bytes == 0) {
        return NULL;
    }
    t->n_bytes--;
    return t->name;
}

static const char *spoil_flat(refused *r, uint64_t drawn)
{
    const uint32_t n_in = r->call.n_in;
    mxo_tensor *t = &r->in[draw_one(drawn, n_in == 0 ? 1 : n_in)];
    uint64_t n = 1;

    if (n_in == 0 || t->rank == 0) {
        return NULL;
    }
    for (uint32_t i = 0; i < t->rank; i++) {
        n *= t->shape[i];
    }
    t->shape[0] = t->rank == 1 ? 1 : n;
    t->shape[1] = n;
    t->rank = t->rank == 1 ? 2 : 1;
    return t->name;
}

static const char *spoil_missing(refused *r, uint64_t drawn)
{
    if (r->call.n_in == 0) {
        return NULL;
    }
    const uint32_t i = draw_one(drawn, r->call.n_in);
    const char *const name = r->in[i].name;

    r->call.n_in--;
    memmove(&r->in[i], &r->in[i + 1], (r->call.n_in - i) * sizeof r->in[0]);
    return name;
}

static const char *spoil_unset(refused *r, uint64_t drawn)
{
    if (r->call.n_params == 0) {
        return NULL;
    }
    const uint32_t i = draw_one(drawn, r->call.n_params);
    const char *const key = r->params[i].key;

    r->call.n_params--;
    memmove(&r->params[i], &r->params[i + 1],
            (r->call.n_params - i) * sizeof r->params[0]);
    return key;
}

static const char *spoil_value(refused *r, uint64_t drawn)
{
    if (r->call.n_params == 0) {
        return NULL;
    }
    mxo_param *p = &r->params[draw_one(drawn, r->call.n_params)];

    *p = (mxo_param){p->key, "no_such_value", 0};
    return p->key;
}

static void spoil_unknown(refused *r)
{
    r->params[r->call.n_params++] = (mxo_param){"no_such_parameter", "1", 1};
}

/* One flaw; flaw: its name, as a case has it. */
static void spoil(refused *r, uint64_t drawn, mxo_text flaw)
{
    static const struct {
        const char *name;
        const char *(*make)(refused *r, uint64_t drawn);
    } rows[] = {{"bytes", spoil_bytes},     {"flat", spoil_flat},
                {"missing", spoil_missing}, {"unset", spoil_unset},
                {"value", spoil_value},     {"unknown", NULL}};
    enum { N = sizeof rows / sizeof rows[0] };
    const uint32_t i = draw_one(drawn, N);
    const char *const target =
        rows[i].make == NULL ? NULL : rows[i].make(r, drawn / N);

    if (target == NULL) {
        spoil_unknown(r);
        (void)snprintf(flaw.ptr, flaw.size, "flaw=unknown");
    } else {
        (void)snprintf(flaw.ptr, flaw.size, "flaw=%s.%s", rows[i].name, target);
    }
}

static void describe(const stage *g, refused *r)
{
    const op_call *c = g->call;

    memset(r, 0, sizeof *r);
    r->call = (mxo_call){.struct_size = sizeof r->call,
                         .n_params = c->n_params,
                         .n_in = g->n_in,
                         .n_out = g->n_out,
                         .op = c->op,
                         .params = r->params,
                         .in = r->in,
                         .out = r->out};
    memcpy(r->params, c->params, c->n_params * sizeof r->params[0]);
    for (uint32_t i = 0; i < g->n_in; i++) {
        stage_describe_placed(&r->in[i], &g->in[i]);
    }
    for (uint32_t i = 0; i < g->n_out; i++) {
        stage_describe_placed(&r->out[i], &g->out[i]);
    }
}

/* It may be refused as soon as it asks how much workspace it needs. */
static void add_workspace(stage *g, refused *r, mxo_text unheard)
{
    const subject *s = g->s;
    uint64_t n_bytes = 0;

    if (s->table->workspace != NULL &&
        s->table->workspace(s->ctx, &r->call, &n_bytes, unheard) == MXO_OK &&
        n_bytes > 0 &&
        stage_place_workspace(g, n_bytes, 0, unheard) == MXO_OK) {
        stage_describe_placed(&r->workspace, &g->workspace);
        r->call.workspace = &r->workspace;
    }
}

static void make(stage *g, uint64_t drawn, mxo_text flaw)
{
    const subject *s = g->s;
    char text[SUBJECT_TEXT];
    const mxo_text unheard = {text, sizeof text};
    refused r;

    describe(g, &r);
    spoil(&r, drawn, flaw);
    add_workspace(g, &r, unheard);
    if (s->link != NULL) {
        s->link->ahead(s->link->state, 1);
    }
    if (s->table->run(s->ctx, &r.call, unheard) == MXO_OK) {
        (void)s->table->synchronize(s->ctx, unheard);
    }
}

static uint64_t draw(const stage *g)
{
    const uint64_t h =
        (launch_hash(g) ^ UINT64_C(0x5eed)) * UINT64_C(0x9e3779b97f4a7c15);

    return h ^ h >> 32;
}

int refused_call_is_before(const stage *g, refused_kind kind)
{
    const subject *s = g->s;
    const uint64_t n = launch_bytes(g);
    const uint64_t one_in = n <= SMALL ? 1 : n <= LARGE ? 4 : 32;
    const call_before *b = call_before_drawn(g);
    const int is_legal_only =
        kind == REFUSED_OPERATION ? b == NULL || b->legal_only : s->legal_only;

    return s->decoy && !is_legal_only && (draw(g) >> 32) % one_in == 0;
}

/* Elsewhere: the call of other sizes on noise, or of another operation. */
static int place_other(stage *other, stage *g, int is_operation)
{
    subject *s = g->s;
    char text[SUBJECT_TEXT];
    const mxo_text unheard = {text, sizeof text};

    return (is_operation
                ? call_before_place(other, s, call_before_drawn(g), unheard)
                : stage_place_call(other, s, s->other, s->other_out, 1,
                                   unheard)) == MXO_OK;
}

void refused_call_make(stage *g, refused_kind kind, mxo_text words)
{
    const subject *s = g->s;
    const uint64_t drawn = draw(g) >> (kind == REFUSED_OPERATION ? 4 : 12);
    const int is_operation = kind == REFUSED_OPERATION;
    const int is_other = !is_operation && s->other != NULL &&
                         s->other_out->n <= MAX_OUT && (drawn & 1) != 0;
    char flaw[SUBJECT_TEXT] = "flaw=none";
    const mxo_text text = {flaw, sizeof flaw};
    stage other;

    memset(&other, 0, sizeof other);
    if (!is_operation && !is_other) {
        make(g, drawn >> 1, text);
    } else if (place_other(&other, g, is_operation)) {
        make(&other, drawn >> 1, text);
    }
    stage_release(&other);
    (void)snprintf(words.ptr, words.size, "behind a refused call%s%s%s%.100s",
                   is_operation ? " of another operation: "
                   : is_other   ? " of other "
                                : ": ",
                   is_operation ? call_before_drawn(g)->name
                   : is_other   ? s->other_has
                                : "",
                   is_operation ? ","
                   : is_other   ? ": "
                                : "",
                   flaw);
}
