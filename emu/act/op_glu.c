/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.glu: the gated unit over a tensor, in every layout and order, with
 * constants for all rows or per expert.  docs/ops/act.glu.md
 */
#include "op.h"

#include "../bounds/glu_span.h"

#include <mxoracle/quant.h>

static mxo_status view_of(mxo_glu_view *v, const mxo_call *call, mxo_text why)
{
    if (mxo_call_is(call, "layout", "split")) {
        return mxo_glu_view_split(v, call, why);
    }
    const int interleaved = mxo_call_is(call, "layout", "interleaved");
    const int gate_first = mxo_call_is(call, "order", "gate_up");

    return mxo_glu_view_joint(v, call, interleaved, gate_first, why);
}

static uint64_t out_rows(const mxo_glu_view *v, const mxo_call *call)
{
    return mxo_call_int(call, "gather") ? mxo_call_in(call, "row")->shape[0]
                                        : v->rows;
}

static mxo_status check_vector(const mxo_call *call, const char *name,
                               uint64_t len, mxo_text why)
{
    const mxo_tensor *t = mxo_call_in(call, name);

    if (t->rank != 1 || (len != 0 && t->shape[0] != len)) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "act.glu: %s is not one vector of the right length",
                        name);
    }
    return MXO_OK;
}

/* Shapes of the tensors that choose rows and constants. */
static mxo_status check_choosers(const mxo_call *call, mxo_text why)
{
    if (mxo_call_int(call, "tile") < 1) {
        return mxo_fail(MXO_E_PARAM, why, "act.glu: tile is at least 1");
    }
    if (mxo_call_int(call, "gather")) {
        MXO_TRY(check_vector(call, "row", 0, why));
    }
    if (mxo_call_is(call, "per_expert", "none")) {
        return MXO_OK;
    }
    MXO_TRY(check_vector(call, "expert", 0, why));
    MXO_TRY(check_vector(call, "limit", 0, why));
    if (mxo_call_is(call, "per_expert", "limit")) {
        return MXO_OK;
    }
    const uint64_t experts = mxo_call_in(call, "limit")->shape[0];

    MXO_TRY(check_vector(call, "alpha", experts, why));
    return check_vector(call, "beta", experts, why);
}

/* SiTU's beta of ups; 0: none. */
static mxo_real linear_of(const mxo_call *call)
{
    const mxo_real none = {0, 0, MXO_CLASS_ZERO, 0, 0};

    return mxo_call_is(call, "linear_beta", "none")
               ? none
               : mxo_act_param(call, "linear_beta");
}

/* The unit that the parameters alone describe. */
static mxo_glu unit_of(const mxo_call *call)
{
    static const char *const nan[] = {"dialect", "launder", "launder_low",
                                      "propagate"};
    int dialect = 0;

    while (
        !mxo_call_is(call, "dialect", mxo_glu_name((mxo_glu_dialect)dialect))) {
        dialect++;
    }
    const mxo_glu unit = {
        (mxo_glu_dialect)dialect,
        (mxo_glu_nan)mxo_call_choice(call, "nan", nan, 4),
        mxo_call_format(call, "from"),
        mxo_call_format(call, "to"),
        mxo_act_param(call, "alpha"),
        mxo_act_param(call, "beta"),
        mxo_act_param(call, "limit"),
        linear_of(call),
        mxo_act_param(call, "scale_gate"),
        !mxo_call_is(call, "limit", "none"),
    };

    return unit;
}

static mxo_status check_bounds(const mxo_glu *unit, mxo_text why)
{
    if (!mxo_glu_is_open(unit) || unit->from == MXO_FMT_F64 ||
        unit->to == MXO_FMT_F64) {
        return mxo_fail(MXO_E_PARAM, why,
                        "act.glu: every bit is declared: bounds=1 has nothing "
                        "to leave open");
    }
    return MXO_OK;
}

mxo_status infer_act_glu(const mxo_call *call, mxo_tensor *out_tensor,
                         uint32_t *n_out, mxo_text why)
{
    const char *to = mxo_call_text(call, "to");
    const mxo_glu unit = unit_of(call);
    mxo_glu_view v = {0};

    MXO_TRY(view_of(&v, call, why));
    MXO_TRY(check_choosers(call, why));
    const char *sentence = mxo_glu_check(&unit);

    if (sentence != NULL) {
        return mxo_fail(MXO_E_PARAM, why, "act.glu: %s", sentence);
    }
    const uint64_t shape[2] = {out_rows(&v, call), v.cols};
    const uint32_t dtype = mxo_dtype_by_name(to, strlen(to));

    if (mxo_call_int(call, "bounds")) {
        mxo_out(out_tensor, 0, "y_lo", dtype, 2, shape);
        mxo_out(out_tensor, 1, "y_hi", dtype, 2, shape);
        *n_out = 2;
        return check_bounds(&unit, why);
    }
    mxo_out(out_tensor, 0, "y", dtype, 2, shape);
    *n_out = 1;
    return MXO_OK;
}

/* Element i of an index vector, if it is below bound. */
static mxo_status index_at(const mxo_call *call, const char *name, uint64_t i,
                           uint64_t bound, uint64_t *index, mxo_text why)
{
    const mxo_tensor *t = mxo_call_in(call, name);

    if (i >= t->shape[0]) {
        return mxo_fail(MXO_E_SHAPE, why, "act.glu: %s has no element %llu",
                        name, (unsigned long long)i);
    }
    *index = mxo_load(t, i);
    if (*index >= bound) { /* a negative index is huge */
        return mxo_fail(MXO_E_PARAM, why, "act.glu: %s[%llu] is not below %llu",
                        name, (unsigned long long)i, (unsigned long long)bound);
    }
    return MXO_OK;
}

/* The row of the input behind output row i, and the constants for it. */
static mxo_status row_unit(const mxo_call *call, const mxo_glu_view *v,
                           uint64_t i, uint64_t *row, mxo_glu *unit,
                           mxo_text why)
{
    mxo_status status = MXO_OK;
    uint64_t expert = 0;

    *row = i;
    if (mxo_call_int(call, "gather")) {
        status = index_at(call, "row", i, v->rows, row, why);
    }
    if (status != MXO_OK || mxo_call_is(call, "per_expert", "none")) {
        return status;
    }
    const mxo_tensor *limit = mxo_call_in(call, "limit");
    const uint64_t tile = (uint64_t)mxo_call_int(call, "tile");

    status =
        index_at(call, "expert", *row / tile, limit->shape[0], &expert, why);
    if (status != MXO_OK) {
        return status;
    }
    unit->limit = mxo_format_decode(MXO_FMT_F32, mxo_load(limit, expert));
    unit->has_limit = 1;
    if (mxo_call_is(call, "per_expert", "all")) {
        unit->alpha = mxo_format_decode(
            MXO_FMT_F32, mxo_load(mxo_call_in(call, "alpha"), expert));
        unit->beta = mxo_format_decode(
            MXO_FMT_F32, mxo_load(mxo_call_in(call, "beta"), expert));
    }
    const char *sentence = mxo_glu_check(unit);

    return sentence == NULL
               ? MXO_OK
               : mxo_fail(MXO_E_PARAM, why, "act.glu: expert %llu: %s",
                          (unsigned long long)expert, sentence);
}

/* A code as binary32, and back. */
static uint32_t widened(mxo_format format, uint64_t code)
{
    return mxo_quant_widen(format, code);
}

static uint64_t narrowed(mxo_format format, uint32_t x)
{
    return format == MXO_FMT_F32
               ? x
               : mxo_format_round(format, mxo_format_decode(MXO_FMT_F32, x));
}

static void run_bounds(const mxo_glu *unit, const mxo_glu_view *v, uint64_t row,
                       const mxo_call *call, uint64_t i)
{
    for (uint64_t c = 0; c < v->cols; c++) {
        const uint64_t at = row * v->pitch + c * v->step;
        const uint32_t gate =
            widened(unit->from, mxo_load(v->gate, at + v->gate_at));
        const uint32_t up = widened(unit->from, mxo_load(v->up, at + v->up_at));
        const mxo_span y =
            mxo_glu_span(unit, (mxo_span){gate, gate}, (mxo_span){up, up});

        mxo_store(mxo_call_out(call, "y_lo"), i * v->cols + c,
                  narrowed(unit->to, y.lo));
        mxo_store(mxo_call_out(call, "y_hi"), i * v->cols + c,
                  narrowed(unit->to, y.hi));
    }
}

static void run_row(const mxo_glu *unit, const mxo_glu_view *v, uint64_t row,
                    const mxo_tensor *y, uint64_t i)
{
    for (uint64_t c = 0; c < v->cols; c++) {
        const uint64_t at = row * v->pitch + c * v->step;
        const uint64_t gate = mxo_load(v->gate, at + v->gate_at);
        const uint64_t up = mxo_load(v->up, at + v->up_at);

        mxo_store(y, i * v->cols + c, mxo_act_glu(unit, gate, up));
    }
}

mxo_status run_act_glu(const mxo_call *call, mxo_text why)
{
    const int bounds = mxo_call_int(call, "bounds") != 0;
    const mxo_tensor *y = mxo_call_out(call, bounds ? "y_lo" : "y");
    mxo_glu unit = unit_of(call);
    mxo_glu_view v = {0};
    uint64_t row = 0;

    MXO_TRY(view_of(&v, call, why));
    /* All rows are looked at before the first is written. */
    for (uint64_t i = 0; i < y->shape[0]; i++) {
        MXO_TRY(row_unit(call, &v, i, &row, &unit, why));
    }
    for (uint64_t i = 0; i < y->shape[0]; i++) {
        MXO_TRY(row_unit(call, &v, i, &row, &unit, why));
        if (bounds) {
            run_bounds(&unit, &v, row, call, i);
        } else {
            run_row(&unit, &v, row, y, i);
        }
    }
    return MXO_OK;
}
