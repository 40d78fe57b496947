/* SPDX-License-Identifier: Apache-2.0 */
/* See call_job.h. */
#include "host/call_job.h"

#include "host/plans.h"
#include "port/runtime.h"

static void plan_end(gpu_plan *plan)
{
    while (plan->next != NULL) {
        gpu_plan *const next = plan->next;

        plan->next = next->next;
        free(next);
    }
}

/* Few enough to keep busy, or all: fresh blocks hide each other's ends. */
static mxo_status plan_grid(gpu_context *c, gpu_plan *plan, mxo_text why)
{
    uint32_t residents = 1;

    if (plan->kernel == NULL) {
        return MXO_OK;
    }
    const mxo_status status =
        plan->waves == 0 ? MXO_OK
                         : gpu_residents(plan->kernel->entry, &residents, why);
    const uint64_t held =
        plan->waves == 0 ? plan->blocks
                         : (uint64_t)residents * c->device.units * plan->waves;

    plan->grid = (uint32_t)(plan->blocks < held ? plan->blocks : held);
    c->kernel = plan->kernel->name;
    c->grid = plan->grid;
    c->threads = plan->threads;
    return status;
}

static mxo_status plan_grids(gpu_context *c, gpu_plan *plan, mxo_text why)
{
    mxo_status status = MXO_OK;

    for (; plan != NULL && status == MXO_OK; plan = plan->next) {
        status = plan_grid(c, plan, why);
    }
    return status;
}

/* Whether a launch met an element that it has no answer for. */
static mxo_status plan_probe(const gpu_plan *plan, mxo_text why)
{
    uint8_t odd = 0;
    const mxo_status status =
        gpu_download(&odd, plan->odd, 1, plan->scratch->lanes.stream[0], why);

    return status != MXO_OK || !odd
               ? status
               : gpu_fail(MXO_E_PARAM, why,
                          "an element has no counterpart in the result");
}

static mxo_status plan_one(gpu_plan *plan, int is_first, int probe,
                           mxo_text why)
{
    void *const stream = plan->scratch->lanes.stream[plan->lane];
    const int overlaps =
        plan->overlaps && !is_first && !plan->scratch->captures;

    if (plan->turn != NULL) {
        plan->turn(plan);
    }
    if (plan->n_clear > 0) {
        MXO_TRY(
            gpu_fill(plan->clear, plan->clear_to, plan->n_clear, stream, why));
    }
    if (plan->grid > 0) {
        const gpu_shape shape = {plan->grid, plan->threads, plan->shared,
                                 overlaps,   stream,        plan->together};
        MXO_TRY(gpu_launch(plan->kernel, &shape, &plan->args, why));
    }
    return probe && plan->odd != NULL ? plan_probe(plan, why) : MXO_OK;
}

/* Lanes that were begun are joined even if a launch fails. */
static mxo_status plan_launch(gpu_plan *plan, int probe, mxo_text why)
{
    const gpu_plan *const first = plan;
    gpu_lanes *const lanes = &plan->scratch->lanes;
    mxo_status status = MXO_OK;
    int forked = 0;

    for (; plan != NULL && status == MXO_OK; plan = plan->next) {
        if (plan->lane > 0 && !forked) {
            status = gpu_fork(lanes, why);
            forked = 1;
        }
        if (status == MXO_OK) {
            status = plan_one(plan, plan == first, probe, why);
        }
    }
    if (!forked) {
        return status;
    }
    const mxo_status joined = gpu_join(lanes, why);
    return status == MXO_OK ? joined : status;
}

/* What a fork asks for, if there is one, before a capture begins. */
static mxo_status plan_lanes(const gpu_plan *plan, mxo_text why)
{
    while (plan != NULL && plan->lane == 0) {
        plan = plan->next;
    }
    return plan == NULL ? MXO_OK : gpu_lanes_open(&plan->scratch->lanes, why);
}

mxo_status call_job_make(gpu_context *c, gpu_scratch *scratch,
                         const mxo_call *call, call_job *job, mxo_text why)
{
    memset(job, 0, sizeof *job);
    job->gather.scratch = scratch;
    job->plan.scratch = scratch;
    job->scatter.scratch = scratch;
    MXO_TRY(
        dense_call_make(call, &job->dense, &job->gather, &job->scatter, why));
    job->dense.call.stream = scratch;
    MXO_TRY(plan_grids(c, &job->gather, why));
    MXO_TRY(plan_grids(c, &job->scatter, why));
    if (!scratch->captures) {
        MXO_TRY(plan_launch(&job->gather, 0, why));
    }
    MXO_TRY(plan_call(&job->dense.call, &job->plan, why));
    MXO_TRY(plan_grids(c, &job->plan, why));
    return plan_lanes(&job->plan, why);
}

void call_job_end(call_job *job)
{
    plan_end(&job->gather);
    plan_end(&job->plan);
    plan_end(&job->scatter);
}

mxo_status call_job_launch(call_job *job, mxo_text why)
{
    MXO_TRY(plan_launch(&job->plan, 1, why));
    return plan_launch(&job->scatter, 0, why);
}

mxo_status call_job_put(call_job *job, mxo_text why)
{
    MXO_TRY(plan_launch(&job->gather, 0, why));
    MXO_TRY(plan_launch(&job->plan, 0, why));
    return plan_launch(&job->scatter, 0, why);
}
