/* SPDX-License-Identifier: Apache-2.0 */
/* One operand of a matrix as a real number. */
#include "operand.h"

#include <string.h>

uint64_t mxo_dot_code(const mxo_dot_matrix *m, uint64_t i)
{
    const uint8_t *bytes = m->codes;
    uint16_t u16;
    uint32_t u32;

    switch (m->format) {
    case MXO_FMT_E2M1:
        return bytes[i / 2] >> (4 * (i % 2)) & 0xf;
    case MXO_FMT_BF16:
    case MXO_FMT_F16:
        memcpy(&u16, bytes + 2 * i, sizeof u16);
        return u16;
    case MXO_FMT_F32:
        memcpy(&u32, bytes + 4 * i, sizeof u32);
        return u32;
    default:
        return bytes[i];
    }
}

uint64_t mxo_dot_blocks(const mxo_dot_matrix *m)
{
    return m->k / MXO_DOT_BLOCK + (m->k % MXO_DOT_BLOCK != 0);
}

int mxo_dot_scale_exp(const mxo_dot_matrix *m, uint64_t row, uint64_t b,
                      int *nan)
{
    if (m->scale == NULL) {
        *nan = 0;
        return 0;
    }
    const uint8_t byte = m->scale[row * mxo_dot_blocks(m) + b];

    *nan = byte == 255;
    return (int)byte - 127;
}

mxo_real mxo_dot_block_scale(const mxo_dot_matrix *m, uint64_t row, uint64_t b)
{
    int nan;
    const int exp = mxo_dot_scale_exp(m, row, b, &nan);
    const mxo_real x = {1, exp, nan ? MXO_CLASS_NAN : MXO_CLASS_FINITE, 0, 0};

    return x;
}

mxo_real mxo_dot_element(const mxo_dot_matrix *m, uint64_t row, uint64_t i)
{
    int nan;
    const int exp = mxo_dot_scale_exp(m, row, i / MXO_DOT_BLOCK, &nan);
    mxo_real x = mxo_format_decode(m->format, mxo_dot_code(m, row * m->k + i));

    x.cls = nan ? MXO_CLASS_NAN : x.cls;
    return mxo_real_scale(x, exp);
}
