/* SPDX-License-Identifier: Apache-2.0 */
/* From a call of an operation of tables.h to its job. */
#ifndef BACKENDS_TABLES_CALL_H
#define BACKENDS_TABLES_CALL_H

#include "call_read.h"
#include "tables.h"

/* Names of the inputs of rows and columns, and of the outputs. */
typedef struct tables_row {
    const char *op, *row, *col, *y, *more;
    uint32_t bytes; /* of an input's element */
} tables_row;

static const tables_row tables_rows[TABLES_N_OPS] = {
    {"dequant.mx_table", "scale", "code", "y", "status", 1},
    {"quant.requant_table", "offset", "code", "y", NULL, 1},
    {"layout.tp_pad", "dim", "tp", "per_rank", "alignment", 8},
};

/* An output of rows x cols elements of so many bytes. */
static inline uint8_t *tables_output(const mxo_call *call, const tables_job *a,
                                     const char *name, uint64_t bytes)
{
    const mxo_tensor *const t = call_out(call, name);

    return t != NULL && t->rank == 2 && t->shape[0] == a->rows &&
                   t->shape[1] == a->cols &&
                   t->n_bytes == a->rows * a->cols * bytes
               ? tensor_address(t)
               : NULL;
}

static inline mxo_status tables_params(const mxo_call *call, tables_job *a,
                                       mxo_text why)
{
    const dialect_row *const dialect = dialect_of(call_text(call, "rule"));
    const double align = call_number(call, "align");
    const double block = call_number(call, "block");

    if (a->op == TABLES_TP_PAD) {
        a->align = (uint64_t)align;
        a->block = (uint64_t)block;
        return align >= 1 && block >= 1 && align <= 65536 && block <= 65536
                   ? MXO_OK
                   : call_refuse(call, MXO_E_PARAM, why,
                                 "block and align are 1 to 65536");
    }
    if (a->op == TABLES_REQUANT) {
        return MXO_OK;
    }
    a->to = call_is(call, "to", "f32")   ? DIALECT_TO_F32
            : call_is(call, "to", "f16") ? DIALECT_TO_F16
                                         : DIALECT_TO_BF16;
    if (dialect == NULL) {
        return call_refuse(call, MXO_E_UNSUPPORTED, why, "no such rule here");
    }
    a->flags = dialect->flags;
    return dialect_may(a->flags, 1, (int)a->to)
               ? MXO_OK
               : call_refuse(call, MXO_E_PARAM, why,
                             "the rule does not turn e2m1 into this type");
}

static inline mxo_status tables_make(const mxo_call *call, tables_job *a,
                                     mxo_text why)
{
    memset(a, 0, sizeof *a);
    while (a->op < TABLES_N_OPS &&
           strcmp(tables_rows[a->op].op, call->op) != 0) {
        a->op++;
    }
    if (a->op == TABLES_N_OPS) {
        return call_refuse(call, MXO_E_UNSUPPORTED, why, "no such operation");
    }
    const tables_row *const names = &tables_rows[a->op];
    const mxo_tensor *const row = call_in(call, names->row);
    const mxo_tensor *const col = call_in(call, names->col);
    const uint64_t wide = call_is(call, "to", "f32") ? 4 : 2;
    const uint64_t bytes = a->op == TABLES_TP_PAD    ? 8
                           : a->op == TABLES_REQUANT ? 1
                                                     : wide;

    MXO_TRY(tables_params(call, a, why));
    if (row == NULL || col == NULL) {
        return call_refuse(call, MXO_E_SHAPE, why, "an input is missing");
    }
    a->rows = row->n_bytes / names->bytes;
    a->cols = col->n_bytes / names->bytes;
    a->row = tensor_address(row);
    a->col = tensor_address(col);
    a->y = tables_output(call, a, names->y, bytes);
    a->more = names->more == NULL
                  ? a->y
                  : tables_output(call, a, names->more,
                                  a->op == TABLES_TP_PAD ? 8 : 1);
    return a->y == NULL || a->more == NULL
               ? call_refuse(call, MXO_E_SHAPE, why, "outputs do not fit")
               : MXO_OK;
}

/* The inputs' numbers, which are given in the host's memory. */
static inline mxo_status tables_check(const mxo_call *call, const tables_job *a,
                                      const uint8_t *row, const uint8_t *col,
                                      mxo_text why)
{
    for (uint64_t i = 0; a->op == TABLES_REQUANT && i < a->cols; i++) {
        if (col[i] > 15) {
            return call_refuse(call, MXO_E_SHAPE, why,
                               "a code is above 15, which E2M1 does not have");
        }
    }
    for (uint64_t i = 0; a->op == TABLES_TP_PAD && i < a->rows + a->cols; i++) {
        uint64_t n;

        memcpy(&n, i < a->rows ? row + 8 * i : col + 8 * (i - a->rows),
               sizeof n);
        if (i < a->rows ? n > UINT64_C(1) << 31 : n < 1 || n > 65536) {
            return call_refuse(call, MXO_E_PARAM, why,
                               "a dimension or a number of ranks is out of "
                               "range");
        }
    }
    return MXO_OK;
}

#endif
