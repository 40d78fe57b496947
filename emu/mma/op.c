/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mma.step and mma.chain: steps of a matrix instruction over ascending k, for
 * pairs of rows or for all of them, with the points declared at which an
 * accumulator is added to a binary32 register.
 */
#include "../call.h"
#include "chain.h"

enum { MAX_STEP = 64, BLOCK = 32, SMALL_BLOCK = 16 };

typedef struct matrix {
    const mxo_tensor *code;
    const uint8_t *scale;
    int packed;
    uint64_t k;
    uint32_t group; /* numbers per scale */
    uint8_t ue4m3;
} matrix;

typedef struct job {
    const mxo_mma *m;
    matrix a;
    matrix b;
    uint64_t promote; /* 0: never */
} job;

static const mxo_mma *row_of(const mxo_call *call)
{
    const char *unit = mxo_call_text(call, "unit");
    const mxo_mma_type type = mxo_mma_type_by_name(mxo_call_text(call, "type"));

    return mxo_call_is(call, "acc", "f16") ? mxo_mma_find_half(unit, type)
                                           : mxo_mma_find(unit, type);
}

static uint32_t acc_dtype(const mxo_call *call)
{
    return mxo_call_is(call, "acc", "f16") ? MXO_F16 : MXO_F32;
}

static uint64_t k_of(const mxo_call *call, const char *name)
{
    const mxo_tensor *t = mxo_call_in(call, name);

    return t->shape[1] * (mxo_call_is(call, "type", "e2m1") ? 2 : 1);
}

static matrix matrix_of(const mxo_call *call, const char *code,
                        const char *scale)
{
    const mxo_tensor *s = mxo_call_in(call, scale);
    const int ue4m3 = mxo_call_is(call, "scale", "ue4m3");
    const matrix x = {mxo_call_in(call, code),
                      s == NULL ? NULL : mxo_tensor_data(s),
                      mxo_call_is(call, "type", "e2m1"),
                      k_of(call, code),
                      ue4m3 ? SMALL_BLOCK : BLOCK,
                      (uint8_t)ue4m3};

    return x;
}

/* Check the scales of a unit: some units need them, most have none. */
static mxo_status check_unit(const mxo_call *call, mxo_text why)
{
    const mxo_mma *m = row_of(call);
    const char *unit = mxo_call_text(call, "unit");

    if (m == NULL) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: unit=%s has no operands of %s with acc=%s",
                        call->op, unit, mxo_call_text(call, "type"),
                        mxo_call_text(call, "acc"));
    }
    const int plain = mxo_call_is(call, "scale", "none");
    const int mx = mxo_call_is(call, "unit", "blackwell_mx");
    const int fp4 = m->kind == MXO_MMA_GROUPS;

    if ((mx && !mxo_call_is(call, "scale", "e8m0")) || (fp4 && plain) ||
        (!mx && !fp4 && !plain)) {
        return mxo_fail(MXO_E_PARAM, why, "%s: unit=%s does not take scale=%s",
                        call->op, unit, mxo_call_text(call, "scale"));
    }
    return MXO_OK;
}

static mxo_status check_matrix(const mxo_call *call, const char *code,
                               const char *scale, mxo_text why)
{
    const mxo_tensor *t = mxo_call_in(call, code);
    const mxo_tensor *s = mxo_call_in(call, scale);
    const uint64_t group =
        mxo_call_is(call, "scale", "ue4m3") ? SMALL_BLOCK : BLOCK;

    if (t->rank != 2 || k_of(call, code) % row_of(call)->step != 0) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: %s needs two axes, k a multiple of %d", call->op,
                        code, row_of(call)->step);
    }
    if (s != NULL && (s->rank != 2 || s->shape[0] != t->shape[0] ||
                      s->shape[1] != k_of(call, code) / group)) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: %s needs one entry per row and %d of k", call->op,
                        scale, (int)group);
    }
    return MXO_OK;
}

static mxo_status check(const mxo_call *call, mxo_text why)
{
    MXO_TRY(check_unit(call, why));
    MXO_TRY(check_matrix(call, "a", "a_scale", why));
    MXO_TRY(check_matrix(call, "b", "b_scale", why));
    if (k_of(call, "a") != k_of(call, "b")) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: a and b have rows of different length", call->op);
    }
    return MXO_OK;
}

mxo_status infer_mma_step(const mxo_call *call, mxo_tensor *out_tensor,
                          uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *c = mxo_call_in(call, "c");

    MXO_TRY(check(call, why));
    const uint64_t rows = mxo_call_in(call, "a")->shape[0];

    if (c->rank != 1 || c->shape[0] != rows ||
        mxo_call_in(call, "b")->shape[0] != rows) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "mma.step: a, b and c need as many rows");
    }
    return mxo_infer_like(call, "c", out_tensor, n_out, "d", acc_dtype(call));
}

mxo_status infer_mma_chain(const mxo_call *call, mxo_tensor *out_tensor,
                           uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *c = mxo_call_in(call, "c");
    const int64_t promote = mxo_call_int(call, "promote");

    MXO_TRY(check(call, why));
    if (c->rank != 2 || c->shape[0] != mxo_call_in(call, "a")->shape[0] ||
        c->shape[1] != mxo_call_in(call, "b")->shape[0]) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "mma.chain: c needs a's rows and b's rows as columns");
    }
    if (promote < 0 || promote % row_of(call)->step != 0) {
        return mxo_fail(MXO_E_PARAM, why,
                        "mma.chain: promote=%s is no multiple of the step %d",
                        mxo_call_text(call, "promote"), row_of(call)->step);
    }
    if (promote > 0 && mxo_call_is(call, "acc", "f16")) {
        return mxo_fail(MXO_E_PARAM, why,
                        "mma.chain: promote=%s adds binary32 accumulators, not "
                        "acc=f16",
                        mxo_call_text(call, "promote"));
    }
    return mxo_infer_like(call, "c", out_tensor, n_out, "d", acc_dtype(call));
}

/* The codes of one step, and where their scales are. */
static mxo_mma_operand operand(const matrix *x, uint64_t row, uint64_t k, int n,
                               uint32_t *codes)
{
    const uint64_t first = row * x->k + k;
    const uint8_t *bytes = mxo_tensor_data(x->code);

    for (int i = 0; i < n; i++) {
        const uint64_t at = first + (uint64_t)i;
        codes[i] = x->packed ? mxo_load_nibble(bytes, at)
                             : (uint32_t)mxo_load(x->code, at);
    }
    return (mxo_mma_operand){
        codes, x->scale == NULL ? NULL : x->scale + first / x->group, x->group,
        x->ue4m3};
}

/* An accumulator as a binary32 pattern, and back; NaN has all bits set. */
static uint32_t load_acc(const mxo_tensor *t, uint64_t i)
{
    const uint32_t code = (uint32_t)mxo_load(t, i);

    return t->dtype == MXO_F32
               ? code
               : (uint32_t)mxo_format_convert(MXO_FMT_F32, MXO_FMT_F16, code,
                                              MXO_TIE_RNE, MXO_NAN_ONES);
}

static void store_acc(const mxo_tensor *t, uint64_t i, uint32_t d)
{
    mxo_store(t, i,
              t->dtype == MXO_F32
                  ? d
                  : mxo_format_convert(MXO_FMT_F16, MXO_FMT_F32, d, MXO_TIE_RNE,
                                       MXO_NAN_ONES));
}

static uint32_t chain(const job *j, uint64_t r, uint64_t c, uint32_t start)
{
    uint32_t a[MAX_STEP];
    uint32_t b[MAX_STEP];
    mma_chain sum = mma_chain_from(j->m, j->promote, start);

    for (uint64_t k = 0; k < j->a.k; k += j->m->step) {
        mma_chain_step(&sum, operand(&j->a, r, k, j->m->step, a),
                       operand(&j->b, c, k, j->m->step, b));
    }
    return mma_chain_value(&sum);
}

static job job_of(const mxo_call *call, uint64_t promote)
{
    const job j = {row_of(call), matrix_of(call, "a", "a_scale"),
                   matrix_of(call, "b", "b_scale"), promote};

    return j;
}

mxo_status run_mma_step(const mxo_call *call, mxo_text why)
{
    const job j = job_of(call, 0);
    const mxo_tensor *c = mxo_call_in(call, "c");
    const mxo_tensor *d = mxo_call_out(call, "d");

    (void)why;
    for (uint64_t r = 0; r < c->shape[0]; r++) {
        store_acc(d, r, chain(&j, r, r, load_acc(c, r)));
    }
    return MXO_OK;
}

mxo_status run_mma_chain(const mxo_call *call, mxo_text why)
{
    const job j = job_of(call, (uint64_t)mxo_call_int(call, "promote"));
    const mxo_tensor *c = mxo_call_in(call, "c");
    const mxo_tensor *d = mxo_call_out(call, "d");

    (void)why;
    for (uint64_t i = 0; i < mxo_tensor_elems(c); i++) {
        store_acc(d, i,
                  chain(&j, i / c->shape[1], i % c->shape[1], load_acc(c, i)));
    }
    return MXO_OK;
}
