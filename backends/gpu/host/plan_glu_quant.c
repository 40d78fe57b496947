/* SPDX-License-Identifier: Apache-2.0 */
/* act.glu_quant: dialects as rows, parameters and tensors. */
#include "host/call.h"
#include "host/plans.h"
#include "ops/glu_quant.h"
#include "port/runtime.h"

GPU_ENTRY(glu_quant_unit, glu_quant_args, gluq_unit_body(a))
GPU_ENTRY(glu_quant_scale, glu_quant_args, gluq_scale_body(a))
GPU_ENTRY(glu_quant_store, glu_quant_args, gluq_store_body(a))
GPU_ENTRY(glu_quant_code, glu_quant_args, gluq_code_body(a))

/* The unit, as a call of act.glu has it. */
static mxo_status gluq_unit(const mxo_call *call, const gluq_row *row,
                            glu_quant_args *a, mxo_text why)
{
    const double limit = call_number(call, "limit");
    const int no_limit = call_is(call, "limit", "none");
    const mxo_param params[] = {{"dialect", row->unit, 0},
                                {"nan", "launder_low", 0},
                                {"alpha", "1", 1},
                                {"beta", "1", 1},
                                {"limit", call_text(call, "limit"), limit}};
    mxo_call act = *call;

    if (!no_limit && !(limit >= 0)) {
        return gpu_fail(MXO_E_PARAM, why,
                        "act.glu_quant: a limit is not negative");
    }
    a->glu.from = call_is(call, "from", "f32") ? GLU_F32 : GLU_BF16;
    a->glu.to = row->keeps ? a->glu.from : (uint32_t)GLU_BF16;
    if (row->unit == NULL) {
        a->glu.limit = no_limit ? __builtin_inff() : (float)limit;
        return MXO_OK;
    }
    act.params = params;
    act.n_params = sizeof params / sizeof params[0];
    return glu_numbers(&act, &a->glu, why);
}

/* Where gates and ups lie, and the weights of rows. */
static mxo_status gluq_inputs(const mxo_call *call, int is_split,
                              glu_quant_args *a, mxo_text why)
{
    const mxo_tensor *const x = call_in(call, is_split ? "gate" : "x");
    const uint64_t bytes = a->glu.from == GLU_F32 ? 4 : 2;
    uint8_t *at = NULL;

    if (x == NULL || x->rank != 2 || (!is_split && x->shape[1] % 2 != 0)) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "act.glu_quant: %s has two axes, and gates beside ups",
                        is_split ? "gate" : "x");
    }
    a->rows = x->shape[0];
    a->pitch = x->shape[1];
    a->cols = is_split ? x->shape[1] : x->shape[1] / 2;
    a->glu.gate = tensor_address(x);
    a->glu.up = tensor_address(x) + bytes * a->cols;
    if (!is_split) {
        return MXO_OK;
    }
    const gpu_want up = want_beside(x, x->dtype, a->cols);
    const gpu_want weight = want_vector(MXO_F32, a->rows);

    MXO_TRY(need_shaped(call, 0, "up", &up, &at, why));
    a->glu.up = at;
    MXO_TRY(need_shaped(call, 0, "topk_weight", &weight, &at, why));
    a->weight = at;
    return MXO_OK;
}

static mxo_status gluq_params(const mxo_call *call, const gluq_row *row,
                              glu_quant_args *a, mxo_text why)
{
    const double group = call_number(call, "group");

    while (a->form < GLUQ_WORDS_DOWN &&
           !call_is(call, "scale", gluq_forms[a->form])) {
        a->form++;
    }
    MXO_TRY(call_flag(call, "pow2", &a->steps.by_power, why));
    a->by_byte = row->by_byte;
    a->steps.inverse = row->inverse;
    a->steps.floor_first = row->floor_first;
    a->steps.floor_last = row->floor_last;
    if (!(group >= 1) || group > 0x1p40 || a->cols % (uint64_t)group != 0) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "act.glu_quant: columns are not whole groups");
    }
    if (!a->steps.by_power && (a->form != GLUQ_F32 || !row->keeps)) {
        return gpu_fail(MXO_E_PARAM, why,
                        "act.glu_quant: pow2=0 is for dialect=vllm_colmajor "
                        "with scale=f32");
    }
    a->group = (uint64_t)group;
    a->groups = a->cols / a->group;
    (void)quant_make(&a->q, "e4m3fn", "floor", "");
    a->q.rule.flags |= QUANT_LIVE_255;
    return MXO_OK;
}

static mxo_status gluq_outputs(const mxo_call *call, glu_quant_args *a,
                               mxo_text why)
{
    static const uint32_t types[] = {MXO_BF16, MXO_F16, MXO_F32};
    const uint64_t words = (a->groups + 3) / 4;
    const gpu_want q = {MXO_E4M3, 2, {a->rows, a->cols}};
    gpu_want y = {MXO_F64, 2, {a->rows, a->cols}};
    gpu_want scale = {MXO_I32, 2, {a->rows, words}};
    uint8_t *at = NULL;

    if (a->weight == NULL) {
        y.dtype = types[a->glu.to];
    }
    if (a->form < GLUQ_WORDS) {
        scale.dtype = a->form == GLUQ_F32 ? MXO_F32 : MXO_E8M0;
        scale.shape[1] = a->groups;
    } else if (a->form == GLUQ_WORDS_DOWN) {
        scale.shape[0] = words;
        scale.shape[1] = (a->rows + 3) / 4 * 4;
    }
    a->words = scale.shape[1];
    a->n_scales = scale.shape[0] * scale.shape[1];
    MXO_TRY(need_shaped(call, 1, "y", &y, &at, why));
    a->y = at;
    MXO_TRY(need_shaped(call, 1, "scale", &scale, &at, why));
    a->scale = at;
    return need_shaped(call, 1, "q", &q, &a->codes, why);
}

static mxo_status gluq_read(const mxo_call *call, glu_quant_args *a,
                            mxo_text why)
{
    const gluq_row *const row = gluq_row_of(call_text(call, "dialect"));

    if (row == NULL) {
        return gpu_fail(MXO_E_UNSUPPORTED, why, "act.glu_quant on %s has no %s",
                        GPU_NAME, call_text(call, "dialect"));
    }
    MXO_TRY(gluq_unit(call, row, a, why));
    MXO_TRY(gluq_inputs(call, row->unit == NULL, a, why));
    MXO_TRY(gluq_params(call, row, a, why));
    return gluq_outputs(call, a, why);
}

mxo_status plan_glu_quant(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel kernels[] = {
        KERNEL(glu_quant_unit, 0), KERNEL(glu_quant_scale, 0),
        KERNEL(glu_quant_store, 0), KERNEL(glu_quant_code, 0)};
    glu_quant_args a;

    memset(&a, 0, sizeof a);
    MXO_TRY(gluq_read(call, &a, why));
    const uint64_t groups = a.rows * a.groups;
    const uint64_t n[] = {a.rows * a.cols, groups, a.n_scales, a.rows * a.cols};

    MXO_TRY(scratch_need(plan->scratch, 4 * groups + 4, why));
    a.unit = (uint32_t *)plan->scratch->p;
    for (int i = 0; i < 4; i++) {
        gpu_plan *const step = plan_step(plan, &kernels[i], n[i]);
        if (step == NULL) {
            return gpu_fail(MXO_E_NOMEM, why, "no memory for the launches");
        }
        *PLAN_ARGS(step, glu_quant_args) = a;
    }
    return MXO_OK;
}
