/* SPDX-License-Identifier: Apache-2.0 */
/* Experts that the tokens of a layer choose: distinct ones, unless the case
   says ids=repeated. */
#include "fills.h"

/* From slot to slot: prime to the number of experts, so that ids differ. */
static uint64_t stride_of(uint64_t experts)
{
    return experts % 3 != 0 ? 3 : experts % 5 != 0 ? 5 : 1;
}

/* Where slot k of a token lies, counted from its first: neighbours share one
   where ids may repeat. */
static uint64_t step_of(const test_case *c, uint64_t k)
{
    return c->repeats ? k / 2 : k;
}

/* Ids of a token differ, unless they may repeat; the last expert and every
   sixth get no token from most draws.  Under a map tokens begin with one expert
   after the other, so that some meet one that is here. */
void fill_distinct_ids(const test_case *c, host_tensor *t, prng *rng)
{
    const int is_mapped = case_value(c, "map")[0] == '1';
    const uint64_t experts = case_dim(c, is_mapped ? "global" : "experts");
    const uint64_t topk = t->shape[t->rank - 1];
    const uint64_t stride = stride_of(experts);
    const uint64_t n = tensor_elems(t);
    uint64_t first = 0;

    for (uint64_t i = 0; i < n; i++) {
        if (i % topk == 0) {
            first = is_mapped && i > 0 ? first + 1 : prng_below(rng, experts);
        }
        tensor_store(t, i,
                     experts == 0
                         ? 0 /* a layer that must be refused */
                         : (first + step_of(c, i % topk) * stride) % experts);
    }
}

/* Experts that ids are drawn from: those that are here, unless a token has more
   slots, which is legal under a map. */
static uint64_t n_enough(const test_case *c, uint64_t topk)
{
    const uint64_t experts = case_dim(c, "experts");

    return topk > experts && !c->repeats && case_value(c, "map")[0] == '1'
               ? case_dim(c, "global")
               : experts;
}

/* All tokens to one expert, and to its neighbours with their other slots; where
   ids may repeat, every slot of them. */
void fill_one_expert(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t topk = t->shape[t->rank - 1];
    const uint64_t experts = n_enough(c, topk);
    const uint64_t chosen = prng_below(rng, experts);
    const uint64_t n = tensor_elems(t);

    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i,
                     c->repeats || experts == 0
                         ? chosen
                         : (chosen + i % topk) % experts);
    }
}

/* As fill_distinct_ids(), but the last expert gets no token if the others are
   enough for a token's slots. */
void fill_idle_ids(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t topk = t->shape[t->rank - 1];
    const uint64_t experts = n_enough(c, topk);
    const int is_short = !c->repeats && topk >= experts;
    const uint64_t busy = experts < 2 ? 1 : is_short ? experts : experts - 1;
    const uint64_t n = tensor_elems(t);
    const uint64_t first = prng_below(rng, busy);

    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i,
                     (first + i / topk * 2 + step_of(c, i % topk)) % busy);
    }
}

/* Pairs go round the even experts; of the odd ones the first, the third and so
   on have one row, of a token's first slot, and the others none.  Where slots
   are more than even experts, or may repeat, as fill_distinct_ids(). */
void fill_thin_ids(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t topk = t->shape[t->rank - 1];
    const uint64_t experts = n_enough(c, topk);
    const uint64_t even = (experts + 1) / 2;
    const uint64_t n = tensor_elems(t);

    if (c->repeats || topk > even) {
        fill_distinct_ids(c, t, rng);
        return;
    }
    const uint64_t start = n > 0 ? prng_below(rng, n / topk) : 0;
    for (uint64_t i = 0; i < n; i++) {
        tensor_store(t, i, i % even * 2);
    }
    for (uint64_t e = 1; e < experts && e / 4 < n / topk; e += 4) {
        tensor_store(t, (start + e / 4) % (n / topk) * topk, e);
    }
}
