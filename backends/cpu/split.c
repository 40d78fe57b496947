/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads, instruction sets and kernel names.  Threads only ever take
 * disjoint ranges of outputs, so their number cannot change a bit.
 */
#include "cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(MXO_HAS_AMX)
#include <sys/syscall.h>
#include <unistd.h>

/* Of arch_prctl(2): ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA. */
enum { ARCH_REQUEST_STATE = 0x1023, STATE_TILES = 18 };
#endif
#include <stdio.h>
#ifdef _OPENMP
#include <omp.h>
#endif

int cpu_threads(const cpu_context *ctx, uint64_t items, uint64_t grain)
{
#ifdef _OPENMP
    const uint64_t chunks = items / grain + (items % grain != 0);
    const int all = omp_get_num_procs();
    const int want = ctx->n_threads > 0 ? ctx->n_threads : all;

    return chunks == 0 ? 1 : chunks < (uint64_t)want ? (int)chunks : want;
#else
    (void)ctx;
    (void)items;
    (void)grain;
    return 1;
#endif
}

void cpu_split(cpu_context *ctx, uint64_t items, uint64_t grain, cpu_span span,
               void *job)
{
    if (items == 0) {
        return; /* a span divides by extents of what there is */
    }
    const int n = cpu_threads(ctx, items, grain);
    const uint64_t chunks = items / grain + (items % grain != 0);
    const uint64_t share =
        (chunks / (uint64_t)n + (chunks % (uint64_t)n != 0)) * grain;

    if (n == 1) {
        span(job, 0, items);
        return;
    }
#ifdef _OPENMP
#pragma omp parallel for schedule(static, 1) num_threads(n)
#endif
    for (int i = 0; i < n; i++) {
        const uint64_t begin = share * (uint64_t)i;
        const uint64_t end = begin + share < items ? begin + share : items;

        if (begin < end) {
            span(job, begin, end);
        }
    }
}

void cpu_each(cpu_context *ctx, uint64_t items, cpu_span span, void *job)
{
#ifdef _OPENMP
    const int n = cpu_threads(ctx, items, 1);

    if (n > 1 && items <= INT64_MAX) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(n)
        for (int64_t i = 0; i < (int64_t)items; i++) {
            span(job, (uint64_t)i, (uint64_t)i + 1);
        }
        return;
    }
#else
    (void)ctx;
#endif
    span(job, 0, items);
}

void cpu_set_flag(int *flag)
{
#ifdef _OPENMP
#pragma omp atomic write
#endif
    *flag = 1;
}

void cpu_name_kernel(cpu_context *ctx, const char *what, int threads)
{
    (void)snprintf(ctx->kernel, sizeof ctx->kernel, "%s_%s x%d", what,
                   ctx->lane->isa, threads);
}

typedef struct lane_row {
    int device;
    const char *needs;
    const cpu_isa_ops *lane;
    int present;
} lane_row;

#if defined(__x86_64__)
/* clang 14's __builtin_cpu_supports does not know this name. */
static int has_f16c(void)
{
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;

    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
}

static int has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           has_f16c();
}

static int has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

static int has_avx512vbmi(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("gfni");
}

/* Leaf 7's bits of AMX, which clang 14 does not know by name; and the kernel
   lets a process use tiles that asks for them. */
static int has_amx(void)
{
#if defined(MXO_HAS_AMX)
    const unsigned tile_and_int8 = 3u << 24;
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;

    return has_avx512vbmi() && __builtin_cpu_supports("avx512vnni") &&
           __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) &&
           (edx & tile_and_int8) == tile_and_int8 &&
           syscall(SYS_arch_prctl, ARCH_REQUEST_STATE, STATE_TILES) == 0;
#else
    return 0;
#endif
}
#endif

cpu_mac_fn cpu_mac_of(const cpu_isa_ops *lane)
{
#if defined(__x86_64__)
    if (lane->mac == cpu_isa_avx512.mac &&
        __builtin_cpu_supports("avx512vnni")) {
        return lane == &cpu_isa_avx512 ? cpu_mac_vnni : cpu_mac_both;
    }
#endif
    return lane->mac;
}

const cpu_plane_lane *cpu_plane_of(const cpu_isa_ops *lane)
{
#if defined(__x86_64__)
    static const cpu_plane_lane both = {cpu_plane_put_both,
                                        cpu_plane_both,
                                        NULL,
                                        NULL,
                                        cpu_plane_join_avx2,
                                        NULL};
    static const cpu_plane_lane avx2 = {
        cpu_plane_put_avx2,  cpu_plane_avx2,      NULL, NULL,
        cpu_plane_join_avx2, cpu_plane_place_avx2};

#if defined(MXO_HAS_AMX)
    static const cpu_plane_lane amx = {
        cpu_plane_put_both,   cpu_plane_amx,       cpu_plane_pack_amx,
        cpu_plane_packed_amx, cpu_plane_join_avx2, NULL};

    if (lane == &cpu_isa_amx) {
        return &amx;
    }
#endif
    if (lane == &cpu_isa_avx512vbmi && __builtin_cpu_supports("avx512vnni")) {
        return &both;
    }
    return lane == &cpu_isa_avx2 ? &avx2 : NULL;
#else
    (void)lane;
    return NULL;
#endif
}

const cpu_isa_ops *cpu_isa_of(int device, mxo_text why)
{
    /* Worst first: device 0 is the last row that is present. */
    const lane_row rows[] = {
        {1, "portable", &cpu_isa_portable, 1},
#if defined(__x86_64__)
        {2, "AVX2, FMA and F16C", &cpu_isa_avx2, has_avx2()},
        {3, "AVX-512 F, BW, DQ and VL", &cpu_isa_avx512, has_avx512()},
        {4, "AVX-512 VBMI and GFNI", &cpu_isa_avx512vbmi, has_avx512vbmi()},
        {5, "AMX with 8-bit integers", &cpu_isa_amx, has_amx()},
#elif defined(CPU_NEON)
        {3, "NEON", &cpu_isa_neon, 1},
#endif
    };
    const cpu_isa_ops *best = NULL;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].device == device && !rows[i].present) {
            (void)cpu_fail(MXO_E_DEVICE, why, "this CPU lacks %s",
                           rows[i].needs);
            return NULL;
        }
        if (rows[i].present && (device == 0 || rows[i].device == device)) {
            best = rows[i].lane;
        }
    }
    if (best == NULL) {
        (void)cpu_fail(MXO_E_DEVICE, why,
                       "the cpu backend has no device %d here", device);
    }
    return best;
}
