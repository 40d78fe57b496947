/* SPDX-License-Identifier: Apache-2.0 */
/* See launch.h. */
#include "launch.h"

#include "alike.h"
#include "bystander.h"
#include "device_buffers.h"
#include "made_call.h"
#include "reroute.h"
#include "system/fence.h"

#include "base/memory.h"
#include "base/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Delay of a stream's work before the inputs have their bytes. */
enum { MICROSECONDS = 2000 };

static double now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* So many times.  It may be declined, but not fail. */
static mxo_status make_beside(const subject *s, const made_call *beside,
                              int n_times, mxo_text why)
{
    char text[SUBJECT_TEXT] = "";
    mxo_status status = MXO_OK;

    for (int i = 0; status == MXO_OK && i < n_times; i++) {
        status = made_call_make(s, beside, (mxo_text){text, sizeof text});
    }
    return status == MXO_OK || made_call_is_refusal(status)
               ? MXO_OK
               : say(status, why, "%s", text);
}

/* One request for both.  If the first is declined the other was not made, and
   is made alone. */
static mxo_status ask_for_both(stage *g, const made_call *m,
                               const made_call *beside, mxo_text why)
{
    const subject *s = g->s;
    const made_call *first = g->is_behind ? beside : m;
    const made_call *second = g->is_behind ? m : beside;
    const subject *first_of = g->is_behind ? g->beside->s : s;
    const subject *second_of = g->is_behind ? s : g->beside->s;
    char text[SUBJECT_TEXT] = "";

    subject_turn_to(first_of);
    s->link->ahead(s->link->state, g->is_behind ? g->n_beside : 1);
    s->link->behind(s->link->state,
                    second->graph == NULL ? &second->call : NULL, second->graph,
                    second->stream, g->is_behind ? 1 : g->n_beside,
                    second_of->is_second);
    const mxo_status status =
        made_call_make(first_of, first, (mxo_text){text, sizeof text});

    s->link->ahead(s->link->state, 1);
    subject_turn_to(s);
    return g->is_behind && made_call_is_refusal(status)
               ? made_call_make(s, m, why)
           : status != MXO_OK ? say(status, why, "%s", text)
                              : MXO_OK;
}

/* The call, and one that waits beside it. */
static mxo_status make_both(stage *g, const made_call *m,
                            const made_call *beside, mxo_text why)
{
    const subject *s = g->s;

    if (s->link != NULL) {
        return ask_for_both(g, m, beside, why);
    }
    if (g->is_behind) {
        MXO_TRY(make_beside(g->beside->s, beside, g->n_beside, why));
        return made_call_make(s, m, why);
    }
    MXO_TRY(made_call_make(s, m, why));
    return make_beside(g->beside->s, beside, g->n_beside, why);
}

/* Does the call beside it wait in the second context? */
static int is_in_two(const stage *g)
{
    return g->beside != NULL && g->beside->s->is_second;
}

/* Of two contexts that of the call that was made last is the first. */
static mxo_status synchronize(const stage *g, mxo_text why)
{
    const subject *s = g->s;

    if (!is_in_two(g)) {
        return s->table->synchronize(s->ctx, why);
    }
    const subject *const other = g->beside->s;
    const mxo_status status =
        s->table->synchronize(g->is_behind ? s->ctx : other->ctx, why);
    const mxo_status last =
        s->table->synchronize(g->is_behind ? other->ctx : s->ctx,
                              status == MXO_OK ? why : (mxo_text){NULL, 0});

    return status == MXO_OK ? last : status;
}

/* beside: NULL where no other call waits, else n_runs is 1. */
static mxo_status make_all(stage *g, const made_call *m, int n_runs,
                           const made_call *beside, run_checks *d, mxo_text why)
{
    const subject *s = g->s;
    mxo_status status = MXO_OK;

    if (!is_in_two(g)) { /* fences are of the context that is asked */
        stage_raise_fences(g);
    }
    if (s->link != NULL) {
        s->link->ahead(s->link->state, n_runs);
        n_runs = 1;
    }
    if (g->is_busy && s->link != NULL && s->link->has_meanwhile) {
        s->link->meanwhile(s->link->state);
    }
    const double start = now_ms();

    if (beside != NULL) {
        status = make_both(g, m, beside, why);
    }
    for (int i = 0; beside == NULL && status == MXO_OK && i < n_runs; i++) {
        status = made_call_make(s, m, why);
    }
    if (g->is_busy && s->link == NULL) {
        launch_meanwhile(s->table, s->ctx, m->graph == NULL ? &m->call : NULL);
    }
    const mxo_status done =
        synchronize(g, status == MXO_OK ? why : (mxo_text){NULL, 0});

    d->ms = now_ms() - start;
    fence_lower();
    stage_note_written(d);
    if (status == MXO_OK && done == MXO_OK && m->is_refused) {
        return say(MXO_E_DEVICE, why,
                   "it makes a call whose workspace it refuses to tell");
    }
    return status == MXO_OK ? done : status;
}

/* Is the graph's launch on noise elsewhere than the next one? */
static int is_elsewhere(const stage *g)
{
    return (int)(launch_hash(g) >> 5 & 1);
}

/* In one of four calls the stream of that launch, which is over, goes: the next
   one is on the other, or on none. */
static void close_early(const stage *g, made_call *m)
{
    const subject *s = g->s;
    void *const early = is_elsewhere(g) ? m->idle : m->stream;

    if (early == NULL || (launch_hash(g) >> 15 & 3) != 0) {
        return;
    }
    if (!is_elsewhere(g)) {
        m->stream = m->call.stream = m->idle;
    }
    m->idle = NULL;
    s->table->stream_close(s->ctx, early);
}

/* A graph, or a call on a stream, on what the inputs hold before they hold
   their bytes, noise or in part their own: what one leaves behind must not be
   the next one's answer.  In half of the calls not on the stream of the next
   one, which may be none. */
static mxo_status replay_early(stage *g, made_call *m, int run, mxo_text why)
{
    void *const stream = m->stream;
    run_checks unused;

    memset(&unused, 0, sizeof unused);
    if (alike_comes_first(g)) {
        MXO_TRY(alike_send(g, why));
    }
    m->stream = m->call.stream = is_elsewhere(g) ? m->idle : stream;
    const mxo_status status = make_all(g, m, 1, NULL, &unused, why);

    m->stream = m->call.stream = stream;
    close_early(g, m);
    return status == MXO_OK ? stage_send_outputs(g, run, why) : status;
}

/* More launches, each waited for: of the first sixteen all but two are on
   noise.  A ring of up to ten places, of twelve or of fourteen to sixteen comes
   round to none of the two by the last launch. */
static mxo_status replay_often(stage *g, made_call *m, int run, mxo_text why)
{
    mxo_status status = MXO_OK;
    run_checks unused;

    memset(&unused, 0, sizeof unused);
    for (int i = 2; status == MXO_OK && i < LAUNCH_REPLAYS; i++) {
        const int is_own = i == 4 || i == 6;
        if (is_own || i == 5 || i == 7) {
            status = stage_send_inputs(g, !is_own, why);
        }
        status =
            status == MXO_OK ? make_all(g, m, 1, NULL, &unused, why) : status;
    }
    return status == MXO_OK ? stage_send_outputs(g, run, why) : status;
}

/* Before a capture: the call as it is made without a graph, with other choices
   of experts and another map, which the capture then sees.  What a host keeps
   of either is not how the graph may go on.  A call that is declined so is as
   if it had not been made. */
static mxo_status run_rerouted(stage *g, made_call *m, int run, mxo_text why)
{
    run_checks unused;
    rerouted r;

    if (!reroute_draw(g, &r)) {
        return MXO_OK;
    }
    memset(&unused, 0, sizeof unused);
    mxo_status status = reroute_send(g, g->takes_noise, &r, why);

    status = status == MXO_OK ? make_all(g, m, 1, NULL, &unused, why) : status;
    if (made_call_is_refusal(status)) {
        status = stage_send_inputs(g, 1, why);
    } else if (status == MXO_OK && !g->takes_noise) {
        status = reroute_send(g, 1, &r, why);
    }
    reroute_clear(&r);
    return status == MXO_OK ? stage_send_outputs(g, run, why) : status;
}

/* A capture makes no call, and is not the last one. */
static mxo_status capture(stage *g, made_call *m, int run, mxo_text why)
{
    const subject *s = g->s;
    mxo_status status = s->table->capture(s->ctx, &m->call, &m->graph, why);

    if (status == MXO_OK && g->grown != NULL) {
        bystander_grow(g, run);
    }
    if (status != MXO_OK) {
        m->graph = NULL;
    } else if (m->is_early) {
        status = stage_check_capture(g, run, why);
        status =
            status == MXO_OK ? bystander_capture(g, &m->beside, why) : status;
    }
    return status;
}

/* Another stream beside the call's, in every other call; one for a graph that
   is launched on none, where it is on one before. */
static void open_idle(const stage *g, made_call *m)
{
    const subject *s = g->s;
    const int wants = m->stream != NULL ? (int)(launch_hash(g) >> 26 & 1)
                                        : m->on_noise && is_elsewhere(g);

    if (wants && s->table->stream_open != NULL &&
        s->table->stream_open(s->ctx, &m->idle, (mxo_text){NULL, 0}) !=
            MXO_OK) {
        m->idle = NULL;
    }
}

/* Streams and graphs; then the inputs hold their bytes, or will.  A capture
   sees noise and other choices of experts: one that depends on what it sees is
   none. */
static mxo_status prepare(stage *g, made_call *m, int run, mxo_text why)
{
    const subject *s = g->s;
    const unsigned ways = g->ways;
    mxo_status status = MXO_OK;

    if (m->is_early) {
        status = run_rerouted(g, m, run, why);
    }
    if (status == MXO_OK && (ways & LAUNCH_GRAPH) != 0) {
        status = capture(g, m, run, why);
        if (status != MXO_OK) { /* inputs are as if it had been made */
            m->on_noise = 0;
            (void)stage_send_inputs(g, 0, (mxo_text){NULL, 0});
        }
    }
    if (status == MXO_OK && (ways & LAUNCH_STREAM) != 0) {
        status = s->table->stream_open(s->ctx, &m->stream, why);
        m->stream = status == MXO_OK ? m->stream : NULL;
        m->call.stream = m->stream;
    }
    if (status == MXO_OK) {
        open_idle(g, m);
    }
    if (status == MXO_OK && m->on_noise) {
        status = replay_early(g, m, run, why);
        status = status == MXO_OK && g->is_replayed
                     ? replay_often(g, m, run, why)
                     : status;
    }
    if (status != MXO_OK || !launch_sends_late(ways)) {
        return status;
    }
    return m->stream == NULL
               ? stage_send_inputs(g, 0, why)
               : stage_stream_inputs(g, m->stream, MICROSECONDS, why);
}

/* Is another call beside it?  Not where its data may be refused and are,
   plainly made: asked before anything is on a stream, as that waits for all of
   them. */
static int describe_beside(stage *g, int run, made_call *beside)
{
    const mxo_text unheard = {NULL, 0};

    if (g->beside == NULL) {
        return 0;
    }
    subject_turn_to(g->beside->s);
    const int is_beside =
        made_call_describe(g->beside, run, beside, unheard) == MXO_OK &&
        !beside->is_refused &&
        (!g->beside->may_refuse || made_call_is_taken(g->beside->s, beside));

    subject_turn_to(g->s);
    return is_beside;
}

/* In the second context it has a stream of its own where the call has one. */
static void open_beside(const stage *g, const made_call *m, made_call *beside)
{
    const subject *s = g->beside->s;

    if (m->stream != NULL &&
        s->table->stream_open(s->ctx, &beside->stream, (mxo_text){NULL, 0}) !=
            MXO_OK) {
        beside->stream = NULL;
    }
    beside->call.stream = beside->stream;
}

static void close_beside(const stage *g, made_call *beside)
{
    const subject *s = g->beside->s;

    subject_turn_to(s);
    if (beside->graph != NULL) {
        s->table->graph_close(s->ctx, beside->graph);
    }
    if (is_in_two(g) && beside->stream != NULL) {
        s->table->stream_close(s->ctx, beside->stream);
    }
    subject_turn_to(g->s);
}

/* The call that waits beside it: on the same stream where both have the same
   outputs, or one reads the other's, as nothing else says which of them is the
   last, and in every other call of the rest; in every other one as a graph. */
static void prepare_beside(const stage *g, const made_call *m,
                           made_call *beside)
{
    const subject *s = g->beside->s;
    const mxo_text unheard = {NULL, 0};

    subject_turn_to(s);
    if (g->is_over) {
        memcpy(beside->out, m->out, g->n_out * sizeof m->out[0]);
    }
    if (g->is_read) {
        beside->in[g->reads].buffer = m->out[g->writes].buffer;
        beside->in[g->reads].offset = m->out[g->writes].offset;
    }
    if (s->table->capture != NULL && !g->beside->is_larger &&
        (launch_hash(g) >> 23 & 1) != 0 &&
        (g->is_behind || launch_may_be_behind(s)) &&
        s->table->capture(s->ctx, &beside->call, &beside->graph, unheard) !=
            MXO_OK) {
        beside->graph = NULL;
    }
    if (is_in_two(g)) {
        open_beside(g, m, beside);
    } else if (g->is_over || g->is_read || (launch_hash(g) >> 22 & 1) != 0) {
        beside->stream = beside->call.stream = m->stream;
    }
    subject_turn_to(g->s);
}

/* Is a call on a stream made there before, on other data?  Like a graph. */
static int is_streamed_before(const stage *g, int n_runs)
{
    return (g->ways & (LAUNCH_STREAM | LAUNCH_GRAPH)) == LAUNCH_STREAM &&
           g->s->refuses == REFUSE_NOTHING && g->beside == NULL &&
           (n_runs > 1 || (launch_hash(g) >> 37 & 1) != 0);
}

mxo_status launch_make(stage *g, int run, int n_runs, run_checks *d,
                       mxo_text why)
{
    const subject *s = g->s;
    made_call m;
    made_call beside;
    mxo_status status = made_call_describe(g, run, &m, why);
    const int has_beside = status == MXO_OK && describe_beside(g, run, &beside);

    /* One of several launches, or one more of every second call: not where
       noise is refused, which a graph cannot do. */
    m.is_early = (g->ways & LAUNCH_GRAPH) != 0 &&
                 s->refuses == REFUSE_NOTHING &&
                 (n_runs > 1 || (launch_hash(g) >> 8 & 1) != 0);
    m.on_noise =
        (m.is_early || is_streamed_before(g, n_runs)) && g->takes_noise;
    status = status == MXO_OK ? prepare(g, &m, run, why) : status;
    if (status == MXO_OK) {
        const int spent = m.on_noise && n_runs > 1;
        if (has_beside) {
            prepare_beside(g, &m, &beside);
        }
        status = make_all(g, &m, n_runs - spent, has_beside ? &beside : NULL, d,
                          why);
        if (has_beside) {
            close_beside(g, &beside);
        }
    }
    bystander_close(s, &m.beside);
    if (m.graph != NULL) {
        s->table->graph_close(s->ctx, m.graph);
    }
    if (m.stream != NULL) {
        s->table->stream_close(s->ctx, m.stream);
    }
    if (m.idle != NULL) {
        s->table->stream_close(s->ctx, m.idle);
    }
    return status;
}
