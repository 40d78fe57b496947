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
/* What an upload's bytes become when it was answered: who reads them later
   reads others. */
enum { PROXY_SPOILT = 0x5b };

/* Part of a transfer: bytes of a buffer, and where in the shared memory. */
typedef struct transfer_part {
    void *buffer;
    uint64_t offset;
    uint64_t n;
    uint64_t shared;
} transfer_part;

/* What goes to the process with the next request to it. */
typedef struct posted {
    json_t *uploads;  /* owned; NULL: none */
    json_t *buffers;  /* owned: to be given back behind them; NULL: none */
    uint64_t n_bytes; /* of the shared memory, from its start on */
} posted;

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
    posted posted;
    json_t *fences;          /* of the next run */
    json_t *behind;          /* the call behind it */
    int is_busy;             /* it comes with launch_meanwhile() */
    strbuf message;          /* of the last failure, all of it */
    char left[SUBJECT_TEXT]; /* changed by a call since begin() */
    char gone[512];          /* why it is over since begin() */
    char untold[512];        /* and before it, of which no case has told */
    int is_told;             /* of the end of this process one has */
    int is_late;
    int n_runs; /* of the next call, before one synchronize() */
    int wants_renewal;
    int in_second; /* requests are for its second context */
    uint64_t n_started;
    clock_check run_clock;
    clock_check copy_clock;
    char kernel[SUBJECT_TEXT];
};

/* Does the subject have buffers of its own? */
int proxy_has_memory(const proxy *p);
/* An object with "do", and so far no more. */
json_t *proxy_request(const char *what);
/* Ask; the request is released. A status of the ABI, its text in *text.  What
   is posted goes first; if that fails, nothing is asked. */
mxo_status proxy_ask(proxy *p, json_t *request, const char **text);
/* The same, and what is posted stays so. */
mxo_status proxy_ask_now(proxy *p, json_t *request, const char **text);
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
/* Uploads and buffers to give back wait for the next request, where the subject
   takes several together: can it wait? */
int proxy_can_post(const proxy *p, uint64_t n_bytes);
mxo_status proxy_post_upload(proxy *p, void *buffer, uint64_t offset,
                             const void *src, uint64_t n_bytes, mxo_text why);
void proxy_post_dealloc(proxy *p, void *buffer);
/* OK, or NOMEM or DEVICE and its text in *text. */
mxo_status proxy_send_posted(proxy *p, const char **text);
/* Before what has no status to fail with. */
void proxy_flush(proxy *p);
void proxy_drop_posted(proxy *p);
/* Its members in a request, that way: "from" or "to".  Returns o. */
json_t *proxy_part_json(json_t *o, const char *way, const transfer_part *m);
/* So many bytes of the shared memory are free: none wait there. */
mxo_status proxy_clear_memory(proxy *p, uint64_t n_bytes, mxo_text why);
/* The members of the table that move bytes.  What a download does not write
   stays as it was in dst. */
mxo_status proxy_upload(void *ctx, void *buffer, uint64_t offset,
                        const void *src, uint64_t n_bytes, mxo_text why);
mxo_status proxy_download(void *ctx, void *dst, void *buffer, uint64_t offset,
                          uint64_t n_bytes, mxo_text why);
/* Of subject_link. */
mxo_status proxy_fetch(void *state, const wanted_bytes *w, uint32_t n,
                       mxo_text why);
/* The members of the table for workspaces, streams and graphs. */
/* What a request to launch says. */
void proxy_add_launch(json_t *o, void *graph, void *stream);
void proxy_fill_launches(proxy *p);
/* Of subject_link. */
void proxy_fence(void *state, const fence_place *f, void *buffer);
void proxy_ahead(void *state, int n_runs);
void proxy_behind(void *state, const mxo_call *call, void *graph, void *stream,
                  int n_runs, int is_second);
void proxy_meanwhile(void *state);
int proxy_use_second(void *state, int is_second);
int proxy_close_second(void *state);
/* Where a tensor lies in a subject's own buffers. */
void proxy_place_own(const mxo_tensor *t, json_t *o);
/* Start it and read its hello. */
mxo_status proxy_greet(proxy *p, greeting *g, mxo_text why);

/* Functions of its subject_link. */
mxo_status proxy_begin(void *state, mxo_text why);
void proxy_seen(void *state, run_checks *d);
void proxy_say(void *state, strbuf *lines);

#endif
