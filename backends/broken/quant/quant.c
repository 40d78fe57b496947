/* SPDX-License-Identifier: Apache-2.0 */
/* quant.mx: blocks of 32 along either axis of a matrix. */
#include "broken.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 32 };

typedef struct matrix {
    const number_format *f;
    const mxo_tensor *x;
    const mxo_tensor *q;
    const mxo_tensor *scale;
    int packed;
    int rule;
    uint64_t rows;
    uint64_t cols;
    uint64_t padded; /* elements that a row has room for */
    int is_triton;   /* the last block may be short */
    int is_turned;   /* axis 0: rows here are columns of the tensors */
} matrix;

static uint64_t blocks_of(uint64_t elements)
{
    return (elements + BLOCK - 1) / BLOCK;
}

static double at(const broken *b, const matrix *m, uint64_t r, uint64_t c)
{
    if (m->is_turned) {
        const uint64_t from = IS(Q112) && r > 0 ? r - 1 : r;
        return broken_read(b, m->x, c * m->rows + from);
    }
    return broken_read(b, m->x, r * m->cols + c);
}

/* The running maximum that a block's amax is made of. */
static double larger(const broken *b, double a, double x)
{
    const double v = IS(Q50) ? x : fabs(x);

    if (IS(C24)) {
        return fmax(a, v);
    }
    return isnan(a) || isnan(v) ? NAN : v > a ? v : a;
}

static uint64_t block_end(const matrix *m, uint64_t n)
{
    return (n + 1) * BLOCK < m->cols ? (n + 1) * BLOCK : m->cols;
}

/* Is block n a last one of fewer elements, behind a whole one? */
static int is_short(const matrix *m, uint64_t n)
{
    return n > 0 && (n + 1) * BLOCK > m->cols;
}

/* First and one-past-last column that the amax of block n looks at. */
static void reach(const broken *b, const matrix *m, uint64_t n, uint64_t *from,
                  uint64_t *to)
{
    *from = n * BLOCK;
    *to = *from + BLOCK;
    if (is_short(m, n) && IS(Q113)) {
        *from -= BLOCK;
        *to -= BLOCK;
    }
    if (IS(Q14)) {
        *to -= BLOCK / 2;
    } else if (IS(Q14b)) {
        *from = n / 2 * 2 * BLOCK;
        *to = *from + 2 * (uint64_t)BLOCK;
    } else if (IS(Q14c)) {
        *from = 0;
        *to = m->cols;
    } else if (IS(Q51)) {
        *to -= 1;
    } else if (IS(Q52)) {
        *to += 1;
    } else if (IS(Q53) && n > 0 && *to == m->cols) {
        *from -= BLOCK;
        *to -= BLOCK;
    }
    if (!(is_short(m, n) && IS(Q114))) {
        *to = *to > m->cols ? m->cols : *to;
    }
}

static double block_max(const broken *b, const matrix *m, uint64_t r,
                        uint64_t n)
{
    uint64_t from;
    uint64_t to;
    double a = 0;

    reach(b, m, n, &from, &to);
    if (IS(Q65)) {
        r = r < 32 ? r : 0;
    }
    if (IS(V02)) { /* from the end, in steps */
        for (uint64_t step = 0; step < 4; step++) {
            for (uint64_t c = to; c-- > from;) {
                a = c % 4 == step ? larger(b, a, at(b, m, r, c)) : a;
            }
        }
        return a;
    }
    for (uint64_t c = from; c < to; c++) {
        a = larger(b, a,
                   IS(Q13) ? at(b, m, (r + c - from) % m->rows, n * BLOCK)
                   : c < m->cols || m->is_turned
                       ? at(b, m, r, c < m->cols ? c : c - m->cols)
                       : at(b, m, (r + 1) % m->rows, c - m->cols));
    }
    return a;
}

/* A maximum that is kept in a narrower type. */
static double rounded_max(const broken *b, double a)
{
    const number_format *f = broken_format(IS(Q95) ? "bf16" : "f16");

    if (IS(Q95) || (IS(Q96) && a > 65504)) {
        return broken_decode(b, f, broken_round(f, broken_dd(a)));
    }
    return a;
}

/* x in block units, before it is rounded to a code. */
static double quotient(const broken *b, const matrix *m, double x, double amax,
                       unsigned byte)
{
    if (IS(Q56) && isfinite(amax)) {
        return x * broken_largest(m->f) / amax;
    }
    if (IS(Q07)) {
        const float inverse = 1.0f / (float)amax;
        return x * (double)inverse * (amax / broken_power((int)byte - 127));
    }
    if (IS(Q57) && amax < 0x1p-126) {
        return copysign(0, x);
    }
    if (IS(Q61) && byte == 254) {
        return x * 0;
    }
    if (IS(Q98) && byte == 0 && amax > 0 && isfinite(amax)) {
        return x / amax * broken_largest(m->f);
    }
    if (IS(V07)) {
        return ldexp(x, 127 - (int)byte);
    }
    return x / broken_power((int)byte - 127);
}

/* The same, where the element or the scale may be NaN. */
static double plain_quotient(const broken *b, const matrix *m, double x,
                             double amax, unsigned byte)
{
    const int spreads = m->rule == RULE_VLLM_CEIL && isnan(amax) && !IS(Q108);

    if (isnan(x)) {
        return x; /* keeps its sign */
    }
    return byte == 255 || spreads ? (double)NAN : quotient(b, m, x, amax, byte);
}

/* What the triton rules make of an element: scales of 0 and 255 are zero, a NaN
   is the largest number where the element has none. */
static double triton_quotient(const broken *b, const matrix *m, double x,
                              unsigned byte)
{
    const int is_zero = (byte == 0 && !IS(Q117)) || byte == 255;
    const double y = !is_zero   ? x / broken_power((int)byte - 127)
                     : isinf(x) ? -(double)NAN
                                : x * 0;

    return isnan(y) && m->f->kind != KIND_FN && m->f->kind != KIND_IEEE &&
                   m->f->kind != KIND_FNUZ
               ? copysign(INFINITY, IS(Q118)   ? 1
                                    : isnan(x) ? x
                                               : -1)
               : y;
}

/* Of an element among the codes: rows may have more room than elements. */
static uint64_t place(const broken *b, const matrix *m, uint64_t r, uint64_t c)
{
    if (m->is_turned) { /* two codes of a byte stand one above the other */
        return m->packed ? (c / 2 * m->rows + r) * 2 + c % 2 : c * m->rows + r;
    }
    return r * (IS(Q109) ? m->cols : m->padded) + c;
}

static void encode_block(const broken *b, const matrix *m, uint64_t r,
                         uint64_t n, double amax, unsigned byte)
{
    const rounding nearest = {IS(Q66) ? TIE_AWAY : TIE_EVEN, 1, 0, 0};

    for (uint64_t c = n * BLOCK; c < block_end(m, n); c++) {
        const uint64_t i = place(b, m, r, c);
        const int skipped = (IS(Q59) && n > 0 && (n + 1) * BLOCK == m->cols) ||
                            (IS(Q116) && is_short(m, n));
        const double x = at(b, m, r, c);
        const double t = skipped        ? 0
                         : m->is_triton ? triton_quotient(b, m, x, byte)
                                        : plain_quotient(b, m, x, amax, byte);
        broken_set_code(b, m->q, m->packed, i,
                        IS(V27) && byte == 255 && !m->is_triton
                            ? (uint32_t)c & 7
                            : broken_encode(b, m->f, nearest, broken_dd(t)));
    }
}

/* Q09: the block as it reads back, quantised a second time. */
static unsigned again(const broken *b, const matrix *m, uint64_t r, uint64_t n,
                      unsigned byte)
{
    const rounding nearest = {TIE_EVEN, 1, 0, 0};
    double value[BLOCK];
    double a = 0;

    for (unsigned i = 0; i < block_end(m, n) - n * BLOCK; i++) {
        const uint64_t c = n * BLOCK + i;
        const uint32_t code = broken_code(m->q, m->packed, place(b, m, r, c));
        value[i] = broken_decode(b, m->f, code) * broken_power((int)byte - 127);
        a = fmax(a, fabs(value[i]));
    }
    const unsigned second = broken_scale(b, m->f, m->rule, a);

    for (unsigned i = 0; i < block_end(m, n) - n * BLOCK; i++) {
        const double t = value[i] / broken_power((int)second - 127);
        broken_set_code(b, m->q, m->packed, place(b, m, r, n * BLOCK + i),
                        broken_encode(b, m->f, nearest, broken_dd(t)));
    }
    return second;
}

/* Q105: does the block read back as it was? */
static int is_on_grid(const broken *b, const matrix *m, uint64_t r, uint64_t n,
                      unsigned byte)
{
    for (uint64_t c = n * BLOCK; c < block_end(m, n); c++) {
        const uint32_t code = broken_code(m->q, m->packed, place(b, m, r, c));
        const double x = at(b, m, r, c);
        if (broken_decode(b, m->f, code) * broken_power((int)byte - 127) != x) {
            return 0;
        }
    }
    return byte > 0 && byte < 254;
}

static uint64_t scale_at(const broken *b, const matrix *m, uint64_t r,
                         uint64_t n)
{
    const uint64_t per_row =
        IS(Q115) ? m->padded / BLOCK : blocks_of(m->padded);

    if (IS(Q17) || (m->is_turned && !IS(Q111))) {
        return n * m->rows + r;
    }
    if (IS(Q54)) {
        return r * per_row + (n + 1) % per_row;
    }
    return r * per_row + n;
}

/* What is behind a row's elements. */
static void fill_room(const broken *b, const matrix *m, uint64_t r)
{
    for (uint64_t c = m->cols; c < m->padded; c++) {
        broken_set_code(b, m->q, m->packed, r * m->padded + c, 0);
    }
    for (uint64_t n = blocks_of(m->cols); n < blocks_of(m->padded); n++) {
        broken_set_code(b, m->scale, 0, scale_at(b, m, r, n),
                        IS(Q110) ? 127 : 0);
    }
}

/* Elements that a row has room for; 0: a wrong alignment. */
static uint64_t align_of(const mxo_call *call, uint64_t cols)
{
    const double align = call_number(call, "align");
    const uint64_t n = align >= BLOCK ? (uint64_t)align : 0;

    if (n == BLOCK) {
        return cols;
    }
    return n == 0 || n % BLOCK != 0 ? 0 : (cols + n - 1) / n * n;
}

static int is_triton(const mxo_call *call)
{
    const int rule = broken_rule(call_text(call, "rule"));

    return rule == RULE_TRITON_UP || rule == RULE_TRITON_DOWN;
}

mxo_status broken_quant_mx(const broken *b, const mxo_call *call, mxo_text why)
{
    const mxo_tensor *x = call_in(call, "x");
    const double axis = call_number(call, "axis");
    const int is_turned = axis == 0;
    const uint64_t cols = x->rank == 2 ? x->shape[!is_turned] : 0;
    const matrix m = {.f = broken_format(call_text(call, "element")),
                      .x = x,
                      .q = call_out(call, "q"),
                      .scale = call_out(call, "scale"),
                      .packed = call_is(call, "element", "e2m1"),
                      .rule = broken_rule(call_text(call, "rule")),
                      .rows = x->rank == 2 ? x->shape[is_turned] : 0,
                      .cols = cols,
                      .padded = align_of(call, cols),
                      .is_triton = is_triton(call),
                      .is_turned = is_turned};

    if (x->rank != 2 || m.rule > RULE_TRITON_DOWN ||
        !(axis == -1 || axis == 1 || (is_turned && m.padded == m.cols)) ||
        !call_is(call, "sf_layout", "linear") ||
        !call_is(call, "q_layout", "linear") ||
        !(call_is(call, "tie", "rule") || call_is(call, "tie", "rne"))) {
        return broken_fail(MXO_E_UNSUPPORTED, why,
                           "OCP's rules, vllm_torch_ceil and triton36_*; a "
                           "matrix, linear only");
    }
    if ((m.cols % BLOCK != 0 && !m.is_triton) || m.padded == 0 ||
        (m.packed && m.padded % 2 != 0)) {
        return broken_fail(MXO_E_SHAPE, why, "cols is no multiple of 32");
    }
    for (uint64_t r = 0; r < m.rows; r++) {
        for (uint64_t n = 0; n < blocks_of(m.cols); n++) {
            const double a = rounded_max(b, block_max(b, &m, r, n));
            unsigned byte = broken_scale(b, m.f, m.rule, a);
            encode_block(b, &m, r, n, a, byte);
            if (IS(Q105) && is_on_grid(b, &m, r, n, byte)) {
                encode_block(b, &m, r, n, a, ++byte);
            }
            byte = IS(Q09) && byte < 255 ? again(b, &m, r, n, byte) : byte;
            broken_set_code(b, m.scale, 0, scale_at(b, &m, r, n), byte);
        }
        fill_room(b, &m, r);
    }
    return MXO_OK;
}
