/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.nvfp4_layer as docs/ops/moe.nvfp4_layer.md has it, one statement per
 * line of its Map, one product at a time: the definition.  Results are kept in
 * the scratch until all are known, so that a refusal leaves nothing behind.
 */
#include "nvfp4.h"

#include <string.h>

/* Rows of codes under E4M3 bytes, one per 16. */
typedef struct nvfp4_matrix {
    const uint8_t *codes;
    const uint8_t *scale;
    uint64_t k;
} nvfp4_matrix;

/* Code times block scale.  Nobody reads a scale's sign; byte 7f is NaN. */
static mxo_real operand(const nvfp4_matrix *m, uint64_t row, uint64_t i)
{
    const uint64_t at = row * m->k + i;
    const uint8_t byte = m->scale[at / LAYER_NVFP4_BLOCK] & 0x7f;

    return mxo_real_mul(
        mxo_format_decode(MXO_FMT_E2M1, mxo_load_nibble(m->codes, at)),
        mxo_format_decode(MXO_FMT_E4M3FN, byte));
}

/* A sum, and whether its order would show. */
typedef struct nvfp4_sum {
    const nvfp4_plan *p;
    mxo_dot sum;
    mxo_dot magnitudes;
    int lowest; /* place of the last bit of any product */
    uint32_t y; /* order=seq */
} nvfp4_sum;

static void add_magnitude(nvfp4_sum *s, mxo_real a, mxo_real b)
{
    mxo_real x = mxo_real_mul(a, b);

    if (x.cls != MXO_CLASS_FINITE) {
        return;
    }
    for (; x.mant % 2 == 0; x.mant /= 2) {
        x.exp++;
    }
    x.neg = 0;
    s->lowest = x.exp < s->lowest ? x.exp : s->lowest;
    mxo_dot_add(&s->magnitudes, x);
}

/* All partial sums are multiples of one unit below 2^24 of it. */
static int is_order_free(const nvfp4_sum *s)
{
    const mxo_real most = mxo_dot_value(&s->magnitudes);

    return most.cls != MXO_CLASS_FINITE || mxo_real_lg(most) - s->lowest < 24;
}

/* acc = sum of a * b over a row of each, into *y; 0 if its order shows and is
   not declared. */
static int product(const nvfp4_plan *p, const nvfp4_matrix *a, uint64_t a_row,
                   const nvfp4_matrix *b, uint64_t b_row, uint32_t *y)
{
    nvfp4_sum s = {.p = p, .lowest = INT32_MAX};

    mxo_dot_reset(&s.sum);
    mxo_dot_reset(&s.magnitudes);
    for (uint64_t i = 0; i < a->k; i++) {
        const mxo_real u = operand(a, a_row, i);
        const mxo_real v = operand(b, b_row, i);
        if (p->is_seq) {
            s.y = mxo_f32_add_real(s.y, mxo_real_mul(u, v));
        } else {
            mxo_dot_add_product(&s.sum, u, v);
        }
        if (p->is_open) {
            add_magnitude(&s, u, v);
        }
    }
    *y = p->is_seq ? s.y : (uint32_t)mxo_dot_round(&s.sum, MXO_FMT_F32);
    return !p->is_open || is_order_free(&s);
}

static nvfp4_matrix weights(const nvfp4_plan *p, const char *w,
                            const char *scale, uint64_t k)
{
    const nvfp4_matrix m = {mxo_tensor_data(mxo_call_in(p->layer.call, w)),
                            mxo_tensor_data(mxo_call_in(p->layer.call, scale)),
                            k};

    return m;
}

/* One row of k numbers of a type into codes and bytes under a global scale. */
static void quantise(const mxo_nvfp4_rule *rule, uint32_t global,
                     mxo_format from, const void *x, uint64_t row,
                     const nvfp4_matrix *to)
{
    uint8_t *codes = (uint8_t *)(uintptr_t)to->codes;
    uint8_t *scale = (uint8_t *)(uintptr_t)to->scale;
    uint32_t v[LAYER_NVFP4_BLOCK];
    uint8_t code[LAYER_NVFP4_BLOCK];

    for (uint64_t first = row * to->k; first < (row + 1) * to->k;
         first += LAYER_NVFP4_BLOCK) {
        for (uint64_t i = 0; i < LAYER_NVFP4_BLOCK; i++) {
            v[i] = layer_load(from, x, first + i);
        }
        scale[first / LAYER_NVFP4_BLOCK] =
            mxo_quant_nvfp4(rule, global, code, v, LAYER_NVFP4_BLOCK);
        for (uint64_t i = 0; i < LAYER_NVFP4_BLOCK; i++) {
            mxo_store_nibble(codes, first + i, code[i]);
        }
    }
}

/* Row of w13 that has gate (half 0) or up i. */
static uint64_t row_of(const nvfp4_plan *p, int half, uint64_t i)
{
    const mxo_call *call = p->layer.call;

    if (mxo_call_is(call, "rows", "interleaved")) {
        return 2 * i + (uint64_t)half;
    }
    return mxo_call_is(call, "rows", "up_first") == half ? i
                                                         : p->layer.inter + i;
}

/* h = acc, or acc * g1_alphas[e] -> gemm1_out. */
static int hidden(const nvfp4_plan *p, const nvfp4_matrix *a,
                  const nvfp4_matrix *w, uint64_t slot, uint64_t row,
                  uint32_t *h)
{
    const uint64_t e = (uint64_t)layer_expert(&p->layer, slot);
    const int known =
        product(p, a, slot / p->layer.topk, w, e * 2 * p->layer.inter + row, h);

    if (!p->is_raw) {
        *h = layer_round(p->layer.one.gemm_out,
                         mxo_f32_mul(*h, nvfp4_global(p, "g1_alphas", e)));
    }
    return known;
}

/* y = glu(gate(h), up(h)) -> glu_out, or h itself. */
static int first_row(const nvfp4_plan *p, const nvfp4_matrix *a,
                     const nvfp4_matrix *w, uint64_t slot, uint32_t *y)
{
    const layer_plan *l = &p->layer;
    const mxo_glu unit = nvfp4_unit_of(p, (uint64_t)layer_expert(l, slot));
    int known = 1;

    for (uint64_t i = 0; !l->has_glu && i < 2 * l->inter; i++) {
        known &= hidden(p, a, w, slot, i, &y[slot * 2 * l->inter + i]);
    }
    for (uint64_t i = 0; l->has_glu && i < l->inter; i++) {
        uint32_t gate;
        uint32_t up;
        known &= hidden(p, a, w, slot, row_of(p, 0, i), &gate);
        known &= hidden(p, a, w, slot, row_of(p, 1, i), &up);
        y[slot * l->inter + i] =
            mxo_quant_widen(unit.to, layer_act(&l->one, &unit, gate, up));
    }
    return known;
}

static int run_first(const nvfp4_plan *p, uint32_t *y)
{
    const layer_plan *l = &p->layer;
    const nvfp4_matrix a = {layer_scratch_at(l, p->q1),
                            layer_scratch_at(l, p->s1), l->hidden};
    const nvfp4_matrix w = weights(p, "w13", "w13_scale", l->hidden);
    const mxo_format from = mxo_call_format(l->call, "from");
    const void *x = mxo_tensor_data(mxo_call_in(l->call, "x"));
    int known = 1;

    for (uint64_t t = 0; t < l->tokens; t++) { /* a = quantise(x[t]) */
        quantise(&p->quant, nvfp4_global(p, "a1_gscale", 0), from, x, t, &a);
    }
    for (uint64_t i = 0; i < l->tokens * l->topk; i++) {
        known &= layer_expert(l, i) < 0 || first_row(p, &a, &w, i, y);
    }
    return known;
}

/* z = acc * g2_alphas[e] (* weight) -> row_out. */
static int second_row(const nvfp4_plan *p, const nvfp4_matrix *b,
                      const nvfp4_matrix *w, uint64_t slot, uint32_t *z)
{
    const layer_plan *l = &p->layer;
    const uint64_t e = (uint64_t)layer_expert(l, slot);
    const uint32_t alpha = nvfp4_global(p, "g2_alphas", e);
    const int weighs = layer_weighs_rows(&l->two);
    int known = 1;

    for (uint64_t c = 0; c < l->hidden; c++) {
        uint32_t acc;
        known &= product(p, b, slot, w, e * l->hidden + c, &acc);
        acc = mxo_f32_mul(acc, alpha);
        acc = weighs ? mxo_f32_mul(acc, layer_weight(l, slot)) : acc;
        z[slot * l->hidden + c] = layer_round(l->two.row_out, acc);
    }
    return known;
}

static int run_second(const nvfp4_plan *p, mxo_format from, const void *act,
                      uint32_t *z)
{
    const layer_plan *l = &p->layer;
    const nvfp4_matrix b = {layer_scratch_at(l, p->q2),
                            layer_scratch_at(l, p->s2), l->inter};
    const nvfp4_matrix w = weights(p, "w2", "w2_scale", l->inter);
    int known = 1;

    for (uint64_t i = 0; i < l->tokens * l->topk; i++) {
        const int64_t e = layer_expert(l, i);
        if (e >= 0) { /* b = quantise(y) */
            quantise(&p->requant, nvfp4_global(p, "g1_scale_c", (uint64_t)e),
                     from, act, i, &b);
            known &= second_row(p, &b, &w, i, z);
        }
    }
    return known;
}

/* y[t] = sum over j of (weight *) z -> out. */
static void combine(const nvfp4_plan *p, const uint32_t *z, uint32_t *y)
{
    const layer_plan *l = &p->layer;
    mxo_finalize_term *terms = layer_scratch_at(l, l->at.terms);
    uint64_t *slot = layer_scratch_at(l, l->at.slots);

    for (uint64_t t = 0; t < l->tokens; t++) {
        const uint32_t n = layer_token_slots(l, t, slot);
        for (uint64_t c = 0; c < l->hidden; c++) {
            for (uint32_t j = 0; j < n; j++) {
                terms[j].x = z[slot[j] * l->hidden + c];
                terms[j].weight = layer_weight(l, slot[j]);
            }
            y[t * l->hidden + c] =
                mxo_quant_widen(p->to, layer_sum(&l->two, terms, n));
        }
    }
}

/* The result as binary32 patterns; 0 if an order that is not declared shows. */
static int compute(const nvfp4_plan *p, uint32_t *y)
{
    const layer_plan *l = &p->layer;
    uint32_t *act = layer_scratch_at(l, p->act);
    uint32_t *rows = l->has_sum ? layer_scratch_at(l, l->at.rows) : y;
    const mxo_tensor *given = mxo_call_in(l->call, "act");
    int known = 1;

    memset(y, 0, (size_t)(4 * p->n_y)); /* slots without an expert here */
    if (l->has_sum) {
        memset(rows, 0, (size_t)(4 * l->tokens * l->topk * l->hidden));
    }
    if (l->has_one) {
        known &= run_first(p, l->has_two ? act : y);
    }
    if (l->has_two) {
        known &= given == NULL ? run_second(p, MXO_FMT_F32, act, rows)
                               : run_second(p, mxo_dtype_format(given->dtype),
                                            mxo_tensor_data(given), rows);
    }
    if (l->has_sum) {
        combine(p, rows, y);
    }
    return known;
}

static mxo_status run(const mxo_call *call, int has_one, int has_two,
                      mxo_text why)
{
    const int has[2] = {has_one, has_two};
    const mxo_tensor *out = mxo_call_out(call, "y");
    nvfp4_plan p;

    MXO_TRY(nvfp4_make(&p, call, has, why));
    MXO_TRY(nvfp4_check_data(&p, why));
    uint32_t *y = layer_scratch_at(&p.layer, p.y);

    if (!compute(&p, y)) {
        return mxo_fail(MXO_E_UNSUPPORTED, why,
                        "%s: order=any, and on these data the order of a sum "
                        "shows in its bits; declare the order or take "
                        "data=orderfree",
                        call->op);
    }
    for (uint64_t i = 0; i < p.n_y; i++) {
        mxo_store(out, i, layer_code(p.to, y[i]));
    }
    return MXO_OK;
}

mxo_status run_moe_nvfp4_layer(const mxo_call *call, mxo_text why)
{
    return run(call, 1, 1, why);
}

mxo_status run_moe_nvfp4_gemm1(const mxo_call *call, mxo_text why)
{
    return run(call, 1, 0, why);
}

mxo_status run_moe_nvfp4_gemm2(const mxo_call *call, mxo_text why)
{
    return run(call, 0, 1, why);
}

static mxo_status infer(const mxo_call *call, int has_one, int has_two,
                        mxo_tensor *out, uint32_t *n_out, mxo_text why)
{
    const int has[2] = {has_one, has_two};
    nvfp4_plan p;

    MXO_TRY(nvfp4_make(&p, call, has, why));
    const layer_plan *l = &p.layer;

    const uint64_t sum[2] = {l->tokens, l->hidden};
    const uint64_t slots[3] = {l->tokens, l->topk,
                               has_two ? l->hidden
                                       : l->inter * (l->has_glu ? 1 : 2)};
    const uint32_t dtype = p.to == MXO_FMT_F32   ? MXO_F32
                           : p.to == MXO_FMT_F16 ? MXO_F16
                                                 : MXO_BF16;

    mxo_out(out, 0, "y", dtype, l->has_sum ? 2 : 3, l->has_sum ? sum : slots);
    mxo_out(out, 1, ".scratch", MXO_U8, 1, &l->at.bytes);
    *n_out = 2;
    return MXO_OK;
}

mxo_status infer_moe_nvfp4_layer(const mxo_call *call, mxo_tensor *out_tensor,
                                 uint32_t *n_out, mxo_text why)
{
    return infer(call, 1, 1, out_tensor, n_out, why);
}

mxo_status infer_moe_nvfp4_gemm1(const mxo_call *call, mxo_tensor *out_tensor,
                                 uint32_t *n_out, mxo_text why)
{
    return infer(call, 1, 0, out_tensor, n_out, why);
}

mxo_status infer_moe_nvfp4_gemm2(const mxo_call *call, mxo_tensor *out_tensor,
                                 uint32_t *n_out, mxo_text why)
{
    return infer(call, 0, 1, out_tensor, n_out, why);
}
