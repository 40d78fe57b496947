/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State that the system keeps of a process and that a call may not change: the
 * stack of its signal handlers, the signal at its parent's end, whether its
 * clock may be read, and whether all its memory is locked.
 */
#ifndef MXO_SERVE_KERNEL_STATE_H
#define MXO_SERVE_KERNEL_STATE_H

#include <mxoracle/abi.h>

#include <signal.h>

typedef struct kernel_state {
    stack_t stack;     /* of signal handlers */
    int parent_signal; /* 0: none */
    void *page;        /* owned, without bytes of anybody; NULL: none */
} kernel_state;

/* As it is now: what it shall be. */
void kernel_state_take(kernel_state *s);
/* After a context was opened: the stack that it gave signal handlers stays. */
void kernel_state_loaded(kernel_state *s);
void kernel_state_reset(const kernel_state *s);
/* 1 and a sentence if it is another, else 0. */
int kernel_state_differs(const kernel_state *s, mxo_text what);
void kernel_state_free(kernel_state *s);

#endif
