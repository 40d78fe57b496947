/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One worker process, as its parent sees it.  Lines of JSON both ways:
 *   worker  {"status": 0, "why": "", "name": ..., "version": ..., ...}
 *   parent  {"case": "quant.mx:rows=3,cols=96", "seed": 1, "brief": false}
 *           or {"file": "a.safetensors"}, or at last {"end": true}
 *   worker  a verdict, or what was found in the file, or {"fault": "what it
 * did"} and no more
 */
#ifndef MXO_WORKER_H
#define MXO_WORKER_H

#include "base/strbuf.h"
#include "open_judge.h"
#include "report/report.h"

#include <jansson.h>
#include <sys/types.h>

enum { WORKER_TEXT = 256 };

typedef struct worker {
    pid_t pid;  /* 0: not running */
    int socket; /* owned; both ways */
    strbuf line;
    char fault[WORKER_TEXT]; /* its last words before its end; "" if none */
} worker;

/* Event of a worker: a line, nothing yet, or its end. */
typedef enum worker_state {
    WORKER_LINE,
    WORKER_WAIT,
    WORKER_GONE
} worker_state;

/* Where a worker finds its end: its standard output is the backend's. */
enum { WORKER_SOCKET = 3 };

/* This program again, with a hidden command and its arguments, NULL behind
   them. 0, or -1 with errno set. */
int worker_command(worker *w, char *const *args);
/* 0, or -1 with errno set. */
int worker_start(worker *w, const backend_ref *ref, const open_options *how);
/* Processor time it has used, all threads; 0 where that is not told. */
double worker_cpu_s(const worker *w);
/* Kill it if it runs, and forget it. */
void worker_stop(worker *w);
/* One object as a line; it is released. 0, or -1 if the peer is gone. */
int worker_send(int socket, json_t *object);
/* A text of an answer; "" if it has none of that name. */
void worker_field(char *to, size_t size, const json_t *o, const char *key);
/* The status of an absent backend: no device is a skip, the rest is red. */
void worker_say_absent(backend_info *info, mxo_status status);
/* What an open one says of itself. */
void worker_say_present(backend_info *info, const opened_judge *o);
/* What its first line says. */
void worker_read_hello(const json_t *o, backend_info *info);
/* Of two first lines: NULL if their subjects said the same of themselves and
   are the same file, or a sentence.  Who says less in another process would
   leave its cases out unseen. */
const char *worker_hello_difference(const json_t *a, const json_t *b);
/* 0, or -1 if the worker is gone. */
int worker_ask(worker *w, const char *case_text, uint64_t seed, int is_brief,
               const char *beside);
/* Wait at most timeout_ms for an answer. On LINE, *answer is the caller's. */
worker_state worker_answer(worker *w, int timeout_ms, json_t **answer);
/* Nothing more is asked: its subject is to end, and it, too. */
void worker_end(worker *w);
/* Wait for that; a verdict on how they did: a pass, or red. */
void worker_finish(worker *w, verdict *v);
/* After GONE: reap it and say how it ended.  1 if that was with status 0. */
int worker_epitaph(worker *w, char *text, size_t size);

#endif
