/* SPDX-License-Identifier: Apache-2.0 */
/* The ways of calling that a subject declares, asked of its process. */
#include "base/say.h"
#include "proxy_process.h"

#include "call_json.h"

#include <stdio.h>
#include <string.h>

/* A request whose answer is a number. */
static mxo_status ask_number(proxy *p, json_t *o, uint64_t *n, mxo_text why)
{
    const char *text;
    mxo_status status = proxy_ask(p, o, &text);

    *n = 0;
    if (status != MXO_OK) {
        return proxy_give_text(p, status, text, why);
    }
    json_t *number = json_string(text);

    if (!json_to_u64(number, n)) {
        status = say(MXO_E_DEVICE, why, "it answers no number: %.100s", text);
    }
    json_decref(number);
    return status;
}

static mxo_status ask_handle(proxy *p, json_t *o, void **handle, mxo_text why)
{
    uint64_t n = 0;
    mxo_status status = ask_number(p, o, &n, why);

    if (status == MXO_OK && n == 0) {
        status = say(MXO_E_DEVICE, why, "it gives nothing that can be named");
    }
    *handle = status == MXO_OK ? (void *)(uintptr_t)n : NULL;
    return status;
}

static mxo_status proxy_workspace(void *ctx, const mxo_call *call,
                                  uint64_t *n_bytes, mxo_text why)
{
    return ask_number(ctx, proxy_call_request(ctx, "workspace", call), n_bytes,
                      why);
}

static mxo_status proxy_stream_open(void *ctx, void **stream, mxo_text why)
{
    return ask_handle(ctx, proxy_request("stream_open"), stream, why);
}

static void proxy_stream_close(void *ctx, void *stream)
{
    proxy_give_back(ctx, "stream_close", "stream", stream);
}

static mxo_status proxy_stream_upload(void *ctx, void *stream, void *buffer,
                                      uint64_t offset, const void *src,
                                      uint64_t n_bytes, uint32_t microseconds,
                                      mxo_text why)
{
    proxy *p = ctx;
    const char *text;

    MXO_TRY(proxy_clear_memory(p, n_bytes, why));
    memcpy(p->memory.base, src, (size_t)n_bytes);
    json_t *o = proxy_request("stream_upload");

    (void)json_object_set_new(o, "stream",
                              json_u64((uint64_t)(uintptr_t)stream));
    (void)json_object_set_new(o, "buffer",
                              json_u64((uint64_t)(uintptr_t)buffer));
    (void)json_object_set_new(o, "offset", json_u64(offset));
    (void)json_object_set_new(o, "bytes", json_u64(n_bytes));
    (void)json_object_set_new(o, "from", json_u64(0));
    (void)json_object_set_new(o, "microseconds", json_u64(microseconds));
    (void)json_object_set_new(o, "memory", json_u64(p->memory.size));
    const mxo_status status = proxy_ask(p, o, &text);

    return proxy_give_text(p, status, text, why);
}

static mxo_status proxy_capture(void *ctx, const mxo_call *call, void **graph,
                                mxo_text why)
{
    return ask_handle(ctx, proxy_call_request(ctx, "capture", call), graph,
                      why);
}

void proxy_fence(void *state, const fence_place *f, void *buffer)
{
    proxy *p = state;
    const uint64_t base =
        proxy_has_memory(p) ? 0 : (uint64_t)(uintptr_t)buffer - PROXY_HANDLE;
    json_t *o = json_object();

    p->fences = p->fences == NULL ? json_array() : p->fences;
    (void)json_object_set_new(o, "name", json_string(f->name));
    (void)json_object_set_new(
        o, "side", json_string(f->side == FENCE_BEFORE ? "before" : "behind"));
    (void)json_object_set_new(o, "edge", json_u64(base + f->edge));
    (void)json_object_set_new(o, "at", json_u64(base + f->page));
    if (f->n_held > 0) {
        (void)json_object_set_new(o, "held", json_u64(f->n_held));
    }
    if (proxy_has_memory(p)) {
        (void)json_object_set_new(o, "buffer",
                                  json_u64((uint64_t)(uintptr_t)buffer));
    }
    (void)json_array_append_new(p->fences, o);
}

void proxy_add_launch(json_t *o, void *graph, void *stream)
{
    (void)json_object_set_new(o, "graph", json_u64((uint64_t)(uintptr_t)graph));
    if (stream != NULL) {
        (void)json_object_set_new(o, "stream",
                                  json_u64((uint64_t)(uintptr_t)stream));
    }
}

void proxy_ahead(void *state, int n_runs)
{
    proxy *p = state;

    p->n_runs = n_runs;
}

void proxy_behind(void *state, const mxo_call *call, void *graph, void *stream,
                  int n_runs, int is_second)
{
    proxy *p = state;

    json_decref(p->behind);
    p->behind = json_object();
    if (call != NULL) {
        call_to_json(call, proxy_place_own, p->behind);
    } else {
        proxy_add_launch(p->behind, graph, stream);
    }
    if (n_runs > 1) {
        (void)json_object_set_new(p->behind, "runs", json_integer(n_runs));
    }
    if (is_second != p->in_second) {
        (void)json_object_set_new(p->behind, "context",
                                  json_integer(is_second));
    }
}

void proxy_meanwhile(void *state)
{
    proxy *p = state;

    p->is_busy = 1;
}

/* What is posted is for the context that was at work. */
static void turn_to(proxy *p, int is_second)
{
    if (is_second != p->in_second) {
        proxy_flush(p);
        p->in_second = is_second;
    }
}

int proxy_use_second(void *state, int is_second)
{
    proxy *p = state;

    turn_to(p, is_second && (p->hello.can & CAN_CONTEXTS) != 0);
    return p->in_second;
}

int proxy_close_second(void *state)
{
    proxy *p = state;
    const char *text;

    if ((p->hello.can & CAN_CLOSE) == 0) {
        return 0;
    }
    turn_to(p, 1);
    const mxo_status status = proxy_ask(p, proxy_request("close"), &text);

    turn_to(p, 0);
    if (status != MXO_OK) {
        proxy_say_left(p, "close fails", text);
    }
    return status == MXO_OK;
}

static mxo_status proxy_launch(void *ctx, void *graph, void *stream,
                               mxo_text why)
{
    json_t *o = proxy_request("launch");

    proxy_add_launch(o, graph, stream);
    return proxy_ask_to_run(ctx, o, why);
}

static void proxy_graph_close(void *ctx, void *graph)
{
    proxy_give_back(ctx, "graph_close", "graph", graph);
}

void proxy_fill_launches(proxy *p)
{
    const unsigned can = p->hello.can;

    p->table.align = p->hello.align;
    p->table.strides = p->hello.strides[0] == '\0' ? NULL : p->hello.strides;
    p->table.uncaptured = p->hello.uncaptured;
    if ((can & CAN_WORKSPACE) != 0) {
        p->table.workspace = proxy_workspace;
    }
    if ((can & CAN_STREAM) != 0) {
        p->table.stream_open = proxy_stream_open;
        p->table.stream_close = proxy_stream_close;
        p->table.stream_upload = proxy_stream_upload;
    }
    if ((can & CAN_GRAPH) != 0) {
        p->table.capture = proxy_capture;
        p->table.launch = proxy_launch;
        p->table.graph_close = proxy_graph_close;
    }
}
