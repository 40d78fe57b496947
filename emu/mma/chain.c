/* SPDX-License-Identifier: Apache-2.0 */
/* See chain.h. */
#include "chain.h"

mma_chain mma_chain_from(const mxo_mma *m, uint64_t promote, uint32_t start)
{
    const mma_chain c = {m, promote, 0, start, promote == 0 ? start : 0};

    return c;
}

void mma_chain_step(mma_chain *c, mxo_mma_operand a, mxo_mma_operand b)
{
    c->sum = mxo_mma_step(c->m, a, b, c->sum);
    c->done += c->m->step;
    if (c->promote != 0 && c->done % c->promote == 0) {
        c->total = mxo_f32_add(c->total, c->sum);
        c->sum = 0;
    }
}

/* Total of the chain, with the sum since the last promotion. */
uint32_t mma_chain_value(const mma_chain *c)
{
    if (c->promote == 0) {
        return c->sum;
    }
    return c->done % c->promote == 0 ? c->total : mxo_f32_add(c->total, c->sum);
}
