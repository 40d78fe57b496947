/* SPDX-License-Identifier: Apache-2.0 */
/* Driving a backend; see device_under_test.h. */
#include "device_under_test.h"

#include "alike.h"
#include "call_before.h"
#include "device_buffers.h"
#include "launch.h"
#include "refused_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of runs before one synchronize(): in the second run three, of calls that are
   chosen, as that costs runs.  An odd number: what alternates from run to run
   shows between the two answers. */
static int runs_ahead(const stage *g)
{
    return launch_is_chosen(g, 1 << 14) ? 3 : 1;
}

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

/* Not a call that is declined. */
static int is_failure(mxo_status status)
{
    return status == MXO_E_NOMEM || status >= MXO_E_DEVICE;
}

/* On noise; nobody looks at its answer. Its status, if it can be made. */
static mxo_status make_other(subject *s, mxo_text why)
{
    mxo_status status = MXO_OK;
    run_checks unused;
    stage g;

    memset(&unused, 0, sizeof unused);
    if (stage_on_noise(&g, s, s->other, s->other_out, why) == MXO_OK) {
        status = launch_make(&g, 0, 1, &unused, why);
    }
    stage_release(&g);
    return status;
}

/* The other call, its status, and its words if a difference comes behind it. */
static const char *run_other(const stage *g, mxo_status *status, mxo_text why)
{
    subject *s = g->s;
    subject other = *s;
    const int is_second =
        (launch_hash(g) >> 20 & 1) != 0 && enter_second(s, &other);

    if (!is_second) {
        other = *s;
    }
    *status = make_other(&other, why);
    s->n_placed = other.n_placed;
    if (s->link != NULL) {
        (void)s->link->second(s->link->state, 0);
    }
    return is_second ? "behind another call in a second context"
                     : "behind a call of other sizes";
}

/* Run number 0 or 1, so often before one synchronize(): out receives the bytes
   of the first. */
static mxo_status run_filled(stage *g, int run, int n_runs, tensor_set *out,
                             run_checks *d, mxo_text why)
{
    mxo_status status = stage_send_outputs(g, run, why);

    if (status != MXO_OK) {
        return status;
    }
    status = launch_make(g, run, n_runs, d, why);
    const mxo_text unheard = {NULL, 0};
    const mxo_text after = status == MXO_OK ? why : unheard;
    mxo_status back = stage_check_guards(g, d, after);

    if (back == MXO_OK && status != MXO_OK) {
        back = stage_check_refusal(g, run, d, after);
    } else if (back == MXO_OK && run == 0) {
        back = stage_fetch_outputs(g, out, after);
    } else if (back == MXO_OK) {
        back = stage_compare_outputs(g, out, d, after);
    }
    if (d->guards[0] == '\0') {
        (void)snprintf(d->guards, sizeof d->guards, "%s", g->gap);
    }
    return status == MXO_OK ? back : status;
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

/* The inputs, and what outputs hold, as these ways want them. */
static mxo_status turn(stage *g, unsigned ways, mxo_text why)
{
    const mxo_status status = stage_turn(g, ways, why);

    return status == MXO_OK ? stage_send_inputs(g, launch_sends_late(ways), why)
                            : status;
}

/* Another second run, of which only counts whether it differs too. */
static int differs(stage *g, unsigned ways, tensor_set *out)
{
    char text[SUBJECT_TEXT];
    const mxo_text why = {text, sizeof text};
    run_checks d;

    memset(&d, 0, sizeof d);
    g->gap[0] = '\0';
    return turn(g, ways, why) != MXO_OK ||
           run_filled(g, 1, runs_ahead(g), out, &d, why) != MXO_OK ||
           d.n_unwritten + d.n_changing > 0 || d.guards[0] != '\0';
}

/* The way of calling that makes it fail; 0: none. */
static unsigned to_blame(stage *g, unsigned ways, tensor_set *out)
{
    /* Twice: a result that alternates may be right once. */
    for (int i = 0; i < 2; i++) {
        if (differs(g, 0, out)) {
            return 0;
        }
    }
    for (unsigned way = 1; way < LAUNCH_ALL; way *= 2) {
        if ((ways & way) != 0 && differs(g, way, out)) {
            return way;
        }
    }
    return ways;
}

/* Words behind what was seen first of guards, unwritten and changing bytes, or
   behind the sentence of a status. */
static void add_words(const char *words, mxo_status status, run_checks *d,
                      mxo_text why)
{
    const mxo_text said =
        status != MXO_OK       ? why
        : d->guards[0] != '\0' ? (mxo_text){d->guards, sizeof d->guards}
        : d->n_unwritten > 0   ? (mxo_text){d->unwritten, sizeof d->unwritten}
                               : (mxo_text){d->changing, sizeof d->changing};
    const size_t used = strlen(said.ptr);

    (void)snprintf(said.ptr + used, said.size - used, "%s%.200s",
                   used > 0 ? ", " : "", words);
}

/* The same, and the case of the call of another operation. */
static void add_operation(const char *words, const call_before *b,
                          mxo_status status, run_checks *d, mxo_text why)
{
    char text[SUBJECT_TEXT];

    (void)snprintf(text, sizeof text, "%s: %s", words, b->name);
    (void)snprintf(d->beside, sizeof d->beside, "%s", b->call.op);
    add_words(text, status, d, why);
}

static int is_wrong(mxo_status status, const run_checks *d)
{
    return status != MXO_OK || d->n_unwritten > 0 || d->n_changing > 0 ||
           d->guards[0] != '\0';
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
    return launch_make(g, 0, 1, &unused, why);
}

/* The call on noise, whose answer nobody looks at: it may be declined, but not
   fail. */
static mxo_status run_decoy(stage *g, run_checks *d, mxo_text why)
{
    uint32_t left = g->s->soak;
    run_checks unused;
    int n_runs = 1;

    memset(&unused, 0, sizeof unused);
    MXO_TRY(stage_send_inputs(g, 1, why));
    MXO_TRY(stage_send_outputs(g, 0, why));
    mxo_status status = launch_make(g, 0, 1, &unused, why);

    g->takes_noise = status == MXO_OK;
    while (left > 0 && !is_failure(status)) {
        const uint32_t most =
            (uint32_t)launch_at_once(g->s, unused.ms / n_runs);
        n_runs = (int)(left < most ? left : most);
        status = launch_make(g, 0, n_runs, &unused, why);
        left -= (uint32_t)n_runs;
    }
    status = is_failure(status) ? status : run_alike(g, why);
    if (!is_failure(status)) {
        return MXO_OK;
    }
    add_words("on noise", status, d, why);
    return status;
}

/* The second run, in other ways than the first where it declares some. */
static mxo_status run_again(stage *g, tensor_set *out, run_checks *d,
                            mxo_text why)
{
    unsigned ways = launch_draw(g);

    launch_say(ways, (mxo_text){d->called, sizeof d->called});
    mxo_status status =
        g->s->host_align > 0 || ways != 0 ? turn(g, ways, why) : MXO_OK;

    status = status == MXO_OK ? run_filled(g, 1, runs_ahead(g), out, d, why)
                              : status;
    const int is_gone = g->s->link != NULL && status == MXO_E_DEVICE;

    if (!is_wrong(status, d)) {
        return status;
    }
    ways = ways != 0 && !is_gone ? to_blame(g, ways, out) : ways;
    if (ways != 0) {
        char with[SUBJECT_TEXT];
        char words[SUBJECT_TEXT];
        launch_say(ways, (mxo_text){with, sizeof with});
        (void)snprintf(words, sizeof words, "when called %.200s", with);
        add_words(words, status, d, why);
    }
    /* It took the call once. */
    return status == MXO_E_UNSUPPORTED ? MXO_E_DEVICE : status;
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
    mxo_status status = turn(g, 0, why);

    if (status != MXO_OK) {
        return status;
    }
    const char *const words = run_other(g, &status, why);

    status = is_failure(status) ? status : run_filled(g, 1, 1, out, d, why);
    if (is_wrong(status, d)) {
        add_words(words, status, d, why);
    }
    return status;
}

/* Further runs, each with a call of another operation before it. */
static mxo_status run_behind_operations(stage *g, tensor_set *out,
                                        run_checks *d, mxo_text why)
{
    subject *s = g->s;
    mxo_status status = s->n_before > 0 ? turn(g, 0, why) : MXO_OK;

    for (int i = 0; i < s->n_before && !is_wrong(status, d); i++) {
        call_before *b = s->before[i];
        status = call_before_make(s, b, why);
        status = is_failure(status) ? status : run_filled(g, 1, 1, out, d, why);
        if (is_wrong(status, d)) {
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
    mxo_status status = turn(g, 0, why);

    if (status == MXO_OK) {
        refused_call_make(g, kind, (mxo_text){behind, sizeof behind});
    }
    for (int i = 0; !is_wrong(status, d) && i < 2; i++) {
        char words[SUBJECT_TEXT];

        status = run_filled(g, 1, 1, out, d, why);
        (void)snprintf(words, sizeof words, "%s%.200s",
                       i == 0 ? "" : "in the second call ", behind);
        if (is_wrong(status, d)) {
            add_words(words, status, d, why);
            (void)snprintf(
                d->beside, sizeof d->beside, "%s",
                kind == REFUSED_OPERATION ? call_before_drawn(g)->call.op : "");
        }
    }
    return status;
}

/* The call of other sizes, or of every other call that of another operation. */
static mxo_status place_behind(stage *behind, const stage *g, int is_operation,
                               mxo_text why)
{
    subject *s = g->s;

    return is_operation
               ? call_before_place(behind, s, call_before_drawn(g), why)
               : stage_on_noise(behind, s, s->other, s->other_out, why);
}

/* A fifth run, with another call put behind it before both are waited for:
   what is kept of a call until it is made, in one place for all, is that of the
   other by then. */
static mxo_status run_pending(stage *g, tensor_set *out, run_checks *d,
                              mxo_text why)
{
    subject *s = g->s;
    const int can_wait =
        s->link != NULL ? s->link->has_behind : s->table->stream_open != NULL;
    const int is_operation = (launch_hash(g) >> 21 & 1) != 0;
    const int is_there = is_operation
                             ? s->n_before > 0
                             : s->other != NULL && s->other_out->n <= MAX_OUT;
    stage behind;

    memset(&behind, 0, sizeof behind);
    if (!is_there || !can_wait) {
        return MXO_OK;
    }
    mxo_status status = turn(g, launch_draw(g) & LAUNCH_STREAM, why);

    if (status == MXO_OK &&
        place_behind(&behind, g, is_operation, why) == MXO_OK) {
        g->behind = &behind;
        status = run_filled(g, 1, 1, out, d, why);
        g->behind = NULL;
    }
    stage_release(&behind);
    if (is_wrong(status, d) && is_operation) {
        add_operation("with a call of another operation behind it",
                      call_before_drawn(g), status, d, why);
    } else if (is_wrong(status, d)) {
        add_words("with a call of other sizes behind it", status, d, why);
    }
    return status;
}

/* The inputs; in every other call where those on noise were, too. */
static mxo_status send_call(stage *g, mxo_text why)
{
    const int moves = g->s->host_align > 0 && (launch_hash(g) >> 43 & 1) != 0;

    return moves ? turn(g, 0, why) : stage_send_inputs(g, 0, why);
}

static mxo_status run_twice(stage *g, tensor_set *out, run_checks *d,
                            mxo_text why)
{
    const int is_behind = g->s->decoy && launch_comes_first(g);
    mxo_status status =
        g->s->decoy && !is_behind ? run_decoy(g, d, why) : MXO_OK;

    /* From run to run the fence is on another side of the inputs. */
    status = status == MXO_OK ? send_call(g, why) : status;
    status = status == MXO_OK ? run_filled(g, 0, 1, out, d, why) : status;
    if (status == MXO_OK && is_behind) {
        status = run_decoy(g, d, why);
        status = status == MXO_OK ? send_call(g, why) : status;
    }
    const double first_ms = d->ms;

    if (status != MXO_OK) {
        return status;
    }
    status = g->s->once ? MXO_OK : run_again(g, out, d, why);
    if (!is_wrong(status, d)) {
        status = run_beside(g, out, d, why);
    }
    if (!is_wrong(status, d)) {
        status = run_behind_operations(g, out, d, why);
    }
    for (refused_kind k = REFUSED_OWN; k <= REFUSED_OPERATION; k++) {
        status = is_wrong(status, d) ? status
                                     : run_behind_refusal(g, k, out, d, why);
    }
    if (status == MXO_OK && g->s->table->kernel != NULL) {
        g->s->table->kernel(g->s->ctx, (mxo_text){d->kernel, sizeof d->kernel});
        d->kernel[sizeof d->kernel - 1] = '\0';
    }
    if (!is_wrong(status, d)) {
        status = run_pending(g, out, d, why);
    }
    d->ms = first_ms;
    check_device(g, d);
    return status;
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
    stage_release(&g);
    subject_see(s, d);
    return status;
}
