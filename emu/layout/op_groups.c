/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.groups: which group owns each row of a buffer whose groups start at
 * multiples of an alignment, and where each group ends.
 */
#include "groups.h"

static mxo_status plan(const mxo_call *call, groups *g, mxo_text why)
{
    const mxo_tensor *sizes = mxo_call_in(call, "sizes");
    const groups plain = {GROUPS_COMPACT,
                          sizes,
                          0,
                          1,
                          mxo_call_int(call, "align"),
                          INT64_MAX,
                          mxo_call_int(call, "total")};

    *g = plain;
    return g->align < 1 || g->align > INT32_MAX || g->to_rows < 0 ||
                   g->to_rows > INT32_MAX
               ? mxo_fail(MXO_E_PARAM, why,
                          "layout.groups: align=%lld, total=%lld",
                          (long long)g->align, (long long)g->to_rows)
               : MXO_OK;
}

mxo_status infer_layout_groups(const mxo_call *call, mxo_tensor *out_tensor,
                               uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *sizes = mxo_call_in(call, "sizes");
    groups g;

    MXO_TRY(mxo_call_expect(call, "sizes", 1, sizes->shape, why));
    MXO_TRY(plan(call, &g, why));
    const uint64_t total[1] = {(uint64_t)g.to_rows};

    mxo_out(out_tensor, 0, "index", MXO_I32, 1, total);
    mxo_out(out_tensor, 1, "ends", MXO_I32, 1, sizes->shape);
    *n_out = 2;
    return MXO_OK;
}

mxo_status run_layout_groups(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *index = mxo_call_out(call, "index");
    const mxo_tensor *ends = mxo_call_out(call, "ends");
    groups_range r = {0, 0, 0};
    groups g;

    MXO_TRY(plan(call, &g, why));
    MXO_TRY(groups_check(&g, why));
    for (int64_t i = 0; i < g.to_rows; i++) {
        mxo_store(index, (uint64_t)i, UINT32_MAX); /* -1: padding */
    }
    for (uint64_t i = 0; i < mxo_tensor_elems(ends); i++) {
        r = groups_next(&g, i, r);
        for (int64_t k = 0; k < r.n; k++) {
            mxo_store(index, (uint64_t)(r.dst + k), i);
        }
        mxo_store(ends, i, (uint64_t)(r.dst + r.n));
    }
    return MXO_OK;
}
