/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.requant: E2M1 codes divided by a power of two and rounded again.
 *
 * Humming folds block scales that are too far below the largest one of an
 * expert into the codes; the arithmetic is one small table.
 */
#include "quant.h"

uint8_t mxo_quant_requant(uint8_t code, uint8_t offset)
{
    const mxo_rounding away = {MXO_TIE_RNA, 1, 0, 0};

    if (code == 8) {
        return 0; /* -0 is dropped, whatever the offset */
    }
    return (uint8_t)mxo_format_encode(
        MXO_FMT_E2M1,
        mxo_real_scale(mxo_format_decode(MXO_FMT_E2M1, code), -offset), away);
}

mxo_status infer_quant_requant(const mxo_call *call, mxo_tensor *out_tensor,
                               uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *q = mxo_call_in(call, "q");
    const uint64_t blocks = mxo_tensor_elems(mxo_call_in(call, "offset"));

    if (q->n_bytes != blocks * (MXO_MX_BLOCK / 2)) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: %llu offsets do not fit %llu codes, 32 each",
                        call->op, (unsigned long long)blocks,
                        (unsigned long long)q->n_bytes * 2);
    }
    mxo_out(out_tensor, 0, "y", q->dtype, q->rank, q->shape);
    *n_out = 1;
    return MXO_OK;
}

/* Every nibble of one stored element, lowest bits first. */
static uint64_t requant_word(uint64_t word, unsigned nibbles, uint8_t offset)
{
    uint64_t y = 0;

    for (unsigned j = 0; j < nibbles; j++) {
        const uint8_t code = (uint8_t)(word >> (4 * j) & 0xf);

        y |= (uint64_t)mxo_quant_requant(code, offset) << (4 * j);
    }
    return y;
}

mxo_status run_quant_requant(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *q = mxo_call_in(call, "q");
    const mxo_tensor *offset = mxo_call_in(call, "offset");
    const mxo_tensor *y = mxo_call_out(call, "y");
    const unsigned nibbles = 2 * mxo_dtype_bytes(q->dtype);
    const uint64_t n = mxo_tensor_elems(q);

    (void)why;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t block = i * nibbles / MXO_MX_BLOCK;

        mxo_store(y, i,
                  requant_word(mxo_load(q, i), nibbles,
                               (uint8_t)mxo_load(offset, block)));
    }
    return MXO_OK;
}
