/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, shapes and experts of a call of the layer. */
#include "plan.h"

#include <string.h>

/* Largest number of elements of an intermediate: its bytes fit 63 bits. */
#define MOST_ELEMS (INT64_MAX / 256)

/* One expert matrix of n rows and k columns with scales and bias. */
static mxo_status expect_weights(const layer_plan *p, const char *w,
                                 const char *scale, const char *bias,
                                 uint64_t n, uint64_t k, mxo_text why)
{
    const uint64_t codes[3] = {p->experts, n, k / 2};
    const uint64_t scales[3] = {p->experts, n, layer_blocks(k)};

    MXO_TRY(mxo_call_expect(p->call, w, 3, codes, why));
    MXO_TRY(mxo_call_expect(p->call, scale, 3, scales, why));
    return mxo_call_expect(p->call, bias, 2, codes, why);
}

static mxo_status expect_input(const layer_plan *p, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(p->call, "x");
    const int is_packed = x->dtype == MXO_U8;
    const uint64_t shape[2] = {p->tokens, p->hidden / (is_packed ? 2 : 1)};
    const uint64_t scales[2] = {p->tokens, layer_blocks(p->hidden)};

    MXO_TRY(mxo_call_expect(p->call, "x", 2, shape, why));
    return mxo_call_expect(p->call, "x_scale", 2, scales, why);
}

static mxo_status expect_shapes(const layer_plan *p, mxo_text why)
{
    const uint64_t slots[2] = {p->tokens, p->topk};
    const uint64_t act[3] = {p->tokens, p->topk, p->inter};
    const uint64_t one[1] = {1};

    MXO_TRY(mxo_call_expect(p->call, "topk_weights", 2, slots, why));
    MXO_TRY(mxo_call_expect(p->call, "w13_input_scale", 1, one, why));
    MXO_TRY(mxo_call_expect(p->call, "w2_input_scale", 1, one, why));
    MXO_TRY(mxo_call_expect(p->call, "act", 3, act, why));
    if (p->has_one) {
        MXO_TRY(expect_input(p, why));
    }
    if (p->has_one) {
        MXO_TRY(expect_weights(p, "w13", "w13_scale", "w13_bias", 2 * p->inter,
                               p->hidden, why));
    }
    if (p->has_two) {
        MXO_TRY(expect_weights(p, "w2", "w2_scale", "w2_bias", p->hidden,
                               p->inter, why));
    }
    return MXO_OK;
}

/* Products of sizes that an intermediate needs. */
static int is_too_large(const layer_plan *p)
{
    const uint64_t widest = p->hidden > p->inter ? p->hidden : p->inter;
    const uint64_t slots = p->topk != 0 && p->tokens > MOST_ELEMS / p->topk
                               ? MOST_ELEMS + 1
                               : p->tokens * p->topk;

    return slots > MOST_ELEMS || widest > MOST_ELEMS / 32 ||
           (slots != 0 && 2 * widest + 64 > MOST_ELEMS / slots) ||
           (p->tokens != 0 && widest > MOST_ELEMS / p->tokens);
}

mxo_status layer_read_sizes(layer_plan *p, mxo_text why)
{
    const mxo_tensor *ids = mxo_call_in(p->call, "topk_ids");
    const mxo_tensor *w = mxo_call_in(p->call, p->has_one ? "w13" : "w2");
    const mxo_tensor *map = mxo_call_in(p->call, "expert_map");

    if (ids->rank != 2 || w->rank != 3 || (map != NULL && map->rank != 1) ||
        (p->has_one && w->shape[1] % 2 != 0)) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: topk_ids is a matrix, weights are three "
                        "dimensions, w13 has rows in pairs",
                        p->call->op);
    }
    p->tokens = ids->shape[0];
    p->topk = ids->shape[1];
    p->experts = w->shape[0];
    p->hidden = p->has_one ? 2 * w->shape[2] : w->shape[1];
    p->inter = p->has_one ? w->shape[1] / 2 : 2 * w->shape[2];
    if (p->topk == 0 || p->experts == 0 || p->experts > INT32_MAX) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: top-k and the number of experts are at least 1",
                        p->call->op);
    }
    if (is_too_large(p)) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: tokens times top-k times the layer's size "
                        "overflows",
                        p->call->op);
    }
    return MXO_OK;
}

static mxo_status read_recipes(layer_plan *p, mxo_text why)
{
    if (p->has_one) {
        MXO_TRY(layer_read_gemm1(&p->one, p->call, why));
    }
    if (p->has_glu) {
        MXO_TRY(layer_read_glu(&p->one, p->call, why));
    }
    if (p->has_two) {
        MXO_TRY(layer_read_gemm2(&p->two, p->call, why));
    }
    if (p->has_sum) {
        MXO_TRY(layer_read_sum(&p->two, p->call, why));
    }
    return MXO_OK;
}

static mxo_status check_nvfp4(const layer_plan *p, mxo_text why)
{
    const int one = p->has_one && p->one.quant.op == MXO_P_QUANT_NVFP4;
    const int two = p->has_two && p->two.quant.op == MXO_P_QUANT_NVFP4;

    return (one && p->hidden % LAYER_NVFP4_BLOCK != 0) ||
                   (two && p->inter % LAYER_NVFP4_BLOCK != 0)
               ? mxo_fail(MXO_E_SHAPE, why,
                          "%s: quant.nvfp4 has blocks of 16, no short ones",
                          p->call->op)
               : MXO_OK;
}

/* Combinations that have no meaning. */
static mxo_status check_types(const layer_plan *p, mxo_text why)
{
    const layer_recipe *first = p->has_one ? &p->one : &p->two;
    const int is_wide = mxo_call_is(p->call, "from", "f32");
    const int is_ordered = first->order == MXO_P_ORDER_CPU ||
                           first->order == MXO_P_ORDER_AVX512 ||
                           first->order == MXO_P_ORDER_AMX;

    if (mxo_call_is(p->call, "from", "e2m1") &&
        first->quant.op != MXO_P_QUANT_NONE) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: from=e2m1 is quantised already: quant=none",
                        p->call->op);
    }
    if ((first->quant.op == MXO_P_QUANT_QDQ && is_wide) ||
        (is_ordered && !mxo_call_is(p->call, "from", "bf16")) ||
        (p->has_one && p->has_two && p->two.quant.op == MXO_P_QUANT_QDQ &&
         p->one.unit.to == MXO_FMT_F32)) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: quant.qdq takes 16 bits and the CPU's orders "
                        "take bf16",
                        p->call->op);
    }
    return check_nvfp4(p, why);
}

/* A routing weight before the second GEMM belongs to the only slot. */
static mxo_status check_routing(const layer_plan *p, mxo_text why)
{
    const mxo_profile_choice at = p->two.routing_at;
    const int is_input = at == MXO_P_ROUTING_AT_INPUT;

    if (!p->has_one || !p->has_two ||
        (!is_input && at != MXO_P_ROUTING_AT_GEMM1 &&
         at != MXO_P_ROUTING_AT_GLU)) {
        return MXO_OK;
    }
    if (p->topk != 1) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: routing_at=%s needs a top-k of 1, not %llu",
                        p->call->op, mxo_profile_choice_name(at),
                        (unsigned long long)p->topk);
    }
    return is_input && mxo_call_is(p->call, "from", "e2m1")
               ? mxo_fail(MXO_E_PARAM, why,
                          "%s: routing_at=input comes before quantisation: "
                          "not with from=e2m1",
                          p->call->op)
               : MXO_OK;
}

/* The operands that a matrix unit gets. */
static mxo_status settle_unit(layer_recipe *r, const mxo_call *call,
                              mxo_format from, uint64_t k, mxo_text why)
{
    const layer_order *order = layer_order_of(r->order);
    const mxo_profile_choice op = r->quant.op;
    const int is_new = op == MXO_P_QUANT_MX || op == MXO_P_QUANT_GROUP ||
                       op == MXO_P_QUANT_STATIC;
    const int was = op == MXO_P_QUANT_NONE && from == MXO_FMT_E2M1;
    const mxo_format a = is_new                    ? r->quant.element
                         : op == MXO_P_QUANT_NVFP4 ? MXO_FMT_BF16
                                                   : from;

    if (order->way != LAYER_UNIT) {
        return MXO_OK;
    }
    r->mma = layer_unit_for(r, a, is_new || was,
                            was || (is_new && op != MXO_P_QUANT_STATIC));
    if (r->mma == NULL) {
        return mxo_fail(
            MXO_E_PARAM, why,
            "%s: order=%s with scale_at=%s has no operands for these "
            "activations (from=%s)",
            call->op, order->unit, mxo_profile_choice_name(r->scale_at),
            mxo_call_text(call, "from"));
    }
    if (r->promote % r->mma->step != 0) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: promote=%s is no multiple of the step %d",
                        call->op, mxo_call_text(call, "promote"), r->mma->step);
    }
    if (!order->by_block && k % r->mma->step != 0) {
        return mxo_fail(
            MXO_E_SHAPE, why, "%s: order=%s needs %d to divide the size %llu",
            call->op, order->unit, r->mma->step, (unsigned long long)k);
    }
    return MXO_OK;
}

static mxo_status settle_units(layer_plan *p, mxo_text why)
{
    const mxo_format from = mxo_call_format(p->call, "from");

    if (p->has_one) {
        MXO_TRY(settle_unit(&p->one, p->call, from, p->hidden, why));
    }
    if (p->has_two) {
        MXO_TRY(settle_unit(&p->two, p->call,
                            p->has_one ? p->one.unit.to : from, p->inter, why));
    }
    return MXO_OK;
}

uint64_t layer_take(layer_plan *p, uint64_t bytes)
{
    const uint64_t at = p->at.bytes;

    p->at.bytes += (bytes + 15) / 16 * 16;
    return at;
}

static void place_scratch(layer_plan *p)
{
    layer_scratch *s = &p->at;
    const uint64_t slots = p->tokens * p->topk;
    const uint64_t k1 = p->has_one ? p->hidden : 0;
    const uint64_t k2 = p->has_two ? p->inter : 0;
    const uint64_t widest = k1 > k2 ? k1 : k2;

    if (p->has_one && p->has_two &&
        p->two.routing_at == MXO_P_ROUTING_AT_INPUT) {
        s->weighed = layer_take(p, 4 * p->tokens * k1);
    }
    if (p->has_one && p->one.quant.op != MXO_P_QUANT_NONE) {
        s->q1 = layer_take(p, 2 * p->tokens * k1);
        s->s1 = layer_take(p, p->tokens * layer_blocks(k1));
    }
    if (p->has_two && p->two.quant.op != MXO_P_QUANT_NONE) {
        s->q2 = layer_take(p, 2 * slots * k2);
        s->s2 = layer_take(p, slots * layer_blocks(k2));
    }
    if (p->has_one && p->has_two) {
        s->act = layer_take(p, 4 * slots * k2);
    }
    if (p->has_sum) {
        s->rows = layer_take(p, 4 * slots * p->hidden);
    }
    s->blocks = layer_take(p, LAYER_TILE * layer_blocks(widest) *
                                  sizeof(mxo_dot_block));
    s->wide = layer_take(p, 2 * (widest + MXO_MX_BLOCK));
    if (layer_order_of(p->has_one ? p->one.order : p->two.order)->way ==
        LAYER_UNIT) {
        s->unit_a = layer_take(p, 4 * LAYER_TILE * layer_unit_pitch(widest));
        s->unit_w = layer_take(p, 4 * layer_unit_pitch(widest));
    }
    s->terms = layer_take(p, p->topk * sizeof(mxo_finalize_term));
    s->slots = layer_take(p, p->topk * sizeof(uint64_t));
}

/* The CPU backend decides once per call. */
static void settle_order(layer_recipe *r, const layer_plan *p)
{
    if (r->order == MXO_P_ORDER_CPU) {
        r->order = p->tokens * p->topk / p->experts > 4 ? MXO_P_ORDER_AMX
                                                        : MXO_P_ORDER_AVX512;
    }
}

mxo_status layer_plan_make(layer_plan *p, const mxo_call *call, int has_one,
                           int has_two, mxo_text why)
{
    memset(p, 0, sizeof *p);
    p->call = call;
    p->has_one = has_one;
    p->has_two = has_two;
    p->has_glu = has_one && (has_two || mxo_call_is(call, "stage", "act"));
    p->has_bounds = !mxo_call_is(call, "bounds", "0");
    p->has_sum = has_two && (has_one || mxo_call_is(call, "stage", "sum"));
    MXO_TRY(layer_read_sizes(p, why));
    if (p->has_one && p->has_two && p->inter % 2 != 0) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: an odd intermediate size cannot be packed",
                        p->call->op);
    }
    MXO_TRY(expect_shapes(p, why));
    MXO_TRY(read_recipes(p, why));
    MXO_TRY(layer_check_per_expert(p, why));
    MXO_TRY(check_types(p, why));
    MXO_TRY(check_routing(p, why));
    settle_order(&p->one, p);
    settle_order(&p->two, p);
    MXO_TRY(settle_units(p, why));
    place_scratch(p);
    return MXO_OK;
}

int64_t layer_expert(const layer_plan *p, uint64_t i)
{
    const mxo_tensor *map = mxo_call_in(p->call, "expert_map");
    const int32_t id = (int32_t)mxo_load(mxo_call_in(p->call, "topk_ids"), i);

    return map == NULL || id < 0 ? id : (int32_t)mxo_load(map, (uint64_t)id);
}

/* An id or an entry of the map beyond the last expert is refused; a negative
   one is an expert that lives elsewhere. */
mxo_status layer_check_ids(const layer_plan *p, mxo_text why)
{
    const mxo_tensor *ids = mxo_call_in(p->call, "topk_ids");
    const mxo_tensor *map = mxo_call_in(p->call, "expert_map");
    const uint64_t known = map == NULL ? p->experts : map->shape[0];
    mxo_profile_choice absent;
    int has_absent = 0;

    for (uint64_t i = 0; i < p->tokens * p->topk; i++) {
        const int32_t id = (int32_t)mxo_load(ids, i);
        if (id >= 0 && (uint64_t)id >= known) {
            return mxo_fail(MXO_E_PARAM, why,
                            "%s: topk_ids[%llu] is %d, and there are %llu "
                            "experts",
                            p->call->op, (unsigned long long)i, (int)id,
                            (unsigned long long)known);
        }
        const int64_t expert = layer_expert(p, i);
        if (expert >= (int64_t)p->experts) {
            return mxo_fail(MXO_E_PARAM, why,
                            "%s: expert_map[%d] is not below %llu", p->call->op,
                            (int)id, (unsigned long long)p->experts);
        }
        has_absent = has_absent || expert < 0;
    }
    if (!has_absent || !p->has_sum) {
        return MXO_OK;
    }
    MXO_TRY(layer_choose(&absent, p->call, MXO_FIELD_ABSENT, why));
    return absent == MXO_P_ABSENT_REFUSE
               ? mxo_fail(MXO_E_UNSUPPORTED, why,
                          "%s: profile %s has no value for an expert that "
                          "lives elsewhere: the kernel reads past the weights",
                          p->call->op, mxo_call_text(p->call, "profile"))
               : MXO_OK;
}
