/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and refusal of calls of moe.nvfp4_layer. */
#include "moe_nvfp4.h"

#include <string.h>

float cpu_fp4_global(const fp4 *f, const char *name, size_t i)
{
    float x;

    memcpy(&x, (const uint8_t *)cpu_data(call_in(f->base.call, name)) + 4 * i,
           sizeof x);
    return x;
}

cpu_glu cpu_fp4_unit(const fp4 *f, size_t e)
{
    cpu_glu c = f->base.unit.base;

    if (f->is_raw) {
        c.scale = cpu_fp4_global(f, "g1_alphas", e);
        c.limit = c.limit / c.scale;
        c.beta = c.beta / c.scale;
    }
    return c;
}

static mxo_status read_sizes(fp4 *f, mxo_text why)
{
    layer *l = &f->base;
    const mxo_tensor *ids = call_in(l->call, "topk_ids");
    const mxo_tensor *w = call_in(l->call, l->has_one ? "w13" : "w2");

    if (ids == NULL || ids->rank != 2 || w == NULL || w->rank != 3 ||
        ids->shape[1] == 0 || w->shape[0] == 0 ||
        (l->has_one && w->shape[1] % 2 != 0)) {
        return cpu_fail(MXO_E_SHAPE, why,
                        "NVFP4 on cpu: ids are a matrix, weights have experts "
                        "and pairs of rows");
    }
    l->tokens = (size_t)ids->shape[0];
    l->topk = (size_t)ids->shape[1];
    l->slots = l->tokens * l->topk;
    l->experts = (size_t)w->shape[0];
    l->hidden = (size_t)(l->has_one ? 2 * w->shape[2] : w->shape[1]);
    l->inter = (size_t)(l->has_one ? w->shape[1] / 2 : 2 * w->shape[2]);
    if ((l->has_one && l->hidden % BLOCK != 0) ||
        (l->has_two && l->inter % BLOCK != 0) || l->hidden > MOST_K ||
        l->inter > MOST_K || l->slots > INT32_MAX) {
        return cpu_fail(
            MXO_E_SHAPE, why,
            "NVFP4 on cpu: sizes are multiples of 16, at most 2^18");
    }
    return MXO_OK;
}

typedef struct wanted {
    const char *name;
    uint32_t dtype;
    uint32_t rank;
    uint64_t shape[3];
    int of_first, of_second;
} wanted;

static mxo_status read_tensors(const fp4 *f, mxo_text why)
{
    const layer *l = &f->base;
    const uint64_t e = l->experts;
    const uint64_t h = l->hidden;
    const uint64_t n = l->inter;
    const uint32_t from = cpu_float_dtype(call_text(l->call, "from"));
    const wanted all[] = {
        {"topk_ids", MXO_I32, 2, {l->tokens, l->topk, 0}, 1, 1},
        {"x", from, 2, {l->tokens, h, 0}, 1, 0},
        {"w13", MXO_U8, 3, {e, 2 * n, h / 2}, 1, 0},
        {"w13_scale", MXO_E4M3, 3, {e, 2 * n, h / BLOCK}, 1, 0},
        {"a1_gscale", MXO_F32, 1, {1, 0, 0}, 1, 0},
        {"g1_alphas", MXO_F32, 1, {e, 0, 0}, 1, 0},
        {"act", from, 3, {l->tokens, l->topk, n}, 0, !l->has_one},
        {"topk_weights", MXO_F32, 2, {l->tokens, l->topk, 0}, 0, 1},
        {"w2", MXO_U8, 3, {e, h, n / 2}, 0, 1},
        {"w2_scale", MXO_E4M3, 3, {e, h, n / BLOCK}, 0, 1},
        {"g1_scale_c", MXO_F32, 1, {e, 0, 0}, 0, 1},
        {"g2_alphas", MXO_F32, 1, {e, 0, 0}, 0, 1},
    };
    const mxo_tensor *map = call_in(l->call, "expert_map");

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if ((all[i].of_first && l->has_one) ||
            (all[i].of_second && l->has_two)) {
            MXO_TRY(cpu_want(call_in(l->call, all[i].name), all[i].name,
                             all[i].dtype, all[i].rank, all[i].shape, why));
        }
    }
    if (call_is(l->call, "map", "1")) {
        MXO_TRY(cpu_want(map, "expert_map", MXO_I32, 1,
                         map == NULL ? NULL : map->shape, why));
    }
    return MXO_OK;
}

/* The rule of a field; "same" in a profile is that of hidden states. */
static const cpu_nvfp4 *rule_of(const fp4 *f, layer_field field,
                                mxo_status *status, mxo_text why)
{
    const char *word = cpu_layer_word(f->base.call, field);
    const cpu_nvfp4 *rule =
        cpu_nvfp4_of(strcmp(word, "same") == 0
                         ? cpu_layer_word(f->base.call, LAYER_QUANT_RULE)
                         : word);

    if (rule == NULL && *status == MXO_OK) {
        *status = cpu_fail(MXO_E_UNSUPPORTED, why,
                           "the cpu backend has no %s=%s for NVFP4",
                           cpu_layer_key(field), word);
    }
    return rule;
}

static mxo_status read_first(fp4 *f, mxo_text why)
{
    layer *l = &f->base;
    mxo_status status = MXO_OK;

    f->quant = rule_of(f, LAYER_QUANT_RULE, &status, why);
    l->one.out = cpu_layer_type(l, LAYER_GEMM1_OUT, &status, why);
    MXO_TRY(status);
    if (l->has_glu) {
        MXO_TRY(cpu_layer_read_glu(l, why));
    }
    if (f->is_raw &&
        (l->one.out != LAYER_F32 ||
         (l->has_glu && l->unit.steps != cpu_steps_of("trtllm_gen")))) {
        return cpu_fail(MXO_E_PARAM, why,
                        "global_at=glu needs gemm1_out=f32 and glu=trtllm_gen");
    }
    return MXO_OK;
}

static mxo_status read_second(fp4 *f, mxo_text why)
{
    layer *l = &f->base;
    mxo_status status = MXO_OK;

    f->requant = rule_of(f, LAYER_REQUANT_RULE, &status, why);
    l->routing_at =
        strcmp(cpu_layer_word(l->call, LAYER_ROUTING_AT), "acc") == 0
            ? LAYER_AT_ACC
            : LAYER_AT_SUM;
    l->weight_type = cpu_layer_type(l, LAYER_ROUTING_TYPE, &status, why);
    l->two.out = cpu_layer_type(l, LAYER_ROW_OUT, &status, why);
    return status == MXO_OK && l->has_sum ? cpu_layer_read_sum(l, why) : status;
}

static mxo_status read_recipe(fp4 *f, mxo_text why)
{
    const mxo_call *call = f->base.call;
    const char *order = cpu_layer_word(call, LAYER_ORDER);

    f->is_raw = strcmp(cpu_layer_word(call, LAYER_GLOBAL_AT), "glu") == 0;
    f->is_seq = strcmp(order, "seq") == 0;
    if (strcmp(cpu_layer_fact(call, LAYER_WEIGHT_RULE), "nvfp4") != 0 ||
        (!f->is_seq && strcmp(order, "any") != 0 &&
         strcmp(order, "exact") != 0)) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend has no NVFP4 layer of profile %s with "
                        "order=%s",
                        call_text(call, "profile"), order);
    }
    if (f->base.has_one) {
        MXO_TRY(read_first(f, why));
    }
    return f->base.has_two ? read_second(f, why) : MXO_OK;
}

mxo_status cpu_fp4_read(fp4 *f, mxo_text why)
{
    MXO_TRY(read_sizes(f, why));
    MXO_TRY(read_tensors(f, why));
    return read_recipe(f, why);
}

mxo_status cpu_fp4_check(const fp4 *f, mxo_text why)
{
    static const char *const names[N_GLOBALS] = {"a1_gscale", "g1_alphas",
                                                 "g1_scale_c", "g2_alphas"};
    const layer *l = &f->base;

    for (int i = 0; i < N_GLOBALS; i++) {
        const mxo_tensor *t = call_in(l->call, names[i]);
        for (size_t k = 0; t != NULL && k < t->shape[0]; k++) {
            const float x = cpu_fp4_global(f, names[i], k);
            if (!(x > 0 && x - x == 0)) {
                return cpu_fail(MXO_E_PARAM, why,
                                "%s[%llu] is no positive number", names[i],
                                (unsigned long long)k);
            }
        }
    }
    for (size_t e = 0; l->has_glu && e < l->experts; e++) {
        const cpu_glu c = cpu_fp4_unit(f, e);
        MXO_TRY(cpu_glu_check(&l->unit, &c, why));
    }
    return MXO_OK;
}
