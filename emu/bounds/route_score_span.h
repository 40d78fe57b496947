/* SPDX-License-Identifier: Apache-2.0 */
/* Scores and softmaxes of a router as spans: see route_span.h. */
#ifndef MXO_EMU_BOUNDS_ROUTE_SCORE_SPAN_H
#define MXO_EMU_BOUNDS_ROUTE_SCORE_SPAN_H

#include "../route/route.h"
#include "glu_span.h"

/* The spans of e^(x - max) / sum over n finite logits (-Inf: 0). */
void mxo_route_softmax_span(int kernel, const uint32_t *x, uint32_t n,
                            mxo_span *p);
/* The span of 0.5 tanh(0.5 x) + 0.5, 0 or 1 where it saturates. */
mxo_span mxo_route_tanh_span(int kernel, uint32_t x);
/* The span of ln of the sum of e^(x - max) over n logits, plus max. */
mxo_span mxo_route_lse_span(int kernel, const uint32_t *x, uint32_t n);
/* The spans of all scores; t->score holds them as declared. */
void mxo_route_score_span(const route_token *t, mxo_span *score);

#endif
