/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step of a matrix instruction; see mma.h.  Everything is an integer
 * times a power of two: an addend is cut by shifting, the sum of the cut
 * addends fits 64 bits.
 */
#include <mxoracle/mma.h>

#include <string.h>

enum {
    FLOOR_EXP = -133, /* measured: no alignment goes below it */
    MAX_STEP = 64,
    GROUP = 16,
    MAX_ADDENDS = MAX_STEP + 1,
    LEAST = -100000
};

#define NAN_ONES 0x7fffffffu
#define INF 0x7f800000u

static const mxo_mma rows[] = {
#define MXO_MMA(unit, type, kind, step, fraction, mantissa, source) \
    {unit, MXO_MMA_##type, MXO_MMA_##kind, step, fraction, mantissa},
#include <mxoracle/mma.def>
#undef MXO_MMA
};

typedef struct type_row {
    const char *name;
    mxo_format format;
} type_row;

static const type_row types[MXO_MMA_N_TYPES] = {
    [MXO_MMA_BF16] = {"bf16", MXO_FMT_BF16},
    [MXO_MMA_F16] = {"f16", MXO_FMT_F16},
    [MXO_MMA_TF32] = {"tf32", MXO_FMT_F32},
    [MXO_MMA_E4M3FN] = {"e4m3fn", MXO_FMT_E4M3FN},
    [MXO_MMA_E5M2] = {"e5m2", MXO_FMT_E5M2},
    [MXO_MMA_E4M3FNUZ] = {"e4m3fnuz", MXO_FMT_E4M3FNUZ},
    [MXO_MMA_E5M2FNUZ] = {"e5m2fnuz", MXO_FMT_E5M2FNUZ},
    [MXO_MMA_E2M3] = {"e2m3", MXO_FMT_E2M3},
    [MXO_MMA_E3M2] = {"e3m2", MXO_FMT_E3M2},
    [MXO_MMA_E2M1] = {"e2m1", MXO_FMT_E2M1},
};

mxo_mma_type mxo_mma_type_by_name(const char *name)
{
    int t = 0;

    while (t < MXO_MMA_N_TYPES && strcmp(types[t].name, name) != 0) {
        t++;
    }
    return (mxo_mma_type)t;
}

static const mxo_mma *find(const char *unit, mxo_mma_type type, int is_half)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].type == type && strcmp(rows[i].unit, unit) == 0 &&
            (rows[i].mantissa == MXO_MMA_HALF) == is_half) {
            return &rows[i];
        }
    }
    return NULL;
}

const mxo_mma *mxo_mma_find(const char *unit, mxo_mma_type type)
{
    return find(unit, type, 0);
}

const mxo_mma *mxo_mma_find_half(const char *unit, mxo_mma_type type)
{
    return find(unit, type, 1);
}

/* A term of the sum with the exponent the hardware aligns by. */
typedef struct addend {
    mxo_real x;
    int e;
} addend;

/* max(lg|x|, exponent of the smallest normal). */
static int nominal(mxo_real x, int emin)
{
    const int lg = mxo_real_lg(x);

    return lg > emin ? lg : emin;
}

static int emin_of(mxo_format format)
{
    return 1 - mxo_format_info(format)->bias;
}

static mxo_real operand(const mxo_mma *m, mxo_mma_operand x, int i)
{
    const uint32_t ignored = m->type == MXO_MMA_TF32 ? 0x1fff : 0;

    return mxo_format_decode(types[m->type].format, x.code[i] & ~ignored);
}

/* The scale of number i; 1 if there is none. */
static mxo_real scale_of(mxo_mma_operand x, int i)
{
    mxo_real s = {1, 0, MXO_CLASS_FINITE, 0, 0};

    if (x.scale != NULL && x.ue4m3) {
        s = mxo_format_decode(MXO_FMT_E4M3FN,
                              x.scale[(uint32_t)i / x.group] & 0x7f);
    } else if (x.scale != NULL) {
        s.exp = (int)x.scale[(uint32_t)i / x.group] - 127;
        s.cls = s.exp == 128 ? MXO_CLASS_NAN : MXO_CLASS_FINITE;
    }
    return s;
}

static addend product(const mxo_mma *m, mxo_mma_operand a, mxo_mma_operand b,
                      int i)
{
    const int emin = emin_of(types[m->type].format);
    const mxo_real x = operand(m, a, i);
    const mxo_real y = operand(m, b, i);
    const mxo_real sa = scale_of(a, i);
    const mxo_real sb = scale_of(b, i);
    addend p = {mxo_real_mul(mxo_real_mul(x, y), mxo_real_mul(sa, sb)), 0};

    if (p.x.cls == MXO_CLASS_FINITE) {
        p.e = nominal(x, emin) + nominal(y, emin) + sa.exp + sb.exp;
    }
    return p;
}

static addend accumulator(const mxo_mma *m, uint32_t c)
{
    const int is_half = m->mantissa == MXO_MMA_HALF;
    addend t = {mxo_format_decode(MXO_FMT_F32, c), 0};

    if (t.x.cls == MXO_CLASS_FINITE) {
        t.e = nominal(t.x, emin_of(is_half ? MXO_FMT_F16 : MXO_FMT_F32));
    }
    return t;
}

/* The answer if some addend is NaN or infinite, 0 if none is. */
static uint32_t special(const addend *t, int n)
{
    int inf[2] = {0, 0};

    for (int i = 0; i < n; i++) {
        if (t[i].x.cls == MXO_CLASS_NAN) {
            return NAN_ONES;
        }
        if (t[i].x.cls == MXO_CLASS_INF) {
            inf[t[i].x.neg] = 1;
        }
    }
    if (inf[0] && inf[1]) {
        return NAN_ONES;
    }
    return inf[0] ? INF : inf[1] ? INF | 0x80000000u : 0;
}

static int top_exponent(const addend *t, int n, int least)
{
    int e = least;

    for (int i = 0; i < n; i++) {
        if (t[i].x.cls == MXO_CLASS_FINITE && t[i].e > e) {
            e = t[i].e;
        }
    }
    return e;
}

/* x in units of 2^unit: toward zero, or toward minus infinity. */
static int64_t cut(mxo_real x, int unit, int floor)
{
    const int down = unit - x.exp;
    uint64_t u = 0;

    if (x.cls == MXO_CLASS_FINITE && down <= 63) {
        u = down <= 0 ? x.mant << -down : x.mant >> down;
    }
    const int lost = x.cls == MXO_CLASS_FINITE && down > 0 &&
                     (down > 63 || (x.mant & (((uint64_t)1 << down) - 1)) != 0);

    u += (uint64_t)(floor && x.neg && lost);
    return x.neg ? -(int64_t)u : (int64_t)u;
}

static mxo_real integer(int64_t s, int unit)
{
    const mxo_real x = {(uint64_t)(s < 0 ? -s : s), unit,
                        s == 0 ? MXO_CLASS_ZERO : MXO_CLASS_FINITE, s < 0, 0};

    return x;
}

/* To binary32 toward zero, with 23 or 13 mantissa bits; zero is +0. */
static uint32_t truncated(int64_t s, int unit, int mantissa)
{
    static const mxo_rounding toward_zero = {MXO_TIE_RZ, 0, 0, 0};
    const mxo_real x = integer(s, unit);

    if (s == 0) {
        return 0;
    }
    if (mxo_real_lg(x) >= 128) {
        return x.neg ? INF | 0x80000000u : INF;
    }
    const uint32_t d = (uint32_t)mxo_format_encode(MXO_FMT_F32, x, toward_zero);
    const uint32_t kept = d & ~((UINT32_C(1) << (23 - mantissa)) - 1);
    return (kept & 0x7fffffffu) == 0 ? 0 : kept;
}

/* To binary16, to nearest even; an exact zero is +0. */
static uint32_t halved(int64_t s, int unit)
{
    const uint64_t code = mxo_format_round(MXO_FMT_F16, integer(s, unit));

    return (uint32_t)mxo_format_convert(MXO_FMT_F32, MXO_FMT_F16, code,
                                        MXO_TIE_RNE, MXO_NAN_QUIET);
}

static uint32_t fused(const mxo_mma *m, const addend *t, int n)
{
    const uint32_t answer = special(t, n);
    const int unit = top_exponent(t, n, FLOOR_EXP) - m->fraction;
    int64_t sum = 0;

    if (answer != 0) {
        return answer;
    }
    for (int i = 0; i < n; i++) {
        sum += cut(t[i].x, unit, 0);
    }
    return m->mantissa == MXO_MMA_HALF ? halved(sum, unit)
                                       : truncated(sum, unit, m->mantissa);
}

static uint32_t step_fused(const mxo_mma *m, mxo_mma_operand a,
                           mxo_mma_operand b, uint32_t c)
{
    addend t[MAX_ADDENDS];

    for (int i = 0; i < m->step; i++) {
        t[i] = product(m, a, b, i);
    }
    t[m->step] = accumulator(m, c);
    return fused(m, t, m->step + 1);
}

static uint32_t ones_if_nan(uint32_t d)
{
    return (d & 0x7fffffffu) > INF ? NAN_ONES : d;
}

/* FP8 operands through FP16: k = 4t, 4t + 1 first, then 4t + 2, 4t + 3, and
   the accumulator by an ordinary addition. */
static uint32_t step_halves(const mxo_mma *m, mxo_mma_operand a,
                            mxo_mma_operand b, uint32_t c)
{
    const mxo_mma *half = mxo_mma_find(m->unit, MXO_MMA_F16);
    const mxo_format from = types[m->type].format;
    uint32_t partial = 0;

    for (int pass = 0; pass < 2; pass++) {
        uint32_t x[GROUP];
        uint32_t y[GROUP];
        for (int i = 0; i < GROUP; i++) {
            const int k = i / 2 * 4 + 2 * pass + i % 2;
            x[i] = (uint32_t)mxo_format_convert(MXO_FMT_F16, from, a.code[k],
                                                MXO_TIE_RNE, MXO_NAN_ONES);
            y[i] = (uint32_t)mxo_format_convert(MXO_FMT_F16, from, b.code[k],
                                                MXO_TIE_RNE, MXO_NAN_ONES);
        }
        partial = step_fused(half, (mxo_mma_operand){x, NULL, 1, 0},
                             (mxo_mma_operand){y, NULL, 1, 0}, partial);
    }
    return ones_if_nan(mxo_f32_add(c, partial));
}

/* The exact sum of 16 products: a multiple of 1/4, at most 576. */
static mxo_real group_sum(const mxo_mma *m, mxo_mma_operand a,
                          mxo_mma_operand b, int first)
{
    int64_t quarters = 0;

    for (int i = first; i < first + GROUP; i++) {
        const mxo_real p = mxo_real_mul(operand(m, a, i), operand(m, b, i));
        quarters += cut(p, -2, 0);
    }
    return integer(quarters, -2);
}

static uint32_t step_groups(const mxo_mma *m, mxo_mma_operand a,
                            mxo_mma_operand b, uint32_t c)
{
    const int n = m->step / GROUP;
    const int emin = emin_of(MXO_FMT_E4M3FN);
    addend t[MAX_ADDENDS];

    for (int g = 0; g < n; g++) {
        const mxo_real sa = scale_of(a, g * GROUP);
        const mxo_real sb = scale_of(b, g * GROUP);
        t[g].e = 0;
        t[g].x =
            mxo_real_mul(group_sum(m, a, b, g * GROUP), mxo_real_mul(sa, sb));
        if (t[g].x.cls == MXO_CLASS_FINITE) {
            t[g].e = (a.ue4m3 ? nominal(sa, emin) : sa.exp) +
                     (b.ue4m3 ? nominal(sb, emin) : sb.exp);
        }
    }
    t[n] = accumulator(m, c);
    return fused(m, t, n + 1);
}

static uint32_t rounded(mxo_real x)
{
    return x.cls == MXO_CLASS_NAN ? NAN_ONES
                                  : (uint32_t)mxo_format_round(MXO_FMT_F32, x);
}

/* Neighbours, neighbours of neighbours, the accumulator last. */
static uint32_t step_tree(const mxo_mma *m, mxo_mma_operand a,
                          mxo_mma_operand b, uint32_t c)
{
    const int flush = m->kind == MXO_MMA_TREE_FTZ;
    uint32_t sum[MAX_STEP];

    for (int i = 0; i < m->step; i++) {
        mxo_real x = operand(m, a, i);
        mxo_real y = operand(m, b, i);
        const int emin = emin_of(types[m->type].format);
        if (flush && x.cls == MXO_CLASS_FINITE && mxo_real_lg(x) < emin) {
            x.cls = MXO_CLASS_ZERO;
        }
        if (flush && y.cls == MXO_CLASS_FINITE && mxo_real_lg(y) < emin) {
            y.cls = MXO_CLASS_ZERO;
        }
        const uint32_t p = rounded(mxo_real_mul(x, y));
        sum[i] = flush ? mxo_f32_ftz(p) : p;
    }
    for (int n = m->step / 2; n > 0; n /= 2) {
        for (int i = 0; i < n; i++) {
            const uint32_t s = mxo_f32_add(sum[2 * i], sum[2 * i + 1]);
            sum[i] = flush ? mxo_f32_ftz(s) : s;
        }
    }
    const uint32_t d = mxo_f32_add(flush ? mxo_f32_ftz(c) : c, sum[0]);
    return ones_if_nan(flush ? mxo_f32_ftz(d) : d);
}

/* Products cut below their own largest exponent, summed. */
static addend cut_sum(const addend *t, int n, int fraction)
{
    const int e = top_exponent(t, n, LEAST);
    int64_t sum = 0;

    for (int i = 0; e > LEAST && i < n; i++) {
        sum += cut(t[i].x, e - fraction, 0);
    }
    return (addend){integer(sum, e - fraction), e};
}

/* The sum floored 31 bits below the common exponent, the accumulator 24. */
static uint32_t floored(addend products, addend c)
{
    const int e =
        c.x.cls == MXO_CLASS_FINITE && c.e > products.e ? c.e : products.e;

    if (e == LEAST) {
        return rounded(c.x);
    }
    const int64_t sum =
        cut(products.x, e - 31, 1) + cut(c.x, e - 24, 1) * (1 << 7);
    return rounded(integer(sum, e - 31));
}

static uint32_t step_floored(const mxo_mma *m, mxo_mma_operand a,
                             mxo_mma_operand b, uint32_t c)
{
    addend t[MAX_ADDENDS];

    for (int i = 0; i < m->step; i++) {
        t[i] = product(m, a, b, i);
        /* A product of 2^128 or more counts as infinity. */
        if (t[i].x.cls == MXO_CLASS_FINITE && mxo_real_lg(t[i].x) >= 128) {
            t[i].x.cls = MXO_CLASS_INF;
        }
    }
    t[m->step] = accumulator(m, c);
    const uint32_t answer = special(t, m->step + 1);
    if (answer != 0) {
        return answer;
    }
    return floored(cut_sum(t, m->step, m->fraction), t[m->step]);
}

/* FP8 on CDNA3: even and odd k, joined at the larger exponent; an accumulator
   more than 25 binades below is dropped. */
static uint32_t step_parity(const mxo_mma *m, mxo_mma_operand a,
                            mxo_mma_operand b, uint32_t c)
{
    addend t[2][MAX_ADDENDS];
    addend sum[2];
    addend acc = accumulator(m, c);
    const int n = m->step / 2;

    for (int i = 0; i < m->step; i++) {
        t[i % 2][i / 2] = product(m, a, b, i);
    }
    t[0][n] = acc;
    uint32_t answer = special(t[0], n + 1);
    answer = answer != 0 ? answer : special(t[1], n);
    if (answer != 0) {
        return answer;
    }
    sum[0] = cut_sum(t[0], n, m->fraction);
    sum[1] = cut_sum(t[1], n, m->fraction);
    const int e = sum[0].e > sum[1].e ? sum[0].e : sum[1].e;
    const int unit = e - m->fraction;
    const int64_t both =
        e == LEAST ? 0 : cut(sum[0].x, unit, 1) + cut(sum[1].x, unit, 1);
    if (e > LEAST && acc.x.cls == MXO_CLASS_FINITE && acc.e < e - 25) {
        acc.x.cls = MXO_CLASS_ZERO;
    }
    return floored((addend){integer(both, unit), e}, acc);
}

uint32_t mxo_mma_step(const mxo_mma *m, mxo_mma_operand a, mxo_mma_operand b,
                      uint32_t c)
{
    switch (m->kind) {
    case MXO_MMA_HALVES:
        return step_halves(m, a, b, c);
    case MXO_MMA_GROUPS:
        return step_groups(m, a, b, c);
    case MXO_MMA_TREE:
    case MXO_MMA_TREE_FTZ:
        return step_tree(m, a, b, c);
    case MXO_MMA_FLOORED:
        return step_floored(m, a, b, c);
    case MXO_MMA_PARITY:
        return step_parity(m, a, b, c);
    default:
        return step_fused(m, a, b, c);
    }
}
