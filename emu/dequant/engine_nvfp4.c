/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dequant.nvfp4_engine: E2M1 under an E4M3 byte, 16 each, as other engines
 * read it back: steps in binary32, rounded on their own, then to the target.
 */
#include "../quant/engine.h"

#include <string.h>

#define F32_2688 0x45280000u
#define ONE 0x3f800000u

static uint32_t times(uint32_t a, uint32_t b)
{
    return mxo_f32_mul(a, b);
}

static uint32_t element(uint8_t code)
{
    return (uint32_t)mxo_format_convert(MXO_FMT_F32, MXO_FMT_E2M1, code,
                                        MXO_TIE_RNE, MXO_NAN_QUIET);
}

/* The sign of the byte is ignored; code 8 is +0. */
static uint32_t ggml(uint8_t code, uint8_t byte, uint32_t global)
{
    const uint32_t half = engine_ue4m3_half(byte & 0x7f ? byte : 0);
    const uint32_t doubled = code == 8 ? 0 : times(element(code), 0x40000000u);

    (void)global;
    return times(doubled, half);
}

static uint32_t mlx(uint8_t code, uint8_t byte, uint32_t global)
{
    (void)global;
    return times(element(code), engine_e4m3_value(byte));
}

static uint32_t mlx_global(uint8_t code, uint8_t byte, uint32_t global)
{
    const uint32_t scale =
        times(engine_e4m3_value(byte), mxo_f32_div(global, F32_2688));

    return times(element(code), scale);
}

/* The global scale is the one that was multiplied when encoding. */
static uint32_t compressed_tensors(uint8_t code, uint8_t byte, uint32_t global)
{
    return times(element(code), mxo_f32_div(engine_e4m3_value(byte), global));
}

static uint32_t modelopt(uint8_t code, uint8_t byte, uint32_t global)
{
    return times(code == 8 ? 0 : element(code),
                 times(engine_e4m3_value(byte), global));
}

static const struct {
    const char *name;
    uint32_t (*value)(uint8_t code, uint8_t byte, uint32_t global);
    int has_global;
} rules[] = {
    {"ggml", ggml, 0},
    {"mlx", mlx, 0},
    {"mlx_global", mlx_global, 1},
    {"compressed_tensors", compressed_tensors, 1},
    {"modelopt", modelopt, 1},
};

mxo_status infer_dequant_nvfp4_engine(const mxo_call *call,
                                      mxo_tensor *out_tensor, uint32_t *n_out,
                                      mxo_text why)
{
    const mxo_tensor *q = mxo_call_in(call, "q");
    const mxo_tensor *scale = mxo_call_in(call, "scale");
    const mxo_tensor *global = mxo_call_in(call, "global_scale");

    if (q->rank != 2 || scale->rank != 2 || scale->shape[0] != q->shape[0] ||
        scale->shape[1] * (MXO_NVFP4_BLOCK / 2) != q->shape[1]) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: q and scale need rows of whole blocks of 16",
                        call->op);
    }
    if (global != NULL && mxo_tensor_elems(global) != 1) {
        return mxo_fail(MXO_E_SHAPE, why, "%s: global_scale needs one element",
                        call->op);
    }
    const uint64_t shape[2] = {q->shape[0], 2 * q->shape[1]};

    mxo_out(out_tensor, 0, "y", mxo_call_dtype(call, "to"), 2, shape);
    *n_out = 1;
    return MXO_OK;
}

mxo_status run_dequant_nvfp4_engine(const mxo_call *call, mxo_text why)
{
    const mxo_format to = mxo_call_format(call, "to");
    const mxo_tensor *q = mxo_call_in(call, "q");
    const mxo_tensor *scale = mxo_call_in(call, "scale");
    const mxo_tensor *y = mxo_call_out(call, "y");
    const mxo_tensor *given = mxo_call_in(call, "global_scale");
    const uint32_t global = given == NULL ? ONE : (uint32_t)mxo_load(given, 0);
    int rule = 0;

    (void)why;
    while (!mxo_call_is(call, "rule", rules[rule].name)) {
        rule++;
    }
    for (uint64_t i = 0; i < mxo_tensor_elems(y); i++) {
        const uint8_t code = mxo_load_nibble(mxo_tensor_data(q), i);
        const uint8_t byte = (uint8_t)mxo_load(scale, i / MXO_NVFP4_BLOCK);
        const uint32_t v = rules[rule].value(code, byte, global);
        mxo_store(
            y, i,
            mxo_format_convert(to, MXO_FMT_F32, v, MXO_TIE_RNE, MXO_NAN_QUIET));
    }
    return MXO_OK;
}
