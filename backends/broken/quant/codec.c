/* SPDX-License-Identifier: Apache-2.0 */
/* format.decode, format.encode, format.e8m0_decode. */
#include "broken.h"

#include <math.h>

mxo_status broken_format_decode(const broken *b, const mxo_call *call,
                                mxo_text why)
{
    const number_format *f = broken_format(call_text(call, "format"));
    const mxo_tensor *code = call_in(call, "code");
    const mxo_tensor *y = call_out(call, "y");

    const int packed = call_number(call, "packed") != 0;

    if (f == NULL || !call_is(call, "zero", "keep") ||
        !call_is(call, "nan", "quiet")) {
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
    if (call_is(call, "tie", "rz")) {
        return TIE_ZERO;
    }
    if (call_is(call, "tie", "rna")) {
        return TIE_AWAY;
    }
    if (call_is(call, "tie", "rnz")) {
        return TIE_TOWARD;
    }
    if (call_is(call, "tie", "sr")) {
        return TIE_RANDOM;
    }
    return TIE_EVEN;
}

mxo_status broken_format_encode(const broken *b, const mxo_call *call,
                                mxo_text why)
{
    const number_format *f = broken_format(call_text(call, "format"));
    const mxo_tensor *x = call_in(call, "x");
    const mxo_tensor *rand = call_in(call, "rand");
    const mxo_tensor *code = call_out(call, "code");
    const int packed = call_number(call, "packed") != 0;
    rounding r = {tie_by_name(call), call_number(call, "sat") != 0,
                  (int)call_number(call, "bits"), 0};

    if (f == NULL || !call_is(call, "dialect", "mxo")) {
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
    const mxo_tensor *code = call_in(call, "code");
    const mxo_tensor *y = call_out(call, "y");

    if (!call_is(call, "rule", "ocp")) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "rule=ocp only");
    }
    for (uint64_t i = 0; i < broken_elems(code); i++) {
        broken_store(b, y, i,
                     broken_dd(broken_e8m0(b, broken_code(code, 0, i))));
    }
    return MXO_OK;
}
