/* SPDX-License-Identifier: Apache-2.0 */
/* dequant.group: elements times the binary32 scale of their rectangle. */
#include "../call.h"

#include <mxoracle/dequant.h>

/* The last two axes, cut into rectangles. */
typedef struct grid {
    uint64_t rows;
    uint64_t cols;
    uint64_t group_rows;
    uint64_t group_cols;
    uint64_t scale_rows;
    uint64_t scale_cols;
} grid;

/* Size 0 stands for the whole axis. */
static uint64_t group_size(int64_t size, uint64_t axis)
{
    return size > 0 ? (uint64_t)size : axis > 0 ? axis : 1;
}

static uint64_t count(uint64_t axis, uint64_t group)
{
    return axis / group + (axis % group != 0);
}

static grid read_grid(const mxo_call *call, const mxo_tensor *y)
{
    grid g;

    g.rows = y->shape[y->rank - 2];
    g.cols = y->shape[y->rank - 1];
    g.group_rows = group_size(mxo_call_int(call, "group_rows"), g.rows);
    g.group_cols = group_size(mxo_call_int(call, "group_cols"), g.cols);
    g.scale_rows = count(g.rows, g.group_rows);
    g.scale_cols = count(g.cols, g.group_cols);
    return g;
}

static int scale_fits(const mxo_tensor *scale, const mxo_tensor *y, grid g)
{
    int fits = scale->rank == y->rank;

    for (uint32_t i = 0; fits && i + 2 < y->rank; i++) {
        fits = scale->shape[i] == y->shape[i];
    }
    return fits && scale->shape[y->rank - 2] == g.scale_rows &&
           scale->shape[y->rank - 1] == g.scale_cols;
}

mxo_status infer_dequant_group(const mxo_call *call, mxo_tensor *out_tensor,
                               uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *q = mxo_call_in(call, "q");
    mxo_tensor *y = &out_tensor[0];

    if (q->rank < 2) {
        return mxo_fail(MXO_E_SHAPE, why, "dequant.group: q needs two axes");
    }
    if (mxo_call_int(call, "group_rows") < 0 ||
        mxo_call_int(call, "group_cols") < 0) {
        return mxo_fail(MXO_E_PARAM, why,
                        "dequant.group: a group size is negative");
    }
    (void)mxo_infer_like(call, "q", out_tensor, n_out, "y",
                         mxo_call_dtype(call, "to"));
    if (mxo_call_is(call, "element", "e2m1")) {
        y->shape[q->rank - 1] *= 2;
        y->n_bytes *= 2;
    }
    if (!scale_fits(mxo_call_in(call, "scale"), y, read_grid(call, y))) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "dequant.group: scale needs one number per group");
    }
    return MXO_OK;
}

static uint64_t scale_index(grid g, uint64_t i)
{
    const uint64_t r = i / g.cols % g.rows;
    const uint64_t c = i % g.cols;

    return (i / g.cols / g.rows * g.scale_rows + r / g.group_rows) *
               g.scale_cols +
           c / g.group_cols;
}

mxo_status run_dequant_group(const mxo_call *call, mxo_text why)
{
    const mxo_format element = mxo_call_format(call, "element");
    const mxo_format to = mxo_call_format(call, "to");
    const mxo_tensor *q = mxo_call_in(call, "q");
    const mxo_tensor *scale = mxo_call_in(call, "scale");
    const mxo_tensor *y = mxo_call_out(call, "y");
    const int positive = mxo_call_is(call, "zero", "positive");
    const grid g = read_grid(call, y);
    const uint64_t n = mxo_tensor_elems(y);

    (void)why;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t c = element == MXO_FMT_E2M1
                         ? mxo_load_nibble(mxo_tensor_data(q), i)
                         : mxo_load(q, i);
        if (positive && mxo_format_classify(element, c) == MXO_CODE_ZERO) {
            c = 0;
        }
        const uint32_t s = (uint32_t)mxo_load(scale, scale_index(g, i));
        mxo_store(y, i, mxo_dequant_group(element, to, c, s));
    }
    return MXO_OK;
}
