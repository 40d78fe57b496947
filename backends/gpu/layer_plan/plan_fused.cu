/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choice and launches of the layer's calls that the tensor cores can take:
 * prepare, one or two GEMMs, the sum over experts.
 */
#include "layer/layer.h"
#include "layer_fast/fused.cuh"
#include "layer_fast/fused_end.cuh"
#include "layer_fast/fused_prepare.cuh"
#include "layer_plan/layer_job.h"
#include "layer_plan/plan_prefill.h"
#include "ops/dequant.h"
#include "port/runtime.h"

enum {
    FUSED_MOST_SHARE = 8, /* pairs of an expert: more are prefill.cuh's */
    FUSED_MOST = 1 << 15  /* of k: shared memory holds the scales of 64 rows */
};

/* Can this GEMM's rows be copied in pieces of 16 bytes and multiplied? */
static int fused_takes(const layer_gemm *g)
{
    const uint64_t bits = (uint64_t)(uintptr_t)g->w |
                          (uint64_t)(uintptr_t)g->scale |
                          (uint64_t)(uintptr_t)g->a | (uint64_t)(uintptr_t)g->y;

    return g->k % 32 == 0 && g->n % 32 == 0 && g->k <= FUSED_MOST && g->k > 0 &&
           g->n > 0 && g->a_type == LAYER_BF16 && !g->exact &&
           (g->rule & ~(uint32_t)(DEQUANT_ZERO | DEQUANT_INF)) == 0 &&
           bits % 16 == 0;
}

int job_is_fused(const layer_job *j, const gpu_plan *plan)
{
    const int is_small =
        j->p.pairs > 0 && j->p.pairs < 1u << 24 && j->experts <= FUSED_EXPERTS;

    if (!plan->scratch->has_tensor_cores || !is_small ||
        (uintptr_t)j->y % 16 != 0 ||
        (j->has_glu && (j->glu.glu.to != GLU_BF16 || j->inter % 32 != 0))) {
        return 0;
    }
    return (!j->has_one || fused_takes(&j->one)) &&
           (!j->has_two || fused_takes(&j->two));
}

static uint64_t fused_pitch(uint64_t k)
{
    return (k + FUSED_CHUNK - 1) / FUSED_CHUNK * FUSED_CHUNK;
}

/* Columns of a tile: twice an expert's share of the pairs, where it is small */
static uint32_t fused_columns(const layer_job *j)
{
    const uint64_t share = j->p.pairs / j->experts;

    return share <= 4 ? 8 : share <= 8 ? 16 : FUSED_COLUMNS;
}

static uint64_t fused_tiles(const layer_job *j)
{
    const uint64_t experts = j->p.pairs < j->experts ? j->p.pairs : j->experts;

    return experts + j->p.pairs / fused_columns(j);
}

static uint64_t fused_rows(const layer_job *j)
{
    return j->has_one ? j->tokens : j->p.pairs;
}

/* Scratch: routes, activations in order, those of the second GEMM, rows. */
typedef struct fused_room {
    uint64_t count, tiles, list, placed, act, rows, end;
} fused_room;

static fused_room fused_room_of(const layer_job *j)
{
    const layer_gemm *const g = j->has_one ? &j->one : &j->two;
    const uint64_t next =
        j->has_one && j->has_two ? 2 * j->p.pairs * fused_pitch(j->inter) : 0;
    fused_room r;

    r.end = j->kept;
    r.count = job_take(&r.end, 4);
    r.tiles = job_take(&r.end, fused_tiles(j) * sizeof(fused_tile));
    r.list = job_take(&r.end, 4 * j->p.pairs);
    r.placed = job_take(&r.end, 2 * fused_rows(j) * fused_pitch(g->k));
    r.act = job_take(&r.end, next);
    r.rows = job_take(&r.end, j->has_sum ? j->p.pairs * j->hidden *
                                               layer_bytes(j->two.out)
                                         : 0);
    return r;
}

static int fused_is_prefill(const layer_job *j)
{
    return j->p.pairs / j->experts > FUSED_MOST_SHARE && prefill_takes(j);
}

uint64_t fused_bytes(const layer_job *j)
{
    return fused_is_prefill(j) ? prefill_bytes(j) : fused_room_of(j).end;
}

static mxo_status fused_scratch(layer_job *j, fused_prepare_args *f,
                                gpu_scratch *scratch, mxo_text why)
{
    const layer_gemm *const g = j->has_one ? &j->one : &j->two;
    const int joined = j->has_one && j->has_two;
    const fused_room r = fused_room_of(j);
    const mxo_status status = scratch_need(scratch, r.end, why);
    uint8_t *const base = (uint8_t *)scratch->p;

    f->rows = fused_rows(j);
    f->k = g->k;
    f->pitch = fused_pitch(g->k);
    f->routes.n_tiles = (uint32_t *)(base + r.count);
    f->routes.tiles = (fused_tile *)(base + r.tiles);
    f->routes.list = (uint32_t *)(base + r.list);
    f->x = g->a;
    f->placed = base + r.placed;
    f->next_k = joined ? j->inter : 0;
    f->next_pitch = joined ? fused_pitch(j->inter) : 0;
    f->next = base + r.act;
    job_link(j, f->placed, base + r.act, base + r.rows);
    return status;
}

#define FEW(glu, n)                                                        \
    {                                                                      \
        "fused_few<" #glu ", " #n ">", GPU_ADDRESS((fused_few<glu, n>)), 0 \
    }
/* Rows, or gates and ups; 8, 16, 32 columns. */
static const gpu_kernel fused_gemms[2][3] = {
    {FEW(false, 8), FEW(false, 16), FEW(false, 32)},
    {FEW(true, 8), FEW(true, 16), FEW(true, 32)},
};
#undef FEW

static const uint32_t fused_few_bytes[3] = {
    fused_shape<8>::bytes, fused_shape<16>::bytes, fused_shape<32>::bytes};

/* One of the two GEMMs; is_act: its sums are gates and ups. */
static int step_fused(gpu_plan *plan, const layer_job *j,
                      const fused_prepare_args *f, const layer_gemm *g,
                      int is_act)
{
    const uint32_t columns = fused_columns(j);
    const int few = columns == 8 ? 0 : columns == 16 ? 1 : 2;
    const uint32_t rows = FUSED_ROWS;
    gpu_plan *const step = plan_append(plan);

    if (step == NULL) {
        return 0;
    }
    fused_args *const a = PLAN_ARGS(step, fused_args);
    a->p = j->p;
    a->g = *g;
    a->g.placed = 1;
    a->g.pitch = fused_pitch(g->k);
    a->glu = j->glu.glu;
    a->glu_mode = layer_act_mode(&a->glu);
    a->routes = f->routes;
    a->is_first = is_act || !j->has_one || !j->has_glu;
    a->halves = (uint32_t)j->halves;
    a->placed = (uint32_t)(is_act && j->has_two);
    a->y_pitch = a->placed ? fused_pitch(j->inter) : is_act ? j->inter : g->n;
    a->m_tiles = (uint32_t)((g->n + rows - 1) / rows);
    step->kernel = &fused_gemms[is_act][few];
    step->threads = FUSED_LANES;
    step->shared = 1024 + fused_few_bytes[few] + rows * (uint32_t)(g->k / 32) +
                   12 * FUSED_COLUMNS + 16;
    step->blocks = fused_tiles(j) * a->m_tiles;
    step->overlaps = 1;
    return 1;
}

static int fused_begin_plan(gpu_plan *plan, const layer_job *j,
                            const fused_prepare_args *f)
{
    static const gpu_kernel prepare = KERNEL(fused_prepare, 0);
    const uint64_t work = f->rows * f->pitch / 8;
    const uint64_t blocks = (work + FUSED_THREADS - 1) / FUSED_THREADS;

    gpu_plan *const first = plan_step(plan, &prepare, 1);

    if (first == NULL) {
        return 0;
    }
    first->waves = 0;
    first->threads = FUSED_THREADS;
    first->blocks = 1 + (blocks > 1024 ? 1024 : blocks);
    fused_prepare_args *const a = PLAN_ARGS(first, fused_prepare_args);
    *a = *f;
    a->p = j->p;
    a->experts = (uint32_t)j->experts;
    a->columns = fused_columns(j);
    if (!j->has_sum) { /* pairs without an expert here keep zeros */
        first->clear = j->y;
        first->n_clear = j->y_bytes;
    }
    return 1;
}

mxo_status plan_fused(layer_job *j, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel add = KERNEL(fused_add, 0);
    fused_prepare_args f;

    if (fused_is_prefill(j)) {
        return plan_prefill(j, &add, plan, why);
    }
    memset(&f, 0, sizeof f);
    const mxo_status status = fused_scratch(j, &f, plan->scratch, why);
    int done = status == MXO_OK;

    if (status != MXO_OK) {
        return status;
    }
    done = fused_begin_plan(plan, j, &f);
    if (done && j->has_one) {
        done = step_fused(plan, j, &f, &j->one, j->has_glu);
    }
    if (done && j->has_two) {
        done = step_fused(plan, j, &f, &j->two, 0);
    }
    if (done && j->has_sum) {
        gpu_plan *const sum = step_sum(plan, j, &add);
        done = sum != NULL;
        if (done) {
            sum->overlaps = 1;
        }
    }
    return done ? MXO_OK
                : gpu_fail(MXO_E_NOMEM, why, "no memory for the launches");
}
