/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge's end of one subject in a process of its own, as
 * docs/exec-protocol.md has it: starting it, one reply to each request, what
 * it prints, and how it ended.  The judge believes nothing here: a reply
 * counts if it has the token of its request and comes from the process that
 * replied first.
 */
#ifndef MXO_EXEC_CHANNEL_H
#define MXO_EXEC_CHANNEL_H

#include "base/strbuf.h"
#include "noise.h"
#include "system/process.h"

#include <jansson.h>
#include <mxoracle/abi.h>

enum {
    CHANNEL_SOCKET = 3, /* descriptors of the subject */
    CHANNEL_MEMORY = 4,
    CHANNEL_LINE = 1 << 20 /* the longest line */
};

/* Words after the token, beside statuses of the ABI. */
enum { REPLY_LEFT = 100, REPLY_FAULT };

typedef struct channel {
    pid_t pid;     /* started process; 0: none runs */
    pid_t speaker; /* process that replied first; 0: none yet */
    int socket;
    noise_pipe noise; /* its output, kept since channel_begin() */
    double timeout_s; /* of processor time, for one reply */
    double start_s;   /* more of it for the first, while nothing comes */
    double asked_at;  /* when the processor time of its group was read, and */
    double used_s;    /* what it was */
    char token[33];
    char token_before[33]; /* of the request before */
    strbuf line;           /* received and not yet a line */
    strbuf reply;          /* text of the last reply */
    char end[512];         /* why it is over; "" while it runs */
    int is_late;           /* over because no reply came */
    int is_well;           /* over with status 0, and without a word */
} channel;

/* The command of a shell, or with file the program and its arguments. 0, or -1
   with errno set. */
int channel_start(channel *c, const process_plan *plan, int memory);
/* Kill it if it runs and forget it. */
void channel_stop(channel *c);
/* Nothing more is asked: its channel reads end of file, and it is waited for.
   -1: it ended otherwise than with status 0, or not at all; c->end says how. */
int channel_finish(channel *c);
/* Keep its output from here on. */
void channel_begin(channel *c);
/*
 * Send a request, which is released and gets its token here, and wait for the
 * reply: a status of the ABI or REPLY_LEFT, text in *text, borrowed until the
 * next. -1: it is over, c->end says why.
 */
int channel_ask(channel *c, json_t *request, const char **text);
/* Has it replied to what nobody asked?  Then it is over. */
int channel_is_over(channel *c);
/* Everything it printed since channel_begin(), without a last newline. */
void channel_say_noise(channel *c, strbuf *lines);

#endif
