/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process behind a proxy: starting it, asking it, what was seen of it.
 * For proxy.c, which makes a backend of this.
 */
#ifndef MXO_EXEC_PROXY_PROCESS_H
#define MXO_EXEC_PROXY_PROCESS_H

#include "channel.h"
#include "clock_check.h"
#include "greeting.h"
#include "memory.h"
#include "proxy.h"

/* A handle of shared memory is its offset and this: never NULL, and as far
   into a page as the bytes are. */
enum { PROXY_HANDLE = 4096 };

struct proxy {
    mxo_backend table; /* ctx is the proxy */
    subject_link link;
    proxy_options options;
    char *command; /* owned, of the options */
    char *plugin;
    channel channel;
    shared_memory memory;
    char file[96];  /* which one the plugin of its process is */
    greeting hello; /* "file" in its object is that of the first process */
    json_t *fences; /* of the next run */
    json_t *behind; /* the call behind it */
    int is_busy;    /* it comes with launch_meanwhile() */
    strbuf message; /* of the last failure, all of it */
    char left[SUBJECT_TEXT]; /* changed by a call since begin() */
    char gone[512];          /* why it is over since begin() */
    char untold[512];        /* and before it, of which no case has told */
    int is_told;             /* of the end of this process one has */
    int is_late;
    int n_runs; /* of the next call, before one synchronize() */
    int wants_renewal;
    int in_second; /* requests are for its second context */
    uint64_t n_started;
    clock_check clock;
    char kernel[SUBJECT_TEXT];
};

/* Does the subject have buffers of its own? */
int proxy_has_memory(const proxy *p);
/* An object with "do", and so far no more. */
json_t *proxy_request(const char *what);
/* Ask; the request is released. A status of the ABI, its text in *text. */
mxo_status proxy_ask(proxy *p, json_t *request, const char **text);
/* A failure for which the ABI has no status is told as what the call left
   behind, where the process is not over anyway. */
void proxy_say_left(proxy *p, const char *what, const char *text);
/* Have a handle given back. */
void proxy_give_back(proxy *p, const char *what, const char *key,
                     const void *handle);
/* The first line of a text into why; all of it is kept if it is a failure.
   Returns the status. */
mxo_status proxy_give_text(proxy *p, mxo_status status, const char *text,
                           mxo_text why);
/* A request with a call. */
json_t *proxy_call_request(const proxy *p, const char *what,
                           const mxo_call *call);
/* Ask to run or launch; the request gets its fences and the runs ahead. */
mxo_status proxy_ask_to_run(proxy *p, json_t *o, mxo_text why);
/* The members of the table that move bytes.  What a download does not write
   stays as it was in dst. */
mxo_status proxy_upload(void *ctx, void *buffer, uint64_t offset,
                        const void *src, uint64_t n_bytes, mxo_text why);
mxo_status proxy_download(void *ctx, void *dst, void *buffer, uint64_t offset,
                          uint64_t n_bytes, mxo_text why);
/* The members of the table for workspaces, streams and graphs. */
/* What a request to launch says. */
void proxy_add_launch(json_t *o, void *graph, void *stream);
void proxy_fill_launches(proxy *p);
/* Of subject_link. */
void proxy_fence(void *state, const fence_place *f, void *buffer);
/* Start it and read its hello. */
mxo_status proxy_greet(proxy *p, greeting *g, mxo_text why);

/* Functions of its subject_link. */
mxo_status proxy_begin(void *state, mxo_text why);
void proxy_seen(void *state, run_checks *d);
void proxy_say(void *state, strbuf *lines);

#endif
