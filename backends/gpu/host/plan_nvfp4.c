/* SPDX-License-Identifier: Apache-2.0 */
/* quant.nvfp4, dequant.nvfp4, moe.nvfp4_scalars. */
#include "host/call.h"
#include "host/plans.h"
#include "ops/glu.h"
#include "ops/nvfp4_ops.h"
#include "port/runtime.h"

#define CODES_FN GPU_FN
#define CODES_CALLED GPU_SLOW
#include "../../common/nvfp4_scalars.h"

GPU_ENTRY(nvfp4_quant, nvfp4_quant_args, nvfp4_quant_body(a))
GPU_ENTRY(nvfp4_dequant, nvfp4_dequant_args, nvfp4_dequant_body(a))
GPU_ENTRY(nvfp4_scalars, nvfp4_scalars_job,
          nvfp4_scalars_experts(a, gpu_thread(), GPU_BLOCK))

static int nvfp4_type(const mxo_call *call, const char *key)
{
    if (call_is(call, key, "e4m3")) {
        return NVFP4_E4M3;
    }
    if (call_is(call, key, "f32")) {
        return NVFP4_F32;
    }
    if (call_is(call, key, "f16")) {
        return NVFP4_F16;
    }
    return NVFP4_BF16;
}

static int nvfp4_math(const mxo_call *call)
{
    static const char *const names[] = {"fast", "ieee", "exact", "vllm",
                                        "trtllm_gen"};
    int i = 0;

    while (i < NVFP4_TRTLLM && !call_is(call, "math", names[i])) {
        i++;
    }
    return i;
}

/* Kernels are not of every kind. */
static mxo_status nvfp4_check(const mxo_call *call, int e8m0, mxo_text why)
{
    const int math = nvfp4_math(call);
    const int from = nvfp4_type(call, "from");

    if ((from == NVFP4_E4M3 && math != NVFP4_FAST && math != NVFP4_EXACT) ||
        (e8m0 && math > NVFP4_IEEE) ||
        (math == NVFP4_TRTLLM) != (from == NVFP4_F32)) {
        return gpu_fail(MXO_E_PARAM, why,
                        "quant.nvfp4: math=%s has no kernel with from=%s and "
                        "scale=%s",
                        call_text(call, "math"), call_text(call, "from"),
                        call_text(call, "scale"));
    }
    return MXO_OK;
}

static void nvfp4_fill_rule(const mxo_call *call, nvfp4_quant_args *a)
{
    const uint32_t math = (uint32_t)nvfp4_math(call);

    a->from = (uint32_t)nvfp4_type(call, "from");
    a->rule.e8m0 = (uint32_t)call_is(call, "scale", "e8m0");
    a->rule.nearest = (uint32_t)call_is(call, "rcp", "rn");
    a->rule.math = math;
    if (math != NVFP4_EXACT && a->from == NVFP4_E4M3) {
        a->rule.math = (uint32_t)NVFP4_FROM_E4M3;
    } else if (math != NVFP4_EXACT && a->rule.e8m0) {
        a->rule.math = (uint32_t)NVFP4_MX;
    }
    a->size = a->rule.e8m0 ? 32 : NVFP4_BLOCK;
    (void)quant_make(&a->mx, "e2m1", "flashinfer", "");
}

static mxo_status nvfp4_global(const mxo_call *call, nvfp4_quant_args *a,
                               uint64_t rows, mxo_text why)
{
    const mxo_tensor *const g = call_in(call, "global_scale");

    uint32_t has_global = 0;
    const mxo_status status = call_flag(call, "global", &has_global, why);

    if (status != MXO_OK || !has_global) {
        return status;
    }
    const uint64_t n = g == NULL ? 0 : g->n_bytes / 4;

    if (n != 1 && (n != rows || n == 0)) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "quant.nvfp4: global_scale is one number, or one per "
                        "row");
    }
    a->global = tensor_address(g);
    a->by_row = n != 1;
    return MXO_OK;
}

/* Scales in a row, or in tiles whose holes are zeros. */
static mxo_status nvfp4_scales(const mxo_call *call, const mxo_tensor *x,
                               gpu_plan *plan, mxo_text why)
{
    nvfp4_quant_args *const a = PLAN_ARGS(plan, nvfp4_quant_args);
    const uint32_t dtype = a->rule.e8m0 ? MXO_E8M0 : MXO_E4M3;
    const uint64_t rows = a->per_row == 0 ? 0 : a->blocks / a->per_row;
    const uint32_t tile = call_is(call, "sf_layout", "128x4") ? 128
                          : call_is(call, "sf_layout", "8x4") ? 8
                                                              : 0;
    const uint64_t n = tile == 0 ? a->blocks
                                 : (rows + tile - 1) / tile * tile *
                                       ((a->per_row + 3) / 4 * 4);
    const gpu_want w = want_beside(x, dtype, a->per_row);

    if (n >= 1u << 31) {
        return gpu_fail(MXO_E_UNSUPPORTED, why,
                        "quant.nvfp4 on %s: too many scales", GPU_NAME);
    }
    a->mx.tiles = tile;
    a->mx.cols = divisor_of(tile != 0 ? (uint32_t)a->per_row : 1);
    plan->n_clear = n == a->blocks ? 0 : n;
    const mxo_status status =
        tile != 0 ? need_memory(call, "scale", dtype, n, &a->scale, why)
                  : need_shaped(call, 1, "scale", &w, &a->scale, why);
    plan->clear = a->scale;
    return status;
}

mxo_status plan_nvfp4_quant(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel quant = KERNEL(nvfp4_quant, 0);
    const mxo_tensor *const x = call_in(call, "x");
    nvfp4_quant_args *const a = PLAN_ARGS(plan, nvfp4_quant_args);
    MXO_TRY(nvfp4_check(call, call_is(call, "scale", "e8m0"), why));

    MXO_TRY(call_flag(call, "inverted", &a->inverted, why));
    nvfp4_fill_rule(call, a);
    if (x == NULL || x->rank == 0 || x->shape[x->rank - 1] % a->size != 0) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "quant.nvfp4: the last axis is no multiple of %u",
                        (unsigned)a->size);
    }
    const uint64_t cols = x->shape[x->rank - 1];
    const uint64_t bytes = a->from == NVFP4_E4M3  ? 1
                           : a->from == NVFP4_F32 ? 4
                                                  : 2;
    const gpu_want q = want_beside(x, MXO_U8, cols / 2);

    a->x = tensor_address(x);
    a->per_row = cols / a->size;
    a->blocks = x->n_bytes / bytes / a->size;
    MXO_TRY(
        nvfp4_global(call, a, cols == 0 ? 0 : x->n_bytes / bytes / cols, why));
    MXO_TRY(nvfp4_scales(call, x, plan, why));
    MXO_TRY(need_shaped(call, 1, "q", &q, &a->q, why));
    (void)plan_step(plan, &quant, a->blocks);
    return MXO_OK;
}

mxo_status plan_nvfp4_dequant(const mxo_call *call, gpu_plan *plan,
                              mxo_text why)
{
    static const gpu_kernel dequant = KERNEL(nvfp4_dequant, 0);
    static const uint32_t types[] = {MXO_BF16, MXO_F16, MXO_F32};
    const mxo_tensor *const q = call_in(call, "q");
    const gpu_want one = want_vector(MXO_F32, 1);
    nvfp4_dequant_args *const a = PLAN_ARGS(plan, nvfp4_dequant_args);
    uint8_t *scale = NULL;
    uint8_t *global = NULL;
    uint8_t *y = NULL;

    if (q == NULL || q->rank == 0) {
        return gpu_fail(MXO_E_SHAPE, why, "dequant.nvfp4: q needs an axis");
    }
    a->to = (uint32_t)nvfp4_type(call, "to");
    a->cols = 2 * q->shape[q->rank - 1];
    a->n = 2 * q->n_bytes;
    const gpu_want bytes =
        want_beside(q, MXO_E4M3, (a->cols + NVFP4_BLOCK - 1) / NVFP4_BLOCK);
    const gpu_want out = want_beside(q, types[a->to], a->cols);
    MXO_TRY(need_shaped(call, 0, "scale", &bytes, &scale, why));

    MXO_TRY(need_shaped(call, 0, "global_scale", &one, &global, why));
    MXO_TRY(need_shaped(call, 1, "y", &out, &y, why));
    a->q = tensor_address(q);
    a->scale = scale;
    a->global = global;
    a->y = y;
    (void)plan_step(plan, &dequant, a->n);
    return MXO_OK;
}

static mxo_status nvfp4_positive(const mxo_call *call,
                                 const nvfp4_scalars_job *a, int in,
                                 mxo_text why)
{
    for (uint64_t i = 0; i < a->count[in]; i++) {
        float x = 0;
        MXO_TRY(call_fetch(call, &x, a->in[in] + 4 * i, 4, why));
        MXO_TRY(nvfp4_scalars_check(call, in, i, x, why));
    }
    return MXO_OK;
}

mxo_status plan_nvfp4_scalars(const mxo_call *call, gpu_plan *plan,
                              mxo_text why)
{
    static const gpu_kernel scalars = KERNEL(nvfp4_scalars, 0);
    nvfp4_scalars_job *const a = PLAN_ARGS(plan, nvfp4_scalars_job);

    MXO_TRY(nvfp4_scalars_make(call, a, why));
    for (int in = 0; in < NVFP4_N_IN && !call_is_captured(call); in++) {
        MXO_TRY(nvfp4_positive(call, a, in, why));
    }
    plan->kernel = &scalars;
    plan->blocks = 1;
    return MXO_OK;
}
