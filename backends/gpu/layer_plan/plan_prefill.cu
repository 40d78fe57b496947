/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer for many tokens on Hopper, or one of its halves: sort, store
 * activations, one or two GEMMs, the sum over experts.
 */
#include "layer/layer.h"
#include "layer_fast/prefill.cuh"
#include "layer_fast/prefill_gemm.cuh"
#include "layer_fast/prefill_place.cuh"
#include "layer_plan/layer_job.h"
#include "layer_plan/plan_prefill.h"
#include "port/runtime.h"

#include <cuda_runtime.h>

enum {
    PREFILL_MEMORY = 227 << 10, /* bytes of shared memory of a block */
    PREFILL_LEAST_STAGES = 3
};

static uint64_t prefill_pitch(uint64_t k)
{
    return (k + PREFILL_CHUNK - 1) / PREFILL_CHUNK * PREFILL_CHUNK;
}

static uint32_t prefill_scale_bytes(const layer_gemm *g)
{
    return (uint32_t)(PREFILL_ROWS * (g->k / LAYER_BLOCK) + 16 + 127) / 128 *
           128;
}

/* Blocks of 16 rows that a warp multiplies. */
static int prefill_blocks(uint32_t columns)
{
    return columns > PREFILL_FEW ? 2 : 1;
}

static uint32_t prefill_turned_bytes(uint32_t columns)
{
    const int blocks = prefill_blocks(columns);

    return (uint32_t)(PREFILL_WARPS(blocks) * PREFILL_TURN(blocks));
}

/* Stages beside the scales of so many tiles. */
static uint32_t prefill_stages(const layer_gemm *g, uint32_t columns,
                               uint32_t buffers)
{
    const uint64_t other = 1024 + (uint64_t)buffers * prefill_scale_bytes(g) +
                           sizeof(prefill_shared) +
                           prefill_turned_bytes(columns);
    const uint64_t stage = PREFILL_CODES + columns * 2 * PREFILL_CHUNK;
    const uint64_t n =
        other < PREFILL_MEMORY ? (PREFILL_MEMORY - other) / stage : 0;

    return n < PREFILL_STAGES ? (uint32_t)n : (uint32_t)PREFILL_STAGES;
}

static int prefill_fits(const layer_gemm *g, uint32_t columns)
{
    return prefill_stages(g, columns, 1) >= PREFILL_LEAST_STAGES;
}

/* Columns of a tile: half more than an expert's share of the pairs, and fewer
   where rows are long; 0: shared memory has no room. */
static uint32_t prefill_columns(const layer_job *j)
{
    const uint64_t share = j->p.pairs / j->experts;
    uint32_t n = share <= 20 ? 32 : share <= 44 ? 64 : PREFILL_COLUMNS;

    while (n > 0 && ((j->has_one && !prefill_fits(&j->one, n)) ||
                     (j->has_two && !prefill_fits(&j->two, n)))) {
        n -= 32;
    }
    return n;
}

static uint64_t prefill_tiles(const layer_job *j)
{
    const uint64_t experts = j->p.pairs < j->experts ? j->p.pairs : j->experts;

    return experts + j->p.pairs / prefill_columns(j);
}

int prefill_takes(const layer_job *j)
{
    return j->experts <= PREFILL_EXPERTS && prefill_columns(j) > 0 &&
           j->experts * 2 * j->inter < 1u << 31 &&
           j->experts * j->hidden < 1u << 31;
}

/* Rows that a tile's codes are put apart by: gates and ups, or what a thread
   has of neighbours. */
static uint32_t prefill_apart(int is_act, uint32_t columns)
{
    return is_act ? 2 : 2 * (uint32_t)prefill_blocks(columns);
}

/*
 * A map of all codes: bytes of a row, rows that are `apart` from each other,
 * and the rows between; or rows, and the halves of an expert's.  A box is a
 * tile's 256 rows by 64 bytes.
 */
static mxo_status prefill_map(const layer_gemm *g, uint64_t rows,
                              uint32_t apart, int halves, gpu_map *map,
                              mxo_text why)
{
    const uint64_t row = g->k / 2;
    const gpu_boxes b = {
        g->w,
        1,
        {row, halves ? rows - g->n / 2 : rows / apart, apart},
        {halves ? row : row * apart, halves ? row * (g->n / 2) : row},
        {PREFILL_CHUNK / 2, PREFILL_ROWS / apart, apart}};

    return gpu_map_of(&b, map, why);
}

/* Scratch: routes, stored activations of both GEMMs, rows. */
typedef struct prefill_room {
    uint64_t count, tiles, list, tile_of, placed, act, rows, end;
} prefill_room;

static prefill_room prefill_room_of(const layer_job *j)
{
    const layer_gemm *const g = j->has_one ? &j->one : &j->two;
    const uint64_t n = prefill_tiles(j);
    const uint64_t stored = 2 * (j->p.pairs + 8 * n);
    const uint64_t next =
        j->has_one && j->has_two ? stored * prefill_pitch(j->inter) : 0;
    prefill_room r;

    r.end = j->kept;
    r.count = job_take(&r.end, 8);
    r.tiles = job_take(&r.end, n * sizeof(prefill_tile));
    r.list = job_take(&r.end, 4 * j->p.pairs);
    r.tile_of = job_take(&r.end, 4 * j->p.pairs);
    r.placed = job_take(&r.end, stored * prefill_pitch(g->k));
    r.act = job_take(&r.end, next);
    r.rows = job_take(&r.end, j->has_sum ? j->p.pairs * j->hidden *
                                               layer_bytes(j->two.out)
                                         : 0);
    return r;
}

uint64_t prefill_bytes(const layer_job *j)
{
    return prefill_room_of(j).end;
}

static mxo_status prefill_scratch(layer_job *j, prefill_place_args *f,
                                  gpu_scratch *scratch, mxo_text why)
{
    const layer_gemm *const g = j->has_one ? &j->one : &j->two;
    const prefill_room r = prefill_room_of(j);
    const mxo_status status = scratch_need(scratch, r.end, why);
    uint8_t *const base = (uint8_t *)scratch->p;

    f->k = g->k;
    f->pitch = prefill_pitch(g->k);
    f->share = g->share;
    f->routes.n_tiles = (uint32_t *)(base + r.count);
    f->routes.tiles = (prefill_tile *)(base + r.tiles);
    f->routes.list = (uint32_t *)(base + r.list);
    f->routes.tile_of = (uint32_t *)(base + r.tile_of);
    f->x = g->a;
    f->placed = base + r.placed;
    job_link(j, f->placed, base + r.act, base + r.rows);
    return status;
}

/* Are a GEMM's sums rounded once, behind bias and weight, or (activations)
   not at all? */
static int prefill_is_plain(const layer_gemm *g, int is_act)
{
    const int once = g->weigh ? g->mid == LAYER_F32 && g->out == LAYER_BF16
                              : g->mid == LAYER_BF16;

    return g->bias_at <= LAYER_BIAS_ACC &&
           (is_act ? g->mid == LAYER_F32 && !g->weigh : once);
}

#define PREFILL_KERNEL(blocks, laid)                     \
    {                                                    \
        "prefill_gemm<" #blocks ", " #laid ">",          \
            GPU_ADDRESS((prefill_gemm<blocks, laid>)), 0 \
    }

/* One of the two GEMMs; is_act: its sums are gates and ups. */
static mxo_status step_prefill(gpu_plan *plan, const layer_job *j,
                               const prefill_place_args *f, const layer_gemm *g,
                               int is_act, mxo_text why)
{
    static const gpu_kernel kernels[2][2] = {
        {PREFILL_KERNEL(1, LAYER_LAID_PLAIN),
         PREFILL_KERNEL(1, LAYER_LAID_HOPPER)},
        {PREFILL_KERNEL(2, LAYER_LAID_PLAIN),
         PREFILL_KERNEL(2, LAYER_LAID_HOPPER)}};
    const uint32_t columns = prefill_columns(j);
    const int blocks = prefill_blocks(columns);
    const uint32_t apart = prefill_apart(is_act, columns);
    const int halves = is_act && j->halves;
    const uint64_t rows = is_act ? PREFILL_ROWS / 2 : PREFILL_ROWS;
    gpu_plan *const step = plan_append(plan);

    if (step == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for the launches");
    }
    prefill_args *const a = PLAN_ARGS(step, prefill_args);
    a->p = j->p;
    a->g = *g;
    a->g.pitch = prefill_pitch(g->k);
    a->glu = j->glu.glu;
    a->glu_mode = layer_act_mode(&a->glu);
    a->routes = f->routes;
    a->is_glu = (uint32_t)is_act;
    a->is_plain = (uint32_t)prefill_is_plain(g, is_act);
    a->halves = (uint32_t)j->halves;
    a->of_expert = (uint32_t)(halves ? g->n : g->n / apart);
    a->of_tile = halves ? PREFILL_ROWS / 2 : PREFILL_ROWS / apart;
    a->placed = (uint32_t)(is_act && j->has_two);
    a->y_pitch = a->placed ? prefill_pitch(j->inter) : is_act ? j->inter : g->n;
    a->m_tiles = (uint32_t)(((is_act ? g->n / 2 : g->n) + rows - 1) / rows);
    a->scale_turns = prefill_stages(g, columns, 2) >= PREFILL_LEAST_STAGES;
    a->stages = prefill_stages(g, columns, 1 + a->scale_turns);
    a->stage_bytes = PREFILL_CODES + columns * 2 * PREFILL_CHUNK;
    a->scale_bytes = prefill_scale_bytes(g);
    step->kernel = &kernels[blocks - 1][g->laid];
    step->threads = (uint32_t)PREFILL_THREADS(blocks);
    step->shared = 1024 + a->stages * a->stage_bytes +
                   (1 + a->scale_turns) * a->scale_bytes +
                   (uint32_t)sizeof(prefill_shared) +
                   prefill_turned_bytes(columns);
    step->blocks = plan->scratch->units;
    step->overlaps = 1;
    return prefill_map(g, j->experts * g->n, apart, halves, &a->map, why);
}

static mxo_status prefill_begin(gpu_plan *plan, const layer_job *j,
                                const prefill_place_args *f, mxo_text why)
{
    static const gpu_kernel sort = KERNEL(prefill_sort, 0);
    static const gpu_kernel store = KERNEL(prefill_store, 0);
    const uint64_t warps = GPU_BLOCK / 32;
    const uint64_t blocks = (j->p.pairs + warps - 1) / warps;
    gpu_plan *const first = plan_step(plan, &sort, 1);

    if (first == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for the launches");
    }
    first->waves = 0;
    first->threads = PREFILL_SORTERS;
    *PLAN_ARGS(first, prefill_place_args) = *f;
    if (!j->has_sum) { /* pairs without an expert here keep zeros */
        first->clear = j->y;
        first->n_clear = j->y_bytes;
    }
    gpu_plan *const step = plan_append(plan);
    if (step == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for the launches");
    }
    step->kernel = &store;
    step->overlaps = 1;
    step->blocks = blocks < 16 * plan->scratch->units
                       ? blocks
                       : 16 * (uint64_t)plan->scratch->units;
    *PLAN_ARGS(step, prefill_place_args) = *f;
    return MXO_OK;
}

mxo_status plan_prefill(layer_job *j, const gpu_kernel *add, gpu_plan *plan,
                        mxo_text why)
{
    prefill_place_args f;
    memset(&f, 0, sizeof f);
    mxo_status status = prefill_scratch(j, &f, plan->scratch, why);

    f.p = j->p;
    f.experts = (uint32_t)j->experts;
    f.columns = prefill_columns(j);
    if (status == MXO_OK) {
        status = prefill_begin(plan, j, &f, why);
    }
    if (status == MXO_OK && j->has_one) {
        status = step_prefill(plan, j, &f, &j->one, j->has_glu, why);
    }
    if (status == MXO_OK && j->has_two) {
        status = step_prefill(plan, j, &f, &j->two, 0, why);
    }
    if (status != MXO_OK || !j->has_sum) {
        return status;
    }
    gpu_plan *const sum = step_sum(plan, j, add);
    if (sum == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for the launches");
    }
    sum->overlaps = 1;
    return MXO_OK;
}
