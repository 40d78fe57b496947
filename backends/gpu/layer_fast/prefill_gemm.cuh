/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of prefill.cuh: tile after tile, and who does what. */
#ifndef GPU_PREFILL_GEMM_CUH
#define GPU_PREFILL_GEMM_CUH

#include "layer/layer.h"
#include "layer_fast/prefill.cuh"
#include "layer_fast/prefill_end.cuh"
#include "layer_fast/prefill_epilogue.cuh"
#include "layer_fast/prefill_math.cuh"
#include "port/device.h"

#if defined(GPU_IS_SM90A)
/* One tile. */
template <int BLOCKS, uint32_t LAID>
GPU_FN void prefill_tile_of(const prefill_block *b, uint32_t turn,
                            prefill_ring *r, prefill_lates<BLOCKS> *late)
{
    const prefill_args *const a = b->a;
    const uint32_t width = PREFILL_WIDTH(BLOCKS) / 2;
    const uint32_t buffer = turn & a->scale_turns;
    const uint8_t *const scales = b->scales + buffer * a->scale_bytes;
    prefill_end<BLOCKS> e;
    prefill_reader<BLOCKS> x;
    float acc[BLOCKS * PREFILL_WIDTH(BLOCKS) / 2];
    uint32_t shift;

    mbarrier_wait(&b->s->scales_known[buffer], turn >> a->scale_turns & 1);
    mbarrier_wait(&b->s->scales_full[buffer], turn >> a->scale_turns & 1);
    const prefill_turn *const known = &b->s->turn[buffer];
    const int in_vain = prefill_range(b, scales, known, &shift);
    e.a = a;
    e.known = known;
    e.t = known->t;
    e.m = known->m;
    e.turned = (uint32_t *)(void *)(b->turned +
                                    threadIdx.x / 32 * PREFILL_TURN(BLOCKS));
    prefill_reader_of<BLOCKS>(b, scales, shift, &x);
    GPU_UNROLL
    for (uint32_t k = 0; k < 2 * BLOCKS; k++) {
        e.bias[k] = known->bias[prefill_row_of<BLOCKS>(
            a, threadIdx.x / 32, k / 2, threadIdx.x % 32 / 4 + k % 2 * 8)];
    }
    GPU_UNROLL
    for (uint32_t k = 0; k < BLOCKS * width; k++) {
        acc[k] = 0;
    }
    prefill_multiply_any<BLOCKS, LAID>(b, &x, e.t.n, r, acc);
    if (shift != 0) {
        GPU_UNROLL
        for (uint32_t k = 0; k < BLOCKS * width; k++) {
            acc[k] *= gpu_float((127 + shift) << 23);
        }
    }
    if (in_vain || shift != 0) {
        prefill_repair<BLOCKS>(&e, in_vain, shift, acc);
    }
    prefill_finish<BLOCKS>(&e, acc, late);
    prefill_release(&b->s->scales_empty[buffer]);
    if (late->n > prefill_lates<BLOCKS>::TILE) {
        prefill_catch_up<BLOCKS>(a, late);
    }
}

template <int BLOCKS> GPU_FN void prefill_gates(const prefill_block *b)
{
    const uint32_t i = threadIdx.x;

    if (i < PREFILL_STAGES) {
        mbarrier_init(&b->s->full[i], 1);
        mbarrier_init(&b->s->empty[i], PREFILL_WARPS(BLOCKS));
    } else if (i < PREFILL_STAGES + 2) {
        mbarrier_init(&b->s->scales_full[i - PREFILL_STAGES], 1);
        mbarrier_init(&b->s->scales_known[i - PREFILL_STAGES],
                      32 * PREFILL_LOOKERS);
        mbarrier_init(&b->s->scales_empty[i - PREFILL_STAGES],
                      PREFILL_WARPS(BLOCKS));
    }
    mbarrier_init_fence();
    __syncthreads();
}

template <int BLOCKS, uint32_t LAID>
GPU_FN void prefill_body(const prefill_args *a)
{
    uint8_t *const memory = dynamic_shared();
    uint8_t *const stages =
        memory + (-(uint32_t)__cvta_generic_to_shared(memory) & 1023);
    uint8_t *const scales = stages + a->stages * a->stage_bytes;
    prefill_shared *const s =
        (prefill_shared *)(scales + (1 + a->scale_turns) * a->scale_bytes);
    const prefill_block b = {a, stages, scales, s, (uint8_t *)(s + 1)};

    prefill_gates<BLOCKS>(&b);
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    if (threadIdx.x >= 32 * PREFILL_WARPS(BLOCKS)) {
        if (BLOCKS == 2) {
            asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        } else {
            asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
        }
        if (threadIdx.x == 32 * PREFILL_WARPS(BLOCKS)) {
            asm volatile("fence.proxy.async.global;" ::: "memory");
            prefill_load(&b);
        } else if (threadIdx.x >= 32 * PREFILL_WARPS(BLOCKS) + 32) {
            prefill_look(&b);
        }
    } else {
        const uint32_t tiles = *a->routes.n_tiles * a->m_tiles;
        prefill_ring r = {0, 0};
        prefill_lates<BLOCKS> late;
        uint32_t turn = 0;

        late.n = 0;
        if (BLOCKS == 2) {
            asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        } else {
            asm volatile("setmaxnreg.inc.sync.aligned.u32 112;");
        }
        GPU_LOOP
        for (uint32_t i = blockIdx.x; i < tiles; i += gridDim.x) {
            prefill_tile_of<BLOCKS, LAID>(&b, turn, &r, &late);
            turn++;
        }
        prefill_catch_up<BLOCKS>(a, &late);
    }
}
#endif

/* BLOCKS of 16 rows a warp, codes in an order. */
template <int BLOCKS, uint32_t LAID>
static __global__ void __launch_bounds__(PREFILL_THREADS(BLOCKS), 1)
    prefill_gemm(const __grid_constant__ prefill_args a)
{
#if defined(GPU_IS_SM90A)
    prefill_body<BLOCKS, LAID>(&a);
#endif
}

#endif
