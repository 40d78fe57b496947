/* SPDX-License-Identifier: Apache-2.0 */
/* See fence.h.  The table is static because a signal handler reads it. */
#include "fence.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 64, LONGEST = 192 };

typedef struct fence {
    const uint8_t *edge; /* of the tensor */
    uint8_t *page;
    uint8_t *held; /* whole pages, which can be read alone */
    size_t n_held;
    const uint8_t *first; /* byte of the tensor */
    const char *name;
    fence_side side;
} fence;

static fence fences[MOST];
static int n_fences;
static struct sigaction before; /* whose faults are not ours */
static fence_listener *listener;

/* The first write to what is held. */
static struct {
    const char *volatile name;
    volatile uint64_t byte;
} written;

static size_t page_size(void)
{
    const long size = sysconf(_SC_PAGESIZE);

    return size > 0 ? (size_t)size : 4096;
}

static uintptr_t round_up(uintptr_t x, uintptr_t to)
{
    return (x + to - 1) / to * to;
}

uint64_t fence_room(void)
{
    return 3 * (uint64_t)page_size();
}

uint64_t fence_offset(const void *buffer, uint64_t least, uint64_t n_bytes,
                      uint64_t align, fence_side side)
{
    const uintptr_t base = (uintptr_t)buffer;

    if (side == FENCE_BEFORE) {
        const uint64_t page = page_size();
        return round_up(base + (uintptr_t)(least > page ? least : page),
                        page_size()) -
               base;
    }
    const uintptr_t whole = round_up((uintptr_t)n_bytes, (uintptr_t)align);
    const uintptr_t end =
        round_up(base + (uintptr_t)least + whole, page_size());

    return end - whole - base;
}

uint64_t fence_page(const void *buffer, uint64_t edge, uint64_t align,
                    fence_side side)
{
    const uintptr_t at = (uintptr_t)buffer + (uintptr_t)edge;

    return side == FENCE_BEFORE ? edge - page_size()
                                : edge + (round_up(at, (uintptr_t)align) - at);
}

void fence_add(const fence_place *f, void *buffer)
{
    uint8_t *const edge = (uint8_t *)buffer + f->edge;
    uint8_t *const page = (uint8_t *)buffer + f->page;
    const int is_before = f->side == FENCE_BEFORE;
    const size_t size = page_size();

    if (n_fences == MOST) {
        return;
    }
    fence *n = &fences[n_fences++];

    *n = (fence){.edge = edge, .page = page, .name = f->name, .side = f->side};
    if (f->n_held > 0) {
        n->first = is_before ? edge : edge - f->n_held;
        n->held = is_before
                      ? edge
                      : edge - f->n_held - (uintptr_t)(edge - f->n_held) % size;
        n->n_held = is_before ? (size_t)round_up(f->n_held, size)
                              : (size_t)(page - n->held);
    }
}

static size_t add_text(char *to, size_t used, const char *text)
{
    while (*text != '\0' && used < LONGEST - 1) {
        to[used++] = *text++;
    }
    to[used] = '\0';
    return used;
}

static size_t add_number(char *to, size_t used, uint64_t n)
{
    char digits[24];
    size_t first = sizeof digits - 1;

    digits[first] = '\0';
    do {
        digits[--first] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    return add_text(to, used, digits + first);
}

/* Nothing here but what a signal handler may do. */
static void say(const fence *f, const uint8_t *at)
{
    char text[LONGEST];
    size_t used = add_text(text, 0, "it touches byte ");

    if (f->side == FENCE_BEFORE) {
        used = add_number(text, used, (uint64_t)(f->edge - at));
        used = add_text(text, used, " before the start of the input ");
    } else {
        used = add_number(text, used, (uint64_t)(at - f->edge) + 1);
        used = add_text(text, used, " past the end of the input ");
    }
    used = add_text(text, used, f->name);
    if (listener != NULL) {
        listener(text);
        return;
    }
    (void)!write(STDERR_FILENO, "mxoracle: a backend faults: ", 28);
    (void)!write(STDERR_FILENO, text, used);
    (void)!write(STDERR_FILENO, "\n", 1);
}

/* Notes a write to pages that are held, the first one, and lets all others to
   the tensor through.  0: it is none. */
static int let_through(const fence *f, const uint8_t *at)
{
    if (f->n_held == 0 || at < f->held || at >= f->held + f->n_held) {
        return 0;
    }
    if (written.name == NULL) {
        written.byte = at < f->first ? 0 : (uint64_t)(at - f->first);
        written.name = f->name;
    }
    return mprotect(f->held, f->n_held, PROT_READ | PROT_WRITE) == 0;
}

/* Says what it knows; then the access happens again, or the signal that
   somebody sent is sent again, and the fault takes its course. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    const uint8_t *at = info->si_addr;
    const size_t size = page_size();
    const int is_sent = info->si_code <= 0;

    (void)context;
    for (int i = 0; i < n_fences && !is_sent; i++) {
        if (let_through(&fences[i], at)) {
            return;
        }
        if (at >= fences[i].page && at < fences[i].page + size) {
            say(&fences[i], at);
            break;
        }
    }
    (void)sigaction(number, &before, NULL);
    if (is_sent) {
        (void)raise(number);
    }
}

/* Memory that cannot be protected goes without. */
static void protect_all(int protection, int of_held)
{
    for (int i = 0; i < n_fences; i++) {
        (void)mprotect(fences[i].page, page_size(), protection);
        if (fences[i].n_held > 0) {
            (void)mprotect(fences[i].held, fences[i].n_held, of_held);
        }
    }
}

void fence_raise(void)
{
    struct sigaction action;

    written.name = NULL;
    if (n_fences == 0) {
        return;
    }
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGSEGV, &action, &before);
    protect_all(PROT_NONE, PROT_READ);
}

const char *fence_take_written(uint64_t *byte)
{
    const char *const name = written.name;

    *byte = written.byte;
    written.name = NULL;
    return name;
}

int fence_is_intact(void)
{
    struct sigaction now;

    return n_fences == 0 ||
           (sigaction(SIGSEGV, NULL, &now) == 0 &&
            (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault);
}

void fence_lower(void)
{
    if (n_fences == 0) {
        return;
    }
    protect_all(PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE);
    (void)sigaction(SIGSEGV, &before, NULL);
    n_fences = 0;
}

void fence_tell(fence_listener *l)
{
    listener = l;
}
