/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.glu_quant as vLLM's packed kernel: silu-and-mul in float32, rounded to
 * bfloat16, then E4M3 under a power-of-two scale per group.
 */
#include "broken.h"

#include <math.h>

typedef struct fused {
    const mxo_tensor *x, *q, *scale, *y;
    uint64_t rows, cols, group;
    double limit;
} fused;

/* What is not below the limit, NaN too, becomes it; equal zeros stay. */
static float least(float x, float limit)
{
    return x <= limit ? x : limit;
}

static double activated(const broken *b, const fused *k, uint64_t r, uint64_t c,
                        double limit)
{
    float g = (float)broken_load(k->x, r * 2 * k->cols + c);
    float u = (float)broken_load(k->x, r * 2 * k->cols + k->cols + c);

    if (isfinite(limit) && !IS(A70)) {
        g = least(g, (float)limit);
    }
    if (isfinite(limit)) {
        u = IS(A71) || u >= -(float)limit ? u : -(float)limit;
        u = least(u, (float)limit);
    }
    const float e = (float)exp(-(double)g);
    const float d = 1.0f + e;
    const float s = g / d;
    const float y = IS(A72) ? (float)broken_to_bf16((double)s) * u : s * u;

    return IS(A73) ? (double)y : broken_to_bf16((double)y);
}

static void quantise(const broken *b, const fused *k, uint64_t r, uint64_t n)
{
    const rounding nearest = {TIE_EVEN, 1, 0, 0};
    const number_format *f = &broken_formats[FORMAT_E4M3FN];
    const double limit = IS(Q12) ? INFINITY : k->limit;
    double a = 0;

    for (uint64_t c = n * k->group; c < (n + 1) * k->group; c++) {
        a = fmax(a, fabs(activated(b, k, r, c, limit)));
    }
    double raw = (double)((float)a / 448.0f);
    raw = raw < (double)1e-10f && !IS(Q94) ? (double)1e-10f : raw;
    const unsigned byte = isinf(raw) ? 255 : broken_scale_up(raw);
    const double scale = byte == 255 ? INFINITY : broken_power((int)byte - 127);

    for (uint64_t c = n * k->group; c < (n + 1) * k->group; c++) {
        const double y = activated(b, k, r, c, limit);
        const double t = isnan(y / scale) ? (double)NAN : y / scale;
        broken_set_code(b, k->q, 0, r * k->cols + c,
                        broken_encode(b, f, nearest, broken_dd(t)));
        broken_store(b, k->y, r * k->cols + c,
                     broken_dd(activated(b, k, r, c, k->limit)));
    }
    broken_set_code(b, k->scale, 0, r * (k->cols / k->group) + n, byte);
}

mxo_status broken_act_glu_quant(const broken *b, const mxo_call *call,
                                mxo_text why)
{
    fused k = {call_in(call, "x"),
               call_out(call, "q"),
               call_out(call, "scale"),
               call_out(call, "y"),
               0,
               0,
               (uint64_t)call_number(call, "group"),
               call_is(call, "limit", "none") ? INFINITY
                                              : call_number(call, "limit")};

    if (!call_is(call, "dialect", "vllm_packed") ||
        !call_is(call, "scale", "e8m0")) {
        return broken_fail(MXO_E_UNSUPPORTED, why,
                           "dialect=vllm_packed, scale=e8m0 only");
    }
    if (call_number(call, "pow2") == 0) {
        return broken_fail(MXO_E_PARAM, why,
                           "pow2=0 is for dialect=vllm_colmajor");
    }
    k.rows = k.q->shape[0];
    k.cols = k.q->shape[1];
    for (uint64_t r = 0; r < k.rows; r++) {
        for (uint64_t n = 0; n < k.cols / k.group; n++) {
            quantise(b, &k, r, n);
        }
    }
    return MXO_OK;
}
