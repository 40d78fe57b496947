/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.nvfp4_scalars: what a loader makes of the scalars of an NVFP4
 * checkpoint.  ModelOpt stores amax / 2688, by which numbers are multiplied to
 * get real ones; compressed-tensors stores 2688 / amax, so its scalars are
 * turned over first (engines 6.1).
 */
#include "../call.h"

#include <stddef.h>

#define ONE 0x3f800000u

typedef struct scalars {
    const mxo_call *call;
    int is_inverse;
} scalars;

static const char *const names[] = {"w13_scale_2", "w13_input_scale",
                                    "w2_scale_2", "w2_input_scale"};

mxo_status infer_moe_nvfp4_scalars(const mxo_call *call, mxo_tensor *out_tensor,
                                   uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *first = mxo_call_in(call, names[0]);
    const uint64_t experts = first->rank == 2 ? first->shape[0] : 0;
    const uint64_t one = 1;

    for (int i = 0; i < 4; i++) {
        const mxo_tensor *t = mxo_call_in(call, names[i]);
        const uint32_t rank = i < 2 ? 2 : 1;
        if (experts == 0 || t->rank != rank || t->shape[0] != experts ||
            (rank == 2 && t->shape[1] != 2)) {
            return mxo_fail(
                MXO_E_SHAPE, why, "%s: %s is not one number for each expert%s",
                call->op, names[i], rank == 2 ? " and each of w1 and w3" : "");
        }
    }
    mxo_out(out_tensor, 0, "a1_gscale", MXO_F32, 1, &one);
    mxo_out(out_tensor, 1, "a2_gscale", MXO_F32, 1, &one);
    mxo_out(out_tensor, 2, "g1_alphas", MXO_F32, 1, &experts);
    mxo_out(out_tensor, 3, "g1_scale_c", MXO_F32, 1, &experts);
    mxo_out(out_tensor, 4, "g2_alphas", MXO_F32, 1, &experts);
    *n_out = 5;
    return MXO_OK;
}

static uint32_t scalar(const scalars *s, const char *name, uint64_t i)
{
    const uint32_t x = (uint32_t)mxo_load(mxo_call_in(s->call, name), i);

    return s->is_inverse ? mxo_f32_div(ONE, x) : x;
}

/* The largest, over all experts and projections. */
static uint32_t largest(const scalars *s, const char *name)
{
    const uint64_t n = mxo_tensor_elems(mxo_call_in(s->call, name));
    uint32_t most = scalar(s, name, 0);

    for (uint64_t i = 1; i < n; i++) {
        const uint32_t x = scalar(s, name, i);
        most = mxo_f32_cmp(x, most) > 0 ? x : most;
    }
    return most;
}

static mxo_status check(const scalars *s, mxo_text why)
{
    for (int k = 0; k < 4; k++) {
        const mxo_tensor *t = mxo_call_in(s->call, names[k]);
        for (uint64_t i = 0; i < mxo_tensor_elems(t); i++) {
            const uint32_t x = (uint32_t)mxo_load(t, i);
            if (x == 0 || x >= 0x7f800000u) {
                return mxo_fail(MXO_E_PARAM, why,
                                "%s: %s[%llu] is no positive number",
                                s->call->op, names[k], (unsigned long long)i);
            }
        }
    }
    return MXO_OK;
}

mxo_status run_moe_nvfp4_scalars(const mxo_call *call, mxo_text why)
{
    const scalars s = {call, mxo_call_is(call, "scales", "compressed_tensors")};

    MXO_TRY(check(&s, why));
    const uint32_t a13 = largest(&s, "w13_input_scale");
    const uint32_t a2 = largest(&s, "w2_input_scale");
    const uint32_t a2_gscale = mxo_f32_div(ONE, a2);

    mxo_store(mxo_call_out(call, "a1_gscale"), 0, mxo_f32_div(ONE, a13));
    mxo_store(mxo_call_out(call, "a2_gscale"), 0, a2_gscale);
    for (uint64_t e = 0; e < mxo_call_in(call, names[0])->shape[0]; e++) {
        /* w3's is ignored */
        const uint32_t g1 = mxo_f32_mul(scalar(&s, "w13_scale_2", 2 * e), a13);
        mxo_store(mxo_call_out(call, "g1_alphas"), e, g1);
        mxo_store(mxo_call_out(call, "g1_scale_c"), e,
                  mxo_call_is(call, "scale_c", "product")
                      ? mxo_f32_mul(g1, a2_gscale)
                      : mxo_f32_div(g1, a2));
        mxo_store(mxo_call_out(call, "g2_alphas"), e,
                  mxo_f32_mul(scalar(&s, "w2_scale_2", e), a2));
    }
    return MXO_OK;
}
