/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops that exist once per instruction set.  Files that implement
 * them are compiled with that set's flags and therefore share nothing with
 * the rest but this table and scalar helpers compiled without the flags.
 */
#ifndef CPU_LANE_H
#define CPU_LANE_H

#include "act/act.h"
#include "gemm/gemm_slice.h"
#include "layout/vector_transpose.h"
#include "quant/quant.h"

#include <stdint.h>

/* Inner loops are written once and folded per format: only if they are really
   inlined do formats become constants. */
#if defined(__GNUC__)
#define CPU_INLINE static inline __attribute__((always_inline))
#define CPU_PREFETCH(address) __builtin_prefetch(address)
#define CPU_FETCH_L2(address) __builtin_prefetch(address, 0, 2)
#else
#define CPU_INLINE static inline
#define CPU_PREFETCH(address) ((void)(address))
#define CPU_FETCH_L2(address) ((void)(address))
#endif

/* Outputs of this size and more do not stay in a cache anyway. */
#define CPU_STREAM_BYTES ((uint64_t)8 << 20)

/*
 * Values of the 16 codes under each of the 256 scale bytes.
 * row: [scale][code] as 16- or 32-bit patterns; plane: [scale][byte][code],
 * the same patterns cut into bytes, for byte-shuffling instruction sets.
 */
typedef struct cpu_table4 {
    _Alignas(64) union {
        uint16_t row16[256][16];
        uint32_t row32[256][16];
        uint8_t plane16[256][2][16];
        uint8_t plane32[256][4][16];
    } u;
} cpu_table4;

/* One stretch of MXFP4 blocks to widen. */
typedef struct cpu_dequant4 {
    const cpu_table4 *table;
    const uint8_t *q;
    const uint8_t *scale;
    uint8_t *y;
    uint64_t blocks;
    int stream; /* write around the caches: y is not read again soon */
} cpu_dequant4;

/* Streaming stores need whole cache lines. */
static inline int cpu_may_stream(const cpu_dequant4 *job)
{
    return job->stream && (uintptr_t)job->y % 64 == 0;
}

typedef enum cpu_rounding { CPU_TO_F32, CPU_TO_BF16, CPU_TO_F16 } cpu_rounding;

/* What follows 16 sums of a row: a factor, biases, roundings; then, if it
   weighs, a routing weight, after which no result is looked at twice. */
typedef struct cpu_settle {
    float factor;
    int adds;
    cpu_rounding to;
    int adds_rounded; /* bias behind the rounding, and rounds again */
    int weighs;
    float weight;
    cpu_rounding weighed_to;
} cpu_settle;

typedef struct cpu_isa_ops {
    const char *isa;
    int planes; /* table4 is wanted in planes */
    void (*dequant4_16)(const cpu_dequant4 *job);
    void (*dequant4_32)(const cpu_dequant4 *job);
    void (*quant)(const cpu_quant_span *span);

    /* n is a multiple of 16, at most CPU_RUN.  The result is the number of
       indices put into hard: results there are not decided.  code has room for
       a multiple of 32. */
    uint32_t (*glu16)(const cpu_glu *c, const cpu_glu_operands *x, uint32_t n,
                      uint16_t *code, uint16_t *hard);
    uint32_t (*glu32)(const cpu_glu *c, const float *gate, const float *up,
                      uint32_t n, float *y, uint16_t *hard);
    uint32_t (*exp32)(const float *x, uint32_t n, float *y, uint16_t *hard);

    /* F32, BF16 or F16 to float, any n; widen2 parts pairs. */
    void (*widen)(uint32_t dtype, const uint8_t *src, uint32_t n, float *dst);
    void (*widen2)(uint32_t dtype, const uint8_t *src, uint32_t n, float *even,
                   float *odd);

    /* Layouts; n_bytes is a multiple of 8.  swap_bits exchanges the bits of x
       whose index has bit number bit set with their partners in y whose index
       has not.  mix_bits moves, in each 64 bits, what mask[i] receives by
       shift[i], left if positive. */
    void (*swap_bits)(uint8_t *x, uint8_t *y, uint64_t n_bytes, uint32_t bit);
    void (*mix_bits)(uint8_t *x, uint64_t n_bytes, int n, const int8_t *shift,
                     const uint64_t *mask);
    /* NULL: this lane has no such loop. */
    void (*transpose)(const cpu_transpose *job);

    /* Columns of E2M1 codes against slices of rows, and their factors. */
    cpu_mac_fn mac;
    cpu_scales_fn scales;
    /* y of 16 sums before the weight; the result has a bit for each sum whose
       weighed result differs at sum - off and sum + off.  NULL: none. */
    unsigned (*settle)(const cpu_settle *job, const float *bias,
                       const double *sum, const double *off, float *y);

    /* Copy whole cache lines around the caches; NULL if there is no such
       store. fence() after the last one. */
    void (*stream)(uint8_t *dst, const void *src, uint64_t n_bytes);
    void (*fence)(void);
} cpu_isa_ops;

/* The portable widen and widen2, for what does not fill a vector. */
void cpu_widen(uint32_t dtype, const uint8_t *src, uint32_t n, float *dst);
void cpu_widen2(uint32_t dtype, const uint8_t *src, uint32_t n, float *even,
                float *odd);

/* The portable layout loops, for what does not fill a vector. */
void cpu_swap_bits(uint8_t *x, uint8_t *y, uint64_t n_bytes, uint32_t bit);
void cpu_mix_bits(uint8_t *x, uint64_t n_bytes, int n, const int8_t *shift,
                  const uint64_t *mask);
/* The portable block products, and a faster loop for one of the lanes. */
void cpu_mac_portable(const cpu_mac *job);
void cpu_scales_portable(cpu_scales *job);
void cpu_mac_vnni(const cpu_mac *job);
void cpu_mac_both(const cpu_mac *job);
/* The best loop that this CPU has for a lane. */
cpu_mac_fn cpu_mac_of(const cpu_isa_ops *lane);

/* A mac's blocks that have items.  The next call's data is prefetched, one
   block's lines at a time. */
CPU_INLINE void cpu_mac_blocks(const cpu_mac *job,
                               void (*block)(const cpu_mac *job, size_t b))
{
    for (size_t b = 0; b < job->blocks; b++) {
        for (size_t line = 4 * b; job->next != NULL && line < 4 * b + 4;
             line++) {
            CPU_PREFETCH(job->next + 64 * line);
        }
        if (job->start[b] != job->start[b + 1]) {
            block(job, b);
        }
    }
}
/* NULL: by slices. */
int cpu_plane_avx2(cpu_plane_mac *job);
void cpu_plane_join_avx2(const cpu_plane_join *job, double *y, double *off);
unsigned cpu_settle_avx2(const cpu_settle *e, const float *bias,
                         const double *sum, const double *off, float *y);
int cpu_plane_both(cpu_plane_mac *job);
int cpu_plane_amx(cpu_plane_mac *job);
size_t cpu_plane_packed_amx(size_t items, size_t k);
void cpu_plane_pack_amx(const cpu_plane_item *item, size_t items, size_t k,
                        int8_t *to);
/* Reads the ends of the columns' scale bytes; are they as they have to be? */
int cpu_plane_ends(cpu_plane_mac *job);
void cpu_plane_put_avx2(cpu_plane *group, int n, const int64_t *v);
uint16_t cpu_plane_place_avx2(size_t i);
void cpu_plane_put_both(cpu_plane *group, int n, const int64_t *v);
const cpu_plane_lane *cpu_plane_of(const cpu_isa_ops *lane);
/* Bits of 64 whose index has bit number bit clear. */
uint64_t cpu_low_mask(uint32_t bit);

extern const cpu_isa_ops cpu_isa_portable;
#if defined(__x86_64__)
extern const cpu_isa_ops cpu_isa_avx2;
extern const cpu_isa_ops cpu_isa_avx512;
extern const cpu_isa_ops cpu_isa_avx512vbmi;
extern const cpu_isa_ops cpu_isa_amx;
void cpu_transpose_vbmi(const cpu_transpose *w);
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define CPU_NEON 1
extern const cpu_isa_ops cpu_isa_neon;
#endif

#endif
