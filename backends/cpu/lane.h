/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops that exist once per instruction set.  Files that implement
 * them are compiled with that set's flags and therefore share nothing with
 * the rest but this table and scalar helpers compiled without the flags.
 */
#ifndef CPU_LANE_H
#define CPU_LANE_H

#include "quant.h"

#include <stdint.h>

/*
 * What each of the 16 codes becomes under each of the 256 scale bytes.
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

typedef struct cpu_lane {
    const char *isa;
    int planes; /* table4 is wanted in planes */
    void (*dequant4_16)(const cpu_dequant4 *job);
    void (*dequant4_32)(const cpu_dequant4 *job);
    void (*quant)(const cpu_quant_span *span);
} cpu_lane;

extern const cpu_lane cpu_lane_portable;
#if defined(__x86_64__)
extern const cpu_lane cpu_lane_avx2;
extern const cpu_lane cpu_lane_avx512;
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define CPU_NEON 1
extern const cpu_lane cpu_lane_neon;
#endif

#endif
