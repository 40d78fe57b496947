/* SPDX-License-Identifier: Apache-2.0 */
/* See device_buffers.h. */
#include "device_buffers.h"

#include "base/memory.h"
#include "base/say.h"
#include "launch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where guards are drawn, beyond any place in a buffer. */
#define GUARDS_AT (UINT64_C(1) << 40)

void stage_describe(mxo_tensor *t, const host_tensor *h, void *buffer,
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

void stage_describe_placed(mxo_tensor *t, const placed *p)
{
    stage_describe(t, p->host, p->buffer, p->offset);
    memcpy(t->stride, p->at.stride, sizeof t->stride);
}

static uint64_t shorter(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

mxo_status stage_open(stage *g, subject *s, const op_call *call, uint32_t n_out)
{
    memset(g, 0, sizeof *g);
    g->s = s;
    g->call = call;
    g->hash = launch_hash_of(call);
    g->side = s->decoy ? FENCE_BEHIND : FENCE_BEFORE;
    if (judge_bytes_draw(&s->secret) != 0) {
        return MXO_E_DEVICE;
    }
    g->in = memory_need_zeros((size_t)call->in->n + 1, sizeof *g->in);
    g->out = memory_need_zeros((size_t)n_out + 1, sizeof *g->out);
    g->chunk = memory_need(STAGE_CHUNK);
    g->image = s->table->strides == NULL ? NULL : memory_need(STAGE_CHUNK);
    return MXO_OK;
}

/* Tensor number i: outputs follow inputs. */
static placed *tensor_at(const stage *g, uint32_t i)
{
    return i < g->n_in ? &g->in[i] : &g->out[i - g->n_in];
}

/* Alignment of a tensor's first byte where it is low. */
static uint64_t low_align(const stage *g, const host_tensor *h)
{
    const uint64_t size = dtype_bytes(h->dtype);

    return g->s->table->align > size ? g->s->table->align : size;
}

/* The same of a tensor with a fence. */
uint64_t stage_fence_align(const stage *g, const placed *p)
{
    return (g->ways & LAUNCH_ALIGN) != 0 ? low_align(g, p->host)
                                         : g->s->host_align;
}

unsigned stage_parted(const stage *g)
{
    static const unsigned drawn[4] = {PART_ALL, PART_INPUTS, PART_ALL,
                                      PART_OUTPUTS};

    if ((g->ways & LAUNCH_APART) == 0) {
        return 0;
    }
    if (g->parts != 0) {
        return g->parts;
    }
    return g->can_part != PART_ALL ? g->can_part
                                   : drawn[launch_hash(g) >> 16 & 3];
}

/* To what its first byte is aligned, and to no more, in the way of g->ways. */
static uint64_t align_now(const stage *g, const placed *p)
{
    const subject *s = g->s;

    if ((g->ways & LAUNCH_ALIGN) != 0) {
        return placement_align(p->host, launch_hash(g), low_align(g, p->host),
                               STAGE_ALIGN);
    }
    return s->table->align == 0 && s->host_align > 0 &&
                   (launch_hash(g) >> 34 & 1) != 0
               ? placement_align(p->host, launch_hash(g), s->host_align,
                                 STAGE_ALIGN)
               : STAGE_ALIGN;
}

/* Where its bytes lie in its buffer, in the way of g->ways. */
static void locate(const stage *g, placed *p)
{
    const unsigned part = p->is_output ? PART_OUTPUTS : PART_INPUTS;

    p->at =
        (stage_parted(g) & part) != 0 ? p->parted : placement_dense(p->host);
    p->offset = p->is_first
                    ? 0
                    : p->start + STAGE_GUARD + align_now(g, p) % STAGE_ALIGN;
    if (p->is_fenced) {
        p->offset = fence_offset(p->buffer, STAGE_GUARD, p->at.n_bytes,
                                 stage_fence_align(g, p), g->side);
    }
}

/* A tensor that has no place yet: how much room it takes. */
static void measure(stage *g, placed *p, const host_tensor *h, int is_fenced)
{
    p->host = h;
    p->is_fenced = is_fenced;
    p->parted = placement_dense(h);
    if (placement_is_listed(g->s->table->strides, h->name) &&
        placement_part(&p->parted, h, launch_hash(g), low_align(g, h),
                       STAGE_CHUNK)) {
        g->can_part |= p->is_output ? PART_OUTPUTS : PART_INPUTS;
    }
    p->size = p->parted.n_bytes + 2 * (uint64_t)STAGE_GUARD + STAGE_ALIGN +
              (is_fenced ? fence_room() : 0);
    p->salt = g->s->n_placed++;
    p->guards = memory_need(2 * STAGE_GUARD);
    judge_bytes_guard(&g->s->secret, p->salt, 0, p->guards, 2 * STAGE_GUARD,
                      GUARDS_AT);
}

static mxo_status allocate(const subject *s, uint64_t n, void **buffer,
                           mxo_text why)
{
    const mxo_status got = s->table->alloc(s->ctx, n, buffer);

    if (got == MXO_OK) {
        return MXO_OK;
    }
    *buffer = NULL;
    return say(MXO_E_NOMEM, why, "no %s %" PRIu64 " bytes",
               got == MXO_E_NOMEM ? "memory for" : "buffer of", n);
}

static mxo_status place(stage *g, placed *p, const host_tensor *h,
                        int is_fenced, mxo_text why)
{
    measure(g, p, h, is_fenced);
    MXO_TRY(allocate(g->s, p->size, &p->buffer, why));
    locate(g, p);
    return MXO_OK;
}

/* First byte after the tensor. */
uint64_t stage_end_of(const placed *p)
{
    return p->offset + p->at.n_bytes;
}

/* First byte of the guard before it. */
uint64_t stage_front_of(const placed *p)
{
    return p->offset - STAGE_GUARD;
}

/* Scrubbed, lest the next owner of the memory finds the right bytes there:
   where the tensor lies, as where it lay was scrubbed when it moved. */
static void unplace(stage *g, placed *p)
{
    if (p->buffer != NULL) {
        stage_scrub_all(g, p);
        if (p->buffer != g->shared) {
            g->s->table->dealloc(g->s->ctx, p->buffer);
        }
    }
    free(p->guards);
}

mxo_status stage_place_inputs(stage *g, mxo_text why)
{
    for (uint32_t i = 0; i < g->call->in->n; i++) {
        g->n_in = i + 1;
        MXO_TRY(
            place(g, &g->in[i], &g->call->in->t[i], g->s->host_align > 0, why));
    }
    return MXO_OK;
}

/* Nothing is left of where it was, but for what its bytes and guards will
   cover. */
static mxo_status move_one(stage *g, placed *p, mxo_text why)
{
    const uint64_t from = p->offset;
    const uint64_t end = stage_end_of(p);

    locate(g, p);
    const uint64_t front = stage_front_of(p);
    const uint64_t rear = stage_end_of(p) + STAGE_GUARD;
    const mxo_status status = stage_scrub(g, p, from, shorter(end, front), why);

    return status == MXO_OK
               ? stage_scrub(g, p, from > rear ? from : rear, end, why)
               : status;
}

mxo_status stage_turn(stage *g, unsigned ways, mxo_text why)
{
    const unsigned moves = LAUNCH_APART | LAUNCH_ALIGN;
    const int moves_all = ((ways | g->ways) & moves) != 0;

    g->ways = ways;
    g->side = g->side == FENCE_BEHIND ? FENCE_BEFORE : FENCE_BEHIND;
    for (uint32_t i = 0; i < g->n_in + g->n_out; i++) {
        if (moves_all || tensor_at(g, i)->is_fenced) {
            MXO_TRY(move_one(g, tensor_at(g, i), why));
        }
    }
    return MXO_OK;
}

mxo_status stage_place_workspace(stage *g, uint64_t n_bytes, int run,
                                 mxo_text why)
{
    unplace(g, &g->workspace);
    memset(&g->workspace, 0, sizeof g->workspace);
    if (n_bytes == 0) {
        return MXO_OK;
    }
    if (n_bytes > tensor_room()) {
        (void)snprintf(why.ptr, why.size,
                       "no memory for the workspace of %" PRIu64
                       " bytes that it asks for",
                       n_bytes);
        return MXO_E_NOMEM;
    }
    g->room = (host_tensor){.name = "workspace",
                            .dtype = MXO_U8,
                            .rank = 1,
                            .shape = {n_bytes},
                            .n_bytes = n_bytes};
    const mxo_status status = place(g, &g->workspace, &g->room, 0, why);

    return status == MXO_OK ? stage_send_one(g, &g->workspace, NULL, run, why)
                            : status;
}

mxo_status stage_place_outputs(stage *g, const tensor_set *out, mxo_text why)
{
    mxo_status status = MXO_OK;

    g->want = out;
    for (uint32_t i = 0; status == MXO_OK && i < out->n; i++) {
        g->n_out = i + 1;
        g->out[i].is_output = 1;
        status = place(g, &g->out[i], &out->t[i], 0, why);
    }
    return status;
}

mxo_status stage_place_call(stage *g, subject *s, const op_call *call,
                            const tensor_set *out, int noise, mxo_text why)
{
    MXO_TRY(stage_open(g, s, call, out->n));
    MXO_TRY(stage_place_inputs(g, why));
    MXO_TRY(stage_place_outputs(g, out, why));
    MXO_TRY(stage_send_inputs(g, noise, why));
    return stage_send_outputs(g, 0, why);
}

mxo_status stage_place_in_one(stage *g, subject *s, const op_call *call,
                              const tensor_set *out, uint32_t first,
                              uint64_t further, mxo_text why)
{
    const uint32_t n_in = call->in->n;
    const uint32_t n = n_in + out->n;
    uint64_t size = 0;

    MXO_TRY(stage_open(g, s, call, out->n));
    g->want = out;
    g->n_in = n_in;
    g->n_out = out->n;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t i = (first + k) % n;
        placed *p = tensor_at(g, i);

        p->is_output = i >= n_in;
        p->is_first = k == 0;
        p->start = size;
        measure(g, p, i < n_in ? &call->in->t[i] : &out->t[i - n_in], 0);
        size += (p->size / STAGE_ALIGN + 1) * STAGE_ALIGN;
        size += k == 0 ? further : 0;
    }
    MXO_TRY(allocate(s, size, &g->shared, why));
    for (uint32_t i = 0; i < n; i++) {
        tensor_at(g, i)->buffer = g->shared;
        locate(g, tensor_at(g, i));
    }
    MXO_TRY(stage_send_inputs(g, 0, why));
    return stage_send_outputs(g, 0, why);
}

void stage_release(stage *g)
{
    for (uint32_t i = 0; i < g->n_in + g->n_out; i++) {
        unplace(g, tensor_at(g, i));
    }
    unplace(g, &g->workspace);
    if (g->shared != NULL) {
        g->s->table->dealloc(g->s->ctx, g->shared);
    }
    free(g->in);
    free(g->out);
    free(g->chunk);
    free(g->image);
}
