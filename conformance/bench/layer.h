/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The large form of a layer, or of one of its GEMMs, on a device: its experts
 * several times over, so that expert e + n E has expert e's weights, and its
 * tokens again and again, each time with other copies of their experts.  Every
 * output must be the small layer's, or within its bounds where those judge it.
 */
#ifndef MXO_BENCH_LAYER_H
#define MXO_BENCH_LAYER_H

#include "bench.h"

typedef struct bench_layer {
    uint64_t experts; /* of the case; 0: it is no layer */
    uint64_t by_experts;
    uint64_t by_tokens;
    uint64_t active; /* experts of the large form that have tokens */
} bench_layer;

/* Whether the case is a layer or one of its GEMMs, without a map; *l says how
 * it grows. */
int bench_layer_of(bench_layer *l, const test_case *c, const bench_options *o);
/* How often input i is repeated. */
uint64_t bench_layer_grows(const bench_layer *l, const test_case *c, int i);
/* Ids of the large form, to where t is; small has those of the case. */
int bench_layer_ids(bench_layer *l, const test_case *c,
                    const host_tensor *small, const mxo_tensor *t, subject *s,
                    mxo_text why);

/* Yardsticks of the layer's speed: bytes of the active experts' weights and
   scales, and the device's own GEMM where experts have many rows. */
void bench_layer_rate(const bench_layer *l, const test_case *c, subject *s,
                      bench_row *row);

#endif
