/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of the MoE layer or of one of its halves, read and checked, and the
 * plans that can take it: small batch, tensor cores, or the plain kernels.
 */
#ifndef GPU_LAYER_JOB_H
#define GPU_LAYER_JOB_H

#include "host/call.h"
#include "layer/layer.h"
#include "layer/layer_act.h"
#include "layer/layer_any.h"
#include "layer/layer_operands.h"
#include "port/runtime.h"

typedef struct layer_job {
    const mxo_call *call;
    int has_one, has_two; /* halves that the operation computes */
    int has_glu, has_sum; /* and how far */
    int halves;           /* rows of w13 are gates, then ups */
    uint64_t tokens, hidden, inter, experts;
    layer_pairs p;
    layer_gemm one, two;
    layer_args rest[2];          /* of them: all but p and g */
    layer_operands_args rows[2]; /* and how their rows are made */
    int behind[2];        /* binary places by which their operands are small */
    int is_any;           /* more than the kernels of layer_fast/ know */
    int by_glu, by_input; /* places of the routing weight */
    glu_constants *table; /* of the experts, on the host; owned; or NULL */
    layer_glu_args glu;
    layer_sum_args sum;
    void *y;
    uint64_t y_bytes;
    uint64_t kept;        /* bytes of the scratch that others have */
    uint64_t used;        /* of it, behind job_scratch() */
    const uint32_t *when; /* layer_is_needed(), of the plain launches */
} layer_job;

static inline uint64_t layer_bytes(uint32_t type)
{
    return type == LAYER_F32 ? 4 : 2;
}

/* Reserves bytes of scratch memory from *end on, in multiples of 256. */
static inline uint64_t job_take(uint64_t *end, uint64_t bytes)
{
    const uint64_t at = *end;

    *end += (bytes + 255) / 256 * 256;
    return at;
}

/* How layer_act_two() gets the dialect. */
static inline uint32_t layer_act_mode(const glu_args *u)
{
    const int clamps_round = u->rule.clamp == GLU_CLAMP_ROUNDED &&
                             u->from != u->to; /* what is within, too */

    if (u->margin >= 1 || u->rule.typed || u->rule.through_bf16 ||
        clamps_round || u->rule.clamp == GLU_CLAMP_AFTER) {
        return u->rule.exact && u->margin < 1 ? (uint32_t)GLU_EXACT
                                              : (uint32_t)LAYER_ACT_SLOW;
    }
    return u->rule.exact ? GLU_EXACT : u->rule.kept ? GLU_KEPT : GLU_STEPS;
}

/* Where the tensor cores' GEMMs read and write: activations in their order, of
   the second GEMM, and rows. */
static inline void job_link(layer_job *j, void *placed, void *act, void *rows)
{
    const int joined = j->has_one && j->has_two;

    j->one.a = placed;
    j->one.y = joined ? act : j->y;
    j->two.a = joined ? act : placed;
    j->two.y = j->has_sum ? rows : j->y;
    j->sum.rows = j->two.y;
    j->sum.row_type = j->two.out;
    j->sum.y = j->y;
}

/* Fill in the sum over experts, but for addresses. */
void sum_fill(layer_job *j);

/* Appends the sum over experts; NULL: no memory. */
gpu_plan *step_sum(gpu_plan *plan, layer_job *j, const gpu_kernel *add);

/* The plain launches: room in the scratch, all of them, or some. */
mxo_status job_scratch(layer_job *j, gpu_scratch *scratch, mxo_text why);
mxo_status job_steps(layer_job *j, gpu_plan *plan, mxo_text why);
gpu_plan *step_rows(gpu_plan *plan, const layer_job *j,
                    const layer_operands_args *rows);
int step_gemm(gpu_plan *plan, const layer_job *j, int second,
              const float *sums);
int step_glu(gpu_plan *plan, layer_job *j);
int step_any_sum(gpu_plan *plan, layer_job *j);

/* A GEMM whose sums are in no order of their own, from rows in BF16. */
int job_has_products(const layer_job *j, const gpu_plan *plan);
mxo_status plan_products(layer_job *j, gpu_plan *plan, mxo_text why);

#if GPU_HAS_SMALL_BATCH
int job_is_small_batch(const layer_job *j, const gpu_plan *plan);
mxo_status plan_small_batch(layer_job *j, gpu_plan *plan, mxo_text why);
#endif

#if GPU_HAS_FUSED
int job_is_fused(const layer_job *j, const gpu_plan *plan);
mxo_status plan_fused(layer_job *j, gpu_plan *plan, mxo_text why);
/* Bytes of scratch that it takes. */
uint64_t fused_bytes(const layer_job *j);
#endif

#endif
