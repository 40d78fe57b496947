/* SPDX-License-Identifier: Apache-2.0 */
/* Driving a backend; see device_under_test.h. */
#include "device_under_test.h"

#include "alike.h"
#include "checked_run.h"
#include "device_buffers.h"
#include "launch.h"
#include "other_runs.h"
#include "waiting_runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of runs before one synchronize(): in the second run three, of calls that are
   chosen, as that costs runs, or more than a ring has places.  An odd number:
   what alternates from run to run shows between the two answers. */
static int runs_ahead(const stage *g)
{
    const int places = launch_places(g);

    return places > 1 ? places + 1 : launch_is_chosen(g, 1 << 14) ? 3 : 1;
}

/* Note another device than the one it was opened as. */
static void check_device(const stage *g, run_checks *d)
{
    char device[SUBJECT_TEXT] = "";
    char driver[SUBJECT_TEXT] = "";

    g->s->table->describe(g->s->ctx, (mxo_text){device, sizeof device},
                          (mxo_text){driver, sizeof driver});
    if (strcmp(device, g->s->device) != 0) {
        (void)snprintf(d->device, sizeof d->device,
                       "it was opened as %.90s and now says %.90s",
                       g->s->device, device);
    }
}

/* The call on inputs that are its own in part, and noise elsewhere.  Of small
   calls, and of some others. */
static mxo_status run_alike(stage *g, mxo_text why)
{
    run_checks unused;

    if (!launch_is_chosen(g, 1 << 18)) {
        return MXO_OK;
    }
    memset(&unused, 0, sizeof unused);
    MXO_TRY(alike_send(g, why));
    const mxo_status status = launch_make(g, 0, 1, &unused, why);

    g->takes_alike = status == MXO_OK;
    return status;
}

/* The call on noise, whose answer nobody looks at: it may be declined, but not
   fail. */
static mxo_status run_decoy(stage *g, run_checks *d, mxo_text why)
{
    uint32_t left = g->s->soak;
    run_checks unused;
    int n_runs = 1;

    memset(&unused, 0, sizeof unused);
    MXO_TRY(other_run_early(g, d, why));
    MXO_TRY(stage_send_inputs(g, 1, why));
    MXO_TRY(stage_send_outputs(g, 0, why));
    mxo_status status = launch_make(g, 0, 1, &unused, why);

    g->takes_noise = status == MXO_OK;
    while (left > 0 && !checked_is_failure(status)) {
        const uint32_t most =
            (uint32_t)launch_at_once(g->s, unused.ms / n_runs);
        n_runs = (int)(left < most ? left : most);
        status = launch_make(g, 0, n_runs, &unused, why);
        left -= (uint32_t)n_runs;
    }
    status = checked_is_failure(status) ? status : run_alike(g, why);
    if (!checked_is_failure(status)) {
        return MXO_OK;
    }
    checked_add_words("on noise", status, d, why);
    return status;
}

/* How many threads the second run has, of every other small call, and of some
   of the rest: one in half of them, or so many that rows are split into parts
   that are not alike.  0: as many as there are. */
static int threads_of(const stage *g)
{
    static const int numbers[8] = {1, 1, 1, 1, 2, 3, 5, 7};

    return g->s->table->set_threads != NULL && launch_is_chosen(g, 1 << 14) &&
                   (launch_hash(g) >> 27 & 1) != 0
               ? numbers[launch_hash(g) >> 58 & 7]
               : 0;
}

static void set_threads(const stage *g, int n)
{
    g->s->table->set_threads(g->s->ctx, n);
}

/* What made it fail, with so many threads. */
static void blame_threads(stage *g, int n, tensor_set *out, mxo_status status,
                          run_checks *d, mxo_text why)
{
    char words[SUBJECT_TEXT] = "with one thread";

    if (n > 1) {
        (void)snprintf(words, sizeof words, "with %d threads", n);
    }
    set_threads(g, 0);
    if (!checked_differs(g, 0, runs_ahead(g), out)) {
        checked_add_words(words, status, d, why);
    }
}

/* So many runs in these ways at once, by so many threads; 0: by all. */
static mxo_status run_in(stage *g, unsigned ways, int n_runs, int n_threads,
                         tensor_set *out, run_checks *d, mxo_text why)
{
    mxo_status status =
        g->s->host_align > 0 || ways != 0 ? checked_turn(g, ways, why) : MXO_OK;

    status = status == MXO_OK && ways != 0 ? alike_run(g, why) : status;
    status = status == MXO_OK ? checked_run(g, 1, n_runs, out, d, why) : status;
    const int is_gone = g->s->link != NULL && status == MXO_E_DEVICE;

    if (!checked_is_wrong(status, d)) {
        return status;
    }
    ways = ways != 0 && !is_gone ? checked_to_blame(g, ways, runs_ahead(g), out)
                                 : ways;
    if (ways != 0) {
        char with[SUBJECT_TEXT];
        char words[SUBJECT_TEXT];
        launch_say(ways, (mxo_text){with, sizeof with});
        (void)snprintf(words, sizeof words, "when called %.200s", with);
        checked_add_words(words, status, d, why);
    } else if (n_threads > 0 && !is_gone) {
        blame_threads(g, n_threads, out, status, d, why);
    }
    /* It took the call once. */
    return status == MXO_E_UNSUPPORTED ? MXO_E_DEVICE : status;
}

/* The second run, in other ways than the first where it declares some. */
static mxo_status run_otherwise(stage *g, int n_threads, tensor_set *out,
                                run_checks *d, mxo_text why)
{
    const unsigned ways = launch_draw(g);

    launch_say(ways, (mxo_text){d->called, sizeof d->called});
    return run_in(g, ways, runs_ahead(g), n_threads, out, d, why);
}

/* Behind the ways that it was called in. */
static void add_called(unsigned ways, run_checks *d)
{
    const size_t used = strlen(d->called);
    const mxo_text rest = {d->called + used, sizeof d->called - used};
    char with[SUBJECT_TEXT];

    launch_say(ways, (mxo_text){with, sizeof with});
    (void)snprintf(rest.ptr, rest.size, "%s%s", used > 0 ? ", then " : "",
                   with);
}

/* Of small calls: the declared ways that the second run left out, as a value of
   a parameter may have one small call alone. */
static mxo_status run_left_out(stage *g, tensor_set *out, run_checks *d,
                               mxo_text why)
{
    unsigned left = launch_left_out(g);
    mxo_status status = MXO_OK;

    while (left != 0 && !checked_is_wrong(status, d)) {
        /* Of a graph's calls none is asked of run(). */
        const unsigned now =
            (left & LAUNCH_STREAM) != 0 ? left & ~(unsigned)LAUNCH_GRAPH : left;

        add_called(now, d);
        status = run_in(g, now, 1, 0, out, d, why);
        left &= ~now;
    }
    g->parts = 0;
    return status;
}

/* A graph that is launched often, mostly on other data. */
static mxo_status run_replayed(stage *g, tensor_set *out, run_checks *d,
                               mxo_text why)
{
    enum { LARGEST = 1 << 14 };
    const unsigned ways = LAUNCH_GRAPH | (launch_draw(g) & LAUNCH_STREAM);
    const uint64_t drawn = launch_hash(g) >> 54;

    if ((launch_declared(g) & LAUNCH_GRAPH) == 0 || !g->takes_noise ||
        launch_bytes(g) > LARGEST ||
        (drawn & (g->s->n_before > 1 ? 1 : 15)) != 0) {
        return MXO_OK;
    }
    mxo_status status = checked_turn(g, ways, why);

    g->is_replayed = 1;
    status = status == MXO_OK ? checked_run(g, 1, 1, out, d, why) : status;
    g->is_replayed = 0;
    if (checked_is_wrong(status, d)) {
        char words[SUBJECT_TEXT];
        (void)snprintf(
            words, sizeof words,
            "in the last of %d launches of a graph, on other data than "
            "those before",
            LAUNCH_REPLAYS);
        checked_add_cause(g, ways, words, out, status, d, why);
    }
    return status;
}

/* In every other small call by few threads, where it takes their number. */
static mxo_status run_again(stage *g, tensor_set *out, run_checks *d,
                            mxo_text why)
{
    const int n_threads = threads_of(g);

    if (n_threads > 0) {
        set_threads(g, n_threads);
    }
    const mxo_status status = run_otherwise(g, n_threads, out, d, why);

    if (n_threads > 0) {
        set_threads(g, 0);
    }
    return status;
}

/* The inputs; in every other call where those on noise were, too. */
static mxo_status send_call(stage *g, mxo_text why)
{
    const int moves = g->s->host_align > 0 && (launch_hash(g) >> 43 & 1) != 0;

    return moves ? checked_turn(g, 0, why) : stage_send_inputs(g, 0, why);
}

static mxo_status run_twice(stage *g, tensor_set *out, run_checks *d,
                            mxo_text why)
{
    const int is_behind = g->s->decoy && launch_comes_first(g);
    mxo_status status =
        g->s->decoy && !is_behind ? run_decoy(g, d, why) : MXO_OK;

    /* From run to run the fence is on another side of the inputs. */
    status = status == MXO_OK ? send_call(g, why) : status;
    status = status == MXO_OK ? checked_run(g, 0, 1, out, d, why) : status;
    if (status == MXO_OK && is_behind) {
        status = run_decoy(g, d, why);
        status = status == MXO_OK ? send_call(g, why) : status;
    }
    const double first_ms = d->ms;

    if (status != MXO_OK) {
        return refused_runs(g, status, out, d, why);
    }
    status = g->s->once ? MXO_OK : growing_runs(g, out, d, why);
    if (!g->s->once && !checked_is_wrong(status, d)) {
        status = run_again(g, out, d, why);
    }
    if (!g->s->once && !checked_is_wrong(status, d)) {
        status = run_left_out(g, out, d, why);
    }
    if (!g->s->once && !checked_is_wrong(status, d)) {
        status = run_replayed(g, out, d, why);
    }
    if (!checked_is_wrong(status, d)) {
        status = other_runs(g, out, d, why);
    }
    if (status == MXO_OK && g->s->table->kernel != NULL) {
        g->s->table->kernel(g->s->ctx, (mxo_text){d->kernel, sizeof d->kernel});
        d->kernel[sizeof d->kernel - 1] = '\0';
    }
    if (!g->s->once && !checked_is_wrong(status, d)) {
        status = other_runs_elsewhere(g, out, d, why);
    }
    d->ms = first_ms;
    check_device(g, d);
    return status;
}

/* Of the largest call of the operation that was made, as far as it is known. */
static void note_size(subject *s, const stage *g)
{
    const uint64_t own = tensor_set_bytes(g->call->in);

    if (s->most_op != g->call->op || own > s->most_bytes) {
        s->most_op = g->call->op;
        s->most_bytes = own;
    }
    for (int i = -1; i < N_LARGER; i++) {
        const op_call *c = i < 0 ? s->other : s->larger[i];
        const uint64_t n = c == NULL ? 0 : tensor_set_bytes(c->in);

        s->most_bytes = n > s->most_bytes ? n : s->most_bytes;
    }
}

mxo_status subject_run(subject *s, const op_call *call, tensor_set *out,
                       run_checks *d, mxo_text why)
{
    stage g;
    mxo_status status = stage_open(&g, s, call, out->n);

    memset(d, 0, sizeof *d);
    if (why.size > 0) {
        why.ptr[0] = '\0';
    }
    if (status == MXO_OK) {
        status = out->n <= MAX_OUT ? MXO_OK : MXO_E_NOMEM;
    }
    status = status == MXO_OK ? stage_place_inputs(&g, why) : status;
    status = status == MXO_OK ? stage_place_outputs(&g, out, why) : status;
    status = status == MXO_OK ? run_twice(&g, out, d, why) : status;
    note_size(s, &g);
    stage_release(&g);
    subject_see(s, d);
    return status;
}
