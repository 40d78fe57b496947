/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks during a run, fences, and after it: guards, gaps and inputs as they
 * were sent; outputs read from the backend's memory.  See device_buffers.h.
 */
#include "checked_run.h"
#include "device_buffers.h"
#include "launch.h"

#include "base/memory.h"
#include "base/say.h"
#include "system/system.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Guard bytes that tell an address. */
enum { SEEN = 16 };

/* A handle is an address if the guard is found there.  A stream may still bring
   the input's bytes. */
static void add_fence(const stage *g, placed *p)
{
    const uint8_t *bytes = p->buffer;
    const int is_before = g->side == FENCE_BEFORE;
    const uint64_t edge = is_before ? p->offset : stage_end_of(p);
    const fence_place f = {
        .name = p->host->name,
        .side = g->side,
        .edge = edge,
        .page = fence_page(p->buffer, edge, stage_fence_align(g, p), g->side),
        .n_held = (g->ways & LAUNCH_STREAM) != 0 ? 0 : p->at.n_bytes};

    if (g->s->link != NULL) {
        g->s->link->fence(g->s->link->state, &f, p->buffer);
        return;
    }
    const uint64_t n = is_before ? SEEN : 0; /* of them before the edge */

    p->is_address =
        p->is_address ||
        system_sees(bytes + edge - n, p->guards + STAGE_GUARD - n, SEEN);
    if (p->is_address) {
        fence_add(&f, p->buffer);
    }
}

void stage_note_written(run_checks *d)
{
    uint64_t byte;
    const char *name = fence_take_written(&byte);

    if (name != NULL && d->inputs[0] == '\0') {
        (void)snprintf(d->inputs, sizeof d->inputs,
                       "input %s: byte %" PRIu64
                       " was changed, if only for a while",
                       name, byte);
    }
}

void stage_raise_fences(const stage *g)
{
    for (uint32_t i = 0; i < g->n_in && g->s->host_align > 0; i++) {
        add_fence(g, &g->in[i]);
    }
    fence_raise();
}

static uint64_t shorter(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Tensor number i: the workspace is the last one. */
static placed *tensor_at(stage *g, uint32_t i)
{
    return i < g->n_in              ? &g->in[i]
           : i < g->n_in + g->n_out ? &g->out[i - g->n_in]
                                    : &g->workspace;
}

/* The first byte that belongs to it. */
static uint64_t first_of(const placed *p)
{
    return p->is_first ? p->offset : stage_front_of(p);
}

/* Bytes that nobody wrote are these. */
enum { UNREAD = 0x33 };

/* Small tensors between their guards, all at once, where the backend can. */
static mxo_status look(stage *g, mxo_text why)
{
    enum { SMALL = 1 << 18, MOST = 1 << 20 };
    const subject_link *link = g->s->link;
    const uint32_t n_tensors =
        g->n_in + g->n_out + (g->workspace.buffer != NULL);
    wanted_bytes w[MXO_MAX_TENSORS + MAX_OUT + 1];
    uint64_t used = 0;
    uint32_t n = 0;

    if (link == NULL || link->fetch == NULL) {
        return MXO_OK;
    }
    g->seen = memory_need(MOST);
    for (uint32_t i = 0; i < n_tensors; i++) {
        placed *p = tensor_at(g, i);
        const uint64_t from = first_of(p);
        const uint64_t size = stage_end_of(p) + STAGE_GUARD - from;
        if (size <= SMALL && used + size <= MOST) {
            p->seen = g->seen + used;
            w[n++] = (wanted_bytes){p->buffer, from, size, g->seen + used};
            used += size;
        }
    }
    memset(g->seen, UNREAD, used);
    return n > 0 ? link->fetch(link->state, w, n, why) : MXO_OK;
}

/* What was seen is no longer true. */
static void look_away(stage *g)
{
    for (uint32_t i = 0; i <= g->n_in + g->n_out; i++) {
        tensor_at(g, i)->seen = NULL;
    }
    free(g->seen);
    g->seen = NULL;
}

/* n bytes of its buffer, from byte `from` on. */
static mxo_status read_bytes(const stage *g, const placed *p, uint64_t from,
                             uint64_t n, uint8_t *to, mxo_text why)
{
    if (p->seen != NULL) {
        memcpy(to, p->seen + (from - first_of(p)), n);
        return MXO_OK;
    }
    memset(to, UNREAD, n);
    return g->s->table->download(g->s->ctx, to, p->buffer, from, n, why);
}

/* The next bytes from .. end, as many as fit, into the chunk. */
static mxo_status fetch(stage *g, const placed *p, uint64_t from, uint64_t end,
                        mxo_text why)
{
    return read_bytes(g, p, from, shorter(end - from, STAGE_CHUNK), g->chunk,
                      why);
}

/* A tensor with gaps, through the image into bytes; what was written between
   its rows is noted. */
static mxo_status fetch_parted(stage *g, const placed *p, uint8_t *bytes,
                               mxo_text why)
{
    const uint64_t n = p->at.n_bytes;

    const mxo_status status = read_bytes(g, p, p->offset, n, g->image, why);

    stage_make_gaps(g, p, g->chunk, n, p->offset);
    const uint64_t hit =
        placement_gap_differs(&p->at, p->host, g->chunk, g->image);

    if (status == MXO_OK && hit < n && g->gap[0] == '\0') {
        (void)snprintf(g->gap, sizeof g->gap,
                       "%s: byte %" PRIu64
                       " from its start, between two rows, was overwritten",
                       p->host->name, hit);
    }
    placement_gather(&p->at, p->host, g->image, bytes);
    return status;
}

/* The bytes of a tensor from byte at on, as many as fit, into the chunk. */
static mxo_status fetch_bytes(stage *g, const placed *p, uint64_t at,
                              mxo_text why)
{
    return placement_is_dense(&p->at)
               ? fetch(g, p, p->offset + at, stage_end_of(p), why)
               : fetch_parted(g, p, g->chunk, why);
}

/* Where and how the guard at this place differs; "" if it does not. */
static mxo_status check_guard(stage *g, const placed *p, uint64_t at,
                              char *text, mxo_text why)
{
    const uint8_t *guard = stage_guard_at(p, at);
    uint64_t i = 0;
    const mxo_status status = fetch(g, p, at, at + STAGE_GUARD, why);

    if (status == MXO_OK && text[0] == '\0' &&
        memcmp(g->chunk, guard, STAGE_GUARD) != 0) {
        while (g->chunk[i] == guard[i]) {
            i++;
        }
        (void)snprintf(text, SUBJECT_TEXT,
                       "%s: byte %" PRIu64 " %s was overwritten", p->host->name,
                       at < p->offset ? STAGE_GUARD - i : i + 1,
                       at < p->offset ? "before its start" : "past its end");
    }
    return status;
}

static mxo_status check_guards(stage *g, const placed *p, char *text,
                               mxo_text why)
{
    if (!p->is_first) {
        MXO_TRY(check_guard(g, p, stage_front_of(p), text, why));
    }
    return check_guard(g, p, stage_end_of(p), text, why);
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

        status = fetch_bytes(g, p, at, why);
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

mxo_status stage_check_guards(stage *g, run_checks *d, mxo_text why)
{
    for (uint32_t i = 0; i < g->n_in; i++) {
        MXO_TRY(check_guards(g, &g->in[i], d->guards, why));
        MXO_TRY(check_input(g, &g->in[i], d->inputs, why));
    }
    for (uint32_t i = 0; i < g->n_out; i++) {
        MXO_TRY(check_guards(g, &g->out[i], d->guards, why));
    }
    if (g->workspace.buffer != NULL) {
        MXO_TRY(check_guards(g, &g->workspace, d->guards, why));
    }
    return MXO_OK;
}

mxo_status stage_fetch_outputs(stage *g, tensor_set *out, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (uint32_t i = 0; status == MXO_OK && i < g->n_out; i++) {
        const host_tensor *t = &out->t[i];
        if (t->n_bytes > 0) { /* a first run's outputs are dense */
            status = read_bytes(g, &g->out[i], g->out[i].offset, t->n_bytes,
                                t->data, why);
        }
    }
    return status;
}

static uint8_t fill_byte(const placed *p, int run, uint64_t i)
{
    uint8_t byte;

    judge_bytes_fill(p->salt, run, &byte, 1, i);
    return byte;
}

static void note_first(char *text, const host_tensor *t, uint64_t byte)
{
    if (text[0] == '\0') {
        (void)snprintf(text, SUBJECT_TEXT, "%s, byte %" PRIu64, t->name, byte);
    }
}

/* n bytes of a second run, in the chunk, that differ from those of t from byte
   at on. */
static void compare_chunk(const stage *g, const placed *p, const host_tensor *t,
                          uint64_t at, uint64_t n, run_checks *d)
{
    const uint8_t *first = t->data + at;
    const uint8_t *second = g->chunk;

    if (memcmp(first, second, n) == 0) {
        return;
    }
    for (uint64_t k = 0; k < n; k++) {
        if (first[k] == second[k]) {
            continue;
        }
        if (first[k] == fill_byte(p, 0, at + k) &&
            second[k] == fill_byte(p, 1, at + k)) {
            d->n_unwritten++;
            note_first(d->unwritten, t, at + k);
        } else {
            d->n_changing++;
            note_first(d->changing, t, at + k);
        }
    }
}

mxo_status stage_compare_outputs(stage *g, const tensor_set *out, run_checks *d,
                                 mxo_text why)
{
    for (uint32_t i = 0; i < g->n_out; i++) {
        const host_tensor *t = &out->t[i];
        for (uint64_t at = 0; at < t->n_bytes; at += STAGE_CHUNK) {
            MXO_TRY(fetch_bytes(g, &g->out[i], at, why));
            compare_chunk(g, &g->out[i], t, at,
                          shorter(t->n_bytes - at, STAGE_CHUNK), d);
        }
    }
    return MXO_OK;
}

/* How many of n bytes of an output, from byte at on, are first those that it
   held before the run. */
static uint64_t kept_bytes(const placed *p, int run, const uint8_t *bytes,
                           uint64_t n, uint64_t at)
{
    uint8_t fill[4096];
    uint64_t i = 0;

    for (; i < n; i += sizeof fill) {
        const uint64_t part = shorter(n - i, sizeof fill);
        uint64_t k = 0;
        judge_bytes_fill(p->salt, run, fill, part, at + i);
        if (memcmp(bytes + i, fill, part) != 0) {
            while (bytes[i + k] == fill[k]) {
                k++;
            }
            return i + k;
        }
    }
    return n;
}

/* An output that nothing may have written to still holds what was sent before
   the run; else text tells the first byte that does not, behind the words of
   who wrote it. */
static mxo_status check_kept(stage *g, const placed *p, int run,
                             const char *wrote, char *text, mxo_text why)
{
    const uint64_t n_bytes = p->host->n_bytes;

    for (uint64_t at = 0; at < n_bytes; at += STAGE_CHUNK) {
        const uint64_t n = shorter(n_bytes - at, STAGE_CHUNK);
        MXO_TRY(fetch_bytes(g, p, at, why));
        const uint64_t kept = kept_bytes(p, run, g->chunk, n, at);
        if (kept < n && text[0] == '\0') {
            (void)snprintf(text, SUBJECT_TEXT, "%s byte %" PRIu64 " of %s",
                           wrote, at + kept, p->host->name);
        }
    }
    return MXO_OK;
}

mxo_status stage_check_refusal(stage *g, int run, run_checks *d, mxo_text why)
{
    for (uint32_t i = 0; i < g->n_out; i++) {
        MXO_TRY(check_kept(g, &g->out[i], run, "refused, yet wrote", d->refusal,
                           why));
    }
    return MXO_OK;
}

mxo_status stage_check_capture(stage *g, int run, mxo_text why)
{
    char text[SUBJECT_TEXT] = "";

    for (uint32_t i = 0; i < g->n_out; i++) {
        MXO_TRY(check_kept(g, &g->out[i], run, "its capture wrote", text, why));
    }
    return text[0] == '\0' ? MXO_OK : say(MXO_E_DEVICE, why, "%s", text);
}

mxo_status checked_run(stage *g, int run, int n_runs, tensor_set *out,
                       run_checks *d, mxo_text why)
{
    mxo_status status = stage_send_outputs(g, run, why);

    if (status != MXO_OK) {
        return status;
    }
    status = launch_make(g, run, n_runs, d, why);
    const mxo_text unheard = {NULL, 0};
    const mxo_text after = status == MXO_OK ? why : unheard;
    mxo_status back = look(g, after);

    if (back == MXO_OK) {
        back = stage_check_guards(g, d, after);
    }
    if (back == MXO_OK && status != MXO_OK) {
        back = stage_check_refusal(g, run, d, after);
    } else if (back == MXO_OK && run == 0) {
        back = stage_fetch_outputs(g, out, after);
    } else if (back == MXO_OK) {
        back = stage_compare_outputs(g, out, d, after);
    }
    look_away(g);
    if (d->guards[0] == '\0') {
        (void)snprintf(d->guards, sizeof d->guards, "%s", g->gap);
    }
    return status == MXO_OK ? back : status;
}

mxo_status checked_turn(stage *g, unsigned ways, mxo_text why)
{
    const mxo_status status = stage_turn(g, ways, why);

    return status == MXO_OK ? stage_send_inputs(g, launch_sends_late(ways), why)
                            : status;
}

int checked_is_failure(mxo_status status)
{
    return status == MXO_E_NOMEM || status >= MXO_E_DEVICE;
}

void checked_add_words(const char *words, mxo_status status, run_checks *d,
                       mxo_text why)
{
    const mxo_text said =
        status != MXO_OK       ? why
        : d->guards[0] != '\0' ? (mxo_text){d->guards, sizeof d->guards}
        : d->n_unwritten > 0   ? (mxo_text){d->unwritten, sizeof d->unwritten}
                               : (mxo_text){d->changing, sizeof d->changing};
    const size_t used = strlen(said.ptr);

    (void)snprintf(said.ptr + used, said.size - used, "%s%.200s",
                   used > 0 ? ", " : "", words);
}

int checked_differs(stage *g, unsigned ways, int n_runs, tensor_set *out)
{
    char text[SUBJECT_TEXT];
    const mxo_text why = {text, sizeof text};
    run_checks d;

    memset(&d, 0, sizeof d);
    g->gap[0] = '\0';
    return checked_turn(g, ways, why) != MXO_OK ||
           checked_run(g, 1, n_runs, out, &d, why) != MXO_OK ||
           d.n_unwritten + d.n_changing > 0 || d.guards[0] != '\0';
}

unsigned checked_to_blame(stage *g, unsigned ways, int n_runs, tensor_set *out)
{
    /* Twice: a result that alternates may be right once. */
    for (int i = 0; i < 2; i++) {
        if (checked_differs(g, 0, n_runs, out)) {
            return 0;
        }
    }
    for (unsigned way = 1; way < LAUNCH_ALL; way *= 2) {
        if ((ways & way) != 0 && checked_differs(g, way, n_runs, out)) {
            return way;
        }
    }
    return ways;
}

void checked_add_cause(stage *g, unsigned ways, const char *words,
                       tensor_set *out, mxo_status status, run_checks *d,
                       mxo_text why)
{
    const int is_gone = g->s->link != NULL && status == MXO_E_DEVICE;
    char with[SUBJECT_TEXT / 2];
    char text[SUBJECT_TEXT];

    if (ways == 0 || is_gone || !checked_differs(g, ways, 1, out)) {
        checked_add_words(words, status, d, why);
        return;
    }
    const unsigned way = checked_to_blame(g, ways, 1, out);

    launch_say(way, (mxo_text){with, sizeof with});
    (void)snprintf(text, sizeof text,
                   way != 0 ? "when called %s" : "%s, and without",
                   way != 0 ? with : words);
    checked_add_words(text, status, d, why);
}

int checked_is_wrong(mxo_status status, const run_checks *d)
{
    return status != MXO_OK || d->n_unwritten > 0 || d->n_changing > 0 ||
           d->guards[0] != '\0';
}
