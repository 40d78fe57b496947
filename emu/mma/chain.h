/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One accumulator of a matrix instruction over ascending k, and the points
 * declared at which it is added to a binary32 register and starts again.
 */
#ifndef MXO_EMU_MMA_CHAIN_H
#define MXO_EMU_MMA_CHAIN_H

#include <mxoracle/mma.h>

typedef struct mma_chain {
    const mxo_mma *m;
    uint64_t promote; /* 0: never */
    uint64_t done;    /* products so far */
    uint32_t total;
    uint32_t sum;
} mma_chain;

mma_chain mma_chain_from(const mxo_mma *m, uint64_t promote, uint32_t start);
void mma_chain_step(mma_chain *c, mxo_mma_operand a, mxo_mma_operand b);
uint32_t mma_chain_value(const mma_chain *c);

#endif
