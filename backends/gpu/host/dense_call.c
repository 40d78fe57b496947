/* SPDX-License-Identifier: Apache-2.0 */
/* See dense_call.h. */
#include "host/dense_call.h"

#include "ops/dense_rows.h"
#include "port/runtime.h"

GPU_ENTRY(dense_rows, dense_rows_args, dense_rows_body(a))

enum { ROOM_ALIGN = 256 };

static int has_strides(const mxo_tensor *t)
{
    return t->rank > 0 && t->stride[0] != 0;
}

static int wants_copy(const mxo_tensor *t)
{
    return has_strides(t) || (uintptr_t)tensor_address(t) % ROOM_ALIGN != 0;
}

static uint64_t room_of(const mxo_tensor *t)
{
    return wants_copy(t)
               ? (t->n_bytes + ROOM_ALIGN - 1) / ROOM_ALIGN * ROOM_ALIGN
               : 0;
}

uint64_t dense_call_bytes(const mxo_call *call)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < call->n_in; i++) {
        n += room_of(&call->in[i]);
    }
    for (uint32_t i = 0; i < call->n_out; i++) {
        n += room_of(&call->out[i]);
    }
    return n == 0 ? 0 : n + ROOM_ALIGN;
}

/* Bytes that divide all that a thread's place is made of. */
static uint32_t unit_of(const dense_rows_args *a)
{
    uint64_t all = (uint64_t)(uintptr_t)a->rows | a->row_bytes;

    for (uint32_t i = 0; i < a->axes; i++) {
        all |= a->stride[i];
    }
    return all % 16 == 0 ? 16 : all % 4 == 0 ? 4 : 1;
}

/* One tensor; its dense copy is at *room, which goes on behind it. */
static mxo_status move_rows(const mxo_tensor *t, mxo_tensor *dense,
                            uint8_t **room, int scatters, gpu_plan *plan,
                            mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(dense_rows, 0);

    *dense = *t;
    if (!wants_copy(t)) {
        return MXO_OK;
    }
    memset(dense->stride, 0, sizeof dense->stride);
    dense->buffer = *room;
    dense->offset = 0;
    *room += room_of(t);
    if (t->n_bytes == 0) {
        return MXO_OK;
    }
    gpu_plan *const step = plan->kernel == NULL ? plan : plan_append(plan);

    if (step == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for the plan");
    }
    dense_rows_args *const a = PLAN_ARGS(step, dense_rows_args);
    uint64_t rows = 1;

    a->axes = has_strides(t) ? t->rank - 1 : 0;
    for (uint32_t i = 0; i < a->axes; i++) {
        a->extent[i] = t->shape[i];
        a->stride[i] = t->stride[i];
        rows *= t->shape[i];
    }
    a->rows = tensor_address(t);
    a->dense = (uint8_t *)dense->buffer;
    a->n = t->n_bytes;
    a->row_bytes = t->n_bytes / rows;
    a->unit = unit_of(a);
    a->scatters = (uint32_t)scatters;
    step->kernel = &kernel;
    step->blocks = (a->n / a->unit + GPU_BLOCK - 1) / GPU_BLOCK;
    return MXO_OK;
}

mxo_status dense_call_make(const mxo_call *call, dense_call *d,
                           gpu_plan *gather, gpu_plan *scatter, mxo_text why)
{
    const uint64_t n_bytes = dense_call_bytes(call);

    d->call = *call;
    if (n_bytes == 0) {
        return MXO_OK;
    }
    if (call->n_in > DENSE_MOST || call->n_out > DENSE_MOST) {
        return gpu_fail(MXO_E_UNSUPPORTED, why, "too many tensors");
    }
    if (call->workspace == NULL || call->workspace->n_bytes < n_bytes) {
        return gpu_fail(MXO_E_PARAM, why, "the workspace is too small");
    }
    uint8_t *room = tensor_address(call->workspace);

    room += (ROOM_ALIGN - (uintptr_t)room % ROOM_ALIGN) % ROOM_ALIGN;
    for (uint32_t i = 0; i < call->n_in; i++) {
        MXO_TRY(move_rows(&call->in[i], &d->in[i], &room, 0, gather, why));
    }
    for (uint32_t i = 0; i < call->n_out; i++) {
        MXO_TRY(move_rows(&call->out[i], &d->out[i], &room, 1, scatter, why));
    }
    d->call.in = d->in;
    d->call.out = d->out;
    return MXO_OK;
}
