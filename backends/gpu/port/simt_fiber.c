/* SPDX-License-Identifier: Apache-2.0 */
/*
 * makecontext() begins a stack, jumps switch: swapcontext() would save and set
 * the mask of signals, two calls of the operating system each time.  With
 * _FORTIFY_SOURCE a jump to another stack counts as an error.
 * AddressSanitizer is told which stack comes next: at a jump it clears the
 * marks of the one that it thinks is left.
 */
#undef _FORTIFY_SOURCE /* NOLINT(clang-diagnostic-reserved-macro-identifier): \
                          its name */
#include "port/simt_fiber.h"

#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif

#if defined(FIBER_ASAN)
#include <sanitizer/common_interface_defs.h>
#define fiber_leaves __sanitizer_start_switch_fiber
#define fiber_arrives __sanitizer_finish_switch_fiber
/* Or the compiler clears those marks, too, before what does not return. */
#define FIBER_PLAIN __attribute__((no_sanitize_address))
#else
#define FIBER_PLAIN
#define fiber_leaves(fake, stack, bytes) ((void)(stack), (void)(bytes))
#define fiber_arrives(fake, stack, bytes) ((void)(stack), (void)(bytes))
#endif

/* What a fresh stack is told. */
static _Thread_local struct {
    simt_fiber *self, *caller;
    void (*run)(void);
} fresh;

FIBER_PLAIN void simt_fiber_switch(simt_fiber *from, simt_fiber *to)
{
    fiber_leaves(&from->fake, to->stack, to->bytes);
    if (setjmp(from->at) == 0) {
        longjmp(to->at, 1);
    }
    fiber_arrives(from->fake, NULL, NULL);
}

/* Goes back at once, with a place to come to. */
FIBER_PLAIN static void fiber_main(void)
{
    void (*const run)(void) = fresh.run;
    simt_fiber *const caller = fresh.caller;

    fiber_arrives(NULL, &caller->stack, &caller->bytes);
    simt_fiber_switch(fresh.self, caller);
    run();
    fiber_leaves(NULL, caller->stack, caller->bytes);
    longjmp(caller->at, 1);
}

int simt_fiber_begin(simt_fiber *f, void *stack, size_t bytes,
                     void (*run)(void), simt_fiber *caller)
{
    ucontext_t c;

    if (getcontext(&c) != 0) {
        return 0;
    }
    c.uc_stack.ss_sp = stack;
    c.uc_stack.ss_size = bytes;
    c.uc_link = NULL;
    makecontext(&c, fiber_main, 0);
    f->stack = stack;
    f->bytes = bytes;
    fresh.self = f;
    fresh.caller = caller;
    fresh.run = run;
    fiber_leaves(&caller->fake, stack, bytes);
    if (setjmp(caller->at) == 0) {
        (void)setcontext(&c);
    }
    fiber_arrives(caller->fake, NULL, NULL);
    return 1;
}
