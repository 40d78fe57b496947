/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of dot.h's matrices where they lie. */
#ifndef MXO_EMU_DOT_OPERAND_H
#define MXO_EMU_DOT_OPERAND_H

#include "dot.h"

/* Code number i of the whole matrix. */
uint64_t mxo_dot_code(const mxo_dot_matrix *m, uint64_t i);

/* Blocks of a row. */
uint64_t mxo_dot_blocks(const mxo_dot_matrix *m);

/* Exponent of the scale of block b of a row; *nan is set by the byte 255. */
int mxo_dot_scale_exp(const mxo_dot_matrix *m, uint64_t row, uint64_t b,
                      int *nan);

/* mxo_dot_mac by numbers instead of planes. */
void mxo_dot_mac_whole(mxo_dot *d, const mxo_dot_block *a,
                       const mxo_dot_block *b);

#endif
