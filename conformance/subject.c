/* SPDX-License-Identifier: Apache-2.0 */
/* Driving a backend; see subject.h. */
#include "subject.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Bytes before and after a tensor; keeps offsets aligned for any device. */
enum { GUARD = 4096, MAX_OUT = 16, MAX_IN = MXO_MAX_TENSORS };

/* A tensor in the backend's memory: guard, bytes, guard. */
typedef struct placed {
    const host_tensor *host;
    void *buffer;
    uint8_t *image; /* owned: what was uploaded, guards included */
    uint8_t *back;  /* owned: what came back */
    uint64_t size;
} placed;

typedef struct stage {
    subject *s;
    const op_call *call;
    placed *in; /* owned, n_in of them */
    placed *out;
    uint32_t n_in;
    uint32_t n_out;
} stage;

mxo_status subject_open(subject *s, const mxo_backend *table, int device,
                        mxo_text why)
{
    memset(s, 0, sizeof *s);
    if (why.size > 0) {
        why.ptr[0] = '\0';
    }
    const mxo_status status = table->open(&s->ctx, device, why);

    if (status != MXO_OK) {
        return status;
    }
    s->table = table;
    table->describe(s->ctx, (mxo_text){s->device, sizeof s->device},
                    (mxo_text){s->driver, sizeof s->driver});
    return MXO_OK;
}

void subject_close(subject *s)
{
    if (s->table != NULL) {
        s->table->close(s->ctx);
    }
    memset(s, 0, sizeof *s);
}

int subject_has_op(const subject *s, const char *op)
{
    for (const char *const *name = s->table->ops; *name != NULL; name++) {
        if (strcmp(*name, op) == 0) {
            return 1;
        }
    }
    return 0;
}

static void describe(mxo_tensor *t, const host_tensor *h, void *buffer,
                     uint64_t offset)
{
    memset(t, 0, sizeof *t);
    t->name = h->name;
    t->dtype = h->dtype;
    t->rank = h->rank;
    memcpy(t->shape, h->shape, sizeof t->shape);
    t->n_bytes = h->n_bytes;
    t->offset = offset;
    t->buffer = buffer;
}

static mxo_call plain_call(const op_call *call)
{
    const mxo_call c = {
        .struct_size = sizeof(mxo_call),
        .n_params = call->n_params,
        .n_in = call->in->n,
        .op = call->op,
        .params = call->params,
    };

    return c;
}

mxo_status subject_infer(subject *s, const op_call *call, tensor_set *out,
                         mxo_text why)
{
    mxo_tensor in[MAX_IN];
    mxo_tensor want[MAX_OUT];
    uint32_t n = MAX_OUT;
    mxo_call c = plain_call(call);

    for (uint32_t i = 0; i < call->in->n; i++) {
        describe(&in[i], &call->in->t[i], call->in->t[i].data, 0);
    }
    c.in = in;
    if (s->table->infer == NULL) {
        (void)snprintf(why.ptr, why.size, "%s has no infer()", s->table->name);
        return MXO_E_UNSUPPORTED;
    }
    mxo_status status = s->table->infer(s->ctx, &c, want, &n, why);

    for (uint32_t i = 0; status == MXO_OK && i < n; i++) {
        status = tensor_set_add(out, want[i].name, want[i].dtype,
                                want[i].rank, want[i].shape, NULL);
        if (status != MXO_OK) {
            (void)snprintf(why.ptr, why.size, "no memory for %s",
                           want[i].name);
        }
    }
    return status;
}

/* Guard bytes change with their place, so that no constant can hide. */
static uint8_t guard_byte(uint64_t i)
{
    return (uint8_t)(0x9d + 37 * i);
}

static mxo_status place(stage *g, placed *p, const host_tensor *h,
                        mxo_text why)
{
    p->host = h;
    p->size = h->n_bytes + 2 * (uint64_t)GUARD;
    p->image = malloc(p->size);
    p->back = malloc(p->size);
    if (p->image == NULL || p->back == NULL ||
        g->s->table->alloc(g->s->ctx, p->size, &p->buffer) != MXO_OK) {
        (void)snprintf(why.ptr, why.size, "no memory for %" PRIu64 " bytes",
                       p->size);
        p->buffer = NULL;
        return MXO_E_NOMEM;
    }
    for (uint64_t i = 0; i < p->size; i++) {
        p->image[i] = guard_byte(i);
    }
    return MXO_OK;
}

static void unplace(stage *g, placed *p)
{
    if (p->buffer != NULL) {
        g->s->table->dealloc(g->s->ctx, p->buffer);
    }
    free(p->image);
    free(p->back);
}

static mxo_status send_one(stage *g, placed *p, mxo_text why)
{
    return g->s->table->upload(g->s->ctx, p->buffer, 0, p->image, p->size,
                               why);
}

static mxo_status fetch_one(stage *g, placed *p, mxo_text why)
{
    return g->s->table->download(g->s->ctx, p->back, p->buffer, 0, p->size,
                                 why);
}

static mxo_status place_inputs(stage *g, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; status == MXO_OK && i < g->call->in->n; i++) {
        const host_tensor *h = &g->call->in->t[i];
        g->n_in = i + 1;
        status = place(g, &g->in[i], h, why);
        if (status == MXO_OK && h->n_bytes > 0) {
            memcpy(g->in[i].image + GUARD, h->data, h->n_bytes);
        }
        status = status == MXO_OK ? send_one(g, &g->in[i], why) : status;
    }
    return status;
}

static mxo_status place_outputs(stage *g, const tensor_set *out, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; status == MXO_OK && i < out->n; i++) {
        g->n_out = i + 1;
        status = place(g, &g->out[i], &out->t[i], why);
    }
    return status;
}

/* Where and how a guard differs; "" if it does not. */
static void check_guards(const placed *p, char *text)
{
    for (uint64_t i = 0; i < p->size; i++) {
        const uint64_t end = GUARD + p->host->n_bytes;
        if (i == GUARD) {
            i = end;
        }
        if (text[0] != '\0' || p->back[i] == p->image[i]) {
            continue;
        }
        const int before = i < GUARD;
        (void)snprintf(text, SUBJECT_TEXT,
                       "%s: byte %" PRIu64 " %s was overwritten (%02x)",
                       p->host->name, before ? GUARD - i : i - end + 1,
                       before ? "before its start" : "past its end",
                       p->back[i]);
    }
}

static void check_input(const placed *p, char *text)
{
    for (uint64_t i = 0; text[0] == '\0' && i < p->host->n_bytes; i++) {
        if (p->back[GUARD + i] != p->image[GUARD + i]) {
            (void)snprintf(text, SUBJECT_TEXT,
                           "input %s: byte %" PRIu64 " was changed",
                           p->host->name, i);
        }
    }
}

static double now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static mxo_status send_outputs(stage *g, int fill, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; status == MXO_OK && i < g->n_out; i++) {
        memset(g->out[i].image + GUARD, fill, g->out[i].host->n_bytes);
        status = send_one(g, &g->out[i], why);
    }
    return status;
}

static mxo_status fetch_all(stage *g, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; status == MXO_OK && i < g->n_in; i++) {
        status = fetch_one(g, &g->in[i], why);
    }
    for (uint32_t i = 0; status == MXO_OK && i < g->n_out; i++) {
        status = fetch_one(g, &g->out[i], why);
    }
    return status;
}

static mxo_status call_once(stage *g, distrust *d, mxo_text why)
{
    mxo_tensor in[MAX_IN];
    mxo_tensor out[MAX_OUT];
    mxo_call c = plain_call(g->call);
    const double start = now_ms();

    for (uint32_t i = 0; i < g->n_in; i++) {
        describe(&in[i], g->in[i].host, g->in[i].buffer, GUARD);
    }
    for (uint32_t i = 0; i < g->n_out; i++) {
        describe(&out[i], g->out[i].host, g->out[i].buffer, GUARD);
    }
    c.in = in;
    c.out = out;
    c.n_out = g->n_out;
    const mxo_status status = g->s->table->run(g->s->ctx, &c, why);
    const mxo_status done = g->s->table->synchronize(
        g->s->ctx, status == MXO_OK ? why : (mxo_text){NULL, 0});

    d->ms = now_ms() - start;
    return status == MXO_OK ? done : status;
}

static void check_all_guards(const stage *g, distrust *d)
{
    for (uint32_t i = 0; i < g->n_in; i++) {
        check_guards(&g->in[i], d->guards);
        check_input(&g->in[i], d->inputs);
    }
    for (uint32_t i = 0; i < g->n_out; i++) {
        check_guards(&g->out[i], d->guards);
    }
}

/* A refused call must leave its outputs as they were. */
static void check_refusal(const stage *g, int fill, distrust *d)
{
    for (uint32_t i = 0; i < g->n_out; i++) {
        const placed *p = &g->out[i];
        for (uint64_t k = 0; k < p->host->n_bytes; k++) {
            if (d->refusal[0] == '\0' && p->back[GUARD + k] != fill) {
                (void)snprintf(d->refusal, sizeof d->refusal,
                               "refused, yet wrote byte %" PRIu64 " of %s", k,
                               p->host->name);
            }
        }
    }
}

static mxo_status run_filled(stage *g, int fill, distrust *d, mxo_text why)
{
    mxo_status status = send_outputs(g, fill, why);

    if (status != MXO_OK) {
        return status;
    }
    status = call_once(g, d, why);
    const mxo_status back =
        fetch_all(g, status == MXO_OK ? why : (mxo_text){NULL, 0});

    if (back == MXO_OK) {
        check_all_guards(g, d);
        if (status != MXO_OK) {
            check_refusal(g, fill, d);
        }
    }
    return status == MXO_OK ? back : status;
}

static void note_first(char *text, const host_tensor *t, uint64_t byte)
{
    if (text[0] == '\0') {
        (void)snprintf(text, SUBJECT_TEXT, "%s, byte %" PRIu64, t->name, byte);
    }
}

/* out[i].back holds the second run, out->t[i].data the first. */
static void compare_runs(const stage *g, const tensor_set *out, distrust *d)
{
    for (uint32_t i = 0; i < g->n_out; i++) {
        const host_tensor *t = &out->t[i];
        const uint8_t *second = g->out[i].back + GUARD;
        for (uint64_t k = 0; k < t->n_bytes; k++) {
            if (t->data[k] == second[k]) {
                continue;
            }
            if (t->data[k] == 0xaa && second[k] == 0x55) {
                d->n_unwritten++;
                note_first(d->unwritten, t, k);
            } else {
                d->n_changing++;
                note_first(d->changing, t, k);
            }
        }
    }
}

static mxo_status run_twice(stage *g, tensor_set *out, distrust *d,
                            mxo_text why)
{
    mxo_status status = run_filled(g, 0xaa, d, why);
    const double first_ms = d->ms;

    if (status != MXO_OK) {
        return status;
    }
    for (uint32_t i = 0; i < g->n_out; i++) {
        if (out->t[i].n_bytes > 0) {
            memcpy(out->t[i].data, g->out[i].back + GUARD,
                   out->t[i].n_bytes);
        }
    }
    status = run_filled(g, 0x55, d, why);
    d->ms = first_ms;
    if (status == MXO_OK) {
        compare_runs(g, out, d);
    }
    if (status == MXO_OK && g->s->table->kernel != NULL) {
        g->s->table->kernel(g->s->ctx,
                            (mxo_text){d->kernel, sizeof d->kernel});
        d->kernel[sizeof d->kernel - 1] = '\0';
    }
    return status;
}

mxo_status subject_run(subject *s, const op_call *call, tensor_set *out,
                       distrust *d, mxo_text why)
{
    stage g = {.s = s, .call = call};
    mxo_status status = MXO_E_NOMEM;

    memset(d, 0, sizeof *d);
    if (why.size > 0) {
        why.ptr[0] = '\0';
    }
    g.in = calloc((size_t)call->in->n + 1, sizeof *g.in);
    g.out = calloc((size_t)out->n + 1, sizeof *g.out);
    if (g.in != NULL && g.out != NULL && out->n <= MAX_OUT) {
        status = place_inputs(&g, why);
        status = status == MXO_OK ? place_outputs(&g, out, why) : status;
        status = status == MXO_OK ? run_twice(&g, out, d, why) : status;
    }
    for (uint32_t i = 0; g.in != NULL && i < g.n_in; i++) {
        unplace(&g, &g.in[i]);
    }
    for (uint32_t i = 0; g.out != NULL && i < g.n_out; i++) {
        unplace(&g, &g.out[i]);
    }
    free(g.in);
    free(g.out);
    return status;
}
