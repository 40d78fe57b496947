/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.mx: parameters, tensors, and the launches: operands, then outputs. */
#include "host/call.h"
#include "host/plans.h"
#include "layer/gemm_ops.h"
#include "port/runtime.h"

GPU_ENTRY(gemm_operand, gemm_operand_args, gemm_operand_body(a))
GPU_ENTRY(gemm_outputs, gemm_args, gemm_body(a))

typedef struct gemm_job {
    gemm_operand_args in[2]; /* activations and weights */
    uint64_t rows[2];
    gemm_args out;
} gemm_job;

/* starts: the order has a place for a bias. */
static const struct {
    const char *name;
    uint32_t kind, exact, starts;
} gemm_orders[] = {
    {"exact", LAYER_ORDER_ANY, 1, 1},
    {"f32", LAYER_ORDER_ANY, 1, 1},
    {"tc25", LAYER_ORDER_ANY, 1, 1},
    {"tc13", LAYER_ORDER_ANY, 1, 1},
    {"seq", LAYER_ORDER_SEQ, 0, 1},
    {"block", LAYER_ORDER_BLOCK, 0, 1},
    {"pairwise", LAYER_ORDER_PAIRWISE, 0, 0},
    {"split", LAYER_ORDER_SPLIT, 0, 0},
    {"dpbf16", LAYER_ORDER_DPBF16, 0, 1},
    {"amx", LAYER_ORDER_AMX, 0, 0},
};

static uint32_t gemm_place(const mxo_call *call)
{
    static const char *const places[] = {"none", "sum", "f32", "to"};
    uint32_t i = 0;

    while (i < GEMM_BIAS_TO && !call_is(call, "bias", places[i])) {
        i++;
    }
    return i;
}

static mxo_status gemm_order(const mxo_call *call, gemm_args *a, mxo_text why)
{
    const size_t n = sizeof gemm_orders / sizeof gemm_orders[0];
    const double splits = call_number(call, "splits");
    size_t i = 0;

    while (i < n && !call_is(call, "acc", gemm_orders[i].name)) {
        i++;
    }
    if (i == n) {
        return gpu_fail(MXO_E_UNSUPPORTED, why,
                        "gemm.mx on %s: acc=%s is not done", GPU_NAME,
                        call_text(call, "acc"));
    }
    a->o.kind = gemm_orders[i].kind;
    a->o.fma = (uint32_t)call_is(call, "mul", "fma");
    a->exact = gemm_orders[i].exact;
    a->g.exact = a->exact;
    a->place = gemm_place(call);
    if (!(splits >= 1) || (splits > 1 && a->o.kind != LAYER_ORDER_SPLIT)) {
        return gpu_fail(MXO_E_PARAM, why,
                        "gemm.mx: splits=%s needs acc=split and at least one",
                        call_text(call, "splits"));
    }
    a->o.splits = (uint64_t)splits;
    if (a->place == GEMM_BIAS_SUM && !gemm_orders[i].starts) {
        return gpu_fail(MXO_E_PARAM, why,
                        "gemm.mx: acc=%s has no place for bias=sum",
                        gemm_orders[i].name);
    }
    return call_is(call, "to", "f64") && (!a->exact || a->place == GEMM_BIAS_TO)
               ? gpu_fail(MXO_E_PARAM, why,
                          "gemm.mx: to=f64 needs acc=exact and no bias=to")
               : MXO_OK;
}

static uint32_t gemm_type(const char *format)
{
    if (strcmp(format, "f32") == 0) {
        return (uint32_t)LAYER_F32;
    }
    if (strcmp(format, "bf16") == 0) {
        return (uint32_t)LAYER_BF16;
    }
    if (strcmp(format, "f16") == 0) {
        return (uint32_t)LAYER_F16;
    }
    return (uint32_t)LAYER_CODES;
}

static mxo_status gemm_read_operand(const mxo_call *call, gemm_job *j, int w,
                                    mxo_text why)
{
    static const char *const names[2][3] = {{"a", "a_scale", "from"},
                                            {"w", "w_scale", "element"}};
    const char *const format = call_text(call, names[w][2]);
    const mxo_tensor *const t = call_in(call, names[w][0]);
    gemm_operand_args *const a = &j->in[w];
    quant_args q;
    uint8_t *at = NULL;

    if (t == NULL || t->rank != 2) {
        return gpu_fail(MXO_E_SHAPE, why, "gemm.mx: a and w need two axes");
    }
    a->type = gemm_type(format);
    a->packed = strcmp(format, "e2m1") == 0;
    if (a->type == LAYER_CODES && quant_make(&q, format, "floor", "") != 0) {
        return gpu_fail(MXO_E_UNSUPPORTED, why, "gemm.mx on %s has no %s",
                        GPU_NAME, format);
    }
    if (a->type == LAYER_CODES) {
        a->f = q.f;
    }
    a->codes = tensor_address(t);
    a->k = t->shape[1] * (a->packed ? 2 : 1);
    a->n = t->shape[0] * a->k;
    j->rows[w] = t->shape[0];
    if (call_is(call, names[w][1], "none")) {
        return MXO_OK;
    }
    const gpu_want want = {
        MXO_E8M0, 2, {j->rows[w], (a->k + LAYER_BLOCK - 1) / LAYER_BLOCK}};
    MXO_TRY(need_shaped(call, 0, names[w][1], &want, &at, why));
    a->scale = at;
    return MXO_OK;
}

static mxo_status gemm_bias(const mxo_call *call, gemm_job *j, mxo_text why)
{
    static const uint32_t types[] = {MXO_BF16, MXO_F16, MXO_F32};
    layer_gemm *const g = &j->out.g;
    uint8_t *at = NULL;

    g->bias_at = j->out.place == GEMM_BIAS_SUM ? (uint32_t)LAYER_BIAS_SUM
                                               : (uint32_t)LAYER_BIAS_NONE;
    if (j->out.place == GEMM_BIAS_NONE) {
        return MXO_OK;
    }
    g->bias_type = gemm_type(call_text(call, "bias_type"));
    const gpu_want want = want_vector(types[g->bias_type], j->rows[1]);
    const mxo_status status = need_shaped(call, 0, "bias", &want, &at, why);

    g->bias = at;
    return status;
}

static mxo_status gemm_outputs_of(const mxo_call *call, gemm_job *j,
                                  mxo_text why)
{
    gemm_args *const a = &j->out;
    const int is_f64 = call_is(call, "to", "f64");
    const gpu_want wide = {MXO_F64, 2, {j->rows[0], j->rows[1]}};
    gpu_want want = wide;
    uint32_t has_sums;
    uint8_t *at = NULL;

    a->to = is_f64 ? (uint32_t)GEMM_F64 : gemm_type(call_text(call, "to"));
    if (!is_f64) {
        want.dtype = call_dtype(call, call_text(call, "to"));
    }
    MXO_TRY(need_shaped(call, 1, "y", &want, &at, why));
    a->y = at;
    a->outputs = j->rows[0] * j->rows[1];
    a->flush = a->to == LAYER_BF16 && (a->o.kind == LAYER_ORDER_DPBF16 ||
                                       a->o.kind == LAYER_ORDER_AMX);
    MXO_TRY(call_flag(call, "sums", &has_sums, why));
    if (has_sums) {
        MXO_TRY(need_shaped(call, 1, "sum_abs", &wide, &at, why));
        a->sum_abs = at;
    }
    return MXO_OK;
}

static mxo_status gemm_read(const mxo_call *call, gemm_job *j, mxo_text why)
{
    MXO_TRY(gemm_order(call, &j->out, why));
    MXO_TRY(gemm_read_operand(call, j, 0, why));
    MXO_TRY(gemm_read_operand(call, j, 1, why));
    if (j->in[0].k != j->in[1].k) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "gemm.mx: a and w have rows of different length");
    }
    MXO_TRY(gemm_bias(call, j, why));
    return gemm_outputs_of(call, j, why);
}

/* Numbers, with the scales apart where an order wants them so. */
static mxo_status gemm_room(gemm_job *j, gpu_scratch *scratch, mxo_text why)
{
    const uint64_t k = j->in[0].k;
    const uint64_t blocks = (k + LAYER_BLOCK - 1) / LAYER_BLOCK;
    const int apart = j->out.o.kind == LAYER_ORDER_BLOCK;
    const uint64_t numbers = (j->rows[0] + j->rows[1]) * k;
    const uint64_t units = apart ? (j->rows[0] + j->rows[1]) * blocks : 0;
    const uint64_t whole = apart && j->out.sum_abs != NULL ? numbers : 0;
    layer_gemm *const g = &j->out.g;

    MXO_TRY(scratch_need(scratch, 8 * (numbers + units + whole) + 8, why));
    double *const base = (double *)scratch->p;

    j->in[0].x = base;
    j->in[1].x = base + j->rows[0] * k;
    if (apart) {
        j->in[0].unit = base + numbers;
        j->in[1].unit = base + numbers + j->rows[0] * blocks;
    }
    if (whole > 0) {
        j->in[0].whole = base + numbers + units;
        j->in[1].whole = j->in[0].whole + j->rows[0] * k;
    }
    j->out.whole_a = whole > 0 ? j->in[0].whole : j->in[0].x;
    j->out.whole_w = whole > 0 ? j->in[1].whole : j->in[1].x;
    g->a = j->in[0].x;
    g->a_type = LAYER_F64;
    g->wide = j->in[1].x;
    g->unit = j->in[1].unit;
    g->n = j->rows[1];
    g->k = k;
    g->pitch = k;
    g->share = 1;
    j->out.o.scale = j->in[0].unit;
    return MXO_OK;
}

mxo_status plan_gemm(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    static const gpu_kernel operand = KERNEL(gemm_operand, 0);
    static const gpu_kernel outputs = KERNEL(gemm_outputs, 0);
    gemm_job j;

    memset(&j, 0, sizeof j);
    MXO_TRY(gemm_read(call, &j, why));
    MXO_TRY(gemm_room(&j, plan->scratch, why));
    gpu_plan *const steps[3] = {
        plan_step(plan, &operand, j.in[0].n),
        plan_step(plan, &operand, j.in[1].n),
        plan_step(plan, &outputs, j.out.outputs),
    };
    if (steps[1] == NULL || steps[2] == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for the launches");
    }
    *PLAN_ARGS(steps[0], gemm_operand_args) = j.in[0];
    *PLAN_ARGS(steps[1], gemm_operand_args) = j.in[1];
    *PLAN_ARGS(steps[2], gemm_args) = j.out;
    return MXO_OK;
}
