/* SPDX-License-Identifier: Apache-2.0 */
/* See launch.h. */
#include "launch.h"

#include "by_token/by_token.h"
#include "device_buffers.h"
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

/* Another graph, captured behind the call's own: what a backend keeps of a
   capture in one place is not the call's any more. */
typedef struct bystander {
    stage at;
    void *graph; /* NULL: there is none */
} bystander;

/* A call as a backend gets it; tensors stand in here. */
typedef struct made_call {
    mxo_call call;
    mxo_tensor in[MXO_MAX_TENSORS];
    mxo_tensor out[MAX_OUT];
    mxo_tensor workspace;
    void *stream; /* owned by the backend; NULL: none */
    void *idle;   /* a stream that was opened after it, without work */
    void *graph;
    int is_early;   /* it is made on other data before its capture */
    int on_noise;   /* the graph is launched on noise, too */
    int is_refused; /* its workspace is; then the call has to be */
    bystander beside;
} made_call;

static double now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int is_refusal(mxo_status status)
{
    return status == MXO_E_UNSUPPORTED || status == MXO_E_SHAPE ||
           status == MXO_E_PARAM;
}

/* The workspace that the call asks for.  What refuses to say how much refuses
   the call when it is made. */
static mxo_status add_workspace(stage *g, int run, made_call *m, mxo_text why)
{
    const subject *s = g->s;
    uint64_t n_bytes = 0;
    mxo_status status = MXO_OK;

    m->is_refused = 0;
    if (s->table->workspace == NULL) {
        return MXO_OK;
    }
    status = s->table->workspace(s->ctx, &m->call, &n_bytes, why);
    if (status != MXO_OK) {
        m->is_refused = is_refusal(status);
        return m->is_refused ? MXO_OK : status;
    }
    status = stage_place_workspace(g, n_bytes, run, why);
    if (status == MXO_OK && n_bytes > 0) {
        stage_describe_placed(&m->workspace, &g->workspace);
        m->call.workspace = &m->workspace;
    }
    return status;
}

static mxo_status make_call(stage *g, int run, made_call *m, mxo_text why)
{
    m->call = (mxo_call){.struct_size = sizeof m->call,
                         .n_params = g->call->n_params,
                         .n_in = g->n_in,
                         .n_out = g->n_out,
                         .op = g->call->op,
                         .params = g->call->params,
                         .in = m->in,
                         .out = m->out};
    m->stream = m->graph = m->idle = NULL;
    memset(&m->beside, 0, sizeof m->beside);
    for (uint32_t i = 0; i < g->n_in; i++) {
        stage_describe_placed(&m->in[i], &g->in[i]);
    }
    for (uint32_t i = 0; i < g->n_out; i++) {
        stage_describe_placed(&m->out[i], &g->out[i]);
    }
    return add_workspace(g, run, m, why);
}

static mxo_status make_once(const subject *s, const made_call *m, mxo_text why)
{
    return m->graph != NULL ? s->table->launch(s->ctx, m->graph, m->stream, why)
           : s->all_cores
               ? by_token_run_all_cores(s->table, s->ctx, &m->call, why)
               : s->table->run(s->ctx, &m->call, why);
}

/* So many times.  It may be declined, but not fail. */
static mxo_status make_beside(const subject *s, const made_call *beside,
                              int n_times, mxo_text why)
{
    char text[SUBJECT_TEXT] = "";
    mxo_status status = MXO_OK;

    for (int i = 0; status == MXO_OK && i < n_times; i++) {
        status = make_once(s, beside, (mxo_text){text, sizeof text});
    }
    return status == MXO_OK || is_refusal(status)
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
    char text[SUBJECT_TEXT] = "";

    s->link->ahead(s->link->state, g->is_behind ? g->n_beside : 1);
    s->link->behind(s->link->state,
                    second->graph == NULL ? &second->call : NULL, second->graph,
                    second->stream, g->is_behind ? 1 : g->n_beside);
    const mxo_status status =
        make_once(s, first, (mxo_text){text, sizeof text});

    s->link->ahead(s->link->state, 1);
    return g->is_behind && is_refusal(status) ? make_once(s, m, why)
           : status != MXO_OK                 ? say(status, why, "%s", text)
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
        MXO_TRY(make_beside(s, beside, g->n_beside, why));
        return make_once(s, m, why);
    }
    MXO_TRY(make_once(s, m, why));
    return make_beside(s, beside, g->n_beside, why);
}

/* beside: NULL where no other call waits, else n_runs is 1. */
static mxo_status make_all(stage *g, const made_call *m, int n_runs,
                           const made_call *beside, run_checks *d, mxo_text why)
{
    const subject *s = g->s;
    mxo_status status = MXO_OK;

    stage_raise_fences(g);
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
        status = make_once(s, m, why);
    }
    if (g->is_busy && s->link == NULL) {
        launch_meanwhile(s->table, s->ctx, m->graph == NULL ? &m->call : NULL);
    }
    const mxo_status done = s->table->synchronize(
        s->ctx, status == MXO_OK ? why : (mxo_text){NULL, 0});

    d->ms = now_ms() - start;
    fence_lower();
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

/* A graph on what the inputs hold before they hold their bytes: what one launch
   leaves behind must not be the next one's answer.  In half of the calls not on
   the stream of the next one, which may be none. */
static mxo_status replay_early(stage *g, made_call *m, int run, mxo_text why)
{
    void *const stream = m->stream;
    run_checks unused;

    memset(&unused, 0, sizeof unused);
    m->stream = is_elsewhere(g) ? m->idle : stream;
    const mxo_status status = make_all(g, m, 1, NULL, &unused, why);

    m->stream = stream;
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
    if (is_refusal(status)) {
        status = stage_send_inputs(g, 1, why);
    } else if (status == MXO_OK && !g->takes_noise) {
        status = reroute_send(g, 1, &r, why);
    }
    reroute_clear(&r);
    return status == MXO_OK ? stage_send_outputs(g, run, why) : status;
}

static void close_bystander(const subject *s, bystander *o)
{
    if (o->graph != NULL) {
        s->table->graph_close(s->ctx, o->graph);
    }
    stage_release(&o->at);
    memset(o, 0, sizeof *o);
}

/* Make it plainly, launch it, or neither: what one place keeps of the call that
   is made last is not the first graph's.  It may be declined, but not fail.
   It is on noise, which a graph cannot refuse: it is launched where the plain
   call on noise is taken, which the one of other sizes is asked first. */
static mxo_status make_bystander(stage *g, const made_call *m, int is_other,
                                 void *graph, mxo_text why)
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

    return status == MXO_OK ? done : is_refusal(status) ? MXO_OK : status;
}

/* The same call elsewhere, or the one of other sizes and constants, on noise.
   It may be declined; in half of the calls it is gone before the launches. */
static mxo_status capture_bystander(stage *g, bystander *o, mxo_text why)
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
        make_call(&o->at, 0, &m, unused) != MXO_OK) {
        return MXO_OK;
    }
    if (s->table->capture(s->ctx, &m.call, &o->graph, unused) != MXO_OK) {
        o->graph = NULL;
    }
    const mxo_status status = make_bystander(g, &m, is_other, o->graph, why);

    if ((h >> 12 & 1) != 0) {
        close_bystander(s, o);
    }
    return status;
}

/* A capture makes no call, and is not the last one. */
static mxo_status capture(stage *g, made_call *m, int run, mxo_text why)
{
    const subject *s = g->s;
    mxo_status status = s->table->capture(s->ctx, &m->call, &m->graph, why);

    if (status != MXO_OK) {
        m->graph = NULL;
    } else if (m->is_early) {
        status = stage_check_capture(g, run, why);
        status =
            status == MXO_OK ? capture_bystander(g, &m->beside, why) : status;
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
    }
    if (status != MXO_OK || !launch_sends_late(ways)) {
        return status;
    }
    return m->stream == NULL
               ? stage_send_inputs(g, 0, why)
               : stage_stream_inputs(g, m->stream, MICROSECONDS, why);
}

/* Is the call made plainly on what a graph of it would be launched on?  That
   could not refuse it. */
static int is_taken(const subject *s, const made_call *m)
{
    const mxo_text unheard = {NULL, 0};
    const mxo_status status = s->table->run(s->ctx, &m->call, unheard);

    return s->table->synchronize(s->ctx, unheard) == MXO_OK && status == MXO_OK;
}

/* The call that waits beside it: on the same stream where both have the same
   outputs, or one reads the other's, as nothing else says which of them is the
   last, and in every other call of the rest; in every other one as a graph.  0:
   there is none. */
static int make_call_beside(stage *g, int run, const made_call *m,
                            made_call *beside)
{
    const subject *s = g->s;
    const mxo_text unheard = {NULL, 0};

    if (g->beside == NULL ||
        make_call(g->beside, run, beside, unheard) != MXO_OK ||
        beside->is_refused) {
        return 0;
    }
    if (g->is_over) {
        memcpy(beside->out, m->out, g->n_out * sizeof m->out[0]);
    }
    if (g->is_read) {
        beside->in[g->reads].buffer = m->out[g->writes].buffer;
        beside->in[g->reads].offset = m->out[g->writes].offset;
    }
    if (s->table->capture != NULL && (launch_hash(g) >> 23 & 1) != 0 &&
        (g->is_behind || launch_may_be_behind(s)) &&
        (!g->beside->may_refuse || is_taken(s, beside)) &&
        s->table->capture(s->ctx, &beside->call, &beside->graph, unheard) !=
            MXO_OK) {
        beside->graph = NULL;
    }
    if (g->is_over || g->is_read || (launch_hash(g) >> 22 & 1) != 0) {
        beside->stream = beside->call.stream = m->stream;
    }
    return 1;
}

mxo_status launch_make(stage *g, int run, int n_runs, run_checks *d,
                       mxo_text why)
{
    const subject *s = g->s;
    made_call m;
    mxo_status status = make_call(g, run, &m, why);

    /* One of several launches, or one more of every second call: not where
       noise is refused, which a graph cannot do. */
    m.is_early = (g->ways & LAUNCH_GRAPH) != 0 &&
                 (n_runs > 1 || (launch_hash(g) >> 8 & 1) != 0);
    m.on_noise = m.is_early && g->takes_noise;
    status = status == MXO_OK ? prepare(g, &m, run, why) : status;
    if (status == MXO_OK) {
        const int spent = m.on_noise && n_runs > 1;
        made_call beside;
        const int has_beside = make_call_beside(g, run, &m, &beside);
        status = make_all(g, &m, n_runs - spent, has_beside ? &beside : NULL, d,
                          why);
        if (has_beside && beside.graph != NULL) {
            s->table->graph_close(s->ctx, beside.graph);
        }
    }
    close_bystander(s, &m.beside);
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
