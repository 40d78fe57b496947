/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches whose blocks wait for each other, on one thread of the CPU.  Every
 * thread of every block is a coroutine; a round looks at every warp and lets
 * those run whose lanes have what they stopped for.  Which warps of a round
 * come first is drawn anew each time, and now and then some blocks sleep for
 * long: others then come early to what these have not done.  Lanes of a warp
 * that are left must stop at the same place, and a round in which nobody could
 * run ends the process: on a device it would hang.  Who looks again and again
 * at what never comes does so here too, until the judge's timeout.
 */
#include "port/device.h"
#include "port/runtime.h"
#include "port/simt_blocks.h"
#include "port/simt_small_batch.h"

#if SIMT_WARP == 32
enum {
    CROWD_MEMORY = 228 << 10,
    CROWD_NAMES = 3,
    CROWD_NIGHT = 512,
    CROWD_STACK = 64 << 10
};

enum crowd_state {
    CROWD_RUNS,
    CROWD_SWAPS,
    CROWD_AWAITS,
    CROWD_MEETS,
    CROWD_ENDED
};

typedef struct crowd_lane {
    simt_fiber fiber;
    enum crowd_state state;
    mbarrier *gate;
    uint32_t parity;
    uint32_t slot[2][6]; /* values shown to the warp, now and next */
    uint32_t swaps;
    uint32_t name, turn; /* of the meeting it waits for */
} crowd_lane;

/* Where threads of a block meet: so many are there, for the n-th time. */
typedef struct crowd_meeting {
    uint32_t there, turn;
} crowd_meeting;

typedef struct crowd {
    simt_launch l; /* read by simt_thread() and the like */
    uint32_t threads;
    uint32_t draw;
    uint32_t round;
    uint32_t asleep; /* blocks, a bit each */
    crowd_lane *lanes;
    crowd_meeting *meetings; /* [grid][CROWD_NAMES] */
    uint8_t *memory;         /* [grid][CROWD_MEMORY] */
} crowd;

static _Thread_local crowd *us;

static crowd_lane *crowd_self(void)
{
    return &us->lanes[simt_now->block * us->threads + simt_now->thread];
}

static void crowd_stop(enum crowd_state state)
{
    crowd_lane *const self = crowd_self();

    self->state = state;
    simt_fiber_switch(&self->fiber, &simt_now->scheduler);
}

uint8_t *dynamic_shared(void)
{
    return us->memory + (size_t)simt_now->block * CROWD_MEMORY;
}

void mbarrier_wait(mbarrier *g, uint32_t parity)
{
    crowd_lane *const self = crowd_self();

    self->gate = g;
    self->parity = parity;
    if (g->parity == parity) {
        crowd_stop(CROWD_AWAITS);
    }
}

/* Lanes show their slots to each other; a lane may already write its next
   while others still read these. */
static uint32_t *crowd_slot(void)
{
    crowd_lane *const self = crowd_self();

    return self->slot[self->swaps % 2];
}

static void crowd_swap(void)
{
    crowd_self()->swaps++;
    crowd_stop(CROWD_SWAPS);
}

void warp_sync(void)
{
    crowd_swap();
}

/* Values that a lane of the caller's warp has shown last. */
static const uint32_t *crowd_shown(uint32_t number)
{
    const uint32_t first =
        simt_now->block * us->threads + simt_now->thread / 32 * 32;

    return us->lanes[first + number].slot[(crowd_self()->swaps - 1) % 2];
}

uint32_t warp_ballot(int claim)
{
    uint32_t all = 0;

    crowd_slot()[0] = claim != 0;
    crowd_swap();
    for (uint32_t i = 0; i < 32; i++) {
        all |= crowd_shown(i)[0] << i;
    }
    return all;
}

uint32_t warp_match(int32_t x)
{
    uint32_t same = 0;

    crowd_slot()[0] = (uint32_t)x;
    crowd_swap();
    for (uint32_t i = 0; i < 32; i++) {
        same |= (uint32_t)(crowd_shown(i)[0] == (uint32_t)x) << i;
    }
    return same;
}

/* Half i of a lane's slot. */
static double crowd_half(uint32_t number, uint32_t slot, uint32_t i)
{
    return (double)gpu_float(crowd_shown(number)[slot] >> 16 * i << 16);
}

void warp_mma(float *d, const uint32_t *a, const uint32_t *b)
{
    const uint32_t self = simt_now->thread % 32;

    memcpy(crowd_slot(), a, 4 * sizeof *a);
    memcpy(crowd_slot() + 4, b, 2 * sizeof *b);
    crowd_swap();
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t row = self / 4;
        const uint32_t column = self % 4 * 2 + i % 2;
        double sum = (double)d[i];
        for (uint32_t k = 0; k < 16; k++) {
            const uint32_t from = k % 8 / 2;
            sum += crowd_half(row * 4 + from, k / 8 * 2 + i / 2, k % 2) *
                   crowd_half(column * 4 + from, 4 + k / 8, k % 2);
        }
        d[i] = (float)sum;
    }
}

/* The n-th to come lets all go. */
static void crowd_meet(uint32_t name, uint32_t n)
{
    crowd_meeting *const m =
        &us->meetings[simt_now->block * CROWD_NAMES + name];
    crowd_lane *const self = crowd_self();

    self->name = name;
    self->turn = m->turn;
    m->there++;
    if (m->there == n) {
        m->there = 0;
        m->turn++;
    }
    crowd_stop(CROWD_MEETS);
}

void named_barrier(uint32_t name, uint32_t n)
{
    crowd_meet(name, n);
}

int simt_blocks_barrier(void)
{
    if (us != NULL) {
        crowd_meet(0, us->threads);
    }
    return us != NULL;
}

static void crowd_main(void)
{
    simt_now->entry(simt_now->args);
    crowd_self()->state = CROWD_ENDED;
}

static int crowd_ready(const crowd_lane *l, uint32_t block)
{
    return (l->state == CROWD_AWAITS && l->gate->parity != l->parity) ||
           (l->state == CROWD_MEETS &&
            us->meetings[block * CROWD_NAMES + l->name].turn != l->turn) ||
           l->state == CROWD_SWAPS || l->state == CROWD_RUNS;
}

/* Can every lane of the warp go on? Those that ended do not count, but where
   lanes swap all must be there. */
static int crowd_warp_ready(const crowd_lane *first, uint32_t block)
{
    int live = 0;
    int ready = 0;
    int swaps = 0;

    for (int i = 0; i < 32; i++) {
        live += first[i].state != CROWD_ENDED;
        ready += first[i].state != CROWD_ENDED && crowd_ready(&first[i], block);
        swaps += first[i].state == CROWD_SWAPS;
    }
    if (swaps > 0 && swaps < 32) {
        simt_now->block = block;
        simt_die("the lanes of a warp have parted", 0);
    }
    return live > 0 && ready == live;
}

static void crowd_run_warp(uint32_t block, uint32_t warp)
{
    crowd_lane *const first = &us->lanes[block * us->threads + warp * 32];

    simt_now->block = block;
    for (uint32_t i = 0; i < 32; i++) {
        if (first[i].state == CROWD_ENDED) {
            continue;
        }
        simt_now->thread = warp * 32 + i;
        simt_fiber_switch(&simt_now->scheduler, &first[i].fiber);
    }
}

/* Blocks sleep in every other span of so many rounds, half of them. */
static int crowd_sleeps(uint32_t block)
{
    if (us->round % (2 * CROWD_NIGHT) == 0) {
        us->asleep = us->draw >> 7 ^ us->draw >> 19;
    }
    return us->round / CROWD_NIGHT % 2 == 0 && (us->asleep >> block % 32 & 1);
}

/* A step from warp to warp that comes past all of them. */
static uint32_t crowd_step(uint32_t all)
{
    uint32_t step = 5;

    for (uint32_t rest = 0; rest != 1; step += rest != 1) {
        uint32_t x = all;
        rest = step;
        while (x % rest != 0) {
            const uint32_t next = x % rest;
            x = rest;
            rest = next;
        }
    }
    return step;
}

/* One look at every warp. Returns what moved, or -1 if all have ended. */
static int crowd_round(void)
{
    const uint32_t warps = us->threads / 32;
    const uint32_t all = warps * simt_now->grid;
    const uint32_t from = us->draw >> 8;
    const uint32_t step = crowd_step(all);
    int moved = 0;
    int live = 0;

    us->draw = us->draw * 1664525u + 1013904223u;
    for (uint32_t i = 0; i < all; i++) {
        const uint32_t at = (from + i * step) % all;
        const crowd_lane *const first = &us->lanes[at * 32];
        live += first->state != CROWD_ENDED;
        if (first->state != CROWD_ENDED && crowd_sleeps(at / warps)) {
            moved++;
        } else if (crowd_warp_ready(first, at / warps)) {
            crowd_run_warp(at / warps, at % warps);
            moved++;
        }
    }
    us->round++;
    return live == 0 ? -1 : moved;
}

static int crowd_start(void)
{
    const uint32_t n = simt_now->grid * us->threads;

    us->lanes = (crowd_lane *)calloc(n, sizeof *us->lanes);
    us->meetings = (crowd_meeting *)calloc(simt_now->grid * CROWD_NAMES,
                                           sizeof *us->meetings);
    us->memory =
        (uint8_t *)aligned_alloc(256, (size_t)simt_now->grid * CROWD_MEMORY);
    simt_now->stacks = (uint8_t *)malloc((size_t)n * CROWD_STACK);
    if (us->lanes == NULL || us->meetings == NULL || us->memory == NULL ||
        simt_now->stacks == NULL) {
        return 0;
    }
    /* Contents before the first store: NaN in every other block, numbers in the
       others. */
    for (uint32_t i = 0; i < simt_now->grid; i++) {
        memset(us->memory + (size_t)i * CROWD_MEMORY, i % 2 == 0 ? 0xff : 0x3c,
               CROWD_MEMORY);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!simt_fiber_begin(&us->lanes[i].fiber,
                              simt_now->stacks + (size_t)i * CROWD_STACK,
                              CROWD_STACK, crowd_main, &simt_now->scheduler)) {
            simt_die("getcontext failed", 0);
        }
    }
    return 1;
}

mxo_status simt_blocks_launch(const gpu_kernel *k, const gpu_shape *shape,
                              const void *args, mxo_text why)
{
    crowd *const c = (crowd *)calloc(1, sizeof *c);
    mxo_status status = MXO_OK;

    if (c == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for the threads");
    }
    us = c;
    simt_now = &c->l;
    c->threads = shape->threads;
    c->draw = 1;
    c->l.entry = (void (*)(const void *))k->entry;
    c->l.args = args;
    c->l.grid = shape->grid;
    if (crowd_start()) {
        int moved = 1;
        int idle = 0;
        while (moved >= 0) {
            moved = crowd_round();
            idle = moved == 0 ? idle + 1 : 0;
            if (idle > 2) {
                simt_die("every warp waits", 0);
            }
        }
    } else {
        status = gpu_fail(MXO_E_NOMEM, why, "no memory for the threads");
    }
    free(c->lanes);
    free(c->meetings);
    free(c->memory);
    free(c->l.stacks);
    free(c);
    us = NULL;
    simt_now = NULL;
    return status;
}
#endif
