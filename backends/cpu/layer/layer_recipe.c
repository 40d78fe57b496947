/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From words to choices.  A fact is only asked for where the call needs it,
 * as the emulator does: what is unknown and needed is refused by name.
 */
#include "layer.h"

#include <stdlib.h>
#include <string.h>

static mxo_status refuse(const layer *l, layer_field field, mxo_text why)
{
    const char *word = cpu_layer_word(l->call, field);

    if (strcmp(word, "unknown") == 0) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the profile %s does not say %s",
                        call_text(l->call, "profile"), cpu_layer_key(field));
    }
    return cpu_fail(MXO_E_UNSUPPORTED, why, "the cpu backend has no %s=%s",
                    cpu_layer_key(field), word);
}

static int index_of(const char *word, const char *const *list)
{
    for (int i = 0; list[i] != NULL; i++) {
        if (strcmp(word, list[i]) == 0) {
            return i;
        }
    }
    return -1;
}

/* Place of the field's word in a list; after a refusal *status is set. */
static int choose(const layer *l, layer_field field, const char *const *list,
                  mxo_status *status, mxo_text why)
{
    const int i = index_of(cpu_layer_word(l->call, field), list);

    if (i < 0 && *status == MXO_OK) {
        *status = refuse(l, field, why);
    }
    return i < 0 ? 0 : i;
}

/* In the order of layer_type. */
static const char *const types[] = {"f32",  "bf16",    "f16",
                                    "down", "bf16sat", NULL};

layer_type cpu_layer_type(const layer *l, layer_field field, mxo_status *status,
                          mxo_text why)
{
    return (layer_type)choose(l, field, types, status, why);
}

typedef struct order_row {
    const char *name;
    cpu_order_kind kind;
    int by_block;  /* scale_at=block, else weight */
    int has_start; /* a place for the bias */
} order_row;

static const order_row orders[] = {
    {"any", CPU_ORDER_EXACT, 0, 0},
    {"exact", CPU_ORDER_EXACT, 0, 1},
    {"block32", CPU_ORDER_BLOCK32, 1, 0},
    {"block", CPU_ORDER_BLOCK, 1, 1},
    {"seq", CPU_ORDER_SEQ, 0, 1},
    {"pairwise", CPU_ORDER_PAIRWISE, 0, 0},
    {"split", CPU_ORDER_SPLIT, 0, 0},
    {"streamk_bf16", CPU_ORDER_EXACT, 0, 0},
    {"avx512", CPU_ORDER_DPBF16, 0, 1},
    {"amx", CPU_ORDER_AMX, 0, 1},
    {"cpu", CPU_ORDER_DPBF16, 0, 1},
};
enum { N_ORDERS = sizeof orders / sizeof orders[0] };

static const order_row *order_row_of(const layer *l)
{
    const char *word = cpu_layer_word(l->call, LAYER_ORDER);

    for (int i = 0; i < N_ORDERS; i++) {
        if (strcmp(orders[i].name, word) == 0) {
            return &orders[i];
        }
    }
    return NULL;
}

/* vLLM's CPU kernels choose once per call. */
static cpu_order_kind settled(const layer *l, const order_row *row)
{
    return strcmp(row->name, "cpu") == 0 && l->slots / l->experts > 4
               ? CPU_ORDER_AMX
               : row->kind;
}

static mxo_status read_order(layer *l, mxo_text why)
{
    static const char *const at[] = {"weight", "block", NULL};
    const order_row *row = order_row_of(l);
    const double splits = call_number(l->call, "splits");
    mxo_status status = MXO_OK;
    const int is_block = choose(l, LAYER_SCALE_AT, at, &status, why);

    if (status != MXO_OK || row == NULL) {
        return status != MXO_OK ? status : refuse(l, LAYER_ORDER, why);
    }
    if (is_block != row->by_block) {
        return cpu_fail(MXO_E_PARAM, why, "order=%s has no scale_at=%s",
                        row->name, at[is_block]);
    }
    l->is_streamk = strcmp(row->name, "streamk_bf16") == 0;
    if (splits < 1 ||
        (splits > 1 && row->kind != CPU_ORDER_SPLIT && !l->is_streamk) ||
        call_number(l->call, "promote") != 0) {
        return cpu_fail(MXO_E_PARAM, why,
                        "splits and promote need an order that has them");
    }
    if (row->kind >= CPU_ORDER_DPBF16 && !call_is(l->call, "from", "bf16")) {
        return cpu_fail(MXO_E_PARAM, why, "the CPU's orders take bf16");
    }
    l->order = (cpu_order){settled(l, row), call_is(l->call, "mul", "fma"),
                           (size_t)splits};
    return MXO_OK;
}

/* The rule by which a GEMM reads its weights, from being what its quantiser
   gets: operands of 16 bits are FP16 beside FP16. */
static mxo_status read_weights(const layer *l, layer_gemm *g, uint32_t from,
                               mxo_text why)
{
    const int keeps = g->quant.op == LAYER_AS_IS || g->quant.op == LAYER_BY_QDQ;
    const uint32_t narrow = keeps && from == MXO_F16 ? MXO_F16 : MXO_BF16;

    const char *rule = cpu_layer_word(l->call, LAYER_WEIGHT_RULE);

    if (cpu_weight_rule_make(&g->rule, rule, narrow) != 0) {
        return refuse(l, LAYER_WEIGHT_RULE, why);
    }
    g->behind = strcmp(rule, "humming") == 0 ? 2
                : strcmp(rule, "b12x") == 0  ? 119
                                             : 0;
    const int is_block =
        l->order.kind == CPU_ORDER_BLOCK32 || l->order.kind == CPU_ORDER_BLOCK;

    return is_block && (!g->rule.has_unit || g->behind != 0)
               ? refuse(l, LAYER_SCALE_AT, why)
               : MXO_OK;
}

/* The rule before the first GEMM, or before the second. */
static const char *rule_word(const layer *l, const layer_quant *q)
{
    const char *own = cpu_layer_word(l->call, LAYER_REQUANT_RULE);

    return q == &l->two.quant && strcmp(own, "same") != 0 &&
                   strcmp(own, "none") != 0
               ? own
               : cpu_layer_word(l->call, LAYER_QUANT_RULE);
}

static mxo_status read_given(const layer *l, layer_quant *q, uint32_t from,
                             mxo_text why)
{
    static const char *const sizes[] = {"e4m3fn", "e5m2", NULL};
    static const char *const rules[] = {"divide", "reciprocal", NULL};
    mxo_status status = MXO_OK;
    const int size = choose(l, LAYER_QUANT_ELEMENT, sizes, &status, why);

    const int rule = index_of(rule_word(l, q), rules);

    MXO_TRY(status);
    q->is_reciprocal = rule == 1;
    if (rule < 0) {
        return refuse(l, LAYER_QUANT_RULE, why);
    }
    if (!call_is(l->call, "input_scale", "given")) {
        return cpu_fail(MXO_E_PARAM, why,
                        "quant.static needs input_scale=given");
    }
    cpu_quant_make(&q->by, cpu_quant_rule_of("floor"),
                   cpu_element_of(sizes[size]), from, CPU_BY_RULE);
    return MXO_OK;
}

static mxo_status read_nvfp4(const layer *l, layer_quant *q, uint32_t from,
                             mxo_text why)
{
    static const char *const sizes[] = {"e2m1", NULL};
    static const char *const rules[] = {"fast", "ieee",       "exact",
                                        "vllm", "trtllm_gen", NULL};
    mxo_status status = MXO_OK;
    const int rule = index_of(rule_word(l, q), rules);

    (void)choose(l, LAYER_QUANT_ELEMENT, sizes, &status, why);
    MXO_TRY(status);
    if (rule < 0) {
        return refuse(l, LAYER_QUANT_RULE, why);
    }
    if (!call_is(l->call, "input_scale", "given")) {
        return cpu_fail(MXO_E_PARAM, why,
                        "quant.nvfp4 needs input_scale=given");
    }
    q->by.from = from;
    q->nvfp4 = cpu_nvfp4_of(rules[rule]);
    return MXO_OK;
}

static mxo_status read_rule(const layer *l, layer_quant *q, uint32_t from,
                            mxo_text why)
{
    static const char *const sizes[] = {"e2m1", "e4m3fn", "e5m2", NULL};
    const char *word = rule_word(l, q);
    const char *const size = cpu_layer_word(l->call, LAYER_QUANT_ELEMENT);
    mxo_status status = MXO_OK;

    if (strcmp(word, "none") == 0 || strcmp(size, "none") == 0) {
        return cpu_fail(MXO_E_PARAM, why,
                        "quant=%s needs quant_element and quant_rule",
                        cpu_layer_word(l->call, LAYER_QUANT));
    }
    const int element = choose(l, LAYER_QUANT_ELEMENT, sizes, &status, why);

    MXO_TRY(status);
    q->is_quark_hip = strcmp(word, "quark_hip") == 0;
    if (q->is_quark_hip) { /* its block is quark_triton's, its code its own */
        word = q->op == LAYER_BY_QDQ ? "floor" : "quark_triton";
    }
    const cpu_quant_rule *rule = cpu_quant_rule_of(word);

    if (rule == NULL) {
        return strcmp(word, "unknown") == 0
                   ? refuse(l, LAYER_QUANT_RULE, why)
                   : cpu_fail(MXO_E_PARAM, why, "%s is no rule of such blocks",
                              word);
    }
    cpu_quant_make(
        &q->by, rule,
        cpu_element_of(q->op == LAYER_BY_QDQ ? "e2m1" : sizes[element]), from,
        CPU_BY_RULE);
    return MXO_OK;
}

static mxo_status read_group(const layer *l, layer_quant *q, mxo_text why)
{
    static const char *const groups[] = {"32", "64", "128", NULL};
    mxo_status status = MXO_OK;
    const int i = choose(l, LAYER_QUANT_GROUP, groups, &status, why);

    q->group = (size_t)CPU_MX << i;
    return status;
}

static mxo_status read_quant(const layer *l, layer_gemm *g, uint32_t from,
                             mxo_text why)
{
    /* In the order of layer_quant_op. */
    static const char *const ops[] = {
        "none",         "quant.mx",    "quant.group", "quant.qdq",
        "quant.static", "quant.nvfp4", NULL};
    mxo_status status = MXO_OK;

    g->quant.op = (layer_quant_op)choose(l, LAYER_QUANT, ops, &status, why);
    if (status != MXO_OK || g->quant.op == LAYER_AS_IS) {
        return status;
    }
    if (from == MXO_U8 || (g->quant.op == LAYER_BY_QDQ && from == MXO_F32)) {
        return cpu_fail(MXO_E_PARAM, why,
                        "from=e2m1 is quantised already, and quant.qdq takes "
                        "16 bits");
    }
    if (g->quant.op == LAYER_BY_SCALE) {
        return read_given(l, &g->quant, from, why);
    }
    if (g->quant.op == LAYER_BY_NVFP4) {
        return read_nvfp4(l, &g->quant, from, why);
    }
    status = read_rule(l, &g->quant, from, why);
    return status == MXO_OK && g->quant.op == LAYER_BY_GROUP
               ? read_group(l, &g->quant, why)
               : status;
}

static mxo_status read_bias(const layer *l, layer_gemm *g, layer_field field,
                            mxo_text why)
{
    /* In the order of layer_place. */
    static const char *const places[] = {"none",      "acc",     "rounded",
                                         "order",     "acc_ftz", "behind",
                                         "unrounded", NULL};
    mxo_status status = MXO_OK;

    if (call_is(l->call, "bias", "none")) {
        return MXO_OK;
    }
    g->place = (layer_place)choose(l, field, places, &status, why);
    if (g->place != LAYER_BIAS_NONE) {
        g->bias_type = cpu_layer_type(l, LAYER_BIAS_TYPE, &status, why);
    }
    if (status == MXO_OK && g->place == LAYER_BIAS_ORDER &&
        (cpu_layer_is_given(&g->quant) || !order_row_of(l)->has_start)) {
        return cpu_fail(MXO_E_PARAM, why,
                        "%s=order needs an order that has a place for it",
                        cpu_layer_key(field));
    }
    return status;
}

/* A constant: the profile's number, or where it has none the call's. */
static float constant(const layer *l, layer_field field, mxo_status *status,
                      mxo_text why)
{
    const char *fact = cpu_layer_fact(l->call, field);
    const char *key = cpu_layer_key(field);
    const int is_unknown = strcmp(fact, "unknown") == 0;
    const float infinity = cpu_float(0x7f800000u);

    if (is_unknown && call_is(l->call, "glu", "profile")) {
        *status = *status == MXO_OK ? refuse(l, field, why) : *status;
        return 0;
    }
    if (strcmp(fact, "config") == 0 || is_unknown) {
        return call_is(l->call, key, "none") ? infinity
                                             : (float)call_number(l->call, key);
    }
    return strcmp(fact, "none") == 0 ? infinity : (float)atof(fact);
}

static mxo_status read_constants(layer *l, int is_silu, mxo_text why)
{
    cpu_glu *c = &l->unit.base;
    mxo_status status = MXO_OK;

    c->has_limit = !call_is(l->call, "limit", "none");
    if (is_silu) {
        c->alpha = 1;
        c->beta = 0;
        c->limit = call_is(l->call, "limit", "none")
                       ? cpu_float(0x7f800000u)
                       : (float)call_number(l->call, "limit");
        return MXO_OK;
    }
    c->alpha = constant(l, LAYER_ALPHA, &status, why);
    c->beta = constant(l, LAYER_BETA, &status, why);
    c->limit = constant(l, LAYER_LIMIT, &status, why);
    return status;
}

mxo_status cpu_layer_read_glu(layer *l, mxo_text why)
{
    const char *own = call_text(l->call, "glu");
    int is_silu = call_is(l->call, "activation", "silu");
    layer_field field = !is_silu                            ? LAYER_SWIGLU
                        : call_is(l->call, "limit", "none") ? LAYER_SILU
                                                            : LAYER_SILU_LIMIT;

    if (strcmp(own, "profile") == 0 &&
        strcmp(cpu_layer_fact(l->call, field), "swiglu") == 0) {
        is_silu = 0; /* the kernel runs swiglu all the same */
        field = LAYER_SWIGLU;
    }
    const char *name =
        strcmp(own, "profile") == 0 ? cpu_layer_fact(l->call, field) : own;
    mxo_status status = MXO_OK;

    const layer_type out = cpu_layer_type(l, LAYER_GLU_OUT, &status, why);

    l->glu_saturates = out == LAYER_SAT;
    l->unit.base.to = cpu_layer_dtype(out);
    l->unit.from = cpu_layer_dtype(cpu_layer_leaves(&l->one));
    MXO_TRY(status);
    if (cpu_glu_dialect(&l->unit, name) != 0) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend has no glu=%s for activation=%s", name,
                        call_text(l->call, "activation"));
    }
    const char *nan = call_text(l->call, "glu_nan");

    /* Routed layers and those of NVFP4 have no such word. */
    if (*nan != '\0' && cpu_glu_nan(&l->unit, nan) != 0) {
        return cpu_fail(MXO_E_PARAM, why, "glu_nan is unknown");
    }
    MXO_TRY(read_constants(l, is_silu, why));
    return cpu_glu_check(&l->unit, &l->unit.base, why);
}

/* A routing weight before the second GEMM belongs to the only slot. */
static mxo_status check_routing(const layer *l, mxo_text why)
{
    const int is_early = l->routing_at >= LAYER_AT_GEMM1;

    if (!l->has_one || !is_early) {
        return MXO_OK;
    }
    if (l->topk != 1) {
        return cpu_fail(MXO_E_PARAM, why, "routing_at=%s needs a top-k of 1",
                        cpu_layer_word(l->call, LAYER_ROUTING_AT));
    }
    return l->routing_at == LAYER_AT_INPUT && call_is(l->call, "from", "e2m1")
               ? cpu_fail(MXO_E_PARAM, why,
                          "routing_at=input comes before quantisation: not "
                          "with from=e2m1")
               : MXO_OK;
}

static mxo_status read_second(layer *l, mxo_text why)
{
    static const char *const requants[] = {"none", "same", NULL};
    /* In the order of layer_routing. */
    static const char *const at[] = {"acc",   "rounded", "sum", "gemm1",
                                     "input", "glu",     NULL};
    const uint32_t from = l->has_one
                              ? l->unit.base.to
                              : cpu_float_dtype(call_text(l->call, "from"));
    mxo_status status = MXO_OK;
    const int same = choose(l, LAYER_REQUANT, requants, &status, why);

    MXO_TRY(status);
    if (same) {
        MXO_TRY(read_quant(l, &l->two, from, why));
    }
    MXO_TRY(read_weights(l, &l->two, from, why));
    MXO_TRY(read_bias(l, &l->two, LAYER_BIAS2, why));
    l->routing_at =
        (layer_routing)choose(l, LAYER_ROUTING_AT, at, &status, why);
    l->weight_type = cpu_layer_type(l, LAYER_ROUTING_TYPE, &status, why);
    l->two.out = cpu_layer_type(l, LAYER_ROW_OUT, &status, why);
    MXO_TRY(status);
    return check_routing(l, why);
}

mxo_status cpu_layer_read_sum(layer *l, mxo_text why)
{
    static const char *const sums[] = {
        "fma",       "product",      "slots",        "moe_sum",
        "cpu",       "atomic_bf16",  "exact",        "fma_ftz",
        "by_expert", "experts_bf16", "scatter_bf16", NULL};
    const mxo_tensor *ids = call_in(l->call, "topk_ids");
    mxo_status status = MXO_OK;

    l->sum = (layer_order)choose(l, LAYER_SUM, sums, &status, why);
    if (l->sum == LAYER_SUM_SCATTER) { /* one slot is stored, more are added */
        const double topk =
            ids != NULL ? (double)ids->shape[1] : call_number(l->call, "top_k");
        l->sum = topk == 1 ? LAYER_SUM_CPU : LAYER_SUM_ATOMIC;
    }
    l->out = cpu_layer_type(l, LAYER_OUT, &status, why);
    const int weighs =
        l->sum <= LAYER_SUM_PRODUCT || l->sum == LAYER_SUM_FLUSHED;

    if (status == MXO_OK && l->sum != LAYER_SUM_EXACT &&
        weighs != (l->routing_at == LAYER_AT_SUM)) {
        return cpu_fail(MXO_E_PARAM, why,
                        "sum=%s and routing_at=%s contradict each other",
                        cpu_layer_word(l->call, LAYER_SUM),
                        cpu_layer_word(l->call, LAYER_ROUTING_AT));
    }
    return status;
}

static mxo_status read_first(layer *l, mxo_text why)
{
    const char *text = call_text(l->call, "from");
    const uint32_t from =
        strcmp(text, "e2m1") == 0 ? MXO_U8 : cpu_float_dtype(text);
    mxo_status status = MXO_OK;

    MXO_TRY(read_quant(l, &l->one, from, why));
    MXO_TRY(read_weights(l, &l->one, from, why));
    MXO_TRY(read_bias(l, &l->one, LAYER_BIAS1, why));
    l->one.out = cpu_layer_is_split(l)
                     ? LAYER_BF16
                     : cpu_layer_type(l, LAYER_GEMM1_OUT, &status, why);
    MXO_TRY(status);
    return l->has_glu ? cpu_layer_read_glu(l, why) : MXO_OK;
}

mxo_status cpu_layer_read_recipe(layer *l, mxo_text why)
{
    MXO_TRY(cpu_no_bounds(l->call, why));
    MXO_TRY(read_order(l, why));
    if (l->has_one) {
        MXO_TRY(read_first(l, why));
    }
    if (l->has_two) {
        MXO_TRY(read_second(l, why));
    }
    MXO_TRY(cpu_layer_read_parts(l, why));
    return l->has_sum ? cpu_layer_read_sum(l, why) : MXO_OK;
}
