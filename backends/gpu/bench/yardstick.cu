/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a layer's speed is held against: cuBLAS's BF16 GEMM on as many products
 * of the same shapes, their weights dequantised already.  The library is
 * opened when it is asked for; where there is none, there is no yardstick.
 */
#include "host/call.h"
#include "host/plans.h"
#include "port/device.h"
#include "port/runtime.h"

#include <cuda_runtime.h>
#include <dlfcn.h>

enum {
    LIBRARY_BF16 = 14,      /* CUDA_R_16BF */
    LIBRARY_ADD_F32 = 68,   /* CUBLAS_COMPUTE_32F */
    LIBRARY_DEFAULT = -1,   /* CUBLAS_GEMM_DEFAULT */
    LIBRARY_TRANSPOSED = 1, /* CUBLAS_OP_T */
    LIBRARY_PLAIN = 0       /* CUBLAS_OP_N */
};

typedef int (*library_create)(void **handle);
typedef int (*library_destroy)(void *handle);
typedef int (*library_gemm)(void *handle, int op_a, int op_b, int m, int n,
                            int k, const void *alpha, const void *a, int type_a,
                            int lda, long long step_a, const void *b,
                            int type_b, int ldb, long long step_b,
                            const void *beta, void *c, int type_c, int ldc,
                            long long step_c, int batch, int compute, int algo);

typedef struct library {
    void *handle;
    library_destroy destroy;
    library_gemm gemm;
    int batch, m, n, k;
    void *a, *b, *c;
} library;

/* Numbers from -1 to 1 without a pattern: zeros would run faster. */
static __global__ void library_fill(uint16_t *x, uint64_t n)
{
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * (uint64_t)blockDim.x) {
        uint32_t h = (uint32_t)i * 2654435761u;

        h ^= h >> 15;
        h *= 2246822519u;
        h ^= h >> 13;
        x[i] = (uint16_t)(gpu_bits((float)(int32_t)h * 0x1p-31f) >> 16);
    }
}

static mxo_status library_open(library *l, mxo_text why)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12",
                                        "libcublas.so"};
    void *file = NULL;

    for (int i = 0; i < 3 && file == NULL; i++) {
        file = dlopen(names[i], RTLD_NOW);
    }
    if (file == NULL) {
        return gpu_fail(MXO_E_UNSUPPORTED, why, "no cuBLAS here");
    }
    const library_create create =
        (library_create)dlsym(file, "cublasCreate_v2");
    l->destroy = (library_destroy)dlsym(file, "cublasDestroy_v2");
    l->gemm = (library_gemm)dlsym(file, "cublasGemmStridedBatchedEx");
    return create != NULL && l->destroy != NULL && l->gemm != NULL &&
                   create(&l->handle) == 0
               ? MXO_OK
               : gpu_fail(MXO_E_DEVICE, why, "cuBLAS does not start");
}

static mxo_status library_room(library *l, mxo_text why)
{
    const uint64_t batch = (uint64_t)l->batch;
    const uint64_t n_a = batch * (uint64_t)l->m * (uint64_t)l->k;
    const uint64_t n_b = batch * (uint64_t)l->n * (uint64_t)l->k;
    const uint64_t n_c = batch * (uint64_t)l->m * (uint64_t)l->n;
    mxo_status status = gpu_malloc(&l->a, 2 * n_a);

    if (status == MXO_OK) {
        status = gpu_malloc(&l->b, 2 * n_b);
    }
    if (status == MXO_OK) {
        status = gpu_malloc(&l->c, 2 * n_c);
    }
    if (status != MXO_OK) {
        return gpu_fail(status, why, "no memory for cuBLAS's operands");
    }
    library_fill<<<1024, 256>>>((uint16_t *)l->a, n_a);
    library_fill<<<1024, 256>>>((uint16_t *)l->b, n_b);
    return cudaGetLastError() == cudaSuccess
               ? MXO_OK
               : gpu_fail(MXO_E_DEVICE, why, "operands cannot be filled");
}

/* Rows of a times rows of b: cuBLAS counts columns first. */
static mxo_status library_multiply(const library *l, mxo_text why)
{
    const float one = 1;
    const float zero = 0;
    const long long m = l->m;
    const long long n = l->n;
    const long long k = l->k;
    const int status =
        l->gemm(l->handle, LIBRARY_TRANSPOSED, LIBRARY_PLAIN, l->n, l->m, l->k,
                &one, l->b, LIBRARY_BF16, l->k, n * k, l->a, LIBRARY_BF16, l->k,
                m * k, &zero, l->c, LIBRARY_BF16, l->n, m * n, l->batch,
                LIBRARY_ADD_F32, LIBRARY_DEFAULT);

    return status == 0 ? MXO_OK
                       : gpu_fail(MXO_E_DEVICE, why, "cuBLAS says %d", status);
}

static mxo_status library_time(const library *l, uint32_t repeat,
                               double *seconds, mxo_text why)
{
    gpu_timer timer;
    mxo_status status = library_multiply(l, why);

    if (status == MXO_OK) {
        status = gpu_timer_begin(&timer, why);
    }
    if (status != MXO_OK) {
        return status;
    }
    for (uint32_t i = 0; i < repeat && status == MXO_OK; i++) {
        status = library_multiply(l, why);
    }
    const mxo_status stopped = gpu_timer_stop(&timer, seconds, why);
    return status == MXO_OK ? stopped : status;
}

mxo_status time_library(const mxo_call *call, uint32_t repeat, double *seconds,
                        mxo_text why)
{
    library l;
    memset(&l, 0, sizeof l);
    l.batch = (int)call_number(call, "batch");
    l.m = (int)call_number(call, "m");
    l.n = (int)call_number(call, "n");
    l.k = (int)call_number(call, "k");
    mxo_status status = library_open(&l, why);

    if (status == MXO_OK) {
        status = library_room(&l, why);
    }
    if (status == MXO_OK) {
        status = library_time(&l, repeat, seconds, why);
    }
    gpu_free(l.c);
    gpu_free(l.b);
    gpu_free(l.a);
    if (l.handle != NULL) {
        (void)l.destroy(l.handle);
    }
    return status;
}
