/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Epilogue of prefill_math.cuh.  A thread has gate and up of an
 * output, or neighbouring rows, of two columns in eight: bias, the activation
 * or the routing weight.  Rows go out from there; activations meet in shared
 * memory first, a warp's sixteen or eight of a column, and leave in pieces.
 */
#ifndef GPU_PREFILL_EPILOGUE_CUH
#define GPU_PREFILL_EPILOGUE_CUH

#include "layer/layer.h"
#include "layer/layer_act.h"
#include "layer_fast/prefill.cuh"
#include "layer_fast/prefill_end.cuh"
#include "layer_fast/prefill_math.cuh"
#include "port/device.h"

#if defined(GPU_IS_SM90A)
/* A thread's sums of a batch: [4 i + 2 h + c] is column 8 i + 2 q + c, q the
   lane's in four, of row lane / 4 + 8 h. */
template <int BLOCKS> struct prefill_sums {
    enum { EIGHTS = PREFILL_BATCH / 8 };
    float x[BLOCKS][4 * EIGHTS];
};

/* Activations of two columns each, and which are not known yet. */
template <int BLOCKS> struct prefill_acts {
    uint32_t y[BLOCKS][PREFILL_BATCH / 8];
    uint32_t differ[BLOCKS][PREFILL_BATCH / 8];
};

/* An activation that slower tiers compute, and where it goes; of the tile at
   hand, an output's number, and the column's above it. */
typedef struct prefill_late {
    float g, v;
    uint64_t at;
} prefill_late;

/* Those of a thread, which wait until the block has no more tiles. */
template <int BLOCKS> struct prefill_lates {
    enum { TILE = BLOCKS * PREFILL_WIDTH(BLOCKS) / 4 };
    prefill_late x[2 * TILE];
    uint32_t n;
};

template <int BLOCKS, int BATCH>
GPU_FN void prefill_take(const float *acc, prefill_sums<BLOCKS> *s)
{
    GPU_UNROLL
    for (int k = 0; k < BLOCKS; k++) {
        GPU_UNROLL
        for (int i = 0; i < PREFILL_BATCH / 2; i++) {
            s->x[k][i] = acc[k * PREFILL_WIDTH(BLOCKS) / 2 +
                             BATCH * PREFILL_BATCH / 2 + i];
        }
    }
}

#define PREFILL_TAKE(i)                                                      \
    case i:                                                                  \
        prefill_take<BLOCKS, (i) % (PREFILL_WIDTH(BLOCKS) / PREFILL_BATCH)>( \
            acc, s);                                                         \
        break;

/* A batch whose number is not a constant. */
template <int BLOCKS>
GPU_FN void prefill_take_any(const float *acc, uint32_t batch,
                             prefill_sums<BLOCKS> *s)
{
    switch (batch) {
        PREFILL_TAKE(0)
        PREFILL_TAKE(1)
        PREFILL_TAKE(2)
        PREFILL_TAKE(3)
        PREFILL_TAKE(4)
        PREFILL_TAKE(5)
        PREFILL_TAKE(6)
    default:
        prefill_take<BLOCKS, PREFILL_WIDTH(BLOCKS) / PREFILL_BATCH - 1>(acc, s);
        break;
    }
}
#undef PREFILL_TAKE

/* From sums to gates and ups. */
template <int BLOCKS>
GPU_FN void prefill_operands(const prefill_end<BLOCKS> *e,
                             prefill_sums<BLOCKS> *s)
{
    const layer_gemm *const g = &e->a->g;

    if (e->a->is_plain) {
        GPU_UNROLL
        for (int i = 0; i < BLOCKS * PREFILL_BATCH / 2; i++) {
            const int k = i / (PREFILL_BATCH / 2);
            s->x[k][i % (PREFILL_BATCH / 2)] += e->bias[2 * k + i / 2 % 2];
        }
        return;
    }
    GPU_UNROLL
    for (int i = 0; i < BLOCKS * PREFILL_BATCH / 2; i++) {
        const int k = i / (PREFILL_BATCH / 2);
        float *const x = &s->x[k][i % (PREFILL_BATCH / 2)];
        *x = layer_finish(g, *x, e->bias[2 * k + i / 2 % 2], 0);
    }
}

/* All of a batch, without a branch between them. */
template <int BLOCKS, int MODE>
GPU_FN void prefill_act(const glu_args *u, const prefill_sums<BLOCKS> *s,
                        prefill_acts<BLOCKS> *to)
{
    GPU_UNROLL
    for (int i = 0; i < PREFILL_BATCH / 8; i++) {
        GPU_UNROLL
        for (int k = 0; k < BLOCKS; k++) {
            const float *const x = s->x[k] + 4 * i;
            const glu_two in[2] = {{x[0], x[2]}, {x[1], x[3]}};
            to->y[k][i] = glu_fast_pair(u, (int)u->from, GLU_BF16, MODE, in,
                                        &to->differ[k][i]);
        }
    }
}

template <int BLOCKS>
GPU_FN void prefill_act_any(const prefill_args *a,
                            const prefill_sums<BLOCKS> *s,
                            prefill_acts<BLOCKS> *to)
{
    if (a->glu_mode == GLU_EXACT) {
        prefill_act<BLOCKS, GLU_EXACT>(&a->glu, s, to);
    } else if (a->glu_mode == GLU_KEPT) {
        prefill_act<BLOCKS, GLU_KEPT>(&a->glu, s, to);
    } else {
        prefill_act<BLOCKS, GLU_STEPS>(&a->glu, s, to);
    }
}

/* Lists what is not known yet of the columns from `first` on. */
template <int BLOCKS>
GPU_FN void prefill_list(const prefill_end<BLOCKS> *e,
                         const prefill_sums<BLOCKS> *s,
                         const prefill_acts<BLOCKS> *y, uint32_t first,
                         prefill_lates<BLOCKS> *late)
{
    const uint32_t slow = e->a->glu_mode == LAYER_ACT_SLOW ? ~0u : 0;
    const uint32_t outputs =
        (uint32_t)(e->a->g.n / 2) - e->m * (PREFILL_ROWS / 2);
    uint32_t any = slow;

    GPU_UNROLL
    for (int i = 0; i < BLOCKS * PREFILL_BATCH / 8; i++) {
        any |= y->differ[i % BLOCKS][i / BLOCKS];
    }
    if (any == 0) {
        return;
    }
    GPU_UNROLL
    for (int i = 0; i < BLOCKS * PREFILL_BATCH / 4; i++) {
        const int k = i / 2 % BLOCKS, j = i / 2 / BLOCKS, c = i % 2;
        const uint32_t col =
            first + (uint32_t)(j * 8 + c) + threadIdx.x % 4 * 2;
        const uint32_t out = prefill_output<BLOCKS>(
            threadIdx.x / 32, (uint32_t)k, threadIdx.x % 32 / 4);
        if (((y->differ[k][j] | slow) >> 16 * c & 0xffffu) != 0 &&
            col < e->t.n && out < outputs) {
            late->x[late->n].g = s->x[k][4 * j + c];
            late->x[late->n].v = s->x[k][4 * j + 2 + c];
            late->x[late->n].at = col * PREFILL_ROWS + out;
            late->n++;
        }
    }
}

/* Word of the warp's eight or sixteen outputs of a column. */
template <int BLOCKS> GPU_FN uint32_t prefill_word(uint32_t col)
{
    return BLOCKS == 2 ? col / 8 * 72 + col % 8 * 8 + (col >> 2 & 1) * 8
                       : col * 4;
}

/* Activations of a batch meet. */
template <int BLOCKS>
GPU_FN void prefill_turn_acts(const prefill_end<BLOCKS> *e,
                              const prefill_acts<BLOCKS> *y)
{
    const uint32_t r = threadIdx.x % 32 / 4;
    const uint32_t outputs =
        (uint32_t)(e->a->g.n / 2) - e->m * (PREFILL_ROWS / 2);
    /* Word of a column. */
    uint32_t *const to =
        e->turned + (BLOCKS == 2 ? (r & 1) * 4 + (r >> 1) : r >> 1);

    GPU_UNROLL
    for (uint32_t i = 0; i < PREFILL_BATCH / 8; i++) {
        const uint32_t col = i * 8 + threadIdx.x % 4 * 2;
        uint32_t two[BLOCKS];

        GPU_UNROLL
        for (int k = 0; k < BLOCKS; k++) {
            const uint32_t out =
                prefill_output<BLOCKS>(threadIdx.x / 32, (uint32_t)k, r);
            two[k] = out < outputs ? y->y[k][i] : 0;
        }
        if (BLOCKS == 2) {
            to[prefill_word<BLOCKS>(col)] =
                __byte_perm(two[0], two[BLOCKS - 1], 0x5410);
            to[prefill_word<BLOCKS>(col + 1)] =
                __byte_perm(two[0], two[BLOCKS - 1], 0x7632);
        } else {
            const uint32_t other = __shfl_xor_sync(
                0xffffffffu, (r & 1) == 0 ? two[0] >> 16 : two[0], 4);
            to[prefill_word<BLOCKS>(col + (r & 1))] =
                (r & 1) == 0 ? __byte_perm(two[0], other, 0x5410)
                             : __byte_perm(other, two[0], 0x7610);
        }
    }
    warp_sync();
}

/* Where an output of a column goes: the next GEMM's activations, or a row. */
GPU_FN uint64_t prefill_place(const prefill_args *a, const prefill_turn *k,
                              uint32_t col, uint32_t out)
{
    const uint32_t at = k->m * (PREFILL_ROWS / 2) + out;

    return a->placed ? prefill_at(&k->t, a->y_pitch, col, at)
                     : k->pair[col] * a->y_pitch + at;
}

/* And leave: a lane has a column. */
template <int BLOCKS>
GPU_FN void prefill_store_acts(const prefill_end<BLOCKS> *e, uint32_t first)
{
    const prefill_args *const a = e->a;
    const uint32_t col = first + threadIdx.x % 32;
    const uint32_t outputs = (uint32_t)(a->g.n / 2) - e->m * (PREFILL_ROWS / 2);

    if (col >= e->t.n || threadIdx.x % 32 >= PREFILL_BATCH) {
        return;
    }
    GPU_UNROLL
    for (uint32_t i = 0; i < BLOCKS; i++) {
        const uint32_t out = prefill_output<BLOCKS>(threadIdx.x / 32, 0, i);
        const gpu_u128 v = gpu_cell_load_u8x16(
            e->turned + prefill_word<BLOCKS>(threadIdx.x % 32) + 4 * i);
        uint16_t *const to =
            (uint16_t *)a->g.y + prefill_place(a, e->known, col, out);

        if (a->placed) {
            gpu_store_u16x8(to, 0, v);
            continue;
        }
        GPU_UNROLL
        for (uint32_t k = 0; k < 8; k++) {
            const uint32_t more = k / 2 * 32 + k % 2 * 4;
            if (out + more < outputs) {
                to[more] = (uint16_t)(v.w[k / 2] >> 16 * (k % 2));
            }
        }
    }
}

/* Over what has left. */
template <int BLOCKS>
GPU_FN void prefill_catch_up(const prefill_args *a, prefill_lates<BLOCKS> *late)
{
    GPU_LOOP
    for (uint32_t i = 0; i < late->n; i++) {
        const prefill_late x = late->x[i];
        ((uint16_t *)a->g.y)[x.at] =
            (uint16_t)layer_act_again(&a->glu, a->glu_mode, x.g, x.v);
    }
    late->n = 0;
}

/* A thread's rows of a column. */
template <int BLOCKS>
GPU_FN void prefill_store_rows(const prefill_args *a, uint64_t at,
                               const float *y)
{
    uint32_t w[2 * BLOCKS];

    GPU_UNROLL
    for (int i = 0; i < 2 * BLOCKS; i++) {
        w[i] = y[i] != y[i] ? 0x7fc00000u : gpu_bits(y[i]);
    }
    if (a->g.out == LAYER_F32) {
        float *const to = (float *)a->g.y + at;
        GPU_UNROLL
        for (int i = 0; i < BLOCKS; i++) {
            gpu_store_u32x2(to, (uint64_t)i, w[2 * i], w[2 * i + 1]);
        }
        return;
    }
    uint16_t *const to = (uint16_t *)a->g.y + at;
    const uint32_t low = __byte_perm(w[0], w[1], 0x7632);
    if (BLOCKS == 2) {
        gpu_store_u32x2(
            to, 0, low,
            __byte_perm(w[2 * BLOCKS - 2], w[2 * BLOCKS - 1], 0x7632));
    } else {
        gpu_store_u16x2(to, 0, low);
    }
}

/* The same of sums that are rounded once; 0: one is not a number. */
template <int BLOCKS>
GPU_FN int prefill_store_plain(const prefill_args *a, uint64_t at,
                               const float *y)
{
    uint16_t *const to = (uint16_t *)a->g.y + at;
    const uint32_t low = gpu_round_bf16(y[0], y[1]);
    const float sum =
        BLOCKS == 2 ? (y[0] + y[1]) + (y[2 * BLOCKS - 2] + y[2 * BLOCKS - 1])
                    : y[0] + y[1];

    if (BLOCKS == 2) {
        gpu_store_u32x2(to, 0, low,
                        gpu_round_bf16(y[2 * BLOCKS - 2], y[2 * BLOCKS - 1]));
    } else {
        gpu_store_u16x2(to, 0, low);
    }
    return sum == sum;
}

/* Rows of a batch that a GEMM hands on, the long way. */
template <int BLOCKS>
GPU_FN void prefill_end_rows(const prefill_end<BLOCKS> *e,
                             const prefill_sums<BLOCKS> *s, uint32_t first,
                             uint32_t row)
{
    const prefill_args *const a = e->a;

    GPU_UNROLL
    for (uint32_t i = 0; i < PREFILL_BATCH / 4; i++) {
        const uint32_t col = first + i / 2 * 8 + threadIdx.x % 4 * 2 + i % 2;
        float y[2 * BLOCKS];

        if (col >= e->t.n) {
            continue;
        }
        const uint64_t pair = e->known->pair[col];
        GPU_UNROLL
        for (int k = 0; k < 2 * BLOCKS; k++) {
            const float sum = s->x[k / 2][i / 2 * 4 + k % 2 * 2 + i % 2];
            y[k] = layer_finish(&a->g, sum, e->bias[k], e->known->weight[col]);
        }
        prefill_store_rows<BLOCKS>(a, pair * a->y_pitch + row, y);
    }
}

template <int BLOCKS>
GPU_FN void prefill_rows_of(const prefill_end<BLOCKS> *e,
                            const prefill_sums<BLOCKS> *s, uint32_t first)
{
    const prefill_args *const a = e->a;
    const uint32_t row =
        e->m * PREFILL_ROWS +
        (threadIdx.x / 32 * 8 + threadIdx.x % 32 / 4) * (2 * BLOCKS);
    int done = a->is_plain;

    if (row >= a->g.n) {
        return;
    }
    GPU_UNROLL
    for (uint32_t i = 0; i < PREFILL_BATCH / 4; i++) {
        const uint32_t col = first + i / 2 * 8 + threadIdx.x % 4 * 2 + i % 2;
        const uint64_t pair = e->known->pair[col];
        const float weight = e->known->weight[col];
        float y[2 * BLOCKS];

        GPU_UNROLL
        for (int k = 0; k < 2 * BLOCKS; k++) {
            const float sum = s->x[k / 2][i / 2 * 4 + k % 2 * 2 + i % 2];
            y[k] = (sum + e->bias[k]) * weight;
        }
        if (col < e->t.n && a->is_plain) {
            done &= prefill_store_plain<BLOCKS>(a, pair * a->y_pitch + row, y);
        }
    }
    if (!done) {
        prefill_end_rows<BLOCKS>(e, s, first, row);
    }
}

template <int BLOCKS>
GPU_FN void prefill_finish(const prefill_end<BLOCKS> *e, const float *acc,
                           prefill_lates<BLOCKS> *late)
{
    const uint32_t before = late->n;

    GPU_LOOP
    for (uint32_t first = 0; first < e->t.n; first += PREFILL_BATCH) {
        prefill_sums<BLOCKS> s;
        prefill_acts<BLOCKS> y;

        prefill_take_any<BLOCKS>(acc, first / PREFILL_BATCH, &s);
        if (!e->a->is_glu) {
            prefill_rows_of<BLOCKS>(e, &s, first);
            continue;
        }
        prefill_operands<BLOCKS>(e, &s);
        prefill_act_any<BLOCKS>(e->a, &s, &y);
        prefill_list<BLOCKS>(e, &s, &y, first, late);
        prefill_turn_acts<BLOCKS>(e, &y);
        prefill_store_acts<BLOCKS>(e, first);
        warp_sync();
    }
    GPU_LOOP
    for (uint32_t i = before; i < late->n; i++) {
        const uint32_t at = (uint32_t)late->x[i].at;
        late->x[i].at =
            prefill_place(e->a, e->known, at / PREFILL_ROWS, at % PREFILL_ROWS);
    }
}
#endif

#endif
