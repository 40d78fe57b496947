/* SPDX-License-Identifier: Apache-2.0 */
/* See other_runs.h. */
#include "other_runs.h"

#include "call_before.h"
#include "checked_run.h"
#include "launch.h"
#include "refused_call.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* The subject with its second context at work; 0: it has but one. */
static int enter_second(subject *s, subject *other)
{
    char text[SUBJECT_TEXT];

    *other = *s;
    if (s->link != NULL) {
        return s->link->second(s->link->state, 1);
    }
    if (s->second == NULL &&
        s->table->open(&s->second, s->device_index,
                       (mxo_text){text, sizeof text}) != MXO_OK) {
        s->second = NULL;
    }
    other->ctx = s->second;
    return s->second != NULL;
}

/* On noise; nobody looks at its answer. Its status, if it can be made. */
static mxo_status make_other(subject *s, mxo_text why)
{
    mxo_status status = MXO_OK;
    run_checks unused;
    stage g;

    memset(&unused, 0, sizeof unused);
    if (stage_place_call(&g, s, s->other, s->other_out, 1, why) == MXO_OK) {
        status = launch_make(&g, 0, 1, &unused, why);
    }
    stage_release(&g);
    return status;
}

/* The other call, its status, and its words if a difference comes behind it. */
static mxo_status run_other(const stage *g, mxo_text words, mxo_text why)
{
    subject *s = g->s;
    subject other = *s;
    const int is_second =
        (launch_hash(g) >> 20 & 1) != 0 && enter_second(s, &other);

    if (!is_second) {
        other = *s;
    }
    const mxo_status status = make_other(&other, why);

    s->n_placed = other.n_placed;
    if (s->link != NULL) {
        (void)s->link->second(s->link->state, 0);
    }
    (void)snprintf(words.ptr, words.size, "behind a call of other %s%s",
                   s->other_has, is_second ? " in a second context" : "");
    return status;
}

/* The words, and the case of the call of another operation. */
static void add_operation(const char *words, const call_before *b,
                          mxo_status status, run_checks *d, mxo_text why)
{
    char text[SUBJECT_TEXT];

    (void)snprintf(text, sizeof text, "%s: %s", words, b->name);
    (void)snprintf(d->beside, sizeof d->beside, "%s", b->call.op);
    checked_add_words(text, status, d, why);
}

/* A third run, with a call of other sizes and constants between the uploads and
   it.  Not before the first, where it would come between the call on noise and
   that: what repeats the answer before shows there.  Once, as what is spoilt by
   the other is right again behind itself. */
static mxo_status run_beside(stage *g, tensor_set *out, run_checks *d,
                             mxo_text why)
{
    if (g->s->other == NULL || g->s->other_out->n > MAX_OUT) {
        return MXO_OK;
    }
    mxo_status status = checked_turn(g, 0, why);

    if (status != MXO_OK) {
        return status;
    }
    char words[SUBJECT_TEXT];

    status = run_other(g, (mxo_text){words, sizeof words}, why);
    status =
        checked_is_failure(status) ? status : checked_run(g, 1, 1, out, d, why);
    if (checked_is_wrong(status, d)) {
        checked_add_words(words, status, d, why);
    }
    return status;
}

/* Further runs, each with a call of another operation before it. */
static mxo_status run_behind_operations(stage *g, tensor_set *out,
                                        run_checks *d, mxo_text why)
{
    subject *s = g->s;
    mxo_status status = s->n_before > 0 ? checked_turn(g, 0, why) : MXO_OK;

    for (int i = 0; i < s->n_before && !checked_is_wrong(status, d); i++) {
        call_before *b = s->before[i];
        status = call_before_make(s, b, why);
        status = checked_is_failure(status) ? status
                                            : checked_run(g, 1, 1, out, d, why);
        if (checked_is_wrong(status, d)) {
            add_operation("behind a call of another operation", b, status, d,
                          why);
        }
    }
    return status;
}

/* Two more runs behind a call that must be refused. */
static mxo_status run_behind_refusal(stage *g, refused_kind kind,
                                     tensor_set *out, run_checks *d,
                                     mxo_text why)
{
    char behind[SUBJECT_TEXT] = "";

    if (!refused_call_is_before(g, kind)) {
        return MXO_OK;
    }
    mxo_status status = checked_turn(g, 0, why);

    if (status == MXO_OK) {
        refused_call_make(g, kind, (mxo_text){behind, sizeof behind});
    }
    for (int i = 0; !checked_is_wrong(status, d) && i < 2; i++) {
        char words[SUBJECT_TEXT];

        status = checked_run(g, 1, 1, out, d, why);
        (void)snprintf(words, sizeof words, "%s%.200s",
                       i == 0 ? "" : "in the second call ", behind);
        if (checked_is_wrong(status, d)) {
            checked_add_words(words, status, d, why);
            (void)snprintf(
                d->beside, sizeof d->beside, "%s",
                kind == REFUSED_OPERATION ? call_before_drawn(g)->call.op : "");
        }
    }
    return status;
}

/* What waits beside the call. */
typedef enum waiting_kind {
    WAITING_OTHER,     /* the call of other sizes or words */
    WAITING_OPERATION, /* that of another operation */
    WAITING_SAME,      /* the same call on noise, with the same outputs */
    N_WAITING
} waiting_kind;

/* Can it stand there? */
static int can_stand(const stage *g, waiting_kind kind)
{
    const subject *s = g->s;

    return kind == WAITING_OTHER
               ? s->other != NULL && s->other_out->n <= MAX_OUT
           : kind == WAITING_OPERATION ? s->n_before > 0
                                       : g->takes_noise;
}

/* One of them, drawn by the call; N_WAITING: none.  The same call alone is not
   worth a run of every call. */
static waiting_kind draw_waiting(const stage *g)
{
    const uint64_t drawn = launch_hash(g) >> 21;

    if (!can_stand(g, WAITING_OTHER) && !can_stand(g, WAITING_OPERATION)) {
        return N_WAITING;
    }
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

static mxo_status place_waiting(stage *beside, const stage *g,
                                waiting_kind kind, mxo_text why)
{
    subject *s = g->s;

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
        add_operation(words, call_before_drawn(g), status, d, why);
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
    const waiting_kind kind = can_wait(s) ? draw_waiting(g) : N_WAITING;
    stage beside;

    if (kind == N_WAITING) {
        return MXO_OK;
    }
    memset(&beside, 0, sizeof beside);
    g->is_over = kind == WAITING_SAME;
    g->is_behind = g->is_over || (launch_hash(g) >> 24 & 1) != 0;
    const unsigned graph =
        g->is_behind && !launch_may_be_behind(s) ? 0 : LAUNCH_GRAPH;
    mxo_status status =
        checked_turn(g, launch_draw(g) & (LAUNCH_STREAM | graph), why);

    if (status == MXO_OK && place_waiting(&beside, g, kind, why) == MXO_OK) {
        beside.may_refuse = kind == WAITING_OTHER;
        g->beside = &beside;
        g->n_beside = launch_is_many(g) ? 8 : 1;
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

/* Where a call on tensors of its own is wrong. */
static void say_own(int is_second, unsigned ways, mxo_status status,
                    run_checks *d, mxo_text why)
{
    const char *const where =
        is_second ? "in a second context" : "with all tensors in one buffer";
    char with[SUBJECT_TEXT / 2];
    char words[SUBJECT_TEXT];

    launch_say(ways, (mxo_text){with, sizeof with});
    (void)snprintf(words, sizeof words, "%s %s", where, with);
    checked_add_words(ways != 0 ? words : where, status, d, why);
}

/* The call on tensors of its own: in a second context, in one half of the calls
   in ways that it draws, or all of them in one buffer, one that the call draws
   at its start.  What has no room for them is left out. */
static mxo_status run_on_own(const stage *g, int is_second, tensor_set *out,
                             run_checks *d, mxo_text why)
{
    const mxo_text unheard = {NULL, 0};
    const unsigned ways =
        is_second && (launch_hash(g) >> 30 & 1) != 0 ? launch_draw(g) : 0;
    subject *s = g->s;
    mxo_status status = MXO_OK;
    subject other = *s;
    stage h;

    if (is_second && !enter_second(s, &other)) {
        return MXO_OK;
    }
    other.host_align = is_second ? s->host_align : 0; /* no fence */
    if ((is_second ? stage_place_call(&h, &other, g->call, g->want, 0, unheard)
                   : stage_place_in_one(&h, &other, g->call, g->want,
                                        (uint32_t)(launch_hash(g) >> 28) & 0xff,
                                        unheard)) == MXO_OK) {
        h.takes_noise = g->takes_noise;
        status = ways != 0 ? checked_turn(&h, ways, why) : MXO_OK;
        status = status == MXO_OK ? checked_run(&h, 1, 1, out, d, why) : status;
    }
    stage_release(&h);
    s->n_placed = other.n_placed;
    if (is_second && s->link != NULL) {
        (void)s->link->second(s->link->state, 0);
    }
    if (checked_is_wrong(status, d)) {
        say_own(is_second, ways, status, d, why);
    }
    return status;
}

/* 0: it has none. */
static int close_second(subject *s)
{
    void *const second = s->second;

    if (s->link != NULL) {
        return s->link->close_second(s->link->state);
    }
    s->second = NULL;
    if (second != NULL) {
        s->table->close(second);
    }
    return second != NULL;
}

/* A run in the first context, once the second is closed. */
static mxo_status run_behind_close(stage *g, tensor_set *out, run_checks *d,
                                   mxo_text why)
{
    if (!close_second(g->s)) {
        return MXO_OK;
    }
    mxo_status status = checked_turn(g, 0, why);

    status = status == MXO_OK ? checked_run(g, 1, 1, out, d, why) : status;
    if (checked_is_wrong(status, d)) {
        checked_add_words("where a second context was closed", status, d, why);
    }
    return status;
}

/* Of small calls, and of some others: one half there, one half so.  In one of
   sixteen the second context is closed behind that. */
static mxo_status run_on_others(stage *g, tensor_set *out, run_checks *d,
                                mxo_text why)
{
    const uint64_t drawn = launch_hash(g) >> 25;

    if (!launch_is_chosen(g, 1 << 12)) {
        return MXO_OK;
    }
    const mxo_status status = run_on_own(g, (drawn & 1) != 0, out, d, why);

    return checked_is_wrong(status, d) || (drawn & 1) == 0 ||
                   (drawn >> 21 & 15) != 0
               ? status
               : run_behind_close(g, out, d, why);
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

mxo_status other_runs(stage *g, tensor_set *out, run_checks *d, mxo_text why)
{
    mxo_status status = run_beside(g, out, d, why);

    if (!checked_is_wrong(status, d)) {
        status = run_behind_operations(g, out, d, why);
    }
    for (refused_kind k = REFUSED_OWN; k <= REFUSED_OPERATION; k++) {
        status = checked_is_wrong(status, d)
                     ? status
                     : run_behind_refusal(g, k, out, d, why);
    }
    return status;
}

mxo_status other_runs_elsewhere(stage *g, tensor_set *out, run_checks *d,
                                mxo_text why)
{
    mxo_status status = run_waiting(g, out, d, why);

    status = checked_is_wrong(status, d) ? status : run_chained(g, out, d, why);
    return checked_is_wrong(status, d) ? status : run_on_others(g, out, d, why);
}
