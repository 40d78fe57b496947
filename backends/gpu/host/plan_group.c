/* SPDX-License-Identifier: Apache-2.0 */
/* quant.static, quant.qdq, dequant.group: parameters and tensors. */
#include "host/call.h"
#include "host/plans.h"
#include "layer/quant_ops.h"
#include "port/runtime.h"

GPU_ENTRY(quant_static, static_args, static_body(a))
GPU_ENTRY(quant_qdq, qdq_args, qdq_body(a))
GPU_ENTRY(dequant_group, group_args, group_body(a))

static uint32_t group_type(const mxo_call *call, const char *key)
{
    return call_is(call, key, "f32")   ? (uint32_t)LAYER_F32
           : call_is(call, key, "f16") ? (uint32_t)LAYER_F16
                                       : (uint32_t)LAYER_BF16;
}

mxo_status plan_static(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(quant_static, 0);
    const mxo_tensor *const x = call_in(call, "x");
    const mxo_tensor *const s = call_in(call, "scale");
    static_args *const a = PLAN_ARGS(plan, static_args);
    uint8_t *y = NULL;

    if (x == NULL || s == NULL || s->n_bytes != 4) {
        return gpu_fail(MXO_E_SHAPE, why, "quant.static: scale is one number");
    }
    gpu_want want = {
        call_dtype(call, call_text(call, "element")), x->rank, {0}};
    memcpy(want.shape, x->shape, sizeof want.shape);
    mxo_status status = quant_need(call, &a->q, "floor", why);

    if (status == MXO_OK) {
        status = need_shaped(call, 1, "q", &want, &y, why);
    }
    if (call_is(call, "nan", "max")) {
        a->q.rule.code_nan = QUANT_NAN_MAX;
    }
    a->type = group_type(call, "from");
    a->x = tensor_address(x);
    a->scale = tensor_address(s);
    a->y = y;
    a->n = x->n_bytes / (a->type == LAYER_F32 ? 4 : 2);
    a->reciprocal = (uint32_t)call_is(call, "apply", "reciprocal");
    (void)plan_step(plan, &kernel, a->n);
    return status;
}

mxo_status plan_qdq(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(quant_qdq, 0);
    const mxo_tensor *const x = call_in(call, "x");
    const int quark = call_is(call, "rule", "quark_hip");
    qdq_args *const a = PLAN_ARGS(plan, qdq_args);
    uint8_t *at[3] = {NULL, NULL, NULL};

    if (x == NULL || x->rank == 0 || x->shape[x->rank - 1] % LAYER_BLOCK != 0) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "quant.qdq: the last axis is no multiple of 32");
    }
    const uint64_t cols = x->shape[x->rank - 1];
    const gpu_want q = want_beside(x, MXO_U8, cols / 2);
    const gpu_want scale = want_beside(x, MXO_E8M0, cols / LAYER_BLOCK);
    const gpu_want y = want_beside(x, x->dtype, cols);
    MXO_TRY(need_shaped(call, 1, "q", &q, &at[0], why));

    MXO_TRY(need_shaped(call, 1, "scale", &scale, &at[1], why));
    MXO_TRY(need_shaped(call, 1, "y", &y, &at[2], why));
    (void)quant_make(&a->o.q, "e2m1", quark ? "floor" : "quark_triton", "");
    a->o.op = quark ? LAYER_BY_QUARK_HIP : LAYER_BY_QDQ;
    a->o.type = group_type(call, "from");
    a->o.from = tensor_address(x);
    a->blocks = x->n_bytes / 2 / LAYER_BLOCK;
    a->o.k = a->blocks * LAYER_BLOCK;
    a->o.rows = 1;
    a->o.group = LAYER_BLOCK;
    a->codes = at[0];
    a->scale = at[1];
    a->y = at[2];
    (void)plan_step(plan, &kernel, a->blocks);
    return MXO_OK;
}

/* Elements of a group along an axis; 0 is the whole of it. */
static uint64_t group_size(double given, uint64_t axis)
{
    return given > 0 ? (uint64_t)given : axis + (axis == 0);
}

mxo_status plan_dequant_group(const mxo_call *call, gpu_plan *plan,
                              mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(dequant_group, 0);
    static const uint32_t types[] = {MXO_BF16, MXO_F16, MXO_F32};
    const mxo_tensor *const q = call_in(call, "q");
    const double height = call_number(call, "group_rows");
    const double width = call_number(call, "group_cols");
    group_args *const a = PLAN_ARGS(plan, group_args);
    quant_args element;
    uint8_t *scale = NULL;
    uint8_t *y = NULL;

    if (q == NULL || q->rank < 2) {
        return gpu_fail(MXO_E_SHAPE, why, "dequant.group: q needs two axes");
    }
    if (height < 0 || width < 0) {
        return gpu_fail(MXO_E_PARAM, why,
                        "dequant.group: a group size is negative");
    }
    MXO_TRY(quant_need(call, &element, "floor", why));

    a->f = element.f;
    a->packed = (uint32_t)call_is(call, "element", "e2m1");
    a->positive = (uint32_t)call_is(call, "zero", "positive");
    a->to = group_type(call, "to");
    a->rows = q->shape[q->rank - 2];
    a->cols = q->shape[q->rank - 1] * (a->packed ? 2 : 1);
    a->n = q->n_bytes * (a->packed ? 2 : 1);
    a->group_rows = group_size(height, a->rows);
    a->group_cols = group_size(width, a->cols);
    a->scale_rows = (a->rows + a->group_rows - 1) / a->group_rows;
    a->scale_cols = (a->cols + a->group_cols - 1) / a->group_cols;
    gpu_want scales = want_beside(q, MXO_F32, a->scale_cols);
    const gpu_want out = want_beside(q, types[a->to], a->cols);

    scales.shape[q->rank - 2] = a->scale_rows;
    MXO_TRY(need_shaped(call, 0, "scale", &scales, &scale, why));
    MXO_TRY(need_shaped(call, 1, "y", &out, &y, why));
    a->q = tensor_address(q);
    a->scale = scale;
    a->y = y;
    (void)plan_step(plan, &kernel, a->n);
    return MXO_OK;
}
