/* SPDX-License-Identifier: Apache-2.0 */
/* Which tokens an edit of a layer's call can reach at all. */
#ifndef MXO_LAYER_REACH_H
#define MXO_LAYER_REACH_H

#include "judge/judge.h"

/* Can inputs that were edited so change every token that is wrong?  If not,
   the oracle need not be asked. */
int layer_reaches(const evidence *e, const tensor_set *was,
                  const tensor_set *edited);

#endif
