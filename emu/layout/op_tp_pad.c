/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.tp_pad: how TensorRT-LLM pads a dimension before it cuts it into
 * tensor-parallel shards of MXFP4.
 */
#include "../call.h"

mxo_status infer_layout_tp_pad(const mxo_call *call, mxo_tensor *out_tensor,
                               uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *dim = mxo_call_in(call, "dim");
    const mxo_tensor *tp = mxo_call_in(call, "tp");
    const uint64_t shape[2] = {mxo_tensor_elems(dim), mxo_tensor_elems(tp)};
    const int64_t block = mxo_call_int(call, "block");
    const int64_t align = mxo_call_int(call, "align");

    if (dim->rank != 1 || tp->rank != 1) {
        return mxo_fail(MXO_E_SHAPE, why, "%s: dim and tp have one axis",
                        call->op);
    }
    if (block < 1 || align < 1 || block > 65536 || align > 65536) {
        return mxo_fail(MXO_E_PARAM, why, "%s: block and align are 1 to 65536",
                        call->op);
    }
    mxo_out(out_tensor, 0, "alignment", MXO_I64, 2, shape);
    mxo_out(out_tensor, 1, "per_rank", MXO_I64, 2, shape);
    *n_out = 2;
    return MXO_OK;
}

static int64_t up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t m = a;

    while (m % b != 0) {
        m += a;
    }
    return m;
}

mxo_status run_layout_tp_pad(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *dims = mxo_call_in(call, "dim");
    const mxo_tensor *tps = mxo_call_in(call, "tp");
    const uint64_t n = mxo_tensor_elems(tps);
    const int64_t align = mxo_call_int(call, "align");
    const int64_t block = mxo_call_int(call, "block");
    const int64_t most = (int64_t)1 << 31;

    for (int pass = 0; pass < 2; pass++) {
        for (uint64_t i = 0; i < mxo_tensor_elems(dims) * n; i++) {
            const int64_t dim = (int64_t)mxo_load(dims, i / n);
            const int64_t tp = (int64_t)mxo_load(tps, i % n);
            if (dim < 0 || dim > most || tp < 1 || tp > 65536) {
                return mxo_fail(MXO_E_PARAM, why,
                                "%s: dim=%lld, tp=%lld is out of range",
                                call->op, (long long)dim, (long long)tp);
            }
            int64_t a = common_multiple(common_multiple(align, block), tp);
            const int64_t part = up(dim, a) / tp;
            a = part % align == 0 ? a : up(part, align) * tp;
            if (pass == 1) {
                mxo_store(mxo_call_out(call, "alignment"), i, (uint64_t)a);
                mxo_store(mxo_call_out(call, "per_rank"), i,
                          (uint64_t)(up(dim, a) / tp));
            }
        }
    }
    return MXO_OK;
}
