/* SPDX-License-Identifier: Apache-2.0 */
/* quant.mx and dequant.mx where blocks are no runs of vectors. */
#include "host/call.h"
#include "host/plans.h"
#include "ops/mx_any.h"
#include "port/runtime.h"

#include "../../shared/mx_place_call.h"

GPU_ENTRY(quant_any, quant_any_args, quant_any_body(a))
GPU_ENTRY(dequant_any, dequant_any_args, dequant_any_body(a))

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
    const int may_be_short = strncmp(rule, "triton3", 7) == 0;
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
