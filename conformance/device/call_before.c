/* SPDX-License-Identifier: Apache-2.0 */
/* See call_before.h. */
#include "call_before.h"

#include <string.h>

call_before *call_before_drawn(const stage *g)
{
    const subject *s = g->s;

    return s->n_before == 0
               ? NULL
               : s->before[(launch_hash(g) >> 22) % (uint64_t)s->n_before];
}

mxo_status call_before_place(stage *g, subject *s, call_before *b, mxo_text why)
{
    b->is_made = 1;
    return stage_place_call(g, s, &b->call, b->out, 0, why);
}

mxo_status call_before_make(subject *s, call_before *b, mxo_text why)
{
    subject unfenced = *s; /* a read beyond its inputs is its own case's */
    run_checks unused;
    stage g;

    unfenced.host_align = 0;
    memset(&unused, 0, sizeof unused);
    mxo_status status = call_before_place(&g, &unfenced, b, why);

    status = status == MXO_OK ? launch_make(&g, 0, 1, &unused, why) : status;
    b->is_answered =
        status == MXO_OK && stage_fetch_outputs(&g, b->out, why) == MXO_OK;
    stage_release(&g);
    s->n_placed = unfenced.n_placed;
    return status;
}
