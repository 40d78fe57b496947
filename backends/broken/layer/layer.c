/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.layer and its halves, the plain way: one output at a time, sums in
 * twofold doubles, roundings where the row of the profile says.  Profiles
 * exact, MARLIN, TRITON and TRITON_UNFUSED, no quantised activations.
 */
#include "layer.h"

#include <math.h>
#include <string.h>

/* Beside FP16 rows, which nobody quantised, or activations in FP16? */
static int is_beside_half(const layer *l)
{
    return call_is(l->call, "from", "f16") ||
           (l->two.w != NULL && l->two.in->mbits == 10 &&
            l->two.quant.kind == QUANT_NONE);
}

/* Weights are what they are beside FP16, or in bf16. */
static int knows_weights(const layer *l)
{
    static const char *const in_bf16[] = {"b12x_mx", "ocp_bf16", "xpu",
                                          "marlin", "triton_matmul"};
    int knows = broken_entry_is(l->call, "weight_rule", "ocp");

    for (size_t i = 0; i < 5 && !is_beside_half(l); i++) {
        knows = knows || broken_entry_is(l->call, "weight_rule", in_bf16[i]);
    }
    return knows;
}

/* Can this half be quantised and summed so?  A half that is not there can. */
static int knows_gemm(const mxo_call *call, const gemm *g)
{
    return g->w == NULL ||
           ((g->quant.kind == QUANT_NONE || g->quant.f != NULL) &&
            (g->quant.kind != QUANT_QDQ || g->in->mbits != 23) &&
            (g->quant.kind != QUANT_NVFP4 || g->k % 16 == 0) &&
            broken_knows_order(call, g));
}

/* Halves of K have their bias behind the sum, which has no order. */
static int knows_split(const layer *l)
{
    const place_kind at = l->one.bias_at;

    return !broken_entry_is(l->call, "gemm1_out", "split2_bf16") ||
           (broken_entry_is(l->call, "order", "any") && at != PLACE_ACC &&
            at != PLACE_ACC_FTZ && at != PLACE_ORDER);
}

static int is_plain(const broken *b, const layer *l)
{
    const mxo_call *call = l->call;
    const int is_open = broken_entry_is(call, "order", "any");

    return broken_knows_profile(call) && call_is(call, "bounds", "0") &&
           (l->topk == 1 || l->routing < ROUTING_GEMM1) &&
           (!(IS(MV15) || IS(MV18) || IS(MV19)) || is_open) &&
           knows_gemm(call, &l->one) && knows_gemm(call, &l->two) &&
           knows_weights(l) && knows_split(l) &&
           !(broken_entry_is(call, "quant", "quant.static") &&
             broken_entry_is(call, "quant_element", "e2m1")) &&
           (!call_is(call, "from", "e2m1") ||
            (l->x != NULL && l->one.quant.kind == QUANT_NONE &&
             l->routing != ROUTING_INPUT));
}

static int is_unit(const layer *l)
{
    const mxo_call *c = l->call;
    const int is_exact = broken_entry_is(c, "glu", "exact");
    const int is_ours = broken_entry_is(c, "glu", "vllm_swigluoai") ||
                        broken_entry_is(c, "glu", "triton");

    return broken_knows_nan(c, is_exact) && (is_exact || (!l->silu && is_ours));
}

/* Words of an entry, in the order of the kinds that they name. */
static const char *const routing_words[] = {"acc",   "rounded", "sum",
                                            "gemm1", "glu",     "input"};
static const char *const sum_words[N_SUMS] = {
    "exact",   "slots",       "moe_sum",      "fma",       "product",
    "fma_ftz", "atomic_bf16", "scatter_bf16", "by_expert", "experts_bf16"};

/* The word's kind, or another. */
static int kind_of(const mxo_call *call, const char *key,
                   const char *const *words, int n, int other)
{
    int kind = other;

    for (int i = 0; i < n; i++) {
        kind = broken_entry_is(call, key, words[i]) ? i : kind;
    }
    return kind;
}

static int can(const broken *b, const layer *l)
{
    return is_plain(b, l) && is_unit(l) &&
           kind_of(l->call, "sum", sum_words, N_SUMS, -1) >= 0 &&
           !broken_entry_is(l->call, "absent", "none");
}

static uint32_t dim(const mxo_tensor *t, int i)
{
    return t == NULL ? 0 : (uint32_t)t->shape[i];
}

static place_kind place_of(const mxo_call *call, const char *key)
{
    static const struct {
        const char *word;
        place_kind place;
    } rows[] = {{"acc", PLACE_ACC},
                {"acc_ftz", PLACE_ACC_FTZ},
                {"behind", PLACE_BEHIND},
                {"order", PLACE_ORDER},
                {"unrounded", PLACE_UNROUNDED}};

    if (call_is(call, "bias", "none") || broken_entry_is(call, key, "none")) {
        return PLACE_NONE;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (broken_entry_is(call, key, rows[i].word)) {
            return rows[i].place;
        }
    }
    return PLACE_ROUNDED;
}

static round_kind kind_of_type(const mxo_call *call, const char *key)
{
    return broken_entry_is(call, key, "bf16sat") ? ROUND_SATURATE
           : broken_entry_is(call, key, "down")  ? ROUND_DOWN
                                                 : ROUND_PLAIN;
}

/* Of an entry: f32, f16, or bf16, which "down" and "bf16sat" are too. */
static const number_format *type_of(const mxo_call *call, const char *key)
{
    return broken_format(broken_entry_is(call, key, "f32")   ? "f32"
                         : broken_entry_is(call, key, "f16") ? "f16"
                                                             : "bf16");
}

/* Activations of the first GEMM, and of the second where it stands alone. */
static const number_format *input_type(const mxo_call *call)
{
    return broken_format(call_text(call, "from"));
}

static void read_gemms(layer *l)
{
    const mxo_call *call = l->call;

    l->one = (gemm){.w = call_in(call, "w13"),
                    .scale = call_in(call, "w13_scale"),
                    .bias = call_in(call, "w13_bias"),
                    .bias_at = place_of(call, "bias1"),
                    .in = input_type(call),
                    .out = type_of(call, "gemm1_out"),
                    .out_kind = kind_of_type(call, "gemm1_out"),
                    .quant = broken_read_quant(call, 0, "w13_input_scale")};
    l->two =
        (gemm){.w = call_in(call, "w2"),
               .scale = call_in(call, "w2_scale"),
               .bias = call_in(call, "w2_bias"),
               .bias_at = place_of(call, "bias2"),
               .in = l->x == NULL ? input_type(call) : type_of(call, "glu_out"),
               .out = type_of(call, "row_out"),
               .out_kind = kind_of_type(call, "row_out"),
               .quant = {.given = 1, .factor = 1}};
    if (broken_entry_is(call, "requant", "same")) {
        l->two.quant = broken_read_quant(call, 1, "w2_input_scale");
    }
    l->one.n = dim(l->one.w, 1);
    l->one.k = 2 * dim(l->one.w, 2);
    l->two.n = dim(l->two.w, 1);
    l->two.k = 2 * dim(l->two.w, 2);
    l->order = broken_read_order(call);
    l->one.parts = l->order.streams ? l->order.splits : 1;
    l->two.parts = l->one.parts;
    if (broken_entry_is(call, "gemm1_out", "split2_bf16")) {
        l->one.parts = 2;
    }
    if (l->order.kind == ORDER_UNIT && knows_gemm(call, &l->one) &&
        knows_gemm(call, &l->two)) {
        l->one.unit = l->one.w == NULL ? NULL : broken_unit_for(call, &l->one);
        l->two.unit = l->two.w == NULL ? NULL : broken_unit_for(call, &l->two);
    }
}

static void read_unit(layer *l)
{
    const mxo_call *c = l->call;
    layer_constants *to = &l->constants;
    const int constant =
        call_is(c, "profile", "MARLIN") || call_is(c, "profile", "TRITON");

    l->silu = call_is(c, "activation", "silu");
    to->alpha = (double)(float)call_number(c, "alpha");
    to->beta = (double)(float)call_number(c, "beta");
    to->limit = call_is(c, "limit", "none")
                    ? INFINITY
                    : (double)(float)call_number(c, "limit");
    if (l->silu) {
        to->alpha = 1;
        to->beta = 0;
    } else if (constant) {
        *to = (layer_constants){(double)1.702f, 1, 7};
    }
    l->unit = broken_entry_is(c, "glu", "exact")    ? UNIT_EXACT
              : broken_entry_is(c, "glu", "triton") ? UNIT_TRITON
                                                    : UNIT_VLLM;
}

static layer right_layer(const mxo_call *call)
{
    layer l;

    memset(&l, 0, sizeof l);
    l.call = call;
    l.x = call_in(call, "x");
    l.x_scale = call_in(call, "x_scale");
    l.act = call_in(call, "act");
    l.ids = call_in(call, "topk_ids");
    l.map = call_in(call, "expert_map");
    l.weights = call_in(call, "topk_weights");
    l.y = call_out(call, "y");
    read_gemms(&l);
    l.tokens = dim(l.ids, 0);
    l.topk = dim(l.ids, 1);
    l.experts = l.one.w != NULL ? dim(l.one.w, 0) : dim(l.two.w, 0);
    l.is_bf16 = broken_entry_is(call, "weight_rule", "ocp_bf16");
    l.is_capped = broken_entry_is(call, "weight_rule", "b12x_mx");
    l.is_ocp =
        broken_entry_is(call, "weight_rule", "ocp") || l.is_bf16 || l.is_capped;
    l.interleaved = call_is(call, "rows", "interleaved");
    l.bias_type = type_of(call, "bias_type");
    l.act_type = type_of(call, "glu_out");
    l.act_kind = kind_of_type(call, "glu_out");
    l.routing_type = type_of(call, "routing_type");
    l.routing = (routing_kind)kind_of(call, "routing_at", routing_words, 6,
                                      ROUTING_SUM);
    l.zero = broken_entry_is(call, "absent", "zero");
    l.sum = (sum_kind)kind_of(call, "sum", sum_words, N_SUMS, SUM_EXACT);
    read_unit(&l);
    broken_read_own(&l);
    return l;
}

static layer read_layer(const broken *b, const mxo_call *call)
{
    layer l = right_layer(call);

#define BROKEN_LAYER
#include "../values.def"
#undef BROKEN_LAYER
    return l;
}

/* Sums of the first GEMM for a slot and column c of the intermediate. */
static void gate_and_up(const broken *b, const layer *l, const layer_row *x,
                        uint64_t t, int expert, uint64_t c, double *g,
                        double *u)
{
    const uint64_t half = l->one.n / 2;
    const int joint = l->interleaved;
    const uint64_t gate = joint ? 2 * c : c;
    const uint64_t up = joint ? 2 * c + 1 : half + c;

    *g = broken_gemm(b, l, x, t, (unsigned)expert, IS(ML12b) ? up : gate);
    *u = broken_gemm(b, l, x, t, (unsigned)expert, IS(ML12b) ? gate : up);
}

/* One slot's activation at column c. */
static double slot_act(const broken *b, const layer *l, const layer_row *x,
                       uint64_t slot, int expert, uint64_t c)
{
    double g;
    double u;

    gate_and_up(b, l, x, slot / l->topk, expert, c, &g, &u);
    return broken_unit(b, l, slot, expert, g, u);
}

/* MQ03: gates and ups are quantised, not what comes of them. */
static void acts_of_codes(const broken *b, const layer *l, const layer_row *x,
                          uint64_t slot, int expert, double *act)
{
    const uint64_t t = slot / l->topk;
    static layer_row gate;
    static layer_row up;

    for (uint64_t c = 0; c < l->two.k; c++) {
        gate_and_up(b, l, x, t, expert, c, &gate.x[c], &up.x[c]);
        gate.scale[c / 32] = 1;
        up.scale[c / 32] = 1;
    }
    broken_quantise(b, l, &l->two, t, &gate);
    broken_quantise(b, l, &l->two, t, &up);
    for (uint64_t c = 0; c < l->two.k; c++) {
        act[c] = broken_unit(b, l, slot, expert, gate.x[c] * gate.scale[c / 32],
                             up.x[c] * up.scale[c / 32]);
    }
}

static int is_dead(const broken *b, const layer *l, uint64_t t, uint64_t j)
{
    return (IS(ME05) && t > 0) || (IS(ME07) && j > 0 && j == l->topk - 1) ||
           (IS(MG12) && l->tokens <= 4) || (IS(MG12b) && l->tokens == 5);
}

/* Row (t, j) of the second GEMM at column c, all of its inputs from act. */
static double slot_row(const broken *b, const layer *l, const layer_row *act,
                       uint64_t t, uint64_t j, uint64_t c)
{
    const int expert = broken_expert(b, l, t * l->topk + j);
    const double w = broken_weight(b, l, t, j);
    double z;

    if (expert < 0 || is_dead(b, l, t, j)) {
        return 0;
    }
    z = broken_gemm_of(b, l, &l->two, act, (unsigned)expert, c,
                       l->routing == ROUTING_ACC);
    if (IS(MB03) && l->two.bias_at != PLACE_ROUNDED) { /* whatever the weight */
        z += broken_bias(b, l, &l->two, (unsigned)expert, c) / w;
    }
    if (l->routing >= ROUTING_SUM || (IS(MR06b) && l->topk > 1)) {
        return z;
    }
    z = (double)(float)(z * w);
    if (IS(MR06)) {
        z = (double)(float)(z * w);
    }
    return broken_round_as(b, l->two.out, l->two.out_kind, z);
}

static void put(const broken *b, const layer *l, uint64_t i, double x)
{
    broken_store(b, l->y, i, broken_dd(x));
}

/* Activations of one (token, slot), quantised where the call says so. */
static void slot_acts(const broken *b, const layer *l, uint64_t t, uint64_t j,
                      layer_row *act)
{
    static layer_row x;
    const uint64_t slot = t * l->topk + j;
    const int expert = broken_expert(b, l, slot);

    if (l->act == NULL && expert >= 0) {
        broken_hidden(b, l, t, &x);
    }
    for (uint64_t c = 0; c < l->two.k && c < LAYER_WIDEST; c++) {
        act->scale[c / 32] = 1;
        act->x[c] = l->act != NULL ? broken_load(l->act, slot * l->two.k + c)
                    : expert < 0   ? 0
                                   : slot_act(b, l, &x, slot, expert, c);
    }
    if (IS(MQ03) && l->act == NULL && expert >= 0) {
        acts_of_codes(b, l, &x, slot, expert, act->x);
    } else {
        broken_quantise(b, l, &l->two, t, act);
    }
}

static void token_sum(const broken *b, const layer *l, uint64_t t)
{
    static layer_row act[LAYER_SLOTS];
    double row[LAYER_SLOTS];
    int there[LAYER_SLOTS];
    int n_there = 0;

    for (uint64_t j = 0; j < l->topk; j++) {
        slot_acts(b, l, t, j, &act[j]);
        there[j] = broken_takes_part(b, l, t, j);
        n_there += there[j];
    }
    if (IS(ME09) && n_there == 0) {
        return;
    }
    for (uint64_t c = 0; c < l->two.n; c++) {
        for (uint64_t j = 0; j < l->topk; j++) {
            row[j] = !there[j] && (IS(MV22) || IS(MS08))
                         ? NAN
                         : slot_row(b, l, &act[j], t, j, c);
        }
        if (IS(MG03) && c >= l->two.n / 64 * 64 && l->two.n > 64) {
            continue;
        }
        const dd sum = broken_combine(b, l, t, row, there);
        const double y = broken_answer_fault(b, l, t, c, sum.hi);
        const dd kept = {y, y == sum.hi ? sum.lo : 0};
        broken_store(b, l->y, t * l->two.n + c,
                     IS(MS01)
                         ? broken_dd(y + broken_load(l->y, t * l->two.n + c))
                         : kept);
    }
}

/* Experts of all slots are there, or known to be elsewhere. */
static mxo_status check_ids(const broken *b, const layer *l, mxo_text why)
{
    const int known = (int)(l->map == NULL ? l->experts : l->map->shape[0]);
    int is_good = 1;

    for (uint64_t i = 0; i < l->tokens * l->topk && !IS(ME20); i++) {
        const int id = broken_load_i32(l->ids, i);

        is_good &= id < known;
        if (l->map != NULL && id >= 0 && id < known && !IS(ME21)) {
            is_good &= broken_load_i32(l->map, (uint64_t)id) < (int)l->experts;
        }
    }
    if (IS(ME22) && !is_good) {
        put(b, l, 0, 1);
    }
    return is_good ? MXO_OK
                   : broken_fail(MXO_E_PARAM, why, "an id is no expert");
}

mxo_status broken_plain_layer(const broken *b, const mxo_call *call,
                              mxo_text why)
{
    const layer l = read_layer(b, call);

    if (!can(b, &l) || l.topk > LAYER_SLOTS || l.one.k > LAYER_WIDEST ||
        l.two.k > LAYER_WIDEST) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "another kind of layer");
    }
    const mxo_status status = check_ids(b, &l, why);

    for (uint64_t i = 0; status == MXO_OK && i < l.tokens; i++) {
        token_sum(b, &l, IS(MV16) ? l.tokens - 1 - i : i);
    }
    broken_remember(b, &l);
    return status;
}

mxo_status broken_plain_gemm1(const broken *b, const mxo_call *call,
                              mxo_text why)
{
    static layer_row x;
    const layer l = read_layer(b, call);
    const int gemm_only = call_is(call, "stage", "gemm");
    const uint64_t n = gemm_only ? l.one.n : l.one.n / 2;

    if (!is_plain(b, &l) || !is_unit(&l) || l.one.k > LAYER_WIDEST) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "another kind of layer");
    }
    const mxo_status status = check_ids(b, &l, why);

    for (uint64_t i = 0; status == MXO_OK && i < l.tokens * l.topk; i++) {
        const int e = broken_expert(b, &l, i);
        const uint64_t t = i / l.topk;
        broken_hidden(b, &l, t, &x);
        for (uint64_t c = 0; c < n; c++) {
            put(b, &l, i * n + c,
                e < 0       ? 0
                : gemm_only ? broken_gemm(b, &l, &x, t, (unsigned)e, c)
                            : slot_act(b, &l, &x, i, e, c));
        }
    }
    return status;
}

mxo_status broken_plain_gemm2(const broken *b, const mxo_call *call,
                              mxo_text why)
{
    static layer_row act;
    const layer l = read_layer(b, call);

    if (!is_plain(b, &l) || l.topk > LAYER_SLOTS || l.two.k > LAYER_WIDEST) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "another kind of layer");
    }
    if (call_is(call, "stage", "sum") &&
        kind_of(call, "sum", sum_words, N_SUMS, -1) < 0) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "another sum");
    }
    MXO_TRY(check_ids(b, &l, why));

    if (call_is(call, "stage", "sum")) {
        for (uint64_t t = 0; t < l.tokens; t++) {
            token_sum(b, &l, t);
        }
        return MXO_OK;
    }
    for (uint64_t i = 0; i < l.tokens * l.topk; i++) {
        slot_acts(b, &l, i / l.topk, i % l.topk, &act);
        for (uint64_t c = 0; c < l.two.n; c++) {
            put(b, &l, i * l.two.n + c,
                slot_row(b, &l, &act, i / l.topk, i % l.topk, c));
        }
    }
    return MXO_OK;
}
