/* SPDX-License-Identifier: Apache-2.0 */
/* See device_buffers.h. */
#include "device_buffers.h"

#include "system/system.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Guard bytes change with their place and with the tensor, so that neither a
   constant nor what an earlier tensor left in memory can pass for them. */
static uint8_t guard_byte(uint64_t salt, uint64_t i)
{
    return (uint8_t)(0x9d + 37 * i + 101 * salt);
}

static void make_guard(uint8_t guard[STAGE_GUARD], uint64_t salt, uint64_t at)
{
    for (uint64_t i = 0; i < 256; i++) {
        guard[i] = guard_byte(salt, at + i);
    }
    for (uint64_t i = 256; i < STAGE_GUARD; i += 256) {
        memcpy(guard + i, guard, 256);
    }
}

/* What outputs hold before a run differs by byte and tensor: nothing tells a
   judge's output. In the second run every bit is another. */
static uint8_t fill_byte(int run, uint64_t salt, uint64_t i)
{
    const unsigned byte = (unsigned)(0x5b + 29 * i + 77 * (i >> 8) + 53 * salt);

    return (uint8_t)(run == 0 ? byte : ~byte);
}

static void make_fill(uint8_t *to, uint64_t n, int run, uint64_t salt,
                      uint64_t at)
{
    uint8_t byte = 0;

    for (uint64_t i = 0; i < n; i++) {
        byte = i == 0 || (at + i) % 256 == 0
                   ? fill_byte(run, salt, at + i)
                   : (uint8_t)(byte + (run == 0 ? 29 : -29));
        to[i] = byte;
    }
}

/* What inputs hold in a call before the first: a third thing for floating-point
   numbers and codes, finite and positive; nothing that is an index. */
static void make_noise(uint8_t *to, uint64_t n, uint32_t dtype, uint64_t salt,
                       uint64_t at)
{
    const int is_index = dtype < MXO_F16 || dtype == MXO_BOOL;
    const unsigned mask = dtype == MXO_U8     ? 0xff
                          : is_index          ? 0
                          : dtype == MXO_E8M0 ? 7
                                              : 0x3f;
    const unsigned base = dtype == MXO_E8M0 ? 0x7c : 0;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t drawn =
            (at + i + 1 + (salt << 40)) * 0x9e3779b97f4a7c15u >> 48;
        to[i] = (uint8_t)(base + (drawn & mask));
    }
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
    g->side = s->decoy ? FENCE_BEFORE : FENCE_BEHIND;
    g->in = calloc((size_t)call->in->n + 1, sizeof *g->in);
    g->out = calloc((size_t)n_out + 1, sizeof *g->out);
    g->chunk = malloc(STAGE_CHUNK);
    return g->in == NULL || g->out == NULL || g->chunk == NULL ? MXO_E_NOMEM
                                                               : MXO_OK;
}

static mxo_status place(stage *g, placed *p, const host_tensor *h,
                        int is_fenced, mxo_text why)
{
    p->host = h;
    p->offset = STAGE_GUARD;
    p->size =
        h->n_bytes + 2 * (uint64_t)STAGE_GUARD + (is_fenced ? fence_room() : 0);
    p->salt = g->s->n_placed++;
    if (g->s->table->alloc(g->s->ctx, p->size, &p->buffer) != MXO_OK) {
        (void)snprintf(why.ptr, why.size, "no memory for %" PRIu64 " bytes",
                       p->size);
        p->buffer = NULL;
        return MXO_E_NOMEM;
    }
    if (is_fenced) {
        p->offset = fence_offset(p->buffer, STAGE_GUARD, h->n_bytes,
                                 g->s->host_align, g->side);
    }
    return MXO_OK;
}

/* Bytes from .. end of a buffer become fill. */
static mxo_status send_fill(stage *g, const placed *p, uint64_t from,
                            uint64_t end, int fill, mxo_text why)
{
    mxo_status status = MXO_OK;

    memset(g->chunk, fill, shorter(end - from, STAGE_CHUNK));
    while (status == MXO_OK && from < end) {
        const uint64_t n = shorter(end - from, STAGE_CHUNK);
        status =
            g->s->table->upload(g->s->ctx, p->buffer, from, g->chunk, n, why);
        from += n;
    }
    return status;
}

/* Scrubbed, lest the next owner of the memory finds the right bytes there. */
static void unplace(stage *g, placed *p)
{
    char text[SUBJECT_TEXT];

    if (p->buffer != NULL) {
        (void)send_fill(g, p, 0, p->size, 0x6c, (mxo_text){text, sizeof text});
        g->s->table->dealloc(g->s->ctx, p->buffer);
    }
}

/* First byte after the tensor. */
static uint64_t end_of(const placed *p)
{
    return p->offset + p->host->n_bytes;
}

/* First byte of the guard before it. */
static uint64_t front_of(const placed *p)
{
    return p->offset - STAGE_GUARD;
}

/* The guard before the tensor or after it. */
static mxo_status send_guard(stage *g, const placed *p, uint64_t at,
                             mxo_text why)
{
    make_guard(g->chunk, p->salt, at);
    return g->s->table->upload(g->s->ctx, p->buffer, at, g->chunk, STAGE_GUARD,
                               why);
}

/* Noise, or what an output holds before run number 0 or 1. */
static mxo_status send_made(stage *g, const placed *p, int run, mxo_text why)
{
    const uint64_t n_bytes = p->host->n_bytes;
    mxo_status status = MXO_OK;

    for (uint64_t at = 0; status == MXO_OK && at < n_bytes; at += STAGE_CHUNK) {
        const uint64_t n = shorter(n_bytes - at, STAGE_CHUNK);
        if (run == STAGE_NOISE) {
            make_noise(g->chunk, n, p->host->dtype, p->salt, at);
        } else {
            make_fill(g->chunk, n, run, p->salt, at);
        }
        status = g->s->table->upload(g->s->ctx, p->buffer, p->offset + at,
                                     g->chunk, n, why);
    }
    return status;
}

/* A tensor between its guards: bytes, or what is made if there are none.  By
   parts: a transfer that loses its last byte loses one of the tensor. */
static mxo_status send_one(stage *g, const placed *p, const uint8_t *bytes,
                           int run, mxo_text why)
{
    mxo_status status = send_guard(g, p, front_of(p), why);

    if (status == MXO_OK && bytes == NULL) {
        status = send_made(g, p, run, why);
    } else if (status == MXO_OK && p->host->n_bytes > 0) {
        status = g->s->table->upload(g->s->ctx, p->buffer, p->offset, bytes,
                                     p->host->n_bytes, why);
    }
    return status == MXO_OK ? send_guard(g, p, end_of(p), why) : status;
}

/* The next bytes from .. end, as many as fit, into the chunk. */
static mxo_status fetch(stage *g, const placed *p, uint64_t from, uint64_t end,
                        mxo_text why)
{
    const uint64_t n = shorter(end - from, STAGE_CHUNK);

    memset(g->chunk, 0x33, n);
    return g->s->table->download(g->s->ctx, g->chunk, p->buffer, from, n, why);
}

mxo_status stage_place_inputs(stage *g, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; status == MXO_OK && i < g->call->in->n; i++) {
        const host_tensor *h = &g->call->in->t[i];
        g->n_in = i + 1;
        status = place(g, &g->in[i], h, g->s->host_align > 0, why);
    }
    return status;
}

/* Nothing is left of where it was: its margins are filled. */
static mxo_status move_one(stage *g, placed *p, mxo_text why)
{
    p->offset = fence_offset(p->buffer, STAGE_GUARD, p->host->n_bytes,
                             g->s->host_align, g->side);
    const mxo_status status = send_fill(g, p, 0, front_of(p), 0x6c, why);

    return status == MXO_OK
               ? send_fill(g, p, end_of(p) + STAGE_GUARD, p->size, 0x6c, why)
               : status;
}

mxo_status stage_turn_inputs(stage *g, mxo_text why)
{
    mxo_status status = MXO_OK;

    g->side = g->side == FENCE_BEHIND ? FENCE_BEFORE : FENCE_BEHIND;
    for (uint32_t i = 0; status == MXO_OK && i < g->n_in; i++) {
        status = move_one(g, &g->in[i], why);
    }
    return status == MXO_OK ? stage_send_inputs(g, 0, why) : status;
}

mxo_status stage_send_inputs(stage *g, int noise, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; status == MXO_OK && i < g->n_in; i++) {
        const placed *p = &g->in[i];
        status = send_one(g, p, noise ? NULL : p->host->data, STAGE_NOISE, why);
    }
    return status;
}

mxo_status stage_place_outputs(stage *g, const tensor_set *out, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; status == MXO_OK && i < out->n; i++) {
        g->n_out = i + 1;
        status = place(g, &g->out[i], &out->t[i], 0, why);
    }
    return status;
}

mxo_status stage_send_outputs(stage *g, int run, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; status == MXO_OK && i < g->n_out; i++) {
        status = send_one(g, &g->out[i], NULL, run, why);
    }
    return status;
}

/* Where and how the guard at this place differs; "" if it does not. */
static mxo_status check_guard(stage *g, const placed *p, uint64_t at,
                              char *text, mxo_text why)
{
    uint8_t guard[STAGE_GUARD];
    uint64_t i = 0;
    const mxo_status status = fetch(g, p, at, at + STAGE_GUARD, why);

    make_guard(guard, p->salt, at);
    if (status == MXO_OK && text[0] == '\0' &&
        memcmp(g->chunk, guard, STAGE_GUARD) != 0) {
        while (g->chunk[i] == guard[i]) {
            i++;
        }
        (void)snprintf(text, SUBJECT_TEXT,
                       "%s: byte %" PRIu64 " %s was overwritten (%02x)",
                       p->host->name, at < p->offset ? STAGE_GUARD - i : i + 1,
                       at < p->offset ? "before its start" : "past its end",
                       g->chunk[i]);
    }
    return status;
}

static mxo_status check_guards(stage *g, const placed *p, char *text,
                               mxo_text why)
{
    const mxo_status status = check_guard(g, p, front_of(p), text, why);

    return status == MXO_OK ? check_guard(g, p, end_of(p), text, why) : status;
}

static mxo_status check_input(stage *g, const placed *p, char *text,
                              mxo_text why)
{
    const uint64_t n_bytes = p->host->n_bytes;
    mxo_status status = MXO_OK;

    for (uint64_t at = 0; status == MXO_OK && at < n_bytes; at += STAGE_CHUNK) {
        const uint64_t n = shorter(n_bytes - at, STAGE_CHUNK);
        const uint8_t *sent = p->host->data + at;
        uint64_t i = 0;

        status = fetch(g, p, p->offset + at, end_of(p), why);
        if (status != MXO_OK || text[0] != '\0' ||
            memcmp(g->chunk, sent, n) == 0) {
            continue;
        }
        while (g->chunk[i] == sent[i]) {
            i++;
        }
        (void)snprintf(text, SUBJECT_TEXT,
                       "input %s: byte %" PRIu64 " was changed", p->host->name,
                       at + i);
    }
    return status;
}

mxo_status stage_check_guards(stage *g, distrust *d, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; status == MXO_OK && i < g->n_in; i++) {
        status = check_guards(g, &g->in[i], d->guards, why);
        if (status == MXO_OK) {
            status = check_input(g, &g->in[i], d->inputs, why);
        }
    }
    for (uint32_t i = 0; status == MXO_OK && i < g->n_out; i++) {
        status = check_guards(g, &g->out[i], d->guards, why);
    }
    return status;
}

mxo_status stage_fetch_outputs(stage *g, tensor_set *out, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; status == MXO_OK && i < g->n_out; i++) {
        const host_tensor *t = &out->t[i];
        if (t->n_bytes > 0) {
            memset(t->data, 0x33, t->n_bytes);
            status = g->s->table->download(g->s->ctx, t->data, g->out[i].buffer,
                                           g->out[i].offset, t->n_bytes, why);
        }
    }
    return status;
}

static void note_first(char *text, const host_tensor *t, uint64_t byte)
{
    if (text[0] == '\0') {
        (void)snprintf(text, SUBJECT_TEXT, "%s, byte %" PRIu64, t->name, byte);
    }
}

/* n bytes of a second run that differ from those of t from byte at on. */
static void compare_chunk(const host_tensor *t, uint64_t at,
                          const uint8_t *second, uint64_t n, uint64_t salt,
                          distrust *d)
{
    const uint8_t *first = t->data + at;

    if (memcmp(first, second, n) == 0) {
        return;
    }
    for (uint64_t k = 0; k < n; k++) {
        if (first[k] == second[k]) {
            continue;
        }
        if (first[k] == fill_byte(0, salt, at + k) &&
            second[k] == fill_byte(1, salt, at + k)) {
            d->n_unwritten++;
            note_first(d->unwritten, t, at + k);
        } else {
            d->n_changing++;
            note_first(d->changing, t, at + k);
        }
    }
}

mxo_status stage_compare_outputs(stage *g, const tensor_set *out, distrust *d,
                                 mxo_text why)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; status == MXO_OK && i < g->n_out; i++) {
        const host_tensor *t = &out->t[i];
        for (uint64_t at = 0; status == MXO_OK && at < t->n_bytes;
             at += STAGE_CHUNK) {
            status = fetch(g, &g->out[i], g->out[i].offset + at,
                           end_of(&g->out[i]), why);
            if (status == MXO_OK) {
                compare_chunk(t, at, g->chunk,
                              shorter(t->n_bytes - at, STAGE_CHUNK),
                              g->out[i].salt, d);
            }
        }
    }
    return status;
}

/* A refused call must leave its outputs as they were. */
static mxo_status check_kept(stage *g, const placed *p, int run, char *text,
                             mxo_text why)
{
    const uint64_t n_bytes = p->host->n_bytes;
    mxo_status status = MXO_OK;

    for (uint64_t at = 0; status == MXO_OK && at < n_bytes; at += STAGE_CHUNK) {
        const uint64_t n = shorter(n_bytes - at, STAGE_CHUNK);
        status = fetch(g, p, p->offset + at, end_of(p), why);
        for (uint64_t i = 0; status == MXO_OK && i < n; i++) {
            if (text[0] == '\0' &&
                g->chunk[i] != fill_byte(run, p->salt, at + i)) {
                (void)snprintf(text, SUBJECT_TEXT,
                               "refused, yet wrote byte %" PRIu64 " of %s",
                               at + i, p->host->name);
            }
        }
    }
    return status;
}

mxo_status stage_check_refusal(stage *g, int run, distrust *d, mxo_text why)
{
    for (uint32_t i = 0; i < g->n_out; i++) {
        MXO_TRY(check_kept(g, &g->out[i], run, d->refusal, why));
    }
    return MXO_OK;
}

/* A handle is an address if the guard is found there. */
static void add_fence(const stage *g, const placed *p)
{
    const uint8_t *bytes = p->buffer;
    const subject_link *link = g->s->link;
    const int is_before = g->side == FENCE_BEFORE;
    uint8_t guard[16];
    const uint64_t edge = is_before ? p->offset : end_of(p);

    if (link != NULL) {
        const fence_place f = {
            p->host->name, g->side, edge,
            fence_page(p->buffer, edge, g->s->host_align, g->side)};
        link->fence(link->state, &f, p->buffer);
        return;
    }
    const uint64_t at = is_before ? edge - sizeof guard : edge;

    for (size_t i = 0; i < sizeof guard; i++) {
        guard[i] = guard_byte(p->salt, at + i);
    }
    if (system_sees(bytes + at, guard, sizeof guard)) {
        fence_add(bytes + edge, g->s->host_align, p->host->name, g->side);
    }
}

void stage_raise_fences(const stage *g)
{
    for (uint32_t i = 0; i < g->n_in && g->s->host_align > 0; i++) {
        add_fence(g, &g->in[i]);
    }
    fence_raise();
}

void stage_release(stage *g)
{
    for (uint32_t i = 0; i < g->n_in; i++) {
        unplace(g, &g->in[i]);
    }
    for (uint32_t i = 0; i < g->n_out; i++) {
        unplace(g, &g->out[i]);
    }
    free(g->in);
    free(g->out);
    free(g->chunk);
}
