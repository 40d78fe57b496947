/* SPDX-License-Identifier: Apache-2.0 */
/* format.decode, format.encode, format.e8m0_decode. */
#include "broken.h"

#include <math.h>

mxo_status broken_format_decode(const broken *b, const mxo_call *call,
                                mxo_text why)
{
    const number_format *f = broken_format(broken_text(call, "format"));
    const mxo_tensor *code = broken_in(call, "code");
    const mxo_tensor *y = broken_out(call, "y");

    const int packed = broken_number(call, "packed") != 0;

    if (f == NULL || !broken_says(call, "zero", "keep") ||
        !broken_says(call, "nan", "quiet")) {
        return broken_fail(MXO_E_UNSUPPORTED, why,
                           "zero=keep and nan=quiet only");
    }
    for (uint64_t i = 0; i < broken_elems(y); i++) {
        const uint64_t at = IS(C08) && packed ? i ^ 1 : i;
        const double x = broken_decode(b, f, broken_code(code, packed, at));
        const double nan = IS(V28) ? -(double)NAN : (double)NAN;
        broken_store(b, y, i, broken_dd(isnan(x) ? nan : x));
    }
    return MXO_OK;
}

static int tie_by_name(const mxo_call *call)
{
    if (broken_says(call, "tie", "rz")) {
        return TIE_ZERO;
    }
    if (broken_says(call, "tie", "rna")) {
        return TIE_AWAY;
    }
    if (broken_says(call, "tie", "rnz")) {
        return TIE_TOWARD;
    }
    if (broken_says(call, "tie", "sr")) {
        return TIE_RANDOM;
    }
    return TIE_EVEN;
}

mxo_status broken_format_encode(const broken *b, const mxo_call *call,
                                mxo_text why)
{
    const number_format *f = broken_format(broken_text(call, "format"));
    const mxo_tensor *x = broken_in(call, "x");
    const mxo_tensor *rand = broken_in(call, "rand");
    const mxo_tensor *code = broken_out(call, "code");
    const int packed = broken_number(call, "packed") != 0;
    rounding r = {tie_by_name(call), broken_number(call, "sat") != 0,
                  (int)broken_number(call, "bits"), 0};

    if (f == NULL || !broken_says(call, "dialect", "mxo")) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "dialect=mxo only");
    }
    for (uint64_t i = 0; i < broken_elems(x); i++) {
        const double value = broken_read(b, x, i);
        if (rand != NULL) {
            r.rand = (uint32_t)broken_load_i32(rand, i);
            r.rand = IS(C82) ? r.rand >> (32 - r.bits)
                             : r.rand & 0xffffffffu >> (32 - r.bits);
        }
        broken_set_code(b, code, packed, i,
                        broken_encode(b, f, r, broken_dd(value)));
    }
    return MXO_OK;
}

mxo_status broken_format_e8m0_decode(const broken *b, const mxo_call *call,
                                     mxo_text why)
{
    const mxo_tensor *code = broken_in(call, "code");
    const mxo_tensor *y = broken_out(call, "y");

    if (!broken_says(call, "rule", "ocp")) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "rule=ocp only");
    }
    for (uint64_t i = 0; i < broken_elems(code); i++) {
        broken_store(b, y, i,
                     broken_dd(broken_e8m0(b, broken_code(code, 0, i))));
    }
    return MXO_OK;
}
