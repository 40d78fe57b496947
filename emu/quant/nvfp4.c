/* SPDX-License-Identifier: Apache-2.0 */
/* quant.nvfp4: walks rows of 16 (or 32) element blocks; see nvfp4_block.c. */
#include "layout.h"
#include "quant.h"

#include <string.h>

/* In the order of mxo_nvfp4_math. */
static const char *const maths[] = {"fast", "ieee", "exact", "vllm",
                                    "trtllm_gen"};
enum { N_MATHS = sizeof maths / sizeof maths[0] };

static uint64_t block_size(const mxo_call *call)
{
    return mxo_call_is(call, "scale", "e8m0") ? 32 : 16;
}

static mxo_status check_params(const mxo_call *call, mxo_text why)
{
    const int e4m3 = mxo_call_is(call, "from", "e4m3");

    const int fast = mxo_call_is(call, "math", "fast");
    const int exact = mxo_call_is(call, "math", "exact");

    if (e4m3 && !fast && !exact) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: the kernel for from=e4m3 has no math=%s", call->op,
                        mxo_call_text(call, "math"));
    }
    if (mxo_call_is(call, "scale", "e8m0") && !fast &&
        !mxo_call_is(call, "math", "ieee")) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: math=%s has scale=e4m3; with scale=e8m0 it "
                        "is quant.mx, rule=rceil_exact",
                        call->op, mxo_call_text(call, "math"));
    }
    if (mxo_call_is(call, "math", "trtllm_gen") !=
        mxo_call_is(call, "from", "f32")) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: math=trtllm_gen takes from=f32, and no other "
                        "does",
                        call->op);
    }
    return MXO_OK;
}

static mxo_status check_shapes(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const uint64_t block = block_size(call);

    if (x->rank == 0 || x->shape[x->rank - 1] % block != 0) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: the last axis is not a multiple of %u", call->op,
                        (unsigned)block);
    }
    if (mxo_call_int(call, "global") != 0) {
        const uint64_t n = mxo_tensor_elems(mxo_call_in(call, "global_scale"));
        const uint64_t cols = x->shape[x->rank - 1];

        if (n != 1 && (cols == 0 || n != mxo_tensor_elems(x) / cols)) {
            return mxo_fail(MXO_E_SHAPE, why,
                            "%s: global_scale is one number, or one per row",
                            call->op);
        }
    }
    return MXO_OK;
}

mxo_status infer_quant_nvfp4(const mxo_call *call, mxo_tensor *out_tensor,
                             uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const quant_layout *sf = quant_sf_layout(mxo_call_text(call, "sf_layout"));
    uint64_t shape[MXO_MAX_RANK];
    uint32_t rank = x->rank;

    MXO_TRY(check_params(call, why));
    MXO_TRY(check_shapes(call, why));
    const uint64_t cols = x->shape[rank - 1];
    uint64_t rows;
    uint64_t inner;
    uint64_t len;

    mxo_tensor_split(x, -1, &rows, &len, &inner);
    memcpy(shape, x->shape, sizeof shape);
    shape[rank - 1] = cols / 2;
    mxo_out(out_tensor, 0, "q", MXO_U8, rank, shape);
    shape[rank - 1] = cols / block_size(call);
    if (!quant_layout_is_linear(sf)) {
        rank = quant_layout_shape(sf, rows, cols / block_size(call), shape);
    }
    mxo_out(out_tensor, 1, "scale",
            mxo_call_is(call, "scale", "e8m0") ? MXO_E8M0 : MXO_E4M3, rank,
            shape);
    *n_out = 2;
    return MXO_OK;
}

static mxo_nvfp4_rule read_rule(const mxo_call *call)
{
    const mxo_nvfp4_rule rule = {
        .math = (uint8_t)mxo_call_choice(call, "math", maths, N_MATHS),
        .rcp_hopper = mxo_call_is(call, "rcp", "hopper") != 0,
        .inverted = mxo_call_int(call, "inverted") != 0,
        .e8m0 = mxo_call_is(call, "scale", "e8m0") != 0,
        .from_e4m3 = mxo_call_is(call, "from", "e4m3") != 0,
    };

    return rule;
}

/* The global scale of a row; 1 if there is none. */
static uint32_t global_of(const mxo_call *call, uint64_t row)
{
    const mxo_tensor *g = mxo_call_in(call, "global_scale");

    if (mxo_call_int(call, "global") == 0) {
        return 0x3f800000u;
    }
    return (uint32_t)mxo_load(g, mxo_tensor_elems(g) == 1 ? 0 : row);
}

mxo_status run_quant_nvfp4(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *in = mxo_call_in(call, "x");
    const mxo_tensor *scale = mxo_call_out(call, "scale");
    const quant_layout *sf = quant_sf_layout(mxo_call_text(call, "sf_layout"));
    const mxo_nvfp4_rule rule = read_rule(call);
    const uint64_t size = block_size(call);
    const uint64_t blocks = in->shape[in->rank - 1] / size;
    const uint64_t n = blocks == 0 ? 0 : mxo_tensor_elems(in) / size;
    uint8_t *q = mxo_tensor_data(mxo_call_out(call, "q"));
    uint32_t x[MXO_MX_BLOCK];
    uint8_t codes[MXO_MX_BLOCK];
    quant_place at;

    MXO_TRY(
        quant_place_bind(&at, sf, blocks == 0 ? 0 : n / blocks, blocks, why));
    memset(mxo_tensor_data(scale), 0, (size_t)scale->n_bytes);
    for (uint64_t b = 0; b < n; b++) {
        const uint64_t row = b / blocks;

        for (uint64_t i = 0; i < size; i++) {
            x[i] = quant_load(in, b * size + i);
        }
        const uint8_t byte = mxo_quant_nvfp4(&rule, global_of(call, row), codes,
                                             x, (size_t)size);

        mxo_store(scale, quant_place_at(&at, row, b % blocks), byte);
        for (uint64_t i = 0; i < size; i++) {
            mxo_store_nibble(q, b * size + i, codes[i]);
        }
    }
    return MXO_OK;
}
