/* SPDX-License-Identifier: Apache-2.0 */
/* See gemm_read.h.  E2M1 bytes go through a table of pairs. */
#include "gemm_read.h"

#include "number.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 32 };

static double scale_value(uint8_t byte)
{
    return byte == 255 ? (double)NAN : cpu_pow2((int)byte - 127);
}

double cpu_wide_value(const mxo_tensor *t, size_t i)
{
    const uint8_t *bytes = cpu_data(t);
    uint16_t half;
    float single;

    if (t->dtype == MXO_F32) {
        memcpy(&single, bytes + 4 * i, sizeof single);
        return (double)single;
    }
    memcpy(&half, bytes + 2 * i, sizeof half);
    return (double)(t->dtype == MXO_BF16 ? cpu_from_bf16(half)
                                         : cpu_from_f16(half));
}

/* One block of a row, without its scale. */
static void decode_block(const cpu_operand *o, size_t at, size_t n, double *x)
{
    const uint8_t *bytes = cpu_data(o->codes);

    if (o->element == NULL) {
        for (size_t i = 0; i < n; i++) {
            x[i] = cpu_wide_value(o->codes, at + i);
        }
    } else if (o->element->bits == 4) {
        for (size_t i = 0; i < n; i += 2) {
            memcpy(x + i, o->pair[bytes[(at + i) / 2]], 2 * sizeof *x);
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            x[i] = o->pair[bytes[at + i]][0];
        }
    }
}

void cpu_operand_row(const cpu_operand *o, size_t row, double *x, double *unit)
{
    for (size_t k = 0; k < o->k; k += BLOCK) {
        const size_t at = row * cpu_blocks_of(o->k) + k / BLOCK;
        const size_t n = o->k - k < BLOCK ? o->k - k : BLOCK;
        const double s = o->scale == NULL ? 1 : scale_value(o->scale[at]);

        decode_block(o, row * o->k + k, n, x + k);
        if (unit != NULL) {
            unit[k / BLOCK] = s;
        }
        for (size_t i = 0; unit == NULL && o->scale != NULL && i < n; i++) {
            x[k + i] *= s;
        }
    }
}

/* For small elements the smallest step of the smallest scale is unit enough,
   and cheaper than looking at every number. */
cpu_gemm_line cpu_operand_line(const cpu_operand *o, size_t row,
                               const double *x)
{
    int low = 254;

    if (o->element == NULL) {
        return cpu_gemm_row(x, o->k);
    }
    for (size_t b = 0; o->scale != NULL && b < cpu_blocks_of(o->k); b++) {
        const uint8_t s = o->scale[row * cpu_blocks_of(o->k) + b];
        low = s < low ? s : low;
    }
    return cpu_gemm_line_of(cpu_norm(x, o->k),
                            (o->scale == NULL ? 0 : low - 127) + 1 -
                                o->element->bias - o->element->mbits);
}

static void fill_table(cpu_operand *o)
{
    for (int i = 0; o->element != NULL && i < 256; i++) {
        const int half = o->element->bits == 4;
        const uint8_t low = (uint8_t)(half ? i & 0xf : i);
        o->pair[i][0] = (double)cpu_element_value(o->element, low);
        o->pair[i][1] =
            (double)cpu_element_value(o->element, (uint8_t)(i >> 4));
    }
}

mxo_status cpu_operand_read(const mxo_call *call, const char *codes,
                            const char *scale, const char *format,
                            cpu_operand *o, mxo_text why)
{
    const mxo_tensor *t = call_in(call, codes);
    const mxo_tensor *s = call_in(call, scale);

    if (t == NULL || t->rank != 2) {
        return cpu_fail(MXO_E_SHAPE, why, "%s is missing or has no two axes",
                        codes);
    }
    o->codes = t;
    o->element = cpu_element_of(call_text(call, format));
    o->rows = (size_t)t->shape[0];
    o->k = (size_t)t->shape[1] *
           (o->element != NULL && o->element->bits == 4 ? 2 : 1);
    o->scale = s == NULL ? NULL : cpu_data(s);
    fill_table(o);
    if (o->rows > INT_MAX / 2 || o->k > INT_MAX / 2) {
        return cpu_fail(MXO_E_UNSUPPORTED, why, "%s is too large", codes);
    }
    const uint32_t dtype = o->element != NULL
                               ? o->element->dtype
                               : cpu_float_dtype(call_text(call, format));

    MXO_TRY(cpu_want(t, codes, dtype, 2, t->shape, why));
    if (s != NULL) {
        const uint64_t shape[2] = {o->rows, cpu_blocks_of(o->k)};
        MXO_TRY(cpu_want(s, scale, MXO_E8M0, 2, shape, why));
    }
    return MXO_OK;
}
