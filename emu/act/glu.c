/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One evaluator for every dialect of the gated unit: it does what the row of
 * glu.def says, one binary32 operation at a time.  EXACT alone takes another
 * way, because its formula is rounded once.
 */
#include "glu_steps.h"

#include "../bounds/kernel_math.h"
#include "f64.h"

static const glu_rule rules[] = {
#define MXO_GLU(id, name, input, nan, clamp, alpha, silu, exp, step, kept, \
                tail, beta, store, wide, kernel, source)                   \
    {name,          INPUT_##input,  MXO_GLU_NAN_##nan, CLAMP_##clamp,      \
     ALPHA_##alpha, SILU_##silu,    EXP_##exp,         ROUND_##step,       \
     ROUND_##kept,  TAIL_##tail,    BETA_##beta,       STORE_##store,      \
     WIDE_##wide,   KERNEL_##kernel},
#include <mxoracle/glu.def>
#undef MXO_GLU
};

const glu_rule *mxo_glu_rule_of(mxo_glu_dialect dialect)
{
    return &rules[dialect];
}

const char *mxo_glu_name(mxo_glu_dialect dialect)
{
    return dialect < MXO_N_GLU ? rules[dialect].name : NULL;
}

static uint64_t encode(mxo_format to, mxo_real x)
{
    const mxo_rounding nearest_even = {MXO_TIE_RNE, 0, 0, 0};

    x.neg = x.cls == MXO_CLASS_NAN ? 0 : x.neg;
    return mxo_format_encode(to, x, nearest_even);
}

static uint32_t to_f32(mxo_real x)
{
    return (uint32_t)encode(MXO_FMT_F32, x);
}

const char *mxo_glu_check(const mxo_glu *unit)
{
    const glu_rule *rule = &rules[unit->dialect];
    const uint32_t scale = to_f32(unit->scale_gate); /* zero stands for 1 */

    if (unit->alpha.cls == MXO_CLASS_NAN || unit->beta.cls == MXO_CLASS_NAN) {
        return "alpha and beta are numbers";
    }
    if (unit->limit.cls == MXO_CLASS_NAN) {
        return "a limit is a number or none";
    }
    if (unit->limit.neg && unit->limit.cls != MXO_CLASS_ZERO &&
        rule->clamp != CLAMP_POSITIVE && rule->clamp != CLAMP_NEVER &&
        rule->clamp != CLAMP_POSITIVE_ROUNDED) {
        return "a limit is not negative";
    }
    if (unit->dialect != MXO_GLU_EXACT && unit->from == MXO_FMT_F64) {
        return "only the dialect exact takes binary64";
    }
    if (rule->beta == BETA_TWO_WAY && (to_f32(unit->beta) & ~SIGN_F32) != 0 &&
        to_f32(unit->beta) != ONE_F32) {
        return "beta is 0 or 1 in this dialect";
    }
    if (rule->alpha == ALPHA_FOLDED && scale >= INFINITE_F32 &&
        scale != SIGN_F32) {
        return "scale_gate is a positive number";
    }
    return NULL;
}

uint32_t mxo_glu_through(mxo_format format, uint32_t x)
{
    if (format == MXO_FMT_F32 || format == MXO_FMT_F64) {
        return x;
    }
    const uint64_t code = encode(format, mxo_format_decode(MXO_FMT_F32, x));

    return to_f32(mxo_format_decode(format, code));
}

uint32_t mxo_glu_step(const glu_state *s, uint32_t x)
{
    return s->rule->step == ROUND_TYPE ? mxo_glu_through(s->unit->from, x) : x;
}

static mxo_glu_nan nan_rule(const mxo_glu *unit)
{
    return unit->nan == MXO_GLU_NAN_DIALECT
               ? (mxo_glu_nan)rules[unit->dialect].nan
               : unit->nan;
}

uint32_t mxo_glu_clamp_gate(const glu_state *s, uint32_t x)
{
    if (mxo_f32_is_nan(x)) {
        return nan_rule(s->unit) == MXO_GLU_NAN_PROPAGATE ? x : s->limit;
    }
    if (s->rule->clamp == CLAMP_FINITE && x == (INFINITE_F32 | SIGN_F32)) {
        return LARGEST_F32 | SIGN_F32;
    }
    return mxo_f32_cmp(x, s->limit) > 0 ? s->limit : x;
}

static uint32_t clamp_up(const glu_state *s, uint32_t x)
{
    const uint32_t low = s->limit ^ SIGN_F32;

    if (mxo_f32_is_nan(x)) {
        return nan_rule(s->unit) == MXO_GLU_NAN_PROPAGATE ? x
               : nan_rule(s->unit) == MXO_GLU_NAN_LAUNDER ? s->limit
                                                          : low;
    }
    x = mxo_f32_cmp(x, s->limit) > 0 ? s->limit : x;
    return mxo_f32_cmp(x, low) < 0 ? low : x;
}

int mxo_glu_is_clamped(const glu_state *s)
{
    const int clamp = s->rule->clamp;
    const int is_optional =
        clamp == CLAMP_POSITIVE || clamp == CLAMP_POSITIVE_ROUNDED;

    if (clamp == CLAMP_ALWAYS || clamp == CLAMP_FINITE) {
        return 1;
    }
    return s->unit->limit.cls != MXO_CLASS_INF && clamp != CLAMP_NEVER &&
           (!is_optional || mxo_f32_cmp(s->limit, 0) > 0);
}

static uint32_t load(const glu_state *s, mxo_format from, uint64_t code)
{
    const uint32_t x = to_f32(mxo_format_decode(from, code));

    return s->rule->input == INPUT_BF16 ? mxo_glu_through(MXO_FMT_BF16, x) : x;
}

/* A positive number, infinity among them, or 0. */
static uint32_t positive(mxo_real x)
{
    return x.cls != MXO_CLASS_NAN && !x.neg ? to_f32(x) : 0;
}

void mxo_glu_start(glu_state *s, const mxo_glu *unit, uint64_t gate,
                   uint64_t up)
{
    const glu_rule *rule = &rules[unit->dialect];

    s->unit = unit;
    s->rule = rule;
    s->limit = load(s, MXO_FMT_F32, to_f32(unit->limit));
    s->gate = load(s, unit->from, gate);
    s->up = load(s, unit->from, up);
    s->beta = rule->beta == BETA_ONE ? ONE_F32 : to_f32(unit->beta);
    s->alpha = rule->alpha == ALPHA_ONE ? ONE_F32 : to_f32(unit->alpha);
    if (rule->alpha == ALPHA_TYPED) {
        s->alpha = mxo_glu_through(unit->from, s->alpha);
    }
    s->linear = positive(unit->linear_beta);
    s->scale = positive(unit->scale_gate);
    s->scale = s->scale == 0 ? ONE_F32 : s->scale;
    if (rule->alpha == ALPHA_FOLDED) {
        s->alpha = mxo_f32_mul(mxo_f32_mul(s->alpha, LOG2_E), s->scale);
    }
    if (rule->clamp == CLAMP_FINITE && unit->limit.cls == MXO_CLASS_INF &&
        !unit->has_limit) {
        s->limit = LARGEST_F32;
    }
    if (!mxo_glu_is_clamped(s)) {
        return;
    }
    s->up = mxo_glu_step(s, clamp_up(s, s->up));
    if (rule->clamp != CLAMP_AFTER) {
        s->gate = mxo_glu_step(s, mxo_glu_clamp_gate(s, s->gate));
    }
    if (rule->clamp == CLAMP_ROUNDED || rule->clamp == CLAMP_POSITIVE_ROUNDED) {
        s->gate = mxo_glu_through(unit->to, s->gate);
        s->up = mxo_glu_through(unit->to, s->up);
    }
}

uint32_t mxo_glu_exp(const glu_state *s, uint32_t x)
{
    const int exp = s->rule->exp;
    const mxo_act_fn fn = exp == EXP_RN ? MXO_ACT_EXP : MXO_ACT_EXP2;

    if (exp == EXP_U20) {
        return mxo_act_exp_u20(x);
    }
    x = exp == EXP_TWICE ? mxo_f32_mul(x, LOG2_E) : x;
    return (uint32_t)mxo_act_eval(fn, mxo_format_decode(MXO_FMT_F32, x),
                                  MXO_FMT_F32, NULL);
}

/* 1 + exp(-alpha g) */
static uint32_t denominator(const glu_state *s)
{
    const uint32_t t = mxo_glu_step(s, mxo_f32_mul(s->alpha, s->gate));

    return mxo_f32_add(ONE_F32, mxo_glu_exp(s, t ^ SIGN_F32));
}

static uint32_t silu(const glu_state *s)
{
    if (s->rule->silu == SILU_DIVIDE) {
        return mxo_f32_div(s->gate, denominator(s));
    }
    uint32_t sigmoid = mxo_glu_step(s, mxo_f32_div(ONE_F32, denominator(s)));

    if (s->rule->alpha == ALPHA_FOLDED) { /* rcp.approx.ftz */
        sigmoid = mxo_f32_ftz(sigmoid);
    }
    return mxo_glu_step(s, mxo_f32_mul(s->gate, sigmoid));
}

static uint32_t tail(const glu_state *s, uint32_t x)
{
    const int is_plain = s->rule->tail == TAIL_TIMES ||
                         (s->rule->beta == BETA_TWO_WAY && s->beta != ONE_F32);

    if (is_plain) {
        return mxo_f32_mul(x, s->up);
    }
    if (s->rule->tail == TAIL_FMA) {
        return mxo_f32_fma(x, s->up, x);
    }
    if (s->rule->alpha == ALPHA_FOLDED) {
        const uint32_t beta = mxo_f32_mul(s->beta, s->scale);
        return mxo_f32_mul(x, mxo_f32_fma(s->up, s->scale, beta));
    }
    return mxo_f32_mul(x, mxo_glu_step(s, mxo_f32_add(s->up, s->beta)));
}

static uint32_t steps(const glu_state *s)
{
    if (s->rule->silu >= SILU_TANH) {
        return mxo_situ(s);
    }
    if (s->rule->silu == SILU_LAST) {
        const uint32_t sum = mxo_f32_add(s->up, s->beta);
        return mxo_f32_div(mxo_f32_mul(sum, s->gate), denominator(s));
    }
    uint32_t x = silu(s);

    if (s->rule->kept == ROUND_TYPE) {
        x = mxo_glu_through(s->unit->to, x);
    }
    if (s->rule->clamp == CLAMP_AFTER && mxo_glu_is_clamped(s)) {
        x = mxo_glu_clamp_gate(s, x);
    }
    return mxo_glu_step(s, tail(s, x));
}

uint64_t mxo_glu_store(const glu_state *s, uint32_t x)
{
    if (s->rule->store == STORE_DOWN && s->unit->to == MXO_FMT_BF16) {
        x = mxo_f32_ftz(x);
    }
    return encode(s->unit->to, mxo_format_decode(MXO_FMT_F32, x));
}

/* The clamps of EXACT, on real numbers. */
static mxo_real exact_gate(const mxo_glu *unit, mxo_real x)
{
    if (x.cls == MXO_CLASS_NAN) {
        return nan_rule(unit) == MXO_GLU_NAN_PROPAGATE ? x : unit->limit;
    }
    return !x.neg && mxo_real_cmp_abs(x, unit->limit) > 0 ? unit->limit : x;
}

static mxo_real exact_up(const mxo_glu *unit, mxo_real x)
{
    mxo_real bound = unit->limit;

    if (x.cls == MXO_CLASS_NAN) {
        if (nan_rule(unit) == MXO_GLU_NAN_PROPAGATE) {
            return x;
        }
        bound.neg ^= nan_rule(unit) == MXO_GLU_NAN_LAUNDER_LOW;
        return bound;
    }
    bound.neg ^= x.neg; /* a limit may be -0 */
    return mxo_real_cmp_abs(x, bound) > 0 ? bound : x;
}

/*
 * The same steps in binary64: the vendors' references on double tensors.
 * They have no fma; s * u + s is rounded twice.
 */
static uint64_t in_binary64(const glu_rule *rule, const mxo_act_gated *a)
{
    const uint64_t one = UINT64_C(0x3ff0000000000000);
    const uint64_t sign = UINT64_C(0x8000000000000000);
    const uint64_t gate = encode(MXO_FMT_F64, a->gate);
    const uint64_t up = encode(MXO_FMT_F64, a->up);
    const uint64_t t = mxo_f64_mul(encode(MXO_FMT_F64, a->alpha), gate);
    const uint64_t e =
        mxo_act_eval(MXO_ACT_EXP, mxo_format_decode(MXO_FMT_F64, t ^ sign),
                     MXO_FMT_F64, NULL);
    const uint64_t sum = mxo_f64_add(one, e);
    const uint64_t silu = rule->silu == SILU_DIVIDE
                              ? mxo_f64_div(gate, sum)
                              : mxo_f64_mul(gate, mxo_f64_div(one, sum));

    if (rule->beta == BETA_TWO_WAY && a->beta.cls == MXO_CLASS_ZERO) {
        return mxo_f64_mul(silu, up);
    }
    return rule->tail == TAIL_FMA ? mxo_f64_add(mxo_f64_mul(silu, up), silu)
                                  : mxo_f64_mul(silu, mxo_f64_add(up, one));
}

static uint64_t on_reals(const mxo_glu *unit, uint64_t gate, uint64_t up)
{
    mxo_act_gated a = {mxo_format_decode(unit->from, gate),
                       mxo_format_decode(unit->from, up), unit->alpha,
                       unit->beta};

    if (unit->limit.cls != MXO_CLASS_INF) {
        a.gate = exact_gate(unit, a.gate);
        a.up = exact_up(unit, a.up);
    }
    return unit->dialect == MXO_GLU_EXACT
               ? mxo_act_gated_eval(&a, unit->to, NULL)
               : in_binary64(&rules[unit->dialect], &a);
}

uint64_t mxo_act_glu(const mxo_glu *unit, uint64_t gate, uint64_t up)
{
    glu_state s;

    if (unit->dialect == MXO_GLU_EXACT ||
        (unit->to == MXO_FMT_F64 && rules[unit->dialect].wide == WIDE_STEPS)) {
        return on_reals(unit, gate, up);
    }
    mxo_glu_start(&s, unit, gate, up);
    return mxo_glu_store(&s, steps(&s));
}
