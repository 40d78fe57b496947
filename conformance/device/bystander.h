/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another call between the capture of a graph and its launches: what a backend
 * keeps in one place of the call that came last is not the graph's any more.
 */
#ifndef MXO_BYSTANDER_H
#define MXO_BYSTANDER_H

#include "made_call.h"

mxo_status bystander_capture(stage *g, bystander *o, mxo_text why);
/* The larger call plainly: memory that grows by it is not where the graph has
   it. */
void bystander_grow(stage *g, int run);
void bystander_close(const subject *s, bystander *o);

#endif
