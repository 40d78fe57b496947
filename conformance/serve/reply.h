/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of the serving side: one to each request, with its token. */
#ifndef MXO_SERVE_REPLY_H
#define MXO_SERVE_REPLY_H

enum { REPLY_TOKEN = 32 };

/* The token of the request in hand. 0, or -1: it is none. */
int reply_begin(const char *token);
/* Answer it: a status and a text of any number of lines. */
void reply_send(const char *status, const char *text);
/* The last words of this process, also from within a signal handler. */
void reply_fault(const char *sentence);
/* While what is served is closed, the last request is in hand once more. */
void reply_close(int is_closing);
/* For atexit(): exit() while a request is in hand is a fault. */
void reply_exit(void);
/* This process answers; a child of it that returns from a call does not. */
void reply_is_ours(void);
int reply_is_child(void);

#endif
