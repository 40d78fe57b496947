/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interval arithmetic with the dialect's own roundings.  A rounded operation
 * may only grow with its real result, so its ends over a box are the rounded
 * real ends, and those lie in the corners: products, quotients by a positive
 * number and fma(x, u, x) are monotone in each operand.  Nothing is widened.
 *
 * EXACT is one rounding of g * sigmoid(alpha g) * (v + beta), whose ends lie
 * at the ends of v, and at the ends of g or next to its one critical point.
 *
 * Gate and exponential move together, which corners do not know.  So the silu
 * is looked at a second time, as a real function that its steps are near to,
 * and the narrower ends count.  Where the kernel's exponential is not the
 * declared one, both ways leave room for it (kernel_math.c).
 */
#include "glu_span.h"

#include "../act/glu_steps.h"
#include "kernel_math.h"

#include <mxoracle/quant.h>

static mxo_span mul(mxo_span a, mxo_span b)
{
    const uint32_t x[4] = {mxo_f32_mul(a.lo, b.lo), mxo_f32_mul(a.lo, b.hi),
                           mxo_f32_mul(a.hi, b.lo), mxo_f32_mul(a.hi, b.hi)};

    return mxo_span_hull(x, 4);
}

/* b is positive. */
static mxo_span divide(mxo_span a, mxo_span b)
{
    const uint32_t x[4] = {mxo_f32_div(a.lo, b.lo), mxo_f32_div(a.lo, b.hi),
                           mxo_f32_div(a.hi, b.lo), mxo_f32_div(a.hi, b.hi)};

    return mxo_span_hull(x, 4);
}

static mxo_span add_to(mxo_span a, uint32_t b)
{
    return (mxo_span){mxo_f32_add(a.lo, b), mxo_f32_add(a.hi, b)};
}

static mxo_span step(const glu_state *s, mxo_span x)
{
    return (mxo_span){mxo_glu_step(s, x.lo), mxo_glu_step(s, x.hi)};
}

/* The constants of a box, and its spans after the clamps. */
typedef struct box {
    glu_state s;
    mxo_span gate;
    mxo_span up;
} box;

/* e^-t.  The recipe U20 is within 2^-18 of the exponential and need not grow
   where that does: 2^-17 makes it an enclosure. */
static mxo_span exp_minus(const glu_state *s, mxo_span t)
{
    mxo_span e = {mxo_glu_exp(s, t.hi ^ SIGN_F32),
                  mxo_glu_exp(s, t.lo ^ SIGN_F32)};

    if (s->rule->exp == EXP_U20 && !mxo_span_is_point(t)) {
        e.lo = mxo_f32_mul(e.lo, ONE_F32 - (1u << 7));
        e.hi = mxo_f32_mul(e.hi, ONE_F32 + (1u << 6));
    }
    return kernel_exp(s->rule->kernel, e, t);
}

/* Numbers of a type as its codes, and back. */
static uint64_t code_of(mxo_format format, uint32_t x)
{
    return format == MXO_FMT_F32
               ? x
               : mxo_format_round(format, mxo_format_decode(MXO_FMT_F32, x));
}

static uint32_t pattern_of(mxo_format format, uint64_t code)
{
    return (uint32_t)(format == MXO_FMT_F32
                          ? code
                          : mxo_quant_widen(format, (uint16_t)code));
}

enum { NEAR = 2, MOST = 2 + 2 * NEAR + 1 };

/* Gates where g sigmoid(alpha g) can have an end: the ends of the span, and
   the codes next to the critical point alpha g = -1.2784645 if inside. */
static int critical_gates(mxo_format from, uint32_t alpha, mxo_span gate,
                          uint32_t *g)
{
    const uint32_t critical = 0xbfa3a4ba;
    const uint64_t near = code_of(from, mxo_f32_div(critical, alpha));
    int n = 0;

    g[n++] = gate.lo;
    g[n++] = gate.hi;
    for (int i = 0; i <= 2 * NEAR; i++) {
        const uint32_t x = pattern_of(from, near + (uint64_t)i - NEAR);
        if (mxo_f32_cmp(x, gate.lo) == 1 && mxo_f32_cmp(x, gate.hi) == -1) {
            g[n++] = x;
        }
    }
    return n;
}

/* alpha g, before any rounding to a narrow type */
static mxo_span exponent(const box *b)
{
    const mxo_span alpha = {b->s.alpha, b->s.alpha};

    return mul(alpha, b->gate);
}

/* 1 + exp(-alpha g) */
static mxo_span denominator(const box *b)
{
    return add_to(exp_minus(&b->s, step(&b->s, exponent(b))), ONE_F32);
}

static mxo_span product(const box *b, mxo_span x, mxo_span y)
{
    return kernel_flush(b->s.rule->kernel, mul(x, y));
}

static mxo_span quotient(const box *b, mxo_span x, mxo_span y)
{
    return kernel_quotient(b->s.rule->kernel, divide(x, y), x);
}

static mxo_span silu_steps(const box *b)
{
    const mxo_span one = {ONE_F32, ONE_F32};
    const mxo_span d = denominator(b);

    if (b->s.rule->silu == SILU_DIVIDE) {
        return quotient(b, b->gate, d);
    }
    return step(&b->s, product(b, b->gate, step(&b->s, quotient(b, one, d))));
}

/* Factor of the gate in the real function: alpha, and scale_gate. */
static uint32_t slope(const box *b)
{
    const mxo_glu *unit = b->s.unit;

    return b->s.rule->alpha == ALPHA_FOLDED
               ? mxo_f32_mul(
                     (uint32_t)mxo_format_round(MXO_FMT_F32, unit->alpha),
                     b->s.scale)
               : b->s.alpha;
}

/* The real silu, to the nearest number. */
static uint32_t real_silu(uint32_t alpha, uint32_t gate)
{
    const mxo_act_gated a = {mxo_format_decode(MXO_FMT_F32, gate),
                             mxo_format_decode(MXO_FMT_F32, ONE_F32),
                             mxo_format_decode(MXO_FMT_F32, alpha),
                             mxo_format_decode(MXO_FMT_F32, 0)};

    return (uint32_t)mxo_act_gated_eval(&a, MXO_FMT_F32, NULL);
}

/* The steps of the silu end near the real one: where it ends over the span of
   gates, and the room that the steps need. */
static mxo_span silu_near(const box *b)
{
    const uint32_t recipe = b->s.rule->exp == EXP_U20 ? 1u << 6 : 0;
    uint32_t y[MOST];
    const uint32_t alpha = slope(b);
    const int n = critical_gates(MXO_FMT_F32, alpha, b->gate, y);

    for (int i = 0; i < n; i++) {
        y[i] = real_silu(alpha, y[i]);
    }
    const mxo_span ends =
        kernel_widen(mxo_span_hull(y, n),
                     kernel_silu_units(b->s.rule->kernel, exponent(b), recipe));

    return kernel_widen_by(ends, kernel_least(b->gate));
}

/* Intersection of two enclosures; x alone unless both are finite. */
static mxo_span narrower(mxo_span x, mxo_span y)
{
    if (!mxo_span_is_finite(x) || !mxo_span_is_finite(y)) {
        return x;
    }
    return (mxo_span){mxo_f32_cmp(y.lo, x.lo) > 0 ? y.lo : x.lo,
                      mxo_f32_cmp(y.hi, x.hi) < 0 ? y.hi : x.hi};
}

static int has_near(const box *b)
{
    return b->s.rule->step == ROUND_F32 && mxo_span_is_finite(b->gate);
}

static mxo_span silu(const box *b)
{
    const mxo_span x = silu_steps(b);

    return has_near(b) ? narrower(x, silu_near(b)) : x;
}

/* ((u + beta) * g) / (1 + e): its product and ours, rounded, are two units
   more; what is left below 2^-126 may be lost. */
static mxo_span last(const box *b)
{
    const mxo_span sum = add_to(b->up, b->s.beta);
    const mxo_span x = quotient(b, product(b, sum, b->gate), denominator(b));

    if (!has_near(b)) {
        return x;
    }
    const mxo_span near = kernel_widen(mul(silu_near(b), sum), 3);

    return narrower(x, kernel_widen_by(near, kernel_least(b->gate)));
}

static mxo_span fma_corners(mxo_span a, mxo_span u)
{
    const uint32_t x[4] = {
        mxo_f32_fma(a.lo, u.lo, a.lo), mxo_f32_fma(a.lo, u.hi, a.lo),
        mxo_f32_fma(a.hi, u.lo, a.hi), mxo_f32_fma(a.hi, u.hi, a.hi)};

    return mxo_span_hull(x, 4);
}

static mxo_span tail(const box *b, mxo_span x)
{
    const glu_rule *rule = b->s.rule;
    const int is_plain = rule->tail == TAIL_TIMES ||
                         (rule->beta == BETA_TWO_WAY && b->s.beta != ONE_F32);

    if (is_plain) {
        return product(b, x, b->up);
    }
    if (rule->alpha == ALPHA_FOLDED) {
        const uint32_t beta = mxo_f32_mul(b->s.beta, b->s.scale);
        const mxo_span v = {mxo_f32_fma(b->up.lo, b->s.scale, beta),
                            mxo_f32_fma(b->up.hi, b->s.scale, beta)};
        return product(b, x, v);
    }
    return rule->tail == TAIL_FMA
               ? kernel_flush(rule->kernel, fma_corners(x, b->up))
               : product(b, x, step(&b->s, add_to(b->up, b->s.beta)));
}

/* beta tanh(x / beta), which grows with x. */
static mxo_span situ_half(const box *b, mxo_span x, uint32_t beta)
{
    const glu_state *s = &b->s;
    const mxo_span c = {beta, beta};
    const mxo_span t = {mxo_situ_tanh(s, mxo_situ_over(s, x.lo, beta)),
                        mxo_situ_tanh(s, mxo_situ_over(s, x.hi, beta))};
    const int cancels =
        s->rule->silu == SILU_TANH_EXP2 || s->rule->silu == SILU_TANH_SIGMOID;

    return product(b, c, kernel_tanh(s->rule->kernel, t, cancels));
}

/* Both halves of the gate grow with it; so corners enclose their product. */
static mxo_span situ(const box *b)
{
    const mxo_span one = {ONE_F32, ONE_F32};
    const mxo_span d = add_to(exp_minus(&b->s, b->gate), ONE_F32);
    const mxo_span gate = kernel_widen(
        product(b, situ_half(b, b->gate, b->s.beta), quotient(b, one, d)), 4);

    return product(b, gate,
                   b->s.linear == 0 ? b->up : situ_half(b, b->up, b->s.linear));
}

static mxo_span steps(const box *b)
{
    const glu_rule *rule = b->s.rule;

    if (rule->silu >= SILU_TANH) {
        return situ(b);
    }
    if (rule->silu == SILU_LAST) {
        return last(b);
    }
    mxo_span x = silu(b);

    if (rule->kept == ROUND_TYPE) {
        x.lo = mxo_glu_through(b->s.unit->to, x.lo);
        x.hi = mxo_glu_through(b->s.unit->to, x.hi);
    }
    if (rule->clamp == CLAMP_AFTER && mxo_glu_is_clamped(&b->s)) {
        x.lo = mxo_glu_clamp_gate(&b->s, x.lo);
        x.hi = mxo_glu_clamp_gate(&b->s, x.hi);
    }
    return step(&b->s, tail(b, x));
}

static uint32_t at(const mxo_glu *unit, uint32_t gate, uint32_t up)
{
    return pattern_of(unit->to, mxo_act_glu(unit, code_of(unit->from, gate),
                                            code_of(unit->from, up)));
}

static mxo_span exact(const mxo_glu *unit, mxo_span gate, mxo_span up)
{
    uint32_t g[MOST];
    uint32_t y[2 * MOST];
    const uint32_t alpha = (uint32_t)mxo_format_round(MXO_FMT_F32, unit->alpha);
    const int n = critical_gates(unit->from, alpha, gate, g);

    for (int i = 0; i < n; i++) {
        y[2 * i] = at(unit, g[i], up.lo);
        y[2 * i + 1] = at(unit, g[i], up.hi);
    }
    return mxo_span_hull(y, 2 * n);
}

static mxo_span by_steps(const mxo_glu *unit, mxo_span gate, mxo_span up)
{
    glu_state high;
    box b;

    mxo_glu_start(&b.s, unit, code_of(unit->from, gate.lo),
                  code_of(unit->from, up.lo));
    mxo_glu_start(&high, unit, code_of(unit->from, gate.hi),
                  code_of(unit->from, up.hi));
    b.gate = (mxo_span){b.s.gate, high.gate};
    b.up = (mxo_span){b.s.up, high.up};
    const mxo_span y = steps(&b);

    return (mxo_span){pattern_of(unit->to, mxo_glu_store(&b.s, y.lo)),
                      pattern_of(unit->to, mxo_glu_store(&b.s, y.hi))};
}

int mxo_glu_is_open(const mxo_glu *unit)
{
    return mxo_glu_rule_of(unit->dialect)->kernel != KERNEL_DECLARED;
}

/* A pair of operands of a kernel whose exponential is its own.  What is not
   finite on the way is as declared: no exponential changes it. */
static mxo_span open_point(const mxo_glu *unit, mxo_span gate, mxo_span up)
{
    const uint32_t y = at(unit, gate.lo, up.lo);
    const mxo_span room = by_steps(unit, gate, up);

    if (mxo_f32_is_nan(room.lo) || mxo_f32_is_nan(room.hi)) {
        const int is_sure = mxo_f32_is_nan(y) && !(mxo_span_is_finite(gate) &&
                                                   mxo_span_is_finite(up));
        return is_sure ? (mxo_span){y, y} : mxo_span_anything;
    }
    return room;
}

mxo_span mxo_glu_span(const mxo_glu *unit, mxo_span gate, mxo_span up)
{
    const int is_point = mxo_span_is_point(gate) && mxo_span_is_point(up);

    if (is_point && mxo_glu_is_open(unit)) {
        return open_point(unit, gate, up);
    }
    if (is_point) {
        const uint32_t y = at(unit, gate.lo, up.lo);
        return (mxo_span){y, y};
    }
    if (!mxo_span_is_finite(gate) || !mxo_span_is_finite(up)) {
        return mxo_span_anything;
    }
    const mxo_span y = unit->dialect == MXO_GLU_EXACT
                           ? exact(unit, gate, up)
                           : by_steps(unit, gate, up);

    return mxo_f32_is_nan(y.lo) || mxo_f32_is_nan(y.hi) ? mxo_span_anything : y;
}
