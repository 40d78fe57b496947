/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Yardstick of a layer's speed: the best of cuBLAS's BF16 GEMMs on as many
 * products of the same shapes, their weights dequantised already.  Its
 * heuristics name candidates; each is timed, and the fastest is the yardstick.
 * The library is opened when it is asked for; where there is none, there is no
 * yardstick.  Names and numbers: cublasLt.h of CUDA 12 and 13.
 */
#include "host/call.h"
#include "host/plans.h"
#include "port/device.h"
#include "port/runtime.h"

#include <cuda_runtime.h>
#include <dlfcn.h>

enum {
    LIBRARY_BF16 = 14,     /* CUDA_R_16BF */
    LIBRARY_F32 = 0,       /* CUDA_R_32F */
    LIBRARY_ADD_F32 = 68,  /* CUBLAS_COMPUTE_32F */
    DESC_TRANSA = 3,       /* CUBLASLT_MATMUL_DESC_TRANSA */
    LAYOUT_BATCH = 5,      /* CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT */
    LAYOUT_STEP = 6,       /* ..._STRIDED_BATCH_OFFSET */
    PREFER_WORKSPACE = 1,  /* CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES */
    LIBRARY_TRANSPOSED = 1 /* CUBLAS_OP_T */
};

enum { CANDIDATES = 16, WORKSPACE = 64 << 20 };

/* cublasLtMatmulHeuristicResult_t */
typedef struct library_candidate {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} library_candidate;

typedef int (*library_make)(void **made);
typedef int (*library_free)(void *made);
typedef int (*library_make_desc)(void **desc, int compute, int scale);
typedef int (*library_make_layout)(void **layout, int type, uint64_t rows,
                                   uint64_t cols, int64_t ld);
typedef int (*library_set)(void *made, int attribute, const void *value,
                           size_t size);
typedef int (*library_choose)(void *handle, void *desc, void *a, void *b,
                              void *c, void *d, void *preference, int wanted,
                              library_candidate *found, int *n);
typedef int (*library_matmul)(void *handle, void *desc, const void *alpha,
                              const void *a, void *a_layout, const void *b,
                              void *b_layout, const void *beta, const void *c,
                              void *c_layout, void *d, void *d_layout,
                              const void *algorithm, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream);

typedef struct library {
    void *handle, *desc, *preference;
    void *layout[3]; /* of weights, activations, products */
    library_matmul matmul;
    library_free destroy;
    uint64_t batch, m, n, k;
    void *a, *b, *c, *workspace;
    library_candidate found[CANDIDATES];
    int n_found;
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

static void *library_file(mxo_text why)
{
    static const char *const names[] = {"libcublasLt.so.13",
                                        "libcublasLt.so.12", "libcublasLt.so"};
    void *file = NULL;

    for (int i = 0; i < 3 && file == NULL; i++) {
        file = dlopen(names[i], RTLD_NOW);
    }
    if (file == NULL) {
        (void)gpu_fail(MXO_E_UNSUPPORTED, why, "no cuBLAS here");
    }
    return file;
}

/* A batch of matrices of rows by cols, columns first, one behind the other. */
static int library_layout(void *file, void **layout, uint64_t rows,
                          uint64_t cols, uint64_t batch)
{
    const library_make_layout make =
        (library_make_layout)dlsym(file, "cublasLtMatrixLayoutCreate");
    const library_set set =
        (library_set)dlsym(file, "cublasLtMatrixLayoutSetAttribute");
    const int32_t n = (int32_t)batch;
    const int64_t step = (int64_t)(rows * cols);

    return make != NULL && set != NULL &&
           make(layout, LIBRARY_BF16, rows, cols, (int64_t)rows) == 0 &&
           set(*layout, LAYOUT_BATCH, &n, sizeof n) == 0 &&
           set(*layout, LAYOUT_STEP, &step, sizeof step) == 0;
}

/* Rows of activations times rows of weights: cuBLAS counts columns first. */
static int library_describe(library *l, void *file)
{
    const library_make_desc make =
        (library_make_desc)dlsym(file, "cublasLtMatmulDescCreate");
    const library_set set =
        (library_set)dlsym(file, "cublasLtMatmulDescSetAttribute");
    const int32_t turned = LIBRARY_TRANSPOSED;

    return make != NULL && set != NULL &&
           make(&l->desc, LIBRARY_ADD_F32, LIBRARY_F32) == 0 &&
           set(l->desc, DESC_TRANSA, &turned, sizeof turned) == 0 &&
           library_layout(file, &l->layout[0], l->k, l->n, l->batch) &&
           library_layout(file, &l->layout[1], l->k, l->m, l->batch) &&
           library_layout(file, &l->layout[2], l->n, l->m, l->batch);
}

static int library_find(library *l, void *file)
{
    const library_make make =
        (library_make)dlsym(file, "cublasLtMatmulPreferenceCreate");
    const library_set set =
        (library_set)dlsym(file, "cublasLtMatmulPreferenceSetAttribute");
    const library_choose choose =
        (library_choose)dlsym(file, "cublasLtMatmulAlgoGetHeuristic");
    const uint64_t most = WORKSPACE;

    return make != NULL && set != NULL && choose != NULL &&
           make(&l->preference) == 0 &&
           set(l->preference, PREFER_WORKSPACE, &most, sizeof most) == 0 &&
           choose(l->handle, l->desc, l->layout[0], l->layout[1], l->layout[2],
                  l->layout[2], l->preference, CANDIDATES, l->found,
                  &l->n_found) == 0 &&
           l->n_found > 0;
}

static mxo_status library_open(library *l, void *file, mxo_text why)
{
    const library_make create = (library_make)dlsym(file, "cublasLtCreate");

    l->destroy = (library_free)dlsym(file, "cublasLtDestroy");
    l->matmul = (library_matmul)dlsym(file, "cublasLtMatmul");
    return create != NULL && l->destroy != NULL && l->matmul != NULL &&
                   create(&l->handle) == 0 && library_describe(l, file) &&
                   library_find(l, file)
               ? MXO_OK
               : gpu_fail(MXO_E_DEVICE, why, "cuBLAS knows no way");
}

static void library_close(library *l, void *file)
{
    static const char *const frees[] = {
        "cublasLtMatmulDescDestroy", "cublasLtMatmulPreferenceDestroy",
        "cublasLtMatrixLayoutDestroy", "cublasLtMatrixLayoutDestroy",
        "cublasLtMatrixLayoutDestroy"};
    void *const made[] = {l->desc, l->preference, l->layout[0], l->layout[1],
                          l->layout[2]};

    for (int i = 0; i < 5; i++) {
        const library_free drop = (library_free)dlsym(file, frees[i]);
        if (made[i] != NULL && drop != NULL) {
            (void)drop(made[i]);
        }
    }
    if (l->handle != NULL) {
        (void)l->destroy(l->handle);
    }
    gpu_free(l->workspace);
    gpu_free(l->c);
    gpu_free(l->b);
    gpu_free(l->a);
}

static mxo_status library_room(library *l, mxo_text why)
{
    const uint64_t n_a = l->batch * l->m * l->k;
    const uint64_t n_b = l->batch * l->n * l->k;
    mxo_status status = gpu_malloc(&l->a, 2 * n_a);

    if (status == MXO_OK) {
        status = gpu_malloc(&l->b, 2 * n_b);
    }
    if (status == MXO_OK) {
        status = gpu_malloc(&l->c, 2 * l->batch * l->m * l->n);
    }
    if (status == MXO_OK) {
        status = gpu_malloc(&l->workspace, WORKSPACE);
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

static mxo_status library_multiply(const library *l,
                                   const library_candidate *way, mxo_text why)
{
    const float one = 1;
    const float zero = 0;
    const int status =
        l->matmul(l->handle, l->desc, &one, l->b, l->layout[0], l->a,
                  l->layout[1], &zero, l->c, l->layout[2], l->c, l->layout[2],
                  way->algorithm, l->workspace, WORKSPACE, NULL);

    return status == 0 ? MXO_OK
                       : gpu_fail(MXO_E_DEVICE, why, "cuBLAS says %d", status);
}

static mxo_status library_time(const library *l, const library_candidate *way,
                               uint32_t repeat, double *seconds, mxo_text why)
{
    gpu_timer timer;
    mxo_status status = library_multiply(l, way, why);

    if (status == MXO_OK) {
        status = gpu_timer_begin(&timer, why);
    }
    if (status != MXO_OK) {
        return status;
    }
    for (uint32_t i = 0; i < repeat && status == MXO_OK; i++) {
        status = library_multiply(l, way, why);
    }
    const mxo_status stopped = gpu_timer_stop(&timer, seconds, why);
    return status == MXO_OK ? stopped : status;
}

/* The fastest of the candidates; one that cannot run is passed over. */
static mxo_status library_best(const library *l, uint32_t repeat,
                               double *seconds, mxo_text why)
{
    mxo_status best = MXO_E_DEVICE;

    for (int i = 0; i < l->n_found; i++) {
        double s = 0;
        const mxo_status status =
            library_time(l, &l->found[i], repeat, &s, why);
        if (status == MXO_OK && (best != MXO_OK || s < *seconds)) {
            *seconds = s;
            best = MXO_OK;
        }
    }
    return best;
}

mxo_status time_library(const mxo_call *call, uint32_t repeat, double *seconds,
                        mxo_text why)
{
    void *const file = library_file(why);
    library l;

    if (file == NULL) {
        return MXO_E_UNSUPPORTED;
    }
    memset(&l, 0, sizeof l);
    l.batch = (uint64_t)call_number(call, "batch");
    l.m = (uint64_t)call_number(call, "m");
    l.n = (uint64_t)call_number(call, "n");
    l.k = (uint64_t)call_number(call, "k");
    mxo_status status = library_open(&l, file, why);

    if (status == MXO_OK) {
        status = library_room(&l, why);
    }
    if (status == MXO_OK) {
        status = library_best(&l, repeat, seconds, why);
    }
    library_close(&l, file);
    return status;
}
