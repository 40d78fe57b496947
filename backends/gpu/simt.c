/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backends simt32 and simt64: the kernels of the GPU backends on the CPU,
 * so that their logic is judged where there is no GPU.
 */
#include "runtime.h"

#include "device.h"

#include "dequant.inc"

#include "quant.inc"

#include "quant_plain.inc"

#include "glu_exact.inc"

#include "glu_steps.inc"

#include "glu.inc"

#include "layer_sum.inc"

#include "layer.inc"

#include "layer_add.inc"

#if SIMT_WARP == 32
#define GPU_HAS_DECODE 1
#define SIMT_CROWDS 1

#include "simt_decode.h"

#include "layer_act.inc"

#include "decode.inc"

#include "decode_acts.inc"

#include "decode_sort.inc"

#include "decode_math.inc"

#include "decode_add.inc"

#include "decode_end.inc"

#include "alone.inc"

#include "alone_load.inc"

#include "alone_carry.inc"

#include "alone_math.inc"

#include "alone_end.inc"
#else
#define GPU_HAS_DECODE 0
#endif

#include "layout.inc"

#include "layout_gather.inc"

#include "layout_lines.inc"

#include "layout_terms.inc"

#include "layout_values.inc"

#include "layout_walk.inc"

#include "layout_index.inc"

#include "layout_groups.inc"

#include "simt_lanes.inc"

#define GPU_NAME SIMT_NAME
#define GPU_LABEL "CPU"
#define GPU_HAS_TIMER 0
#define GPU_HAS_FUSED 0

enum {
    UNITS = 3,     /* few, so that kernels must loop */
    RESIDENTS = 2
};

static mxo_status gpu_open(int device, gpu_device *d, mxo_text why)
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
static mxo_status gpu_malloc(void **p, uint64_t n_bytes)
{
    *p = n_bytes > SIZE_MAX - 512
             ? NULL
             : aligned_alloc(256, ((size_t)n_bytes + 256) / 256 * 256);
    return *p == NULL ? MXO_E_NOMEM : MXO_OK;
}

static void gpu_free(void *p)
{
    free(p);
}

static mxo_status gpu_upload(void *dst, const void *src, uint64_t n,
                             mxo_text why)
{
    (void)why;
    memcpy(dst, src, (size_t)n);
    return MXO_OK;
}

#define gpu_download gpu_upload

static mxo_status gpu_fill(void *dst, int byte, uint64_t n, void *stream,
                           mxo_text why)
{
    (void)stream;
    (void)why;
    memset(dst, byte, (size_t)n);
    return MXO_OK;
}

/* One lane after the other, as launches come. */
typedef struct gpu_lanes {
    void *stream[GPU_LANES];
} gpu_lanes;

static void gpu_lanes_close(gpu_lanes *l)
{
    (void)l;
}

static mxo_status gpu_fork(gpu_lanes *l, mxo_text why)
{
    (void)l;
    (void)why;
    return MXO_OK;
}

#define gpu_join gpu_fork

static mxo_status gpu_synchronize(mxo_text why)
{
    (void)why;
    return MXO_OK;
}

static mxo_status gpu_residents(gpu_entry entry, uint32_t *blocks,
                                mxo_text why)
{
    (void)entry;
    (void)why;
    *blocks = RESIDENTS;
    return MXO_OK;
}

#include "call.inc"

#include "plan_dequant.inc"

#include "plan_quant.inc"

#include "plan_glu.inc"

#include "plan_recipe.inc"

#include "plan_layer.inc"

#include "layout_text.inc"

#include "layout_map.inc"

#include "layout_fold.inc"

#include "plan_tile.inc"

#include "plan_gather.inc"

#include "plan_lines.inc"

#include "plan_move.inc"

#include "plan_terms.inc"

#include "layout_chain.inc"

#include "plan_layout.inc"

#include "plan_convert.inc"

#include "plan_groups.inc"

#include "plan_index.inc"

#include "backend.inc"

#if SIMT_WARP == 32
const mxo_backend *simt32_backend(void);

const mxo_backend *simt32_backend(void)
#else
const mxo_backend *simt64_backend(void);

const mxo_backend *simt64_backend(void)
#endif
{
    return &backend;
}
