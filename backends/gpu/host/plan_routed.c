/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.layer_routed, the two calls of ../../routed.h.  The layer's plan looks at
 * the ids, so the router has run once before it is made; a launch of the whole
 * has both.
 */
#include "host/call.h"
#include "host/plans.h"
#include "port/runtime.h"

#include "../../common/routed.h"

/* Both calls, with ids and weights in memory that no plan of a layer takes. */
static mxo_status routed_between(routed_calls *r, const mxo_call *call,
                                 gpu_scratch *scratch, mxo_text why)
{
    const uint64_t bytes = 4 * call_in(call, "logits")->shape[0] *
                           (uint64_t)call_number(call, "top_k");
    const uint64_t room = (bytes + 255) / 256 * 256;
    gpu_room *const memory = &scratch->routed[0];

    MXO_TRY(room_need(scratch, &memory->p, &memory->n, 2 * room, why));
    r->between[0].buffer = memory->p;
    r->between[1].buffer = (uint8_t *)memory->p + room;
    routed_make(r, call);
    return MXO_OK;
}

/* The router's launches, now, unless nobody will look at the ids. */
static mxo_status routed_launch(const gpu_plan *plan, mxo_text why)
{
    const gpu_scratch *const s = plan->scratch;

    for (; plan != NULL && !s->captures; plan = plan->next) {
        const gpu_shape shape = {(uint32_t)plan->blocks, 0, 0, 0,
                                 s->lanes.stream[0],     0};
        if (plan->blocks > 0) {
            MXO_TRY(gpu_launch(plan->kernel, &shape, &plan->args, why));
        }
    }
    return MXO_OK;
}

static mxo_status routed_plan(const mxo_call *call, gpu_plan *plan,
                              routed_calls *r, mxo_text why)
{
    gpu_scratch *const scratch = plan->scratch;

    MXO_TRY(routed_between(r, call, scratch, why));
    /* The layer's plan must not take the router's room. */
    scratch_swap(scratch, &scratch->routed[1]);
    const mxo_status status = plan_route(&r->route, plan, why);
    scratch_swap(scratch, &scratch->routed[1]);
    MXO_TRY(status);
    MXO_TRY(routed_launch(plan, why));
    return plan_layer_behind(&r->layer, plan, why);
}

mxo_status plan_routed(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    MXO_TRY(routed_check(call, why));
    routed_calls *const r = (routed_calls *)calloc(1, sizeof *r);
    const mxo_status status =
        r == NULL ? gpu_fail(MXO_E_NOMEM, why, "no memory for the calls")
                  : routed_plan(call, plan, r, why);

    free(r);
    return status;
}
