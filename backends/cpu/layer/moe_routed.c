/* SPDX-License-Identifier: Apache-2.0 */
/* moe.layer_routed: the two calls of ../../routed.h, one after the other. */
#include "cpu.h"

#include "../../common/routed.h"

#include <stdlib.h>

mxo_status cpu_moe_layer_routed(cpu_context *ctx, const mxo_call *call,
                                mxo_text why)
{
    MXO_TRY(routed_check(call, why));
    const uint64_t bytes = 4 * call_in(call, "logits")->shape[0] *
                           (uint64_t)call_number(call, "top_k");
    routed_calls *r = calloc(1, sizeof *r);
    uint8_t *between = malloc((size_t)(2 * bytes) + 1);
    mxo_status status =
        cpu_fail(MXO_E_NOMEM, why, "no memory for ids and weights");

    if (r != NULL && between != NULL) {
        r->between[0].buffer = between;
        r->between[1].buffer = between + bytes;
        routed_make(r, call);
        status = cpu_route_topk(ctx, &r->route, why);
        status = status == MXO_OK ? cpu_moe_layer(ctx, &r->layer, why) : status;
    }
    free(between);
    free(r);
    return status;
}
