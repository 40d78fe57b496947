/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantised activations between ends.  Scale byte and code may only grow with
 * the block maximum and with the element, so an element can be no more than
 * the largest of its upper end under every byte that its block may have.
 */
#include "../quant/quant.h"
#include "bound.h"

#define MAGNITUDE 0x7fffffffu

typedef struct quantiser {
    const layer_quant *quant;
    const mxo_quant_rule *rule; /* how a block's maximum is taken */
    mxo_format from;            /* of the elements; qdq keeps it */
} quantiser;

static int is_qdq(const quantiser *q)
{
    return q->quant->op == MXO_P_QUANT_QDQ;
}

static uint8_t byte_of(const quantiser *q, uint32_t amax)
{
    uint8_t code;

    if (q->quant->op == MXO_P_QUANT_NVFP4) {
        return mxo_quant_nvfp4(&q->quant->nvfp4, q->quant->scale, &code, &amax,
                               1);
    }
    return is_qdq(q) && q->quant->quark_hip
               ? mxo_quant_quark_hip_byte(q->from, amax)
               : mxo_quant_scale_byte(q->rule, q->quant->element, amax);
}

/* Six bits: exact. */
static uint32_t nvfp4_value(const quantiser *q, uint8_t byte, uint32_t x)
{
    const uint8_t code =
        mxo_quant_nvfp4_code(&q->quant->nvfp4, q->quant->scale, byte, x);

    return mxo_f32_mul(mxo_quant_widen(MXO_FMT_E2M1, code),
                       mxo_quant_widen(MXO_FMT_E4M3FN, byte));
}

/* Value of an element quantised under a scale byte and dequantised again. */
static uint32_t value_of(const quantiser *q, uint32_t amax, uint8_t byte,
                         uint32_t x)
{
    if (q->quant->op == MXO_P_QUANT_NVFP4) {
        return nvfp4_value(q, byte, x);
    }
    const mxo_quant_block block =
        mxo_quant_block_byte(q->rule, q->quant->element, -1, amax, byte);

    if (is_qdq(q)) {
        const int hip = q->quant->quark_hip;
        const uint8_t code = hip ? mxo_quant_quark_hip_code(q->from, byte, x)
                                 : mxo_quant_code(&block, x);
        return mxo_quant_widen(q->from,
                               mxo_quant_qdq_value(q->from, code, byte, !hip));
    }
    mxo_real y =
        mxo_format_decode(q->quant->element, mxo_quant_code(&block, x));

    y.cls = byte == 255 ? MXO_CLASS_NAN : y.cls;
    return (uint32_t)mxo_format_round(MXO_FMT_F32,
                                      mxo_real_scale(y, byte - 127));
}

/* Largest magnitudes of a group if every element is as small, and as large,
   as it can be. */
static mxo_span amax_of(const quantiser *q, const bound_rows *rows,
                        uint64_t first, uint64_t n)
{
    const mxo_quant_rule *rule = q->rule;
    mxo_span amax = {mxo_quant_amax_start(rule), mxo_quant_amax_start(rule)};

    for (uint64_t i = first; i < first + n; i++) {
        const uint32_t a = rows->lo[i] & MAGNITUDE;
        const uint32_t b = rows->hi[i] & MAGNITUDE;
        const uint32_t least = (rows->lo[i] ^ rows->hi[i]) >> 31 != 0 ? 0
                               : a < b                                ? a
                                                                      : b;
        const uint32_t most = a > b ? a : b;
        amax.lo = mxo_quant_amax(rule, amax.lo, &least, 1);
        amax.hi = mxo_quant_amax(rule, amax.hi, &most, 1);
    }
    return amax;
}

/* One element, under every byte from one to the other. */
static mxo_span element(const quantiser *q, mxo_span amax,
                        const uint8_t byte[2], mxo_span x)
{
    mxo_span y = {0, 0};

    for (unsigned b = byte[0]; b <= byte[1]; b++) {
        uint32_t end[4] = {value_of(q, amax.hi, (uint8_t)b, x.lo),
                           value_of(q, amax.hi, (uint8_t)b, x.hi), 0, 0};
        end[2] = b == byte[0] ? end[0] : y.lo;
        end[3] = b == byte[0] ? end[1] : y.hi;
        y = mxo_span_hull(end, 4);
    }
    return y;
}

/* Not a number between finite ends: the block is known, or it is lost. */
static int is_lost(const bound_rows *rows, uint64_t first, uint64_t n)
{
    int finite = 1;
    int points = 1;

    for (uint64_t i = first; i < first + n; i++) {
        const mxo_span x = {rows->lo[i], rows->hi[i]};
        finite = finite && mxo_span_is_finite(x);
        points = points && mxo_span_is_point(x);
    }
    return !finite && !points;
}

static void group(const quantiser *q, const bound_rows *rows, uint64_t first,
                  uint64_t n)
{
    const mxo_span amax = amax_of(q, rows, first, n);
    const uint8_t byte[2] = {byte_of(q, amax.lo), byte_of(q, amax.hi)};
    const int lost = is_lost(rows, first, n) || byte[0] > byte[1] ||
                     (byte[1] == 255 && byte[0] < 255);

    for (uint64_t i = first; i < first + n; i++) {
        const mxo_span x = {rows->lo[i], rows->hi[i]};
        mxo_span y = lost ? mxo_span_anything : element(q, amax, byte, x);
        const int is_sure = mxo_span_is_point(amax) && mxo_span_is_point(x);
        y = !is_sure && !mxo_span_is_finite(y) ? mxo_span_anything : y;
        rows->lo[i] = y.lo;
        rows->hi[i] = y.hi;
    }
    if (rows->least != NULL) {
        const int emin = 1 - mxo_format_info(q->quant->element)->bias;
        const uint64_t row = first / rows->k;
        const uint64_t blocks = layer_blocks(rows->k);
        for (uint64_t i = first % rows->k; i < first % rows->k + n;
             i += MXO_MX_BLOCK) {
            rows->least[row * blocks + i / MXO_MX_BLOCK] =
                bound_least(emin, byte[1]);
        }
    }
}

/* Finite and neither zero nor subnormal: no product with it is a NaN. */
static int is_usual(uint32_t scale)
{
    const uint32_t exponent = scale >> 23 & 0xff;

    return exponent != 0 && exponent != 0xff;
}

/* Every element under the one scale that was given. */
static void given(const layer_quant *quant, const bound_rows *rows, uint64_t n)
{
    const mxo_quant_block block = mxo_quant_block_static(
        quant->element, quant->reciprocal, 0, quant->scale);

    for (uint64_t i = 0; i < n; i++) {
        const mxo_span x = {rows->lo[i], rows->hi[i]};
        const uint32_t y[2] = {
            mxo_quant_widen(quant->element, mxo_quant_code(&block, x.lo)),
            mxo_quant_widen(quant->element, mxo_quant_code(&block, x.hi))};
        const mxo_span both = mxo_span_is_point(x) || (mxo_span_is_finite(x) &&
                                                       is_usual(block.factor))
                                  ? mxo_span_hull(y, 2)
                                  : mxo_span_anything;
        rows->lo[i] = both.lo;
        rows->hi[i] = both.hi;
    }
}

/* Under a global scale that is not usual not even points are known. */
static void forget(const bound_rows *rows, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        rows->lo[i] = mxo_span_anything.lo;
        rows->hi[i] = mxo_span_anything.hi;
    }
}

static void groups(const quantiser *q, const bound_rows *rows, uint64_t n_rows,
                   uint64_t size)
{
    for (uint64_t r = 0; r < n_rows; r++) {
        for (uint64_t i = 0; i < rows->k; i += size) {
            const uint64_t left = rows->k - i;
            group(q, rows, r * rows->k + i, left < size ? left : size);
        }
    }
}

void bound_quantise(const layer_quant *quant, mxo_format from,
                    const bound_rows *rows, uint64_t n_rows)
{
    const int is_nvfp4 = quant->op == MXO_P_QUANT_NVFP4;
    const quantiser q = {
        quant, is_nvfp4 ? mxo_quant_rule_by_name("flashinfer") : quant->rule,
        from};

    if (quant->op == MXO_P_QUANT_NONE) {
        return;
    }
    if (quant->op == MXO_P_QUANT_STATIC) {
        given(quant, rows, n_rows * rows->k);
    } else if (is_nvfp4 &&
               !(is_usual(quant->scale) && quant->scale >> 31 == 0)) {
        forget(rows, n_rows * rows->k);
    } else {
        groups(&q, rows, n_rows, is_nvfp4 ? LAYER_NVFP4_BLOCK : quant->group);
    }
}
