/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See by_token.h.  Threads are joined before the call returns, so that a
 * process that is forked later has one thread.
 */
#include "by_token.h"

#include "base/tensors.h"
#include "case/opinfo.h"
#include "case/profile_fact.h"
#include "system/system.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 64, MOST_OUT = 16 };

/* Weight bytes times tokens that are worth a thread: some 50 ms. */
#define PART_WORTH ((uint64_t)1 << 22)

typedef struct by_token_row {
    const char *op;
    const char *inputs;
} by_token_row;

static const by_token_row rows[] = {
#define MXO_BY_BATCH(key, value)
#define MXO_BY_TOKEN(op, inputs) {op, inputs},
#include "by_token.def"
#undef MXO_BY_TOKEN
#undef MXO_BY_BATCH
};

typedef struct by_batch_row {
    const char *key;
    const char *value;
} by_batch_row;

static const by_batch_row batch_rows[] = {
#define MXO_BY_BATCH(key, value) {key, value},
#define MXO_BY_TOKEN(op, inputs)
#include "by_token.def"
#undef MXO_BY_TOKEN
#undef MXO_BY_BATCH
};

typedef struct part {
    const mxo_backend *table;
    void *ctx;
    mxo_call call;
    mxo_tensor in[MXO_MAX_TENSORS];
    mxo_tensor out[MOST_OUT];
    mxo_status status;
    pthread_t thread;
    int runs_apart;
} part;

static const by_token_row *row_of(const mxo_call *call)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].op, call->op) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static int has_row_per_token(const by_token_row *row, const mxo_tensor *t)
{
    const word_span inputs = {row->inputs, strlen(row->inputs)};

    return span_lists(inputs, t->name);
}

static const char *param(const mxo_call *call, const char *key)
{
    for (uint32_t i = 0; i < call->n_params; i++) {
        if (strcmp(call->params[i].key, key) == 0) {
            return call->params[i].text;
        }
    }
    return "";
}

/* Does a choice of the call, or of its profile, look at the batch? */
static int looks_at_batch(const mxo_call *call)
{
    for (size_t i = 0; i < sizeof batch_rows / sizeof batch_rows[0]; i++) {
        const by_batch_row *row = &batch_rows[i];
        const char *value = param(call, row->key);
        if (strcmp(value, "profile") == 0) {
            value = profile_fact(param(call, "profile"), row->key);
        }
        if (strcmp(value, row->value) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Does t have n rows of whole bytes? */
static int has_rows(const mxo_tensor *t, uint64_t n)
{
    return t->rank > 0 && t->shape[0] == n && t->n_bytes % n == 0;
}

uint64_t by_token_count(const mxo_call *call)
{
    const by_token_row *row = row_of(call);
    const uint64_t n =
        call->n_out > 0 && call->out[0].rank > 0 ? call->out[0].shape[0] : 0;

    if (row == NULL || n == 0 || call->n_in > MXO_MAX_TENSORS ||
        call->n_out > MOST_OUT || looks_at_batch(call)) {
        return 0;
    }
    for (uint32_t i = 0; i < call->n_out; i++) {
        if (!has_rows(&call->out[i], n)) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (has_row_per_token(row, &call->in[i]) &&
            !has_rows(&call->in[i], n)) {
            return 0;
        }
    }
    return n;
}

/* Rows first .. end of n. */
static void cut(mxo_tensor *t, uint64_t first, uint64_t end, uint64_t n)
{
    const uint64_t row_bytes = t->n_bytes / n;

    t->shape[0] = end - first;
    t->n_bytes = (end - first) * row_bytes;
    t->offset += first * row_bytes;
}

static void make_part(part *p, const mxo_call *call, uint64_t first,
                      uint64_t end, uint64_t n)
{
    const by_token_row *row = row_of(call);

    p->call = *call;
    p->call.in = p->in;
    p->call.out = p->out;
    for (uint32_t i = 0; i < call->n_in; i++) {
        p->in[i] = call->in[i];
        if (has_row_per_token(row, &call->in[i])) {
            cut(&p->in[i], first, end, n);
        }
    }
    for (uint32_t i = 0; i < call->n_out; i++) {
        p->out[i] = call->out[i];
        cut(&p->out[i], first, end, n);
    }
}

static void *run_part(void *state)
{
    part *p = state;
    char text[256];

    p->status = p->table->run(p->ctx, &p->call, (mxo_text){text, sizeof text});
    return NULL;
}

/* A part that gets no thread is run by this one. */
static int run_parts(part *parts, unsigned n_parts)
{
    int failed = 0;

    for (unsigned i = 1; i < n_parts; i++) {
        parts[i].runs_apart =
            pthread_create(&parts[i].thread, NULL, run_part, &parts[i]) == 0;
    }
    for (unsigned i = 0; i < n_parts; i++) {
        if (!parts[i].runs_apart) {
            (void)run_part(&parts[i]);
        }
    }
    for (unsigned i = 0; i < n_parts; i++) {
        if (parts[i].runs_apart) {
            (void)pthread_join(parts[i].thread, NULL);
        }
        failed |= parts[i].status != MXO_OK;
    }
    return failed;
}

/* The bytes of all outputs, into kept or back from there. */
static void move_outputs(const mxo_call *call, uint8_t *kept, int back)
{
    size_t at = 0;

    for (uint32_t i = 0; i < call->n_out; i++) {
        const mxo_tensor *t = &call->out[i];
        uint8_t *bytes = (uint8_t *)t->buffer + t->offset;
        const size_t n = (size_t)t->n_bytes;
        memcpy(back ? bytes : kept + at, back ? kept + at : bytes, n);
        at += n;
    }
}

static uint8_t *keep_outputs(const mxo_call *call)
{
    size_t n = 1;

    for (uint32_t i = 0; i < call->n_out; i++) {
        n += (size_t)call->out[i].n_bytes;
    }
    uint8_t *kept = malloc(n);

    if (kept != NULL) {
        move_outputs(call, kept, 0);
    }
    return kept;
}

/* A call that is refused is not written to: what parts before the refused one
   wrote is taken back. */
static mxo_status run_cut(part *parts, unsigned n_parts, const mxo_call *call,
                          mxo_text why)
{
    uint8_t *kept = keep_outputs(call);
    int failed = 1;

    if (kept != NULL) {
        failed = run_parts(parts, n_parts);
    }
    if (kept != NULL && failed) {
        move_outputs(call, kept, 1);
    }
    free(kept);
    return failed ? parts[0].table->run(parts[0].ctx, call, why) : MXO_OK;
}

mxo_status by_token_run(const mxo_backend *table, void *ctx,
                        const mxo_call *call, unsigned n_parts, mxo_text why)
{
    const uint64_t n = by_token_count(call);
    part parts[MOST_PARTS];
    uint64_t n_used = n_parts < MOST_PARTS ? n_parts : MOST_PARTS;

    n_used = n_used < n ? n_used : n;
    if (n_used < 2) {
        return table->run(ctx, call, why);
    }
    for (uint64_t i = 0; i < n_used; i++) {
        parts[i].table = table;
        parts[i].ctx = ctx;
        parts[i].runs_apart = 0;
        make_part(&parts[i], call, i * n / n_used, (i + 1) * n / n_used, n);
    }
    return run_cut(parts, (unsigned)n_used, call, why);
}

/* Bytes that every token may read: of one expert, where a tensor has them. */
static uint64_t shared_bytes(const mxo_call *call)
{
    const by_token_row *row = row_of(call);
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < call->n_in; i++) {
        const mxo_tensor *t = &call->in[i];
        if (!has_row_per_token(row, t) && t->rank > 1 && t->shape[0] > 0) {
            bytes += t->n_bytes / t->shape[0];
        }
    }
    return bytes;
}

mxo_status by_token_run_all_cores(const mxo_backend *table, void *ctx,
                                  const mxo_call *call, mxo_text why)
{
    const uint64_t n = by_token_count(call);
    const uint64_t worth = n == 0 ? 0 : n * shared_bytes(call) / PART_WORTH;
    const unsigned cores = worth < 2 ? 1 : system_cores();

    return by_token_run(table, ctx, call,
                        worth < cores ? (unsigned)worth : cores, why);
}
