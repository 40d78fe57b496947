/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls are made in which ways, and what goes with them; see launch.h. */
#include "launch.h"

#include "device_buffers.h"

#include <stdio.h>
#include <string.h>

/* Is it one of the texts that | separates? */
static int is_one_of(const char *text, const char *list, size_t n)
{
    const size_t length = strlen(text);
    size_t at = 0;

    while (at < n) {
        const size_t all = strcspn(list + at, "| ");
        if (all == length && strncmp(list + at, text, all) == 0) {
            return 1;
        }
        at += all + 1;
    }
    return 0;
}

/* Is the call what this word of mxo_backend.uncaptured says? */
static int is_named(const op_call *c, const char *word, size_t n)
{
    const size_t op = strcspn(word, ": ");

    if (strlen(c->op) != op || strncmp(c->op, word, op) != 0) {
        return 0;
    }
    if (op == n) {
        return 1;
    }
    const char *const key = word + op + 1;
    const size_t length = strcspn(key, "= ");

    for (uint32_t i = 0; i < c->n_params && key[length] == '='; i++) {
        const mxo_param *p = &c->params[i];
        if (strlen(p->key) == length && strncmp(p->key, key, length) == 0) {
            const char *const values = key + length + 1;
            return is_one_of(p->text, values, (size_t)(word + n - values));
        }
    }
    return 0;
}

/* Does the backend declare that it captures such calls? */
static int captures(const mxo_backend *b, const op_call *c)
{
    const char *at = b->uncaptured;

    while (at != NULL && *at != '\0') {
        const size_t n = strcspn(at, " ");
        if (is_named(c, at, n)) {
            return 0;
        }
        at += n + strspn(at + n, " ");
    }
    return b->capture != NULL;
}

unsigned launch_declared(const stage *g)
{
    const mxo_backend *b = g->s->table;

    return (g->can_part ? LAUNCH_APART : 0u) |
           (b->align != 0 ? LAUNCH_ALIGN : 0u) |
           (b->stream_open != NULL ? LAUNCH_STREAM : 0u) |
           (captures(b, g->call) ? LAUNCH_GRAPH : 0u);
}

static uint64_t mix(uint64_t h, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < n; i++) {
        h = (h ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return h;
}

uint64_t launch_hash_of(const op_call *c)
{
    uint64_t h = mix(UINT64_C(0xcbf29ce484222325), c->op, strlen(c->op));

    for (uint32_t i = 0; i < c->n_params; i++) {
        h = mix(h, c->params[i].text, strlen(c->params[i].text));
    }
    for (uint32_t i = 0; i < c->in->n; i++) {
        h = mix(h, c->in->t[i].shape, sizeof c->in->t[i].shape);
    }
    return h ^ h >> 32;
}

uint64_t launch_hash(const stage *g)
{
    return g->hash;
}

uint64_t launch_bytes(const stage *g)
{
    uint64_t n_bytes = 0;

    for (uint32_t i = 0; i < g->n_in; i++) {
        n_bytes += g->in[i].host->n_bytes;
    }
    for (uint32_t i = 0; i < g->n_out; i++) {
        n_bytes += g->out[i].host->n_bytes;
    }
    return n_bytes;
}

int launch_is_chosen(const stage *g, uint64_t small)
{
    const uint64_t n_bytes = launch_bytes(g);

    return n_bytes <= small ||
           (n_bytes + launch_hash(g)) * 0x9e3779b97f4a7c15u >> 60 == 0;
}

int launch_comes_first(const stage *g)
{
    return (launch_hash(g) >> 40 & 7) == 0;
}

int launch_places(const stage *g)
{
    enum { SMALL = 1 << 14, TINY = 1 << 12 };
    const uint64_t n_bytes = launch_bytes(g);
    const uint64_t drawn = launch_hash(g) >> 45;

    if (n_bytes <= TINY && (drawn & (g->s->n_before > 1 ? 3 : 31)) == 0) {
        return LAUNCH_PLACES;
    }
    return n_bytes <= SMALL && (drawn & 15) == 0 ? 8 : 1;
}

unsigned launch_draw(const stage *g)
{
    /* All at once in half of the calls, as that shows most; any set of them in
       the rest, as a way can be right because of another. */
    const uint64_t h = launch_hash(g);

    return launch_declared(g) & ((h & 1) != 0 ? LAUNCH_ALL : (h >> 1) % 16);
}

/* The most bytes of a call that is made in the ways left out: where a parameter
   has many values of few sizes, each with code of its own; 0: none is. */
static uint64_t most_left_out(const char *op)
{
    const int is_small =
        strncmp(op, "format.", 7) == 0 || strcmp(op, "dequant.mx_table") == 0;

    return strncmp(op, "layout.", 7) == 0 ? 1 << 18 : is_small ? 1 << 12 : 0;
}

/* The ways of the second run are the stage's still. */
unsigned launch_left_out(stage *g)
{
    const unsigned was_graph = g->ways & LAUNCH_GRAPH;
    const unsigned parted = stage_parted(g);
    unsigned done = g->ways;

    if (launch_bytes(g) > most_left_out(g->call->op)) {
        return 0;
    }
    g->parts = parted == g->can_part ? 0 : g->can_part & ~parted;
    done &= ~(g->parts != 0 ? (unsigned)LAUNCH_APART : 0);
    done &= ~(was_graph != 0 ? (unsigned)LAUNCH_STREAM : 0);
    return launch_declared(g) & ~done;
}

int launch_sends_late(unsigned ways)
{
    return (ways & (LAUNCH_STREAM | LAUNCH_GRAPH)) != 0;
}

void launch_say(unsigned ways, mxo_text text)
{
    static const char *const words[] = {
        "gaps between rows and experts", "tensors less aligned", "a stream",
        "a graph that was captured and launched with other data"};
    size_t used = 0;

    text.ptr[0] = '\0';
    for (int i = 0; i < 4 && used < text.size; i++) {
        if ((ways & 1u << i) != 0) {
            used += (size_t)snprintf(text.ptr + used, text.size - used, "%s%s",
                                     used == 0 ? "with " : " and ", words[i]);
        }
    }
}

int launch_may_be_behind(const subject *s)
{
    return s->link == NULL || s->link->has_behind_graph;
}

int launch_at_once(const subject *s, double ms)
{
    enum { MOST = 64, MOST_MS = 250 };

    if (s->link != NULL && !s->link->has_runs) {
        return 1;
    }
    return ms <= (double)MOST_MS / MOST ? MOST
           : ms < MOST_MS               ? (int)(MOST_MS / ms)
                                        : 1;
}

int launch_place_workspace(const subject *s, mxo_call *call, mxo_tensor *t,
                           mxo_text why)
{
    const mxo_backend *b = s->table;

    *t = (mxo_tensor){.name = "workspace", .dtype = MXO_U8, .rank = 1};
    if (b->workspace == NULL) {
        return 0;
    }
    if (b->workspace(s->ctx, call, &t->n_bytes, why) != MXO_OK) {
        return -1;
    }
    t->shape[0] = t->n_bytes;
    if (t->n_bytes > 0 && b->alloc(s->ctx, t->n_bytes, &t->buffer) != MXO_OK) {
        t->buffer = NULL;
        (void)snprintf(why.ptr, why.size, "no memory for its workspace");
        return -1;
    }
    call->workspace = t->n_bytes > 0 ? t : NULL;
    return 0;
}

void launch_free_workspace(const subject *s, const mxo_tensor *t)
{
    if (t->buffer != NULL) {
        s->table->dealloc(s->ctx, t->buffer);
    }
}

void launch_meanwhile(const mxo_backend *b, void *ctx, const mxo_call *call)
{
    const uint8_t bytes[64] = {0};
    char text[64];
    const mxo_text unheard = {text, sizeof text};
    void *buffer = NULL;
    void *stream = NULL;
    void *graph = NULL;
    const int has_buffer = b->alloc(ctx, sizeof bytes, &buffer) == MXO_OK;
    const int has_stream = b->stream_open != NULL &&
                           b->stream_open(ctx, &stream, unheard) == MXO_OK;
    const int has_graph = call != NULL && b->capture != NULL &&
                          b->capture(ctx, call, &graph, unheard) == MXO_OK;

    if (has_buffer) {
        (void)b->upload(ctx, buffer, 0, bytes, sizeof bytes, unheard);
        b->dealloc(ctx, buffer);
    }
    if (has_graph) {
        b->graph_close(ctx, graph);
    }
    if (has_stream) {
        b->stream_close(ctx, stream);
    }
}
