/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A judge over a backend: what is linked in computes in this process, a plugin
 * or a program in one of its own.
 */
#ifndef MXO_OPEN_JUDGE_H
#define MXO_OPEN_JUDGE_H

#include "backends.h"
#include "exec/proxy.h"
#include "judge/judge.h"

typedef struct open_options {
    int device;
    double timeout_s; /* of processor time, for one call in another process */
    int in_process;   /* plugins too: for a debugger */
    int apart;        /* linked-in backends too */
    int is_drawn;     /* cases have no meaning of their own: every value outside
                         a subject's limits is replaced, not defaults alone */
    uint32_t soak;    /* calls before each, on noise */
    int is_silent;    /* of a worker: what it writes is dropped */
} open_options;

typedef struct opened_judge {
    judge j;
    proxy *proxy;   /* NULL: the subject is in this process */
    json_t *limits; /* owned; what it declares; NULL: nothing */
    char left[256]; /* what loading it changed in this process; "": nothing */
    int is_drawn;
    int is_open;
    struct past *past; /* owned; the calls of its process; NULL: none kept */
} opened_judge;

/* Whether it is judged in its own process, unless this is declined. */
int backend_is_apart(const backend_ref *ref);

/* Status and sentence as backend_load() and judge_open(). */
mxo_status opened_judge_open(opened_judge *o, const backend_ref *ref,
                             const open_options *how, mxo_text why);
/* As case_run(), of a case or of the nearest one that the subject takes;
   what it takes in no shape is not asked. */
void opened_judge_case(opened_judge *o, const test_case *c, uint64_t seed,
                       verdict *v);
void opened_judge_close(opened_judge *o);
/* How a subject in a process of its own ends when nothing more is asked: a
   pass, or red. */
void opened_judge_end(opened_judge *o, verdict *v);
/* Both. */
void opened_judge_finish(opened_judge *o, verdict *v);

#endif
