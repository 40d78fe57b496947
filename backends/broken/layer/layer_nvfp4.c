/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.nvfp4_layer and moe.nvfp4_scalars, the plain way: one output at a time.
 * Hidden states are quantised by the rule exact; the rest is CUTLASS's form
 * with every step a real number rounded once, or trtllm-gen's in its steps.
 */
#include "layer.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 16, MOST = 512 };

/* Codes and scales of a row, as numbers and as bytes. */
typedef struct row {
    double code[MOST];
    double scale[MOST / BLOCK];
} row;

typedef struct nvfp4 {
    const broken *b;
    const mxo_call *call;
    uint64_t tokens, topk, experts, hidden, inter;
    int is_raw; /* trtllm-gen's form */
} nvfp4;

/* The word of an entry: the call's, or that of the profile TRTLLM. */
static int says(const mxo_call *call, const char *key, const char *word)
{
    static const char *const facts[][2] = {
        {"global_at", "glu"},     {"requant_rule", "trtllm_gen"},
        {"glu", "trtllm_gen"},    {"gemm1_out", "f32"},
        {"glu_out", "f32"},       {"row_out", "bf16sat"},
        {"routing_type", "bf16"}, {"sum", "fma_ftz"},
        {"out", "bf16"},          {"order", "any"},
        {"absent", "skip"},       {"routing_at", "sum"},
    };
    const char *own = call_text(call, key);

    for (int i = 0; i < 12 && strcmp(own, "profile") == 0; i++) {
        own = strcmp(facts[i][0], key) == 0 ? facts[i][1] : own;
    }
    return strcmp(own, word) == 0;
}

static int can(const mxo_call *call)
{
    const int is_raw = says(call, "global_at", "glu") &&
                       says(call, "glu", "trtllm_gen") &&
                       says(call, "requant_rule", "trtllm_gen") &&
                       says(call, "glu_out", "f32");
    const int is_plain =
        says(call, "global_at", "acc") && says(call, "glu", "exact") &&
        says(call, "requant_rule", "exact") && says(call, "glu_out", "f32");

    return (is_raw || is_plain) &&
           call_is(call, "profile", "FLASHINFER_TRTLLM_NVFP4") &&
           call_is(call, "quant_rule", "exact") &&
           call_is(call, "from", "bf16") && call_is(call, "map", "0") &&
           !says(call, "order", "seq") && !says(call, "absent", "refuse") &&
           !says(call, "sum", "exact");
}

static double global_of(const nvfp4 *n, const char *name, uint64_t e)
{
    return broken_load(call_in(n->call, name), e);
}

static double e8m0(unsigned byte)
{
    return broken_power((int)byte - 127);
}

static const broken faultless;

static double scale_value(const broken *b, unsigned byte)
{
    const double sign = IS(NV18) && byte >= 128 ? -1 : 1;

    if (IS(NV04)) {
        return e8m0(byte);
    }
    byte &= IS(NV15) ? 0x7eu : 0x7fu;
    if (IS(NV17) && byte == 0x7f) {
        return 480;
    }
    if (IS(NV16) && byte < 8) {
        return 0;
    }
    return sign *
           broken_decode(&faultless, &broken_formats[FORMAT_E4M3FN], byte);
}

/* Scale byte of a number that is not negative, nearest even, at most 448. */
static double rounded_scale(const broken *b, double s)
{
    const number_format *f = &broken_formats[FORMAT_E4M3FN];
    const rounding r = {.tie = IS(NV20) ? TIE_ZERO : TIE_EVEN, .sat = 1};

    if (IS(NV09)) {
        return s;
    }
    return broken_decode(&faultless, f,
                         broken_encode(&faultless, f, r, broken_dd(s)));
}

static double code_value(double y)
{
    const number_format *f = &broken_formats[FORMAT_E2M1];
    const rounding r = {.tie = TIE_EVEN, .sat = 1};

    return isnan(y)
               ? 6
               : broken_decode(&faultless, f,
                               broken_encode(&faultless, f, r, broken_dd(y)));
}

/* The largest that is a number; NaN if none is. */
static double most_of(const double *x, uint64_t n)
{
    double most = NAN;

    for (uint64_t i = 0; i < n; i++) {
        most = fmax(most, fabs(x[i]));
    }
    return most;
}

static float flushed(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

/* One block; first: of hidden states, by the rule exact. */
static void quantise_block(const nvfp4 *n, int first, double g, const double *x,
                           double most, double *code, double *scale)
{
    const broken *b = n->b;
    const float part = (float)((double)(float)most * g);
    const float sixth = part * 0x1.555556p-3f;
    const int by_steps = n->is_raw && !first;

    *scale = by_steps ? rounded_scale(b, isnan(most) ? 0 : (double)sixth)
                      : rounded_scale(b, most * g / 6);
    for (int i = 0; i < BLOCK; i++) {
        if (by_steps) {
            const float down = *scale == 0 ? 0 : (float)(1 / *scale);
            const float own = flushed(flushed((float)x[i]) * down);
            code[i] = code_value((double)(own * (float)g));
        } else {
            code[i] =
                code_value(*scale == 0 ? x[i] * g * 0 : x[i] * g / *scale);
        }
    }
}

static void quantise(const nvfp4 *n, int first, double g, const double *x,
                     uint64_t k, row *to)
{
    const broken *b = n->b;

    g = IS(NV05) && first ? (double)(float)(1 / g) : g;
    for (uint64_t i = 0; i < k; i += BLOCK) {
        const uint64_t at = IS(NV10) ? i / 32 * 32 : i;
        const uint64_t wide = IS(NV10) && at + 32 <= k ? 32 : BLOCK;
        quantise_block(n, first, g, x + i, most_of(x + at, wide), to->code + i,
                       &to->scale[i / BLOCK]);
    }
}

/* A row of weights against a row of activations. */
static double dot(const nvfp4 *n, const char *w, const char *s, uint64_t at,
                  const row *a, uint64_t k)
{
    const broken *b = n->b;
    const mxo_tensor *codes = call_in(n->call, w);
    const uint8_t *scale = tensor_address(call_in(n->call, s));
    const number_format *e2m1 = &broken_formats[FORMAT_E2M1];
    double sum = 0;

    for (uint64_t j = 0; j < k; j++) {
        const uint64_t i = IS(NV30) ? k - 1 - j : j;
        const uint64_t block = IS(NV03) ? i / 32 * 2 : i / BLOCK;
        const uint64_t from = IS(NV14) ? i ^ 1 : i;
        const double v = code_value(broken_decode(
            &faultless, e2m1, broken_code(codes, 1, at * k + from)));
        sum += a->code[i] * a->scale[i / BLOCK] * v *
               scale_value(b, scale[at * (k / BLOCK) + block]);
    }
    return (double)(float)sum;
}

static double to_type(const nvfp4 *n, const char *key, double x)
{
    const number_format *f =
        broken_format(says(n->call, key, "f32")   ? "f32"
                      : says(n->call, key, "f16") ? "f16"
                                                  : "bf16");
    const double y =
        broken_decode(&faultless, f, broken_round(f, broken_dd(fabs(x))));
    const int stays = says(n->call, key, "bf16sat") && isinf(y);

    return isnan(x) ? x : copysign(stays ? 0x1.fep127 : y, x);
}

static double clamp(double x, double least, double most)
{
    return x < least ? least : x > most ? most : x;
}

/* trtllm-gen's activation in its steps, on raw sums. */
static double raw_unit(const nvfp4 *n, uint64_t e, double gate, double up)
{
    const broken *b = n->b;
    const int is_silu = call_is(n->call, "activation", "silu");
    const float sg = (float)global_of(n, "g1_alphas", e);
    const float alpha = is_silu ? 1 : (float)call_number(n->call, "alpha");
    const float real_beta = is_silu ? 0 : (float)call_number(n->call, "beta");
    const float beta = real_beta / sg;
    const int has_limit = !call_is(n->call, "limit", "none");
    const float given = (float)call_number(n->call, "limit");
    const double most =
        has_limit ? (double)(IS(NV12) ? given : given / sg) : 0x1.fffffep127;
    const float u = (float)clamp(up, -most, most);
    const float g = (float)clamp(gate, -0x1.fffffep127, most);
    const float both = alpha * 0x1.715476p+0f;
    const float t = g * (float)(both * sg);
    const float d = 1 + (float)exp2(-(double)t);
    const float w = g * (1 / d);
    const float v = IS(NV13) ? u + real_beta : fmaf(u, sg, beta * sg);

    return (double)(w * v);
}

static double unit(const nvfp4 *n, uint64_t e, double gate, double up)
{
    const int is_silu = call_is(n->call, "activation", "silu");
    const double limit = call_is(n->call, "limit", "none")
                             ? (double)INFINITY
                             : call_number(n->call, "limit");
    const dd y = broken_swiglu(
        n->b, is_silu ? 1 : call_number(n->call, "alpha"),
        is_silu ? 0 : call_number(n->call, "beta"), limit, gate, up);

    return n->is_raw ? raw_unit(n, e, gate, up) : (double)(float)y.hi;
}

static double first(const nvfp4 *n, uint64_t e, const row *a, uint64_t r)
{
    const broken *b = n->b;
    const uint64_t whose = IS(NV02) ? (e + 1) % n->experts : e;
    const double alpha =
        global_of(n, IS(NV01) ? "g2_alphas" : "g1_alphas", whose);
    const double y =
        dot(n, "w13", "w13_scale", e * 2 * n->inter + r, a, n->hidden);

    return n->is_raw
               ? y
               : to_type(
                     n, "gemm1_out",
                     (double)(float)(y * (IS(NV19) ? alpha * alpha : alpha)));
}

static uint64_t row_of(const nvfp4 *n, int half, uint64_t i)
{
    const broken *b = n->b;
    const int turned = call_is(n->call, "rows", "up_first") ^ IS(NV06);

    return call_is(n->call, "rows", "interleaved")
               ? 2 * i + (uint64_t)half
               : i + (half ^ turned ? n->inter : 0);
}

static double routing_weight(const nvfp4 *n, uint64_t i)
{
    return to_type(n, "routing_type",
                   broken_load(call_in(n->call, "topk_weights"), i));
}

/* The row of a slot: up to the routing weight, or with it. */
static void slot_row(const nvfp4 *n, uint64_t i, double *z)
{
    const broken *b = n->b;
    const uint64_t e =
        (uint64_t)broken_load_i32(call_in(n->call, "topk_ids"), i);
    const uint64_t other = IS(NV11) ? (e + 1) % n->experts : e;
    const double alpha = global_of(n, IS(NV01) ? "g1_alphas" : "g2_alphas", e);
    const int early = says(n->call, "routing_at", "acc");
    const double weight = routing_weight(n, i);
    double x[MOST];
    double y[MOST];
    row a;

    for (uint64_t k = 0; k < n->hidden; k++) {
        x[k] = broken_load(call_in(n->call, "x"), i / n->topk * n->hidden + k);
    }
    quantise(n, 1, global_of(n, "a1_gscale", 0), x, n->hidden, &a);
    for (uint64_t k = 0; k < n->inter; k++) {
        y[k] = unit(n, e, first(n, e, &a, row_of(n, 0, k)),
                    first(n, e, &a, row_of(n, 1, k)));
        y[k] = IS(NV21) ? broken_bf16(y[k]) : y[k];
    }
    quantise(n, 0, IS(NV08) ? 1 : global_of(n, "g1_scale_c", other), y,
             n->inter, &a);
    for (uint64_t c = 0; c < n->hidden; c++) {
        const double acc =
            dot(n, "w2", "w2_scale", e * n->hidden + c, &a, n->inter);
        const double whole = IS(NV07) ? acc : (double)(float)(acc * alpha);
        z[c] =
            early && IS(NV31)
                ? to_type(n, "row_out", to_type(n, "row_out", whole) * weight)
            : early ? to_type(n, "row_out", (double)(float)(whole * weight))
                    : to_type(n, "row_out", whole);
    }
}

static void add_slot(const nvfp4 *n, uint64_t i, const double *z, float *sum)
{
    const broken *b = n->b;
    const double w = routing_weight(n, i);
    const int flushes = says(n->call, "sum", "fma_ftz");
    const int stores =
        (says(n->call, "sum", "scatter_bf16") ^ IS(NV32)) && n->topk == 1;

    for (uint64_t c = 0; c < n->hidden; c++) {
        const float x = flushes ? flushed((float)z[c]) : (float)z[c];
        if (stores) {
            sum[c] = x;
        } else if (says(n->call, "sum", "scatter_bf16") ||
                   says(n->call, "sum", "atomic_bf16")) {
            sum[c] = (float)broken_bf16((double)(sum[c] + x));
        } else if (says(n->call, "sum", "product")) {
            sum[c] = sum[c] + (float)(x * (float)w);
        } else {
            sum[c] = fmaf(x, flushes ? flushed((float)w) : (float)w, sum[c]);
            sum[c] = flushes ? flushed(sum[c]) : sum[c];
        }
    }
}

static void token(const nvfp4 *n, uint64_t t)
{
    const mxo_tensor *y = call_out(n->call, "y");
    double z[MOST];
    float sum[MOST] = {0};

    for (uint64_t j = 0; j < n->topk; j++) {
        slot_row(n, t * n->topk + j, z);
        add_slot(n, t * n->topk + j, z, sum);
    }
    for (uint64_t c = 0; c < n->hidden; c++) {
        broken_store(n->b, y, t * n->hidden + c, broken_dd((double)sum[c]));
    }
}

mxo_status broken_moe_nvfp4_layer(const broken *b, const mxo_call *call,
                                  mxo_text why)
{
    const mxo_tensor *w = call_in(call, "w2");
    const mxo_tensor *ids = call_in(call, "topk_ids");
    const nvfp4 n = {b,
                     call,
                     ids->shape[0],
                     ids->shape[1],
                     w->shape[0],
                     w->shape[1],
                     2 * w->shape[2],
                     says(call, "global_at", "glu")};

    if (!can(call) || n.hidden > MOST || n.inter > MOST) {
        return broken_fail(MXO_E_UNSUPPORTED, why,
                           "NVFP4 layers in plain steps, or trtllm-gen's");
    }
    for (uint64_t t = 0; t < n.tokens; t++) {
        token(&n, t);
    }
    return MXO_OK;
}

/* A scalar of the checkpoint, turned over where it is an inverse. */
static float scalar(const broken *b, const mxo_call *call, const char *name,
                    uint64_t i)
{
    const float x = (float)broken_load(call_in(call, name), i);
    const int turns = call_is(call, "scales", "compressed_tensors");

    return turns && !IS(NS06) ? 1 / x : x;
}

static float largest(const broken *b, const mxo_call *call, const char *name,
                     uint64_t step)
{
    const uint64_t n = broken_elems(call_in(call, name));
    float most = 0;

    for (uint64_t j = 0; j < n; j += step) {
        const uint64_t i = IS(NS08) ? n - 1 - j : j;
        const float x = scalar(b, call, name, i);
        most = x > most ? x : most;
    }
    return most;
}

static void put(const broken *b, const mxo_call *call, const char *name,
                uint64_t i, float x)
{
    broken_store(b, call_out(call, name), i, broken_dd((double)x));
}

static int is_positive(const mxo_tensor *t)
{
    int is_good = 1;

    for (uint64_t i = 0; i < broken_elems(t); i++) {
        const double x = broken_load(t, i);
        is_good &= x > 0 && x - x == 0;
    }
    return is_good;
}

/* Both of w13's projections have numbers, and somebody does. */
static int has_pairs(const mxo_call *call)
{
    return call_in(call, "w13_scale_2")->shape[0] > 0 &&
           call_in(call, "w13_scale_2")->shape[1] == 2 &&
           call_in(call, "w13_input_scale")->shape[1] == 2;
}

mxo_status broken_moe_nvfp4_scalars(const broken *b, const mxo_call *call,
                                    mxo_text why)
{
    if (!has_pairs(call) && !IS(RF68)) {
        return broken_fail(MXO_E_SHAPE, why, "not one for w1 and one for w3");
    }
    const uint64_t experts = call_in(call, "w2_scale_2")->shape[0];
    const float a13 = largest(b, call, "w13_input_scale", IS(NS03) ? 2 : 1);
    const float a2 = largest(b, call, "w2_input_scale", 1);
    const float inverse = IS(NS04) ? a2 : 1 / a2;
    const int is_product = call_is(call, "scale_c", "product") ^ IS(NS05);

    for (uint32_t i = 0; i < call->n_in; i++) {
        if (!is_positive(&call->in[i])) {
            return broken_fail(MXO_E_PARAM, why, "a scale is not positive");
        }
    }
    put(b, call, "a1_gscale", 0, 1 / a13);
    put(b, call, "a2_gscale", 0, inverse);
    for (uint64_t e = 0; e < experts; e++) {
        const float own = scalar(b, call, "w13_input_scale", 2 * e);
        const float g1 = scalar(b, call, "w13_scale_2", 2 * e + IS(NS01)) *
                         (IS(NS02) ? own : a13);
        put(b, call, "g1_alphas", e, g1);
        put(b, call, "g1_scale_c", e, is_product ? g1 * inverse : g1 / a2);
        put(b, call, "g2_alphas", e,
            scalar(b, call, "w2_scale_2", e) * (IS(NS07) ? a13 : a2));
    }
    return MXO_OK;
}
