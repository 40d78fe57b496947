/* SPDX-License-Identifier: Apache-2.0 */
/* The clock, and a plain copy on as many threads as the backend uses. */
#include "bench.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

double bench_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int bench_processors(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : (int)n;
}

double bench_copy(void *dst, const void *src, uint64_t n, int threads)
{
    const uint64_t lines = n / 64;
    const double start = bench_now();

#ifdef _OPENMP
#pragma omp parallel for schedule(static, 1) num_threads(threads)
#endif
    for (int i = 0; i < threads; i++) {
        const uint64_t begin = lines * (uint64_t)i / (uint64_t)threads * 64;
        const uint64_t end = i + 1 == threads ? n
                                              : lines * (uint64_t)(i + 1) /
                                                    (uint64_t)threads * 64;

        memcpy((char *)dst + begin, (const char *)src + begin,
               (size_t)(end - begin));
    }
    return bench_now() - start;
}
