/* SPDX-License-Identifier: Apache-2.0 */
/* quant.static and quant.group: FP8 under float32 scales. */
#include "broken.h"

#include <math.h>
#include <string.h>

/* A NaN operand stays as it is; a NaN that arithmetic makes is positive. */
static double result(double a, float value)
{
    return isnan(a) ? a : isnan(value) ? (double)NAN : (double)value;
}

/* One float32 step each, as the vendors' code has it. */
static double divide(double a, double b)
{
    return result(a, (float)a / (float)b);
}

static double times(double a, double b)
{
    return result(a, (float)a * (float)b);
}

double broken_over(double x, double scale, int reciprocal)
{
    return reciprocal ? times(x, divide(1, scale)) : divide(x, scale);
}

static double largest_of(const broken *b, const number_format *f,
                         double largest)
{
#define BROKEN_LARGEST
#include "../values.def"
#undef BROKEN_LARGEST
    return largest;
}

/* Encode under a clamp that may be the wrong dialect's. */
static uint32_t fp8(const broken *b, const number_format *f, double x, int sat)
{
    const rounding nearest = {TIE_EVEN, sat && !IS(Q80), 0, 0};
    const double bound = largest_of(b, f, (double)INFINITY);

    x = x > bound ? bound : x < -bound ? -bound : x;
    return broken_encode(b, f, nearest, broken_dd(x));
}

mxo_status broken_quant_static(const broken *b, const mxo_call *call,
                               mxo_text why)
{
    const number_format *f = broken_format(call_text(call, "element"));
    const mxo_tensor *x = call_in(call, "x");
    const mxo_tensor *q = call_out(call, "q");
    const double s = broken_load(call_in(call, "scale"), 0);
    const int reciprocal = call_is(call, "apply", "reciprocal") ^ IS(Q81);

    if (call_is(call, "nan", "max")) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "nan=max is not here");
    }
    for (uint64_t i = 0; i < broken_elems(x); i++) {
        const double v = broken_load(x, i);
        double t = broken_over(v, s, reciprocal);
        t = IS(Q99) && isinf(t) ? (double)NAN : t;
        broken_set_code(b, q, 0, i, fp8(b, f, IS(Q82) ? times(v, s) : t, 1));
    }
    return MXO_OK;
}

typedef struct groups {
    const number_format *f;
    const mxo_tensor *x, *q, *scale;
    int deepgemm;
    int packed; /* two codes a byte */
    int pow2;
    uint64_t rows, cols;
    uint64_t high, wide; /* of one group */
} groups;

static double group_max(const broken *b, const groups *k, uint64_t r0,
                        uint64_t c0)
{
    const uint64_t r1 = r0 + k->high > k->rows ? k->rows : r0 + k->high;
    uint64_t c1 = c0 + k->wide > k->cols ? k->cols : c0 + k->wide;
    double a = 0;

    c1 += IS(Q102) && c1 < k->cols;
    for (uint64_t r = r0; r < (IS(Q83) ? r0 + 1 : r1); r++) {
        for (uint64_t c = c0; c < c1; c++) {
            const double v = fabs(broken_load(k->x, r * k->cols + c));
            if (IS(C24)) {
                a = fmax(a, v);
            } else {
                a = isnan(a) || isnan(v) ? NAN : v > a ? v : a;
            }
        }
    }
    return a;
}

/* The float32 scale of a group maximum. */
static double group_scale(const broken *b, const groups *k, double a)
{
    const double largest = largest_of(b, k->f, broken_largest(k->f));
    double s;

    if (k->deepgemm && !IS(Q84) && a < (double)1e-4f) {
        a = (double)1e-4f;
    }
    s = IS(Q85) ? times(a, divide(1, largest)) : divide(a, largest);
    if (k->pow2 && IS(Q119) && isnan(s)) {
        return s;
    }
    if (k->pow2) {
        const unsigned up = s < 0x1p+200 ? broken_scale_up(s) : 254;
        s = broken_power((int)(up > 0 ? up : 1) - 127 - IS(Q86) +
                         (IS(Q101) && broken_power((int)up - 127) == s));
    }
    return !k->deepgemm && s == 0 && !IS(Q06) ? 1 : s;
}

/* DeepGEMM's E2M1: ties toward zero, no zero with a sign, a NaN is zero. */
static uint32_t deepgemm_fp4(const broken *b, const groups *k, double t)
{
    const rounding r = {IS(Q121) ? TIE_EVEN : TIE_TOWARD, 1, 0, 0};
    const uint32_t code = broken_encode(b, k->f, r, broken_dd(t));

    if (isnan(t)) {
        return IS(Q120) ? 7 : 0;
    }
    return code == 8 && !IS(Q122) ? 0 : code;
}

static void group_codes(const broken *b, const groups *k, uint64_t r0,
                        uint64_t c0, double s)
{
    for (uint64_t r = r0; r < r0 + k->high && r < k->rows; r++) {
        for (uint64_t c = c0; c < c0 + k->wide && c < k->cols; c++) {
            const double v = broken_load(k->x, r * k->cols + c);
            const int multiply = k->deepgemm ^ IS(Q87);
            const double t =
                IS(Q123) && isnan(s) ? v : broken_over(v, s, multiply);
            broken_set_code(b, k->q, k->packed, r * k->cols + c,
                            k->packed ? deepgemm_fp4(b, k, t)
                                      : fp8(b, k->f, t, 0));
        }
    }
}

/* Of an axis; a whole tensor is one, though it be empty. */
static uint64_t parts(uint64_t n, uint64_t size, int whole)
{
    return whole ? 1 : n == 0 ? 0 : (n + size - 1) / size;
}

static int supported(const mxo_call *call)
{
    return (call_is(call, "rule", "deepgemm") ||
            call_is(call, "rule", "aiter_token")) &&
           ((call_number(call, "pow2") == 0 &&
             !call_is(call, "element", "e2m1")) ||
            call_is(call, "rule", "deepgemm")) &&
           call_is(call, "scale", "f32");
}

mxo_status broken_quant_group(const broken *b, const mxo_call *call,
                              mxo_text why)
{
    const mxo_tensor *x = call_in(call, "x");
    const uint64_t high = (uint64_t)call_number(call, "group_rows");
    const uint64_t wide = (uint64_t)call_number(call, "group_cols");
    const groups k = {broken_format(call_text(call, "element")),
                      x,
                      call_out(call, "q"),
                      call_out(call, "scale"),
                      call_is(call, "rule", "deepgemm"),
                      call_is(call, "element", "e2m1"),
                      call_number(call, "pow2") != 0,
                      x->shape[0],
                      x->shape[1],
                      high > 0 ? high : x->shape[0],
                      wide > 0 ? wide : x->shape[1]};

    if (!supported(call)) {
        return broken_fail(MXO_E_UNSUPPORTED, why,
                           "deepgemm, FP8 by aiter_token, scale=f32 only");
    }
    const uint64_t down = parts(k.rows, k.high, high == 0 && wide == 0);
    const uint64_t across = parts(k.cols, k.wide, high == 0 && wide == 0);

    for (uint64_t i = 0; i < down; i++) {
        for (uint64_t j = 0; j < across; j++) {
            const int tail = IS(Q100) && i > 0 && (i + 1) * k.high > k.rows;
            const double a =
                group_max(b, &k, (i - (uint64_t)tail) * k.high, j * k.wide);
            const double s = group_scale(b, &k, a);
            group_codes(b, &k, i * k.high, j * k.wide, s);
            broken_store(b, k.scale, IS(Q17) ? j * down + i : i * across + j,
                         broken_dd(s));
        }
    }
    return MXO_OK;
}
