/* SPDX-License-Identifier: Apache-2.0 */
/* Activations before a GEMM: by blocks of 32, by groups, or through FP4 and
   back to 16 bits. */
#include "layer.h"

#include <string.h>

uint64_t layer_blocks(uint64_t k)
{
    return k / MXO_MX_BLOCK + (k % MXO_MX_BLOCK != 0);
}

uint32_t layer_load(mxo_format format, const void *codes, uint64_t i)
{
    const uint8_t *at = codes;
    uint32_t u32;
    uint16_t u16;

    if (format == MXO_FMT_F32) {
        memcpy(&u32, at + 4 * i, sizeof u32);
        return u32;
    }
    memcpy(&u16, at + 2 * i, sizeof u16);
    return mxo_quant_widen(format, u16);
}

/* Quantisation of one row: source of elements, destination of codes. */
typedef struct row_job {
    const layer_quant *quant;
    const layer_source *src;
    uint64_t row;
    uint8_t *q;
    uint8_t *s;
} row_job;

static void put_code(const row_job *j, uint64_t i, uint8_t code)
{
    const uint64_t at = j->row * j->src->k + i;

    if (j->quant->element == MXO_FMT_E2M1) {
        mxo_store_nibble(j->q, at, code);
    } else {
        j->q[at] = code;
    }
}

static uint32_t element(const row_job *j, uint64_t i)
{
    return layer_load(j->src->from, j->src->codes, j->row * j->src->k + i);
}

/* Elements first .. end of a row under one byte, which every block of 32 in
   them gets. */
static void group(const row_job *j, uint64_t first, uint64_t end)
{
    const mxo_quant_rule *rule = j->quant->rule;
    uint32_t amax = mxo_quant_amax_start(rule);

    for (uint64_t i = first; i < end; i++) {
        const uint32_t x = element(j, i);
        amax = mxo_quant_amax(rule, amax, &x, 1);
    }
    const uint8_t byte = mxo_quant_scale_byte(rule, j->quant->element, amax);
    const mxo_quant_block block =
        mxo_quant_block_byte(rule, j->quant->element, -1, amax, byte);

    for (uint64_t i = first; i < end; i++) {
        put_code(j, i, mxo_quant_code(&block, element(j, i)));
        j->s[j->row * layer_blocks(j->src->k) + i / MXO_MX_BLOCK] = byte;
    }
}

/* The same through 16 bits: values, not codes, go to q. */
static void qdq(const row_job *j, uint64_t first, uint64_t end)
{
    const mxo_quant_rule *rule = j->quant->rule;
    const mxo_format wide = j->src->from;
    const uint64_t n = end - first;
    uint32_t x[MXO_MX_BLOCK] = {0};
    uint8_t codes[MXO_MX_BLOCK];
    uint8_t byte = 0;

    for (uint64_t i = 0; i < n; i++) {
        x[i] = element(j, first + i);
    }
    if (j->quant->quark_hip) {
        byte = mxo_quant_quark_hip_byte(
            wide, mxo_quant_amax(rule, mxo_quant_amax_start(rule), x, n));
        for (uint64_t i = 0; i < n; i++) { /* the GPU's NaN is positive */
            const int nan = (x[i] & 0x7fffffffu) > 0x7f800000u;
            codes[i] =
                mxo_quant_quark_hip_code(wide, byte, nan ? 0x7fc00000u : x[i]);
        }
    } else {
        byte = mxo_quant_mx(rule, MXO_FMT_E2M1, -1, codes, x, n);
    }
    for (uint64_t i = 0; i < n; i++) {
        const uint16_t y = (uint16_t)mxo_quant_qdq_value(wide, codes[i], byte,
                                                         !j->quant->quark_hip);
        memcpy(j->q + 2 * (j->row * j->src->k + first + i), &y, sizeof y);
    }
}

/* Every element under the one scale that was given. */
static void given(const row_job *j, uint64_t first, uint64_t end)
{
    const mxo_quant_block block = mxo_quant_block_static(
        j->quant->element, j->quant->reciprocal, 0, j->quant->scale);

    for (uint64_t i = first; i < end; i++) {
        put_code(j, i, mxo_quant_code(&block, element(j, i)));
    }
}

/* Code times block scale has 6 bits and is exact in BF16. */
static void nvfp4(const row_job *j, uint64_t first, uint64_t end)
{
    uint32_t x[LAYER_NVFP4_BLOCK] = {0};
    uint8_t codes[LAYER_NVFP4_BLOCK];

    for (uint64_t i = first; i < end; i++) {
        x[i - first] = element(j, i);
    }
    const mxo_real scale = mxo_format_decode(
        MXO_FMT_E4M3FN, mxo_quant_nvfp4(&j->quant->nvfp4, j->quant->scale,
                                        codes, x, (size_t)(end - first)));

    for (uint64_t i = first; i < end; i++) {
        const uint16_t y = (uint16_t)mxo_format_round(
            MXO_FMT_BF16,
            mxo_real_mul(mxo_format_decode(MXO_FMT_E2M1, codes[i - first]),
                         scale));
        memcpy(j->q + 2 * (j->row * j->src->k + i), &y, sizeof y);
    }
}

typedef struct way_row {
    mxo_profile_choice op;
    void (*part)(const row_job *j, uint64_t first, uint64_t end);
    uint64_t step; /* elements at once; 0: the recipe's group */
    int has_bytes; /* a scale byte per block of 32 */
    int is_narrow; /* numbers of the source's type instead of codes */
    int is_bf16;   /* numbers in BF16 */
} way_row;

static const way_row ways[] = {
    {MXO_P_QUANT_MX, group, 0, 1, 0, 0},
    {MXO_P_QUANT_GROUP, group, 0, 1, 0, 0},
    {MXO_P_QUANT_QDQ, qdq, 0, 0, 1, 0},
    {MXO_P_QUANT_STATIC, given, MXO_MX_BLOCK, 0, 0, 0},
    {MXO_P_QUANT_NVFP4, nvfp4, LAYER_NVFP4_BLOCK, 0, 0, 1},
};

mxo_dot_matrix layer_quantise(const layer_quant *quant, const layer_source *src,
                              uint8_t *q, uint8_t *s)
{
    const mxo_dot_matrix as_is = {src->from, src->codes, src->scale, src->k};
    const way_row *way = ways;
    row_job j = {quant, src, 0, q, s};

    if (quant->op == MXO_P_QUANT_NONE) {
        return as_is;
    }
    while (way->op != quant->op) {
        way++;
    }
    const uint64_t step = way->step == 0 ? quant->group : way->step;

    for (; j.row < src->rows; j.row++) {
        for (uint64_t i = 0; i < src->k; i += step) {
            way->part(&j, i, src->k - i < step ? src->k : i + step);
        }
    }
    const mxo_dot_matrix quantised = {way->is_narrow ? src->from
                                      : way->is_bf16 ? MXO_FMT_BF16
                                                     : quant->element,
                                      q, way->has_bytes ? s : NULL, src->k};

    return quantised;
}
