/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of a block on one thread of the CPU.
 *
 * Blocks run one after another.  A kernel that announces that its threads
 * meet gets a coroutine per thread; a round resumes every lane of a warp once,
 * and each stops at its next exchange, at a barrier, or at its end.  Two sets
 * of slots alternate, so that a lane may already offer its next value while
 * others still read the last one.
 */
#include "port/device.h"
#include "port/runtime.h"
#include "port/simt_blocks.h"

enum { STACK_BYTES = 64 << 10 };

typedef void (*simt_entry)(const void *args);

enum lane_state { LANE_RUNS, LANE_EXCHANGES, LANE_WAITS, LANE_ENDED };

typedef struct simt_lane {
    simt_fiber fiber;
    enum lane_state state;
    int site; /* line of the call it stopped in */
} lane;

_Thread_local simt_launch *simt_now;

_Noreturn void simt_die(const char *sentence, int site)
{
    (void)fprintf(stderr, "%s: %s (line %d, block %u, thread %u)\n", GPU_NAME,
                  sentence, site, (unsigned)simt_now->block,
                  (unsigned)simt_now->thread);
    abort();
}

/* Stop this lane here until the scheduler comes round again. */
static void stop(enum lane_state state, int site)
{
    lane *const self = &simt_now->lanes[simt_now->thread];

    if (!simt_now->meets) {
        simt_die("a kernel that never meets does", site);
    }
    self->state = state;
    self->site = site;
    simt_fiber_switch(&self->fiber, &simt_now->scheduler);
}

uint32_t simt_shuffle(uint32_t value, uint32_t from, int site)
{
    const uint32_t warp = simt_now->thread / SIMT_WARP;
    uint32_t *const slot = simt_now->slot[simt_now->parity[warp]];

    slot[simt_now->thread] = value;
    stop(LANE_EXCHANGES, site);
    return slot[warp * SIMT_WARP + from % SIMT_WARP];
}

int simt_any(int claim, int site)
{
    const uint32_t warp = simt_now->thread / SIMT_WARP;
    uint32_t *const slot = simt_now->slot[simt_now->parity[warp]];
    uint32_t any = 0;

    slot[simt_now->thread] = claim != 0;
    stop(LANE_EXCHANGES, site);
    for (uint32_t i = 0; i < SIMT_WARP; i++) {
        any |= slot[warp * SIMT_WARP + i];
    }
    return any != 0;
}

void simt_barrier(int site)
{
#if SIMT_WARP == 32
    if (simt_blocks_barrier()) {
        return;
    }
#endif
    stop(LANE_WAITS, site);
}

/* One block's thread after the other. */
static void lane_main(void)
{
    lane *const self = &simt_now->lanes[simt_now->thread];

    for (;;) {
        simt_now->entry(simt_now->args);
        self->state = LANE_ENDED;
        if (simt_now->block + 1 == simt_now->grid) {
            return;
        }
        simt_fiber_switch(&self->fiber, &simt_now->scheduler);
    }
}

static void lane_start(uint32_t thread)
{
    if (!simt_fiber_begin(&simt_now->lanes[thread].fiber,
                          simt_now->stacks + (size_t)thread * STACK_BYTES,
                          STACK_BYTES, lane_main, &simt_now->scheduler)) {
        simt_die("getcontext failed", 0);
    }
}

static void lane_resume(uint32_t thread)
{
    simt_now->thread = thread;
    simt_now->lanes[thread].state = LANE_RUNS;
    simt_fiber_switch(&simt_now->scheduler, &simt_now->lanes[thread].fiber);
}

/* Rounds until the warp waits for its block or has ended. */
static void run_warp(uint32_t warp)
{
    const lane *const first = &simt_now->lanes[warp * SIMT_WARP];

    if (first->state == LANE_ENDED) {
        return;
    }
    do {
        for (uint32_t i = 0; i < SIMT_WARP; i++) {
            lane_resume(warp * SIMT_WARP + i);
            if (first[i].state != first->state ||
                first[i].site != first->site) {
                simt_die("the lanes of a warp have parted", first[i].site);
            }
        }
        simt_now->parity[warp] ^= 1;
    } while (first->state == LANE_EXCHANGES);
}

static void run_block_of_lanes(void)
{
    const uint32_t warps = GPU_BLOCK / SIMT_WARP;

    memset(simt_now->parity, 0, sizeof simt_now->parity);
    for (uint32_t i = 0; i < GPU_BLOCK; i++) {
        simt_now->lanes[i].state = LANE_RUNS;
        simt_now->lanes[i].site = 0;
    }
    do {
        for (uint32_t w = 0; w < warps; w++) {
            run_warp(w);
            if (simt_now->lanes[w * SIMT_WARP].state !=
                simt_now->lanes[0].state) {
                simt_die("the warps of a block have parted", 0);
            }
        }
    } while (simt_now->lanes[0].state != LANE_ENDED);
}

static void run_block(void)
{
    if (simt_now->meets) {
        run_block_of_lanes();
        return;
    }
    for (simt_now->thread = 0; simt_now->thread < GPU_BLOCK;
         simt_now->thread++) {
        simt_now->entry(simt_now->args);
    }
}

mxo_status simt_run(const gpu_kernel *k, const gpu_shape *shape,
                    const void *args, mxo_text why)
{
#if SIMT_WARP == 32
    if (shape->together) {
        return simt_blocks_launch(k, shape, args, why);
    }
#endif
    simt_launch *const l = (simt_launch *)calloc(1, sizeof *l);
    const size_t bytes = k->meets ? (size_t)GPU_BLOCK * STACK_BYTES : 1;
    uint8_t *const stacks = (uint8_t *)malloc(bytes);
    lane *const lanes = (lane *)calloc(GPU_BLOCK, sizeof *lanes);

    if (l == NULL || stacks == NULL || lanes == NULL) {
        free(l);
        free(stacks);
        free(lanes);
        return gpu_fail(MXO_E_NOMEM, why, "no memory for the threads");
    }
    l->entry = (simt_entry)k->entry;
    l->args = args;
    l->meets = k->meets;
    l->grid = shape->grid;
    l->stacks = stacks;
    l->lanes = lanes;
    simt_now = l;
    for (uint32_t i = 0; i < GPU_BLOCK && l->meets; i++) {
        lane_start(i);
    }
    for (l->block = 0; l->block < l->grid; l->block++) {
        run_block();
    }
    simt_now = NULL;
    free(stacks);
    free(lanes);
    free(l);
    return MXO_OK;
}
