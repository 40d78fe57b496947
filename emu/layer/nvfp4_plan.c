/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, choices and refusals of moe.nvfp4_layer and its halves. */
#include "nvfp4.h"

#include <string.h>

typedef struct expected {
    const char *name;
    uint32_t rank;
    uint64_t shape[3];
} expected;

static mxo_status expect_shapes(const layer_plan *l, mxo_text why)
{
    const uint64_t e = l->experts;
    const uint64_t h = l->hidden;
    const uint64_t n = l->inter;
    const expected all[] = {
        {"x", 2, {l->tokens, h, 0}},
        {"act", 3, {l->tokens, l->topk, n}},
        {"topk_weights", 2, {l->tokens, l->topk, 0}},
        {"w13", 3, {e, 2 * n, h / 2}},
        {"w13_scale", 3, {e, 2 * n, h / LAYER_NVFP4_BLOCK}},
        {"w2", 3, {e, h, n / 2}},
        {"w2_scale", 3, {e, h, n / LAYER_NVFP4_BLOCK}},
        {"a1_gscale", 1, {1, 0, 0}},
        {"g1_alphas", 1, {e, 0, 0}},
        {"g1_scale_c", 1, {e, 0, 0}},
        {"g2_alphas", 1, {e, 0, 0}},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        MXO_TRY(mxo_call_expect(l->call, all[i].name, all[i].rank, all[i].shape,
                                why));
    }
    return MXO_OK;
}

static mxo_status read_sizes(layer_plan *l, mxo_text why)
{
    MXO_TRY(layer_read_sizes(l, why));
    if ((l->has_one && l->hidden % LAYER_NVFP4_BLOCK != 0) ||
        (l->has_two && l->inter % LAYER_NVFP4_BLOCK != 0)) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: NVFP4 has blocks of 16, no short ones",
                        l->call->op);
    }
    return expect_shapes(l, why);
}

/* The rule of the quantiser before the first GEMM or the second. */
static mxo_status read_rule(mxo_nvfp4_rule *rule, const mxo_call *call,
                            int second, mxo_text why)
{
    const char *word = layer_word(call, second ? MXO_FIELD_REQUANT_RULE
                                               : MXO_FIELD_QUANT_RULE);
    const int math = layer_nvfp4_math(
        strcmp(word, "same") == 0 ? layer_word(call, MXO_FIELD_QUANT_RULE)
                                  : word);

    memset(rule, 0, sizeof *rule);
    rule->math = (uint8_t)math;
    rule->rcp_hopper = 1;
    return math >= 0
               ? MXO_OK
               : mxo_fail(MXO_E_UNSUPPORTED, why,
                          "%s: %s is no rule of quant.nvfp4", call->op, word);
}

static mxo_status read_common(nvfp4_plan *p, mxo_text why)
{
    const mxo_call *call = p->layer.call;
    const char *weights = layer_word(call, MXO_FIELD_WEIGHT_RULE);
    const char *order = layer_word(call, MXO_FIELD_ORDER);

    p->is_raw = strcmp(layer_word(call, MXO_FIELD_GLOBAL_AT), "glu") == 0;
    p->is_open = strcmp(order, "any") == 0;
    p->is_seq = strcmp(order, "seq") == 0;
    return strcmp(weights, "nvfp4") == 0
               ? MXO_OK
               : mxo_fail(MXO_E_UNSUPPORTED, why,
                          "%s: weights of profile %s are not NVFP4", call->op,
                          mxo_call_text(call, "profile"));
}

static mxo_status read_first(nvfp4_plan *p, mxo_text why)
{
    layer_recipe *r = &p->layer.one;
    const mxo_call *call = p->layer.call;
    MXO_TRY(read_rule(&p->quant, call, 0, why));

    r->bias = MXO_P_BIAS1_NONE;
    MXO_TRY(layer_choose(&r->gemm_out, call, MXO_FIELD_GEMM1_OUT, why));
    if (p->layer.has_glu) {
        MXO_TRY(layer_read_glu(r, call, why));
    }
    if (p->is_raw &&
        (layer_format(r->gemm_out) != MXO_FMT_F32 ||
         (p->layer.has_glu && r->unit.dialect != MXO_GLU_TRTLLM_GEN))) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: global_at=glu needs gemm1_out=f32 and "
                        "glu=trtllm_gen, which has a place for it",
                        call->op);
    }
    return MXO_OK;
}

static mxo_status read_second(nvfp4_plan *p, mxo_text why)
{
    layer_recipe *r = &p->layer.two;
    const mxo_call *call = p->layer.call;

    MXO_TRY(read_rule(&p->requant, call, 1, why));
    r->bias = MXO_P_BIAS1_NONE;
    MXO_TRY(layer_choose(&r->routing_at, call, MXO_FIELD_ROUTING_AT, why));
    MXO_TRY(layer_choose(&r->routing_type, call, MXO_FIELD_ROUTING_TYPE, why));
    MXO_TRY(layer_choose(&r->row_out, call, MXO_FIELD_ROW_OUT, why));
    return p->layer.has_sum ? layer_read_sum(r, call, why) : MXO_OK;
}

/* Elements and type of the result. */
static void settle_result(nvfp4_plan *p)
{
    const layer_plan *l = &p->layer;
    const uint64_t slots = l->tokens * l->topk;

    if (l->has_sum) {
        p->n_y = l->tokens * l->hidden;
        p->to = layer_format(l->two.out);
    } else if (l->has_two) {
        p->n_y = slots * l->hidden;
        p->to = layer_format(l->two.row_out);
    } else {
        p->n_y = slots * l->inter * (l->has_glu ? 1 : 2);
        p->to = l->has_glu ? l->one.unit.to : layer_format(l->one.gemm_out);
    }
}

static void place_scratch(nvfp4_plan *p)
{
    layer_plan *l = &p->layer;
    const uint64_t slots = l->tokens * l->topk;
    const uint64_t k1 = l->has_one ? l->hidden : 0;
    const uint64_t k2 = l->has_two ? l->inter : 0;

    p->q1 = layer_take(l, l->tokens * k1 / 2);
    p->s1 = layer_take(l, l->tokens * k1 / LAYER_NVFP4_BLOCK);
    p->q2 = layer_take(l, slots * k2 / 2);
    p->s2 = layer_take(l, slots * k2 / LAYER_NVFP4_BLOCK);
    p->act = layer_take(l, 4 * slots * (l->has_glu ? l->inter : k2));
    l->at.rows = layer_take(l, l->has_sum ? 4 * slots * l->hidden : 0);
    l->at.terms = layer_take(l, l->topk * sizeof(mxo_finalize_term));
    l->at.slots = layer_take(l, l->topk * sizeof(uint64_t));
    p->y = layer_take(l, 4 * p->n_y);
}

mxo_status nvfp4_make(nvfp4_plan *p, const mxo_call *call, const int has[2],
                      mxo_text why)
{
    layer_plan *l = &p->layer;

    memset(p, 0, sizeof *p);
    l->call = call;
    l->has_one = has[0];
    l->has_two = has[1];
    l->has_glu = has[0] && (has[1] || mxo_call_is(call, "stage", "act"));
    l->has_sum = has[1] && (has[0] || mxo_call_is(call, "stage", "sum"));
    MXO_TRY(read_sizes(l, why));
    MXO_TRY(read_common(p, why));
    if (l->has_one) {
        MXO_TRY(read_first(p, why));
    }
    if (l->has_two) {
        MXO_TRY(read_second(p, why));
    }
    settle_result(p);
    place_scratch(p);
    return MXO_OK;
}

uint32_t nvfp4_global(const nvfp4_plan *p, const char *name, uint64_t i)
{
    return (uint32_t)mxo_load(mxo_call_in(p->layer.call, name), i);
}

/* A constant as the loader hands it over: divided by g1_alphas once. */
static mxo_real raw_constant(mxo_real x, uint32_t alpha)
{
    const uint32_t code = (uint32_t)mxo_format_round(MXO_FMT_F32, x);

    return x.cls == MXO_CLASS_FINITE
               ? mxo_format_decode(MXO_FMT_F32, mxo_f32_div(code, alpha))
               : x;
}

mxo_glu nvfp4_unit_of(const nvfp4_plan *p, uint64_t expert)
{
    const uint32_t alpha = nvfp4_global(p, "g1_alphas", expert);
    mxo_glu unit = p->layer.one.unit;

    if (p->is_raw) {
        unit.scale_gate = mxo_format_decode(MXO_FMT_F32, alpha);
        unit.limit = raw_constant(unit.limit, alpha);
        unit.beta = raw_constant(unit.beta, alpha);
    }
    return unit;
}

/* A global scale that is no positive number is one that a loader lost. */
static mxo_status check_globals(const nvfp4_plan *p, const char *name,
                                mxo_text why)
{
    const mxo_tensor *t = mxo_call_in(p->layer.call, name);

    for (uint64_t i = 0; t != NULL && i < mxo_tensor_elems(t); i++) {
        const uint32_t x = (uint32_t)mxo_load(t, i);
        if (x == 0 || x >= 0x7f800000u) {
            return mxo_fail(MXO_E_PARAM, why,
                            "%s: %s[%llu] is no positive number",
                            p->layer.call->op, name, (unsigned long long)i);
        }
    }
    return MXO_OK;
}

mxo_status nvfp4_check_data(const nvfp4_plan *p, mxo_text why)
{
    static const char *const names[] = {"a1_gscale", "g1_alphas", "g1_scale_c",
                                        "g2_alphas"};
    const layer_plan *l = &p->layer;

    MXO_TRY(layer_check_ids(l, why));
    for (int i = 0; i < 4; i++) {
        MXO_TRY(check_globals(p, names[i], why));
    }
    for (uint64_t e = 0; l->has_glu && e < l->experts; e++) {
        const mxo_glu unit = nvfp4_unit_of(p, e);
        const char *sentence = mxo_glu_check(&unit);
        if (sentence != NULL) {
            return mxo_fail(MXO_E_PARAM, why, "%s: expert %llu: %s",
                            l->call->op, (unsigned long long)e, sentence);
        }
    }
    return MXO_OK;
}
