/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.convert: the six tensors of a layer as a loader leaves them, a chain
 * of layouts for each; and the one activation scale a W4A8 loader keeps.
 */
#include "chain.h"

#include <stdio.h>
#include <string.h>

/* Everything about one of the six tensors. */
typedef struct part {
    const char *name;
    const mxo_tensor *in; /* NULL: absent */
    uint64_t extent[3];
    layout_chain chain;
} part;

/* The three axes of a tensor: a bias is one column. */
static void extent_of(const mxo_tensor *t, uint64_t extent[3])
{
    extent[0] = t->shape[0];
    extent[1] = t->shape[1];
    extent[2] = t->rank == 2 ? 1 : t->shape[2];
}

static int has_undefined_pads(const layout_chain *c)
{
    int undefined = 0;

    for (int i = 0; i < c->n; i++) {
        for (int axis = 0; axis < 3; axis++) {
            undefined = undefined || c->step[i].map.pad[axis].undefined;
        }
    }
    return undefined;
}

static mxo_status find_row(const mxo_call *call, const mxo_conversion_row **row,
                           mxo_text why)
{
    return conversion_row(mxo_call_text(call, "conversion"), row, why);
}

/* Tensor i of a layer whose w13 is [experts, 2 inter, hidden / 2]. */
static mxo_status check_fit(const mxo_call *call, int i, mxo_text why)
{
    const char *name = mxo_conversion_tensor((uint32_t)i);
    const mxo_tensor *w13 = mxo_call_in(call, "w13");
    const mxo_tensor *t = mxo_call_in(call, name);
    const uint64_t hidden = 2 * w13->shape[2];
    const uint64_t group = (uint64_t)mxo_call_int(call, "group");
    const uint64_t rows = i < 3 ? w13->shape[1] : hidden;
    const uint64_t cols = i < 3 ? hidden : w13->shape[1] / 2;
    const uint64_t per = i % 3 == 0 ? 2 : group;
    const uint32_t rank = i % 3 == 2 ? 2 : 3;

    if (t == NULL ||
        (t->rank == rank && t->shape[0] == w13->shape[0] &&
         t->shape[1] == rows && (rank == 2 || t->shape[2] * per == cols))) {
        return MXO_OK;
    }
    return mxo_fail(MXO_E_SHAPE, why,
                    "%s does not fit w13: it needs %llu experts of %llu rows "
                    "over %llu columns",
                    name, (unsigned long long)w13->shape[0],
                    (unsigned long long)rows, (unsigned long long)cols);
}

static mxo_status check_layer(const mxo_call *call,
                              const mxo_conversion_row *row, mxo_text why)
{
    const mxo_tensor *w13 = mxo_call_in(call, "w13");

    MXO_TRY(mxo_call_expect(call, "w13", 3, w13->shape, why));
    for (int i = 1; i < MXO_CONVERSION_TENSORS; i++) {
        MXO_TRY(check_fit(call, i, why));
    }
    return conversion_check(row, w13->shape[0], 2 * w13->shape[2],
                            w13->shape[1] / 2, mxo_call_is(call, "bias", "1"),
                            why);
}

static mxo_status bind_part(const mxo_call *call, const mxo_conversion_row *row,
                            int i, part *p, mxo_text why)
{
    p->name = mxo_conversion_tensor((uint32_t)i);
    p->in = mxo_call_in(call, p->name);
    if (p->in == NULL) {
        return MXO_OK;
    }
    extent_of(p->in, p->extent);
    return chain_bind_tensor(&p->chain, row, mxo_call_text(call, "conversion"),
                             i, p->in->dtype, p->extent, why);
}

/* Whether the conversion gives the tensor. */
static int leaves(const mxo_conversion_row *row, const part *p, int i)
{
    return p->in != NULL && conversion_leaves(row, i);
}

static const char *valid_name(int i)
{
    static const char *const names[MXO_CONVERSION_TENSORS] = {
        "w13_valid", "w13_scale_valid", "w13_bias_valid",
        "w2_valid",  "w2_scale_valid",  "w2_bias_valid",
    };

    return names[i];
}

mxo_status infer_layout_convert(const mxo_call *call, mxo_tensor *out_tensor,
                                uint32_t *n_out, mxo_text why)
{
    static const char *const kept_scales[] = {"w13_lhs_scale", "w2_lhs_scale"};
    const uint64_t one[1] = {1};
    const mxo_conversion_row *row;
    uint32_t n = 0;

    MXO_TRY(find_row(call, &row, why));
    MXO_TRY(check_layer(call, row, why));
    for (int i = 0; i < MXO_CONVERSION_TENSORS; i++) {
        part p = {0};
        MXO_TRY(bind_part(call, row, i, &p, why));
        if (leaves(row, &p, i)) {
            chain_describe(&p.chain, p.in->rank == 2, out_tensor, n++, p.name);
            if (has_undefined_pads(&p.chain)) {
                out_tensor[n] = out_tensor[n - 1];
                mxo_out(out_tensor, n, valid_name(i), MXO_U8,
                        out_tensor[n - 1].rank, out_tensor[n - 1].shape);
                n++;
            }
        }
    }
    for (int i = 0; i < 2 && mxo_call_is(call, "input_scale", "1"); i++) {
        mxo_out(out_tensor, n++, kept_scales[i], MXO_F32, 1, one);
    }
    *n_out = n;
    return MXO_OK;
}

/* The largest of the experts' static scales; they are positive numbers, so
   their patterns are ordered alike. */
static void keep_largest(const mxo_call *call, const char *in, const char *out)
{
    const mxo_tensor *x = mxo_call_in(call, in);
    uint64_t largest = 0;

    for (uint64_t i = 0; i < mxo_tensor_elems(x); i++) {
        const uint64_t code = mxo_load(x, i);
        largest = code > largest ? code : largest;
    }
    mxo_store(mxo_call_out(call, out), 0, largest);
}

/* The values of all six, before the first of them is written. */
static mxo_status check_values(const mxo_call *call,
                               const mxo_conversion_row *row, mxo_text why)
{
    for (int i = 0; i < MXO_CONVERSION_TENSORS; i++) {
        part p = {0};
        MXO_TRY(bind_part(call, row, i, &p, why));
        if (leaves(row, &p, i)) {
            MXO_TRY(chain_check_forward(&p.chain, p.in, why));
        }
    }
    return MXO_OK;
}

mxo_status run_layout_convert(const mxo_call *call, mxo_text why)
{
    const mxo_conversion_row *row;

    MXO_TRY(find_row(call, &row, why));
    MXO_TRY(check_values(call, row, why));
    for (int i = 0; i < MXO_CONVERSION_TENSORS; i++) {
        part p = {0};
        MXO_TRY(bind_part(call, row, i, &p, why));
        if (leaves(row, &p, i)) {
            MXO_TRY(chain_forward(&p.chain, p.in, mxo_call_out(call, p.name),
                                  mxo_call_out(call, valid_name(i)), why));
        }
    }
    if (mxo_call_is(call, "input_scale", "1")) {
        keep_largest(call, "w13_input_scale", "w13_lhs_scale");
        keep_largest(call, "w2_input_scale", "w2_lhs_scale");
    }
    return MXO_OK;
}
