/* SPDX-License-Identifier: Apache-2.0 */
/* See waiting_runs.h. */
#include "waiting_runs.h"

#include "call_before.h"
#include "checked_run.h"
#include "launch.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* What waits beside the call. */
typedef enum waiting_kind {
    WAITING_OTHER,     /* the call of other sizes or words */
    WAITING_OPERATION, /* that of another operation */
    WAITING_SAME,      /* the same call on noise, with the same outputs */
    N_WAITING
} waiting_kind;

/* Can it stand there?  Where a ring of many places is filled, the call comes
   first and has outputs of its own: of what is lost from it, that one shows. */
static int can_stand(const stage *g, waiting_kind kind)
{
    const subject *s = g->s;

    return kind == WAITING_OTHER
               ? s->other != NULL && s->other_out->n <= MAX_OUT
           : kind == WAITING_OPERATION
               ? s->n_before > 0
               : g->takes_noise && launch_places(g) < LAUNCH_PLACES;
}

/* One of them; N_WAITING: none. */
static waiting_kind draw_waiting(const stage *g, uint64_t drawn)
{
    for (uint64_t i = 0; i < N_WAITING; i++) {
        const waiting_kind kind = (waiting_kind)((drawn + i) % N_WAITING);

        if (can_stand(g, kind)) {
            return kind;
        }
    }
    return N_WAITING;
}

/* Can two of its calls wait at once? */
static int can_wait(const subject *s)
{
    return s->link != NULL ? s->link->has_behind
                           : s->table->stream_open != NULL;
}

/* The same call alone is not worth a run of every call. */
static waiting_kind draw_in_one(const stage *g)
{
    return can_wait(g->s) && (can_stand(g, WAITING_OTHER) ||
                              can_stand(g, WAITING_OPERATION))
               ? draw_waiting(g, launch_hash(g) >> 21)
               : N_WAITING;
}

/* s: the subject in the context of the call that waits. */
static mxo_status place_waiting(stage *beside, const stage *g, subject *s,
                                waiting_kind kind, mxo_text why)
{
    return kind == WAITING_OTHER
               ? stage_place_call(beside, s, s->other, s->other_out, 1, why)
           : kind == WAITING_OPERATION
               ? call_before_place(beside, s, call_before_drawn(g), why)
               : stage_place_call(beside, s, g->call, g->want, 1, why);
}

/* The words of a difference beside it. */
static void say_what_waits(const stage *g, waiting_kind kind, mxo_status status,
                           run_checks *d, mxo_text why)
{
    const char *const where = g->is_behind ? "behind" : "with";
    const char *const how = g->is_behind ? "that waits" : "behind it";
    const char *const busy =
        g->is_busy ? ", a buffer, stream and graph made meanwhile" : "";
    char words[SUBJECT_TEXT / 2];

    if (kind == WAITING_OPERATION) {
        (void)snprintf(words, sizeof words,
                       "%s a call of another operation %s%s", where, how, busy);
        call_before_add_words(words, call_before_drawn(g), status, d, why);
        return;
    }
    if (kind == WAITING_SAME) {
        (void)snprintf(words, sizeof words,
                       "behind the same call on noise, to the same outputs, "
                       "that waits%s",
                       busy);
    } else {
        (void)snprintf(words, sizeof words, "%s a call of other %s %s%s", where,
                       g->s->other_has, how, busy);
    }
    checked_add_words(words, status, d, why);
}

/* A run with another call before it or behind it, and both waited for at once:
   what is kept of a call until it is made, in one place for all, is that of the
   other by then; and what comes behind must not overtake. */
static mxo_status run_waiting(stage *g, tensor_set *out, run_checks *d,
                              mxo_text why)
{
    subject *s = g->s;
    const waiting_kind kind = draw_in_one(g);
    stage beside;

    if (kind == N_WAITING) {
        return MXO_OK;
    }
    memset(&beside, 0, sizeof beside);
    g->is_over = kind == WAITING_SAME;
    g->is_behind = g->is_over || (launch_places(g) < LAUNCH_PLACES &&
                                  (launch_hash(g) >> 24 & 1) != 0);
    const unsigned graph =
        g->is_behind && !launch_may_be_behind(s) ? 0 : LAUNCH_GRAPH;
    mxo_status status =
        checked_turn(g, launch_draw(g) & (LAUNCH_STREAM | graph), why);

    if (status == MXO_OK && place_waiting(&beside, g, s, kind, why) == MXO_OK) {
        beside.may_refuse = kind == WAITING_OTHER;
        g->beside = &beside;
        g->n_beside = launch_places(g);
        g->is_busy = (int)(launch_hash(g) >> 29 & 1);
        status = checked_run(g, 1, 1, out, d, why);
        g->beside = NULL;
    }
    stage_release(&beside);
    if (checked_is_wrong(status, d)) {
        say_what_waits(g, kind, status, d, why);
    }
    g->is_busy = 0;
    return status;
}

/* May it be so in two contexts? */
static int can_wait_in_two(const subject *s)
{
    return s->link != NULL ? s->link->has_behind_context
                           : s->table->stream_open != NULL;
}

/* One small call in four, and some others; each of these where an operation has
   few cases, so that many others stand beside it: which call waits in the
   second context; N_WAITING: none. */
static waiting_kind draw_in_two(const stage *g)
{
    const uint64_t drawn = launch_hash(g) >> 50;

    return can_wait_in_two(g->s) && launch_is_chosen(g, 1 << 12) &&
                   (g->s->n_before > 1 || (drawn & 3) == 0)
               ? draw_waiting(g, drawn >> 3)
               : N_WAITING;
}

static void say_in_two(stage *g, waiting_kind kind, unsigned ways,
                       tensor_set *out, mxo_status status, run_checks *d,
                       mxo_text why)
{
    const char *const where = g->is_behind ? "before it" : "behind it";
    const char *const in_two = "where a call waits in each of two contexts";
    char words[SUBJECT_TEXT];

    if (kind == WAITING_OPERATION) {
        (void)snprintf(words, sizeof words, "%s, one of another operation %s",
                       in_two, where);
        call_before_add_words(words, call_before_drawn(g), status, d, why);
        return;
    }
    (void)snprintf(words, sizeof words, "%s, %s%s %s", in_two,
                   kind == WAITING_OTHER ? "one of other "
                                         : "the same on noise",
                   kind == WAITING_OTHER ? g->s->other_has : "", where);
    checked_add_cause(g, ways, words, out, status, d, why);
}

/* One call waits in each of two contexts: what a subject keeps of the process
   in place of the context is the other one's by then. */
static mxo_status run_in_two(stage *g, tensor_set *out, run_checks *d,
                             mxo_text why)
{
    subject *s = g->s;
    const waiting_kind kind = draw_in_two(g);
    mxo_status status = MXO_OK;
    unsigned ways = 0;
    char text[SUBJECT_TEXT];
    subject other;
    stage beside;

    if (kind == N_WAITING || !subject_enter_second(s, &other)) {
        return MXO_OK;
    }
    memset(&beside, 0, sizeof beside);
    other.host_align = 0; /* no fence */
    const int is_placed =
        place_waiting(&beside, g, &other, kind,
                      (mxo_text){text, sizeof text}) == MXO_OK;

    subject_leave_second(s, &other);
    s->n_placed++; /* the other's workspace */
    if (is_placed) {
        beside.may_refuse = kind == WAITING_OTHER;
        g->is_over = 0;
        g->is_behind = (int)(launch_hash(g) >> 52 & 1);
        ways = launch_draw(g) &
               (LAUNCH_STREAM |
                (g->is_behind && !launch_may_be_behind(s) ? 0u : LAUNCH_GRAPH));
        status = checked_turn(g, ways, why);
        g->beside = &beside;
        g->n_beside = launch_places(g);
        status = status == MXO_OK ? checked_run(g, 1, 1, out, d, why) : status;
        g->beside = NULL;
    }
    subject_turn_to(&other);
    stage_release(&beside);
    subject_turn_to(s);
    if (checked_is_wrong(status, d)) {
        say_in_two(g, kind, ways, out, status, d, why);
    }
    return status;
}

/* Can the input be these bytes?  Any are codes or scales. */
static int can_be(const host_tensor *in, const host_tensor *out)
{
    return in->n_bytes > 0 &&
           (in->dtype == out->dtype
                ? in->n_bytes == out->n_bytes
                : (in->dtype == MXO_U8 || in->dtype == MXO_E8M0) &&
                      in->n_bytes <= out->n_bytes);
}

/* The first input that can be an output of the same call. */
static int find_read(stage *g, const tensor_set *out)
{
    const tensor_set *in = g->call->in;

    for (uint32_t i = 0; i < in->n; i++) {
        const uint32_t dtype = in->t[i].dtype;
        for (uint32_t k = 0; k < out->n; k++) {
            if (dtype != MXO_I32 && dtype != MXO_I64 &&
                can_be(&in->t[i], &out->t[k])) {
                g->reads = i;
                g->writes = k;
                return 1;
            }
        }
    }
    return 0;
}

/* Outputs like these, with bytes of their own; to be cleared. */
static void like(const tensor_set *from, tensor_set *to)
{
    *to = *from;
    for (uint32_t i = 0; i < to->n; i++) {
        to->t[i].data = memory_need_zeros((size_t)to->t[i].n_bytes + 1, 1);
    }
}

/* Call h, whose input is an output of g: what it gives on those bytes, it has
   to give where it waits behind g and reads them. */
static mxo_status run_behind_its_input(stage *g, stage *h, tensor_set *answer,
                                       tensor_set *out, run_checks *d,
                                       mxo_text why)
{
    char text[SUBJECT_TEXT];
    run_checks unused;

    memset(&unused, 0, sizeof unused);
    if (checked_run(h, 0, 1, answer, &unused, (mxo_text){text, sizeof text}) !=
        MXO_OK) {
        return MXO_OK;
    }
    mxo_status status = checked_turn(g, launch_draw(g) & LAUNCH_STREAM, why);

    status = status == MXO_OK ? stage_send_outputs(h, 1, why) : status;
    g->beside = h;
    g->n_beside = 1;
    g->is_behind = g->is_over = 0;
    g->is_read = 1;
    status = status == MXO_OK ? checked_run(g, 1, 1, out, d, why) : status;
    g->beside = NULL;
    g->is_read = 0;
    return checked_is_wrong(status, d)
               ? status
               : stage_compare_outputs(h, answer, d, why);
}

/* The call behind itself, on what it gave.  Of small calls. */
static mxo_status run_chained(stage *g, tensor_set *out, run_checks *d,
                              mxo_text why)
{
    char text[SUBJECT_TEXT];
    tensor_set in = *g->call->in;
    op_call call = *g->call;
    mxo_status status = MXO_OK;
    tensor_set answer;
    stage h;

    if (!can_wait(g->s) || !launch_is_chosen(g, 1 << 12) ||
        !find_read(g, out)) {
        return MXO_OK;
    }
    in.t[g->reads].data = out->t[g->writes].data;
    call.in = &in;
    like(out, &answer);
    if (stage_place_call(&h, g->s, &call, g->want, 0,
                         (mxo_text){text, sizeof text}) == MXO_OK) {
        status = run_behind_its_input(g, &h, &answer, out, d, why);
    }
    stage_release(&h);
    tensor_set_clear(&answer);
    if (checked_is_wrong(status, d)) {
        checked_add_words("where the call behind it reads its output", status,
                          d, why);
    }
    return status;
}

/* With the larger call: behind its capture, or behind it while it waits. */
static mxo_status run_growing(stage *g, stage *larger, int i, tensor_set *out,
                              run_checks *d, mxo_text why)
{
    const unsigned ways = i == LARGER_CAPTURED
                              ? LAUNCH_GRAPH | (launch_draw(g) & LAUNCH_STREAM)
                              : LAUNCH_STREAM | (launch_draw(g) & LAUNCH_GRAPH);
    mxo_status status = checked_turn(g, ways, why);

    larger->is_larger = 1;
    g->grown = i == LARGER_CAPTURED ? larger : NULL;
    g->beside = i == LARGER_WAITING ? larger : NULL;
    g->n_beside = 1;
    g->is_behind = g->is_over = 0;
    status = status == MXO_OK ? checked_run(g, 1, 1, out, d, why) : status;
    g->grown = g->beside = NULL;
    if (checked_is_wrong(status, d)) {
        checked_add_cause(g, ways,
                          i == LARGER_CAPTURED
                              ? "with a larger call between capture and launch"
                              : "with a larger call behind it",
                          out, status, d, why);
    }
    return status;
}

mxo_status growing_runs(stage *g, tensor_set *out, run_checks *d, mxo_text why)
{
    static const unsigned ways[N_LARGER] = {LAUNCH_GRAPH, LAUNCH_STREAM};
    subject *s = g->s;
    char text[SUBJECT_TEXT];
    mxo_status status = MXO_OK;

    for (int i = 0; i < N_LARGER && !checked_is_wrong(status, d); i++) {
        stage larger;
        if (s->larger[i] == NULL || s->larger_out[i]->n > MAX_OUT ||
            (launch_declared(g) & ways[i]) == 0 ||
            (i == LARGER_WAITING && !can_wait(s))) {
            continue;
        }
        if (stage_place_call(&larger, s, s->larger[i], s->larger_out[i], 0,
                             (mxo_text){text, sizeof text}) == MXO_OK) {
            status = run_growing(g, &larger, i, out, d, why);
        }
        stage_release(&larger);
    }
    return status;
}

mxo_status waiting_runs(stage *g, tensor_set *out, run_checks *d, mxo_text why)
{
    mxo_status status = run_waiting(g, out, d, why);

    status = checked_is_wrong(status, d) ? status : run_in_two(g, out, d, why);
    return checked_is_wrong(status, d) ? status : run_chained(g, out, d, why);
}
