/* SPDX-License-Identifier: Apache-2.0 */
/* Coroutines of the shim: stacks that one thread of the CPU switches between,
   without a call of the operating system. */
#ifndef GPU_SIMT_FIBER_H
#define GPU_SIMT_FIBER_H

#include "port/global_names.h"

#include <setjmp.h>
#include <stddef.h>

/* A stack and the place where it stopped; a caller's own needs no beginning. */
typedef struct simt_fiber {
    jmp_buf at;
    const void *stack;
    size_t bytes;
    void *fake; /* kept for AddressSanitizer */
} simt_fiber;

/* Makes of a stack a fiber that calls run() when somebody switches to it; when
   that returns, caller goes on and the fiber has ended.  0: refused. */
int simt_fiber_begin(simt_fiber *f, void *stack, size_t bytes,
                     void (*run)(void), simt_fiber *caller);

/* Stops the fiber that runs until somebody switches back to it. */
void simt_fiber_switch(simt_fiber *from, simt_fiber *to);

#endif
