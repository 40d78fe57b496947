/* SPDX-License-Identifier: Apache-2.0 */
/* dequant.mx: the rules as flags, and the plan of a call. */
#include "host/call.h"
#include "host/plans.h"
#include "ops/dequant.h"
#include "ops/dequant_rules.h"
#include "port/runtime.h"

GPU_ENTRY(dequant_e2m1_bf16, dequant_args, dequant_body(a, DEQUANT_BF16))
GPU_ENTRY(dequant_e2m1_f16, dequant_args, dequant_body(a, DEQUANT_F16))
GPU_ENTRY(dequant_e2m1_f32, dequant_args, dequant_body(a, DEQUANT_F32))

/* Whole vectors of E2M1 along the last axis, by a rule of the tables. */
static int dequant_has_vectors(const mxo_call *call, const mxo_tensor *q,
                               uint32_t *flags)
{
    const char *const rule = call_text(call, "rule");
    const double axis = call_number(call, "axis");
    const int positive = call_is(call, "zero", "positive");
    const uint32_t to = call_is(call, "to", "f32")   ? TO_F32
                        : call_is(call, "to", "f16") ? TO_F16
                                                     : TO_BF16;
    const int whole = q->rank > 0 && call_is(call, "element", "e2m1") &&
                      (axis == -1 || axis == (double)q->rank - 1) &&
                      q->shape[q->rank - 1] % 16 == 0;

    for (size_t i = 0;
         whole && i < sizeof dequant_rules / sizeof dequant_rules[0]; i++) {
        const uint32_t row = dequant_rules[i].flags;
        /* A wrapped exponent makes zeros that no code order tells. */
        const int possible = (dequant_rules[i].formats & to) != 0 &&
                             !(positive && (row & DEQUANT_WRAP) != 0);
        if (strcmp(dequant_rules[i].name, rule) == 0 && possible) {
            *flags = row | (positive ? DEQUANT_POSITIVE : 0);
            return 1;
        }
    }
    return 0;
}

mxo_status plan_dequant(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernels[] = {KERNEL(dequant_e2m1_bf16, 0),
                                         KERNEL(dequant_e2m1_f16, 0),
                                         KERNEL(dequant_e2m1_f32, 0)};
    static const uint32_t types[] = {MXO_BF16, MXO_F16, MXO_F32};
    const mxo_tensor *const q = call_in(call, "q");
    dequant_args *const a = PLAN_ARGS(plan, dequant_args);
    uint8_t *address = NULL;

    if (q == NULL) {
        return gpu_fail(MXO_E_SHAPE, why, "dequant.mx needs the tensor q");
    }
    if (!dequant_has_vectors(call, q, &a->flags)) {
        return plan_dequant_any(call, plan, why);
    }
    const int to = call_is(call, "to", "f32")   ? DEQUANT_F32
                   : call_is(call, "to", "f16") ? DEQUANT_F16
                                                : DEQUANT_BF16;
    const uint64_t out_bytes = q->n_bytes * (to == DEQUANT_F32 ? 8 : 4);
    const gpu_want scale = want_beside(q, MXO_E8M0, q->shape[q->rank - 1] / 16);
    const gpu_want y = want_beside(q, types[to], q->shape[q->rank - 1] * 2);

    MXO_TRY(need_shaped(call, 0, "scale", &scale, &address, why));
    a->scale = address;
    MXO_TRY(need_shaped(call, 1, "y", &y, &address, why));
    a->y = address;
    a->q = tensor_address(q);
    a->n = out_bytes / 16;
    plan->kernel = &kernels[to];
    plan->blocks =
        (a->n + DEQUANT_STEPS * GPU_BLOCK - 1) / (DEQUANT_STEPS * GPU_BLOCK);
    return MXO_OK;
}
