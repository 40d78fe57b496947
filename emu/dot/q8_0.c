/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant.q8_0 and gemm.q8_0: what llama.cpp computes on a CPU.  Activations
 * are int8 under an FP16 scale, 32 each; sums of a block are integers, and
 * every step after that is rounded to binary32 in the order that is named.
 */
#include "../quant/engine.h"

#define F32_127 0x42fe0000u
#define ONE 0x3f800000u

enum { BLOCK = 32 };

mxo_status infer_quant_q8_0(const mxo_call *call, mxo_tensor *out_tensor,
                            uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");

    if (x->rank != 2 || x->shape[1] % BLOCK != 0) {
        return mxo_fail(MXO_E_SHAPE, why,
                        "%s: x needs rows of whole blocks of 32", call->op);
    }
    const uint64_t scales[2] = {x->shape[0], x->shape[1] / BLOCK};

    mxo_out(out_tensor, 0, "q", MXO_I8, 2, x->shape);
    mxo_out(out_tensor, 1, "scale", MXO_F16, 2, scales);
    *n_out = 2;
    return MXO_OK;
}

/* roundf: ties away from zero; |x| is at most 127. A NaN, which C leaves open,
   is 0, as the conversions of x86 and Arm have it. */
static int8_t round_away(uint32_t x)
{
    const mxo_real r = mxo_format_decode(MXO_FMT_F32, x);
    int n = 0;

    while (r.cls != MXO_CLASS_NAN && n < 127 &&
           mxo_f32_cmp(x & 0x7fffffffu, mxo_f32_from_f64(n + 0.5)) >= 0) {
        n++;
    }
    return (int8_t)(r.neg ? -n : n);
}

mxo_status run_quant_q8_0(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *x = mxo_call_in(call, "x");

    (void)why;
    for (uint64_t b = 0; b < mxo_tensor_elems(x) / BLOCK; b++) {
        uint32_t v[BLOCK];
        for (uint64_t i = 0; i < BLOCK; i++) {
            v[i] = (uint32_t)mxo_load(x, b * BLOCK + i);
        }
        const uint32_t d = mxo_f32_div(engine_amax(v, BLOCK), F32_127);
        const uint32_t id = d == 0 ? 0 : mxo_f32_div(ONE, d);
        for (uint64_t i = 0; i < BLOCK; i++) {
            mxo_store(mxo_call_out(call, "q"), b * BLOCK + i,
                      (uint8_t)round_away(mxo_f32_mul(v[i], id)));
        }
        mxo_store(mxo_call_out(call, "scale"), b,
                  mxo_format_convert(MXO_FMT_F16, MXO_FMT_F32, d, MXO_TIE_RNE,
                                     MXO_NAN_QUIET));
    }
    return MXO_OK;
}

mxo_status infer_gemm_q8_0(const mxo_call *call, mxo_tensor *out_tensor,
                           uint32_t *n_out, mxo_text why)
{
    const mxo_tensor *a = mxo_call_in(call, "a");
    const mxo_tensor *w = mxo_call_in(call, "w");
    const int is_mx = mxo_call_is(call, "weights", "mxfp4");
    const uint64_t granule = is_mx ? 32 : 64;

    if (a->rank != 2 || w->rank != 2) {
        return mxo_fail(MXO_E_SHAPE, why, "%s: a and w need two axes",
                        call->op);
    }
    if (a->shape[1] % granule != 0) {
        return mxo_fail(MXO_E_SHAPE, why, "%s: K = %llu is no multiple of %llu",
                        call->op, (unsigned long long)a->shape[1],
                        (unsigned long long)granule);
    }
    if (!is_mx && !mxo_call_is(call, "order", "row")) {
        return mxo_fail(MXO_E_PARAM, why, "%s: NVFP4 has no repacked kernel",
                        call->op);
    }
    const uint64_t shape[2] = {a->shape[0], w->shape[0]};
    const uint64_t k = a->shape[1];
    const uint64_t codes[2] = {shape[1], k / 2};
    const uint64_t scales[2] = {shape[1],
                                k / (is_mx ? BLOCK : MXO_NVFP4_BLOCK)};
    const uint64_t blocks[2] = {shape[0], k / BLOCK};

    MXO_TRY(mxo_call_expect(call, "w", 2, codes, why));
    MXO_TRY(mxo_call_expect(call, "w_scale", 2, scales, why));
    MXO_TRY(mxo_call_expect(call, "a_scale", 2, blocks, why));
    mxo_out(out_tensor, 0, "y", MXO_F32, 2, shape);
    *n_out = 1;
    return MXO_OK;
}

/* Operands of a dot product: one row of activations, one of weights. */
typedef struct dot {
    const mxo_call *call;
    uint64_t row;
    uint64_t col;
    uint64_t k;
} dot;

/* Sum of doubled codes times activations, from element first on. */
static int partial(const dot *d, uint64_t first, uint64_t n)
{
    static const int table[] = {0, 1,  2,  3,  4,  6,  8,  12,
                                0, -1, -2, -3, -4, -6, -8, -12};
    const mxo_tensor *a = mxo_call_in(d->call, "a");
    const uint8_t *w = mxo_tensor_data(mxo_call_in(d->call, "w"));
    int sum = 0;

    for (uint64_t i = first; i < first + n; i++) {
        sum += table[mxo_load_nibble(w, d->col * d->k + i)] *
               (int8_t)mxo_load(a, d->row * d->k + i);
    }
    return sum;
}

static uint32_t activation_scale(const dot *d, uint64_t block)
{
    const mxo_tensor *s = mxo_call_in(d->call, "a_scale");

    return (uint32_t)mxo_format_convert(
        MXO_FMT_F32, MXO_FMT_F16, mxo_load(s, d->row * (d->k / BLOCK) + block),
        MXO_TIE_RNE, MXO_NAN_QUIET);
}

static uint32_t weight_byte(const dot *d, uint64_t block, uint64_t group)
{
    return (uint32_t)mxo_load(mxo_call_in(d->call, "w_scale"),
                              d->col * (d->k / group) + block);
}

/* Half of 2^(e - 127): exact, subnormals kept, 255 is 2^127. */
static uint32_t half_scale(uint32_t e)
{
    return e < 2 ? 0x00200000u << e : (e - 1) << 23;
}

static uint32_t number(int n)
{
    return mxo_f32_from_f64((double)n);
}

static uint32_t dot_rows(const dot *d)
{
    uint32_t sum = 0;

    for (uint64_t b = 0; b < d->k / BLOCK; b++) {
        const uint32_t s = mxo_f32_mul(activation_scale(d, b),
                                       half_scale(weight_byte(d, b, BLOCK)));
        sum = mxo_f32_add(sum,
                          mxo_f32_mul(s, number(partial(d, b * BLOCK, BLOCK))));
    }
    return sum;
}

/* Chunks of so many bytes of a block: low nibbles, then high ones. */
static uint32_t dot_chunks(const dot *d, uint64_t chunk)
{
    uint32_t sum = 0;

    for (uint64_t b = 0; b < d->k / BLOCK; b++) {
        const uint32_t half = half_scale(weight_byte(d, b, BLOCK));
        const uint32_t s = activation_scale(d, b);
        for (uint64_t i = 0; i < BLOCK / 2; i += chunk) {
            const int n = partial(d, b * BLOCK + i, chunk) +
                          partial(d, b * BLOCK + BLOCK / 2 + i, chunk);
            const uint32_t part = mxo_f32_mul(number(n), half);
            sum = mxo_f32_add(sum, mxo_f32_mul(part, s));
        }
    }
    return sum;
}

static uint32_t dot_nvfp4(const dot *d)
{
    uint32_t sum = 0;

    for (uint64_t b = 0; b < d->k / MXO_NVFP4_BLOCK; b++) {
        const uint8_t byte = (uint8_t)weight_byte(d, b, MXO_NVFP4_BLOCK);
        const uint32_t s =
            mxo_f32_mul(activation_scale(d, b / 2), engine_ue4m3_half(byte));
        const int n = partial(d, b * MXO_NVFP4_BLOCK, MXO_NVFP4_BLOCK);
        sum = mxo_f32_add(sum, mxo_f32_mul(s, number(n)));
    }
    return sum;
}

mxo_status run_gemm_q8_0(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *y = mxo_call_out(call, "y");
    const uint64_t k = mxo_call_in(call, "a")->shape[1];

    (void)why;
    for (uint64_t i = 0; i < mxo_tensor_elems(y); i++) {
        const dot d = {call, i / y->shape[1], i % y->shape[1], k};
        uint32_t v;

        if (mxo_call_is(call, "weights", "nvfp4")) {
            v = dot_nvfp4(&d);
        } else if (mxo_call_is(call, "order", "x4")) {
            v = dot_chunks(&d, 4);
        } else if (mxo_call_is(call, "order", "x8")) {
            v = dot_chunks(&d, 8);
        } else {
            v = dot_rows(&d);
        }
        mxo_store(y, i, v);
    }
    return MXO_OK;
}
