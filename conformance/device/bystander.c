/* SPDX-License-Identifier: Apache-2.0 */
/* See bystander.h. */
#include "bystander.h"

#include "launch.h"

#include <string.h>

void bystander_close(const subject *s, bystander *o)
{
    if (o->graph != NULL) {
        s->table->graph_close(s->ctx, o->graph);
    }
    stage_release(&o->at);
    memset(o, 0, sizeof *o);
}

void bystander_grow(stage *g, int run)
{
    made_call m;
    char text[SUBJECT_TEXT];

    if (made_call_describe(g->grown, run, &m, (mxo_text){text, sizeof text}) ==
        MXO_OK) {
        (void)made_call_is_taken(g->s, &m);
    }
}

/* Make it plainly, launch it, or neither: what one place keeps of the call that
   is made last is not the first graph's.  It may be declined, but not fail.
   It is on noise, which a graph cannot refuse: it is launched where the plain
   call on noise is taken, which the one of other sizes is asked first. */
static mxo_status make(stage *g, const made_call *m, int is_other, void *graph,
                       mxo_text why)
{
    const subject *s = g->s;
    const uint64_t drawn = launch_hash(g) >> 13 & 3;
    const int is_launched = drawn == 1;
    mxo_status status = MXO_OK;

    if (drawn == 0 || m->is_refused || (is_launched && graph == NULL)) {
        return MXO_OK;
    }
    if (!is_launched || is_other) {
        status = s->table->run(s->ctx, &m->call, why);
    }
    if (status == MXO_OK && is_launched && (is_other || g->takes_noise)) {
        status = s->table->launch(s->ctx, graph, NULL, why);
    }
    const mxo_status done = s->table->synchronize(
        s->ctx, status == MXO_OK ? why : (mxo_text){NULL, 0});

    status = status == MXO_OK ? done : status;
    return made_call_is_refusal(status) ? MXO_OK : status;
}

/* The same call elsewhere, or the one of other sizes and constants, on noise.
   It may be declined; in half of the calls it is gone before the launches. */
mxo_status bystander_capture(stage *g, bystander *o, mxo_text why)
{
    subject *s = g->s;
    const uint64_t h = launch_hash(g);
    const int is_other = s->other != NULL && (h >> 11 & 1) != 0;
    const tensor_set *want = is_other ? s->other_out : g->want;
    char text[SUBJECT_TEXT];
    const mxo_text unused = {text, sizeof text};
    made_call m;

    if (!launch_is_chosen(g, 1 << 18) || want->n > MAX_OUT) {
        return MXO_OK;
    }
    if (stage_place_call(&o->at, s, is_other ? s->other : g->call, want, 1,
                         unused) != MXO_OK ||
        made_call_describe(&o->at, 0, &m, unused) != MXO_OK) {
        return MXO_OK;
    }
    if (s->table->capture(s->ctx, &m.call, &o->graph, unused) != MXO_OK) {
        o->graph = NULL;
    }
    const mxo_status status = make(g, &m, is_other, o->graph, why);

    if ((h >> 12 & 1) != 0) {
        bystander_close(s, o);
    }
    return status;
}
