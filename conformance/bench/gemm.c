/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See gemm.h.  OpenBLAS is opened when it is wanted: loading it starts
 * threads, which nothing else here needs.
 */
#include "gemm.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>

const gemm_shape gemm_square = {2048, 2048, 2048};

#ifdef HAVE_OPENBLAS
#include <dlfcn.h>
#include <string.h>

enum { RUNS = 4, ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

/* More weights than this share memory: no cache holds a round of them. */
#define MOST_WEIGHTS ((uint64_t)1 << 28)
/* Enough of one yardstick, in seconds. */
static const double run_box = 2;

typedef void (*sgemm_fn)(int, int, int, int, int, int, float, const float *,
                         int, const float *, int, float, float *, int);
typedef void (*sgemv_fn)(int, int, int, int, float, const float *, int,
                         const float *, int, float, float *, int);
typedef void (*threads_fn)(int);
typedef char *(*name_fn)(void);

static struct {
    void *handle;
    sgemm_fn gemm;
    sgemv_fn gemv;
    threads_fn threads;
    name_fn core;
} blas;

/* Ways to have weights in memory, and to multiply one row by them. */
typedef struct gemm_way {
    int weights; /* PLAIN: [k, n], TRANSPOSED: [n, k] */
    int by_vector;
} gemm_way;

static const gemm_way ways[] = {
    {PLAIN, 0}, {TRANSPOSED, 0}, {PLAIN, 1}, {TRANSPOSED, 1}};

/* Operands of the largest product, and as many weights as are kept apart. */
typedef struct gemm_room {
    float *x;
    float *y;
    float *w;
    uint64_t n_weights;
} gemm_room;

static void load(void)
{
    blas.handle = dlopen("libopenblas.so.0", RTLD_NOW);
    if (blas.handle != NULL) {
        *(void **)&blas.gemm = dlsym(blas.handle, "cblas_sgemm");
        *(void **)&blas.gemv = dlsym(blas.handle, "cblas_sgemv");
        *(void **)&blas.threads =
            dlsym(blas.handle, "openblas_set_num_threads");
        *(void **)&blas.core = dlsym(blas.handle, "openblas_get_corename");
    }
}

/* The core to ask for, where OpenBLAS is older than the processor and takes
   it for the oldest it knows; NULL: none is known to be better. */
static const char *better_core(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (strcmp(gemm_core(), "Prescott") != 0) {
        return NULL;
    }
    if (__builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        return "SkylakeX";
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return "Haswell";
    }
#endif
    return NULL;
}

static int is_open(void)
{
    static const char key[] = "OPENBLAS_CORETYPE";

    if (blas.handle == NULL) {
        load();
        const char *core = better_core();
        if (core != NULL && getenv(key) == NULL && setenv(key, core, 1) == 0) {
            (void)dlclose(blas.handle);
            load();
        }
    }
    return blas.gemm != NULL && blas.gemv != NULL && blas.threads != NULL;
}

const char *gemm_core(void)
{
    return blas.handle != NULL && blas.core != NULL ? blas.core() : "";
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Small integers everywhere. */
static float *numbers(uint64_t n)
{
    float *x = malloc((size_t)(n + 1) * sizeof *x);

    for (uint64_t i = 0; x != NULL && i < n; i++) {
        x[i] = (float)(i % 7) - 3;
    }
    return x;
}

static int make_room(gemm_room *r, const gemm_shape *s, size_t n)
{
    uint64_t most_x = 0;
    uint64_t most_y = 0;
    uint64_t most_w = 0;
    uint64_t all_w = 0;

    for (size_t i = 0; i < n; i++) {
        most_x = larger(most_x, s[i].m * s[i].k);
        most_y = larger(most_y, s[i].m * s[i].n);
        most_w = larger(most_w, s[i].k * s[i].n);
        all_w += s[i].k * s[i].n;
    }
    r->n_weights = all_w < MOST_WEIGHTS ? all_w : larger(MOST_WEIGHTS, most_w);
    r->x = numbers(most_x);
    r->y = numbers(most_y);
    r->w = numbers(r->n_weights);
    return r->x != NULL && r->y != NULL && r->w != NULL ? 0 : -1;
}

static void multiply(const gemm_shape *s, const gemm_way *way,
                     const gemm_room *r, const float *w)
{
    const int m = (int)s->m;
    const int n = (int)s->n;
    const int k = (int)s->k;
    const int stride = way->weights == PLAIN ? n : k;

    if (way->by_vector && m == 1) {
        const int rows = way->weights == PLAIN ? k : n;
        const int cols = way->weights == PLAIN ? n : k;
        blas.gemv(ROW_MAJOR, way->weights == PLAIN ? TRANSPOSED : PLAIN, rows,
                  cols, 1, w, stride, r->x, 1, 0, r->y, 1);
        return;
    }
    blas.gemm(ROW_MAJOR, PLAIN, way->weights, m, n, k, 1, r->x, k, w, stride, 0,
              r->y, n);
}

/* Seconds of one round of all products. */
static double round_of(const gemm_shape *s, size_t n, const gemm_way *way,
                       const gemm_room *r)
{
    const double start = bench_now();
    uint64_t at = 0;

    for (size_t i = 0; i < n; i++) {
        const uint64_t weights = s[i].k * s[i].n;
        at = at + weights > r->n_weights ? 0 : at;
        multiply(&s[i], way, r, r->w + at);
        at += weights;
    }
    return bench_now() - start;
}

/* The best of a few rounds; way by way, until the box is full. */
static double best_round(const gemm_shape *s, size_t n, const gemm_room *r)
{
    double best = 0;

    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
        const double start = bench_now();
        if (ways[way].by_vector && s[0].m != 1) {
            continue;
        }
        for (int run = 0; run < RUNS && bench_now() - start < run_box; run++) {
            const double seconds = round_of(s, n, &ways[way], r);
            best = best == 0 || seconds < best ? seconds : best;
        }
    }
    return best;
}

double gemm_rate(const gemm_shape *shape, size_t n, int threads)
{
    gemm_room room = {0};
    double flops = 0;
    double rate = 0;

    for (size_t i = 0; i < n; i++) {
        flops +=
            2.0 * (double)shape[i].m * (double)shape[i].n * (double)shape[i].k;
    }
    if (n > 0 && is_open() && make_room(&room, shape, n) == 0) {
        blas.threads(threads);
        rate = flops / best_round(shape, n, &room) / 1e9;
    }
    free(room.x);
    free(room.y);
    free(room.w);
    return rate;
}
#else
double gemm_rate(const gemm_shape *shape, size_t n, int threads)
{
    (void)shape;
    (void)n;
    (void)threads;
    return 0;
}

const char *gemm_core(void)
{
    return "";
}
#endif
