/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dequant.mx_table, quant.requant_table, layout.tp_pad: all of one input with
 * all of another.  C that CUDA C++ and HIP C++ also accept; beside what
 * dequant_dialect.h wants, who includes it defines DEQUANT_F16(x), the code of
 * a number of binary16.
 */
#ifndef BACKENDS_TABLES_H
#define BACKENDS_TABLES_H

#include "dequant_dialect.h"

typedef enum tables_op {
    TABLES_DEQUANT,
    TABLES_REQUANT,
    TABLES_TP_PAD,
    TABLES_N_OPS
} tables_op;

typedef struct tables_job {
    const uint8_t *row, *col; /* inputs, one of each row and column */
    uint8_t *y, *more;        /* outputs; more: status, or the alignment */
    uint64_t rows, cols;
    uint32_t op;
    uint32_t flags, to;    /* DIALECT_... */
    uint64_t align, block; /* of TP_PAD */
} tables_job;

/* Twice the number of an E2M1 code without its sign. */
CODES_FN uint32_t tables_halves(uint32_t code)
{
    const uint32_t m = code & 7;

    return m < 4 ? m : (2 + (m & 1)) << ((m >> 1) - 1);
}

CODES_FN float tables_e2m1(uint32_t code)
{
    const float x = 0.5f * (float)tables_halves(code);

    return (code & 8) != 0 ? -x : x;
}

/* A double's power of two, e within its normal range. */
CODES_FN double tables_power(int e)
{
    const uint64_t bits = (uint64_t)(e + 1023) << 52;
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* What became of a number other than zero under a byte below 255. */
CODES_FN uint32_t tables_fate(const tables_job *a, double product, float y)
{
    const int is_f16 = a->to == DIALECT_TO_F16;
    const uint32_t most = a->to == DIALECT_TO_F32    ? 0x7f7fffffu
                          : a->to == DIALECT_TO_BF16 ? 0x7f7f0000u
                                                     : 0x477fe000u;
    const double large = product < 0 ? -product : product;
    const float size = y < 0 ? -y : y;
    const int tiny = (double)size < tables_power(is_f16 ? -14 : -126);

    if (large > (double)dialect_float(most) || y - y != 0) {
        return 4;
    }
    if (y == 0) {
        return 3;
    }
    return (double)y == product ? (uint32_t)tiny : tiny ? 7 : 2;
}

CODES_FN void tables_dequant(const tables_job *a, uint64_t i)
{
    const uint32_t code = a->col[i % a->cols] & 15u;
    const int byte = a->row[i / a->cols];
    const float x = tables_e2m1(code);
    const float factor = dialect_factor(a->flags, (int)a->to, byte);
    const float y = dialect_value(a->flags, (int)a->to, x, factor, byte);
    const uint32_t bits = dialect_bits(y);
    const uint16_t half =
        (uint16_t)(a->to == DIALECT_TO_BF16 ? bits >> 16 : DEQUANT_F16(y));

    if (a->to == DIALECT_TO_F32) {
        memcpy(a->y + 4 * i, &bits, sizeof bits);
    } else {
        memcpy(a->y + 2 * i, &half, sizeof half);
    }
    a->more[i] =
        (uint8_t)(byte == 255 ? 5
                  : x == 0    ? 6
                              : tables_fate(
                                    a, (double)x * tables_power(byte - 127), y));
}

/* A code over a power of two: how many ties its size reaches. */
CODES_FN uint32_t tables_requant(uint32_t code, uint32_t offset)
{
    const double ties[7] = {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5};
    const double size =
        0.5 * (double)tables_halves(code) * tables_power(-(int)offset);
    uint32_t m = 0;

    while (m < 7 && size >= ties[m]) {
        m++;
    }
    return code == 8 ? 0 : m | (code & 8);
}

CODES_FN uint64_t tables_u64(const uint8_t *p, uint64_t i)
{
    uint64_t x;

    memcpy(&x, p + 8 * i, sizeof x);
    return x;
}

CODES_FN uint64_t tables_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

CODES_FN uint64_t tables_multiple(uint64_t a, uint64_t b)
{
    uint64_t m = a;

    while (m % b != 0) {
        m += a;
    }
    return m;
}

CODES_FN void tables_tp_pad(const tables_job *a, uint64_t i)
{
    const uint64_t dim = tables_u64(a->row, i / a->cols);
    const uint64_t tp = tables_u64(a->col, i % a->cols);
    uint64_t m = tables_multiple(tables_multiple(a->align, a->block), tp);
    const uint64_t part = tables_up(dim, m) / tp;

    m = part % a->align == 0 ? m : tables_up(part, a->align) * tp;
    const uint64_t per_rank = tables_up(dim, m) / tp;

    memcpy(a->more + 8 * i, &m, sizeof m);
    memcpy(a->y + 8 * i, &per_rank, sizeof per_rank);
}

/* Entry i of rows x cols. */
CODES_FN void tables_put(const tables_job *a, uint64_t i)
{
    if (a->op == TABLES_DEQUANT) {
        tables_dequant(a, i);
    } else if (a->op == TABLES_REQUANT) {
        a->y[i] =
            (uint8_t)tables_requant(a->col[i % a->cols], a->row[i / a->cols]);
    } else {
        tables_tp_pad(a, i);
    }
}

#endif
