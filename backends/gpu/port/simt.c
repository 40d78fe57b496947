/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device of the backends simt32 and simt64, which is the CPU: the kernels
 * of the GPU backends run there, so that their logic is judged without a GPU.
 */
#include "port/runtime.h"

enum {
    UNITS = 3, /* few, so that kernels must loop */
    RESIDENTS = 2
};

mxo_status gpu_open(int device, gpu_device *d, mxo_text why)
{
    if (device != 0) {
        return gpu_fail(MXO_E_DEVICE, why, "there is one shim, number 0");
    }
    d->index = 0;
    d->units = UNITS;
    d->tensor_cores = SIMT_WARP == 32;
    (void)snprintf(d->name, sizeof d->name, "CPU, warps of %d", SIMT_WARP);
    (void)snprintf(d->driver, sizeof d->driver, "SIMT shim");
    return MXO_OK;
}

/* Aligned as a device would. */
mxo_status gpu_malloc(void **p, uint64_t n_bytes)
{
    *p = n_bytes > SIZE_MAX - 512
             ? NULL
             : aligned_alloc(256, ((size_t)n_bytes + 256) / 256 * 256);
    return *p == NULL ? MXO_E_NOMEM : MXO_OK;
}

void gpu_free(void *p)
{
    free(p);
}

mxo_status gpu_upload(void *dst, const void *src, uint64_t n, mxo_text why)
{
    (void)why;
    memcpy(dst, src, (size_t)n);
    return MXO_OK;
}

mxo_status gpu_download(void *dst, const void *src, uint64_t n, mxo_text why)
{
    return gpu_upload(dst, src, n, why);
}

mxo_status gpu_fill(void *dst, int byte, uint64_t n, void *stream, mxo_text why)
{
    (void)stream;
    (void)why;
    memset(dst, byte, (size_t)n);
    return MXO_OK;
}

/* One lane after the other, as launches come. */
void gpu_lanes_close(gpu_lanes *l)
{
    (void)l;
}

mxo_status gpu_fork(gpu_lanes *l, mxo_text why)
{
    (void)l;
    (void)why;
    return MXO_OK;
}

mxo_status gpu_join(gpu_lanes *l, mxo_text why)
{
    return gpu_fork(l, why);
}

mxo_status gpu_synchronize(mxo_text why)
{
    (void)why;
    return MXO_OK;
}

mxo_status gpu_residents(gpu_entry entry, uint32_t *blocks, mxo_text why)
{
    (void)entry;
    (void)why;
    *blocks = RESIDENTS;
    return MXO_OK;
}
