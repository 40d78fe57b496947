/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boxes against points: whatever pair of operands is drawn from a box, every
 * dialect's value lies in the span, which no box of one point widens if the
 * exponential is declared.  The minimum of silu is approached from both sides.
 */
#include "bounds/glu_span.h"

#include <check.h>

enum { BOXES = 24, POINTS = 24 };

static uint64_t state;

static uint32_t draw(void)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(state >> 33);
}

static mxo_real real(uint32_t pattern)
{
    return mxo_format_decode(MXO_FMT_F32, pattern);
}

static mxo_glu unit_of(mxo_glu_dialect dialect, mxo_format from, mxo_format to)
{
    const mxo_glu unit = {dialect,
                          MXO_GLU_NAN_DIALECT,
                          from,
                          to,
                          real(0x3fd9db23),
                          real(0x3f800000),
                          real(0x40e00000),
                          real(0),
                          real(0),
                          0};
    /* 1.702, 1, 7 */

    return unit;
}

/* One step of a type that is normal here, as a step of binary32 patterns. */
static uint32_t step_of(mxo_format f)
{
    return f == MXO_FMT_BF16 ? 1u << 16 : f == MXO_FMT_F16 ? 1u << 13 : 1u;
}

static uint32_t cut(mxo_format f, uint32_t x)
{
    return x & ~(step_of(f) - 1);
}

static uint64_t code_of(mxo_format f, uint32_t x)
{
    return mxo_format_round(f, real(x));
}

static uint32_t value(const mxo_glu *unit, uint32_t gate, uint32_t up)
{
    const uint64_t y =
        mxo_act_glu(unit, code_of(unit->from, gate), code_of(unit->from, up));

    return (uint32_t)mxo_format_round(MXO_FMT_F32,
                                      mxo_format_decode(unit->to, y));
}

/* A number of -2^6 .. 2^6, many near the minimum of silu at -0.7511542. */
static uint32_t centre(void)
{
    const uint32_t sign = draw() % 2 << 31;

    return draw() % 4 == 0
               ? 0xbf404ba5u + draw() % 64 - 32
               : sign | ((118 + draw() % 15) << 23 | draw() % (1u << 23));
}

/* Some units in the last place each way, sometimes through zero. */
static mxo_span around(mxo_format from, uint32_t x)
{
    const uint32_t unit = step_of(from);
    const uint32_t way = (draw() % 5) * (draw() % 3 == 0 ? 1000 : 1) * unit;
    const uint32_t end[3] = {cut(from, x) + way, cut(from, x) - way,
                             draw() % 16 == 0 ? cut(from, x) ^ 0x80000000u
                                              : cut(from, x)};

    return mxo_span_hull(end, 3);
}

/* A number of the box: an end, a neighbour, or one on the way. */
static uint32_t inside(mxo_format from, mxo_span s)
{
    const uint32_t x = draw() % 2 != 0 ? s.lo : s.hi;
    const uint32_t other = x == s.lo ? s.hi : s.lo;
    const uint32_t way = (x ^ other) >> 31 != 0 ? x & 0x7fffffffu
                         : x > other            ? x - other
                                                : other - x;
    const uint32_t part =
        draw() % 3 == 0 ? 0 : (uint32_t)((uint64_t)way * draw() >> 31);
    const uint32_t y =
        cut(from, x > other || (x ^ other) >> 31 != 0 ? x - part : x + part);

    return mxo_f32_cmp(y, s.lo) < 0 || mxo_f32_cmp(y, s.hi) > 0 ? x : y;
}

static void try_box(const mxo_glu *unit, mxo_span gate, mxo_span up)
{
    const mxo_span y = mxo_glu_span(unit, gate, up);

    for (int i = 0; i < POINTS; i++) {
        const uint32_t g = inside(unit->from, gate);
        const uint32_t u = inside(unit->from, up);
        const uint32_t x = value(unit, g, u);
        const int is_anything =
            y.lo == mxo_span_anything.lo && y.hi == mxo_span_anything.hi;
        ck_assert_msg(is_anything || (mxo_f32_cmp(x, y.lo) >= 0 &&
                                      mxo_f32_cmp(x, y.hi) <= 0 &&
                                      mxo_f32_cmp(x, y.lo) != 2),
                      "%s: gate %08x in %08x..%08x, up %08x in %08x..%08x "
                      "gives %08x, not in %08x..%08x",
                      mxo_glu_name(unit->dialect), g, gate.lo, gate.hi, u,
                      up.lo, up.hi, x, y.lo, y.hi);
    }
}

static void try_unit(const mxo_glu *unit)
{
    for (int i = 0; i < BOXES; i++) {
        const uint32_t g = centre();
        const uint32_t u = centre();
        try_box(unit, around(unit->from, g), around(unit->from, u));
        const uint32_t y = value(unit, cut(unit->from, g), cut(unit->from, u));
        const mxo_span one = mxo_glu_span(
            unit, (mxo_span){cut(unit->from, g), cut(unit->from, g)},
            (mxo_span){cut(unit->from, u), cut(unit->from, u)});
        ck_assert_msg(mxo_glu_is_open(unit) || (one.lo == y && one.hi == y),
                      "a point became %08x..%08x", one.lo, one.hi);
    }
}

START_TEST(no_point_of_a_box_is_outside)
{
    static const mxo_format types[] = {MXO_FMT_BF16, MXO_FMT_F32, MXO_FMT_F16};
    const mxo_glu_dialect dialect = (mxo_glu_dialect)_i;

    state = (uint64_t)_i + 1;
    for (int t = 0; t < 9; t++) {
        mxo_glu unit = unit_of(dialect, types[t / 3], types[t % 3]);
        try_unit(&unit);
        unit.limit.cls = MXO_CLASS_INF;
        try_unit(&unit);
    }
}
END_TEST

/* x sigmoid(x) is smallest at -1.2784645: both ends lie above it. */
START_TEST(the_minimum_of_silu_is_found)
{
    mxo_glu unit = unit_of(MXO_GLU_EXACT, MXO_FMT_F32, MXO_FMT_F32);
    const mxo_span gate = {0xbfc00000, 0xbf800000}; /* -1.5 .. -1 */
    const mxo_span up = {0x3f800000, 0x3f800000};

    unit.alpha = real(0x3f800000);
    unit.beta = real(0);
    const mxo_span y = mxo_glu_span(&unit, gate, up);
    ck_assert_msg(y.lo == 0xbe8e92e8, "lowest is %08x", y.lo); /* -0.27846453 */
    ck_assert_msg(y.hi == 0xbe89b2b1, "highest is %08x",
                  y.hi); /* -sigmoid(-1) */
}
END_TEST

/* g in 1 .. 2, u in 3 .. 4: nothing but an exponential's room is lost where
   both are positive. */
START_TEST(a_box_of_positive_numbers_has_its_ends_in_two_corners)
{
    const uint32_t one = 0x3f800000;
    const uint32_t two = 0x40000000;
    const uint32_t three = 0x40400000;
    const uint32_t four = 0x40800000;

    for (int d = 0; d < MXO_N_GLU; d++) {
        const mxo_glu unit =
            unit_of((mxo_glu_dialect)d, MXO_FMT_BF16, MXO_FMT_F32);
        const mxo_span y =
            mxo_glu_span(&unit, (mxo_span){one, two}, (mxo_span){three, four});
        const uint32_t lo = value(&unit, one, three);
        const uint32_t hi = value(&unit, two, four);
        const uint32_t slack = d == MXO_GLU_EXACT       ? 0
                               : d == MXO_GLU_SITU_B12X ? 1u << 15
                                                        : 64;
        ck_assert_msg(lo - y.lo <= slack && y.hi - hi <= slack,
                      "%s: %08x..%08x, not %08x..%08x",
                      mxo_glu_name((mxo_glu_dialect)d), y.lo, y.hi, lo, hi);
    }
}
END_TEST

/* Assumption of exp_minus, at every 40009th pattern up to 87. */
START_TEST(u20_is_within_2_to_the_minus_18)
{
    for (uint32_t x = 0x30000000; x < 0x42ae0000; x += 40009) {
        for (uint32_t sign = 0; sign < 2; sign++) {
            const uint32_t y = mxo_act_exp_u20(x | sign << 31);
            const uint32_t e = (uint32_t)mxo_act_eval(
                MXO_ACT_EXP, real(x | sign << 31), MXO_FMT_F32, NULL);
            ck_assert_msg(y - e + 31 <= 62, "%08x: %08x, not %08x",
                          x | sign << 31, y, e); /* 31 * 2^-23 < 2^-18 */
        }
    }
}
END_TEST

START_TEST(what_may_be_infinite_may_be_anything)
{
    const mxo_glu unit = unit_of(MXO_GLU_TRTLLM, MXO_FMT_F32, MXO_FMT_BF16);
    const mxo_span wide = {0x3f800000, 0x7f800000};
    const mxo_span one = {0x3f800000, 0x3f800000};
    const mxo_span y = mxo_glu_span(&unit, wide, one);

    ck_assert_msg(y.lo == mxo_span_anything.lo && y.hi == mxo_span_anything.hi,
                  "%08x..%08x", y.lo, y.hi);
}
END_TEST

Suite *suite_act_glu_span(void);
Suite *suite_act_glu_span(void)
{
    Suite *s = suite_create("act_glu_span");
    TCase *t = tcase_create("mxo_glu_span");

    tcase_add_loop_test(t, no_point_of_a_box_is_outside, 0, MXO_N_GLU);
    tcase_add_test(t, the_minimum_of_silu_is_found);
    tcase_add_test(t, a_box_of_positive_numbers_has_its_ends_in_two_corners);
    tcase_add_test(t, u20_is_within_2_to_the_minus_18);
    tcase_add_test(t, what_may_be_infinite_may_be_anything);
    suite_add_tcase(s, t);
    return s;
}
