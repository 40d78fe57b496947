/* SPDX-License-Identifier: Apache-2.0 */
/* See strides.h. */
#include "strides.h"

#include <string.h>

enum { MOST = 64, ALIGN = 64 };

static int has_gaps(const mxo_tensor *t)
{
    return t->rank > 0 && t->stride[0] != 0;
}

/* Bytes of the workspace that one tensor takes. */
static uint64_t room_of(const mxo_tensor *t)
{
    return has_gaps(t) ? (t->n_bytes + ALIGN - 1) / ALIGN * ALIGN : 0;
}

uint64_t cpu_strides_bytes(const mxo_call *call)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < call->n_in; i++) {
        n += room_of(&call->in[i]);
    }
    for (uint32_t i = 0; i < call->n_out; i++) {
        n += room_of(&call->out[i]);
    }
    return n == 0 ? 0 : n + ALIGN;
}

/* Where row r begins, in bytes from the first. */
static uint64_t row_at(const mxo_tensor *t, uint64_t r)
{
    uint64_t at = 0;

    for (uint32_t a = t->rank - 1; a-- > 0;) {
        at += r % t->shape[a] * t->stride[a];
        r /= t->shape[a];
    }
    return at;
}

static void copy_rows(const mxo_tensor *t, uint8_t *dense, int scatters)
{
    uint8_t *const data = cpu_data(t);
    uint64_t rows = 1;

    for (uint32_t a = 0; a + 1 < t->rank; a++) {
        rows *= t->shape[a];
    }
    for (uint64_t r = 0; r < rows && t->n_bytes > 0; r++) {
        const uint64_t n = t->n_bytes / rows;
        uint8_t *const row = data + row_at(t, r);
        memcpy(scatters ? row : dense + r * n, scatters ? dense + r * n : row,
               n);
    }
}

/* A copy of the tensor's description that is dense, at *room. */
static void make_dense(const mxo_tensor *t, mxo_tensor *dense, uint8_t **room,
                       int gathers)
{
    *dense = *t;
    if (!has_gaps(t)) {
        return;
    }
    memset(dense->stride, 0, sizeof dense->stride);
    dense->buffer = *room;
    dense->offset = 0;
    *room += room_of(t);
    if (gathers) {
        copy_rows(t, dense->buffer, 0);
    }
}

mxo_status cpu_strides_run(void *ctx, const mxo_call *call, cpu_dense_run *run,
                           mxo_text why)
{
    mxo_tensor in[MOST];
    mxo_tensor out[MOST];
    mxo_call dense = *call;

    if (call->n_in > MOST || call->n_out > MOST) {
        return cpu_fail(MXO_E_UNSUPPORTED, why, "too many tensors");
    }
    if (call->workspace == NULL ||
        call->workspace->n_bytes < cpu_strides_bytes(call)) {
        return cpu_fail(MXO_E_PARAM, why, "the workspace is too small");
    }
    uint8_t *room = cpu_data(call->workspace);

    room += (ALIGN - (uintptr_t)room % ALIGN) % ALIGN;
    for (uint32_t i = 0; i < call->n_in; i++) {
        make_dense(&call->in[i], &in[i], &room, 1);
    }
    for (uint32_t i = 0; i < call->n_out; i++) {
        make_dense(&call->out[i], &out[i], &room, 0);
    }
    dense.in = in;
    dense.out = out;
    const mxo_status status = run(ctx, &dense, why);

    for (uint32_t i = 0; status == MXO_OK && i < call->n_out; i++) {
        if (has_gaps(&call->out[i])) {
            copy_rows(&call->out[i], out[i].buffer, 1);
        }
    }
    return status;
}
