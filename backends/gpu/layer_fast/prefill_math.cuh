/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multiplication by prefill.cuh's warpgroups.  Weights are the A operand, in
 * registers: a thread has whole blocks of 32 of two or four rows.  Half a word
 * of two rows at a time becomes operands of a step of 16 while the tensor
 * cores still multiply those before, across stages (layer_place() says which k
 * meet).  Codes become BF16 numbers times 2^-126, subnormals included; the
 * scale times 2^126 is one exact multiplication.
 */
#ifndef GPU_PREFILL_MATH_CUH
#define GPU_PREFILL_MATH_CUH

#include "layer/layer.h"
#include "layer_fast/prefill.cuh"
#include "layer_fast/prefill_mma.cuh"
#include "port/device.h"

#if defined(GPU_IS_SM90A)
/*
 * Rows r and r + 8 of a warp's 16 are gate and up of one output, or neighbours
 * among rows.  Eight outputs of a warp, sixteen of two blocks, are neighbours
 * among the next GEMM's operands: prefill_at().
 */
template <int BLOCKS>
GPU_FN uint32_t prefill_output(uint32_t warp, uint32_t block, uint32_t r)
{
    const uint32_t far = (r >> 1 & 3) * 32;

    return BLOCKS == 2
               ? far + (r & 1) + block * 4 + (warp & 1) * 2 + (warp >> 1) * 8
               : far + (r & 1) * 4 + (warp & 3) + (warp >> 2) * 8;
}

/* Row of the tile that a warp multiplies as row r of its block. */
template <int BLOCKS>
GPU_FN uint32_t prefill_row_of(const prefill_args *a, uint32_t warp,
                               uint32_t block, uint32_t r)
{
    if (!a->is_glu) {
        return (warp * 8 + (r & 7)) * (2 * BLOCKS) + block * 2 + (r >> 3);
    }
    const uint32_t out = prefill_output<BLOCKS>(warp, block, r & 7);

    return a->halves ? (r >> 3) * (PREFILL_ROWS / 2) + out : 2 * out + (r >> 3);
}

/* Where the tensor copy puts its codes, in rows. */
template <int BLOCKS>
GPU_FN uint32_t prefill_slot_of(const prefill_args *a, uint32_t warp,
                                uint32_t block, uint32_t r)
{
    return a->is_glu ? (r >> 3) * (PREFILL_ROWS / 2) +
                           prefill_output<BLOCKS>(warp, block, r & 7)
                     : (block * 2 + (r >> 3)) * (PREFILL_ROWS / 2 / BLOCKS) +
                           warp * 8 + (r & 7);
}

/* Scales and codes that a thread reads of every stage. */
template <int BLOCKS> struct prefill_reader {
    const uint8_t *scale[BLOCKS][2];
    uint32_t w[BLOCKS][2];
    uint32_t blocks; /* of 32 in a row */
    uint32_t bias, zero;
};

template <int BLOCKS>
GPU_FN void prefill_reader_of(const prefill_block *b, const uint8_t *scales,
                              uint32_t shift, prefill_reader<BLOCKS> *x)
{
    const uint32_t blocks = (uint32_t)(b->a->g.k / LAYER_BLOCK);
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t warp = threadIdx.x / 32;

    GPU_UNROLL
    for (uint32_t i = 0; i < 2 * BLOCKS; i++) {
        const uint32_t r = lane / 4 + i % 2 * 8;
        x->scale[i / 2][i % 2] =
            scales + prefill_row_of<BLOCKS>(b->a, warp, i / 2, r) * blocks +
            lane % 4;
        x->w[i / 2][i % 2] =
            prefill_slot_of<BLOCKS>(b->a, warp, i / 2, r) * 64 + lane % 4 * 16;
    }
    x->blocks = blocks;
    x->bias = 126 - shift;
    x->zero = (b->a->g.rule & DEQUANT_ZERO) != 0 ? 0 : x->bias * 0x800080u;
}

/* Numbers 0 and 4, 1 and 5 of eight codes, or (odd) 2 and 6, 3 and 7:
   layer_spread_of(). */
template <uint32_t LAID>
GPU_FN void prefill_spread(uint32_t codes, int odd, uint32_t (&y)[2])
{
    uint32_t all[4];

    layer_spread_of(LAID, codes, all);
    y[0] = all[2 * odd];
    y[1] = all[2 * odd + 1];
}

/* Half a word of two rows as operands of a step of 16. */
template <uint32_t LAID>
GPU_FN void prefill_widen(uint32_t low, uint32_t high, int odd,
                          const uint32_t (&factor)[2], uint32_t (&to)[4])
{
    uint32_t y[2];

    prefill_spread<LAID>(low, odd, y);
    to[0] = multiply_bf16x2(y[0], factor[0]);
    to[2] = multiply_bf16x2(y[1], factor[0]);
    prefill_spread<LAID>(high, odd, y);
    to[1] = multiply_bf16x2(y[0], factor[1]);
    to[3] = multiply_bf16x2(y[1], factor[1]);
}

template <int LEFT> GPU_FN void prefill_await_mma(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

/* The same, without a branch while the tensor cores multiply. */
GPU_FN void prefill_release_if(const mbarrier *empty, int is_wanted)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.s32 p, %1, 0;\n"
                 "@p mbarrier.arrive.shared::cta.b64 _, [%0];\n"
                 "}" ::"r"(MBARRIER_ADDRESS(empty)),
                 "r"(is_wanted)
                 : "memory");
}

GPU_FN void prefill_release(mbarrier *empty)
{
    warp_sync();
    if (threadIdx.x % 32 == 0) {
        mbarrier_arrive(empty);
    }
}

/* A matrix of 64 columns in rows of 128 bytes, swizzled by 128. */
GPU_FN uint64_t prefill_matrix(uint32_t at)
{
    return (uint64_t)(at >> 4 & 0x3fff) | (uint64_t)1 << 16 |
           (uint64_t)64 << 32 | (uint64_t)1 << 62;
}

/* A thread's part of a stage. */
template <int BLOCKS> struct prefill_piece {
    uint4 code[BLOCKS][2];
    uint32_t factor[BLOCKS][2];
};

template <int BLOCKS>
GPU_FN void prefill_read(const uint8_t *stage, const prefill_reader<BLOCKS> *x,
                         uint32_t c, prefill_piece<BLOCKS> *p)
{
    /* Where rows end before the chunk does, factors must not be infinite. */
    const int is_there = c * 4 + threadIdx.x % 4 < x->blocks;

    GPU_UNROLL
    for (int i = 0; i < 2 * BLOCKS; i++) {
        const uint32_t byte = is_there ? x->scale[i / 2][i % 2][c * 4] : 0;
        p->code[i / 2][i % 2] = *(const uint4 *)(stage + x->w[i / 2][i % 2]);
        p->factor[i / 2][i % 2] =
            byte == 0 ? x->zero : (byte + x->bias) * 0x800080u;
    }
}

/* One stage, at `columns` and `more`; the stage before is released when it is
   multiplied. */
template <int BLOCKS, int N, uint32_t LAID>
GPU_FN void prefill_stage(const prefill_piece<BLOCKS> *p, uint64_t columns,
                          uint64_t more, const mbarrier *before, int is_first,
                          float *acc)
{
    uint32_t a[2][BLOCKS][4];

    GPU_UNROLL
    for (int i = 0; i < 8; i++) {
        const uint64_t at = (i < 4 ? columns : more) + (uint64_t)(i % 4 * 2);

        GPU_UNROLL
        for (int k = 0; k < BLOCKS; k++) {
            const uint32_t *const low = (const uint32_t *)&p->code[k][0];
            const uint32_t *const high = (const uint32_t *)&p->code[k][1];
            prefill_widen<LAID>(low[i / 2], high[i / 2], i % 2, p->factor[k],
                                a[i % 2][k]);
        }
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        GPU_UNROLL
        for (int k = 0; k < BLOCKS; k++) {
            prefill_mma<N>(acc + k * PREFILL_WIDTH(BLOCKS) / 2, a[i % 2][k],
                           at);
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        prefill_await_mma<1>();
        if (i == 0) {
            prefill_release_if(before, !is_first && threadIdx.x % 32 == 0);
        }
    }
}

/* All of k. */
template <int BLOCKS, int N, uint32_t LAID>
GPU_FN void prefill_multiply(const prefill_block *b,
                             const prefill_reader<BLOCKS> *x, uint32_t n,
                             prefill_ring *r, float *acc)
{
    const uint32_t half = prefill_padded(n) * 128;
    const uint32_t chunks = (uint32_t)(b->a->g.pitch / PREFILL_CHUNK);
    mbarrier *before = &b->s->empty[0];

    GPU_LOOP
    for (uint32_t c = 0; c < chunks; c++) {
        const uint32_t stage = __shfl_sync(0xffffffffu, r->stage, 0);
        uint8_t *const at = b->stages + stage * b->a->stage_bytes;
        prefill_piece<BLOCKS> p;

        mbarrier_wait(&b->s->full[stage], r->parity);
        prefill_read<BLOCKS>(at, x, c, &p);
        const uint32_t columns =
            (uint32_t)__cvta_generic_to_shared(at + PREFILL_CODES);
        prefill_stage<BLOCKS, N, LAID>(&p, prefill_matrix(columns),
                                       prefill_matrix(columns + half), before,
                                       c == 0, acc);
        before = &b->s->empty[stage];
        prefill_advance(r, b->a->stages);
    }
    prefill_await_mma<0>();
    prefill_release(before);
}

#define PREFILL_CASE(w)                                     \
    case (w) / 8:                                           \
        prefill_multiply<BLOCKS, w, LAID>(b, x, n, r, acc); \
        break;

template <int BLOCKS, uint32_t LAID>
GPU_FN void prefill_multiply_any(const prefill_block *b,
                                 const prefill_reader<BLOCKS> *x, uint32_t n,
                                 prefill_ring *r, float *acc)
{
    if (BLOCKS == 1) {
        switch (n <= 16 ? 2 : n <= 24 ? 3 : (n + 15) / 16 * 2) {
            PREFILL_CASE(16)
            PREFILL_CASE(24)
            PREFILL_CASE(32)
            PREFILL_CASE(48)
        default:
            prefill_multiply<BLOCKS, 64, LAID>(b, x, n, r, acc);
            break;
        }
        return;
    }
    switch (n <= 32 ? 4 : n <= 64 ? 8 : (n + 15) / 16 * 2) {
        PREFILL_CASE(32)
        PREFILL_CASE(64)
        PREFILL_CASE(80)
        PREFILL_CASE(96)
        PREFILL_CASE(112)
    default:
        prefill_multiply<BLOCKS, PREFILL_WIDTH(BLOCKS), LAID>(b, x, n, r, acc);
        break;
    }
}
#undef PREFILL_CASE
#endif

#endif
