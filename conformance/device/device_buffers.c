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

/* Whether the backend takes this tensor with strides. */
static int may_be_parted(const char *list, const char *name)
{
    const size_t n = strlen(name);

    while (list != NULL && *list != '\0') {
        const size_t word = strcspn(list, " ");
        if ((word == 1 && *list == '*') ||
            (word == n && strncmp(list, name, n) == 0)) {
            return 1;
        }
        list += word + (list[word] == ' ');
    }
    return 0;
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

/* Where tensors have gaps in the way of g->ways: in half of the calls that
   can have them everywhere in inputs or outputs alone, as a kernel that takes
   one's strides for the other's is right where both have them. */
static unsigned parted_now(const stage *g)
{
    static const unsigned drawn[4] = {PART_ALL, PART_INPUTS, PART_ALL,
                                      PART_OUTPUTS};

    return (g->ways & LAUNCH_APART) == 0 ? 0
           : g->can_part != PART_ALL     ? g->can_part
                                         : drawn[launch_hash(g) >> 16 & 3];
}

/* Where its bytes lie in its buffer, in the way of g->ways. */
static void locate(const stage *g, placed *p)
{
    const int is_low = (g->ways & LAUNCH_ALIGN) != 0;
    const uint64_t align = is_low ? low_align(g, p->host) : STAGE_ALIGN;
    const unsigned part = p->is_output ? PART_OUTPUTS : PART_INPUTS;

    p->at = (parted_now(g) & part) != 0 ? p->parted : placement_dense(p->host);
    p->offset = p->is_first ? 0 : p->start + STAGE_GUARD + align % STAGE_ALIGN;
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
    if (may_be_parted(g->s->table->strides, h->name) &&
        placement_part(&p->parted, h, low_align(g, h), STAGE_CHUNK)) {
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

/* Nothing is left of what bytes from .. end of a buffer were. */
static mxo_status scrub(stage *g, const placed *p, uint64_t from, uint64_t end,
                        mxo_text why)
{
    mxo_status status = MXO_OK;

    if (from >= end) {
        return MXO_OK;
    }
    judge_bytes_scrub(&g->s->secret, p->salt, g->chunk,
                      shorter(end - from, STAGE_CHUNK), from);
    while (status == MXO_OK && from < end) {
        const uint64_t n = shorter(end - from, STAGE_CHUNK);
        status =
            g->s->table->upload(g->s->ctx, p->buffer, from, g->chunk, n, why);
        from += n;
    }
    return status;
}

void stage_make_gaps(const stage *g, const placed *p, uint8_t *to, uint64_t n,
                     uint64_t at)
{
    judge_bytes_guard(&g->s->secret, p->salt, p->is_flipped, to, n, at);
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
    char text[SUBJECT_TEXT];

    if (p->buffer != NULL) {
        (void)scrub(g, p, p->offset, stage_end_of(p),
                    (mxo_text){text, sizeof text});
        if (p->buffer != g->shared) {
            g->s->table->dealloc(g->s->ctx, p->buffer);
        }
    }
    free(p->guards);
}

uint8_t *stage_guard_at(const placed *p, uint64_t at)
{
    return p->guards + (at < p->offset ? 0 : STAGE_GUARD);
}

/* The guard before the tensor or after it. */
static mxo_status send_guard(stage *g, const placed *p, uint64_t at,
                             mxo_text why)
{
    return g->s->table->upload(g->s->ctx, p->buffer, at, stage_guard_at(p, at),
                               STAGE_GUARD, why);
}

/* By words: every launch does it. */
static void flip_guards(placed *p, int is_flipped)
{
    uint64_t word;

    for (uint8_t *at = p->guards;
         p->is_flipped != is_flipped && at < p->guards + 2 * STAGE_GUARD;
         at += sizeof word) {
        memcpy(&word, at, sizeof word);
        word = ~word;
        memcpy(at, &word, sizeof word);
    }
    p->is_flipped = is_flipped;
}

/* n bytes from byte at on: noise, or what an output holds before run number 0
   or 1; into the chunk. */
static void make_bytes(stage *g, const placed *p, int run, uint64_t at,
                       uint64_t n)
{
    if (run == STAGE_NOISE) {
        judge_bytes_noise(p->host->dtype, p->salt, g->chunk, n, at);
    } else {
        judge_bytes_fill(p->salt, run, g->chunk, n, at);
    }
}

/* Noise repeats after a chunk: no result of it is looked at. */
static mxo_status send_made(stage *g, const placed *p, int run, mxo_text why)
{
    const uint64_t n_bytes = p->host->n_bytes;
    mxo_status status = MXO_OK;

    for (uint64_t at = 0; status == MXO_OK && at < n_bytes; at += STAGE_CHUNK) {
        const uint64_t n = shorter(n_bytes - at, STAGE_CHUNK);
        if (at == 0 || run != STAGE_NOISE) {
            make_bytes(g, p, run, at, n);
        }
        status = g->s->table->upload(g->s->ctx, p->buffer, p->offset + at,
                                     g->chunk, n, why);
    }
    return status;
}

/* Bytes with what lies between their rows, into the image. */
static void make_image(stage *g, const placed *p, const uint8_t *bytes)
{
    stage_make_gaps(g, p, g->image, p->at.n_bytes, p->offset);
    placement_scatter(&p->at, p->host, bytes, g->image);
}

static mxo_status send_parted(stage *g, const placed *p, const uint8_t *bytes,
                              int run, mxo_text why)
{
    if (bytes == NULL) {
        make_bytes(g, p, run, 0, p->host->n_bytes);
    }
    make_image(g, p, bytes == NULL ? g->chunk : bytes);
    return g->s->table->upload(g->s->ctx, p->buffer, p->offset, g->image,
                               p->at.n_bytes, why);
}

/* A tensor between its guards: bytes, or what is made if there are none.  By
   parts: a transfer that loses its last byte loses one of the tensor.  Every
   bit of a guard is another behind an output of the second run, and of an input
   whose fence moved: no byte that is written passes for both. */
static mxo_status send_one(stage *g, placed *p, const uint8_t *bytes, int run,
                           mxo_text why)
{
    flip_guards(p, run == STAGE_NOISE ? g->side == FENCE_BEHIND : run);
    if (!p->is_first) {
        MXO_TRY(send_guard(g, p, stage_front_of(p), why));
    }
    if (!placement_is_dense(&p->at)) {
        MXO_TRY(send_parted(g, p, bytes, run, why));
    } else if (bytes == NULL) {
        MXO_TRY(send_made(g, p, run, why));
    } else if (p->host->n_bytes > 0) {
        MXO_TRY(g->s->table->upload(g->s->ctx, p->buffer, p->offset, bytes,
                                    p->host->n_bytes, why));
    }
    return send_guard(g, p, stage_end_of(p), why);
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
    const mxo_status status = scrub(g, p, from, shorter(end, front), why);

    return status == MXO_OK ? scrub(g, p, from > rear ? from : rear, end, why)
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

mxo_status stage_send_inputs(stage *g, int noise, mxo_text why)
{
    for (uint32_t i = 0; i < g->n_in; i++) {
        placed *p = &g->in[i];
        MXO_TRY(send_one(g, p, noise ? NULL : p->host->data, STAGE_NOISE, why));
    }
    return MXO_OK;
}

mxo_status stage_send_input(stage *g, uint32_t i, const void *bytes,
                            mxo_text why)
{
    return send_one(g, &g->in[i], bytes, STAGE_NOISE, why);
}

mxo_status stage_stream_inputs(stage *g, void *stream, uint32_t microseconds,
                               mxo_text why)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; status == MXO_OK && i < g->n_in; i++) {
        const placed *p = &g->in[i];
        const int is_dense = placement_is_dense(&p->at);
        if (!is_dense) {
            make_image(g, p, p->host->data);
        }
        if (p->at.n_bytes > 0) {
            status = g->s->table->stream_upload(
                g->s->ctx, stream, p->buffer, p->offset,
                is_dense ? p->host->data : g->image, p->at.n_bytes,
                microseconds, why);
            microseconds = 0;
        }
    }
    return status;
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

    return status == MXO_OK ? send_one(g, &g->workspace, NULL, run, why)
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

mxo_status stage_send_outputs(stage *g, int run, mxo_text why)
{
    for (uint32_t i = 0; i < g->n_out; i++) {
        MXO_TRY(send_one(g, &g->out[i], NULL, run, why));
    }
    return g->workspace.buffer != NULL
               ? send_one(g, &g->workspace, NULL, run, why)
               : MXO_OK;
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
                              mxo_text why)
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
