/* SPDX-License-Identifier: Apache-2.0 */
/* mxoracle run: judge cases on backends, report, and say so by exit code. */
#include "base/cli.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/stop.h"
#include "campaign.h"
#include "listing.h"
#include "lost.h"
#include "report/baseline.h"
#include "report/journal.h"
#include "run/mutant_device.h"
#include "run_vectors.h"
#include "subject_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct session {
    const run_options *o;
    backend_list known;
    backend_list chosen;
    campaign_plan plan;
    worker_pool *pools[BACKEND_MAX];
    backend_info infos[BACKEND_MAX];
    report_run run;
    report_set reports;
    baseline expected;
    journal journal;
    tally counts;
    progress progress;
    int current;        /* index of the backend at work */
    size_t next;        /* place in the plan of the next case to report */
    case_list pending;  /* of this backend: what the journal lacks; borrowed */
    size_t *pending_at; /* owned: places of those in the plan */
    size_t n_near;      /* of this backend: judged as another */
    size_t n_outside;   /* and outside its limits */
    int is_unwritten;   /* the journal could not be written */
    /* Of this backend's last case; "": none. */
    char last_repro[sizeof((report_result *)NULL)->repro];
} session;

/* A plugin the user named must load: anything else is bad usage. */
static int open_pools(session *s)
{
    for (int i = 0; i < s->chosen.n; i++) {
        const backend_ref *ref = &s->chosen.ref[i];
        backend_info *info = &s->infos[i];

        s->pools[i] = worker_pool_create(ref, &s->o->pool, info);
        backends_show(&s->chosen, i,
                      ref->shown[0] == '\0' ? info->name : ref->shown);
        memcpy(info->name, s->chosen.ref[i].shown, sizeof info->name);
        info->is_given = ref->is_given;
        subject_lines_left(info);
        if (info->is_given && info->version[0] == '\0' &&
            info->absent == VERDICT_ERROR) {
            char option[2 * BACKEND_COMMAND];
            backend_option(ref, option, sizeof option);
            return cli_refuse("%s: %s", option, info->why_not);
        }
    }
    return EXIT_PASS;
}

static void describe(session *s)
{
    const run_options *o = s->o;
    report_run *run = &s->run;

    run->level = o->n_args + o->n_profiles == 0 ? o->level : 0;
    run->n_backends = s->chosen.n;
    run->backends = s->infos;
    run->max_fail = o->max_fail;
    run->also = o->also[0] == '\0' ? NULL : o->also;
    run->verbose = o->verbose;
    run->color = run_options_color(o, stdout);
    if (o->repeat > 1) {
        (void)snprintf(run->seeds, sizeof run->seeds, "%" PRIu64 "..%" PRIu64,
                       o->seed, o->seed + o->repeat - 1);
    } else {
        (void)snprintf(run->seeds, sizeof run->seeds, "%" PRIu64, o->seed);
    }
    for (int i = 0; i < s->chosen.n; i++) {
        run->n_planned += s->infos[i].why_not[0] == '\0' ? s->plan.cases.n : 1;
    }
    campaign_plan_add_code(&s->plan, s->infos, s->chosen.n);
    run->shard = o->shard;
    run->n_shards = o->n_shards;
    run->baseline = o->baseline;
    run->expected = o->baseline == NULL ? NULL : &s->expected;
    (void)snprintf(run->plan, sizeof run->plan, "%s", s->plan.digest);
    run->options = s->plan.options;
    run->subjects = s->plan.subjects;
}

static void write_repro(const session *s, const char *before, const char *text,
                        uint64_t seed, char *repro, size_t size)
{
    const worker_pool_options *how = &s->o->pool;
    char option[2 * BACKEND_COMMAND];

    device_option(&s->chosen.ref[s->current], how->device, option,
                  sizeof option);
    (void)snprintf(repro, size,
                   "mxoracle run %.4000s%s%s%s --seed=%" PRIu64 " %.1023s%s%s",
                   option, s->o->soak_option, s->o->beside_option,
                   s->o->strict ? " --strict" : "", seed, before,
                   before[0] == '\0' ? "" : " ", text);
}

/* To every report, in the light of the baseline. */
static void report(session *s, report_result *r, verdict *v)
{
    r->backend = &s->infos[s->current];
    r->judged = v->status;
    r->v = v;
    if (s->o->baseline != NULL) {
        baseline_judge(&s->expected, r, v);
    }
    if (s->o->verbose > 0 || verdict_is_red(v->status)) {
        progress_wipe(&s->progress);
    }
    report_set_result(&s->reports, r);
    tally_add(&s->counts, r);
    if (s->o->fail_fast && verdict_is_red(v->status)) {
        stop_now("--fail-fast");
    }
    progress_show(&s->progress, s->counts.n_lines, tally_red(&s->counts),
                  r->case_text);
}

/* Replay the journal's verdicts on the plan, up to a place. */
static void replay_until(session *s, size_t place)
{
    for (; s->next < place; s->next++) {
        const case_item *item = &s->plan.cases.item[s->next];
        json_t *record = journal_find(&s->journal, s->infos[s->current].name,
                                      item->seed, item->text);
        verdict v;
        report_result r;
        if (record != NULL && record_read(record, &r, &v) == 0) {
            report(s, &r, &v);
            verdict_clear(&v);
        }
        json_decref(record);
    }
}

/* The case as reports name it. */
static const char *name_of(const session *s, const case_item *item,
                           char canonical[CASE_TEXT])
{
    mxo_text none = {canonical, CASE_TEXT};
    test_case c;

    if (!s->o->canonical || case_parse(&c, item->text, none) != 0) {
        return item->text;
    }
    case_print(&c, 1, canonical);
    return canonical;
}

static void judged(void *state, size_t index, const verdict *v)
{
    session *s = state;
    const size_t place = s->pending_at[index];
    const case_item *item = &s->plan.cases.item[place];
    verdict seen = *v; /* borrows what v owns */
    char canonical[CASE_TEXT];
    report_result r = {.n_cases = 1,
                       .seed = item->seed,
                       .index = s->plan.index[place],
                       .backend = &s->infos[s->current],
                       .v = &seen};

    if (s->o->strict && v->status == VERDICT_UNSUPPORTED) {
        seen.status = VERDICT_ERROR;
        (void)snprintf(seen.reason, sizeof seen.reason,
                       "unsupported, and --strict: %.400s", v->reason);
    }
    s->n_near += v->limits == 1;
    s->n_outside += v->limits == 2;
    replay_until(s, place);
    s->next = place + 1;
    r.judged = seen.status;
    r.case_text = item->text;
    write_repro(s, v->before,
                v->asked != NULL ? v->asked : name_of(s, item, canonical),
                item->seed, r.repro, sizeof r.repro);
    memcpy(s->last_repro, r.repro, sizeof s->last_repro);
    if (journal_add(&s->journal, &r) != 0 && !s->is_unwritten) {
        (void)cli_refuse("--resume=%s cannot be written: %s", s->o->journal,
                         strerror(errno));
        s->is_unwritten = 1;
        stop_now("a journal that cannot be written");
    }
    r.case_text = name_of(s, item, canonical);
    report(s, &r, &seen);
}

/* All cases of a backend that is not there, in one line. */
static void report_absent(session *s)
{
    const backend_info *b = &s->infos[s->current];
    verdict v = {.status = b->absent};
    report_result r = {
        .case_text = "*", .n_cases = s->plan.cases.n, .seed = s->o->seed};

    (void)snprintf(v.reason, sizeof v.reason, "%s", b->why_not);
    write_repro(s, "", "*", s->o->seed, r.repro, sizeof r.repro);
    report(s, &r, &v);
}

/* The cases that the journal lacks for the backend at work. */
static void find_pending(session *s)
{
    s->pending.n = s->next = 0;
    for (size_t i = 0; i < s->plan.cases.n; i++) {
        const case_item *item = &s->plan.cases.item[i];
        if (!journal_has(&s->journal, s->infos[s->current].name, item->seed,
                         item->text)) {
            s->pending_at[s->pending.n] = i;
            s->pending.item[s->pending.n++] = *item;
        }
    }
}

/* What is left to say of the backend at work. */
static int end_verdicts(session *s)
{
    replay_until(s, s->plan.cases.n);
    if (s->o->verbose >= 0) {
        subject_lines_outside(&s->infos[s->current], s->n_near + s->n_outside,
                              s->n_near, s->pending.n);
    }
    return 0;
}

static int judge_backend(session *s)
{
    int status = 0;

    s->n_near = s->n_outside = 0;
    s->last_repro[0] = '\0';
    if (s->infos[s->current].why_not[0] != '\0') {
        report_absent(s);
        return 0;
    }
    find_pending(s);
    if (s->pending.n > 0) {
        status = worker_pool_run(s->pools[s->current], &s->pending, judged, s);
    }
    return status == 0 ? end_verdicts(s) : status;
}

/* Cases that are given by name, and a part of a run, cover what they cover. */
static int is_whole(const session *s)
{
    return s->o->n_args == 0 && s->o->n_profiles == 0 && s->o->n_shards == 0 &&
           s->run.stopped == NULL;
}

/* A red line beside the cases. */
static void report_line(void *state, report_result *r)
{
    session *s = state;

    report_set_result(&s->reports, r);
    tally_add(&s->counts, r);
}

/* What the baseline names of what was asked for, and the run has not. */
static void report_lost(session *s)
{
    lost l = {.expected = &s->expected,
              .run = &s->run,
              .infos = s->infos,
              .counts = &s->counts,
              .report = report_line,
              .state = s,
              .options = s->o,
              .chosen = &s->chosen,
              .n_asked = s->chosen.n};

    for (size_t i = 0; s->expected.n > 0 && i < s->plan.cases.n; i++) {
        lost_see_case(&l, s->plan.cases.item[i].text);
    }
    if (is_whole(s)) {
        lost_report(&l);
    }
    lost_clear(&l);
}

static subject_lines lines_of(session *s, int k)
{
    return (subject_lines){.who = &s->infos[k],
                           .ref = &s->chosen.ref[k],
                           .report = report_line,
                           .state = s};
}

/* Its processes end, as nothing more is asked. */
static void end_backend(session *s)
{
    const subject_lines lines = lines_of(s, s->current);
    verdict v;

    worker_pool_finish(s->pools[s->current], &v);
    progress_wipe(&s->progress);
    subject_lines_end(&lines, &v, s->last_repro);
    verdict_clear(&v);
}

/* Nothing more is judged. */
static void end_reports(session *s)
{
    progress_end(&s->progress);
    s->run.stopped = stop_reason();
    report_lost(s);
    for (int k = 0; !s->o->allow_declines && k < s->chosen.n && is_whole(s);
         k++) {
        const subject_lines lines = lines_of(s, k);
        subject_lines_undeclared(&lines, &s->counts, &s->expected);
    }
    report_set_end(&s->reports, &s->counts);
}

static int judge_all(session *s)
{
    int status = 0;

    report_set_begin(&s->reports, &s->run);
    for (int i = 0; i < s->chosen.n && status == 0 && !stop_requested(); i++) {
        s->current = i;
        status = judge_backend(s);
        if (status == 0 && !stop_requested() && s->last_repro[0] != '\0') {
            end_backend(s);
        }
        worker_pool_destroy(&s->pools[i]);
    }
    end_reports(s);
    return status == 0 && !s->is_unwritten ? EXIT_PASS : EXIT_BROKEN;
}

/* Has a backend that was asked for by name declined everything? */
static int is_declined(const session *s)
{
    int found = 0;

    for (int i = 0; i < s->chosen.n; i++) {
        found |= (s->o->n_backends > 0 || s->infos[i].is_given) &&
                 tally_is_declined(&s->counts, s->infos[i].name);
    }
    return found;
}

static int exit_status(const session *s)
{
    const tally *t = &s->counts;

    if (tally_red(t) > 0) {
        return EXIT_RED;
    }
    if (is_declined(s)) {
        return EXIT_SKIP;
    }
    return t->n[VERDICT_PASS] + t->n[VERDICT_EXPECTED] > 0 ? EXIT_PASS
                                                           : EXIT_SKIP;
}

/* Read what the run is held against, and what it has done before. */
static int open_inputs(session *s)
{
    const run_options *o = s->o;
    char why[1024];
    const mxo_text text = {why, sizeof why};
    int status = EXIT_PASS;

    s->journal.fd = -1;
    if (o->baseline != NULL &&
        (baseline_read(&s->expected, o->baseline, text) != 0)) {
        return cli_refuse("%s", why);
    }
    status = run_options_check_baseline(o, &s->known, &s->expected);
    if (status == EXIT_PASS && o->journal != NULL &&
        journal_open(&s->journal, o->journal, &s->run, text) != 0) {
        return cli_refuse("%s", why);
    }
    return status;
}

static int prepare(session *s)
{
    int status = run_options_backends(s->o, &s->known);

    if (status == EXIT_PASS) {
        status = run_options_choose(s->o, &s->known, &s->chosen);
    }
    if (status == EXIT_PASS) {
        status = campaign_plan_make(&s->plan, s->o, &s->chosen);
    }
    if (status == EXIT_PASS) {
        status = open_pools(s);
    }
    if (status == EXIT_PASS) {
        describe(s);
        status = open_inputs(s);
    }
    if (status == EXIT_PASS) {
        status = report_set_open(&s->reports, &s->o->reports, &report_text);
    }
    s->pending.item =
        memory_need_zeros(s->plan.cases.n + 1, sizeof *s->pending.item);
    s->pending_at =
        memory_need_zeros(s->plan.cases.n + 1, sizeof *s->pending_at);
    return status;
}

static int close_reports(session *s, int status)
{
    const int closed = report_set_close(&s->reports);
    const int worse = status != EXIT_PASS ? status : closed;

    return worse != EXIT_PASS
               ? worse
               : stop_exit_status_of(s->run.stopped, exit_status(s));
}

/* In the middle of a case, which is not judged. */
static int leave(void *state)
{
    session *s = state;

    (void)end_verdicts(s);
    end_reports(s);
    return close_reports(s, s->is_unwritten ? EXIT_BROKEN : EXIT_PASS);
}

static int run_session(session *s)
{
    report_run_begin(&s->run, "run");
    stop_after(s->o->budget_s);
    stop_catch_signals();
    int status = prepare(s);

    if (status != EXIT_PASS) {
        report_set_abandon(&s->reports);
        return status;
    }
    progress_begin(&s->progress, s->run.n_planned, s->o->verbose >= 0);
    progress_tick(&s->progress);
    stop_leave_with(leave, s);
    return close_reports(s, judge_all(s));
}

static void clear(session *s)
{
    for (int i = 0; i < BACKEND_MAX; i++) {
        worker_pool_destroy(&s->pools[i]);
    }
    tally_clear(&s->counts);
    campaign_plan_clear(&s->plan);
    baseline_clear(&s->expected);
    journal_close(&s->journal);
    free(s->pending.item);
    free(s->pending_at);
    free(s);
}

int cmd_run(int argc, char **argv)
{
    run_options options;
    int status = run_options_parse(
        &options, OPTIONS_run,
        "run [OPTION]... [CASE|@FILE|PATH]...\n\n"
        "Without cases, the grids of the level are judged on every built "
        "backend.",
        argc, argv);

    if (status >= 0) {
        return status;
    }
    if (options.list != NULL) {
        return list_things(&options, options.list);
    }
    if (options.vectors) {
        return run_vectors(&options);
    }
    session *s = memory_need_zeros(1, sizeof *s);

    s->o = &options;
    cli_publish_width();
    status = run_session(s);
    clear(s);
    return status;
}
