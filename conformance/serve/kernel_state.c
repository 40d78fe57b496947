/* SPDX-License-Identifier: Apache-2.0 */
/* See kernel_state.h. */
#include "kernel_state.h"

#include "base/say.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

enum { PAGE = 4096 };

static void take_stack(stack_t *stack)
{
    memset(stack, 0, sizeof *stack);
    (void)sigaltstack(NULL, stack);
}

static int stack_differs(const stack_t *stack)
{
    stack_t now;

    take_stack(&now);
    return (now.ss_flags & SS_DISABLE) != (stack->ss_flags & SS_DISABLE) ||
           ((now.ss_flags & SS_DISABLE) == 0 && now.ss_sp != stack->ss_sp);
}

static int parent_signal(void)
{
    int number = 0;

#if defined(__linux__)
    (void)prctl(PR_GET_PDEATHSIG, &number);
#endif
    return number;
}

/* Does a look at the processor's counter end the process?  The system's clock
   is one. */
static int counter_traps(void)
{
#if defined(PR_GET_TSC)
    int mode = PR_TSC_ENABLE;

    return prctl(PR_GET_TSC, &mode) == 0 && mode != PR_TSC_ENABLE;
#else
    return 0;
#endif
}

static void *new_page(void)
{
    void *const page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return page == MAP_FAILED ? NULL : page;
}

/* Pages that are locked cannot be given back. */
static int page_is_locked(void *page)
{
    return page != NULL && madvise(page, PAGE, MADV_DONTNEED) != 0 &&
           errno == EINVAL;
}

/* mlockall(): of the memory that was there, or of what comes. */
static int memory_is_locked(const kernel_state *s)
{
    void *const page = new_page();
    const int is_locked = page_is_locked(s->page) || page_is_locked(page);

    (void)(page != NULL && munmap(page, PAGE));
    return is_locked;
}

void kernel_state_take(kernel_state *s)
{
    take_stack(&s->stack);
    s->parent_signal = parent_signal();
    s->page = new_page();
}

void kernel_state_loaded(kernel_state *s)
{
    take_stack(&s->stack);
}

void kernel_state_reset(const kernel_state *s)
{
#if defined(PR_SET_TSC)
    if (counter_traps()) {
        (void)prctl(PR_SET_TSC, PR_TSC_ENABLE);
    }
#endif
    if (stack_differs(&s->stack)) {
        (void)sigaltstack(&s->stack, NULL);
    }
#if defined(__linux__)
    if (parent_signal() != s->parent_signal) {
        (void)prctl(PR_SET_PDEATHSIG, s->parent_signal);
    }
#endif
    if (memory_is_locked(s)) {
        (void)munlockall();
    }
}

int kernel_state_differs(const kernel_state *s, mxo_text what)
{
    const struct {
        int is_so;
        const char *words;
    } changes[] = {
        {counter_traps(), "reading the processor's counter traps"},
        {stack_differs(&s->stack), "signal handlers have another stack"},
        {parent_signal() != s->parent_signal,
         "the signal at its parent's end is another"},
        {memory_is_locked(s), "all its memory is locked"}};

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        if (changes[i].is_so) {
            (void)say(MXO_OK, what, "%s", changes[i].words);
            return 1;
        }
    }
    return 0;
}

void kernel_state_free(kernel_state *s)
{
    (void)(s->page != NULL && munmap(s->page, PAGE));
    s->page = NULL;
}
