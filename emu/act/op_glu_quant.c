/* SPDX-License-Identifier: Apache-2.0 */
/*
 * act.glu_quant: the gated unit and the FP8 quantiser behind it, as one
 * operation, because kernels fuse them.  docs/ops/act.glu_quant.md
 */
#include "op.h"

typedef enum form { FORM_F32, FORM_E8M0, FORM_PACKED, FORM_PACKED_MN } form;

typedef struct plan {
    mxo_glu_quant unit;
    mxo_glu_view v;
    form scale_form;
    uint64_t group;
    uint64_t n_groups; /* per row */
} plan;

static mxo_status check_plan(const plan *p, int64_t group, mxo_text why)
{
    if (group < 1 || p->v.cols % (uint64_t)group != 0) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "act.glu_quant: %llu columns are not whole groups of "
                        "%lld",
                        (unsigned long long)p->v.cols, (long long)group);
    }
    if (!p->unit.pow2 && (p->scale_form != FORM_F32 ||
                          p->unit.dialect != MXO_GLUQ_VLLM_COLMAJOR)) {
        return mxo_fail(MXO_E_PARAM, why,
                        "act.glu_quant: pow2=0 is for dialect=vllm_colmajor "
                        "with scale=f32");
    }
    if (p->unit.limit.cls == MXO_CLASS_NAN ||
        (p->unit.limit.neg && p->unit.limit.cls != MXO_CLASS_ZERO)) {
        return mxo_fail(MXO_E_PARAM, why,
                        "act.glu_quant: a limit is not negative");
    }
    return MXO_OK;
}

static mxo_status make_plan(plan *p, const mxo_call *call, mxo_text why)
{
    static const char *const forms[] = {"f32", "e8m0", "packed", "packed_mn"};
    const int64_t group = mxo_call_int(call, "group");
    int dialect = 0;

    while (!mxo_call_is(call, "dialect",
                        mxo_glu_quant_name((mxo_glu_quant_dialect)dialect))) {
        dialect++;
    }
    p->unit.dialect = (mxo_glu_quant_dialect)dialect;
    p->unit.from = mxo_call_format(call, "from");
    p->unit.limit = mxo_act_param(call, "limit");
    p->unit.pow2 = mxo_call_int(call, "pow2") != 0;
    p->scale_form = (form)mxo_call_choice(call, "scale", forms, 4);
    MXO_TRY(dialect == MXO_GLUQ_DEEPGEMM_MEGA
                ? mxo_glu_view_split(&p->v, call, why)
                : mxo_glu_view_joint(&p->v, call, 0, 1, why));
    MXO_TRY(check_plan(p, group, why));
    if (dialect == MXO_GLUQ_DEEPGEMM_MEGA) {
        const mxo_tensor *w = mxo_call_in(call, "topk_weight");
        if (w->rank != 1 || w->shape[0] != p->v.rows) {
            return mxo_fail(MXO_E_SHAPE, why,
                            "act.glu_quant: topk_weight has one number per "
                            "row");
        }
    }
    p->group = (uint64_t)group;
    p->n_groups = p->v.cols / p->group;
    return MXO_OK;
}

mxo_status infer_act_glu_quant(const mxo_call *call, mxo_tensor *out_tensor,
                               uint32_t *n_out, mxo_text why)
{
    static const uint32_t y_dtype[] = {[MXO_FMT_BF16] = MXO_BF16,
                                       [MXO_FMT_F32] = MXO_F32,
                                       [MXO_FMT_F64] = MXO_F64};
    static const uint32_t scale_dtype[] = {MXO_F32, MXO_E8M0, MXO_I32, MXO_I32};
    plan p = {0};

    MXO_TRY(make_plan(&p, call, why));
    const uint64_t shape[2] = {p.v.rows, p.v.cols};
    const uint64_t words = (p.n_groups + 3) / 4;
    uint64_t scale[2] = {p.v.rows, p.n_groups};

    if (p.scale_form == FORM_PACKED) {
        scale[1] = words;
    } else if (p.scale_form == FORM_PACKED_MN) {
        scale[0] = words;
        scale[1] = (p.v.rows + 3) / 4 * 4;
    }
    mxo_out(out_tensor, 0, "q", MXO_E4M3, 2, shape);
    mxo_out(out_tensor, 1, "scale", scale_dtype[p.scale_form], 2, scale);
    mxo_out(out_tensor, 2, "y", y_dtype[mxo_glu_quant_y_format(&p.unit)], 2,
            shape);
    *n_out = 3;
    return MXO_OK;
}

/* Group g of row r: y, its scale, q. */
static uint32_t run_group(const plan *p, const mxo_call *call, uint64_t r,
                          uint64_t g)
{
    const mxo_tensor *y = mxo_call_out(call, "y");
    const mxo_tensor *q = mxo_call_out(call, "q");
    const mxo_tensor *weights = mxo_call_in(call, "topk_weight");
    const uint32_t weight = p->unit.dialect == MXO_GLUQ_DEEPGEMM_MEGA
                                ? (uint32_t)mxo_load(weights, r)
                                : 0;
    uint32_t amax = 0;

    for (uint64_t c = g * p->group; c < (g + 1) * p->group; c++) {
        const uint64_t at = r * p->v.pitch + c * p->v.step;
        const uint64_t code =
            mxo_glu_quant_y(&p->unit, mxo_load(p->v.gate, at + p->v.gate_at),
                            mxo_load(p->v.up, at + p->v.up_at), weight);
        mxo_store(y, r * p->v.cols + c, code);
        amax = mxo_glu_quant_amax(&p->unit, amax, code);
    }
    const uint32_t scale = mxo_glu_quant_scale(&p->unit, amax);

    for (uint64_t c = g * p->group; c < (g + 1) * p->group; c++) {
        const uint64_t at = r * p->v.cols + c;
        mxo_store(q, at, mxo_glu_quant_code(&p->unit, mxo_load(y, at), scale));
    }
    return scale;
}

/* Scales of a row, as words of four bytes; what is missing is zero. */
static void store_words(const plan *p, const mxo_tensor *t, uint64_t r,
                        uint64_t word, uint32_t bytes)
{
    const uint64_t at = p->scale_form == FORM_PACKED ? r * t->shape[1] + word
                                                     : word * t->shape[1] + r;

    mxo_store(t, at, bytes);
}

static void run_row(const plan *p, const mxo_call *call, uint64_t r)
{
    const mxo_tensor *t = mxo_call_out(call, "scale");
    uint32_t bytes = 0;

    for (uint64_t g = 0; g < p->n_groups; g++) {
        const uint32_t scale = run_group(p, call, r, g);
        const uint8_t byte = mxo_glu_quant_scale_byte(scale);

        bytes |= (uint32_t)byte << 8 * (g % 4);
        if (p->scale_form == FORM_F32 || p->scale_form == FORM_E8M0) {
            mxo_store(t, r * p->n_groups + g,
                      p->scale_form == FORM_F32 ? scale : byte);
        } else if (g % 4 == 3 || g + 1 == p->n_groups) {
            store_words(p, t, r, g / 4, bytes);
            bytes = 0;
        }
    }
}

mxo_status run_act_glu_quant(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *scale = mxo_call_out(call, "scale");
    plan p = {0};

    MXO_TRY(make_plan(&p, call, why));
    for (uint64_t r = 0; r < p.v.rows; r++) {
        run_row(&p, call, r);
    }
    /* Rows that only fill up the last four. */
    for (uint64_t r = p.v.rows;
         p.scale_form == FORM_PACKED_MN && r < scale->shape[1]; r++) {
        for (uint64_t word = 0; word < scale->shape[0]; word++) {
            store_words(&p, scale, r, word, 0);
        }
    }
    return MXO_OK;
}
