/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A router whose exponential, order of sums and divisions are the kernel's
 * own: which choices scores within their bounds justify, and between which
 * ends the weights of a choice lie (docs/ops/route.topk.md, Bounds).
 */
#ifndef MXO_EMU_BOUNDS_ROUTE_SPAN_H
#define MXO_EMU_BOUNDS_ROUTE_SPAN_H

#include <mxoracle/route.h>

/*
 * picked: the ids that a kernel chose for the token, top_k + shared of them.
 * ids becomes picked if some scores within their bounds lead there, else what
 * mxo_route_token() chooses; lo and hi become the ends of the weights of
 * these ids, codes of route->to.  logits, given: as mxo_route_token().
 */
void mxo_route_token_span(const mxo_route *route, const uint32_t *logits,
                          const int32_t *given, const int32_t *picked,
                          int32_t *ids, uint32_t *lo, uint32_t *hi);

#endif
