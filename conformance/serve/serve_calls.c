/* SPDX-License-Identifier: Apache-2.0 */
/* See server.h. */
#include "server.h"

#include "device/launch.h"
#include "exec/call_json.h"
#include "reply.h"
#include "system/fence.h"
#include "system/system.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Whether the backend downloads the bytes at the address.  What it writes next
   to them does no harm here: the judge's downloads tell it. */
static int is_at_address(server *s, void *buffer, uint64_t at)
{
    enum { EDGE = 64, BYTES = 16 };
    uint8_t room[EDGE + BYTES + EDGE];
    uint8_t *const bytes = room + EDGE;

    return s->table->download(s->ctx, bytes, buffer, at, BYTES,
                              serve_text_of(s)) == MXO_OK &&
           system_sees((const uint8_t *)buffer + at, bytes, BYTES);
}

static void raise_fences(server *s, const json_t *fences)
{
    for (size_t i = 0; i < json_array_size(fences); i++) {
        const json_t *o = json_array_get(fences, i);
        const char *side = json_string_value(json_object_get(o, "side"));
        const int is_before = side != NULL && strcmp(side, "before") == 0;
        const uint64_t edge = serve_number_in(o, "edge");
        const fence_place f = {json_string_value(json_object_get(o, "name")),
                               is_before ? FENCE_BEFORE : FENCE_BEHIND, edge,
                               serve_number_in(o, "at"),
                               serve_number_in(o, "held")};
        uint8_t *buffer = serve_buffer_of(o);
        if (f.name != NULL && s->is_address && buffer != NULL &&
            is_at_address(s, buffer, is_before ? edge - 16 : edge)) {
            fence_add(&f, buffer);
        }
    }
    fence_raise();
}

/* A call to make, or a graph of one. */
typedef struct made {
    const mxo_call *call; /* NULL: */
    void *graph;
    void *stream;
} made;

static mxo_status make(server *s, void *ctx, const made *m, mxo_text why)
{
    return m->call != NULL ? s->table->run(ctx, m->call, why)
                           : s->table->launch(ctx, m->graph, m->stream, why);
}

static void *handle_in(const json_t *request, const char *key)
{
    return (void *)(uintptr_t)serve_number_in(request, key);
}

/* The context of what stands behind: that of the request, or another that is
   open. */
static void *context_behind(const server *s, const json_t *behind)
{
    const json_t *context = json_object_get(behind, "context");
    void *const named = s->contexts[json_integer_value(context) == 1];

    return context == NULL || named == NULL ? s->ctx : named;
}

/* What a request wants behind its own call: a graph, or a call, read into r,
   which stays until both are waited for.  It may be declined. */
static mxo_status make_behind(server *s, const json_t *behind, read_call *r)
{
    char text[sizeof s->text];

    void *const graph = behind == NULL ? NULL : handle_in(behind, "graph");
    const made m = {graph == NULL ? &r->call : NULL, graph,
                    behind == NULL ? NULL : handle_in(behind, "stream")};

    if (behind == NULL || (graph == NULL && call_from_json(r, behind) != 0)) {
        return MXO_OK;
    }
    const uint64_t n_runs = serve_number_in(behind, "runs");
    void *const ctx = context_behind(s, behind);
    mxo_status status = make(s, ctx, &m, (mxo_text){text, sizeof text});

    for (uint64_t i = 1; status == MXO_OK && i < n_runs; i++) {
        status = make(s, ctx, &m, (mxo_text){text, sizeof text});
    }
    if (status != MXO_E_NOMEM && status < MXO_E_DEVICE) {
        return MXO_OK;
    }
    text[sizeof text - 1] = '\0';
    memcpy(s->text, text, sizeof text);
    return status;
}

/* The context of what stands behind first.  text: of a failure; "" else. */
static mxo_status wait_for(server *s, const json_t *behind, mxo_text text)
{
    void *const ctx = context_behind(s, behind);
    const mxo_status other =
        ctx == s->ctx ? MXO_OK : s->table->synchronize(ctx, text);
    char unheard[64];
    const mxo_status own = s->table->synchronize(
        s->ctx, other == MXO_OK ? text : (mxo_text){unheard, sizeof unheard});

    return other == MXO_OK ? own : other;
}

/* Once, or more often before one synchronize(). */
static void make_and_reply(server *s, const made *m, const json_t *request)
{
    const uint64_t n_runs = serve_number_in(request, "runs");
    read_call behind;

    process_state_reset(s->order);
    raise_fences(s, json_object_get(request, "fence"));
    const json_t *beside = json_object_get(request, "behind");
    mxo_status status = make(s, s->ctx, m, serve_text_of(s));

    for (uint64_t i = 1; status == MXO_OK && i < n_runs; i++) {
        status = make(s, s->ctx, m, serve_text_of(s));
    }
    s->text[sizeof s->text - 1] = '\0';
    if (status == MXO_OK) {
        status = make_behind(s, beside, &behind);
    }
    if (status == MXO_OK &&
        json_is_true(json_object_get(request, "meanwhile"))) {
        launch_meanwhile(s->table, s->ctx, m->call);
    }
    if (status == MXO_OK) {
        status = wait_for(s, beside, serve_text_of(s));
    } else {
        char unheard[64];
        (void)wait_for(s, beside, (mxo_text){unheard, sizeof unheard});
    }
    const int is_fenced = fence_is_intact();
    uint64_t byte;
    const char *name = fence_take_written(&byte);

    fence_lower();
    if (status == MXO_OK && s->table->kernel != NULL) {
        s->table->kernel(s->ctx, serve_text_of(s));
    }
    if ((is_fenced && name == NULL) || reply_is_child()) {
        serve_reply_after_call(s, status);
        return;
    }
    process_state_reset(s->order);
    if (is_fenced) {
        (void)snprintf(s->text, sizeof s->text,
                       "its input %.80s: byte %" PRIu64
                       " was changed, if only for a while",
                       name, byte);
    }
    reply_send("left",
               is_fenced ? s->text
                         : "the handler of the signal \"Segmentation fault\"");
}

static void no_such(server *s)
{
    (void)snprintf(s->text, sizeof s->text, "it declares nothing of the kind");
    serve_reply_status(s, MXO_E_UNSUPPORTED);
}

/* The call of a request; 0: there is none, and that was said. */
static int read_request(server *s, read_call *r, const json_t *request)
{
    if (call_from_json(r, request) == 0) {
        return 1;
    }
    (void)snprintf(s->text, sizeof s->text, "no call");
    serve_reply_status(s, MXO_E_PARAM);
    return 0;
}

void serve_run(server *s, const json_t *request)
{
    read_call r;

    if (read_request(s, &r, request)) {
        make_and_reply(s, &(made){&r.call, NULL, NULL}, request);
    }
}

void serve_launch(server *s, const json_t *request)
{
    if (s->table->launch == NULL) {
        no_such(s);
        return;
    }
    make_and_reply(s,
                   &(made){NULL, handle_in(request, "graph"),
                           handle_in(request, "stream")},
                   request);
}

/* A number in place of an empty text, if the status is good. */
static void reply_number(server *s, mxo_status status, uint64_t n)
{
    if (status == MXO_OK) {
        (void)snprintf(s->text, sizeof s->text, "%" PRIu64, n);
    }
    serve_reply_after_call(s, status);
}

void serve_workspace(server *s, const json_t *request)
{
    read_call r;
    uint64_t n_bytes = 0;

    if (s->table->workspace == NULL) {
        no_such(s);
    } else if (read_request(s, &r, request)) {
        process_state_reset(s->order);
        const mxo_status status =
            s->table->workspace(s->ctx, &r.call, &n_bytes, serve_text_of(s));
        reply_number(s, status, n_bytes);
    }
}

void serve_stream_open(server *s, const json_t *request)
{
    void *stream = NULL;

    (void)request;
    if (s->table->stream_open == NULL) {
        no_such(s);
        return;
    }
    process_state_reset(s->order);
    const mxo_status status =
        s->table->stream_open(s->ctx, &stream, serve_text_of(s));

    reply_number(s, status, (uint64_t)(uintptr_t)stream);
}

void serve_stream_close(server *s, const json_t *request)
{
    if (s->table->stream_close != NULL) {
        s->table->stream_close(s->ctx, handle_in(request, "stream"));
    }
    (void)serve_text_of(s);
    serve_reply_status(s, MXO_OK);
}

void serve_stream_upload(server *s, const json_t *request)
{
    const uint64_t n = serve_number_in(request, "bytes");
    const uint64_t at = serve_number_in(request, "from");

    if (s->table->stream_upload == NULL || at > UINT64_MAX - n ||
        !serve_map_memory(s, at + n)) {
        no_such(s);
        return;
    }
    process_state_reset(s->order);
    serve_reply_after_call(
        s, s->table->stream_upload(
               s->ctx, handle_in(request, "stream"), serve_buffer_of(request),
               serve_number_in(request, "offset"), s->memory + at, n,
               (uint32_t)serve_number_in(request, "microseconds"),
               serve_text_of(s)));
}

void serve_capture(server *s, const json_t *request)
{
    read_call r;
    void *graph = NULL;

    if (s->table->capture == NULL) {
        no_such(s);
    } else if (read_request(s, &r, request)) {
        process_state_reset(s->order);
        const mxo_status status =
            s->table->capture(s->ctx, &r.call, &graph, serve_text_of(s));
        reply_number(s, status, (uint64_t)(uintptr_t)graph);
    }
}

void serve_graph_close(server *s, const json_t *request)
{
    if (s->table->graph_close != NULL) {
        s->table->graph_close(s->ctx, handle_in(request, "graph"));
    }
    (void)serve_text_of(s);
    serve_reply_status(s, MXO_OK);
}

void serve_time(server *s, const json_t *request)
{
    read_call r;
    double seconds = 0;
    mxo_status status = MXO_E_UNSUPPORTED;

    process_state_reset(s->order);
    (void)serve_text_of(s);
    if (call_from_json(&r, request) == 0 && s->table->time != NULL) {
        status = s->table->time(s->ctx, &r.call,
                                (uint32_t)serve_number_in(request, "repeat"),
                                &seconds, serve_text_of(s));
    }
    if (status == MXO_OK) {
        (void)snprintf(s->text, sizeof s->text, "%.17g", seconds);
    }
    serve_reply_after_call(s, status);
}

void serve_time_copy(server *s, const json_t *request)
{
    double seconds = 0;
    mxo_status status = MXO_E_UNSUPPORTED;

    (void)serve_text_of(s);
    if (s->table->time_copy != NULL) {
        status =
            s->table->time_copy(s->ctx, serve_number_in(request, "bytes"),
                                (uint32_t)serve_number_in(request, "repeat"),
                                &seconds, serve_text_of(s));
    }
    if (status == MXO_OK) {
        (void)snprintf(s->text, sizeof s->text, "%.17g", seconds);
    }
    serve_reply_status(s, status);
}

/* Of the second context; what that changes in the process is no call's. */
void serve_close(server *s, const json_t *request)
{
    const int was_changed = process_state_differs(s->order, serve_text_of(s));

    (void)request;
    if (s->contexts[1] != NULL && s->ctx == s->contexts[1]) {
        s->table->close(s->ctx);
        s->contexts[1] = NULL;
        s->ctx = s->contexts[0];
    }
    if (!was_changed) {
        process_state_loaded(s->order);
    }
    (void)serve_text_of(s);
    serve_reply_status(s, MXO_OK);
}
