/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ABI table of the broken backend: open() picks the fault, describe()
 * says it in place of a driver as "ID CLASS OPERATION: what is wrong (source)",
 * which is all that the self-test knows about a mutant.
 */
#include "backend.h"

#include "broken.h"
#include "launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct mutant_row {
    const char *id;
    const char *device;
    const char *driver;
} mutant_row;

static const mutant_row rows[] = {
#define MXO_MUTANT(id, class, op, what, source) \
    {#id, "mutant " #id, #id " " class " " op ": " what " (" source ")"},
#include "mutants.def"
#undef MXO_MUTANT
};

static const struct {
    const char *name;
    broken_op_fn run;
} operations[] = {
#define BROKEN_OP(symbol, name) {name, broken_##symbol},
#include "ops.def"
#undef BROKEN_OP
};

static const char *const op_names[] = {
#define BROKEN_OP(symbol, name) name,
#include "ops.def"
#undef BROKEN_OP
    NULL,
};

/* V13: what a handle points to is not the memory, but where to find it. */
typedef struct box {
    uint8_t *memory;
} box;

static uint8_t *memory_of(const broken *b, void *handle)
{
    return IS(V13) ? ((const box *)handle)->memory : handle;
}

/* H57: the context that was opened last, of those that are open. */
static broken *latest;
/* H81: how many were closed. */
static uint64_t n_closed;
/* H115: the context of the last call that waits. */
static const broken *waits;
/* H114: a waiting call of any context, and whose it is. */
static broken_job shared;
static const broken *owner;

uint64_t broken_closed(void)
{
    return n_closed;
}

static void backend_close(void *ctx)
{
    broken *b = ctx;

    latest = latest == b ? NULL : latest;
    waits = waits == b ? NULL : waits;
    owner = owner == b ? NULL : owner;
    if (b != NULL) {
        n_closed++;
        broken_end_uploads(b);
        free(b->first);
        free(b->layout);
        free(b->past);
        free(b);
    }
}

static mxo_status backend_open(void **ctx, int device, mxo_text why)
{
    if (device < 0 || device >= BROKEN_COUNT) {
        return broken_fail(MXO_E_DEVICE, why, "there is no such mutant");
    }
    broken *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return broken_fail(MXO_E_NOMEM, why, "no memory for a context");
    }
    b->mutant = device;
    b->layout = broken_layout_memory();
    b->past = calloc(1, sizeof *b->past);
    if (b->past == NULL) {
        backend_close(b);
        return broken_fail(MXO_E_NOMEM, why, "no memory for a context");
    }
    if (latest != NULL) {
        latest->is_former = b->is_later = latest->mutant == device;
    }
    b->n_closed = n_closed;
    *ctx = latest = b;
    return MXO_OK;
}

static void backend_describe(void *ctx, mxo_text device, mxo_text driver)
{
    const broken *b = ctx;
    const mutant_row *row = &rows[b->mutant];
    const int other = IS(H26) && b->runs > 0;

    (void)broken_fail(MXO_OK, device,
                      IS(H12) ? ""
                      : other ? rows[0].device
                              : row->device);
    (void)broken_fail(MXO_OK, driver, row->driver);
}

static mxo_status backend_alloc(void *ctx, uint64_t n_bytes, void **buffer)
{
    const broken *b = ctx;

    if (IS(H84) && b->waiting != NULL) {
        b->waiting[0] ^= 1;
    }
    *buffer = n_bytes < SIZE_MAX ? malloc((size_t)n_bytes + 1) : NULL;
    if (IS(V13) && *buffer != NULL) {
        box *handle = malloc(sizeof *handle);
        if (handle == NULL) {
            free(*buffer);
        } else {
            handle->memory = *buffer;
        }
        *buffer = handle;
    }
    return *buffer == NULL ? MXO_E_NOMEM : MXO_OK;
}

static void backend_dealloc(void *ctx, void *buffer)
{
    const broken *b = ctx;

    if (IS(V13) && buffer != NULL) {
        free(memory_of(b, buffer));
    }
    free(buffer);
}

static mxo_status backend_upload(void *ctx, void *buffer, uint64_t offset,
                                 const void *src, uint64_t n_bytes,
                                 mxo_text why)
{
    const broken *b = ctx;
    uint8_t *to = memory_of(b, buffer);

    (void)why;
    n_bytes -= IS(H21) && n_bytes > 0;
    memcpy(to + offset, src, (size_t)n_bytes);
    return MXO_OK;
}

static mxo_status backend_download(void *ctx, void *dst, void *buffer,
                                   uint64_t offset, uint64_t n_bytes,
                                   mxo_text why)
{
    const broken *b = ctx;
    const uint8_t *from = memory_of(b, buffer);

    (void)why;
    n_bytes -= IS(H22) && n_bytes > 0;
    memcpy(dst, from + offset, (size_t)n_bytes);
    return MXO_OK;
}

static broken_op_fn find(const char *op)
{
    for (unsigned i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (strcmp(operations[i].name, op) == 0) {
            return operations[i].run;
        }
    }
    return NULL;
}

/* V13: the call with the addresses that its handles stand for. */
static const mxo_call *unbox(broken *b, const mxo_call *call)
{
    broken_job *job = &b->job;

    if (!broken_keep(job, call)) {
        return NULL;
    }
    job->waiting = 0;
    for (uint32_t i = 0; i < call->n_in; i++) {
        job->in[i].buffer = memory_of(b, call->in[i].buffer);
    }
    for (uint32_t i = 0; i < call->n_out; i++) {
        job->out[i].buffer = memory_of(b, call->out[i].buffer);
    }
    if (call->workspace != NULL) {
        job->workspace.buffer = memory_of(b, call->workspace->buffer);
    }
    return &job->call;
}

/* A call whose handles are addresses, on dense tensors. */
static mxo_status run_plain(broken *b, const mxo_call *call, mxo_text why)
{
    const mxo_status legal = broken_legal(b, call, why);

    if (legal != MXO_OK) {
        return b->forgets ? MXO_OK : legal;
    }
    MXO_TRY(broken_around(b, find(call->op), call, why));
    broken_use_workspace(b, call);
    return MXO_OK;
}

/* A call whose handles are addresses. */
static mxo_status run_any(broken *b, const mxo_call *call, mxo_text why)
{
    return broken_has_gaps(call) ? broken_run_dense(b, call, run_plain, why)
                                 : run_plain(b, call, why);
}

static mxo_status run_aligned(broken *b, const mxo_call *call, mxo_text why)
{
    broken_job *job = calloc(1, sizeof *job);

    if (job == NULL) {
        return broken_fail(MXO_E_NOMEM, why, "no memory for a call");
    }
    broken_align(call, job);
    const mxo_status status = run_any(b, &job->call, why);

    free(job);
    return status;
}

static mxo_status run_now(broken *b, const mxo_call *call, mxo_text why)
{
    return IS(H51) ? run_aligned(b, call, why) : run_any(b, call, why);
}

/* The place of a call that waits. */
static broken_job *place_of(broken *b)
{
    return IS(H114) ? &shared : &b->job;
}

static mxo_status finish(broken *b, mxo_text why)
{
    broken_job *job = place_of(b);

    if (!job->waiting || (IS(H114) && owner != b)) {
        return MXO_OK;
    }
    job->waiting = 0;
    const mxo_status status = run_now(b, &job->call, why);

    if (IS(V42) && status != MXO_OK) {
        b->late = MXO_E_DEVICE;
    }
    return IS(V42) ? MXO_OK : status;
}

static mxo_status backend_synchronize(void *ctx, mxo_text why)
{
    broken *b = ctx;

    broken_end_uploads(b);
    b->n_waiting = 0;
    b->n_synchronized++;
    b->waiting = NULL;
    waits = waits == b ? NULL : waits;
    const mxo_status status = IS(H20) ? MXO_OK : finish(b, why);
    const mxo_status late = b->late;

    b->late = MXO_OK;
    return late != MXO_OK
               ? broken_fail(late, why, "a stream's data are refused")
               : status;
}

/* Can the operation do this call?  Asked before an answer is put off. */
static mxo_status put_off(broken *b, const mxo_call *call, mxo_text why)
{
    if (IS(V40) || IS(V42)) {
        broken_end_uploads(b); /* they came before */
    }
    mxo_status status =
        IS(V14) || IS(V40) || IS(V42) || IS(H114) ? finish(b, why) : MXO_OK;

    status = status == MXO_OK ? run_now(b, call, why) : status;
    const int is_late = IS(V42) && status == MXO_E_PARAM;

    status = is_late ? MXO_OK : status;
    for (uint32_t i = 0; status == MXO_OK && !is_late && i < call->n_out; i++) {
        if (!broken_has_gaps(call)) {
            memset(tensor_address(&call->out[i]), 0x33,
                   (size_t)call->out[i].n_bytes);
        }
    }
    owner = b;
    return status == MXO_OK && !broken_keep(place_of(b), call)
               ? broken_fail(MXO_E_UNSUPPORTED, why, "too many arguments")
               : status;
}

static const mxo_tensor *tensor_of(const mxo_call *call, uint32_t i)
{
    return i < call->n_in ? &call->in[i] : &call->out[i - call->n_in];
}

/* Where the tensors of the call lie in their buffers. */
static void look_at_places(broken *b, const mxo_call *call)
{
    b->shares_a_buffer = b->starts_a_buffer = 0;
    for (uint32_t i = 0; i < call->n_in + call->n_out; i++) {
        b->starts_a_buffer |= tensor_of(call, i)->offset == 0;
        for (uint32_t k = 0; k < i; k++) {
            b->shares_a_buffer |=
                tensor_of(call, i)->buffer == tensor_of(call, k)->buffer;
        }
    }
}

static mxo_status run_call(broken *b, const mxo_call *call, mxo_text why)
{
    if (find(call->op) == NULL) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "no such operation here");
    }
    if (call->n_in == 0 || call->n_out == 0) {
        return broken_fail(MXO_E_SHAPE, why, "tensors are missing");
    }
    if (call_is(call, "bounds", "1") || call_is(call, "bounds", "open")) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "results, not their bounds");
    }
    if (IS(H78) && call->stream == b->last_stream) {
        broken_end_uploads(b);
    }
    broken_look_behind(b, call);
    look_at_places(b, call);
    b->is_crossed = waits != NULL && waits != b;
    waits = b;
    b->forgets = broken_forgets(b, call);
    b->is_wrong_way = broken_is_wrong_way(b, call);
    call = IS(V13) ? unbox(b, call) : call;
    if (call == NULL) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "too many arguments");
    }
    return IS(V14) || IS(H20) || IS(H67) || IS(H114) ||
                   ((IS(V40) || IS(V42) || IS(H62)) && call->stream != NULL)
               ? put_off(b, call, why)
               : run_now(b, call, why);
}

/* H107, H108: scratch memory that is as large as the largest input. */
static void grow(broken *b, const mxo_call *call)
{
    if (call->n_in == 0 || call->in[0].n_bytes <= b->most) {
        return;
    }
    b->most = call->in[0].n_bytes;
    b->n_grown++;
    if (IS(H108) && b->waiting != NULL) {
        b->waiting[0] ^= 1;
    }
}

static mxo_status backend_run(void *ctx, const mxo_call *call, mxo_text why)
{
    broken *b = ctx;
    void *const output = call->n_out > 0 ? call->out[0].buffer : NULL;
    const int is_first_kept =
        IS(H75) && b->n_waiting > 0 && output == b->last_output;
    const mxo_status status = is_first_kept ? MXO_OK : run_call(b, call, why);

    if (status == MXO_OK) {
        grow(b, call);
    }
    b->n_waiting++;
    b->last_output = output;
    b->n_plain++;
    b->past->n_since++;
    if (status == MXO_OK) {
        b->waiting =
            call->out[0].n_bytes > 0 ? tensor_address(&call->out[0]) : NULL;
        broken_keep_choices(b, call);
    } else {
        (void)snprintf(b->past->refused, sizeof b->past->refused, "%s",
                       call->op);
        b->past->n_since = 0;
    }
    return status;
}

static mxo_status backend_stream_upload(void *ctx, void *stream, void *buffer,
                                        uint64_t offset, const void *src,
                                        uint64_t n_bytes, uint32_t microseconds,
                                        mxo_text why)
{
    (void)stream;
    (void)microseconds;
    return broken_put_upload(ctx, memory_of(ctx, buffer) + offset, src, n_bytes,
                             why);
}

static mxo_status backend_capture(void *ctx, const mxo_call *call, void **graph,
                                  mxo_text why)
{
    const broken *b = ctx;
    const mxo_status status = broken_capture(ctx, call, graph, why);

    return status == MXO_OK && IS(H66) ? run_call(ctx, call, why) : status;
}

static mxo_status backend_launch(void *ctx, void *graph, void *stream,
                                 mxo_text why)
{
    broken *b = ctx;
    broken_job *job = IS(H65) && b->captured != NULL ? b->captured : graph;

    if ((IS(H61) && job->n_launches++ > 0) ||
        (IS(H70) && job->n_plain != b->n_plain) ||
        (IS(H107) && job->n_grown != b->n_grown)) {
        return MXO_OK;
    }
    job->call.stream = IS(H62) ? NULL : stream;
    broken_launching(b, job);
    b->is_fourth = IS(H82) && ++job->n_launches > 3;
    if ((IS(H95) || IS(H97)) && job->n_launches++ == 0) {
        job->stream = stream;
    }
    b->is_moved = (IS(H95) && job->stream != stream) ||
                  (IS(H97) && job->stream != NULL && *(char *)job->stream);
    b->is_launch = 1;
    const mxo_tensor given = broken_put_slot(b, job);
    const mxo_status status = run_call(b, &job->call, why);

    job->in[0] = given;
    b->is_launch = b->is_moved = b->is_fourth = 0;
    if (status == MXO_OK) {
        broken_launched(b, job);
    }
    return status != MXO_OK && IS(V41)
               ? broken_fail(MXO_E_DEVICE, why, "a graph cannot refuse")
               : status;
}

static void backend_kernel(void *ctx, mxo_text name)
{
    const broken *b = ctx;

    (void)broken_fail(MXO_OK, name, IS(H11) ? "" : rows[b->mutant].id);
}

static const mxo_backend table = {
    .abi_version = MXO_ABI_VERSION,
    .struct_size = sizeof(mxo_backend),
    .name = "broken",
    .version = "wrong on purpose",
    .ops = op_names,
    .open = backend_open,
    .close = backend_close,
    .describe = backend_describe,
    .alloc = backend_alloc,
    .dealloc = backend_dealloc,
    .upload = backend_upload,
    .download = backend_download,
    .synchronize = backend_synchronize,
    .run = backend_run,
    .kernel = backend_kernel,
    .align = 1,
    .strides = "*",
    .workspace = broken_workspace,
    .stream_open = broken_stream_open,
    .stream_close = broken_stream_close,
    .stream_upload = backend_stream_upload,
    .capture = backend_capture,
    .launch = backend_launch,
    .graph_close = broken_graph_close,
};

const mxo_backend *broken_backend(void)
{
    return &table;
}
