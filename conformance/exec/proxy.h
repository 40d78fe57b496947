/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend's table whose functions ask a subject in a process of its own, by
 * docs/exec-protocol.md.  The rest of the judge sees a backend like any other;
 * what a process can do besides answering (die, hang, leave something changed)
 * comes through the subject_link.
 */
#ifndef MXO_EXEC_PROXY_H
#define MXO_EXEC_PROXY_H

#include "device/device_under_test.h"

#include <jansson.h>

typedef struct proxy_options {
    const char *command; /* of a shell; NULL: */
    const char *plugin;  /* a shared library, served by this program, or */
    int is_linked;       /* the name of what is linked in */
    int global_symbols;  /* the plugin's are visible to what it loads */
    int device;
    double timeout_s; /* of processor time, for one reply */
} proxy_options;

typedef struct proxy proxy;

typedef enum proxy_end {
    PROXY_END_WELL,
    PROXY_END_CRASH, /* or other than the protocol has it */
    PROXY_END_LATE   /* it does not */
} proxy_end;

/*
 * Start the subject and shake hands.
 * DEVICE: it is not there, there is no such device; UNSUPPORTED: it is no
 * subject that this judge can talk to; NOMEM: the judge's own fault.
 */
mxo_status proxy_open(proxy **made, const proxy_options *o, mxo_text why);
/* Ask it to end: how it did in why, unless that was well; what it printed then
   in lines.  It can only be closed behind that. */
proxy_end proxy_finish(proxy *p, mxo_text why, strbuf *lines);
void proxy_close(proxy **made);

const mxo_backend *proxy_table(const proxy *p);
const subject_link *proxy_link(const proxy *p);
/* What it is called from here on. */
void proxy_name(proxy *p, const char *name);
/* What it said of itself, borrowed. */
json_t *proxy_hello(const proxy *p);
/* Its declared limits, borrowed; NULL: none. */
const json_t *proxy_limits(const proxy *p);
/* Processes so far. */
uint64_t proxy_n_started(const proxy *p);
/* The next case gets a new process. */
void proxy_renew(proxy *p);

#endif
