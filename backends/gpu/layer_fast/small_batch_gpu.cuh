/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services of a Hopper device for small_batch.h, beyond device.h: mbarriers in
 * shared memory that count arrivals and bytes, copies that complete on them,
 * tensor cores a warp at a time, data that blocks publish to each other.
 * simt_crowd.c has the same names on the CPU.
 */
#ifndef GPU_SMALL_BATCH_GPU_CUH
#define GPU_SMALL_BATCH_GPU_CUH

#include "port/device.h"

enum {
    SMALL_BATCH_EPILOGUE_WARPS =
        7,                /* warps that finish rows, the first of the block */
    SMALL_BATCH_TEAM = 4, /* warps that share a unit, behind them */
    SMALL_BATCH_TEAMS = 3,
    FEW_TOKENS_EPILOGUE_WARPS = 4, /* warps of few_tokens.h that finish rows */
    FEW_TOKENS_TEAM = 4,           /* warps that share a unit */
    FEW_TOKENS_TEAMS = 3,
    FEW_TOKENS_ACTIVATION_LOADERS = 3, /* and that carry activations */
    FEW_TOKENS_BUFFERS = 18,           /* of them, at most: no limit */
    SMALL_BATCH_BACKOFF = 60           /* nanoseconds, at most twice as many */
};

#define MBARRIER_ADDRESS(g) ((uint32_t)__cvta_generic_to_shared(&(g)->bits))

typedef struct mbarrier {
    uint64_t bits;
} mbarrier;

GPU_FN uint8_t *dynamic_shared(void)
{
    extern __shared__ uint4 dynamic_shared_bytes[];

    return (uint8_t *)dynamic_shared_bytes;
}

/* A phase of the gate ends after n arrivals and the bytes they announced. */
GPU_FN void mbarrier_init(mbarrier *g, uint32_t n)
{
    asm volatile(
        "mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(MBARRIER_ADDRESS(g)),
        "r"(n)
        : "memory");
}

/* Gates that were set are what copies will find. */
GPU_FN void mbarrier_init_fence(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

GPU_FN void mbarrier_arrive(mbarrier *g)
{
    asm volatile(
        "mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(MBARRIER_ADDRESS(g))
        : "memory");
}

/* Bytes that the phase has to wait for, before the arrival that may end it. */
GPU_FN void mbarrier_expect(mbarrier *g, uint32_t bytes)
{
    asm volatile(
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(
            MBARRIER_ADDRESS(g)),
        "r"(bytes)
        : "memory");
}

GPU_FN void mbarrier_arrive_expect(mbarrier *g, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     MBARRIER_ADDRESS(g)),
                 "r"(bytes)
                 : "memory");
}

/* Until the phase of this parity has ended. */
GPU_FN void mbarrier_wait(mbarrier *g, uint32_t parity)
{
    uint32_t done = 0;

    while (!done) {
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}"
                     : "=r"(done)
                     : "r"(MBARRIER_ADDRESS(g)), "r"(parity)
                     : "memory");
    }
}

/* Until each of three phases has ended: one wait where all have. */
GPU_FN void mbarrier_wait_three(mbarrier *g, uint32_t g_parity, mbarrier *h,
                                uint32_t h_parity, mbarrier *i,
                                uint32_t i_parity)
{
    uint32_t done = 0;

    while (!done) {
        asm volatile("{\n"
                     ".reg .pred p, q, r;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 q, [%3], %4;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 r, [%5], %6;\n"
                     "and.pred p, p, q;\n"
                     "and.pred p, p, r;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}"
                     : "=r"(done)
                     : "r"(MBARRIER_ADDRESS(g)), "r"(g_parity),
                       "r"(MBARRIER_ADDRESS(h)), "r"(h_parity),
                       "r"(MBARRIER_ADDRESS(i)), "r"(i_parity)
                     : "memory");
    }
}

/* Addresses and bytes are multiples of 16. */
GPU_FN void bulk_copy(void *to, const void *from, uint32_t bytes, mbarrier *g)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                 "bytes [%0], [%1], %2, [%3];" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(to)),
                 "l"(from), "r"(bytes), "r"(MBARRIER_ADDRESS(g))
                 : "memory");
}

/* A box of a tensor at an element of a row; `to` is a multiple of 128.  What is
   outside becomes zeros, and counts. */
GPU_FN void tensor_copy(void *to, const gpu_map *map, uint32_t element,
                        uint32_t row, mbarrier *g)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::"
                 "complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(to)),
                 "l"(map), "r"(element), "r"(row), "r"(0),
                 "r"(MBARRIER_ADDRESS(g))
                 : "memory");
}

GPU_FN void prefetch_l2(const void *p)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

/* x, which the compiler is to keep and not to compute anew. */
GPU_FN uint32_t keep_in_register(uint32_t x)
{
    asm volatile("" : "+r"(x));
    return x;
}

/* Eight numbers that another block may store at any time. */
GPU_FN gpu_u128 load_relaxed_u16x8(const void *p)
{
    gpu_u128 x;

    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.w[0]), "=r"(x.w[1]), "=r"(x.w[2]), "=r"(x.w[3])
                 : "l"(p)
                 : "memory");
    return x;
}

/* Element i of an array that another block may store at any time. */
GPU_FN uint32_t load_relaxed_u16(const void *p, uint64_t i)
{
    uint16_t x;

    asm volatile("ld.relaxed.gpu.global.u16 %0, [%1];"
                 : "=h"(x)
                 : "l"((const uint16_t *)p + i)
                 : "memory");
    return x;
}

GPU_FN uint32_t load_relaxed_u32(const void *p, uint64_t i)
{
    uint32_t x;

    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                 : "=r"(x)
                 : "l"((const uint32_t *)p + i)
                 : "memory");
    return x;
}

/* Element i of an array that other blocks look at. */
GPU_FN void publish_u16(void *p, uint64_t i, uint32_t x)
{
    asm volatile("st.relaxed.gpu.global.u16 [%0], %1;" ::"l"((uint16_t *)p + i),
                 "h"((uint16_t)x)
                 : "memory");
}

GPU_FN void publish_u32(void *p, uint64_t i, uint32_t x)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"((uint32_t *)p + i),
                 "r"(x)
                 : "memory");
}

GPU_FN void gpu_cell_store_f32x2(float *p, float x, float y)
{
    *(float2 *)p = make_float2(x, y);
}

/* 16 rows of a times 8 columns of b, 16 deep, added to d. */
GPU_FN void warp_mma(float *d, const uint32_t *a, const uint32_t *b)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* The same, added to nothing. */
GPU_FN void warp_mma_first(float *d, const uint32_t *a, const uint32_t *b)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%10, %10, %10, %10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]),
          "f"(0.0f));
}

/* *x stays what it is in a lane that does not claim. */
GPU_FN void shared_load_if(uint32_t claims, const gpu_u128 *p, gpu_u128 *x)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.u32 p, %5, 0;\n"
                 "@p ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];\n"
                 "}"
                 : "+r"(x->w[0]), "+r"(x->w[1]), "+r"(x->w[2]), "+r"(x->w[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(p)), "r"(claims));
}

/* The largest of three, of low halves and of high ones. */
GPU_FN uint32_t max3_u16x2(uint32_t x, uint32_t y, uint32_t z)
{
    return __vimax3_u16x2(x, y, z);
}

GPU_FN uint32_t max3_u32(uint32_t x, uint32_t y, uint32_t z)
{
    return __vimax3_u32(x, y, z);
}

/* Bits that are set. */
GPU_FN uint32_t count_ones(uint32_t x)
{
    return (uint32_t)__popc(x);
}

/* Number of the highest bit that is set; there is one. */
GPU_FN uint32_t highest_one(uint32_t x)
{
    return 31 - (uint32_t)__clz((int)x);
}

/* Two bfloat16 products. */
GPU_FN uint32_t multiply_bf16x2(uint32_t x, uint32_t y)
{
    uint32_t z;

    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));
    return z;
}

GPU_FN void warp_sync(void)
{
    __syncwarp();
}

/* A bit for each lane of the warp that claims. */
GPU_FN uint32_t warp_ballot(int claim)
{
    return __ballot_sync(0xffffffffu, claim);
}

/* A bit for each lane of the warp that has the same x. */
GPU_FN uint32_t warp_match(int32_t x)
{
    return __match_any_sync(0xffffffffu, x);
}

/* n threads of a block meet; a name stands for the same ones always. */
GPU_FN void named_barrier(uint32_t name, uint32_t n)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(name), "r"(n) : "memory");
}

/* Does one of the warp's lanes lack something?  Then those at work come first.
 */
GPU_FN int back_off_if(int lacks)
{
    if (warp_ballot(lacks) == 0) {
        return 0;
    }
    __nanosleep(SMALL_BATCH_BACKOFF);
    return 1;
}

/* Later reads see other blocks' stores. */
GPU_FN void acquire_fence(void)
{
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

#endif
