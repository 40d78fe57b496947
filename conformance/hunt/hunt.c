/* SPDX-License-Identifier: Apache-2.0 */
/* See hunt.h. */
#include "hunt.h"

#include "base/cli.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/stop.h"
#include "base/strbuf.h"
#include "finding.h"
#include "report/report_file.h"
#include "run/mutant_device.h"
#include "state.h"
#include "system/process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reds of one group and kind that are looked at: the first ones; further ones
   mostly have its cause. */
enum { BATCH = 64, LOOKS = 3, KINDS = 512, JOURNAL_S = 5 };

/* Calls that never end cost seconds each: a batch stops behind the second. */
enum { BATCH_HANGS = 2 };

typedef struct red_kind {
    uint32_t group;
    char kind[sizeof((verdict *)0)->kind];
    uint64_t n;
} red_kind;

typedef struct hunt {
    const hunt_options *o;
    draw_plan *plan;
    worker_pool *fast;
    worker_pool *thorough; /* NULL until something is found */
    backend_info info;
    hunt_state state;
    hunt_journal journal;
    seen seen;
    tally counts;
    report_run run;
    reporter text;
    progress progress;
    double start_s;
    double kept_s; /* when the journal was last written */
    int is_enough; /* causes */
    uint64_t n_done;
    uint32_t n_kinds;
    red_kind kinds[KINDS];
    int is_unwritten;
    int n_hangs; /* of the batch at work */
    /* the batch at work */
    draw_record record[BATCH];
    test_case drawn[BATCH];
    case_item item[BATCH];
    char text_of[BATCH][CASE_TEXT];
    verdict_status status[BATCH];
    uint8_t is_looked_at[BATCH];
    verdict first[BATCH]; /* of those; to be cleared */
    uint8_t *has_red;     /* owned, per group */
} hunt;

static uint32_t group_of(const hunt *h, size_t i)
{
    return draw_group_of(h->plan, h->record[i].byte, DRAW_BYTES);
}

/* How many of this group and kind there were before. */
static uint64_t count_kind(hunt *h, uint32_t group, const char *kind)
{
    uint32_t i = 0;

    while (i < h->n_kinds && (h->kinds[i].group != group ||
                              strcmp(h->kinds[i].kind, kind) != 0)) {
        i++;
    }
    if (i == KINDS) {
        return LOOKS;
    }
    if (i == h->n_kinds) {
        h->kinds[h->n_kinds++].group = group;
        (void)snprintf(h->kinds[i].kind, sizeof h->kinds[i].kind, "%s", kind);
    }
    return h->kinds[i].n++;
}

static void draw_batch(hunt *h)
{
    char name[64];
    prng rng;
    const uint32_t kept =
        h->state.n_pool < HUNT_POOL ? h->state.n_pool : HUNT_POOL;

    (void)snprintf(name, sizeof name, "batch %" PRIu64, h->state.batch);
    prng_seed(&rng, seed_of(h->o->seed, "fuzz", name));
    for (int i = 0; i < BATCH; i++) {
        draw_record *r = &h->record[i];
        draw_random(h->plan, &rng, r);
        if (kept > 0 && prng_below(&rng, 8) == 0) {
            *r = h->state.pool[prng_below(&rng, kept)];
            draw_mutate(h->plan, &rng, r);
        }
        draw_decode(h->plan, r->byte, sizeof r->byte, &h->drawn[i],
                    &h->item[i].seed);
        case_print(&h->drawn[i], 0, h->text_of[i]);
        h->item[i].text = h->text_of[i];
        h->status[i] = N_VERDICTS;
        h->is_looked_at[i] = 0;
    }
}

/* What was covered is the call that was asked, which limits may have made
   another than the drawn one. */
static void see(hunt *h, size_t i, const verdict *v)
{
    test_case c = h->drawn[i];
    uint32_t group = group_of(h, i);
    char why[256];

    if (v->asked != NULL &&
        case_parse(&c, v->asked, (mxo_text){why, sizeof why}) == 0) {
        group = draw_group_with(h->plan, &c);
    }
    if (group < h->plan->n) {
        seen_case(&h->seen, group, &c);
        seen_verdict(&h->seen, group, v);
    }
}

static void judged(void *state, size_t i, const verdict *v)
{
    hunt *h = state;
    verdict copy = *v; /* borrows what v owns */
    report_result r = {.backend = &h->info,
                       .case_text = h->item[i].text,
                       .index = h->n_done,
                       .judged = v->status,
                       .n_cases = 1,
                       .seed = h->item[i].seed,
                       .v = &copy};

    h->status[i] = v->status;
    h->n_done++;
    h->n_hangs += v->status == VERDICT_TIMEOUT;
    if (h->n_hangs >= BATCH_HANGS) {
        worker_pool_enough(h->fast);
    }
    tally_add(&h->counts, &r);
    see(h, i, v);
    if (verdict_is_red(v->status)) {
        h->has_red[group_of(h, i)] = 1;
        h->is_looked_at[i] = count_kind(h, group_of(h, i), v->kind) < LOOKS;
        hunt_state_keep(&h->state, &h->record[i]);
    }
    if (h->is_looked_at[i]) {
        verdict_copy(&h->first[i], v);
    }
    progress_show(&h->progress, h->n_done, tally_red(&h->counts),
                  h->item[i].text);
}

static int unwritten(hunt *h, const char *what, const char *why)
{
    if (!h->is_unwritten) {
        (void)cli_refuse("%s cannot be written: %s", what, why);
        stop_now("what is found cannot be written");
    }
    h->is_unwritten = 1;
    return -1;
}

/* A new cause: shown, and written where it stays. */
static void keep(hunt *h, const finding *f, const report_result *r)
{
    char why[512] = "";

    progress_wipe(&h->progress);
    h->text.result(&h->text, r);
    (void)fflush(stdout);
    if (finding_write(f, h->o->folder, h->state.causes.n,
                      (mxo_text){why, sizeof why}) != 0) {
        (void)unwritten(h, h->o->folder, why);
    }
    if (hunt_journal_finding(&h->journal, r) != 0) {
        (void)unwritten(h, h->journal.path, strerror(errno));
    }
    if (h->o->most_causes > 0 && h->state.causes.n >= h->o->most_causes) {
        h->is_enough = 1;
    }
}

static worker_pool *thorough_pool(hunt *h)
{
    if (h->thorough == NULL) {
        worker_pool_options options = h->o->pool;
        backend_info info;
        options.jobs = 1;
        options.isolate = ISOLATE_BATCH;
        h->thorough = worker_pool_create(h->o->ref, &options, &info);
    }
    return h->thorough;
}

static void look_at(hunt *h, size_t i)
{
    finding f;

    finding_make(&f, thorough_pool(h), h->fast, h->o->ref, h->o->pool.device,
                 h->item[i].text, h->item[i].seed, &h->first[i]);
    report_result r = {.backend = &h->info,
                       .case_text = f.text,
                       .op = h->plan->group[group_of(h, i)].name,
                       .index = h->n_done,
                       .judged = f.v.status,
                       .n_cases = 1,
                       .seed = f.seed,
                       .v = &f.v};

    (void)snprintf(r.repro, sizeof r.repro, "%s", f.repro);
    if (hunt_state_is_new(&h->state, &r)) {
        keep(h, &f, &r);
    }
    finding_clear(&f);
}

/* Now and then: whoever goes on draws a few batches again. */
static void write_journal(hunt *h)
{
    const double now = process_clock();

    if (now - h->kept_s < JOURNAL_S) {
        return;
    }
    h->kept_s = now;
    if (hunt_journal_batch(&h->journal, &h->state, h->plan) != 0) {
        (void)unwritten(h, h->journal.path, strerror(errno));
    }
}

static int run_batch(hunt *h)
{
    case_list l = {.n = BATCH, .capacity = BATCH, .item = h->item};
    const uint64_t left = h->o->most_cases - h->n_done;
    const uint64_t before = h->n_done;

    memset(h->has_red, 0, h->plan->n);
    h->n_hangs = 0;
    draw_batch(h);
    if (h->o->most_cases > 0 && left < BATCH) {
        l.n = (size_t)left;
    }
    if (worker_pool_run(h->fast, &l, judged, h) != 0) {
        return -1;
    }
    for (size_t i = 0; i < l.n; i++) {
        if (h->is_looked_at[i] && !stop_requested() && !h->is_enough) {
            look_at(h, i);
        }
        verdict_clear(&h->first[i]);
    }
    hunt_state_learn(&h->state, h->plan, &h->seen, h->has_red);
    h->state.n_cases += h->n_done - before;
    write_journal(h);
    h->state.batch++;
    return 0;
}

/* Whether time is over, or cases or causes are enough. */
static int is_done(const hunt *h)
{
    return stop_requested() || h->is_enough ||
           process_clock() - h->start_s >= h->o->time_s ||
           (h->o->most_cases > 0 && h->n_done >= h->o->most_cases);
}

/* How the subject's processes end: a red line of no call. */
static void judge_end(hunt *h)
{
    verdict v = {0};
    verdict thorough = {0};

    worker_pool_finish(h->fast, &v);
    if (h->thorough != NULL) {
        worker_pool_finish(h->thorough, &thorough);
    }
    verdict_keep_red(&v, &thorough);
    if (verdict_is_red(v.status)) {
        report_result r = {.backend = &h->info,
                           .case_text = "(end)",
                           .op = "(end)",
                           .index = h->n_done,
                           .judged = v.status,
                           .n_cases = 1,
                           .seed = h->o->seed,
                           .v = &v};
        char option[2 * BACKEND_COMMAND];
        device_option(h->o->ref, h->o->pool.device, option, sizeof option);
        (void)snprintf(r.repro, sizeof r.repro,
                       "mxoracle run %s --seed=%" PRIu64 " %s", option,
                       h->item[0].seed, h->item[0].text);
        progress_wipe(&h->progress);
        h->text.result(&h->text, &r);
        tally_add(&h->counts, &r);
    }
    verdict_clear(&v);
}

static void conclude(hunt *h)
{
    const double s = process_clock() - h->start_s;

    progress_end(&h->progress);
    h->run.stopped = NULL;
    if (h->o->verbose >= 0) {
        (void)printf("seen:\n");
        seen_print(&h->seen, h->plan, stdout);
        causes_print(stdout, &h->state.causes, 100);
        cli_line(stdout, 2,
                 "%" PRIu64 " cases in %.1f s, %.0f a second; %zu cause%s %s "
                 "%s",
                 h->n_done, s, s > 0 ? (double)h->n_done / s : 0,
                 h->state.causes.n, h->state.causes.n == 1 ? "" : "s",
                 h->state.causes.n == 0 ? "to write to" : "in", h->o->folder);
    }
    report_last_line(stdout, &h->run, &h->counts);
}

/* Can findings be kept there?  Asked before a night is spent. */
static int check_folder(const char *folder)
{
    strbuf inside = {NULL, 0, 0};
    const int is_new = mkdir(folder, 0777) == 0;
    int status = EXIT_PASS;

    strbuf_add(&inside, "%s/.", folder);
    if (access(inside.text, W_OK | X_OK) != 0) {
        status = cli_refuse("findings cannot be kept in %s: %s", folder,
                            strerror(errno));
    }
    strbuf_clear(&inside);
    if (is_new) {
        (void)rmdir(folder);
    }
    return status;
}

static int hunt_open(hunt *h)
{
    char why[1024] = "";
    worker_pool_options options = h->o->pool;

    if (options.isolate == ISOLATE_AUTO) {
        options.isolate = ISOLATE_SHARED;
    }
    h->fast = worker_pool_create(h->o->ref, &options, &h->info);
    h->has_red = memory_need_zeros(h->plan->n, 1);
    if (seen_begin(&h->seen, h->plan) != 0 ||
        hunt_state_begin(&h->state, h->plan) != 0) {
        (void)cli_refuse("out of memory");
        return EXIT_BROKEN;
    }
    h->info.is_given = h->o->ref->is_given;
    if (h->info.why_not[0] != '\0') {
        const int status =
            cli_refuse("%s: %s", h->o->ref->name, h->info.why_not);
        return h->info.absent == VERDICT_SKIP ? EXIT_SKIP : status;
    }
    if (hunt_journal_open(&h->journal, h->o, &h->info, h->plan, &h->state,
                          (mxo_text){why, sizeof why}) != 0) {
        return cli_refuse("%s", why);
    }
    return EXIT_PASS;
}

static void hunt_begin(hunt *h)
{
    report_run_begin(&h->run, "fuzz");
    (void)snprintf(h->run.seeds, sizeof h->run.seeds, "%" PRIu64, h->o->seed);
    h->run.n_backends = 1;
    h->run.backends = &h->info;
    h->run.verbose = -1;
    h->run.color = h->o->color;
    h->text = report_text;
    h->text.out = stdout;
    h->text.begin(&h->text, &h->run);
    stop_catch_signals();
    h->start_s = process_clock();
    progress_begin(&h->progress, h->o->most_cases, h->o->verbose >= 0);
    h->progress.limit_s = h->o->time_s;
    progress_tick(&h->progress);
}

static int exit_status(const hunt *h)
{
    if (h->is_unwritten) {
        return EXIT_BROKEN;
    }
    if (tally_red(&h->counts) > 0 || h->state.causes.n > 0) {
        return EXIT_RED;
    }
    return h->counts.n[VERDICT_PASS] > 0 ? EXIT_PASS : EXIT_SKIP;
}

static void hunt_close(hunt *h)
{
    for (int i = 0; i < BATCH; i++) {
        verdict_clear(&h->first[i]); /* of a batch that was not judged whole */
    }
    worker_pool_destroy(&h->fast);
    worker_pool_destroy(&h->thorough);
    hunt_journal_close(&h->journal);
    hunt_state_clear(&h->state);
    seen_clear(&h->seen);
    tally_clear(&h->counts);
    free(h->text.state); /* it has no end of its own */
    free(h->has_red);
    free(h);
}

int hunt_run(const hunt_options *o, draw_plan *plan)
{
    hunt *h = memory_need_zeros(1, sizeof *h);

    h->o = o;
    h->plan = plan;
    h->journal.fd = -1;
    int status = check_folder(o->folder);

    status = status == EXIT_PASS ? hunt_open(h) : status;
    if (status == EXIT_PASS) {
        hunt_begin(h);
        while (status == EXIT_PASS && !is_done(h)) {
            status = run_batch(h) == 0 ? EXIT_PASS : EXIT_BROKEN;
        }
        if (status == EXIT_PASS && !stop_requested()) {
            judge_end(h);
        }
        conclude(h);
        status = status == EXIT_PASS ? exit_status(h) : status;
    }
    hunt_close(h);
    return status;
}
