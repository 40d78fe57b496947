/* SPDX-License-Identifier: Apache-2.0 */
/* Setting a large case up and checking it.  See bench.h. */
#include "job.h"

#include "data/fill.h"
#include "device/launch.h"
#include "judge/bound.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(mxo_text why, const char *sentence, const char *name)
{
    (void)snprintf(why.ptr, why.size, "%s%s", sentence, name);
    return -1;
}

static uint64_t bytes_of(const tensor_set *set)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < set->n; i++) {
        n += set->t[i].n_bytes;
    }
    return n;
}

/* The dimension along which a case is repeated; -1 if it has none. */
static int repeated_dim(const test_case *c)
{
    const op_input *first = &c->schema->inputs[0];
    const int experts = op_dim_index(c->schema, "experts");
    const int rows = op_dim_index(c->schema, "rows");
    if (experts >= 0 && first->rank > 0 && first->shape[0].dim == experts) {
        return experts;
    }
    return rows >= 0 ? rows : op_dim_index(c->schema, "n");
}

/* Does input i have the case's first dimension in front? */
static int grows(const test_case *c, int i)
{
    const op_input *in = &c->schema->inputs[i];
    const int dim = repeated_dim(c);

    return in->rank > 0 && in->shape[0].dim == dim && dim >= 0;
}

void bench_describe(mxo_tensor *t, const host_tensor *h, uint64_t repeats)
{
    memset(t, 0, sizeof *t);
    t->name = h->name;
    t->dtype = h->dtype;
    t->rank = h->rank;
    memcpy(t->shape, h->shape, sizeof t->shape);
    t->shape[0] *= repeats;
    t->n_bytes = h->n_bytes * repeats;
}

/* Allocate, and send the small tensor as often as it fits. */
static int place(bench_job *job, mxo_tensor *t, const host_tensor *h,
                 mxo_text why)
{
    const mxo_backend *b = table_of(job);
    void *ctx = job->j->subject.ctx;

    if (b->alloc(ctx, t->n_bytes, &t->buffer) != MXO_OK) {
        t->buffer = NULL;
        return fail(why, "no memory for ", t->name);
    }
    for (uint64_t at = 0; at + h->n_bytes <= t->n_bytes && h->n_bytes > 0;
         at += h->n_bytes) {
        if (b->upload(ctx, t->buffer, at, h->data, h->n_bytes, why) != MXO_OK) {
            return -1;
        }
    }
    return 0;
}

static int place_inputs(bench_job *job, mxo_text why)
{
    uint32_t n = 0;

    for (int i = 0; i < job->c->schema->n_inputs; i++) {
        if (!case_has_input(job->c, i)) {
            continue;
        }
        mxo_tensor *t = &job->big_in[n];
        const host_tensor *h = &job->in.t[n];
        bench_describe(t, h,
                       job->layer.experts > 0
                           ? bench_layer_grows(&job->layer, job->c, i)
                           : (grows(job->c, i) ? job->repeats : 1));
        job->call.n_in = ++n;
        job->bytes += t->n_bytes;
        if (place(job, t, h, why) != 0 ||
            (job->layer.experts > 0 && strcmp(h->name, "topk_ids") == 0 &&
             bench_layer_ids(&job->layer, job->c, h, t, &job->j->subject,
                             why) != 0)) {
            return -1;
        }
    }
    return 0;
}

/* Outputs have the shapes the emulator gives them. */
static int place_outputs(bench_job *job, mxo_text why)
{
    const subject *oracle = &job->j->oracle;
    uint32_t n = JOB_MAX_OUT;

    if (oracle->table->infer(oracle->ctx, &job->call, job->big_out, &n, why) !=
        MXO_OK) {
        return -1;
    }
    for (uint32_t i = 0; i < n; i++) {
        mxo_tensor *t = &job->big_out[i];
        const host_tensor *h = &job->want.t[i];
        t->buffer = NULL;
        job->call.n_out = i + 1;
        job->bytes += t->n_bytes;
        if (t->n_bytes != h->n_bytes * job->repeats) {
            return fail(why, "repeating the case does not repeat ", t->name);
        }
        if (place(job, t, h, why) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Overwrite the first bytes that upload() put there: they must come back. */
int bench_spoil_outputs(bench_job *job, uint64_t parts, mxo_text why)
{
    static const uint8_t poison[64] = {0xa5, 0x5a, 0xa5, 0x5a};
    const mxo_backend *b = table_of(job);

    for (uint32_t i = 0; i < job->call.n_out; i++) {
        const mxo_tensor *t = &job->big_out[i];
        const uint64_t step = job->want.t[i].n_bytes;
        for (uint64_t at = 0; at + 64 <= t->n_bytes && at / step < parts;
             at += step) {
            if (b->upload(job->j->subject.ctx, t->buffer, at, poison, 64,
                          why) != MXO_OK) {
                return -1;
            }
        }
    }
    return 0;
}

/* Beyond the oracle's bounds? */
static int beyond_bounds(bench_job *job, const host_tensor *want,
                         const host_tensor *got)
{
    verdict_use use = {0};

    return bound_compare(&job->bound, want, got, &use).n_diff != 0;
}

/*
 * Part number r of a large output against the judged one: by its bits, or,
 * where the small case was judged by bounds, by those, since a row's sums may
 * come in another order wherever the row stands.
 */
static int part_differs(bench_job *job, uint32_t i, uint64_t r, int by_bounds,
                        host_tensor *got, mxo_text why)
{
    const host_tensor *want = &job->want.t[i];
    const mxo_backend *b = table_of(job);
    const op_call call = {job->call.op, job->call.params, job->call.n_params,
                          &job->in};
    const compare_rule *rule = compare_rule_for(&call, b->name, want->name);
    const host_tensor *mask =
        rule->mask[0] == '\0' ? NULL : tensor_set_find(&job->want, rule->mask);

    if (b->download(job->j->subject.ctx, got->data, job->big_out[i].buffer,
                    r * want->n_bytes, want->n_bytes, why) != MXO_OK) {
        return 1;
    }
    if (by_bounds ? !beyond_bounds(job, want, got)
                  : memcmp(got->data, want->data, (size_t)want->n_bytes) == 0 ||
                        compare_tensors(rule, want, got, mask).n_diff == 0) {
        return 0;
    }
    (void)snprintf(why.ptr, why.size,
                   "the large form differs: part %" PRIu64 " of %s%s", r,
                   want->name, by_bounds ? " is beyond its bounds" : "");
    return 1;
}

int bench_check_large(bench_job *job, mxo_text why)
{
    int status = 0;

    for (uint32_t i = 0; status == 0 && i < job->call.n_out; i++) {
        host_tensor got = job->want.t[i];
        got.data = malloc((size_t)got.n_bytes + 1);
        if (got.data == NULL) {
            return fail(why, "no memory for ", got.name);
        }
        const int by_bounds =
            job->bound.y != NULL && strcmp(got.name, "y") == 0;
        for (uint64_t r = 0; status == 0 && r < job->repeats; r++) {
            status = -part_differs(job, i, r, by_bounds, &got, why);
        }
        free(got.data);
    }
    return status;
}

/* Buffers of the copy, every page touched. */
static int place_copy(bench_job *job, mxo_text why)
{
    const size_t half = (size_t)(job->bytes / 2 / 64 * 64 + 64);

    if (bench_has_own_clock(job)) {
        return 0;
    }
    job->copy_from = aligned_alloc(64, half);
    job->copy_to = aligned_alloc(64, half);
    if (job->copy_from == NULL || job->copy_to == NULL) {
        return fail(why, "no memory for the copy", "");
    }
    memset(job->copy_from, 1, half);
    memset(job->copy_to, 2, half);
    return 0;
}

static int set_up(bench_job *job, const bench_options *o, mxo_text why)
{
    const uint64_t least =
        bench_has_own_clock(job) ? o->device_bytes : o->host_bytes;

    case_params(job->c, job->params);
    job->call.struct_size = sizeof job->call;
    job->call.op = job->c->schema->info->name;
    job->call.params = job->params;
    job->call.n_params = (uint32_t)job->c->schema->n_params;
    job->call.in = job->big_in;
    job->call.out = job->big_out;
    const uint64_t small = bytes_of(&job->in) + bytes_of(&job->want);
    job->repeats = small == 0 ? 1 : least / small + (least % small != 0);
    /* A case without such a dimension is timed as it is. */
    job->repeats =
        job->repeats == 0 || repeated_dim(job->c) < 0 ? 1 : job->repeats;
    if (bench_has_own_clock(job) && bench_layer_of(&job->layer, job->c, o)) {
        job->repeats = job->layer.by_tokens;
    }
    return place_inputs(job, why) == 0 && place_outputs(job, why) == 0 &&
                   launch_place_workspace(&job->j->subject, &job->call,
                                          &job->workspace, why) == 0 &&
                   bench_spoil_outputs(job, job->repeats, why) == 0 &&
                   bench_run_once(job, why) == 0 &&
                   bench_check_large(job, why) == 0 && place_copy(job, why) == 0
               ? 0
               : -1;
}

/* Bounds for the first part of the large form: as in a verdict, bits where the
   oracle knows no bounds. */
static void take_bounds(bench_job *job, const bound_row *row)
{
    const op_call call = {job->c->schema->info->name, job->params,
                          (uint32_t)job->c->schema->n_params, &job->in};
    char why[512];
    evidence e = {0};

    case_params(job->c, job->params);
    e.j = job->j;
    e.c = job->c;
    e.call = &call;
    if (bound_ask(&job->bound, &e, row, tensor_set_find(&job->want, "y"),
                  (mxo_text){why, sizeof why}) != 0) {
        bound_clear(&job->bound);
    }
}

/* The verdict of the case as written; its answer stays. */
static verdict_status judge_small(bench_job *job, const bench_options *o,
                                  mxo_text why)
{
    tensor_set got = {0};
    verdict v;

    if (fill_inputs(job->c, o->seed, &job->in, why) != 0) {
        return VERDICT_ERROR;
    }
    judgement g;

    judge_answer(job->j, job->c, &job->in, &job->want, &got, &g, &v);
    judgement_clear(&g);
    tensor_set_clear(&got);
    const verdict_status status = v.status;
    (void)snprintf(why.ptr, why.size, "%s", v.reason);
    job->emu = v.oracle_ms / 1e3;
    verdict_clear(&v);
    const bound_row *const row = bound_row_for(job->c, "y");
    if (status == VERDICT_PASS && row != NULL) {
        take_bounds(job, row);
    }
    return status;
}

static int is_small(const bench_options *o)
{
    return o->host_bytes + o->device_bytes + o->tokens + o->experts == 0;
}

/* A subject that declares how large a call may be is timed on the case as
   written, if the large form is beyond that. */
static verdict_status open_small(bench_job **job, judge *j, const test_case *c,
                                 const bench_options *o, int *is_large,
                                 mxo_text why)
{
    bench_options small = *o;

    small.host_bytes = small.device_bytes = small.tokens = small.experts = 0;
    return bench_open(job, j, c, &small, is_large, why);
}

verdict_status bench_open(bench_job **job, judge *j, const test_case *c,
                          const bench_options *o, int *is_large, mxo_text why)
{
    bench_job *const b = calloc(1, sizeof *b);
    *job = b;
    if (b == NULL) {
        (void)fail(why, "no memory", "");
        return VERDICT_ERROR;
    }
    b->j = j;
    b->c = c;
    verdict_status status = judge_small(b, o, why);

    *is_large = status == VERDICT_PASS;
    if (status == VERDICT_PASS && set_up(b, o, why) != 0) {
        status = VERDICT_FAIL;
        if (b->is_declined && !is_small(o)) {
            bench_close(job);
            return open_small(job, j, c, o, is_large, why);
        }
    }
    if (status != VERDICT_PASS) {
        bench_close(job);
    }
    return status;
}

void bench_close(bench_job **job)
{
    bench_job *b = *job;
    *job = NULL;
    if (b == NULL) {
        return;
    }
    for (uint32_t i = 0; i < b->call.n_in; i++) {
        table_of(b)->dealloc(b->j->subject.ctx, b->big_in[i].buffer);
    }
    for (uint32_t i = 0; i < b->call.n_out; i++) {
        table_of(b)->dealloc(b->j->subject.ctx, b->big_out[i].buffer);
    }
    launch_free_workspace(&b->j->subject, &b->workspace);
    tensor_set_clear(&b->in);
    tensor_set_clear(&b->want);
    bound_clear(&b->bound);
    free(b->copy_from);
    free(b->copy_to);
    free(b);
}
