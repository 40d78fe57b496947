/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that serves a plugin, its requests for buffers and their bytes
 * (serve_memory.c), and those that make calls, in every way that the plugin
 * declares (serve_calls.c).  For serve.c, which answers the others.
 */
#ifndef MXO_SERVE_SERVER_H
#define MXO_SERVE_SERVER_H

#include "process_state.h"
#include "serve.h"

#include <jansson.h>

enum { TEXT = 4096, BEHIND_TEXT = 8192 };

typedef struct server {
    serve_load *load;
    void *state;
    const mxo_backend *table;
    mxo_backend greeted; /* the table when it said hello */
    void *ctx;           /* of the request */
    void *contexts[2];   /* the second: NULL until it is asked for */
    int device;
    json_t *libraries; /* owned; loaded before it says hello */
    uint8_t *memory;
    uint64_t memory_size;
    process_state *order;     /* of the process, between calls */
    int is_address;           /* a handle is the bytes' address */
    char text[TEXT];          /* of a reply */
    char behind[BEHIND_TEXT]; /* the text: never written */
} server;

/* An empty text, to be written by the plugin. */
mxo_text serve_text_of(server *s);
void serve_reply_status(server *s, mxo_status status);
/* Reply with the state that a call left changed, or with its status. */
void serve_reply_after_call(server *s, mxo_status status);
/* The mapping of the shared memory reaches n bytes at least. */
int serve_map_memory(server *s, uint64_t n);
/* Numbers of a request; 0 where there are none. */
void *serve_buffer_of(const json_t *request);
uint64_t serve_number_in(const json_t *request, const char *key);

void serve_alloc(server *s, const json_t *request);
void serve_dealloc(server *s, const json_t *request);
void serve_upload(server *s, const json_t *request);
void serve_download(server *s, const json_t *request);

void serve_run(server *s, const json_t *request);
void serve_workspace(server *s, const json_t *request);
void serve_stream_open(server *s, const json_t *request);
void serve_stream_close(server *s, const json_t *request);
void serve_stream_upload(server *s, const json_t *request);
void serve_capture(server *s, const json_t *request);
void serve_launch(server *s, const json_t *request);
void serve_graph_close(server *s, const json_t *request);
void serve_time(server *s, const json_t *request);
void serve_time_copy(server *s, const json_t *request);
void serve_close(server *s, const json_t *request);

#endif
