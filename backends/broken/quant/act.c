/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.glu: G * sigmoid(alpha * G) * (V + beta), G = min(gate, limit),
 * V = clamp(up, -limit, limit), the real number rounded once; or in the steps
 * of a kernel (act_steps.c).
 */
#include "quant/act_steps.h"

#include <math.h>
#include <string.h>

typedef struct glu {
    double alpha;
    double beta;
    double limit; /* INFINITY: none */
    int launder;  /* a NaN becomes the limit */
} glu;

typedef struct glu_call {
    const mxo_tensor *x, *gate, *up, *row, *expert, *alpha, *beta, *limit, *y;
    uint64_t rows;
    uint64_t cols;
    uint64_t source_rows;
    uint64_t tile; /* rows that share an expert */
    int takes_any_limit;
    int is_two_way; /* beta is 0 or 1 */
    glu common;
    int halves;
    int up_first;
    int has_limit;
    int dialect;     /* of act_steps.c; -1: none of them */
    int wide;        /* of act_wide.c; -1: none of them */
    int is_wide;     /* results are binary64 */
    glu_steps steps; /* what does not differ between rows */
} glu_call;

/* min that propagates NaN, or returns the other one. */
static double low(double a, double limit, int launder)
{
    return a <= limit || (isnan(a) && !launder) ? a : limit;
}

static double high(double a, double limit)
{
    return a < limit ? limit : a;
}

static dd clamp_gate(const broken *b, const glu *p, double gate)
{
    double g = low(gate, p->limit, p->launder);

    if (IS(A02)) {
        g = high(g, -p->limit);
    }
    if (IS(A01) || IS(A04) || IS(A46)) {
        g = gate;
    }
    return broken_dd(g);
}

static double clamp_up(const broken *b, const glu *p, double up)
{
    if (IS(A01) || IS(A47)) {
        return up;
    }
    const double v = low(up, p->limit, p->launder);

    if (IS(A48)) {
        return v;
    }
    return IS(A49) ? fabs(high(v, -p->limit)) : high(v, -p->limit);
}

/* G * sigmoid(alpha G); of minus infinity -Inf * 0, which is NaN. */
static dd gated(const broken *b, const glu *p, double gate, dd g)
{
    const dd from = IS(A50) ? broken_dd(gate) : g;
    const dd t = broken_mul(broken_dd(p->alpha), from);
    dd s =
        broken_mul(g, isinf(t.hi) ? broken_dd(t.hi > 0) : broken_sigmoid(b, t));

    if (isnan(t.hi)) {
        s = t;
    }
    if (IS(A82) && t.hi < -88.8) {
        s = broken_dd((double)NAN);
    }
    if (IS(A04)) {
        s = broken_dd(low(s.hi, p->limit, p->launder));
    }
    if (IS(A51)) {
        s = broken_dd(broken_to_bf16(s.hi));
    }
    return IS(A52) ? broken_mul(s, broken_dd(p->alpha)) : s;
}

static dd glu_value(const broken *b, glu p, double gate, double up)
{
    if (IS(A11)) {
        const double swap = gate;
        gate = up;
        up = swap;
    }
#define BROKEN_GLU
#include "../values.def"
#undef BROKEN_GLU
    const dd g = clamp_gate(b, &p, gate);
    const double v = clamp_up(b, &p, up);
    const dd s = gated(b, &p, gate, g);
    dd w = isfinite(v) ? broken_sum(v, p.beta) : broken_dd(v);

    w.hi = w.hi == 0 ? 0 : w.hi; /* of either sign: a sum of 0 is +0 */
    if (IS(A58)) {
        return broken_dd(s.hi * v + p.beta);
    }
    if (IS(A59)) {
        w = broken_dd(broken_to_bf16(w.hi));
    }
    if (IS(A60)) {
        w = broken_dd(low(w.hi, p.limit, 0));
    }
    if ((IS(A86) && s.hi == 0) || (IS(A85) && s.hi * w.hi == 0)) {
        return broken_dd(0);
    }
    return IS(A61) ? broken_mul(g, w) : broken_mul(s, w);
}

dd broken_swiglu(const broken *b, double alpha, double beta, double limit,
                 double gate, double up)
{
    const glu p = {alpha, beta, limit, 0};

    return glu_value(b, p, gate, up);
}

/* Parameters of input row r. */
static glu row_params(const broken *b, const glu_call *k, uint64_t r)
{
    glu p = k->common;

    if (k->expert == NULL) {
        return p;
    }
    const uint64_t experts = broken_elems(k->limit);
    const uint64_t tile = IS(A69) ? r % broken_elems(k->expert) : r / k->tile;
    const uint64_t known = IS(A62) || (IS(A87) && r >= 16) ? 0 : tile;
    uint64_t e = (uint64_t)broken_load_i32(k->expert, known);

    e = IS(A63) ? (e + 1) % experts : IS(A64) ? r % experts : e;
    p.limit = broken_load(k->limit, IS(A65) ? 0 : e);
    if (IS(A84)) {
        p.alpha = 1;
    }
    if (k->alpha != NULL) {
        p.alpha = broken_load(k->alpha, e);
        p.beta = broken_load(k->beta, e);
    }
    if (IS(A14) && e == experts - 1) {
        p.limit = INFINITY;
    }
    return p;
}

static double gate_at(const broken *b, const glu_call *k, uint64_t r,
                      uint64_t c, int up)
{
    if (k->x == NULL) {
        return broken_load(up ? k->up : k->gate, r * k->cols + c);
    }
    const uint64_t second = (uint64_t)(up != k->up_first);
    const int halves = IS(A66) ? !k->halves : k->halves;
    const uint64_t at = halves ? second * k->cols + c : 2 * c + second;

    return broken_load(k->x, r * 2 * k->cols + at);
}

static glu_nan nan_of(const mxo_call *call)
{
    if (call_is(call, "nan", "propagate")) {
        return GLU_NAN_THROUGH;
    }
    return call_is(call, "nan", "launder")       ? GLU_NAN_HIGH
           : call_is(call, "nan", "launder_low") ? GLU_NAN_LOW
                                                 : GLU_NAN_DIALECT;
}

/* A parameter that is a number above zero, or what it is without. */
static float positive(const mxo_call *call, const char *key, float without)
{
    const float x = (float)call_number(call, key);

    return !call_is(call, key, "none") && x > 0 ? x : without;
}

/* Of results in binary64, and in binary32 for all others. */
static double constant(double x, int is_wide)
{
    return is_wide ? x : (double)(float)x;
}

static glu_call read_call(const broken *b, const mxo_call *call)
{
    const double limit = call_number(call, "limit");
    const int none = call_is(call, "limit", "none");
    glu_call k;

    memset(&k, 0, sizeof k);
    k.x = call_in(call, "x");
    k.gate = call_in(call, "gate");
    k.up = call_in(call, "up");
    k.row = call_in(call, "row");
    k.expert = call_in(call, "expert");
    k.takes_any_limit = broken_takes_any_limit(call);
    k.is_two_way = broken_is_two_way(call) && !IS(RF54);
    k.tile = (uint64_t)call_number(call, "tile");
    k.alpha = call_in(call, "alpha");
    k.beta = call_in(call, "beta");
    k.limit = call_in(call, "limit");
    k.y = call_out(call, "y");
    k.rows = k.y->shape[0];
    k.cols = k.y->shape[1];
    k.source_rows = k.x != NULL ? k.x->shape[0] : k.gate->shape[0];
    k.is_wide = call_is(call, "to", "f64");
    k.common.alpha =
        constant(call_number(call, "alpha"), k.is_wide && !IS(A95));
    k.common.beta = constant(call_number(call, "beta"), k.is_wide);
    k.common.limit = none ? INFINITY : constant(limit, k.is_wide && !IS(A96));
    k.common.launder = call_is(call, "nan", "launder");
    k.dialect = broken_steps_of(call);
    k.steps.nan = nan_of(call);
    k.steps.linear = positive(call, "linear_beta", 0);
    k.steps.scale = positive(call, "scale_gate", 1);
    k.steps.from = broken_format(call_text(call, "from"));
    k.steps.to = broken_format(k.is_wide ? "f32" : call_text(call, "to"));
    k.wide = k.is_wide ? broken_wide_of(call) : -1;
    k.halves = call_is(call, "layout", "halves");
    k.up_first = call_is(call, "order", "up_gate") && !IS(A67);
    k.has_limit = !none;
    return k;
}

/* What a kernel makes of a number that it reads. */
static double number_read(const broken *b, const glu_call *k, double x, int up)
{
    const mxo_tensor *t = k->x != NULL ? k->x : k->gate;

    if (IS(A92) && up && k->common.launder && isnan(x)) {
        return 0;
    }
    if (t->dtype != MXO_F16) {
        return x;
    }
    return (IS(A89) && !up && isnan(x)) || (IS(A91) && fabs(x) < 0x1p-14) ? 0
           : IS(A90) && up ? broken_to_bf16(x)
                           : x;
}

/* What a kernel is free to do; of binary64 every bit is declared. */
static int is_variant(const broken *b)
{
    return b->mutant >= BROKEN_VA01 && b->mutant <= BROKEN_VA14;
}

/* One pair, under the constants of its row. */
static dd value_of(const broken *b, const glu_call *k, const glu *p,
                   double gate, double up)
{
    static const broken faultless;
    glu_steps s = k->steps;

    if (k->dialect < 0 || (IS(A100) && k->is_wide && k->wide < 0)) {
        return glu_value(b, *p, gate, up);
    }
    if (k->wide >= 0 && !IS(A93)) {
        const glu_wide w = {gate, up, p->alpha, p->beta, p->limit, s.nan};
        return broken_wide(b, k->wide, &w);
    }
    s.gate = (float)gate;
    s.up = (float)up;
    s.alpha = (float)p->alpha;
    s.beta = (float)p->beta;
    s.limit = (float)p->limit;
    s.has_limit = (k->has_limit || k->expert != NULL) && !IS(AD43);
    return broken_by_steps(k->is_wide && is_variant(b) ? &faultless : b,
                           k->dialect, &s);
}

static int is_known(const mxo_call *call)
{
    const int is_exact = call_is(call, "dialect", "exact");

    return (is_exact || broken_steps_of(call) >= 0) &&
           !(is_exact && call_is(call, "nan", "launder_low")) &&
           !call_is(call, "from", "f64") &&
           !(is_exact && call_is(call, "to", "f64")) &&
           call_number(call, "bounds") == 0;
}

/* Has an expert constants that the unit takes? */
static int fits_expert(const glu_call *k, uint64_t e)
{
    const double alpha = k->alpha == NULL ? 0 : broken_load(k->alpha, e);
    const double beta = k->beta == NULL ? 0 : broken_load(k->beta, e);

    return (k->takes_any_limit || broken_load(k->limit, e) >= 0) &&
           (!k->is_two_way || beta == 0 || beta == 1) && alpha == alpha &&
           beta == beta;
}

/* Whether each row and each row's expert is one that there is, with constants
   that are some. */
static int leads_somewhere(const glu_call *k)
{
    int is_good = 1;

    for (uint64_t r = 0; r < k->rows && is_good; r++) {
        const int64_t row =
            k->row == NULL ? (int64_t)r : broken_load_i32(k->row, r);
        is_good = row >= 0 && (uint64_t)row < k->source_rows;
        if (is_good && k->expert != NULL) {
            const int64_t expert =
                broken_load_i32(k->expert, (uint64_t)row / k->tile);
            is_good = expert >= 0 && (uint64_t)expert < k->limit->shape[0] &&
                      fits_expert(k, (uint64_t)expert);
        }
    }
    return is_good;
}

mxo_status broken_act_glu(const broken *b, const mxo_call *call, mxo_text why)
{
    if (!is_known(call)) {
        return broken_fail(MXO_E_UNSUPPORTED, why,
                           "exact not in binary64, no bounds, not the CPU's "
                           "dialects");
    }
    const glu_call k = read_call(b, call);

    if (!leads_somewhere(&k)) {
        return broken_fail(MXO_E_PARAM, why, "there is no such row or expert");
    }
    for (uint64_t i = 0; i < k.rows; i++) {
        const uint64_t r = IS(V03) ? k.rows - 1 - i : i;
        const uint64_t source = k.row == NULL || IS(A80)
                                    ? r % k.source_rows
                                    : (uint64_t)broken_load_i32(k.row, r);
        const glu p = row_params(b, &k, source);
        for (uint64_t c = 0; c < k.cols; c++) {
            const uint64_t from =
                IS(A68) && c > 0 && c == k.cols - 1 ? c - 1 : c;
            const double gate =
                number_read(b, &k, gate_at(b, &k, source, from, 0), 0);
            const double up =
                number_read(b, &k, gate_at(b, &k, source, c, 1), 1);
            const int odd = c % 2 == 0 && c + 1 == k.cols;
            const dd y = IS(A88) && odd ? broken_dd(gate * up)
                                        : value_of(b, &k, &p, gate, up);
            broken_store(b, k.y, r * k.cols + c,
                         IS(A97) || (IS(A98) && odd)
                             ? broken_dd((double)(float)y.hi)
                             : y);
        }
    }
    return MXO_OK;
}
