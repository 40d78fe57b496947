/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other choices of experts for a call, as legal as its own: what a graph was
 * captured on, or the call before it made, must not be how it goes on routing.
 */
#ifndef MXO_REROUTE_H
#define MXO_REROUTE_H

#include "device_buffers.h"

/* Choices instead of these: all tokens choose the same experts, or all experts
   get as many rows; a token's are distinct.  has_map: only ids that occur are
   known to be legal.  0: there are no others. */
int reroute_choices(const host_tensor *ids, int has_map, int is_crowd,
                    int32_t *to);
/* Local experts in the other order; 0: that is the same one. */
int reroute_map(const host_tensor *map, int32_t *to);

/* Owned; NULL: there are no others. */
typedef struct rerouted {
    int32_t *ids; /* of topk_ids */
    int32_t *map; /* of expert_map */
} rerouted;

/* Other choices, which of them is drawn by the call, and another map.  0: the
   call has neither. */
int reroute_draw(const stage *g, rerouted *r);
void reroute_clear(rerouted *r);

/* All inputs noise, or as they are to be; but these. */
mxo_status reroute_send(stage *g, int noise, const rerouted *r, mxo_text why);

#endif
