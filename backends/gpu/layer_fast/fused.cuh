/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer's GEMMs on Hopper's tensor cores.  Weights are the 64 rows of a
 * wgmma and come from registers, where E2M1 becomes BF16; an expert's tokens
 * are its columns and come from shared memory.  So few tokens cost few
 * columns.  More than 8 pairs of an expert are prefill.cuh's.
 *
 * A thread of a wgmma has two neighbours of k in either half of 16, for two
 * rows.  Here it takes a whole block of 32 of both: 16 bytes and one scale.
 * Its eight steps then meet k in an order that activations are stored in
 * beforehand (layer_place()): any order does, if both sides have the same.
 *
 * Codes become BF16 numbers times 2^-126, subnormals included; the scale times
 * 2^126 is one exact multiplication.
 *
 * The second GEMM's blocks start while the first's end, and fetch weights.
 */
#ifndef GPU_FUSED_CUH
#define GPU_FUSED_CUH

#include "layer/layer.h"
#include "layer_fast/fused_mma.cuh"
#include "ops/dequant.h"
#include "ops/glu.h"
#include "port/device.h"

enum {
    FUSED_CHUNK = 128, /* of k */
    FUSED_ROWS = 64,   /* of weights, for a warpgroup */
    FUSED_LANES = 128, /* of a warpgroup */
    FUSED_COLUMNS = 32 /* of a tile, at most */
};

/* A stretch of an expert's pairs that one launch's column of blocks takes. */
typedef struct fused_tile {
    uint32_t expert;
    uint32_t first; /* in the list of pairs */
    uint32_t n;
} fused_tile;

/* Pairs by expert, and the tiles; all in scratch. */
typedef struct fused_routes {
    uint32_t *n_tiles;
    fused_tile *tiles;
    uint32_t *list;
} fused_routes;

typedef struct fused_args {
    layer_pairs p;
    layer_gemm g; /* g.a in the order that layer_place() says, whole chunks */
    glu_args glu;
    fused_routes routes;
    uint64_t y_pitch;
    uint32_t glu_mode; /* of layer_act_two() */
    uint32_t is_first; /* behind the launch that made the routes */
    uint32_t halves;   /* gate rows first, then up rows */
    uint32_t placed;   /* the result is the next GEMM's activations */
    uint32_t m_tiles;
} fused_args;

/* Sizes of a kernel: a warpgroup, N columns, so many stages. */
template <int N> struct fused_shape {
    static constexpr int threads = FUSED_LANES;
    static constexpr int rows = FUSED_ROWS;
    static constexpr int b_bytes = N * FUSED_CHUNK * 2;
    static constexpr int stage = b_bytes + rows * FUSED_CHUNK / 2;
    static constexpr int room = 33000;
    static constexpr int fit = room / stage;
    static constexpr int stages = fit > 8 ? 8 : fit < 3 ? 3 : fit;
    static constexpr int bytes = stages * stage;
};

#if defined(GPU_IS_SM90A)

#include "fused_mma.cuh"

GPU_FN uint32_t fused_shared(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* 16 bytes, or zeros.  L2 fetches whole lines: a row's 64 bytes of a chunk are
   half a line, and memory is slower by halves. */
GPU_FN void fused_copy(uint32_t to, const void *from, int is_there)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
                 :
                 : "r"(to), "l"(from), "r"(is_there ? 16 : 0)
                 : "memory");
}

GPU_FN void fused_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Everything of the launches before this one is there; the next may come. */
GPU_FN void fused_after(void)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

GPU_FN void fused_before(void)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

template <int N> GPU_FN void fused_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/* A matrix of 64 columns in rows of 128 bytes, swizzled by 128. */
GPU_FN uint64_t fused_matrix(uint32_t at)
{
    return (uint64_t)(at >> 4 & 0x3fff) | (uint64_t)1 << 16 |
           (uint64_t)64 << 32 | (uint64_t)1 << 62;
}

GPU_FN uint32_t fused_times(uint32_t x, uint32_t y)
{
    uint32_t z;

    asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));
    return z;
}

/*
 * A scale byte as a factor, twice: 2^(byte - 1 - shift).  2^(byte - 1) is too
 * large for BF16 beyond byte 128; a block that has such bytes shifts all of
 * its own and multiplies its sums by 2^shift.  Byte 255 never gets here.
 */
GPU_FN uint32_t fused_factor(uint32_t byte, uint32_t bias, uint32_t zero)
{
    return byte == 0 ? zero : (byte + bias) * 0x800080u;
}

/* Eight codes as the weights of layer_spread()'s pairs. */
GPU_FN void fused_widen(uint32_t laid, uint32_t codes, uint32_t factor,
                        uint32_t *y)
{
    layer_spread_of(laid, codes, y);
    GPU_UNROLL
    for (int i = 0; i < 4; i++) {
        y[i] = fused_times(y[i], factor);
    }
}

/* State of a block for its tile. */
typedef struct fused_block {
    const fused_args *a;
    uint8_t *stages; /* shared, then scales, then rows of activations */
    uint8_t *scales;
    uint32_t *pairs;
    uint32_t *rows; /* of activations, in units of 16 bytes */
    float *weights; /* of routing: fetched here, where nothing waits for them */
    uint64_t w;     /* first row of the expert's weights */
    uint32_t base;  /* first row of the block; of gates if there is a glu */
    uint32_t n;     /* columns that are there */
    uint32_t blocks; /* of 32 in a row */
    uint32_t shift;  /* of all scales */
    uint32_t at;     /* of the stages, for copies */
} fused_block;

/*
 * Row of w, from the expert's first, that row r of the block is.  With an
 * activation every 16 rows are 8 gates and their 8 ups, so that a thread has
 * both of an output.
 */
template <bool GLU, int ROWS>
GPU_FN uint32_t fused_row(const fused_block *b, uint32_t r)
{
    if (!GLU) {
        return b->base + r;
    }
    const uint32_t gate = b->base + (r >> 4) * 8 + (r & 7);
    const uint32_t up = r >> 3 & 1;

    return b->a->halves ? gate + up * (uint32_t)(b->a->g.n / 2) : 2 * gate + up;
}

/* The same row among the block's scales. */
template <bool GLU, int ROWS>
GPU_FN uint32_t fused_scale_row(const fused_block *b, uint32_t r)
{
    const uint32_t gate = (r >> 4) * 8 + (r & 7);
    const uint32_t up = r >> 3 & 1;

    return !GLU ? r : b->a->halves ? gate + up * (ROWS / 2) : 2 * gate + up;
}

template <bool GLU> GPU_FN int fused_is_row(const fused_block *b, uint32_t r)
{
    const uint32_t half = GLU ? (r >> 4) * 8 + (r & 7) : r;

    return b->base + half < (GLU ? b->a->g.n / 2 : b->a->g.n);
}

/* The scales of the block's rows: one stretch, or one of gates, one of ups. */
template <bool GLU> GPU_FN void fused_load_scales(const fused_block *b)
{
    const int rows = FUSED_ROWS;
    const layer_gemm *const g = &b->a->g;
    const int parts = GLU && b->a->halves ? 2 : 1;
    const uint32_t per = (uint32_t)(rows / parts) * b->blocks;
    const uint32_t first = GLU && parts == 1 ? 2 * b->base : b->base;
    const uint64_t end = (g->n / parts - first) * b->blocks;

    for (int part = 0; part < parts; part++) {
        const uint8_t *const from =
            g->scale + (b->w + first + part * (g->n / 2)) * b->blocks;
        for (uint32_t i = 16 * threadIdx.x; i < per; i += 16 * FUSED_LANES) {
            const int is_there = i < end;
            fused_copy(fused_shared(b->scales + part * per + i),
                       is_there ? from + i : g->scale, is_there);
        }
    }
}

/* Sources of a thread's copies in every chunk, if they exist.  Few rows of
   activations have their addresses in registers. */
enum { FUSED_HELD = 4 };

typedef struct fused_source {
    const uint8_t *w[2];
    const uint8_t *acts[FUSED_HELD];
    uint32_t k; /* block of 32 within the chunk */
    int has[2];
} fused_source;

/* Row of activations that a thread's piece n belongs to. */
GPU_FN uint32_t fused_act_row(int n)
{
    return threadIdx.x / 16 + (uint32_t)n * (FUSED_LANES / 16);
}

GPU_FN const uint8_t *fused_act(const fused_block *b, int n)
{
    return (const uint8_t *)b->a->g.a + threadIdx.x % 16 * 16 +
           (uint64_t)b->rows[fused_act_row(n)] * 16;
}

template <bool GLU> GPU_FN fused_source fused_source_of(const fused_block *b)
{
    const int rows = FUSED_ROWS;
    const layer_gemm *const g = &b->a->g;
    fused_source s;

    s.k = threadIdx.x % 4;
    GPU_UNROLL
    for (int n = 0; n < FUSED_HELD; n++) {
        s.acts[n] = fused_act(b, n);
    }
    GPU_UNROLL
    for (int n = 0; n < 2; n++) {
        const uint32_t r = threadIdx.x / 4 + (uint32_t)n * (rows / 2);
        const uint64_t row = b->w + fused_row<GLU, rows>(b, r);
        s.has[n] = fused_is_row<GLU>(b, r);
        s.w[n] = g->w + (s.has[n] ? row * (g->k / 2) + s.k * 16 : 0);
    }
    return s;
}

/* Chunk c of the weights into a stage. */
template <int N>
GPU_FN void fused_load_weights(const fused_block *b, const fused_source *s,
                               uint32_t c, uint32_t stage)
{
    typedef fused_shape<N> shape;
    const uint32_t to =
        b->at + stage * shape::stage + shape::b_bytes + threadIdx.x * 16;
    const int has = c * 4 + s->k < b->blocks;

    fused_copy(to, s->w[0] + c * 64, has && s->has[0]);
    fused_copy(to + shape::threads * 16, s->w[1] + c * 64, has && s->has[1]);
}

/* Chunk c of the activations: 16 threads for the 256 bytes of a row. */
template <int N>
GPU_FN void fused_load_acts(const fused_block *b, const fused_source *s,
                            uint32_t c, uint32_t stage)
{
    typedef fused_shape<N> shape;
    const int pieces = N * 16 / shape::threads;
    const uint32_t r = threadIdx.x / 16;
    const uint32_t at = (threadIdx.x ^ r) % 8;
    const uint32_t to = b->at + stage * shape::stage +
                        threadIdx.x / 8 % 2 * (N * 128) + r * 128 + at * 16;

    GPU_UNROLL
    for (int n = 0; n < pieces; n++) {
        const uint8_t *const from =
            pieces <= FUSED_HELD ? s->acts[n % FUSED_HELD] : fused_act(b, n);
        fused_copy(to + (uint32_t)n * (shape::threads * 8), from + c * 256,
                   fused_act_row(n) < b->n);
    }
}

/* A thread's blocks of its two rows in a chunk, and their factors. */
typedef struct fused_codes {
    uint32_t w[2][4];
    uint32_t factor[2];
} fused_codes;

/* Scales that a thread reads of every chunk, and their encoding. */
typedef struct fused_reader {
    const uint8_t *scale[2];
    uint32_t w; /* first of its bytes in a stage */
    uint32_t bias;
    uint32_t zero;
} fused_reader;

template <bool GLU> GPU_FN fused_reader fused_reader_of(const fused_block *b)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t row = threadIdx.x / 32 * 16 + lane / 4;
    fused_reader r;

    GPU_UNROLL
    for (int i = 0; i < 2; i++) {
        const uint32_t s =
            fused_scale_row<GLU, FUSED_ROWS>(b, row + 8 * (uint32_t)i);
        r.scale[i] = b->scales + s * b->blocks + lane % 4;
    }
    r.w = row * 64 + lane % 4 * 16;
    r.bias = 126 - b->shift;
    r.zero = (b->a->g.rule & DEQUANT_ZERO) != 0 ? 0 : r.bias * 0x800080u;
    return r;
}

GPU_FN fused_codes fused_fetch(const fused_reader *r, const uint8_t *w,
                               uint32_t c)
{
    fused_codes x;

    GPU_UNROLL
    for (int i = 0; i < 2; i++) {
        const uint4 v = *(const uint4 *)(w + r->w + i * 512);

        x.w[i][0] = v.x;
        x.w[i][1] = v.y;
        x.w[i][2] = v.z;
        x.w[i][3] = v.w;
        x.factor[i] = fused_factor(r->scale[i][c * 4], r->bias, r->zero);
    }
    return x;
}

/* A word of a thread's two blocks as operands of two steps of 16. */
typedef struct fused_word {
    uint32_t even[4], odd[4];
} fused_word;

template <uint32_t LAID>
GPU_FN fused_word fused_word_of(const fused_codes *x, int i)
{
    uint32_t low[4], high[4];

    fused_widen(LAID, x->w[0][i], x->factor[0], low);
    fused_widen(LAID, x->w[1][i], x->factor[1], high);
    const fused_word w = {{low[0], high[0], low[1], high[1]},
                          {low[2], high[2], low[3], high[3]}};

    return w;
}

/* Eight steps of 16: two for each word of a thread's blocks.  The chunk before
   is still being multiplied while the first word is made. */
template <uint32_t LAID, int N>
GPU_FN void fused_chunk(float (&acc)[N / 2], const fused_codes *x, uint32_t b)
{
    const uint64_t first = fused_matrix(b);
    const fused_word begin = fused_word_of<LAID>(x, 0);

    fused_done();
    GPU_UNROLL
    for (int i = 0; i < 4; i++) {
        const fused_word w = i == 0 ? begin : fused_word_of<LAID>(x, i);
        /* Addresses count 16 bytes and do not carry. */
        const uint64_t at = first + (uint64_t)(i / 2 * (N * 8) + i % 2 * 4);

        fused_fence();
        fused_mma(acc, w.even, at);
        fused_mma(acc, w.odd, at + 2);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    }
}

/*
 * The block's scales have arrived: does one exceed what factors can hold?
 * Returns whether sums must be done without tensor cores: a byte whose weights
 * BF16 cannot hold, or one far below another above 128.
 */
GPU_FN int fused_range(fused_block *b)
{
    __shared__ uint32_t low, high;
    const uint32_t n = FUSED_ROWS * b->blocks / 4;
    const uint32_t *const word = (const uint32_t *)b->scales;
    uint32_t above = 0;

    b->shift = 0;
    for (uint32_t i = threadIdx.x; i < n; i += FUSED_LANES) {
        /* 128 borrows nothing from 129. */
        above |=
            word[i] & 0x80808080u & ((word[i] & 0x7f7f7f7fu) + 0x7f7f7f7fu);
    }
    if (!__syncthreads_or((int)above)) {
        return 0;
    }
    low = 255;
    high = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 4 * n; i += FUSED_LANES) {
        atomicMin(&low, (uint32_t)b->scales[i]);
        atomicMax(&high, (uint32_t)b->scales[i]);
    }
    __syncthreads();
    b->shift = high > 128 && high <= 192 ? high - 128 : 0;
    return high > 192 || (high > 128 && low < 64);
}

/* The tile's first stages; activations after the GEMM before has ended. */
template <bool GLU, int N>
GPU_FN void fused_start(const fused_block *b, const fused_source *s,
                        uint32_t chunks)
{
    typedef fused_shape<N> shape;

    fused_load_scales<GLU>(b);
    for (uint32_t c = 0; c < shape::stages - 1 && c < chunks; c++) {
        fused_load_weights<N>(b, s, c, c);
    }
    fused_after();
    for (uint32_t c = 0; c < shape::stages - 1; c++) {
        if (c < chunks) {
            fused_load_acts<N>(b, s, c, c);
        }
        fused_commit();
    }
}

/* All of k.  Returns whether that was in vain. */
template <bool GLU, int N>
GPU_FN int fused_multiply(fused_block *b, float (&acc)[N / 2])
{
    typedef fused_shape<N> shape;
    const uint32_t chunks = (uint32_t)(b->a->g.pitch / FUSED_CHUNK);
    const fused_source s = fused_source_of<GLU>(b);
    uint32_t stage = 0;

    fused_start<GLU, N>(b, &s, chunks);
    fused_wait<shape::stages - 2>();
    __syncthreads();
    const int in_vain = fused_range(b);
    const fused_reader r = fused_reader_of<GLU>(b);
    GPU_LOOP
    for (uint32_t c = 0; c < chunks; c++) {
        fused_wait<shape::stages - 2>();
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        const uint32_t at = stage * shape::stage;
        const fused_codes x =
            fused_fetch(&r, b->stages + at + shape::b_bytes, c);
        if (b->a->g.laid == LAYER_LAID_HOPPER) {
            fused_chunk<LAYER_LAID_HOPPER, N>(acc, &x, b->at + at);
        } else {
            fused_chunk<LAYER_LAID_PLAIN, N>(acc, &x, b->at + at);
        }
        /* All have done with the chunk before: the next may have its stage. */
        __syncthreads();
        const uint32_t next = c + shape::stages - 1;
        if (next < chunks) {
            const uint32_t free = stage == 0 ? shape::stages - 1 : stage - 1;
            fused_load_weights<N>(b, &s, next, free);
            fused_load_acts<N>(b, &s, next, free);
        }
        fused_commit();
        stage = stage + 1 == shape::stages ? 0 : stage + 1;
    }
    fused_done();
    if (b->shift != 0) {
        const float by = gpu_float((127 + b->shift) << 23);
        GPU_UNROLL
        for (int i = 0; i < N / 2; i++) {
            acc[i] *= by;
        }
    }
    return in_vain;
}
#endif

#endif
