/* SPDX-License-Identifier: Apache-2.0 */
/* The names of decode_gpu.inc on a CPU; simt_crowd.inc keeps the state.  Warps
   are fewer, because lanes take turns. */
enum {
    DECODE_ENDS = 4,
    DECODE_TEAM = 2,
    DECODE_TEAMS = 2,
    ALONE_ENDS = 3,
    ALONE_TEAM = 2,
    ALONE_TEAMS = 2,
    ALONE_CARRIERS = 2
};

typedef struct decode_gate {
    uint32_t parity;
    uint32_t due, arrivals; /* of a phase: left, in all */
    uint32_t bytes;         /* announced and not copied */
} decode_gate;

GPU_FN uint8_t *decode_memory(void);
GPU_FN void decode_await(decode_gate *g, uint32_t parity);
GPU_FN void decode_mma(float *d, const uint32_t *a, const uint32_t *b);
GPU_FN void decode_sync_warp(void);
GPU_FN uint32_t decode_ballot(int claim);
GPU_FN void decode_meet(uint32_t name, uint32_t n);

GPU_FN void decode_gate_set(decode_gate *g, uint32_t n)
{
    const decode_gate fresh = {0, n, n, 0};

    *g = fresh;
}

GPU_FN void decode_gate_turn(decode_gate *g)
{
    if (g->due == 0 && g->bytes == 0) {
        g->parity ^= 1;
        g->due = g->arrivals;
    }
}

GPU_FN void decode_arrive(decode_gate *g)
{
    g->due--;
    decode_gate_turn(g);
}

GPU_FN void decode_expect(decode_gate *g, uint32_t bytes)
{
    g->bytes += bytes;
}

GPU_FN void decode_announce(decode_gate *g, uint32_t bytes)
{
    g->bytes += bytes;
    decode_arrive(g);
}

GPU_FN void decode_copy(void *to, const void *from, uint32_t bytes,
                        decode_gate *g)
{
    simt_check_aligned(to, 16);
    simt_check_aligned(from, 16);
    memcpy(to, from, bytes);
    g->bytes -= bytes;
    decode_gate_turn(g);
}

GPU_FN uint32_t decode_times(uint32_t x, uint32_t y)
{
    return gpu_round_bf16(gpu_float(x << 16) * gpu_float(y << 16),
                          gpu_float(x & 0xffff0000u) *
                              gpu_float(y & 0xffff0000u));
}

GPU_FN void gpu_cell_store_f32x2(float *p, float x, float y)
{
    p[0] = x;
    p[1] = y;
}

GPU_FN uint32_t decode_most_u32(uint32_t x, uint32_t y, uint32_t z)
{
    const uint32_t most = x > y ? x : y;

    return most > z ? most : z;
}

GPU_FN uint32_t decode_most_u16x2(uint32_t x, uint32_t y, uint32_t z)
{
    return decode_most_u32(x & 0xffffu, y & 0xffffu, z & 0xffffu) |
           decode_most_u32(x >> 16, y >> 16, z >> 16) << 16;
}

GPU_FN void decode_load_if(uint32_t claims, const gpu_u128 *p, gpu_u128 *x)
{
    if (claims) {
        *x = gpu_cell_load_u8x16(p);
    }
}

GPU_FN void decode_mma_first(float *d, const uint32_t *a, const uint32_t *b)
{
    d[0] = 0;
    d[1] = 0;
    d[2] = 0;
    d[3] = 0;
    decode_mma(d, a, b);
}

#define decode_keep(x) (x)
#define decode_ones(x) ((uint32_t)__builtin_popcount(x))
#define decode_fresh_u16x8(p) gpu_load_u16x8((p), 0)
#define decode_fresh_u16 gpu_load_u16
#define decode_fresh_u32 gpu_load_u32
#define decode_tell_u16 gpu_store_u16
#define decode_tell_u32 gpu_store_u32
#define decode_must_wait(lacks) (decode_ballot(lacks) != 0)
#define decode_prefetch(p) ((void)(p))
#define decode_gates_ready() ((void)0)
#define decode_reread() ((void)0)
