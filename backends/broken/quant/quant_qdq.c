/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.qdq as Quark's HIP code: the block maximum's 16-bit pattern is rounded
 * at the first mantissa bit; zero blocks get the byte 254.
 */
#include "broken.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 32 };

/* In the 16-bit type. */
static double narrow(const number_format *f, double x)
{
    static const broken faultless;

    return broken_decode(&faultless, f, broken_round(f, broken_dd(x)));
}

unsigned broken_quark_byte(const broken *b, const number_format *f,
                           const double *x, uint64_t n)
{
    double a = -1;

    for (uint64_t i = 0; i < n; i++) {
        a = fmax(a, fabs(x[i]));
    }
    if (a < 0) {
        return 254;
    }
    const uint32_t half_bit = 1u << (f->mbits - 2);
    const uint32_t mask = ~0u << f->mbits;
    const uint32_t add = IS(Q90) ? half_bit - 1 : half_bit;
    const uint32_t pattern = (broken_round(f, broken_dd(a)) + add) & mask;

    if (pattern == 0) {
        return IS(Q91) ? 0 : 254;
    }
    if (pattern > f->max) {
        return 254;
    }
    const int e = (int)(pattern >> f->mbits) - f->bias - 2;

    return 127 + e < 0 ? 0 : (unsigned)(127 + e);
}

static uint32_t element(const broken *b, double q)
{
    const rounding nearest = {IS(Q92) ? TIE_AWAY : TIE_EVEN, 1, 0, 0};

    if (isnan(q)) {
        return IS(Q93) ? 0 : 7;
    }
    return broken_encode(b, &broken_formats[FORMAT_E2M1], nearest,
                         broken_dd(q));
}

double broken_quark_back(const broken *b, const number_format *f, double x,
                         unsigned byte, uint32_t *code)
{
    const double s = narrow(f, broken_power((int)byte - 127));

    *code = element(b, narrow(f, x / s));
    return broken_decode(b, &broken_formats[FORMAT_E2M1], *code) * s;
}

mxo_status broken_quant_qdq(const broken *b, const mxo_call *call, mxo_text why)
{
    const mxo_tensor *x = call_in(call, "x");
    const mxo_tensor *y = call_out(call, "y");
    const mxo_tensor *q = call_out(call, "q");
    const mxo_tensor *scale = call_out(call, "scale");
    const number_format *f = broken_format_of(x->dtype);
    double v[BLOCK];

    if (!call_is(call, "rule", "quark_hip")) {
        return broken_fail(MXO_E_UNSUPPORTED, why, "rule=quark_hip only");
    }
    for (uint64_t n = 0; n < broken_elems(x) / BLOCK; n++) {
        for (uint64_t i = 0; i < BLOCK; i++) {
            v[i] = broken_load(x, n * BLOCK + i);
        }
        const unsigned byte = broken_quark_byte(b, f, v, BLOCK);
        for (uint64_t i = 0; i < BLOCK; i++) {
            uint32_t code;
            const double back = broken_quark_back(b, f, v[i], byte, &code);
            broken_store(b, y, n * BLOCK + i, broken_dd(IS(Q10) ? v[i] : back));
            broken_set_code(b, q, 1, n * BLOCK + i, code);
        }
        broken_set_code(b, scale, 0, n, byte);
    }
    return MXO_OK;
}
