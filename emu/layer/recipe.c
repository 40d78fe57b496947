/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From words to a recipe.  An entry is only asked for where the layer needs
 * it: a profile that does not say how it adds biases still runs without any.
 */
#include "recipe.h"

#include <string.h>

static const char *own_word(const mxo_call *call, const char *key)
{
    for (uint32_t i = 0; i < call->n_params; i++) {
        if (strcmp(call->params[i].key, key) == 0) {
            return call->params[i].text;
        }
    }
    return "profile";
}

static const mxo_profile *profile_of(const mxo_call *call)
{
    return mxo_profile_by_name(mxo_call_text(call, "profile"));
}

const char *layer_word(const mxo_call *call, mxo_profile_field field)
{
    const char *own = own_word(call, mxo_profile_question_at((int)field)->key);

    return strcmp(own, "profile") == 0 ? profile_of(call)->fact[field].value
                                       : own;
}

static mxo_status refuse_unknown(const mxo_call *call, mxo_profile_field field,
                                 mxo_text why)
{
    const mxo_profile *p = profile_of(call);
    const char *key = mxo_profile_question_at((int)field)->key;
    const int is_glu = field == MXO_FIELD_SWIGLU || field == MXO_FIELD_SILU ||
                       field == MXO_FIELD_SILU_LIMIT;

    return mxo_fail(MXO_E_UNSUPPORTED, why,
                    "%s: profile %s does not say %s (%s); declare it with "
                    "%s=...",
                    call->op, p->name, key, p->fact[field].source,
                    is_glu ? "glu" : key);
}

static int is_unknown(const char *word)
{
    return strcmp(word, "unknown") == 0;
}

mxo_format layer_format(mxo_profile_choice type)
{
    const char *name = mxo_profile_choice_name(type);

    return strcmp(name, "f32") == 0   ? MXO_FMT_F32
           : strcmp(name, "f16") == 0 ? MXO_FMT_F16
                                      : MXO_FMT_BF16; /* and "down" */
}

mxo_format layer_leaves(const layer_recipe *r, mxo_profile_choice out)
{
    return r->bias == MXO_P_BIAS1_BEHIND || r->bias == MXO_P_BIAS1_UNROUNDED
               ? MXO_FMT_F32
               : layer_format(out);
}

int layer_scales_late(const layer_recipe *r)
{
    return r->behind > 2 && r->routing_at == MXO_P_ROUTING_AT_ROUNDED;
}

mxo_status layer_choose(mxo_profile_choice *c, const mxo_call *call,
                        mxo_profile_field field, mxo_text why)
{
    *c = mxo_profile_choice_by_name(field, layer_word(call, field));
    return *c == MXO_CHOICE_UNKNOWN ? refuse_unknown(call, field, why) : MXO_OK;
}

/* Does the order fit the place of the scale, and do its numbers fit it? */
static mxo_status read_order(layer_recipe *r, const mxo_call *call,
                             mxo_text why)
{
    const layer_order *row = layer_order_of(r->order);
    const int is_block = r->scale_at == MXO_P_SCALE_AT_BLOCK;
    const int64_t splits = mxo_call_int(call, "splits");
    const int64_t promote = mxo_call_int(call, "promote");

    if (is_block ? !row->by_block || r->behind != 0 : !row->by_weight) {
        return mxo_fail(MXO_E_PARAM, why, "%s: order=%s has no scale_at=%s",
                        call->op, mxo_profile_choice_name(r->order),
                        mxo_profile_choice_name(r->scale_at));
    }
    if (splits < 1 || (splits > 1 && r->order != MXO_P_ORDER_SPLIT &&
                       r->order != MXO_P_ORDER_STREAMK)) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: splits=%s needs order=split or streamk_bf16 and "
                        "at least one",
                        call->op, mxo_call_text(call, "splits"));
    }
    if (promote < 0 || (promote > 0 && (row->way != LAYER_UNIT || is_block))) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: promote=%s needs a matrix unit as order and "
                        "scale_at=weight",
                        call->op, mxo_call_text(call, "promote"));
    }
    r->fma = mxo_call_is(call, "mul", "fma");
    r->splits = (uint64_t)splits;
    r->parts = r->order == MXO_P_ORDER_STREAMK ? r->splits : 1;
    r->promote = (uint64_t)promote;
    return MXO_OK;
}

static mxo_status read_weights(layer_recipe *r, const mxo_call *call,
                               mxo_text why)
{
    const char *rule = layer_word(call, MXO_FIELD_WEIGHT_RULE);

    if (is_unknown(rule)) {
        return refuse_unknown(call, MXO_FIELD_WEIGHT_RULE, why);
    }
    r->weight_rule = mxo_dequant_rule_by_name(rule);
    if (r->weight_rule == MXO_N_DEQUANT_RULES) {
        return mxo_fail(MXO_E_UNSUPPORTED, why,
                        "%s: weight_rule=%s: its weights are not MXFP4; "
                        "moe.nvfp4_layer takes them",
                        call->op, rule);
    }
    r->behind = mxo_dequant_behind(r->weight_rule);
    MXO_TRY(layer_choose(&r->scale_at, call, MXO_FIELD_SCALE_AT, why));
    MXO_TRY(layer_choose(&r->order, call, MXO_FIELD_ORDER, why));
    return read_order(r, call, why);
}

static uint64_t decimal(const char *text)
{
    uint64_t n = 0;

    for (; *text >= '0' && *text <= '9'; text++) {
        n = 10 * n + (uint64_t)(*text - '0');
    }
    return n;
}

/* The rule of the quantiser before the first GEMM or the second. */
static const char *rule_word(const mxo_call *call, int second)
{
    const char *own =
        second ? layer_word(call, MXO_FIELD_REQUANT_RULE) : "same";

    return strcmp(own, "same") == 0 || strcmp(own, "none") == 0
               ? layer_word(call, MXO_FIELD_QUANT_RULE)
               : own;
}

static mxo_status read_rule(layer_recipe *r, const mxo_call *call, int second,
                            mxo_text why)
{
    const char *element = layer_word(call, MXO_FIELD_QUANT_ELEMENT);
    const char *rule = rule_word(call, second);

    if (is_unknown(element)) {
        return refuse_unknown(call, MXO_FIELD_QUANT_ELEMENT, why);
    }
    if (is_unknown(rule)) {
        return refuse_unknown(call, MXO_FIELD_QUANT_RULE, why);
    }
    r->quant.quark_hip = strcmp(rule, "quark_hip") == 0;
    r->quant.element = mxo_format_by_name(element);
    r->quant.rule =
        mxo_quant_rule_by_name(r->quant.quark_hip ? "quark_triton" : rule);
    if (r->quant.element == MXO_N_FORMATS || r->quant.rule == NULL) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: quant=%s needs quant_element and quant_rule",
                        call->op, layer_word(call, MXO_FIELD_QUANT));
    }
    return MXO_OK;
}

enum { N_MATHS = 5 };

#define ONE 0x3f800000u

int layer_nvfp4_math(const char *rule)
{
    /* In the order of mxo_nvfp4_math. */
    static const char *const maths[N_MATHS] = {"fast", "ieee", "exact", "vllm",
                                               "trtllm_gen"};

    for (int i = 0; i < N_MATHS; i++) {
        if (strcmp(rule, maths[i]) == 0) {
            return i;
        }
    }
    return -1;
}

/* A given scale: quant.static divides by it and multiplies the sums by it,
   quant.nvfp4 the other way round. */
static mxo_status read_given(layer_recipe *r, const mxo_call *call, int second,
                             mxo_text why)
{
    const char *element = layer_word(call, MXO_FIELD_QUANT_ELEMENT);
    const char *rule = rule_word(call, second);
    const int is_static = r->quant.op == MXO_P_QUANT_STATIC;
    const int math = layer_nvfp4_math(rule);

    if (is_unknown(rule)) {
        return refuse_unknown(call, MXO_FIELD_QUANT_RULE, why);
    }
    if (!mxo_call_is(call, "input_scale", "given")) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: quant=%s needs input_scale=given", call->op,
                        layer_word(call, MXO_FIELD_QUANT));
    }
    r->quant.element = mxo_format_by_name(element);
    r->quant.reciprocal = strcmp(rule, "reciprocal") == 0;
    r->quant.nvfp4.math = (uint8_t)(math < 0 ? 0 : math);
    r->quant.nvfp4.rcp_hopper = 1;
    const int fits =
        is_static ? (r->quant.element == MXO_FMT_E4M3FN ||
                     r->quant.element == MXO_FMT_E5M2) &&
                        (r->quant.reciprocal || strcmp(rule, "divide") == 0)
                  : r->quant.element == MXO_FMT_E2M1 && math >= 0;

    return fits ? MXO_OK
                : mxo_fail(MXO_E_PARAM, why,
                           "%s: quant=%s has no quant_element=%s with "
                           "quant_rule=%s",
                           call->op, layer_word(call, MXO_FIELD_QUANT), element,
                           rule);
}

void layer_give_scale(layer_quant *q, uint32_t scale)
{
    q->scale = scale;
    q->factor = q->op == MXO_P_QUANT_NVFP4 ? mxo_f32_div(ONE, scale) : scale;
}

/* Quantisers whose result is codes, under bytes or not, or 16-bit numbers. */
static mxo_status read_quant(layer_recipe *r, const mxo_call *call, int second,
                             mxo_text why)
{
    mxo_status status = layer_choose(&r->quant.op, call, MXO_FIELD_QUANT, why);

    if (status != MXO_OK || r->quant.op == MXO_P_QUANT_NONE) {
        return status;
    }
    if (r->quant.op == MXO_P_QUANT_STATIC || r->quant.op == MXO_P_QUANT_NVFP4) {
        return read_given(r, call, second, why);
    }
    status = read_rule(r, call, second, why);
    r->quant.group = r->quant.op == MXO_P_QUANT_GROUP
                         ? decimal(layer_word(call, MXO_FIELD_QUANT_GROUP))
                         : MXO_MX_BLOCK;
    if (status == MXO_OK &&
        (r->quant.group == 0 || r->quant.group % MXO_MX_BLOCK != 0)) {
        return mxo_fail(MXO_E_PARAM, why, "%s: quant_group is a multiple of 32",
                        call->op);
    }
    return status;
}

static mxo_status read_bias(layer_recipe *r, const mxo_call *call,
                            mxo_profile_field field, mxo_text why)
{
    static const mxo_profile_choice same[][2] = {
        {MXO_P_BIAS2_NONE, MXO_P_BIAS1_NONE},
        {MXO_P_BIAS2_ACC, MXO_P_BIAS1_ACC},
        {MXO_P_BIAS2_ACC_FTZ, MXO_P_BIAS1_ACC_FTZ},
        {MXO_P_BIAS2_BEHIND, MXO_P_BIAS1_BEHIND},
        {MXO_P_BIAS2_ROUNDED, MXO_P_BIAS1_ROUNDED},
        {MXO_P_BIAS2_ORDER, MXO_P_BIAS1_ORDER},
    };

    r->bias = MXO_P_BIAS1_NONE;
    r->bias_type = MXO_P_BIAS_TYPE_F32;
    if (mxo_call_is(call, "bias", "none")) {
        return MXO_OK;
    }
    MXO_TRY(layer_choose(&r->bias, call, field, why));

    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        r->bias = r->bias == same[i][0] ? same[i][1] : r->bias;
    }
    if (r->bias != MXO_P_BIAS1_NONE) {
        MXO_TRY(layer_choose(&r->bias_type, call, MXO_FIELD_BIAS_TYPE, why));
    }
    const int is_scaled =
        r->quant.op == MXO_P_QUANT_STATIC || r->quant.op == MXO_P_QUANT_NVFP4;

    if (r->bias == MXO_P_BIAS1_ORDER &&
        (is_scaled || !layer_order_of(r->order)->has_bias)) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: %s=order needs an order that has a place for it",
                        call->op, mxo_profile_question_at((int)field)->key);
    }
    return MXO_OK;
}

mxo_status layer_read_gemm1(layer_recipe *r, const mxo_call *call, mxo_text why)
{
    MXO_TRY(read_weights(r, call, why));
    r->profile = profile_of(call);
    r->quant.factor = ONE;
    MXO_TRY(read_quant(r, call, 0, why));
    MXO_TRY(read_bias(r, call, MXO_FIELD_BIAS1, why));
    MXO_TRY(layer_choose(&r->gemm_out, call, MXO_FIELD_GEMM1_OUT, why));
    r->parts = r->gemm_out == MXO_P_GEMM1_OUT_SPLIT2 ? 2 : r->parts;
    return layer_check_parts(r, call, r->gemm_out, why);
}

/* A number such as "1.702" as the binary32 nearest to it: both parts are
   exact in binary32, and the quotient is rounded once. */
static mxo_real number_of(const char *word)
{
    const char *point = strchr(word, '.');
    uint64_t units = decimal(word);
    uint64_t parts = 1;

    for (const char *d = point; d != NULL && *++d != '\0';) {
        units = 10 * units + (uint64_t)(*d - '0');
        parts *= 10;
    }
    const mxo_real a = {units, 0,
                        units == 0 ? MXO_CLASS_ZERO : MXO_CLASS_FINITE, 0, 0};
    const mxo_real b = {parts, 0, MXO_CLASS_FINITE, 0, 0};

    return mxo_format_decode(
        MXO_FMT_F32, mxo_f32_div((uint32_t)mxo_format_round(MXO_FMT_F32, a),
                                 (uint32_t)mxo_format_round(MXO_FMT_F32, b)));
}

static mxo_status constant(mxo_real *x, const mxo_call *call,
                           mxo_profile_field field, mxo_text why)
{
    static const mxo_real infinity = {0, 0, MXO_CLASS_INF, 0, 0};
    const char *key = mxo_profile_question_at((int)field)->key;
    const char *fact = profile_of(call)->fact[field].value;

    const int is_declared = strcmp(own_word(call, "glu"), "profile") != 0;

    if (is_unknown(fact) && !is_declared) {
        return refuse_unknown(call, field, why);
    }
    if (strcmp(fact, "config") == 0 || is_unknown(fact)) {
        *x = mxo_call_is(call, key, "none")
                 ? infinity
                 : mxo_format_decode(MXO_FMT_F32, mxo_call_f32(call, key));
    } else {
        *x = strcmp(fact, "none") == 0 ? infinity : number_of(fact);
    }
    return MXO_OK;
}

/* Alpha 1, beta 0, and the limit that the call gives. */
static mxo_status silu_constants(mxo_glu *unit, const mxo_call *call)
{
    static const mxo_real infinity = {0, 0, MXO_CLASS_INF, 0, 0};

    unit->alpha = number_of("1");
    unit->beta = number_of("0");
    unit->limit =
        mxo_call_is(call, "limit", "none")
            ? infinity
            : mxo_format_decode(MXO_FMT_F32, mxo_call_f32(call, "limit"));
    unit->has_limit = !mxo_call_is(call, "limit", "none");
    return MXO_OK;
}

static mxo_status swiglu_constants(mxo_glu *unit, const mxo_call *call,
                                   mxo_text why)
{
    MXO_TRY(constant(&unit->alpha, call, MXO_FIELD_ALPHA, why));
    MXO_TRY(constant(&unit->beta, call, MXO_FIELD_BETA, why));
    unit->has_limit = !mxo_call_is(call, "limit", "none");
    return constant(&unit->limit, call, MXO_FIELD_LIMIT, why);
}

static mxo_profile_field glu_field(const mxo_call *call)
{
    if (mxo_call_is(call, "activation", "swiglu")) {
        return MXO_FIELD_SWIGLU;
    }
    return mxo_call_is(call, "limit", "none") ? MXO_FIELD_SILU
                                              : MXO_FIELD_SILU_LIMIT;
}

/* Some kernels run swiglu, with its constants, where silu was asked for. */
static int is_swiglu(const mxo_call *call)
{
    return mxo_call_is(call, "activation", "swiglu") ||
           (strcmp(own_word(call, "glu"), "profile") == 0 &&
            strcmp(profile_of(call)->fact[glu_field(call)].value, "swiglu") ==
                0);
}

static mxo_status read_dialect(mxo_glu *unit, const mxo_call *call,
                               mxo_text why)
{
    const mxo_profile_field field =
        is_swiglu(call) ? MXO_FIELD_SWIGLU : glu_field(call);
    const char *own = own_word(call, "glu");
    const char *word =
        strcmp(own, "profile") == 0 ? profile_of(call)->fact[field].value : own;
    int i = 0;

    if (is_unknown(word)) {
        return refuse_unknown(call, field, why);
    }
    if (strcmp(word, "none") == 0) {
        return mxo_fail(MXO_E_UNSUPPORTED, why,
                        "%s: profile %s has no activation=%s", call->op,
                        profile_of(call)->name,
                        mxo_call_text(call, "activation"));
    }
    while (strcmp(word, mxo_glu_name((mxo_glu_dialect)i)) != 0) {
        i++;
    }
    unit->dialect = (mxo_glu_dialect)i;
    return MXO_OK;
}

mxo_status layer_read_glu(layer_recipe *r, const mxo_call *call, mxo_text why)
{
    MXO_TRY(read_dialect(&r->unit, call, why));
    MXO_TRY(layer_choose(&r->glu_out, call, MXO_FIELD_GLU_OUT, why));
    r->unit.nan = layer_glu_nan(call);
    r->unit.from = layer_leaves(r, r->gemm_out);
    r->unit.to = layer_format(r->glu_out);
    MXO_TRY(is_swiglu(call) ? swiglu_constants(&r->unit, call, why)
                            : silu_constants(&r->unit, call));
    const char *sentence = mxo_glu_check(&r->unit);

    return sentence == NULL
               ? MXO_OK
               : mxo_fail(MXO_E_PARAM, why, "%s: %s", call->op, sentence);
}

mxo_status layer_read_gemm2(layer_recipe *r, const mxo_call *call, mxo_text why)
{
    mxo_profile_choice requant;

    MXO_TRY(read_weights(r, call, why));
    r->profile = profile_of(call);
    r->quant.op = MXO_P_QUANT_NONE;
    r->quant.factor = ONE;
    MXO_TRY(layer_choose(&requant, call, MXO_FIELD_REQUANT, why));
    if (requant == MXO_P_REQUANT_SAME) {
        MXO_TRY(read_quant(r, call, 1, why));
    }
    MXO_TRY(read_bias(r, call, MXO_FIELD_BIAS2, why));
    MXO_TRY(layer_choose(&r->routing_at, call, MXO_FIELD_ROUTING_AT, why));
    MXO_TRY(layer_choose(&r->routing_type, call, MXO_FIELD_ROUTING_TYPE, why));
    MXO_TRY(layer_choose(&r->row_out, call, MXO_FIELD_ROW_OUT, why));
    return layer_check_parts(r, call, r->row_out, why);
}

/* One slot is stored as the CPU's kernel stores it, more are added. */
static mxo_profile_choice scattered(const mxo_call *call)
{
    const mxo_tensor *ids = mxo_call_in(call, "topk_ids");
    const uint64_t topk = ids != NULL && ids->rank == 2
                              ? ids->shape[1]
                              : (uint64_t)mxo_call_int(call, "top_k");

    return topk == 1 ? MXO_P_SUM_CPU : MXO_P_SUM_ATOMIC;
}

mxo_status layer_read_sum(layer_recipe *r, const mxo_call *call, mxo_text why)
{
    MXO_TRY(layer_choose(&r->sum, call, MXO_FIELD_SUM, why));
    MXO_TRY(layer_choose(&r->out, call, MXO_FIELD_OUT, why));
    r->sum = r->sum == MXO_P_SUM_SCATTER ? scattered(call) : r->sum;
    const int weighs = r->sum == MXO_P_SUM_FMA || r->sum == MXO_P_SUM_FMA_FTZ ||
                       r->sum == MXO_P_SUM_PRODUCT;

    if (r->sum != MXO_P_SUM_EXACT &&
        weighs != (r->routing_at == MXO_P_ROUTING_AT_SUM)) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: sum=%s and routing_at=%s contradict each other",
                        call->op, layer_word(call, MXO_FIELD_SUM),
                        layer_word(call, MXO_FIELD_ROUTING_AT));
    }
    return MXO_OK;
}
