/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.mxfp4_to_nvfp4: E8M0 blocks of 32 as E4M3 blocks of 16 without
 * quantising again.  The global scale is 2^(k_max - 8); a block whose exponent
 * k is at most 17 below k_max gets 2^(k - k_max + 8) twice and keeps its
 * codes.  Any other one gets the smallest scale, 2^-9, and loses.
 */
#include "quant.h"

#include <string.h>

enum { SPAN = 17, TOP = 8, OWN_K_MAX = -128, SMALLEST = 0x01 };

/* Largest exponent of the blocks that have one. */
static int k_max_of(const mxo_call *call)
{
    const mxo_tensor *scale = mxo_call_in(call, "scale");
    const int given = (int)mxo_call_int(call, "k_max");
    int k = OWN_K_MAX;

    for (uint64_t i = 0; i < mxo_tensor_elems(scale); i++) {
        const int byte = (int)mxo_load(scale, i);
        k = byte > 0 && byte - 127 > k ? byte - 127 : k;
    }
    if (given != OWN_K_MAX) {
        return given;
    }
    return k == OWN_K_MAX ? 0 : k;
}

mxo_status infer_quant_mxfp4_to_nvfp4(const mxo_call *call,
                                      mxo_tensor *out_tensor, uint32_t *n_out,
                                      mxo_text why)
{
    const mxo_tensor *q = mxo_call_in(call, "q");
    const mxo_tensor *scale = mxo_call_in(call, "scale");
    const int64_t k_max = mxo_call_int(call, "k_max");
    const uint64_t one[1] = {1};
    const uint64_t two[1] = {2};

    if (q->rank != 2 || scale->rank != 2 || scale->shape[0] != q->shape[0] ||
        scale->shape[1] * (MXO_MX_BLOCK / 2) != q->shape[1]) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: q and scale need rows of whole blocks of 32",
                        call->op);
    }
    if (k_max < OWN_K_MAX || k_max > 127) {
        return mxo_fail(MXO_E_PARAM, why, "%s: k_max=%lld", call->op,
                        (long long)k_max);
    }
    const uint64_t scales[2] = {q->shape[0], 2 * scale->shape[1]};

    mxo_out(out_tensor, 0, "q", MXO_U8, 2, q->shape);
    mxo_out(out_tensor, 1, "scale", MXO_E4M3, 2, scales);
    mxo_out(out_tensor, 2, "global", MXO_F32, 1, one);
    mxo_out(out_tensor, 3, "blocks", MXO_I32, 1, two);
    *n_out = 4;
    return MXO_OK;
}

static int fits(int byte, int k_max)
{
    return byte - 127 >= k_max - SPAN;
}

/* Every block before the first byte is written. */
static mxo_status check(const mxo_call *call, int k_max, mxo_text why)
{
    const mxo_tensor *scale = mxo_call_in(call, "scale");
    const int lossless = mxo_call_int(call, "lossless") != 0;

    for (uint64_t i = 0; i < mxo_tensor_elems(scale); i++) {
        const int byte = (int)mxo_load(scale, i);
        const unsigned long long row = i / scale->shape[1];
        const unsigned long long block = i % scale->shape[1];
        if (byte == 255 || byte - 127 > k_max) {
            return mxo_fail(MXO_E_PARAM, why,
                            "%s: scale byte %d of row %llu, block %llu is "
                            "above 2^%d, the largest",
                            call->op, byte, row, block, k_max);
        }
        if (lossless && byte > 0 && !fits(byte, k_max)) {
            return mxo_fail(MXO_E_PARAM, why,
                            "%s: row %llu, block %llu has 2^%d, more than "
                            "2^17 below the largest, 2^%d: its values would "
                            "be lost",
                            call->op, row, block, byte - 127, k_max);
        }
    }
    return MXO_OK;
}

/* The code under the smallest scale; a negative one keeps its sign. */
static uint8_t requantised(uint8_t code, int shift)
{
    const mxo_rounding nearest = {MXO_TIE_RNE, 1, 0, 0};

    return (uint8_t)mxo_format_encode(
        MXO_FMT_E2M1,
        mxo_real_scale(mxo_format_decode(MXO_FMT_E2M1, code), shift), nearest);
}

/* One block of 32; returns whether nothing is lost. */
static int cast_block(const mxo_call *call, uint64_t b, int k_max)
{
    const uint8_t *q = mxo_tensor_data(mxo_call_in(call, "q"));
    uint8_t *to = mxo_tensor_data(mxo_call_out(call, "q"));
    const int byte = (int)mxo_load(mxo_call_in(call, "scale"), b);
    const int k = byte - 127;
    const mxo_real power = {1, k - k_max + TOP, MXO_CLASS_FINITE, 0, 0};
    const int good = fits(byte, k_max);
    const uint64_t scale =
        good ? mxo_format_round(MXO_FMT_E4M3FN, power) : SMALLEST;

    for (uint64_t i = b * MXO_MX_BLOCK; i < (b + 1) * MXO_MX_BLOCK; i++) {
        const uint8_t code = mxo_load_nibble(q, i);
        mxo_store_nibble(to, i,
                         code == 8 ? 0
                         : good    ? code
                                   : requantised(code, k - k_max + SPAN));
    }
    mxo_store(mxo_call_out(call, "scale"), 2 * b, scale);
    mxo_store(mxo_call_out(call, "scale"), 2 * b + 1, scale);
    return good || byte == 0;
}

mxo_status run_quant_mxfp4_to_nvfp4(const mxo_call *call, mxo_text why)
{
    const uint64_t n = mxo_tensor_elems(mxo_call_in(call, "scale"));
    const int k_max = k_max_of(call);
    const mxo_real global = {1, k_max - TOP, MXO_CLASS_FINITE, 0, 0};

    MXO_TRY(check(call, k_max, why));
    uint64_t kept = 0;

    for (uint64_t b = 0; b < n; b++) {
        kept += (uint64_t)cast_block(call, b, k_max);
    }
    mxo_store(mxo_call_out(call, "global"), 0,
              mxo_format_round(MXO_FMT_F32, global));
    mxo_store(mxo_call_out(call, "blocks"), 0, n);
    mxo_store(mxo_call_out(call, "blocks"), 1, kept);
    return MXO_OK;
}
