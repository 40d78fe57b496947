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
                        cpu_text(l->call, "profile"), cpu_layer_key(field));
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

static const char *const types[] = {"f32", "bf16", "down", NULL};

static mxo_status read_weights(layer *l, mxo_text why)
{
    static const char *const at[] = {"weight", NULL};
    static const char *const orders[] = {"any", "exact", NULL};
    mxo_status status = MXO_OK;

    if (cpu_number(l->call, "bounds") != 0) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend computes y, not its bounds");
    }
    if (cpu_weight_rule_make(&l->rule,
                             cpu_layer_word(l->call, LAYER_WEIGHT_RULE)) != 0) {
        return refuse(l, LAYER_WEIGHT_RULE, why);
    }
    (void)choose(l, LAYER_SCALE_AT, at, &status, why);
    (void)choose(l, LAYER_ORDER, orders, &status, why);
    if (status == MXO_OK && (cpu_number(l->call, "splits") > 1 ||
                             cpu_number(l->call, "promote") > 0)) {
        return cpu_fail(MXO_E_PARAM, why,
                        "splits and promote need an order that has them");
    }
    return status;
}

static mxo_status read_quant(const layer *l, layer_gemm *g, uint32_t from,
                             mxo_text why)
{
    static const char *const ops[] = {"none", "quant.mx", NULL};
    static const char *const sizes[] = {"e2m1", "e4m3fn", "e5m2", NULL};
    mxo_status status = MXO_OK;
    const int op = choose(l, LAYER_QUANT, ops, &status, why);

    if (status != MXO_OK || op == 0) {
        return status;
    }
    const int element = choose(l, LAYER_QUANT_ELEMENT, sizes, &status, why);
    const cpu_quant_rule *rule =
        cpu_quant_rule_of(cpu_layer_word(l->call, LAYER_QUANT_RULE));

    if (rule == NULL && status == MXO_OK) {
        status = refuse(l, LAYER_QUANT_RULE, why);
    }
    if (status == MXO_OK && from == MXO_U8) {
        status = cpu_fail(MXO_E_PARAM, why,
                          "from=e2m1 is quantised already: quant=none");
    }
    if (status == MXO_OK) {
        g->has_quant = 1;
        cpu_quant_make(&g->quant, rule, cpu_element_of(sizes[element]), from,
                       CPU_BY_RULE);
    }
    return status;
}

static mxo_status read_bias(const layer *l, layer_gemm *g, layer_field field,
                            mxo_text why)
{
    static const char *const places[] = {"none", "acc", "rounded", NULL};
    mxo_status status = MXO_OK;

    if (cpu_is(l->call, "bias", "none")) {
        return MXO_OK;
    }
    g->place = (layer_place)choose(l, field, places, &status, why);
    if (g->place != LAYER_BIAS_NONE) {
        g->bias_is_bf16 =
            choose(l, LAYER_BIAS_TYPE, types, &status, why) == LAYER_BF16;
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

    if (is_unknown && cpu_is(l->call, "glu", "profile")) {
        *status = *status == MXO_OK ? refuse(l, field, why) : *status;
        return 0;
    }
    if (strcmp(fact, "config") == 0 || is_unknown) {
        return cpu_is(l->call, key, "none") ? infinity
                                            : (float)cpu_number(l->call, key);
    }
    return strcmp(fact, "none") == 0 ? infinity : (float)atof(fact);
}

static mxo_status read_constants(layer *l, int is_silu, mxo_text why)
{
    cpu_glu *c = &l->unit.base;
    mxo_status status = MXO_OK;

    if (is_silu) {
        c->alpha = 1;
        c->beta = 0;
        c->limit = cpu_is(l->call, "limit", "none")
                       ? cpu_float(0x7f800000u)
                       : (float)cpu_number(l->call, "limit");
        return MXO_OK;
    }
    c->alpha = constant(l, LAYER_ALPHA, &status, why);
    c->beta = constant(l, LAYER_BETA, &status, why);
    c->limit = constant(l, LAYER_LIMIT, &status, why);
    return status;
}

static mxo_status read_glu(layer *l, mxo_text why)
{
    const int is_silu = cpu_is(l->call, "activation", "silu");
    const layer_field field = !is_silu ? LAYER_SWIGLU
                              : cpu_is(l->call, "limit", "none")
                                  ? LAYER_SILU
                                  : LAYER_SILU_LIMIT;
    const char *own = cpu_text(l->call, "glu");
    const char *name =
        strcmp(own, "profile") == 0 ? cpu_layer_fact(l->call, field) : own;
    mxo_status status = MXO_OK;

    l->unit.base.to = choose(l, LAYER_GLU_OUT, types, &status, why) == LAYER_F32
                          ? MXO_F32
                          : MXO_BF16;
    l->unit.from = l->one.out == LAYER_F32 ? MXO_F32 : MXO_BF16;
    if (status == MXO_OK && cpu_glu_dialect(&l->unit, name) != 0) {
        return cpu_fail(MXO_E_UNSUPPORTED, why,
                        "the cpu backend has no glu=%s for activation=%s", name,
                        cpu_text(l->call, "activation"));
    }
    if (status == MXO_OK) {
        status = read_constants(l, is_silu, why);
    }
    return status == MXO_OK ? cpu_glu_check(&l->unit, &l->unit.base, why)
                            : status;
}

static mxo_status read_second(layer *l, mxo_text why)
{
    static const char *const requants[] = {"none", "same", NULL};
    static const char *const at[] = {"acc", "rounded", "sum", NULL};
    mxo_status status = MXO_OK;
    const int same = choose(l, LAYER_REQUANT, requants, &status, why);

    if (status == MXO_OK && same) {
        status =
            read_quant(l, &l->two,
                       l->has_one ? l->unit.base.to
                                  : cpu_float_dtype(cpu_text(l->call, "from")),
                       why);
    }
    if (status == MXO_OK) {
        status = read_bias(l, &l->two, LAYER_BIAS2, why);
    }
    l->routing_at =
        (layer_routing)choose(l, LAYER_ROUTING_AT, at, &status, why);
    l->weight_is_bf16 =
        choose(l, LAYER_ROUTING_TYPE, types, &status, why) == LAYER_BF16;
    l->two.out = (layer_type)choose(l, LAYER_ROW_OUT, types, &status, why);
    return status;
}

static mxo_status read_sum(layer *l, mxo_text why)
{
    static const char *const sums[] = {"fma", "product",     "slots", "moe_sum",
                                       "cpu", "atomic_bf16", "exact", NULL};
    mxo_status status = MXO_OK;

    l->sum = (layer_order)choose(l, LAYER_SUM, sums, &status, why);
    l->out = (layer_type)choose(l, LAYER_OUT, types, &status, why);
    const int weighs = l->sum <= LAYER_SUM_PRODUCT;

    if (status == MXO_OK && l->sum != LAYER_SUM_EXACT &&
        weighs != (l->routing_at == LAYER_AT_SUM)) {
        return cpu_fail(MXO_E_PARAM, why,
                        "sum=%s and routing_at=%s contradict each other",
                        cpu_layer_word(l->call, LAYER_SUM),
                        cpu_layer_word(l->call, LAYER_ROUTING_AT));
    }
    return status;
}

mxo_status cpu_layer_read_recipe(layer *l, mxo_text why)
{
    const char *from = cpu_text(l->call, "from");
    mxo_status status = read_weights(l, why);

    if (status == MXO_OK && l->has_one) {
        status = read_quant(
            l, &l->one,
            strcmp(from, "e2m1") == 0 ? MXO_U8 : cpu_float_dtype(from), why);
    }
    if (status == MXO_OK && l->has_one) {
        status = read_bias(l, &l->one, LAYER_BIAS1, why);
        l->one.out =
            (layer_type)choose(l, LAYER_GEMM1_OUT, types, &status, why);
    }
    if (status == MXO_OK && l->has_glu) {
        status = read_glu(l, why);
    }
    if (status == MXO_OK && l->has_two) {
        status = read_second(l, why);
    }
    return status == MXO_OK && l->has_sum ? read_sum(l, why) : status;
}
