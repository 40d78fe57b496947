/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For short_of_memory.test, loaded before the judge: allocation number FAIL_AT
 * of each process fails.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* NOLINTBEGIN(clang-diagnostic-reserved-identifier): glibc's own functions */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t n);
/* NOLINTEND(clang-diagnostic-reserved-identifier) */

static long left; /* allocations until the one that fails; 0: none will */

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("FAIL_AT");

    left = at == NULL ? 0 : atol(at);
}

static int fails(void)
{
    if (left > 0 && --left == 0) {
        errno = ENOMEM;
        return 1;
    }
    return 0;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): theirs are
   reserved */
void *malloc(size_t n)
{
    return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *memory, size_t n)
{
    return fails() ? NULL : __libc_realloc(memory, n);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
