/* SPDX-License-Identifier: Apache-2.0 */
/* A call of the layer: its sizes, tensors and recipe, before any launch. */
#ifndef GPU_LAYER_READ_H
#define GPU_LAYER_READ_H

#include "host/call.h"
#include "layer_plan/layer_job.h"
#include "layer_plan/plan_recipe.h"
#include "layer_plan/plan_recipe_glu.h"
#include "layer_plan/plan_recipe_sum.h"
#include "port/runtime.h"

static inline uint32_t job_dtype(uint32_t type)
{
    return type == LAYER_F32 ? MXO_F32 : type == LAYER_F16 ? MXO_F16 : MXO_BF16;
}

/* Tensors of one GEMM; its matrix has n rows per expert and k columns. */
static inline mxo_status job_weights(layer_job *j, layer_gemm *g, int second,
                                     mxo_text why)
{
    static const char *const names[2][4] = {
        {"w13", "w13_scale", "w13_bias", "w13_input_scale"},
        {"w2", "w2_scale", "w2_bias", "w2_input_scale"}};
    const char *const *const name = names[second];
    const uint64_t blocks = (g->k + LAYER_BLOCK - 1) / LAYER_BLOCK;
    const gpu_want codes = {MXO_U8, 3, {j->experts, g->n, g->k / 2}};
    const gpu_want scales = {MXO_E8M0, 3, {j->experts, g->n, blocks}};
    const gpu_want biases = {job_dtype(g->bias_type), 2, {j->experts, g->n}};
    const gpu_want given = want_vector(MXO_F32, 1);
    const uint32_t op = j->rows[second].op;
    uint8_t *at = NULL;

    MXO_TRY(need_shaped(j->call, 0, name[0], &codes, &at, why));
    g->w = at;
    MXO_TRY(need_shaped(j->call, 0, name[1], &scales, &at, why));
    g->scale = at;
    if (g->bias_at != LAYER_BIAS_NONE) {
        MXO_TRY(need_shaped(j->call, 0, name[2], &biases, &at, why));
        g->bias = at;
    }
    if (recipe_is_given(op)) {
        MXO_TRY(need_shaped(j->call, 0, name[3], &given, &at, why));
        j->rest[second].given = (const float *)(const void *)at;
        j->rest[second].divides = op == LAYER_BY_NVFP4;
        j->rows[second].given = j->rest[second].given;
    }
    if (op == LAYER_BY_NVFP4 && g->k % NVFP4_BLOCK != 0) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "%s: quant.nvfp4 has blocks of 16, no short ones",
                        j->call->op);
    }
    return MXO_OK;
}

static inline mxo_status job_pairs(layer_job *j, mxo_text why)
{
    const mxo_tensor *const map = call_in(j->call, "expert_map");
    const uint64_t pairs = j->p.pairs;
    uint8_t *at = NULL;

    MXO_TRY(need_tensor(j->call, 0, "topk_ids", 4 * pairs, &at, why));
    j->p.ids = at;
    j->p.map = map == NULL ? NULL : tensor_address(map);
    if (j->has_two) {
        MXO_TRY(need_tensor(j->call, 0, "topk_weights", 4 * pairs, &at, why));
        j->p.weights = at;
    }
    return MXO_OK;
}

static inline mxo_status job_sizes(layer_job *j, mxo_text why)
{
    const mxo_call *const call = j->call;
    const mxo_tensor *const ids = call_in(call, "topk_ids");
    const mxo_tensor *const w = call_in(call, j->has_one ? "w13" : "w2");

    if (ids == NULL || ids->rank != 2 || w == NULL || w->rank != 3 ||
        ids->shape[1] == 0 || ids->shape[1] > UINT32_MAX || w->shape[0] == 0 ||
        w->shape[0] > INT32_MAX) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "%s on %s: topk_ids is a matrix, weights have three "
                        "dimensions, and experts are at least one",
                        call->op, GPU_NAME);
    }
    j->tokens = ids->shape[0];
    j->p.topk = (uint32_t)ids->shape[1];
    j->p.pairs = j->tokens * j->p.topk;
    j->experts = w->shape[0];
    j->hidden = j->has_one ? 2 * w->shape[2] : w->shape[1];
    j->inter = j->has_one ? w->shape[1] / 2 : 2 * w->shape[2];
    if (j->one.laid != LAYER_LAID_PLAIN &&
        ((double)j->hidden != call_number(call, "hidden_size") ||
         (double)j->inter != call_number(call, "intermediate_size"))) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "%s: weights are not of hidden_size and "
                        "intermediate_size",
                        call->op);
    }
    if (j->one.laid != LAYER_LAID_PLAIN &&
        ((j->has_one && j->hidden % 4 != 0) ||
         (j->has_two && j->inter % 4 != 0))) {
        return gpu_fail(MXO_E_SHAPE, why, "%s: %s has its codes in fours",
                        call->op, call_text(call, "conversion"));
    }
    j->one.n = 2 * j->inter;
    j->one.k = j->hidden;
    j->two.n = j->hidden;
    j->two.k = j->inter;
    return MXO_OK;
}

/* Input of the first GEMM, or of the second on its own. */
static inline mxo_status job_input(layer_job *j, mxo_text why)
{
    const int packed = call_is(j->call, "from", "e2m1");
    layer_gemm *const g = j->has_one ? &j->one : &j->two;
    const uint64_t rows = j->has_one ? j->tokens : j->p.pairs;
    const uint64_t blocks = (g->k + LAYER_BLOCK - 1) / LAYER_BLOCK;
    uint8_t *at = NULL;

    if (packed) {
        g->a_type = LAYER_CODES;
    } else if (call_is(j->call, "from", "f32")) {
        g->a_type = LAYER_F32;
    } else if (call_is(j->call, "from", "f16")) {
        g->a_type = LAYER_F16;
    } else {
        g->a_type = LAYER_BF16;
    }
    const uint64_t bytes =
        packed ? rows * (g->k / 2) : rows * g->k * layer_bytes(g->a_type);

    MXO_TRY(need_tensor(j->call, 0, j->has_one ? "x" : "act", bytes, &at, why));
    g->a = at;
    if (packed) {
        MXO_TRY(need_tensor(j->call, 0, "x_scale", rows * blocks, &at, why));
        g->a_scale = at;
    }
    return MXO_OK;
}

static inline mxo_status job_recipes(layer_job *j, mxo_text why)
{
    MXO_TRY(recipe_order(j, why));
    if (j->has_one) {
        MXO_TRY(recipe_gemm1(j, why));
    }
    if (j->has_glu) {
        MXO_TRY(recipe_glu(j, why));
    }
    if (j->has_two) {
        MXO_TRY(recipe_gemm2(j, why));
    }
    if (j->has_sum) {
        MXO_TRY(recipe_sum(j->call, &j->sum, why));
    }
    return MXO_OK;
}

/* Whether a GEMM needs more than the kernels of layer_fast/ can do. */
static inline int gemm_is_any(const layer_job *j, int second)
{
    const layer_gemm *const g = second ? &j->two : &j->one;

    return j->rest[second].order.kind != LAYER_ORDER_ANY ||
           j->rows[second].op != LAYER_AS_IS || j->behind[second] != 0 ||
           g->a_type == LAYER_F16 || g->mid == LAYER_F16 ||
           g->mid == LAYER_SAT || g->out == LAYER_F16 || g->out == LAYER_SAT ||
           g->rule >= DEQUANT_ROUNDED || g->bias_at >= LAYER_BIAS_FLUSHED ||
           g->bias_narrow > 1 ||
           (g->bias_at != LAYER_BIAS_NONE && g->bias_type == LAYER_F16);
}

static inline int job_is_any(const layer_job *j)
{
    return (j->has_one && (gemm_is_any(j, 0) || j->one.weigh)) ||
           (j->has_two && (gemm_is_any(j, 1) || j->p.narrow > 1)) ||
           (j->has_glu && (j->table != NULL || j->glu.saturates ||
                           j->glu.glu.to == GLU_F16)) ||
           j->by_glu || j->by_input ||
           (j->has_sum &&
            (j->sum.sum >= LAYER_SUM_FLUSHED || j->sum.sum == LAYER_SUM_CPU ||
             j->sum.out == LAYER_F16));
}

/* Rows that become numbers before the GEMM reads them. */
static inline int job_makes_rows(const layer_job *j, int second)
{
    const uint32_t type = second && j->has_one ? j->glu.glu.to
                          : second             ? j->two.a_type
                                               : j->one.a_type;

    return j->rest[second].order.kind != LAYER_ORDER_ANY ||
           j->rows[second].op != LAYER_AS_IS || type == LAYER_F16 ||
           (!second && j->by_input);
}

/* An id's expert, or an id or an entry of the map that is too large. */
static inline mxo_status check_id(const layer_job *j, const int32_t *map,
                                  uint64_t known, int32_t id, mxo_text why)
{
    const char *const absent = layer_word(j->call, "absent");
    int64_t expert = id;

    if (id >= 0 && (uint64_t)id >= known) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s: topk_ids has %d, and there are %llu experts",
                        j->call->op, (int)id, (unsigned long long)known);
    }
    if (id >= 0 && map != NULL) {
        expert = map[id];
    }
    if (expert >= (int64_t)j->experts) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s: expert_map[%d] is not below %llu", j->call->op,
                        (int)id, (unsigned long long)j->experts);
    }
    return expert < 0 && j->has_sum && absent == NULL
               ? layer_refuse(j->call, "absent", why)
               : MXO_OK;
}

/* Before anything is written: ids are few, and the host looks at them. */
static inline mxo_status check_ids(const layer_job *j, mxo_text why)
{
    const mxo_tensor *const map = call_in(j->call, "expert_map");
    const uint64_t known = map == NULL ? j->experts : map->n_bytes / 4;
    const uint64_t n_map = map == NULL ? 0 : known;
    int32_t *const ids =
        (int32_t *)malloc((size_t)(j->p.pairs + n_map + 1) * sizeof *ids);
    int32_t *const entries = ids + j->p.pairs;
    mxo_status status;

    if (ids == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for topk_ids");
    }
    status = call_fetch(j->call, ids, j->p.ids, 4 * j->p.pairs, why);
    if (status == MXO_OK && map != NULL) {
        status = call_fetch(j->call, entries, j->p.map, 4 * n_map, why);
    }
    for (uint64_t i = 0; i < j->p.pairs && status == MXO_OK; i++) {
        status = check_id(j, map == NULL ? NULL : entries, known, ids[i], why);
    }
    free(ids);
    return status;
}

/* Whether the kernels read weights as they lie: mxo_hopper_gate_up is for
   rows=halves, and a GEMM alone does not have its rows back. */
static inline int layer_reads(const mxo_call *call)
{
    const int mixed = strcmp(call->op, "moe.gemm2") != 0;
    const int has_glu =
        strcmp(call->op, "moe.gemm1") != 0 || call_is(call, "stage", "act");

    return call_is(call, "conversion", "none") ||
           call_is(call, "conversion", "mxo_hopper") ||
           (call_is(call, "conversion", "mxo_hopper_gate_up") &&
            (!mixed || (has_glu && call_is(call, "rows", "halves"))));
}

/* How weights lie.  Our own conversions leave shapes and scales as they are. */
static inline mxo_status job_laid(layer_job *j, mxo_text why)
{
    const mxo_call *const call = j->call;
    const int mixes = call_is(call, "conversion", "mxo_hopper_gate_up");
    const int hopper = mixes || call_is(call, "conversion", "mxo_hopper");

    if (hopper && !call_is(call, "bias", "none") &&
        !call_is(call, "bias", "bf16")) {
        return gpu_fail(MXO_E_PARAM, why,
                        "%s on %s: what a conversion takes has bias=bf16",
                        call->op, GPU_NAME);
    }
    j->one.laid = hopper ? LAYER_LAID_HOPPER : LAYER_LAID_PLAIN;
    j->two.laid = j->one.laid;
    j->halves = call_is(call, "rows", "halves") && !mixes;
    return MXO_OK;
}

static inline mxo_status job_read(layer_job *j, const mxo_call *call,
                                  mxo_text why)
{
    const int is_layer = strcmp(call->op, "moe.layer") == 0;

    memset(j, 0, sizeof *j);
    j->call = call;
    j->has_one = is_layer || strcmp(call->op, "moe.gemm1") == 0;
    j->has_two = !j->has_one || is_layer;
    j->has_glu = is_layer || (j->has_one && call_is(call, "stage", "act"));
    j->has_sum = is_layer || (j->has_two && call_is(call, "stage", "sum"));
    if (!call_is(call, "bounds", "0")) {
        return gpu_fail(MXO_E_UNSUPPORTED, why,
                        "%s on %s: bounds are not given", call->op, GPU_NAME);
    }
    MXO_TRY(job_laid(j, why));
    MXO_TRY(job_sizes(j, why));
    MXO_TRY(job_input(j, why));
    MXO_TRY(job_recipes(j, why));
    MXO_TRY(job_pairs(j, why));
    if (j->has_one) {
        MXO_TRY(job_weights(j, &j->one, 0, why));
    }
    if (j->has_two) {
        MXO_TRY(job_weights(j, &j->two, 1, why));
    }
    j->is_any = job_is_any(j);
    return call_is_captured(call) ? MXO_OK : check_ids(j, why);
}

#endif
