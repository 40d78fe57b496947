/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dequant.mx: blocks of 32 along any axis times their scale byte.  The judge
 * runs this on whole weight matrices, so both decodings leave the inner loop:
 * elements once per call, E2M1 products once per scale byte that occurs.
 */
#include "../call.h"
#include "product.h"

enum { N_CODES = 256, N_NIBBLES = 16, N_SCALES = 256 };

typedef struct job {
    mxo_dequant_rule rule;
    mxo_format element;
    mxo_format to;
    uint32_t negative_zero; /* written as +0; a pattern that never occurs
                               if zeros keep their sign */
    const mxo_tensor *q;
    const mxo_tensor *scale;
    const mxo_tensor *y;
    uint64_t len; /* elements along the axis */
    uint64_t inner;
} job;

static int read_axis(const mxo_call *call, uint32_t rank, uint32_t *axis)
{
    const int64_t a = mxo_call_int(call, "axis");
    const int64_t at = a < 0 ? a + (int64_t)rank : a;

    *axis = (uint32_t)at;
    return at >= 0 && at < (int64_t)rank;
}

static uint64_t blocks_in(uint64_t len)
{
    return len / MXO_MX_BLOCK + (len % MXO_MX_BLOCK != 0);
}

static mxo_status check_scale(const mxo_tensor *scale, const mxo_tensor *y,
                              uint32_t axis, mxo_text why)
{
    int same = scale->rank == y->rank;

    for (uint32_t i = 0; same && i < y->rank; i++) {
        const uint64_t n = y->shape[i];
        same = scale->shape[i] == (i == axis ? blocks_in(n) : n);
    }
    return same ? MXO_OK
                : mxo_fail(MXO_E_SHAPE, why,
                           "dequant.mx: scale needs one byte per 32 elements "
                           "along the axis and q's other axes");
}

mxo_status infer_dequant_mx(const mxo_call *call, mxo_tensor *out_tensor,
                            uint32_t *n_out, mxo_text why)
{
    const char *rule = mxo_call_text(call, "rule");
    const mxo_format element = mxo_call_format(call, "element");
    const mxo_tensor *q = mxo_call_in(call, "q");
    uint32_t axis;

    if (!mxo_dequant_rule_has(mxo_dequant_rule_by_name(rule), element,
                              mxo_call_format(call, "to"))) {
        return mxo_fail(
            MXO_E_PARAM, why, "dequant.mx: rule=%s does not turn %s into %s",
            rule, mxo_call_text(call, "element"), mxo_call_text(call, "to"));
    }
    if (!read_axis(call, q->rank, &axis)) {
        return mxo_fail(MXO_E_PARAM, why,
                        "dequant.mx: axis=%s is not an axis of q",
                        mxo_call_text(call, "axis"));
    }
    (void)mxo_infer_like(call, "q", out_tensor, n_out, "y",
                         mxo_call_dtype(call, "to"));
    if (element == MXO_FMT_E2M1) {
        out_tensor[0].shape[axis] *= 2;
        out_tensor[0].n_bytes *= 2;
    }
    return check_scale(mxo_call_in(call, "scale"), &out_tensor[0], axis, why);
}

/* Position of element a of the axis in row o, column i, for length len. */
static uint64_t at(const job *j, uint64_t len, uint64_t o, uint64_t a,
                   uint64_t i)
{
    return (o * len + a) * j->inner + i;
}

static uint64_t block_end(const job *j, uint64_t block)
{
    const uint64_t end = (block + 1) * MXO_MX_BLOCK;

    return end < j->len ? end : j->len;
}

static void store(const job *j, uint64_t i, uint32_t y)
{
    mxo_store(j->y, i, y == j->negative_zero ? 0 : y);
}

/* Block number b of the scale tensor, through the 16 products of its byte. */
static void packed_block(const job *j, const uint32_t *products, uint64_t b)
{
    const uint8_t *bytes = mxo_tensor_data(j->q);
    const uint64_t i = b % j->inner;
    const uint64_t block = b / j->inner % blocks_in(j->len);
    const uint64_t o = b / j->inner / blocks_in(j->len);
    const uint64_t end = block_end(j, block);

    for (uint64_t a = block * MXO_MX_BLOCK; a < end; a++) {
        const uint8_t byte = bytes[at(j, j->len / 2, o, a / 2, i)];
        const uint8_t code = a % 2 == 0 ? byte & 0xf : byte >> 4;
        store(j, at(j, j->len, o, a, i), products[code]);
    }
}

static void byte_block(const job *j, const mxo_real *elements, mxo_real scale,
                       uint64_t b)
{
    const uint8_t *bytes = mxo_tensor_data(j->q);
    const uint64_t i = b % j->inner;
    const uint64_t block = b / j->inner % blocks_in(j->len);
    const uint64_t o = b / j->inner / blocks_in(j->len);
    const uint64_t end = block_end(j, block);

    for (uint64_t a = block * MXO_MX_BLOCK; a < end; a++) {
        const uint64_t n = at(j, j->len, o, a, i);
        store(j, n,
              mxo_dequant_product(j->rule, j->to, elements[bytes[n]], scale));
    }
}

static void run_packed(const job *j)
{
    const uint64_t n = mxo_tensor_elems(j->scale);
    uint32_t products[N_SCALES][N_NIBBLES];
    uint8_t known[N_SCALES] = {0};

    for (uint64_t b = 0; b < n; b++) {
        const uint8_t s = (uint8_t)mxo_load(j->scale, b);
        for (unsigned c = 0; !known[s] && c < N_NIBBLES; c++) {
            products[s][c] = mxo_dequant_mx(j->rule, j->element, j->to, c, s);
        }
        known[s] = 1;
        packed_block(j, products[s], b);
    }
}

static void run_bytes(const job *j)
{
    const uint64_t n = mxo_tensor_elems(j->scale);
    mxo_real elements[N_CODES];

    for (unsigned c = 0; c < N_CODES; c++) {
        elements[c] = mxo_dequant_element(j->element, c);
    }
    for (uint64_t b = 0; b < n; b++) {
        const uint8_t s = (uint8_t)mxo_load(j->scale, b);
        byte_block(j, elements, mxo_dequant_scale(j->rule, j->to, s), b);
    }
}

mxo_status run_dequant_mx(const mxo_call *call, mxo_text why)
{
    job j;
    uint64_t outer;

    (void)why;
    j.rule = mxo_dequant_rule_by_name(mxo_call_text(call, "rule"));
    j.element = mxo_call_format(call, "element");
    j.to = mxo_call_format(call, "to");
    j.negative_zero = !mxo_call_is(call, "zero", "positive") ? UINT32_MAX
                      : j.to == MXO_FMT_F32                  ? 0x80000000
                                                             : 0x8000;
    j.q = mxo_call_in(call, "q");
    j.scale = mxo_call_in(call, "scale");
    j.y = mxo_call_out(call, "y");
    mxo_tensor_split(j.y, (int)mxo_call_int(call, "axis"), &outer, &j.len,
                     &j.inner);
    if (j.element == MXO_FMT_E2M1) {
        run_packed(&j);
    } else {
        run_bytes(&j);
    }
    return MXO_OK;
}
