/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache with nothing of the next launch in it, as a layer finds it behind
 * another: full of what was read.  Full of what was written it would have to
 * be emptied first, and that would count as the launch's time.
 */
#ifndef GPU_FLUSH_L2_H
#define GPU_FLUSH_L2_H

#include "host/call.h"
#include "port/device.h"
#include "port/runtime.h"

enum { CACHE_BYTES = 256 << 20 }; /* several times any device's */

typedef struct flush_l2_args {
    const void *from;
    void *to; /* keeps the compiler from removing the loads */
} flush_l2_args;

GPU_FN void flush_l2_body(const flush_l2_args *a)
{
    uint32_t all = 0;

    for (uint64_t i = gpu_block() * (uint64_t)GPU_BLOCK + gpu_thread();
         i < CACHE_BYTES / 16; i += (uint64_t)gpu_grid() * GPU_BLOCK) {
        const gpu_u128 x = gpu_load_u8x16(a->from, i);
        all |= x.w[0] | x.w[1] | x.w[2] | x.w[3];
    }
    if (all == 0x12345678u) {
        gpu_store_u32(a->to, 0, all);
    }
}

GPU_ENTRY(flush_l2_read, flush_l2_args, flush_l2_body(a))

/* Nothing slow may follow but launches: they are to wait for the device, not it
   for them.  Nor is memory asked for each time: that would forget where the
   layer's is, too. */
static mxo_status flush_l2(gpu_scratch *s, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(flush_l2_read, 0);
    const gpu_shape shape = {4096, 0, 0, 0, NULL, 0};
    mxo_status status = MXO_OK;

    if (s->heap == NULL) {
        status = gpu_malloc(&s->heap, CACHE_BYTES);
        if (status == MXO_OK) {
            status = gpu_fill(s->heap, 0x11, CACHE_BYTES, NULL, why);
        }
    }
    if (status != MXO_OK) {
        return status;
    }
    const flush_l2_args a = {s->heap, s->heap};
    return gpu_launch(&kernel, &shape, &a, why);
}

#endif
