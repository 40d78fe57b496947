/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backends simt32 and simt64: the kernels of the GPU backends on the CPU,
 * so that their logic is judged where there is no GPU.
 *
 * Blocks run one after another.  A kernel that announces that its threads
 * meet gets a coroutine per thread; a round resumes every lane of a warp once,
 * and each stops at its next exchange, at a barrier, or at its end.  Two sets
 * of slots alternate, so that a lane may already offer its next value while
 * others still read the last one.
 */
#include "runtime.h"

#include "device.h"

#include "dequant.inc"

#include "quant.inc"

#include "glu_exact.inc"

#include "glu_steps.inc"

#include "glu.inc"

#include <ucontext.h>

#define GPU_NAME (SIMT_WARP == 32 ? "simt32" : "simt64")
#define GPU_LABEL "CPU"
#define GPU_HAS_TIMER 0

enum {
    STACK_BYTES = 64 << 10,
    UNITS = 3,     /* few, so that kernels must loop */
    RESIDENTS = 2
};

typedef void (*simt_entry)(const void *args);

#include "call.inc"

#include "plan_dequant.inc"

#include "plan_quant.inc"

#include "plan_glu.inc"

enum lane_state { LANE_RUNS, LANE_EXCHANGES, LANE_WAITS, LANE_ENDED };

typedef struct lane {
    ucontext_t context;
    enum lane_state state;
    int site; /* line of the call it stopped in */
} lane;

/* One launch: the block that runs now. */
typedef struct launch {
    ucontext_t scheduler;
    simt_entry entry;
    const void *args;
    int meets;
    uint32_t grid, block, thread;
    uint32_t parity[GPU_BLOCK / SIMT_WARP];
    uint32_t slot[2][GPU_BLOCK];
    lane lanes[GPU_BLOCK];
    uint8_t *stacks;
} launch;

static _Thread_local launch *now;

static _Noreturn void die(const char *sentence, int site)
{
    (void)fprintf(stderr, "%s: %s (line %d, block %u, thread %u)\n", GPU_NAME,
                  sentence, site, (unsigned)now->block, (unsigned)now->thread);
    abort();
}

GPU_FN uint32_t simt_thread(void)
{
    return now->thread;
}

GPU_FN uint32_t simt_block(void)
{
    return now->block;
}

GPU_FN uint32_t simt_grid(void)
{
    return now->grid;
}

GPU_FN void simt_check_aligned(const void *p, size_t align)
{
    if ((uintptr_t)p % align != 0) {
        die("a vector is not aligned", 0);
    }
}

/* Stop this lane here until the scheduler comes round again. */
static void stop(enum lane_state state, int site)
{
    lane *const self = &now->lanes[now->thread];

    if (!now->meets) {
        die("a kernel that never meets does", site);
    }
    self->state = state;
    self->site = site;
    if (swapcontext(&self->context, &now->scheduler) != 0) {
        die("swapcontext failed", site);
    }
}

GPU_FN uint32_t simt_shuffle(uint32_t value, uint32_t from, int site)
{
    const uint32_t warp = now->thread / SIMT_WARP;
    uint32_t *const slot = now->slot[now->parity[warp]];

    slot[now->thread] = value;
    stop(LANE_EXCHANGES, site);
    return slot[warp * SIMT_WARP + from % SIMT_WARP];
}

GPU_FN int simt_any(int claim, int site)
{
    const uint32_t warp = now->thread / SIMT_WARP;
    uint32_t *const slot = now->slot[now->parity[warp]];
    uint32_t any = 0;

    slot[now->thread] = claim != 0;
    stop(LANE_EXCHANGES, site);
    for (uint32_t i = 0; i < SIMT_WARP; i++) {
        any |= slot[warp * SIMT_WARP + i];
    }
    return any != 0;
}

GPU_FN void simt_barrier(int site)
{
    stop(LANE_WAITS, site);
}

static void lane_main(void)
{
    now->entry(now->args);
    now->lanes[now->thread].state = LANE_ENDED;
}

/* A lane whose stack is fresh; it returns to the scheduler at its end. */
static void lane_start(uint32_t thread)
{
    lane *const l = &now->lanes[thread];

    if (getcontext(&l->context) != 0) {
        die("getcontext failed", 0);
    }
    l->context.uc_stack.ss_sp = now->stacks + (size_t)thread * STACK_BYTES;
    l->context.uc_stack.ss_size = STACK_BYTES;
    l->context.uc_link = &now->scheduler;
    makecontext(&l->context, lane_main, 0);
    l->state = LANE_RUNS;
}

static void lane_resume(uint32_t thread)
{
    now->thread = thread;
    now->lanes[thread].state = LANE_RUNS;
    if (swapcontext(&now->scheduler, &now->lanes[thread].context) != 0) {
        die("swapcontext failed", 0);
    }
}

/* Rounds until the warp waits for its block or has ended. */
static void run_warp(uint32_t warp)
{
    const lane *const first = &now->lanes[warp * SIMT_WARP];

    if (first->state == LANE_ENDED) {
        return;
    }
    do {
        for (uint32_t i = 0; i < SIMT_WARP; i++) {
            lane_resume(warp * SIMT_WARP + i);
            if (first[i].state != first->state ||
                first[i].site != first->site) {
                die("the lanes of a warp have parted", first[i].site);
            }
        }
        now->parity[warp] ^= 1;
    } while (first->state == LANE_EXCHANGES);
}

static void run_block_of_lanes(void)
{
    const uint32_t warps = GPU_BLOCK / SIMT_WARP;

    memset(now->parity, 0, sizeof now->parity);
    for (uint32_t i = 0; i < GPU_BLOCK; i++) {
        lane_start(i);
        now->lanes[i].site = 0;
    }
    do {
        for (uint32_t w = 0; w < warps; w++) {
            run_warp(w);
            if (now->lanes[w * SIMT_WARP].state != now->lanes[0].state) {
                die("the warps of a block have parted", 0);
            }
        }
    } while (now->lanes[0].state != LANE_ENDED);
}

static void run_block(void)
{
    if (now->meets) {
        run_block_of_lanes();
        return;
    }
    for (now->thread = 0; now->thread < GPU_BLOCK; now->thread++) {
        now->entry(now->args);
    }
}

static mxo_status gpu_launch(const gpu_kernel *k, uint32_t grid,
                             const void *args, mxo_text why)
{
    launch *const l = (launch *)calloc(1, sizeof *l);
    const size_t bytes = k->meets ? (size_t)GPU_BLOCK * STACK_BYTES : 1;
    uint8_t *const stacks = (uint8_t *)malloc(bytes);

    if (l == NULL || stacks == NULL) {
        free(l);
        free(stacks);
        return gpu_fail(MXO_E_NOMEM, why, "no memory for the threads");
    }
    l->entry = (simt_entry)k->entry;
    l->args = args;
    l->meets = k->meets;
    l->grid = grid;
    l->stacks = stacks;
    now = l;
    for (l->block = 0; l->block < grid; l->block++) {
        run_block();
    }
    now = NULL;
    free(stacks);
    free(l);
    return MXO_OK;
}

static mxo_status gpu_open(int device, gpu_device *d, mxo_text why)
{
    if (device != 0) {
        return gpu_fail(MXO_E_DEVICE, why, "there is one shim, number 0");
    }
    d->index = 0;
    d->units = UNITS;
    (void)snprintf(d->name, sizeof d->name, "CPU, warps of %d", SIMT_WARP);
    (void)snprintf(d->driver, sizeof d->driver, "SIMT shim");
    return MXO_OK;
}

/* Aligned as a device would. */
static mxo_status gpu_malloc(void **p, uint64_t n_bytes)
{
    *p = n_bytes > SIZE_MAX - 512
             ? NULL
             : aligned_alloc(256, ((size_t)n_bytes + 256) / 256 * 256);
    return *p == NULL ? MXO_E_NOMEM : MXO_OK;
}

static void gpu_free(void *p)
{
    free(p);
}

static mxo_status gpu_upload(void *dst, const void *src, uint64_t n,
                             mxo_text why)
{
    (void)why;
    memcpy(dst, src, (size_t)n);
    return MXO_OK;
}

#define gpu_download gpu_upload

static mxo_status gpu_fill(void *dst, int byte, uint64_t n, mxo_text why)
{
    (void)why;
    memset(dst, byte, (size_t)n);
    return MXO_OK;
}

static mxo_status gpu_synchronize(mxo_text why)
{
    (void)why;
    return MXO_OK;
}

static mxo_status gpu_residents(gpu_entry entry, uint32_t *blocks,
                                mxo_text why)
{
    (void)entry;
    (void)why;
    *blocks = RESIDENTS;
    return MXO_OK;
}

#include "backend.inc"

#if SIMT_WARP == 32
const mxo_backend *simt32_backend(void);

const mxo_backend *simt32_backend(void)
#else
const mxo_backend *simt64_backend(void);

const mxo_backend *simt64_backend(void)
#endif
{
    return &backend;
}
