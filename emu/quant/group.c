/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.group: rectangles of a matrix under one float32 (or power-of-two)
 * scale.  Per token, per channel, per block and per tensor are one operation
 * with different rectangles; the scale is stored as float32, as E8M0 bytes,
 * or as DeepGEMM's words of four bytes.
 */
#include "layout.h"
#include "quant.h"

#include <string.h>

typedef enum form { FORM_F32, FORM_E8M0, FORM_PACKED, FORM_PACKED_MN } form;

static const char *const forms[] = {"f32", "e8m0", "packed", "packed_mn"};

typedef struct plan {
    const mxo_quant_rule *rule;
    mxo_format element;
    form form;
    int pow2;
    int packed; /* two codes per byte */
    uint64_t rows, cols;
    uint64_t height, width; /* of a group */
    uint64_t down, across;  /* groups */
} plan;

static mxo_status check(const mxo_call *call, const plan *p, mxo_text why)
{
    if (p->form != FORM_F32 && !p->pow2) {
        return mxo_fail(MXO_E_PARAM, why, "%s: scale=%s needs pow2=1", call->op,
                        mxo_call_text(call, "scale"));
    }
    if (p->packed && p->cols % 2 != 0) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: %llu E2M1 columns do not pair up", call->op,
                        (unsigned long long)p->cols);
    }
    if (p->form >= FORM_PACKED && !p->packed && p->across % 4 != 0 &&
        p->rule->flags & MXO_Q_PACK_FULL) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: rule=%s packs FP8 scales only four by four, not "
                        "%llu of them",
                        call->op, p->rule->name, (unsigned long long)p->across);
    }
    return MXO_OK;
}

static uint64_t group_size(int64_t given, uint64_t axis)
{
    return given > 0 ? (uint64_t)given : axis + (axis == 0);
}

/* A whole tensor is one group, though it be empty. */
static uint64_t group_count(uint64_t axis, uint64_t size, int whole)
{
    return whole ? 1 : (axis + size - 1) / size;
}

static mxo_status make_plan(const mxo_call *call, plan *p, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const int64_t height = mxo_call_int(call, "group_rows");
    const int64_t width = mxo_call_int(call, "group_cols");
    uint64_t inner;

    if (x->rank != 2 && (x->rank == 0 || height > 1)) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: groups of %d rows need a matrix, and x has rank "
                        "%u",
                        call->op, (int)height, x->rank);
    }
    if (height < 0 || width < 0) {
        return mxo_fail(MXO_E_PARAM, why,
                        "%s: group_rows and group_cols are 0 (the whole axis) "
                        "or more",
                        call->op);
    }
    p->rule = quant_rule(call);
    p->element = mxo_call_format(call, "element");
    p->form = (form)mxo_call_choice(call, "scale", forms, 4);
    p->pow2 = mxo_call_int(call, "pow2") != 0;
    p->packed = p->element == MXO_FMT_E2M1;
    mxo_tensor_split(x, -1, &p->rows, &p->cols, &inner);
    p->height = group_size(height, p->rows);
    p->width = group_size(width, p->cols);
    p->down = group_count(p->rows, p->height, height == 0 && width == 0);
    p->across = group_count(p->cols, p->width, height == 0 && width == 0);
    return check(call, p, why);
}

/* Scales by group: [down, across]; one number for the whole tensor; per row
   the leading axes of x are kept. */
static void infer_plain(const mxo_call *call, const plan *p, mxo_tensor *out)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const uint32_t dtype = p->form == FORM_F32 ? MXO_F32 : MXO_E8M0;
    uint64_t shape[MXO_MAX_RANK] = {p->down, p->across};

    if (mxo_call_int(call, "group_rows") == 0 &&
        mxo_call_int(call, "group_cols") == 0) {
        mxo_out(out, 1, "scale", dtype, 1, shape);
        return;
    }
    if (mxo_call_int(call, "group_rows") != 1) {
        mxo_out(out, 1, "scale", dtype, 2, shape);
        return;
    }
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] = p->across;
    mxo_out(out, 1, "scale", dtype, x->rank, shape);
}

static void infer_words(const plan *p, mxo_tensor *out)
{
    const uint64_t words = (p->across + 3) / 4;
    const uint64_t logical[2] = {p->down, words};
    const uint64_t stored[2] = {words, quant_round_up(p->down, 4)};

    mxo_out(out, 1, "scale", MXO_I32, 2,
            p->form == FORM_PACKED ? logical : stored);
}

mxo_status infer_quant_group(const mxo_call *call, mxo_tensor *out_tensor,
                             uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const char *element = mxo_call_text(call, "element");
    uint64_t shape[MXO_MAX_RANK];
    plan p = {0};

    MXO_TRY(make_plan(call, &p, why));
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] = p.packed ? p.cols / 2 : p.cols;
    mxo_out(out_tensor, 0, "q", mxo_dtype_by_name(element, strlen(element)),
            x->rank, shape);
    if (p.form >= FORM_PACKED) {
        infer_words(&p, out_tensor);
    } else {
        infer_plain(call, &p, out_tensor);
    }
    *n_out = 2;
    return MXO_OK;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint32_t group_amax(const plan *p, const mxo_tensor *x, uint64_t gr,
                           uint64_t gc)
{
    const uint64_t last_row = least((gr + 1) * p->height, p->rows);
    const uint64_t last_col = least((gc + 1) * p->width, p->cols);
    uint32_t amax = mxo_quant_amax_start(p->rule);

    for (uint64_t r = gr * p->height; r < last_row; r++) {
        for (uint64_t c = gc * p->width; c < last_col; c++) {
            const uint32_t value = quant_load(x, r * p->cols + c);

            amax = mxo_quant_amax(p->rule, amax, &value, 1);
        }
    }
    return amax;
}

/* Store byte j of the word that holds group (gr, gc). */
static void put_packed(const plan *p, const mxo_tensor *scale, uint64_t gr,
                       uint64_t gc, uint8_t byte)
{
    const uint64_t at = p->form == FORM_PACKED ? gr * scale->shape[1] + gc / 4
                                               : gc / 4 * scale->shape[1] + gr;
    const unsigned shift = 8 * (unsigned)(gc % 4);
    const uint32_t word = (uint32_t)mxo_load(scale, at);

    mxo_store(scale, at,
              (word & ~((uint32_t)0xff << shift)) | (uint32_t)byte << shift);
}

static mxo_quant_block scale_group(const plan *p, const mxo_tensor *scale,
                                   uint64_t gr, uint64_t gc, uint32_t amax)
{
    const uint64_t at = gr * p->across + gc;
    uint32_t value;

    if (!p->pow2) {
        const mxo_quant_block b =
            mxo_quant_block_float(p->rule, p->element, amax, &value);

        mxo_store(scale, at, value);
        return b;
    }
    const uint8_t byte = mxo_quant_scale_byte(p->rule, p->element, amax);

    if (p->form >= FORM_PACKED) {
        put_packed(p, scale, gr, gc, byte);
    } else {
        mxo_store(scale, at, p->form == FORM_F32 ? quant_power(byte) : byte);
    }
    return mxo_quant_block_byte(p->rule, p->element, -1, amax, byte);
}

static void quantise(const plan *p, const mxo_call *call, uint64_t gr,
                     uint64_t gc)
{
    const mxo_tensor *x = mxo_call_in(call, "x");
    const mxo_tensor *q = mxo_call_out(call, "q");
    const uint64_t last_row = least((gr + 1) * p->height, p->rows);
    const uint64_t last_col = least((gc + 1) * p->width, p->cols);
    const mxo_quant_block b = scale_group(p, mxo_call_out(call, "scale"), gr,
                                          gc, group_amax(p, x, gr, gc));

    for (uint64_t r = gr * p->height; r < last_row; r++) {
        for (uint64_t c = gc * p->width; c < last_col; c++) {
            const uint64_t at = r * p->cols + c;
            const uint8_t code = mxo_quant_code(&b, quant_load(x, at));

            if (p->packed) {
                mxo_store_nibble(mxo_tensor_data(q), at, code);
            } else {
                mxo_store(q, at, code);
            }
        }
    }
}

/* Bytes of groups that do not exist; tokens that do not exist are 0. */
static void pad_words(const plan *p, const mxo_tensor *scale)
{
    memset(mxo_tensor_data(scale), 0, (size_t)scale->n_bytes);
    for (uint64_t gr = 0; p->packed && gr < p->down; gr++) {
        for (uint64_t gc = p->across; gc % 4 != 0; gc++) {
            put_packed(p, scale, gr, gc, p->rule->pack_pad);
        }
    }
}

mxo_status run_quant_group(const mxo_call *call, mxo_text why)
{
    plan p = {0};

    MXO_TRY(make_plan(call, &p, why));
    if (p.form >= FORM_PACKED) {
        pad_words(&p, mxo_call_out(call, "scale"));
    }
    for (uint64_t gr = 0; gr < p.down; gr++) {
        for (uint64_t gc = 0; gc < p.across; gc++) {
            quantise(&p, call, gr, gc);
        }
    }
    return MXO_OK;
}
