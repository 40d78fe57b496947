/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Yardsticks: a plain copy on as many threads as the backend uses, and a
 * float GEMM that says how fast the machine is.  OpenBLAS is opened when it
 * is wanted: loading it starts threads, which nothing else here needs.
 */
#include "bench.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <dlfcn.h>
#include <stdlib.h>
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

#ifdef HAVE_OPENBLAS
enum { GEMM = 2048, GEMM_RUNS = 3, ROW_MAJOR = 101, NO_TRANS = 111 };

typedef void (*sgemm_fn)(int, int, int, int, int, int, float, const float *,
                         int, const float *, int, float, float *, int);
typedef void (*threads_fn)(int);

static double gemm_with(sgemm_fn sgemm, const float *a, const float *b,
                        float *c)
{
    double best = 0;

    for (int run = 0; run <= GEMM_RUNS; run++) {
        const double start = bench_now();

        sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, GEMM, GEMM, GEMM, 1, a, GEMM, b,
              GEMM, 0, c, GEMM);
        const double s = bench_now() - start;
        if (run > 0 && (best == 0 || s < best)) {
            best = s;
        }
    }
    return 2.0 * GEMM * GEMM * GEMM / best / 1e9;
}

double bench_gemm(int threads)
{
    void *library = dlopen("libopenblas.so.0", RTLD_NOW);
    const size_t n = (size_t)GEMM * GEMM;
    float *a = calloc(n * 3, sizeof *a);
    double speed = 0;
    sgemm_fn sgemm = NULL;
    threads_fn set = NULL;

    if (library != NULL) {
        *(void **)&sgemm = dlsym(library, "cblas_sgemm");
        *(void **)&set = dlsym(library, "openblas_set_num_threads");
    }
    if (a != NULL && sgemm != NULL && set != NULL) {
        for (size_t i = 0; i < 2 * n; i++) {
            a[i] = (float)(i % 7) - 3;
        }
        set(threads);
        speed = gemm_with(sgemm, a, a + n, a + 2 * n);
    }
    free(a);
    return speed;
}
#else
double bench_gemm(int threads)
{
    (void)threads;
    return 0;
}
#endif
