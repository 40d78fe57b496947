/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of gemm.mx: codes and scale bytes as rows of doubles, exactly. */
#ifndef CPU_GEMM_READ_H
#define CPU_GEMM_READ_H

#include "cpu.h"
#include "element.h"
#include "gemm.h"

typedef struct cpu_operand {
    const mxo_tensor *codes;
    const uint8_t *scale;       /* NULL: none */
    const cpu_element *element; /* NULL: a wide type */
    size_t rows;
    size_t k;
    double pair[256][2]; /* E2M1: both numbers of a byte; else one */
} cpu_operand;

/* Names of the tensors and of the parameter that says their format. */
mxo_status cpu_operand_read(const mxo_call *call, const char *codes,
                            const char *scale, const char *format,
                            cpu_operand *o, mxo_text why);

/* Number i of a tensor of float32, BF16 or FP16. */
double cpu_wide_value(const mxo_tensor *t, size_t i);

/* One row as numbers, its scales in them, or (unit not NULL) apart, one for
   each block; and what a certificate needs to know of it. */
void cpu_operand_row(const cpu_operand *o, size_t row, double *x, double *unit);
cpu_gemm_line cpu_operand_line(const cpu_operand *o, size_t row,
                               const double *x);

#endif
