/* SPDX-License-Identifier: Apache-2.0 */
/* dequant.mx and dequant.group: an element times the scale it belongs to. */
#include "broken.h"

#include <math.h>

typedef struct blocks {
    const number_format *f;
    const mxo_tensor *q;
    const mxo_tensor *scale;
    int packed;
    uint64_t rows;
    uint64_t cols;
    uint32_t to;
} blocks;

static blocks blocks_of(const mxo_call *call)
{
    blocks k = {broken_format(call_text(call, "element")),
                call_in(call, "q"),
                call_in(call, "scale"),
                call_is(call, "element", "e2m1"),
                0,
                0,
                call_out(call, "y")->dtype};

    k.rows = k.q->shape[0];
    k.cols = k.q->shape[1] * (k.packed ? 2 : 1);
    return k;
}

/* Element of the row that is read for column c. */
static uint64_t source_column(const broken *b, const blocks *k, uint64_t c)
{
    if (IS(C08) && k->packed) {
        return c ^ 1;
    }
    if (IS(C60) && k->packed) {
        return c % 32 < 16 ? c / 32 * 32 + 2 * (c % 16)
                           : c / 32 * 32 + 2 * (c % 16) + 1;
    }
    return c;
}

static double element(const broken *b, const blocks *k, uint64_t r, uint64_t c)
{
    const uint64_t at = source_column(b, k, c);
    const uint64_t i = r * k->cols + at;
    uint32_t code = broken_code(k->q, k->packed, IS(C73) ? i % 65536 : i);

    if (IS(C61) && k->packed && c % 2 == 1) {
        code &= 7;
    }
    if (IS(C62) && c == k->cols - 1 && k->cols > 32) {
        code = 0;
    }
    if (IS(V08) && k->packed) {
        static const double table[16] = {0,    0.5,  1,  1.5,  2,  3,  4,  6,
                                         -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};
        return table[code];
    }
    return broken_decode(b, k->f, code);
}

/* Index of the scale that is read for block n of row r. */
static uint64_t scale_index(const broken *b, const blocks *k, uint64_t r,
                            uint64_t n)
{
    const uint64_t per_row = k->scale->shape[1];
    uint64_t at = r * per_row + n;

#define BROKEN_SCALE_PLACE
#include "../values.def"
#undef BROKEN_SCALE_PLACE
    return at;
}

static dd product(const broken *b, const blocks *k, double x, unsigned byte)
{
    double s = broken_e8m0(b, byte);

    if (IS(C68) && x == 0) {
        return broken_dd(x);
    }
    if (IS(C69) && k->to == MXO_F16) {
        const number_format *f16 = &broken_formats[FORMAT_F16];
        s = broken_decode(b, f16, broken_round(f16, broken_dd(s)));
    }
    if (IS(V04) && isnan(s)) {
        return broken_dd(copysign(s, -1));
    }
    if (IS(V05) && byte > 0 && byte < 255) {
        return broken_dd(ldexp(x, (int)byte - 127));
    }
    return broken_dd(x * s);
}

mxo_status broken_dequant_mx(const broken *b, const mxo_call *call,
                             mxo_text why)
{
    const blocks k = blocks_of(call);
    const mxo_tensor *y = call_out(call, "y");
    const uint64_t block = IS(Q14) ? 16 : IS(Q14b) ? 64 : 32;
    const double axis = call_number(call, "axis");

    if (!call_is(call, "rule", "ocp") || !call_is(call, "zero", "keep") ||
        (axis != -1 && axis != 1)) {
        return broken_fail(MXO_E_UNSUPPORTED, why,
                           "rule=ocp, zero=keep, last axis only");
    }
    for (uint64_t i = 0; i < k.rows; i++) {
        const uint64_t r = IS(V03) ? k.rows - 1 - i : i;
        for (uint64_t c = 0; c < k.cols; c++) {
            const uint64_t n = c / block % k.scale->shape[1];
            const unsigned byte =
                broken_code(k.scale, 0, scale_index(b, &k, r, n));
            broken_store(b, y, r * k.cols + c,
                         product(b, &k, element(b, &k, r, c), byte));
        }
    }
    return MXO_OK;
}

/* Elements of one group along an axis; 0 means the whole axis. */
static uint64_t span(const mxo_call *call, const char *key, uint64_t axis)
{
    const double size = call_number(call, key);

    return size > 0 ? (uint64_t)size : axis;
}

mxo_status broken_dequant_group(const broken *b, const mxo_call *call,
                                mxo_text why)
{
    const blocks k = blocks_of(call);
    const mxo_tensor *y = call_out(call, "y");
    const uint64_t group_rows = span(call, "group_rows", k.rows);
    const uint64_t group_cols = span(call, "group_cols", k.cols);
    const int whole = broken_elems(k.scale) == 1;

    if (!call_is(call, "zero", "keep")) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "zero=keep only");
    }
    for (uint64_t r = 0; r < k.rows; r++) {
        for (uint64_t c = 0; c < k.cols; c++) {
            const uint64_t n = c / group_cols;
            const uint64_t at = scale_index(b, &k, r / group_rows, n);
            const double s = IS(Q15) && whole ? 1 : broken_load(k.scale, at);
            const double exact = element(b, &k, r, c) * s;
            const double x = IS(C71) ? exact : (double)(float)exact;
            broken_store(b, y, r * k.cols + c,
                         broken_dd(IS(C70) ? fabs(x) : x));
        }
    }
    return MXO_OK;
}
