/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.index: where an index goes, at any size, with nothing allocated.
 * Indices count units: whole elements, nibbles or bits.
 */
#include "step.h"

enum { BEYOND = -1, PAD = -2, UNDEFINED = -3, N_SIZES = 6 };

static mxo_status bind(const mxo_call *call, mxo_layout *l, mxo_text why)
{
    static const char *const keys[] = {"experts", "rows", "cols"};
    const char *name = mxo_call_text(call, "layout");
    const mxo_layout_row *row = layout_step_row(name, why);
    const int64_t elem_bytes = mxo_call_int(call, "elem_bytes");
    uint64_t extent[3];

    for (int axis = 0; axis < 3; axis++) {
        const int64_t n = mxo_call_int(call, keys[axis]);
        if (n < 0) {
            return mxo_fail(MXO_E_PARAM, why, "layout.index: %s=%lld",
                            keys[axis], (long long)n);
        }
        extent[axis] = (uint64_t)n;
    }
    if (elem_bytes < 1 || elem_bytes > 8) {
        return mxo_fail(MXO_E_PARAM, why, "layout.index: elem_bytes=%lld",
                        (long long)elem_bytes);
    }
    return row == NULL ? MXO_E_PARAM
                       : mxo_layout_bind(l, row, name, (uint32_t)elem_bytes,
                                         extent, why);
}

mxo_status infer_layout_index(const mxo_call *call, mxo_tensor *out_tensor,
                              uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *at = mxo_call_in(call, "at");
    const uint64_t sizes[1] = {N_SIZES};
    mxo_layout l;

    MXO_TRY(bind(call, &l, why));
    mxo_out(out_tensor, 0, "to", MXO_I64, at->rank, at->shape);
    mxo_out(out_tensor, 1, "sizes", MXO_I64, 1, sizes);
    *n_out = 2;
    return MXO_OK;
}

static int64_t forward(const mxo_layout *l, uint64_t n, int64_t at)
{
    return at < 0 || (uint64_t)at >= n
               ? BEYOND
               : (int64_t)mxo_layout_forward(
                     l, mxo_layout_padded_index(l, (uint64_t)at));
}

static int64_t inverse(const mxo_layout *l, int64_t at)
{
    uint64_t src = 0;
    uint8_t byte;

    if (at < 0 || (uint64_t)at >= l->n_units) {
        return BEYOND;
    }
    switch (mxo_layout_content_at(l, (uint64_t)at, &src, &byte)) {
    case MXO_LAYOUT_LIVE:
        return (int64_t)src;
    case MXO_LAYOUT_PAD:
        return PAD;
    default:
        return UNDEFINED;
    }
}

mxo_status run_layout_index(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *at = mxo_call_in(call, "at");
    const mxo_tensor *to = mxo_call_out(call, "to");
    const mxo_tensor *sizes = mxo_call_out(call, "sizes");
    const int is_forward = mxo_call_is(call, "dir", "forward");
    mxo_layout l;

    MXO_TRY(bind(call, &l, why));
    const uint64_t n = l.extent[0] * l.extent[1] * l.extent[2] * l.units;
    const uint64_t facts[N_SIZES] = {l.units,     n,           l.n_units,
                                     l.padded[0], l.padded[1], l.padded[2]};

    for (uint64_t i = 0; i < N_SIZES; i++) {
        mxo_store(sizes, i, facts[i]);
    }
    for (uint64_t i = 0; i < mxo_tensor_elems(at); i++) {
        const int64_t index = (int64_t)mxo_load(at, i);
        mxo_store(to, i,
                  (uint64_t)(is_forward ? forward(&l, n, index)
                                        : inverse(&l, index)));
    }
    return MXO_OK;
}
