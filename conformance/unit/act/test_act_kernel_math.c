/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels with exponentials and divisions of their own, modelled in the C
 * compiler's floats: each is as far off as its documentation lets it be, on
 * either side.  All they give lies in the spans; what is farther off, or
 * clamps otherwise, does not.
 */
#include "bounds/glu_span.h"
#include "unit/part.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXPF, EX2, FAST };
enum { DIVIDE, RECIP, LAST };
enum { TIMES, PLUS, FMA };

/* Written from the vendors' sources (numerics 6.3, activation-vllm 2 and 4). */
typedef struct model {
    mxo_glu_dialect dialect;
    int exp;
    int silu;
    int tail;
    int alpha;    /* multiplies the gate */
    int no_clamp; /* or it is not before the silu */
    int rounds;   /* the silu to the type of the output */
} model;

static const model models[] = {
    {MXO_GLU_VLLM_SWIGLUOAI, EXPF, LAST, PLUS, 1, 0, 0},
    {MXO_GLU_VLLM_SILU, EXPF, DIVIDE, TIMES, 0, 1, 1},
    {MXO_GLU_VLLM_SWIGLUSTEP, EX2, RECIP, TIMES, 0, 1, 0},
    {MXO_GLU_VLLM_SWIGLU_LIMIT, EX2, DIVIDE, TIMES, 0, 0, 0},
    {MXO_GLU_VLLM_PACKED, EX2, DIVIDE, TIMES, 0, 0, 0},
    {MXO_GLU_TRTLLM, FAST, DIVIDE, PLUS, 1, 0, 0},
    {MXO_GLU_TRITON, EX2, DIVIDE, FMA, 1, 0, 0},
    {MXO_GLU_AITER, EXPF, RECIP, PLUS, 1, 0, 0},
    {MXO_GLU_AITER_TRITON, EX2, DIVIDE, FMA, 1, 0, 0},
    {MXO_GLU_DEEPGEMM_MEGA, FAST, RECIP, TIMES, 0, 0, 0},
};
enum { N_MODELS = sizeof models / sizeof models[0] };

/* Errors of the approximations, and how large: 1 is all that is
   documented. */
typedef struct ways {
    int exp;
    int quotient;
    int no_limit;
    int low_gate;
    int high_up;
} ways;

/* Six times as many with WHOLE=1 (ci/nightly). */
static int n_points(void)
{
    return unit_part() > 1           ? 20000 / (int)unit_part()
           : getenv("WHOLE") != NULL ? 20000
                                     : 3500;
}

static uint64_t state;

static uint32_t draw(void)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(state >> 33);
}

static float float_of(uint32_t pattern)
{
    float x;

    memcpy(&x, &pattern, sizeof x);
    return x;
}

static uint32_t pattern_of(float x)
{
    uint32_t pattern;

    memcpy(&pattern, &x, sizeof pattern);
    return pattern;
}

/* n codes farther from zero, or nearer; zeros and infinities stay. */
static float shift(float x, int n)
{
    const uint32_t p = pattern_of(x);
    const int64_t size = (int64_t)(p & 0x7fffffff) + n;

    if (x == 0 || isinf(x)) {
        return x;
    }
    return float_of((p & 0x80000000) |
                    (uint32_t)(size < 0            ? 0
                               : size > 0x7f800000 ? 0x7f800000
                                                   : size));
}

static float flush(int kind, float x)
{
    return kind != EXPF && fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

static float exp_of(const model *m, float t, const ways *w)
{
    const float log2e = 1.44269504f;

    switch (m->exp) {
    case EXPF:
        return shift((float)exp((double)t), 2 * w->exp);
    case EX2:
        return flush(EX2, shift((float)exp2((double)(t * log2e)), 2 * w->exp));
    default:
        return flush(FAST, shift((float)exp((double)t),
                                 (2 + (int)fmin(floor(1.173 * fabsf(t)), 200)) *
                                     w->exp));
    }
}

/* div.full for one sign of the error, and a product with rcp for the other. */
static float divide(const model *m, float a, float b, const ways *w)
{
    if (m->exp == EXPF) {
        return a / b;
    }
    if (w->quotient > 0) {
        return flush(m->exp, shift(a / b, 2 * w->quotient));
    }
    return flush(m->exp, a * flush(m->exp, shift(1 / b, w->quotient)));
}

static float through(mxo_format f, float x)
{
    const uint32_t p = pattern_of(x);

    return f == MXO_FMT_BF16
               ? float_of((p + 0x7fff + (p >> 16 & 1)) & 0xffff0000)
               : x;
}

static float clamped(float x, float low, float high)
{
    return x > high ? high : x < low ? low : x;
}

static float glu_of(const model *m, mxo_format to, float g, float u,
                    const ways *w)
{
    const float alpha = m->alpha ? 1.702f : 1;
    const int takes = !m->no_clamp && !w->no_limit;

    if (m->dialect == MXO_GLU_DEEPGEMM_MEGA) {
        g = through(MXO_FMT_BF16, g);
        u = through(MXO_FMT_BF16, u);
    }
    g = takes ? clamped(g, w->low_gate ? -7 : -INFINITY, 7) : g;
    u = takes ? clamped(u, w->high_up ? -INFINITY : -7, 7) : u;
    const float d = 1 + exp_of(m, -(alpha * g), w);

    if (m->silu == LAST) {
        return through(to, divide(m, flush(m->exp, (u + 1) * g), d, w));
    }
    float s = m->silu == DIVIDE ? divide(m, g, d, w)
                                : flush(m->exp, g * divide(m, 1, d, w));

    s = m->rounds ? through(to, s) : s;
    if (m->dialect == MXO_GLU_VLLM_SWIGLUSTEP) {
        s = clamped(s, -INFINITY, w->no_limit ? INFINITY : 7);
        u = clamped(u, w->high_up || w->no_limit ? -INFINITY : -7,
                    w->no_limit ? INFINITY : 7);
    }
    return through(to, flush(m->exp, m->tail == TIMES  ? s * u
                                     : m->tail == PLUS ? s * (u + 1)
                                                       : fmaf(s, u, s)));
}

static mxo_glu unit_of(const model *m, mxo_format to)
{
    const mxo_glu unit = {m->dialect,
                          MXO_GLU_NAN_DIALECT,
                          MXO_FMT_F32,
                          to,
                          mxo_format_decode(MXO_FMT_F32, 0x3fd9db23),
                          mxo_format_decode(MXO_FMT_F32, 0x3f800000),
                          mxo_format_decode(MXO_FMT_F32, 0x40e00000),
                          {0},
                          {0},
                          0};

    return unit;
}

/* 2^-8 .. 2^7 mostly, of either sign; now and then of any size. */
static float number(void)
{
    const uint32_t exponent =
        draw() % 16 == 0 ? 1 + draw() % 200 : 119 + draw() % 15;

    return float_of(draw() % 2 << 31 | exponent << 23 | draw() % (1u << 23));
}

static int is_inside(float y, mxo_span s)
{
    return y >= float_of(s.lo) && y <= float_of(s.hi);
}

static mxo_span point(float x)
{
    return (mxo_span){pattern_of(x), pattern_of(x)};
}

/* Points that lie outside under a kernel of these ways. */
static int outside(const model *m, mxo_format to, const ways *w, int n)
{
    const mxo_glu unit = unit_of(m, to);
    int out = 0;

    for (int i = 0; i < n; i++) {
        const float g = number();
        const float u = number();
        const mxo_span s = mxo_glu_span(&unit, point(g), point(u));
        out += !is_inside(glu_of(m, to, g, u, w), s);
    }
    return out;
}

START_TEST(whatever_is_documented_is_inside)
{
    static const mxo_format types[] = {MXO_FMT_F32, MXO_FMT_BF16};
    const model *m = &models[_i];

    state = (uint64_t)_i + 1;
    for (int i = 0; i < 18; i++) {
        const ways w = {.exp = i / 2 % 3 - 1, .quotient = i / 6 - 1};
        const int n = outside(m, types[i % 2], &w, n_points());
        ck_assert_msg(n == 0, "%s, way %d: %d of %d are outside",
                      mxo_glu_name(m->dialect), i, n, n_points());
    }
}
END_TEST

/* The same on boxes: any gate and up of the box. */
START_TEST(whatever_is_documented_is_inside_a_box)
{
    const model *m = &models[_i];
    const mxo_glu unit = unit_of(m, MXO_FMT_F32);

    state = (uint64_t)_i + 1;
    for (int i = 0; i < n_points(); i++) {
        const ways w = {.exp = i % 3 - 1, .quotient = i / 3 % 3 - 1};
        const float a = number();
        const float b = number();
        const float g = shift(a, (int)(draw() % 200000));
        const float u = shift(b, (int)(draw() % 200000));
        const uint32_t gates[2] = {pattern_of(a), pattern_of(shift(a, 200000))};
        const uint32_t ups[2] = {pattern_of(b), pattern_of(shift(b, 200000))};
        const mxo_span s =
            mxo_glu_span(&unit, mxo_span_hull(gates, 2), mxo_span_hull(ups, 2));
        const float y = glu_of(m, MXO_FMT_F32, g, u, &w);
        ck_assert_msg(is_inside(y, s), "%s: %a, %a gives %a, not %a .. %a",
                      mxo_glu_name(m->dialect), (double)g, (double)u, (double)y,
                      (double)float_of(s.lo), (double)float_of(s.hi));
    }
}
END_TEST

static void wants_outside(const model *m, mxo_format to, ways w,
                          const char *fault)
{
    const int n = outside(m, to, &w, n_points());

    ck_assert_msg(n > n_points() / 200, "%s: %s: only %d of %d are outside",
                  mxo_glu_name(m->dialect), fault, n, n_points());
}

/* Eight times the documented error shows in binary32, and so does a clamp that
   is missing or on the wrong side; BF16 shows the latter as well. */
START_TEST(what_is_farther_off_is_outside)
{
    const model *m = &models[_i];
    const mxo_format to = MXO_FMT_F32;

    state = (uint64_t)_i + 1;
    wants_outside(m, to, (ways){.exp = 8}, "exponential too large");
    wants_outside(m, to, (ways){.exp = -8}, "exponential too small");
    if (m->exp != EXPF) {
        wants_outside(m, to, (ways){.quotient = 8}, "quotient");
    }
    for (int i = 0; i < 2 && !m->no_clamp; i++) {
        const mxo_format type = i ? MXO_FMT_BF16 : to;
        wants_outside(m, type, (ways){.no_limit = 1}, "no limit");
        wants_outside(m, type, (ways){.low_gate = 1}, "gate from below");
        wants_outside(m, type, (ways){.high_up = 1}, "up from above only");
    }
}
END_TEST

/* Nobody has room whose exponential is declared. */
START_TEST(declared_units_stay_points)
{
    static const mxo_glu_dialect dialects[] = {
        MXO_GLU_EXACT, MXO_GLU_CPU_SWIGLU, MXO_GLU_CPU_SILU};
    const model m = {.dialect = dialects[_i]};
    const mxo_glu unit = unit_of(&m, MXO_FMT_F32);

    ck_assert(!mxo_glu_is_open(&unit));
    for (int i = 0; i < n_points(); i++) {
        const float g = number();
        const float u = number();
        const uint32_t y =
            (uint32_t)mxo_act_glu(&unit, pattern_of(g), pattern_of(u));
        const mxo_span s = mxo_glu_span(&unit, point(g), point(u));
        ck_assert_msg(s.lo == y && s.hi == y, "%08x..%08x, not %08x", s.lo,
                      s.hi, y);
    }
}
END_TEST

/* gate -Inf is -Inf / Inf whatever the exponential is; a gate that only
   overflows on the way may be a NaN or not. */
START_TEST(a_nan_is_demanded_only_of_what_is_not_finite)
{
    const model m = {.dialect = MXO_GLU_VLLM_SWIGLUOAI};
    const mxo_glu unit = unit_of(&m, MXO_FMT_BF16);
    const mxo_span a = mxo_glu_span(&unit, point(-INFINITY), point(2));
    const mxo_span b = mxo_glu_span(&unit, point(-0x1p127f), point(2));

    ck_assert_msg(isnan(float_of(a.lo)) && isnan(float_of(a.hi)), "%08x..%08x",
                  a.lo, a.hi);
    ck_assert_msg(b.lo == mxo_span_anything.lo && b.hi == mxo_span_anything.hi,
                  "%08x..%08x", b.lo, b.hi);
}
END_TEST

/* BF16 hides the room of nearly all points, unless they are nearly zero. */
START_TEST(most_narrow_results_are_known)
{
    const mxo_glu unit = unit_of(&models[_i], MXO_FMT_BF16);
    int known = 0;
    int n = 0;

    state = 5;
    while (n < n_points()) {
        const float g = number();
        const float u = number();
        if (fabsf(g) > 0x1p-8f && fabsf(g) < 32) {
            known += mxo_span_is_point(mxo_glu_span(&unit, point(g), point(u)));
            n++;
        }
    }
    ck_assert_msg(known > n_points() - n_points() / 100, "only %d of %d", known,
                  n_points());
}
END_TEST

Suite *suite_act_kernel_math(void);
Suite *suite_act_kernel_math(void)
{
    Suite *s = suite_create("act_kernel_math");
    TCase *t = tcase_create("kernels of other exponentials");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, whatever_is_documented_is_inside, 0, N_MODELS);
    tcase_add_loop_test(t, whatever_is_documented_is_inside_a_box, 0, N_MODELS);
    tcase_add_loop_test(t, what_is_farther_off_is_outside, 0, N_MODELS);
    tcase_add_loop_test(t, declared_units_stay_points, 0, 3);
    tcase_add_loop_test(t, most_narrow_results_are_known, 0, N_MODELS);
    tcase_add_test(t, a_nan_is_demanded_only_of_what_is_not_finite);
    suite_add_tcase(s, t);
    return s;
}
