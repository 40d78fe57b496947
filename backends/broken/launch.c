/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways of calling that this backend declares: gaps between rows, tensors
 * hardly aligned, a workspace, streams, graphs; and their faults.
 */
#include "launch.h"

#include <stdlib.h>
#include <string.h>

enum { WORKSPACE = 64, LARGE = 12 << 20, MARK = 0x77, STEP = 16, FEW = 4096 };

static int has_gaps(const mxo_tensor *t)
{
    return t->rank > 0 && t->stride[0] != 0;
}

int broken_has_gaps(const mxo_call *call)
{
    int found = 0;

    for (uint32_t i = 0; i < call->n_in; i++) {
        found |= has_gaps(&call->in[i]);
    }
    for (uint32_t i = 0; i < call->n_out; i++) {
        found |= has_gaps(&call->out[i]);
    }
    return found;
}

static uint64_t rows_of(const mxo_tensor *t)
{
    uint64_t n = 1;

    for (uint32_t a = 0; a + 1 < t->rank; a++) {
        n *= t->shape[a];
    }
    return n;
}

/* Where a row begins; is_out: of an output. */
static uint8_t *row_at(const broken *b, const mxo_tensor *t, uint64_t r,
                       int is_out)
{
    uint8_t *at = tensor_address(t);
    const uint64_t row_bytes = t->n_bytes / rows_of(t);

    if ((IS(H44) && !is_out) || (IS(H47) && is_out)) {
        return at + r * row_bytes;
    }
    for (uint32_t a = t->rank - 1; a-- > 0; r /= t->shape[a]) {
        const int is_expert = a == 0 && t->rank == 3;
        at +=
            r % t->shape[a] *
            (IS(H45) && is_expert ? t->shape[1] * t->stride[1] : t->stride[a]);
    }
    return at;
}

static void copy_rows(const broken *b, const mxo_tensor *t, uint8_t *dense,
                      int is_out)
{
    const uint64_t rows = rows_of(t);
    const uint64_t n = t->n_bytes / rows;

    for (uint64_t r = 0; r < rows; r++) {
        uint8_t *row = row_at(b, t, r, is_out);
        if (!is_out) {
            memcpy(dense + r * n, row, (size_t)n);
            continue;
        }
        memcpy(row, dense + r * n, (size_t)n);
        if (IS(H46)) {
            row[n] ^= 1;
        }
    }
}

static const mxo_tensor *tensor_of(const mxo_call *call, uint32_t i)
{
    return i < call->n_in ? &call->in[i] : &call->out[i - call->n_in];
}

/* Is something between one of axis a's and the next? */
static int is_apart(const mxo_tensor *t, uint32_t a)
{
    return t->stride[a] != t->shape[a + 1] * t->stride[a + 1];
}

/* H92 to H94, H102, H103. */
static int has_wrong_gaps(const broken *b, const mxo_tensor *t)
{
    if (t->rank < 2 || !has_gaps(t)) {
        return 0;
    }
    const int is_first = is_apart(t, 0);
    const int is_row = is_apart(t, t->rank - 2);

    const uint32_t last = t->rank - 1;
    const uint64_t wider = (t->shape[last] + 1) * t->stride[last];

    return (IS(H102) && t->stride[last - 1] == wider) ||
           (IS(H103) && rows_of(t) == 1) || (IS(H92) && !is_first && !is_row) ||
           (IS(H93) && is_first && !is_row) || (IS(H94) && !is_first && is_row);
}

static unsigned past_step(const mxo_tensor *t)
{
    return (unsigned)((uintptr_t)tensor_address(t) % STEP);
}

/* H118: does a small call have a tensor 64 KiB from where its buffer begins? */
static int is_far(const mxo_call *call)
{
    int found = 0;

    for (uint32_t i = 0; i < call->n_in + call->n_out; i++) {
        found |= tensor_of(call, i)->offset > UINT16_MAX;
    }
    return found && call->in[0].n_bytes <= FEW;
}

/* H100, H101, H104, H118. */
static int has_wrong_places(const broken *b, const mxo_call *call)
{
    const unsigned x = past_step(&call->in[0]);
    const unsigned y = past_step(&call->out[0]);

    return (IS(H100) && y == STEP / 2) || (IS(H101) && x != 0 && y == 0) ||
           (IS(H118) && is_far(call)) ||
           (IS(H104) && x + y != 0 &&
            call_is(call, "conversion", "triton_strided_gate_up"));
}

int broken_forgets(const broken *b, const mxo_call *call)
{
    return (IS(H109) && broken_has_gaps(call)) || (IS(H110) && b->is_launch) ||
           (IS(H111) && call->stream != NULL) || (IS(H112) && b->is_later) ||
           (IS(H113) && past_step(&call->in[0]) != 0);
}

int broken_is_wrong_way(const broken *b, const mxo_call *call)
{
    const int is_stream = call->stream != NULL;
    const int has_wrong_stream = (IS(H90) && is_stream && !b->is_launch) ||
                                 (IS(H91) && !is_stream && b->is_launch);
    int found = (has_wrong_stream && broken_has_gaps(call)) || b->is_moved ||
                (IS(H96) && is_stream && b->is_later) ||
                has_wrong_places(b, call);

    for (uint32_t i = 0; i < call->n_in + call->n_out; i++) {
        found |= has_wrong_gaps(b, tensor_of(call, i));
    }
    return found;
}

/* Outputs too hold what they held: not every mutant writes them. */
static int make_dense(const broken *b, mxo_tensor *t)
{
    uint8_t *dense = malloc((size_t)t->n_bytes + 1);

    if (dense == NULL) {
        return 0;
    }
    copy_rows(b, t, dense, 0);
    memset(t->stride, 0, sizeof t->stride);
    t->buffer = dense;
    t->offset = 0;
    return 1;
}

mxo_status broken_run_dense(broken *b, const mxo_call *call, broken_run_fn *run,
                            mxo_text why)
{
    broken_job *job = calloc(1, sizeof *job);
    int good = job != NULL && broken_keep(job, call);

    for (uint32_t i = 0; good && i < call->n_in; i++) {
        good = !has_gaps(&call->in[i]) || make_dense(b, &job->in[i]);
    }
    for (uint32_t i = 0; good && i < call->n_out; i++) {
        good = !has_gaps(&call->out[i]) || make_dense(b, &job->out[i]);
    }
    const mxo_status status =
        good ? run(b, &job->call, why)
             : broken_fail(MXO_E_NOMEM, why, "no memory for dense tensors");

    for (uint32_t i = 0; job != NULL && i < call->n_in; i++) {
        if (job->in[i].buffer != call->in[i].buffer) {
            free(job->in[i].buffer);
        }
    }
    for (uint32_t i = 0; job != NULL && i < call->n_out; i++) {
        if (job->out[i].buffer == call->out[i].buffer) {
            continue;
        }
        if (status == MXO_OK) {
            copy_rows(b, &call->out[i], job->out[i].buffer, 1);
        }
        free(job->out[i].buffer);
    }
    free(job);
    return status;
}

mxo_status broken_workspace(void *ctx, const mxo_call *call, uint64_t *n_bytes,
                            mxo_text why)
{
    const broken *b = ctx;

    (void)call;
    (void)why;
    *n_bytes = IS(H105) || IS(H106) ? LARGE : WORKSPACE;
    return MXO_OK;
}

/* Anything but 0 in the half around its middle? */
static int is_used(const mxo_tensor *room)
{
    const uint8_t *at = tensor_address(room) + room->n_bytes / 4;
    const uint8_t *const end = at + room->n_bytes / 2;

    while (at < end && *at == 0) {
        at++;
    }
    return at < end;
}

void broken_use_workspace(const broken *b, const mxo_call *call)
{
    uint8_t *room =
        call->workspace == NULL ? NULL : tensor_address(call->workspace);
    const int was_zero = room != NULL && room[0] == 0;
    const int was_kept = room != NULL && (b->runs <= 1 || room[0] == MARK);

    if (room == NULL) {
        return;
    }
    memset(room, MARK, (size_t)WORKSPACE + IS(H48));
    if (IS(H106)) {
        room[LARGE] = MARK;
    }
    if ((IS(H105) && is_used(call->workspace)) || (IS(H49) && !was_zero) ||
        (IS(H50) && !was_kept)) {
        tensor_address(&call->out[0])[0] ^= 1;
    }
}

/* H51: the first input as if its address were a multiple of sixteen bytes. */
void broken_align(const mxo_call *call, broken_job *job)
{
    if (broken_keep(job, call)) {
        const uintptr_t at = (uintptr_t)tensor_address(&call->in[0]);
        job->in[0].offset -= at % STEP;
    }
}

mxo_status broken_stream_open(void *ctx, void **stream, mxo_text why)
{
    broken *b = ctx;

    (void)why;
    b->n_streams++;
    char *const at = b->stream + b->n_streams % sizeof b->stream;

    *at = 0;
    *stream = b->last_stream = at;
    return MXO_OK;
}

void broken_stream_close(void *ctx, void *stream)
{
    (void)ctx;
    *(char *)stream = 1;
}

void broken_end_uploads(broken *b)
{
    while (b->uploads != NULL) {
        broken_upload *u = b->uploads;
        memcpy(u->to, u->bytes, (size_t)u->n_bytes);
        b->uploads = u->next;
        free(u);
    }
}

mxo_status broken_put_upload(broken *b, uint8_t *to, const void *src,
                             uint64_t n_bytes, mxo_text why)
{
    if (!IS(V40) && !IS(V42) && !IS(H52) && !IS(H62) && !IS(H78)) {
        memcpy(to, src, (size_t)n_bytes);
        return MXO_OK;
    }
    broken_upload *u = malloc(sizeof *u + (size_t)n_bytes);
    if (u == NULL) {
        return broken_fail(MXO_E_NOMEM, why, "no memory for an upload");
    }
    *u = (broken_upload){b->uploads, to, n_bytes};
    memcpy(u->bytes, src, (size_t)n_bytes);
    b->uploads = u;
    return MXO_OK;
}

static uint64_t span_of(const mxo_tensor *t)
{
    uint64_t n = t->n_bytes;

    if (has_gaps(t)) {
        n /= rows_of(t);
        for (uint32_t a = 0; a + 1 < t->rank; a++) {
            n += (t->shape[a] - 1) * t->stride[a];
        }
    }
    return n;
}

/* H53 keeps what all inputs held, H54 what the indices did. */
static void keep_data(const broken *b, broken_job *job)
{
    for (uint32_t i = 0; i < job->call.n_in; i++) {
        mxo_tensor *t = &job->in[i];
        const uint64_t n = span_of(t);
        uint8_t *copy = NULL;
        if (n > 0 && (IS(H53) || (IS(H54) && t->dtype == MXO_I32))) {
            copy = malloc((size_t)n);
        }
        if (copy != NULL) {
            memcpy(copy, tensor_address(t), (size_t)n);
            t->buffer = copy;
            t->offset = 0;
            job->owns[i] = 1;
        }
    }
}

enum { MOST_CHOICES = 256 };

/* Number of the input with the choices of experts; n_in: there is none that is
   small enough. */
static uint32_t choices_of(const mxo_call *call)
{
    uint32_t i = 0;

    while (i < call->n_in &&
           (strcmp(call->in[i].name, "topk_ids") != 0 ||
            call->in[i].n_bytes > MOST_CHOICES * sizeof(int32_t))) {
        i++;
    }
    return i;
}

static void copy_choices(const broken *b, const mxo_tensor *t, int32_t *to)
{
    if (has_gaps(t)) {
        copy_rows(b, t, (uint8_t *)to, 0);
    } else {
        memcpy(to, tensor_address(t), (size_t)t->n_bytes);
    }
}

void broken_keep_choices(broken *b, const mxo_call *call)
{
    const uint32_t i = choices_of(call);

    if (IS(H59) && i < call->n_in && call->in[i].n_bytes > 0) {
        copy_choices(b, &call->in[i], b->past->choices);
        b->past->n_choices = broken_elems(&call->in[i]);
    }
}

/* The most rows that an expert has; those beyond its room become the first
   one's. */
static uint64_t count_choices(int32_t *ids, uint64_t n, uint64_t room)
{
    uint64_t most = 0;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t rows = 1;
        for (uint64_t k = 0; k < i; k++) {
            rows += ids[k] == ids[i];
        }
        most = rows > most ? rows : most;
        ids[i] = rows > room ? ids[0] : ids[i];
    }
    return most;
}

/* H59 puts in the choices of the last plain call, H60 a copy for launches. */
static void keep_routing(const broken *b, broken_job *job)
{
    const uint32_t i = choices_of(&job->call);
    mxo_tensor *t = &job->in[i];
    const uint64_t n = i < job->call.n_in ? broken_elems(t) : 0;
    int32_t *copy =
        n > 0 && (IS(H59) || IS(H60)) ? malloc(4 * (size_t)n) : NULL;

    if (copy == NULL) {
        return;
    }
    job->choices = *t;
    copy_choices(b, t, copy);
    job->room = count_choices(copy, n, n);
    if (IS(H59) && b->past->n_choices == n) {
        memcpy(copy, b->past->choices, 4 * (size_t)n);
    }
    memset(t->stride, 0, sizeof t->stride);
    t->buffer = copy;
    t->offset = 0;
    job->owns[i] = 1;
}

void broken_launching(const broken *b, broken_job *job)
{
    const uint32_t i = choices_of(&job->call);

    if (IS(H60) && i < job->call.n_in && job->room > 0) {
        int32_t *ids = job->in[i].buffer;
        copy_choices(b, &job->choices, ids);
        (void)count_choices(ids, broken_elems(&job->in[i]), job->room);
    }
}

mxo_status broken_capture(broken *b, const mxo_call *call, void **graph,
                          mxo_text why)
{
    broken_job *job = calloc(1, sizeof *job);

    if (job == NULL || !broken_keep(job, call)) {
        free(job);
        return broken_fail(MXO_E_NOMEM, why, "no memory for a graph");
    }
    keep_data(b, job);
    keep_routing(b, job);
    b->captured = job;
    job->n_plain = b->n_plain;
    job->n_grown = b->n_grown;
    *graph = job;
    return MXO_OK;
}

mxo_tensor broken_put_slot(const broken *b, broken_job *job)
{
    const mxo_tensor given = job->in[0];
    const uint64_t n_slots = IS(H116) ? 4 : 16;
    const size_t n = (size_t)span_of(&given);

    if (!IS(H116) && !IS(H117)) {
        return given;
    }
    job->n_slots += job->n_synchronized != b->n_synchronized;
    job->n_synchronized = b->n_synchronized;
    uint8_t **slot = &job->slot[job->n_slots % n_slots];

    if (*slot == NULL && (*slot = malloc(n + 1)) != NULL) {
        memcpy(*slot, tensor_address(&given), n);
    }
    if (*slot != NULL) {
        job->in[0].buffer = *slot;
        job->in[0].offset = 0;
    }
    return given;
}

void broken_launched(const broken *b, broken_job *job)
{
    const mxo_tensor *y = &job->out[0];
    const size_t n = (size_t)span_of(y);

    if (!IS(H58)) {
        return;
    }
    if (job->answer != NULL) {
        memcpy(tensor_address(y), job->answer, n);
        return;
    }
    job->answer = malloc(n + 1);
    if (job->answer != NULL) {
        memcpy(job->answer, tensor_address(y), n);
    }
}

void broken_graph_close(void *ctx, void *graph)
{
    broken *b = ctx;
    broken_job *job = graph;

    b->captured = b->captured == job ? NULL : b->captured;
    for (uint32_t i = 0; i < job->call.n_in; i++) {
        if (job->owns[i]) {
            free(job->in[i].buffer);
        }
    }
    for (size_t i = 0; i < sizeof job->slot / sizeof job->slot[0]; i++) {
        free(job->slot[i]);
    }
    free(job->answer);
    free(job);
}
