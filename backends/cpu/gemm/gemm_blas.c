/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One double GEMM.  OpenBLAS is opened when it is first needed, so that a
 * judge without it still runs; the loop gives the same bits, because it is
 * only asked where no order rounds.
 */
#include "gemm.h"

#if defined(__GLIBC__) || defined(__linux__)
#include <dlfcn.h>
#endif
#include <pthread.h>
#include <string.h>

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

typedef void (*dgemm_fn)(int, int, int, int, int, int, double, const double *,
                         int, const double *, int, double, double *, int);
typedef void (*threads_fn)(int);

static struct {
    dgemm_fn gemm;
    threads_fn threads;
} blas;
static pthread_once_t opened = PTHREAD_ONCE_INIT;

static void open_blas(void)
{
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        return;
    }
    void *gemm = dlsym(library, "cblas_dgemm");
    void *threads = dlsym(library, "openblas_set_num_threads");

    if (gemm != NULL && threads != NULL) {
        memcpy(&blas.gemm, &gemm, sizeof gemm);
        memcpy(&blas.threads, &threads, sizeof threads);
    }
}

const char *cpu_dgemm_name(void)
{
    (void)pthread_once(&opened, open_blas);
    return blas.gemm != NULL ? "openblas" : "loop";
}

static void loop(const cpu_product *p)
{
    for (size_t r = 0; r < p->m; r++) {
        for (size_t c = 0; c < p->n; c++) {
            const double *x = p->x + r * p->k;
            const double *w = p->w + c * p->k;
            double sum = 0;
            for (size_t i = 0; i < p->k; i++) {
                sum += x[i] * w[i];
            }
            p->y[r * p->n + c] = sum;
        }
    }
}

void cpu_dgemm(const cpu_product *p, int threads)
{
    (void)pthread_once(&opened, open_blas);
    if (p->m == 0 || p->n == 0) {
        return;
    }
    if (blas.gemm == NULL || p->k == 0) {
        loop(p);
        return;
    }
    blas.threads(threads);
    blas.gemm(ROW_MAJOR, PLAIN, TRANSPOSED, (int)p->m, (int)p->n, (int)p->k, 1,
              p->x, (int)p->k, p->w, (int)p->k, 0, p->y, (int)p->n);
}
