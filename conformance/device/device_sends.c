/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is sent to a backend's memory: inputs, fills, noise, guards, and what
 * covers them in the end.  See device_buffers.h.
 */
#include "device_buffers.h"
#include "system/judge_bytes.h"

#include <string.h>

static uint64_t shorter(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

mxo_status stage_scrub(stage *g, const placed *p, uint64_t from, uint64_t end,
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

/* Is it a workspace that would take longer to fill than a call? */
static int is_large_workspace(const stage *g, const placed *p)
{
    return p == &g->workspace && p->host->n_bytes > STAGE_CHUNK;
}

/* Part number i of what is sent of a tensor that is made; n is 0 behind the
   last one. */
static judge_span part_of(const stage *g, const placed *p, uint64_t i)
{
    const uint64_t n_bytes = p->host->n_bytes;
    const uint64_t at = shorter(i * STAGE_CHUNK, n_bytes);

    return is_large_workspace(g, p)
               ? judge_bytes_sample(n_bytes, p->salt, i)
               : (judge_span){at, shorter(n_bytes - at, STAGE_CHUNK)};
}

void stage_scrub_all(stage *g, const placed *p)
{
    char unheard[SUBJECT_TEXT];
    const mxo_text why = {unheard, sizeof unheard};
    judge_span part = part_of(g, p, 0);

    if (!is_large_workspace(g, p)) {
        (void)stage_scrub(g, p, p->offset, stage_end_of(p), why);
        return;
    }
    for (uint64_t i = 1; part.n > 0; i++) {
        const uint64_t at = p->offset + part.at;
        (void)stage_scrub(g, p, at, at + part.n, why);
        part = part_of(g, p, i);
    }
}

void stage_make_gaps(const stage *g, const placed *p, uint8_t *to, uint64_t n,
                     uint64_t at)
{
    judge_bytes_guard(&g->s->secret, p->salt, p->is_flipped, to, n, at);
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
    judge_span part = part_of(g, p, 0);
    mxo_status status = MXO_OK;

    for (uint64_t i = 1; status == MXO_OK && part.n > 0; i++) {
        if (part.at == 0 || run != STAGE_NOISE) {
            make_bytes(g, p, run, part.at, part.n);
        }
        status = g->s->table->upload(g->s->ctx, p->buffer, p->offset + part.at,
                                     g->chunk, part.n, why);
        part = part_of(g, p, i);
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
mxo_status stage_send_one(stage *g, placed *p, const uint8_t *bytes, int run,
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

mxo_status stage_send_inputs(stage *g, int noise, mxo_text why)
{
    for (uint32_t i = 0; i < g->n_in; i++) {
        placed *p = &g->in[i];
        MXO_TRY(stage_send_one(g, p, noise ? NULL : p->host->data, STAGE_NOISE,
                               why));
    }
    return MXO_OK;
}

mxo_status stage_send_input(stage *g, uint32_t i, const void *bytes,
                            mxo_text why)
{
    return stage_send_one(g, &g->in[i], bytes, STAGE_NOISE, why);
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

mxo_status stage_send_outputs(stage *g, int run, mxo_text why)
{
    for (uint32_t i = 0; i < g->n_out; i++) {
        MXO_TRY(stage_send_one(g, &g->out[i], NULL, run, why));
    }
    return g->workspace.buffer != NULL
               ? stage_send_one(g, &g->workspace, NULL, run, why)
               : MXO_OK;
}
