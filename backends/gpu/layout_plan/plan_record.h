/* SPDX-License-Identifier: Apache-2.0 */
/* layout.record: two chains into one memory, each leaves the other's bytes. */
#ifndef GPU_PLAN_RECORD_H
#define GPU_PLAN_RECORD_H

#include "host/call.h"
#include "host/plans.h"
#include "layout_plan/layout_chain.h"
#include "layout_plan/plan_layout.h"
#include "layout_plan/plan_move.h"
#include "port/runtime.h"

/* The chain of NAME_codes or NAME_scale on its tensor. */
static mxo_status record_part(const mxo_call *call, const char *part,
                              layout_chain *c, mxo_text why)
{
    const char *const name = call_text(call, "record");
    const mxo_tensor *const x = call_in(call, part);
    const int n_id = (int)strcspn(name, "/");
    char text[CHAIN_TEXT];

    if (x == NULL || x->rank != 3 || type_bytes(x->dtype) == 0) {
        return gpu_fail(MXO_E_SHAPE, why, "layout.record: %s does not fit",
                        part);
    }
    if (snprintf(text, sizeof text, "%.*s_%s%s", n_id, name, part,
                 name + n_id) >= (int)sizeof text) {
        return gpu_fail(MXO_E_PARAM, why, "layout.record: too long a name");
    }
    uint64_t shape[3] = {x->shape[0], x->shape[1], x->shape[2]};
    uint32_t type = x->dtype;
    c->n = 0;
    MXO_TRY(chain_add(c, text, strlen(text), 0, &type, shape, why));
    return c->last.n_records > 0
               ? MXO_OK
               : gpu_fail(MXO_E_PARAM, why, "%s has no records", text);
}

mxo_status plan_record(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    layout_chain codes;
    layout_chain scale;
    chain_run run;
    uint8_t *y = NULL;

    MXO_TRY(record_part(call, "codes", &codes, why));
    MXO_TRY(record_part(call, "scale", &scale, why));
    const uint64_t n = map_bytes(&codes.last);
    if (map_bytes(&scale.last) != n) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "layout.record: codes and scales do not fit");
    }
    MXO_TRY(need_memory(call, "y", MXO_U8, n, &y, why));
    const uint64_t room[2] = {chain_room(&codes), chain_room(&scale)};
    MXO_TRY(
        chain_begin(&run, plan, room[0] > room[1] ? room[0] : room[1], why));
    run.end = y;
    run.at = tensor_address(call_in(call, "codes"));
    MXO_TRY(chain_there(&run, &codes, why));
    run.joins = 1;
    run.at = tensor_address(call_in(call, "scale"));
    return chain_there(&run, &scale, why);
}

#endif
