/* SPDX-License-Identifier: Apache-2.0 */
/* format.encode: numbers to element codes, in any rounding and dialect. */
#include "../call.h"

static mxo_rounding rounding(const mxo_call *call)
{
    const int64_t bits = mxo_call_int(call, "bits");
    const mxo_rounding r = {
        (uint8_t)mxo_tie_by_name(mxo_call_text(call, "tie")),
        mxo_call_int(call, "sat") != 0,
        bits < 0 || bits > 255 ? 0 : (uint8_t)bits,
        0,
    };

    return r;
}

static mxo_dialect dialect_of(const mxo_call *call)
{
    return mxo_dialect_by_name(mxo_call_text(call, "dialect"));
}

static mxo_status check_packed(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");

    if (!mxo_call_is(call, "format", "e2m1") || x->rank == 0) {
        return mxo_fail(
            MXO_E_PARAM, why,
            "format.encode: packed=1 needs format=e2m1 and an axis");
    }
    if (x->shape[x->rank - 1] % 2 != 0) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "format.encode: packed=1 needs an even last axis");
    }
    return MXO_OK;
}

static mxo_status check_rand(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const mxo_tensor *rand = mxo_call_in(call, "rand");

    if (mxo_tensor_elems(rand) != mxo_tensor_elems(x)) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "format.encode: rand needs one entry per element of x");
    }
    return MXO_OK;
}

mxo_status infer_format_encode(const mxo_call *call, mxo_tensor *out_tensor,
                               uint32_t *n_out, mxo_text why)
{
    const int packed = mxo_call_int(call, "packed") != 0;
    const mxo_rounding r = rounding(call);
    const char *refusal =
        mxo_dialect_refuses(dialect_of(call), mxo_call_format(call, "format"),
                            mxo_call_format(call, "from"), r);

    if (refusal != NULL) {
        return mxo_fail(MXO_E_PARAM, why, "format.encode: dialect=%s %s",
                        mxo_call_text(call, "dialect"), refusal);
    }
    if (r.tie == MXO_TIE_SR) {
        MXO_TRY(check_rand(call, why));
    }
    if (packed) {
        MXO_TRY(check_packed(call, why));
    }
    (void)mxo_infer_like(call, "x", out_tensor, n_out, "code", MXO_U8);
    if (packed) {
        out_tensor[0].shape[out_tensor[0].rank - 1] /= 2;
        out_tensor[0].n_bytes /= 2;
    }
    return MXO_OK;
}

mxo_status run_format_encode(const mxo_call *call, mxo_text why)
{
    const mxo_format format = mxo_call_format(call, "format");
    const mxo_format from = mxo_call_format(call, "from");
    const mxo_dialect dialect = dialect_of(call);
    const mxo_tensor *x = mxo_call_in(call, "x");
    const mxo_tensor *rand = mxo_call_in(call, "rand");
    const mxo_tensor *code = mxo_call_out(call, "code");
    const int packed = mxo_call_int(call, "packed") != 0;
    const uint64_t n = mxo_tensor_elems(x);
    mxo_rounding r = rounding(call);

    (void)why;
    for (uint64_t i = 0; i < n; i++) {
        if (r.tie == MXO_TIE_SR) {
            r.rand = (uint32_t)mxo_load(rand, i);
        }
        const uint64_t c =
            mxo_dialect_encode(dialect, format, from, mxo_load(x, i), r);
        if (packed) {
            mxo_store_nibble(mxo_tensor_data(code), i, (uint8_t)c);
        } else {
            mxo_store(code, i, c);
        }
    }
    return MXO_OK;
}
