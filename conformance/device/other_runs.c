/* SPDX-License-Identifier: Apache-2.0 */
/* See other_runs.h. */
#include "other_runs.h"

#include "alike.h"
#include "call_before.h"
#include "checked_run.h"
#include "launch.h"
#include "refused_call.h"
#include "waiting_runs.h"

#include <stdio.h>
#include <string.h>

/* On noise, or the bytes of the call behind it; nobody looks at its answer. Its
   status, if it can be made. */
static mxo_status make_other(subject *s, mxo_text why)
{
    mxo_status status = MXO_OK;
    run_checks unused;
    stage g;

    memset(&unused, 0, sizeof unused);
    if (stage_place_call(&g, s, s->other, s->other_out, !s->other_is_own,
                         why) == MXO_OK) {
        status = launch_make(&g, 0, 1, &unused, why);
    }
    stage_release(&g);
    return status;
}

mxo_status other_run_early(const stage *g, run_checks *d, mxo_text why)
{
    subject *s = g->s;
    subject other = *s;

    if (s->other == NULL || !s->other_is_own || s->other_out->n > MAX_OUT) {
        return MXO_OK;
    }
    const mxo_status status = make_other(&other, why);

    subject_leave_second(s, &other);
    if (!checked_is_failure(status)) {
        return MXO_OK;
    }
    checked_add_words("in a call of other words on the same bytes", status, d,
                      why);
    return status;
}

/* The other call, its status, and its words if a difference comes behind it. */
static mxo_status run_other(const stage *g, mxo_text words, mxo_text why)
{
    subject *s = g->s;
    subject other = *s;
    const int is_second =
        (launch_hash(g) >> 20 & 1) != 0 && subject_enter_second(s, &other);

    if (!is_second) {
        other = *s;
    }
    const mxo_status status = make_other(&other, why);

    subject_leave_second(s, &other);
    (void)snprintf(words.ptr, words.size, "behind a call of other %s%s",
                   s->other_has, is_second ? " in a second context" : "");
    return status;
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
            call_before_add_words("behind a call of another operation", b,
                                  status, d, why);
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

/* Where a call on tensors of its own is wrong. */
static void say_own(int is_second, uint64_t further, unsigned ways,
                    mxo_status status, run_checks *d, mxo_text why)
{
    const char *const where =
        is_second      ? "in a second context"
        : further == 0 ? "with all tensors in one buffer"
                       : "with all tensors in one buffer, all but one of them "
                         "beyond its first 64 KiB";
    char with[SUBJECT_TEXT / 2];
    char words[SUBJECT_TEXT];

    launch_say(ways, (mxo_text){with, sizeof with});
    (void)snprintf(words, sizeof words, "%s %s", where, with);
    checked_add_words(ways != 0 ? words : where, status, d, why);
}

/* The call on tensors of its own: in a second context, in one half of the calls
   in ways that it draws, or all of them in one buffer, one that the call draws
   at its start, in one half the others beyond what 16 bits count.  What has no
   room for them is left out. */
static mxo_status run_on_own(const stage *g, int is_second, tensor_set *out,
                             run_checks *d, mxo_text why)
{
    enum { FURTHER = 1 << 16 };
    const mxo_text unheard = {NULL, 0};
    const uint64_t further =
        !is_second && (launch_hash(g) >> 53 & 1) != 0 ? FURTHER : 0;
    const unsigned ways =
        is_second && (launch_hash(g) >> 30 & 1) != 0 ? launch_draw(g) : 0;
    subject *s = g->s;
    mxo_status status = MXO_OK;
    subject other = *s;
    stage h;

    if (is_second && !subject_enter_second(s, &other)) {
        return MXO_OK;
    }
    other.host_align = is_second ? s->host_align : 0; /* no fence */
    if ((is_second ? stage_place_call(&h, &other, g->call, g->want, 0, unheard)
                   : stage_place_in_one(&h, &other, g->call, g->want,
                                        (uint32_t)(launch_hash(g) >> 28) & 0xff,
                                        further, unheard)) == MXO_OK) {
        h.takes_noise = g->takes_noise;
        h.takes_alike = g->takes_alike;
        status = ways != 0 ? checked_turn(&h, ways, why) : MXO_OK;
        status = status == MXO_OK && is_second ? alike_run(&h, why) : status;
        status = status == MXO_OK ? checked_run(&h, 1, 1, out, d, why) : status;
    }
    stage_release(&h);
    subject_leave_second(s, &other);
    if (checked_is_wrong(status, d)) {
        say_own(is_second, further, ways, status, d, why);
    }
    return status;
}

/* A call that must be refused, in this way. */
static mxo_status ask_in_way(stage *g, unsigned way, tensor_set *out,
                             run_checks *d, mxo_text why)
{
    const mxo_status status = checked_turn(g, way, why);

    launch_say(way, (mxo_text){d->called, sizeof d->called});
    return status == MXO_OK ? checked_run(g, 1, 1, out, d, why) : status;
}

/* The same in a second context; SHAPE as well where there is none. */
static mxo_status ask_in_second(const stage *g, tensor_set *out, run_checks *d,
                                mxo_text why)
{
    subject *s = g->s;
    mxo_status status = MXO_E_SHAPE;
    subject other = *s;
    stage h;

    if (!subject_enter_second(s, &other)) {
        return status;
    }
    if (stage_place_call(&h, &other, g->call, g->want, 0, why) == MXO_OK) {
        (void)snprintf(d->called, sizeof d->called, "in a second context");
        status = checked_run(&h, 1, 1, out, d, why);
    }
    stage_release(&h);
    subject_leave_second(s, &other);
    return status;
}

/* Is it taken, does it fail, or is something written?  Work on a stream may
   still end in a failure that says no more. */
static int is_no_refusal(mxo_status status, int is_late, const run_checks *d)
{
    return status == MXO_OK || (!is_late && checked_is_failure(status)) ||
           d->guards[0] != '\0' || d->refusal[0] != '\0';
}

mxo_status refused_runs(stage *g, mxo_status refused, tensor_set *out,
                        run_checks *d, mxo_text why)
{
    enum { LARGEST = 1 << 16 };
    const subject *s = g->s;
    char text[SUBJECT_TEXT] = "";
    const mxo_text said = {text, sizeof text};
    const unsigned now =
        launch_declared(g) &
        (s->refuses == REFUSE_CALL ? LAUNCH_ALL : LAUNCH_APART | LAUNCH_ALIGN);
    mxo_status status = refused;
    int found = 0;

    if ((refused != MXO_E_SHAPE && refused != MXO_E_PARAM) ||
        s->refuses == REFUSE_NOTHING || launch_bytes(g) > LARGEST) {
        return refused;
    }
    for (unsigned way = 1; way < LAUNCH_ALL && !found; way *= 2) {
        if ((now & way) != 0) {
            status = ask_in_way(g, way, out, d, said);
            found = is_no_refusal(status, launch_sends_late(way), d);
        }
    }
    if (!found) {
        status = ask_in_second(g, out, d, said);
        found = is_no_refusal(status, 0, d);
    }
    if (!found) {
        d->called[0] = '\0';
        return refused;
    }
    (void)snprintf(why.ptr, why.size, "%.150s, %.90s", text, d->called);
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
    const mxo_status status = waiting_runs(g, out, d, why);

    return checked_is_wrong(status, d) ? status : run_on_others(g, out, d, why);
}
