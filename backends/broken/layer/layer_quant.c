/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activations of a layer before a GEMM: a row becomes codes, as numbers, beside
 * the scales of its blocks; or numbers again; or codes under a scale that was
 * given and that the sums are multiplied by.  What goes wrong here: which
 * elements a scale comes from, which it is applied to, and whether at all.
 */
#include "layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 32, SMALL_BLOCK = 16, GROUP_VLLM = 100, GROUP_DEEPGEMM };

static quant_kind kind_of(const mxo_call *call)
{
    static const struct {
        const char *name;
        quant_kind kind;
    } kinds[] = {{"quant.mx", QUANT_MX},
                 {"quant.group", QUANT_GROUP},
                 {"quant.qdq", QUANT_QDQ},
                 {"quant.static", QUANT_STATIC},
                 {"quant.nvfp4", QUANT_NVFP4}};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (broken_entry_is(call, "quant", kinds[i].name)) {
            return kinds[i].kind;
        }
    }
    return QUANT_NONE;
}

/* -1: not here. */
static int rule_of(quant_kind kind, const char *name, const mxo_call *call)
{
    const int mx = broken_rule(name);
    const int is_fp8 = call_is(call, "quant_element", "e4m3fn");

    switch (kind) {
    case QUANT_MX:
        return mx < N_RULES && mx != RULE_VLLM_CEIL && mx != RULE_TRITON_UP &&
                       mx != RULE_TRITON_DOWN && strcmp(name, "rceil_mul") != 0
                   ? mx
                   : -1;
    case QUANT_GROUP:
        if (!is_fp8) {
            return -1;
        }
        if (strcmp(name, "vllm_group") == 0) {
            return GROUP_VLLM;
        }
        if (strcmp(name, "deepgemm") == 0) {
            return GROUP_DEEPGEMM;
        }
        return -1;
    case QUANT_QDQ:
        return strcmp(name, "quark_hip") == 0 ? 0 : -1;
    case QUANT_NVFP4:
        return strcmp(name, "exact") == 0 ? 0 : -1;
    default:
        return 0;
    }
}

/* The second GEMM's inputs may have a rule of their own. */
static const char *rule_text(const mxo_call *call, int again)
{
    const int is_own = again && !call_is(call, "requant_rule", "profile") &&
                       !call_is(call, "requant_rule", "same");

    return call_text(call, is_own ? "requant_rule" : "quant_rule");
}

layer_quant broken_read_quant(const mxo_call *call, int again,
                              const char *given)
{
    const char *const rule = rule_text(call, again);
    const mxo_tensor *scale = call_in(call, given);
    layer_quant q = {.kind = kind_of(call), .given = 1, .factor = 1};

    if (q.kind == QUANT_NONE) {
        return q;
    }
    q.rule = rule_of(q.kind, rule, call);
    q.f = q.rule < 0 ? NULL : broken_format(call_text(call, "quant_element"));
    q.reciprocal = strcmp(rule, "reciprocal") == 0;
    q.group = q.kind == QUANT_GROUP
                  ? strtoull(call_text(call, "quant_group"), NULL, 10)
                  : BLOCK;
    if (q.group == 0 || q.group % BLOCK != 0) {
        q.f = NULL;
    }
    if (q.kind == QUANT_STATIC || q.kind == QUANT_NVFP4) {
        q.given = scale == NULL ? 1 : broken_load(scale, 0);
        q.factor =
            q.kind == QUANT_STATIC ? q.given : broken_over(1, q.given, 0);
    }
    return q;
}

/* Quantisation of one row. */
typedef struct job {
    const broken *b;
    const layer *l;
    const gemm *g;
    const layer_quant *q;
    uint64_t t;      /* of hidden states: the token */
    const double *x; /* the row as it came */
    layer_row *r;
} job;

/* A number of the same column, of another token: MQ02. */
static double beside(const job *j, uint64_t k, uint64_t i)
{
    const uint64_t t = (j->t + i) % j->l->tokens;

    return broken_load(j->l->x, t * j->g->k + k);
}

static double larger(const broken *b, double a, double v, int drops)
{
    if (drops || IS(MQ22)) {
        return fmax(a, v);
    }
    return isnan(a) || isnan(v) ? NAN : v > a ? v : a;
}

/* With what pads behind a short last group hold. */
static double with_pads(const job *j, double a, uint64_t from, uint64_t end)
{
    const broken *b = j->b;
    const uint64_t group = j->q->kind == QUANT_NVFP4 ? end - from : j->q->group;

    for (uint64_t k = end; k < from + group && IS(MQ35) && from > 0; k++) {
        a = larger(b, a, fabs(j->x[k - group]), 0);
    }
    return IS(MQ36) && end - from < group ? larger(b, a, 0.75, 0) : a;
}

/* The largest magnitude of from .. end - 1; NaN if one is, or left out. */
static double block_max(const job *j, uint64_t from, uint64_t end, int drops)
{
    const broken *b = j->b;
    const int across = IS(MQ02) && j->g == &j->l->one && j->l->x != NULL &&
                       j->l->x->dtype != MXO_U8;
    uint64_t first = from;
    double a = 0;

    first = IS(MQ12)                                     ? 0
            : IS(MQ21) && end - from < BLOCK && from > 0 ? from - BLOCK
                                                         : first;
    end = IS(MQ11) ? from + (end - from + 1) / 2 : end;
    for (uint64_t k = first; k < end; k++) {
        a = larger(b, a, fabs(across ? beside(j, from, k - from) : j->x[k]),
                   drops);
    }
    return with_pads(j, a, from, end);
}

static double encoded(const job *j, double x, int sat)
{
    static const broken faultless;
    const broken *b = j->b;
    const rounding how = {IS(MQ06)   ? TIE_ZERO
                          : IS(MQ07) ? TIE_AWAY
                                     : TIE_EVEN,
                          sat && !IS(MQ08), 0, 0};

    return broken_decode(&faultless, j->q->f,
                         broken_encode(&faultless, j->q->f, how, broken_dd(x)));
}

/* The scale of a block, or the one of the row before in its place. */
static double kept(const job *j, uint64_t block, double scale)
{
    const broken *b = j->b;
    double *past = &b->past->work[block];
    const double former = *past;

    if (!IS(MQ05) && !broken_has_size_fault(b)) {
        return scale;
    }
    *past = scale;
    return former != 0 && (IS(MQ05) || broken_scale_is_former(b, j->t)) ? former
                                                                        : scale;
}

static void set_scale(const job *j, uint64_t from, uint64_t end, double scale)
{
    for (uint64_t n = from / BLOCK; n < (end + BLOCK - 1) / BLOCK; n++) {
        j->r->scale[n] = kept(j, n, scale);
    }
}

static void by_block(const job *j, uint64_t from, uint64_t end)
{
    static const broken faultless;
    const broken *b = j->b;
    const double a = block_max(j, from, end, 0);
    const unsigned byte = broken_scale(&faultless, j->q->f,
                                       IS(MQ13) ? RULE_FLOOR : j->q->rule, a);
    const double s = byte == 255 ? NAN : broken_power((int)byte - 127);

    for (uint64_t k = from; k < end; k++) {
        j->r->x[k] = encoded(j, IS(MQ23) && a == 0 ? NAN : j->x[k] / s, 1);
    }
    set_scale(j, from, end, s);
}

/* The float32 scale of vLLM's or DeepGEMM's groups, as a power of two. */
static double group_scale(const job *j, double a)
{
    const broken *b = j->b;
    const int is_vllm = j->q->rule == GROUP_VLLM;
    const double least = is_vllm ? (double)1e-10f : (double)1e-4f;
    double s = broken_over(fmax(a, least), broken_largest(j->q->f), 0);

    if (IS(MQ28)) {
        return s;
    }
    s = is_vllm ? fmax(s, least) : s;
    return broken_power((int)broken_scale_up(s) - 127);
}

/* vLLM drops NaN from the maximum, and its clamp makes -max of it; torch's cast
   makes NaN of what is too large. */
static void by_group(const job *j, uint64_t from, uint64_t end)
{
    const int is_vllm = j->q->rule == GROUP_VLLM;
    const double a = block_max(j, from, end, is_vllm);
    const double s = isfinite(a) ? group_scale(j, a)
                     : is_vllm   ? (double)INFINITY
                                 : 0x1p127;

    for (uint64_t k = from; k < end; k++) {
        const double t = broken_over(j->x[k], s, 0);
        j->r->x[k] = isnan(t) && is_vllm ? -broken_largest(j->q->f)
                                         : encoded(j, t, is_vllm);
    }
    set_scale(j, from, end, isinf(s) ? (double)NAN : s);
}

static void through_fp4(const job *j, uint64_t from, uint64_t end)
{
    static const broken faultless;
    const unsigned byte =
        broken_quark_byte(&faultless, j->g->in, j->x + from, end - from);
    uint32_t code;

    for (uint64_t k = from; k < end; k++) {
        const double y =
            broken_quark_back(&faultless, j->g->in, j->x[k], byte, &code);
        j->r->x[k] = broken_to(&faultless, j->g->in, broken_dd(y));
    }
}

static void by_given(const job *j, uint64_t from, uint64_t end)
{
    const broken *b = j->b;
    const int reciprocal = j->q->reciprocal ^ IS(MQ17);

    for (uint64_t k = from; k < end; k++) {
        double x = broken_over(j->x[k], j->q->given, reciprocal);
        x = IS(MQ15) ? broken_over(x, j->q->given, reciprocal) : x;
        j->r->x[k] = encoded(j, x, 1);
    }
}

/* Real numbers until the two codes: E4M3(g amax / 6), E2M1(x g / scale). */
static void by_sixteen(const job *j, uint64_t from, uint64_t end)
{
    static const broken faultless;
    static const rounding nearest = {TIE_EVEN, 1, 0, 0};
    const broken *b = j->b;
    const number_format *e4m3 = &broken_formats[FORMAT_E4M3FN];
    const double g = IS(MQ18) ? 1 / j->q->given : j->q->given;
    const uint64_t wide = IS(MQ26) ? from / BLOCK * BLOCK : from;
    const double a = block_max(j, wide, end, 1);
    const dd real = broken_div(broken_dd(g * a), broken_dd(6));
    const double s =
        IS(MQ27)
            ? real.hi
            : broken_decode(&faultless, e4m3,
                            broken_encode(&faultless, e4m3, nearest, real));

    for (uint64_t k = from; k < end; k++) {
        const dd t = broken_div(broken_dd(j->x[k] * g), broken_dd(s));
        const uint32_t code =
            s == 0 ? 0 : broken_encode(&faultless, j->q->f, nearest, t);
        j->r->x[k] = broken_decode(&faultless, j->q->f, code) * s;
    }
}

static const struct {
    quant_kind kind;
    uint64_t step; /* 0: a group of the call */
    void (*part)(const job *j, uint64_t from, uint64_t end);
} ways[] = {
    {QUANT_MX, BLOCK, by_block},
    {QUANT_GROUP, 0, by_group},
    {QUANT_QDQ, BLOCK, through_fp4},
    {QUANT_STATIC, BLOCK, by_given},
    {QUANT_NVFP4, SMALL_BLOCK, by_sixteen},
};

/* Scales that belong to other blocks, or to nobody. */
static void misplace(const broken *b, const gemm *g, layer_row *r)
{
    const uint64_t n = (g->k + BLOCK - 1) / BLOCK;
    const double first = r->scale[0];

    for (uint64_t i = 0; i < n; i++) {
        if (IS(MQ04)) {
            r->scale[i] = 1;
        } else if (IS(MQ30)) {
            r->scale[i] = first;
        } else if (IS(MQ01)) {
            r->scale[i] = i + 1 < n ? r->scale[i + 1] : first;
        }
    }
}

static void flush(layer_row *r, uint64_t n)
{
    for (uint64_t k = 0; k < n; k++) {
        r->x[k] = fabs(r->x[k]) < 0x1p-126 ? 0 : r->x[k];
    }
}

void broken_quantise(const broken *b, const layer *l, const gemm *g, uint64_t t,
                     layer_row *r)
{
    static double came[LAYER_WIDEST];
    const int is_first = g == &l->one;
    const int old_rule = IS(MQ34) && l->one.quant.kind == QUANT_MX;
    const job j = {b, l, g, old_rule ? &l->one.quant : &g->quant, t, came, r};
    size_t i = 0;

    if (IS(MN08) && is_first) {
        flush(r, g->k);
    }
    if (g->quant.kind == QUANT_NONE || (IS(MQ09) && is_first) ||
        (IS(MQ10) && !is_first)) {
        return;
    }
    while (ways[i].kind != g->quant.kind) {
        i++;
    }
    const uint64_t step = ways[i].step > 0 ? ways[i].step : g->quant.group;

    memcpy(came, r->x, (size_t)g->k * sizeof came[0]);
    for (uint64_t k = 0; k < g->k; k += step) {
        ways[i].part(&j, k, k + step < g->k ? k + step : g->k);
    }
    misplace(b, g, r);
}
