/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.grouped: rows of groups moved to aligned starts, zeros between them,
 * then a layout of layouts.def.  The buffer between the two steps does not
 * exist: an index is carried back through both.
 */
#include "groups.h"
#include "step.h"

typedef struct grouped {
    groups g;
    layout_step s;
    uint64_t cols;
} grouped;

static const char *const rule_names[] = {"compact", "in_place", "repeat"};

/* Rows of a buffer that holds any sizes: the vendors' bound. */
static int64_t bound(int64_t rows, int64_t n, int64_t align)
{
    return align *
           (rows <= n ? rows : groups_up(rows - n + 1, align) / align + n - 1);
}

static mxo_status read_params(const mxo_call *call, groups *g, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const int64_t limit = (int64_t)1 << 31;

    g->rule = (groups_rule)mxo_call_choice(call, "rule", rule_names, 3);
    g->list = mxo_call_in(call, "groups");
    g->ends_align = mxo_call_int(call, "ends_align");
    g->gran = mxo_call_int(call, "gran");
    g->align = mxo_call_int(call, "align");
    g->to_rows = mxo_call_int(call, "blocks");
    g->rows = (int64_t)x->shape[1];
    if (g->gran < 1 || g->align < 1 || g->ends_align < 0 || g->to_rows < 0 ||
        g->gran >= limit || g->align >= limit || g->ends_align >= limit ||
        g->to_rows >= limit || g->rows >= limit) {
        return mxo_fail(MXO_E_PARAM, why,
                        "layout.grouped: gran and align are 1 or more, "
                        "ends_align and blocks 0 or more, all below 2^31");
    }
    g->to_rows *= g->align;
    if (g->rule == GROUPS_IN_PLACE && (g->ends_align == 0 || g->gran != 1)) {
        return mxo_fail(MXO_E_PARAM, why,
                        "layout.grouped: rule=in_place needs ends_align, and "
                        "gran=1");
    }
    return MXO_OK;
}

/* The buffer's rows, from the parameters or from the rule. */
static mxo_status size_buffer(const mxo_call *call, groups *g, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const int64_t n =
        g->rule == GROUPS_REPEAT ? 0 : (int64_t)mxo_tensor_elems(g->list);

    if (g->rule != GROUPS_REPEAT && x->shape[0] != 1) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "layout.grouped: groups are rows of one matrix, not "
                        "of %llu",
                        (unsigned long long)x->shape[0]);
    }
    if (g->to_rows == 0) {
        g->to_rows = g->rule == GROUPS_COMPACT  ? bound(g->rows, n, g->align)
                     : g->rule == GROUPS_REPEAT ? g->rows * g->gran
                                                : g->rows;
    }
    if (g->rule == GROUPS_REPEAT &&
        (g->to_rows + g->gran - 1) / g->gran != g->rows) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "layout.grouped: %lld rows, %lld of them alike, take "
                        "another number of input rows than %lld",
                        (long long)g->to_rows, (long long)g->gran,
                        (long long)g->rows);
    }
    return MXO_OK;
}

static mxo_status plan(const mxo_call *call, grouped *p, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");

    MXO_TRY(read_params(call, &p->g, why));
    MXO_TRY(size_buffer(call, &p->g, why));
    const uint64_t extent[3] = {x->shape[0], (uint64_t)p->g.to_rows,
                                x->shape[2]};
    p->cols = x->shape[2];
    MXO_TRY(layout_step_bind(&p->s, mxo_call_text(call, "layout"), x->dtype,
                             extent, why));
    return p->s.map.units != 1
               ? mxo_fail(MXO_E_PARAM, why,
                          "layout.grouped: layout %s splits bytes",
                          p->s.map.row->id)
               : MXO_OK;
}

mxo_status infer_layout_grouped(const mxo_call *call, mxo_tensor *out_tensor,
                                uint32_t *n_out, mxo_text why)
{
    grouped p;

    MXO_TRY(mxo_call_expect(call, "x", 3, mxo_call_in(call, "x")->shape, why));
    MXO_TRY(plan(call, &p, why));
    mxo_out(out_tensor, 0, "y", p.s.to, p.s.map.rank, p.s.map.shape);
    mxo_out(out_tensor, 1, "valid", MXO_U8, p.s.map.rank, p.s.map.shape);
    *n_out = 2;
    return MXO_OK;
}

/* Code of element i of the buffer between the steps; 0 if it is refused. */
static int buffer_code(const grouped *p, const mxo_tensor *x, uint64_t i,
                       uint64_t *code)
{
    const uint64_t to_rows = (uint64_t)p->g.to_rows;
    const uint64_t row = i / p->cols;
    const int64_t src = groups_source(&p->g, (int64_t)(row % to_rows));
    const uint64_t first = row / to_rows * (uint64_t)p->g.rows;

    *code = src < 0
                ? 0
                : mxo_load(x, (first + (uint64_t)src) * p->cols + i % p->cols);
    return p->s.values->there(code);
}

static mxo_status check_values(const grouped *p, const mxo_tensor *x,
                               mxo_text why)
{
    const uint64_t n = x->shape[0] * (uint64_t)p->g.to_rows * p->cols;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t code;
        if (!buffer_code(p, x, i, &code)) {
            return mxo_fail(MXO_E_PARAM, why,
                            "layout %s: column %llu of row %llu of the buffer "
                            "has no value there",
                            p->s.map.row->id, (unsigned long long)(i % p->cols),
                            (unsigned long long)(i / p->cols));
        }
    }
    return MXO_OK;
}

/* The pad byte in every byte of an element. */
static uint64_t pad_code(const grouped *p, uint8_t byte)
{
    uint64_t code = 0;

    for (uint32_t i = 0; i < mxo_dtype_bytes(p->s.to); i++) {
        code = code << 8 | byte;
    }
    return code;
}

mxo_status run_layout_grouped(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const mxo_tensor *y = mxo_call_out(call, "y");
    const mxo_tensor *valid = mxo_call_out(call, "valid");
    grouped p;

    MXO_TRY(plan(call, &p, why));
    MXO_TRY(groups_check(&p.g, why));
    MXO_TRY(check_values(&p, x, why));
    for (uint64_t dst = 0; dst < p.s.map.n_units; dst++) {
        uint64_t src = 0;
        uint8_t byte = 0;
        const mxo_layout_content content =
            mxo_layout_content_at(&p.s.map, dst, &src, &byte);
        uint64_t code = pad_code(&p, byte);

        if (content == MXO_LAYOUT_LIVE) {
            (void)buffer_code(&p, x, src, &code);
        }
        mxo_store(y, dst, code);
        mxo_store(valid, dst, content != MXO_LAYOUT_UNDEFINED);
    }
    return MXO_OK;
}
