/* SPDX-License-Identifier: Apache-2.0 */
/* Alpha, beta and limit of a layer whose experts have their own, and whose
   they are taken for. */
#include "layer.h"

#include <math.h>
#include <string.h>

enum { TILE = 16 }; /* MK07: pairs whose constants are read together */

/* The entry of a slot's expert; w: the constant's place in the list. */
static uint64_t entry_of(const broken *b, const layer *l, uint64_t slot,
                         int expert, int w)
{
    const uint64_t first = slot / l->topk * l->topk;
    const uint64_t global = (uint64_t)broken_load_i32(l->ids, slot);

    if ((IS(MK01) && w == 0) || (IS(MK07) && slot >= TILE)) {
        return 0;
    }
    if (IS(MK02) && w == 2) {
        return global % l->experts;
    }
    if (IS(MK04)) {
        const int other = broken_expert(b, l, first);
        return other < 0 ? 0 : (uint64_t)other;
    }
    return IS(MK06) ? ((uint64_t)expert + 1) % l->experts : (uint64_t)expert;
}

void broken_read_own(layer *l)
{
    static const char *const names[] = {"gemm1_alpha", "gemm1_beta",
                                        "gemm1_clamp_limit"};
    static const char *const words[] = {"alpha", "beta", "limit"};

    for (int w = 0; w < 3; w++) {
        const int is_given = call_is(l->call, "per_expert", "all") ||
                             call_is(l->call, "per_expert", words[w]);
        l->own[w] = is_given ? call_in(l->call, names[w]) : NULL;
    }
}

int broken_reads_constant(const mxo_call *call, const char *key)
{
    if (call_text(call, "activation")[0] == '\0') {
        return 1; /* an activation alone */
    }
    if (call_is(call, "activation", "silu")) {
        return broken_knows_profile(call) && strcmp(key, "limit") == 0;
    }
    return call_is(call, "profile", "exact") ||
           (call_is(call, "profile", "TRITON_UNFUSED") &&
            strcmp(key, "beta") != 0);
}

layer_constants broken_constants(const broken *b, const layer *l, uint64_t slot,
                                 int expert)
{
    layer_constants c = l->constants;
    double *const to[] = {&c.alpha, &c.beta, &c.limit};

    for (int w = 0; w < 3; w++) {
        if (l->own[w] == NULL || (IS(MK03) && w == 1)) {
            continue;
        }
        if (IS(MK05) && w == 2 && (l->own[0] == NULL || l->own[1] == NULL)) {
            *to[w] = (double)INFINITY;
            continue;
        }
        *to[w] = broken_load(l->own[w], entry_of(b, l, slot, expert, w));
        *to[w] = IS(MK08) ? broken_bf16(*to[w]) : *to[w];
    }
    return c;
}
