/* SPDX-License-Identifier: Apache-2.0 */
/* See call_before.h. */
#include "call_before.h"

#include "checked_run.h"

#include <stdio.h>
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

void call_before_add_words(const char *words, const call_before *b,
                           mxo_status status, run_checks *d, mxo_text why)
{
    char text[SUBJECT_TEXT];

    (void)snprintf(text, sizeof text, "%s: %s", words, b->name);
    (void)snprintf(d->beside, sizeof d->beside, "%s", b->call.op);
    checked_add_words(text, status, d, why);
}
