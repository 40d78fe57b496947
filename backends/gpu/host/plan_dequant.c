/* SPDX-License-Identifier: Apache-2.0 */
/* dequant.mx: the rules as flags, and the plan of a call; quant.mx and
   dequant.mx where blocks are no runs of vectors. */
#include "host/call.h"
#include "host/plans.h"
#include "ops/dequant.h"
#include "ops/dequant_rules.h"
#include "ops/mx_any.h"
#include "port/runtime.h"

#include "../../common/mx_place_call.h"

GPU_ENTRY(dequant_e2m1_bf16, dequant_args, dequant_body(a, DEQUANT_BF16))
GPU_ENTRY(dequant_e2m1_f16, dequant_args, dequant_body(a, DEQUANT_F16))
GPU_ENTRY(dequant_e2m1_f32, dequant_args, dequant_body(a, DEQUANT_F32))
GPU_ENTRY(quant_any, quant_any_args, quant_any_body(a))
GPU_ENTRY(dequant_any, dequant_any_args, dequant_any_body(a))

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

/* Type of the tensor that has the codes of an element. */
static uint32_t any_dtype(const mxo_call *call)
{
    return call_is(call, "element", "int8")
               ? (uint32_t)MXO_U8
               : call_dtype(call, call_text(call, "element"));
}

static gpu_want any_want(const mxo_tensor *t, uint32_t dtype, int axis,
                         uint64_t n)
{
    gpu_want w = {dtype, t->rank, {0}};

    memcpy(w.shape, t->shape, sizeof w.shape);
    w.shape[axis] = n;
    return w;
}

mxo_status plan_quant_any(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(quant_any, 0);
    const mxo_tensor *const x = call_in(call, "x");
    quant_any_args *const a = PLAN_ARGS(plan, quant_any_args);
    const char *const rule = call_text(call, "rule");
    const int packed = call_is(call, "element", "e2m1");
    const int may_be_short =
        strncmp(rule, "triton3", 7) == 0 || strcmp(rule, "aiter_dynamic") == 0;
    gpu_want scale = {MXO_E8M0, 0, {0}};

    MXO_TRY(quant_need(call, &a->q, rule, why));
    MXO_TRY(mx_place_make(call, &a->place, packed, may_be_short, why));
    const gpu_want q = any_want(x, any_dtype(call), mx_axis(call, x),
                                a->place.padded / (packed ? 2 : 1));

    scale.rank = mx_scale_shape(call, &a->place, scale.shape);
    MXO_TRY(need_shaped(call, 1, "q", &q, &a->codes, why));
    MXO_TRY(need_shaped(call, 1, "scale", &scale, &a->scale, why));
    if (a->place.sf.holes) {
        scale.dtype = MXO_U8;
        MXO_TRY(need_shaped(call, 1, "scale_valid", &scale, &a->valid, why));
    }
    a->x = tensor_address(x);
    a->from = call_is(call, "from", "f32")   ? QUANT_F32
              : call_is(call, "from", "f16") ? QUANT_F16
                                             : QUANT_BF16;
    (void)plan_step(plan, &kernel, a->place.n);
    return MXO_OK;
}

mxo_status plan_dequant_any(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(dequant_any, 0);
    static const uint32_t types[] = {MXO_BF16, MXO_F16, MXO_F32};
    const mxo_tensor *const t = call_in(call, "q");
    dequant_any_args *const a = PLAN_ARGS(plan, dequant_any_args);
    const dialect_row *const row = dialect_of(call_text(call, "rule"));
    const int packed = call_is(call, "element", "e2m1");
    const int axis = t == NULL ? -1 : mx_axis(call, t);
    uint8_t *scale = NULL;
    uint8_t *y = NULL;
    quant_args q;

    if (row == NULL ||
        quant_make(&q, call_text(call, "element"), "floor", "") != 0) {
        return gpu_fail(MXO_E_UNSUPPORTED, why,
                        "dequant.mx on %s has no rule=%s of %s", GPU_NAME,
                        call_text(call, "rule"), call_text(call, "element"));
    }
    a->f = q.f;
    a->to = call_is(call, "to", "f32")   ? DIALECT_TO_F32
            : call_is(call, "to", "f16") ? DIALECT_TO_F16
                                         : DIALECT_TO_BF16;
    a->flags = row->flags;
    if (axis < 0 || !dialect_may(a->flags, packed, (int)a->to)) {
        return gpu_fail(MXO_E_PARAM, why,
                        "dequant.mx: rule=%s does not turn %s into %s, or no "
                        "such axis",
                        row->name, call_text(call, "element"),
                        call_text(call, "to"));
    }
    if (call_is(call, "zero", "positive")) {
        a->flags |= DIALECT_POSITIVE;
    }
    mx_place_lines(&a->place, t, axis, packed ? 2 : 1);
    a->place.packed = (uint32_t)packed;
    const gpu_want s = any_want(t, MXO_E8M0, axis, a->place.blocks);
    const gpu_want out = any_want(t, types[a->to], axis, a->place.len);

    MXO_TRY(need_shaped(call, 0, "scale", &s, &scale, why));
    MXO_TRY(need_shaped(call, 1, "y", &out, &y, why));
    a->q = tensor_address(t);
    a->scale = scale;
    a->y = y;
    (void)plan_step(plan, &kernel, a->place.n);
    return MXO_OK;
}
