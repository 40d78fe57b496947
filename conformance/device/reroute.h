/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other choices of experts for a call, as legal as its own: what a graph was
 * captured on, or the call before it made, must not be how it goes on routing.
 */
#ifndef MXO_REROUTE_H
#define MXO_REROUTE_H

#include "base/tensors.h"

/* The tensors of a call that say who computes what. */
int reroute_is_choice(const host_tensor *t);
int reroute_is_map(const host_tensor *t);

/* Choices instead of these: all tokens choose the same experts, or all experts
   get as many rows; a token's are distinct.  has_map: only ids that occur are
   known to be legal.  0: there are no others. */
int reroute(const host_tensor *ids, int has_map, int is_crowd, int32_t *to);

#endif
