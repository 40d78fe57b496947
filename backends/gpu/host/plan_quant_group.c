/* SPDX-License-Identifier: Apache-2.0 */
/* quant.group, quant.scale, quant.requant: parameters and tensors. */
#include "host/call.h"
#include "host/plans.h"
#include "ops/quant_group.h"
#include "port/runtime.h"

GPU_ENTRY(quant_group_amax, quant_group_args, group_amax_body(a))
GPU_ENTRY(quant_group_scales, quant_group_args, group_scales_body(a))
GPU_ENTRY(quant_group_codes, quant_group_args, group_codes_body(a))
GPU_ENTRY(quant_scale_bytes, quant_scale_args, scale_body(a))
GPU_ENTRY(quant_requant, requant_args, requant_body(a))

static mxo_status group_params(const mxo_call *call, quant_group_args *a,
                               mxo_text why)
{
    static const char *const forms[] = {"f32", "e8m0", "packed"};
    uint32_t form = 0;

    while (form < GROUP_WORDS_DOWN && !call_is(call, "scale", forms[form])) {
        form++;
    }
    a->form = form;
    MXO_TRY(call_flag(call, "pow2", &a->by_byte, why));
    a->packed = (uint32_t)call_is(call, "element", "e2m1");
    a->from = call_is(call, "from", "f32")   ? QUANT_F32
              : call_is(call, "from", "f16") ? QUANT_F16
                                             : QUANT_BF16;
    if (form != GROUP_F32 && !a->by_byte) {
        return gpu_fail(MXO_E_PARAM, why, "quant.group: scale=%s needs pow2=1",
                        call_text(call, "scale"));
    }
    return quant_need(call, &a->q, call_text(call, "rule"), why);
}

/* Elements of a group along an axis; 0 is the whole of it. */
static uint64_t group_size(double given, uint64_t axis)
{
    return given > 0 ? (uint64_t)given : axis + (axis == 0);
}

static mxo_status group_shape(const mxo_call *call, quant_group_args *a,
                              mxo_text why)
{
    const mxo_tensor *const x = call_in(call, "x");
    const double height = call_number(call, "group_rows");
    const double width = call_number(call, "group_cols");
    const int whole = height == 0 && width == 0; /* one group, if empty too */

    if (height < 0 || width < 0) {
        return gpu_fail(MXO_E_PARAM, why,
                        "quant.group: a group size is negative");
    }
    if (x == NULL || x->rank == 0 || (x->rank != 2 && height > 1)) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "quant.group: groups of rows need a matrix");
    }
    a->x = tensor_address(x);
    a->cols = x->shape[x->rank - 1];
    a->rows = 1;
    for (uint32_t i = 0; i + 1 < x->rank; i++) {
        a->rows *= x->shape[i];
    }
    a->height = group_size(height, a->rows);
    a->width = group_size(width, a->cols);
    a->down = whole ? 1 : (a->rows + a->height - 1) / a->height;
    a->across = whole ? 1 : (a->cols + a->width - 1) / a->width;
    a->n_codes = a->rows * a->cols / (a->packed ? 2 : 1);
    if (a->packed && a->cols % 2 != 0) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "quant.group: E2M1 columns do not pair up");
    }
    return a->form >= GROUP_WORDS && !a->packed && a->across % 4 != 0 &&
                   (a->q.rule.flags & QUANT_PACK_FULL) != 0
               ? gpu_fail(MXO_E_SHAPE, why,
                          "quant.group: this rule packs FP8 scales four by "
                          "four")
               : MXO_OK;
}

/* By group, one for the whole tensor, by row of any tensor, or in words. */
static gpu_want group_scales(const mxo_call *call, const mxo_tensor *x,
                             const quant_group_args *a)
{
    const double height = call_number(call, "group_rows");
    const uint64_t words = (a->across + 3) / 4;
    const gpu_want down = {MXO_I32, 2, {words, (a->down + 3) / 4 * 4}};
    const gpu_want packed = {MXO_I32, 2, {a->down, words}};
    gpu_want plain = {MXO_E8M0, 2, {a->down, a->across}};

    if (a->form >= GROUP_WORDS) {
        return a->form == GROUP_WORDS ? packed : down;
    }
    if (a->form == GROUP_F32) {
        plain.dtype = MXO_F32;
    }
    if (a->form == GROUP_F32) {
        plain.dtype = MXO_F32;
    }
    if (height == 0 && call_number(call, "group_cols") == 0) {
        plain.rank = 1;
    }
    return height == 1 ? want_beside(x, plain.dtype, a->across) : plain;
}

static mxo_status group_outputs(const mxo_call *call, quant_group_args *a,
                                mxo_text why)
{
    const mxo_tensor *const x = call_in(call, "x");
    const gpu_want q =
        want_beside(x, call_dtype(call, call_text(call, "element")),
                    a->packed ? a->cols / 2 : a->cols);
    const gpu_want scale = group_scales(call, x, a);
    uint8_t *at = NULL;

    MXO_TRY(need_shaped(call, 1, "q", &q, &at, why));
    a->codes = at;
    MXO_TRY(need_shaped(call, 1, "scale", &scale, &at, why));
    a->scale = at;
    a->pitch = scale.shape[1];
    a->n_scales = 1;
    for (uint32_t i = 0; i < scale.rank; i++) {
        a->n_scales *= scale.shape[i];
    }
    return MXO_OK;
}

mxo_status plan_quant_group(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel amax = KERNEL(quant_group_amax, 1);
    static const gpu_kernel scales = KERNEL(quant_group_scales, 0);
    static const gpu_kernel codes = KERNEL(quant_group_codes, 0);
    quant_group_args a;

    memset(&a, 0, sizeof a);
    MXO_TRY(group_params(call, &a, why));
    MXO_TRY(group_shape(call, &a, why));
    MXO_TRY(group_outputs(call, &a, why));
    const uint64_t groups = a.down * a.across;

    MXO_TRY(scratch_need(plan->scratch, 4 * groups + 4, why));
    a.amax = (uint32_t *)plan->scratch->p;
    gpu_plan *const steps[] = {
        plan_step(plan, &amax, groups * GPU_WARP),
        plan_step(plan, &scales, a.n_scales),
        plan_step(plan, &codes, a.n_codes),
    };
    for (int i = 0; i < 3; i++) {
        if (steps[i] == NULL) {
            return gpu_fail(MXO_E_NOMEM, why, "no memory for the launches");
        }
        *PLAN_ARGS(steps[i], quant_group_args) = a;
    }
    return MXO_OK;
}

mxo_status plan_scale(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(quant_scale_bytes, 0);
    const mxo_tensor *const amax = call_in(call, "amax");
    quant_scale_args *const a = PLAN_ARGS(plan, quant_scale_args);

    if (amax == NULL) {
        return gpu_fail(MXO_E_SHAPE, why, "quant.scale needs the tensor amax");
    }
    gpu_want want = {MXO_E8M0, amax->rank, {0}};
    memcpy(want.shape, amax->shape, sizeof want.shape);
    MXO_TRY(quant_need(call, &a->q, call_text(call, "rule"), why));
    MXO_TRY(need_shaped(call, 1, "scale", &want, &a->scale, why));
    a->amax = tensor_address(amax);
    a->n = amax->n_bytes / 4;
    return plan_step(plan, &kernel, a->n) == NULL ? MXO_E_NOMEM : MXO_OK;
}

mxo_status plan_requant(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernel = KERNEL(quant_requant, 0);
    const mxo_tensor *const q = call_in(call, "q");
    const mxo_tensor *const offset = call_in(call, "offset");
    requant_args *const a = PLAN_ARGS(plan, requant_args);

    if (q == NULL || offset == NULL || q->n_bytes != 16 * offset->n_bytes) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "quant.requant: an offset is for 32 codes");
    }
    gpu_want want = {q->dtype, q->rank, {0}};
    memcpy(want.shape, q->shape, sizeof want.shape);
    (void)quant_make(&a->q, "e2m1", "floor", "rna");
    MXO_TRY(need_shaped(call, 1, "y", &want, &a->y, why));
    a->codes = tensor_address(q);
    a->offset = tensor_address(offset);
    a->n = q->n_bytes;
    return plan_step(plan, &kernel, a->n) == NULL ? MXO_E_NOMEM : MXO_OK;
}
