/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gated unit on a box: what it can give when its operands are known only to
 * lie between ends (docs/design/007-exact-sums.md has the proofs).
 */
#ifndef MXO_EMU_ACT_GLU_SPAN_H
#define MXO_EMU_ACT_GLU_SPAN_H

#include "span.h"

#include <mxoracle/act.h>

/* Whether the published kernel's exponential is not the declared one. */
int mxo_glu_is_open(const mxo_glu *unit);

/*
 * A span that holds every mxo_act_glu(unit, g, u) with g in gate, u in up,
 * and what a kernel of an open unit may have in its place, so that a point
 * need not give a point.  The operands' ends are numbers of unit->from, the
 * result's of unit->to: BF16, F16 or F32, all as binary32 patterns.
 */
mxo_span mxo_glu_span(const mxo_glu *unit, mxo_span gate, mxo_span up);

#endif
