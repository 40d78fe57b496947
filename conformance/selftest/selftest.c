/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle selftest: judge every mutant until something kills it, every legal
 * variant on many cases, and the published decisions on changed rules.
 */
#include "selftest.h"

#include "base/cli.h"
#include "base/progress.h"
#include "base/stop.h"
#include "hunters.h"
#include "select/mutants.h"
#include "selftest_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct selftest_run {
    const selftest_options *o;
    zoo zoo;
    zoo_device *devices; /* owned: those that are asked for */
    size_t n_cases;      /* of the grids */
    size_t n_chosen;     /* published decisions of selection */
    selftest_score score;
    int n_reported;
    int n_bad;
    uint64_t n_judged; /* reported or not yet in turn */
    uint64_t n_red;    /* of these */
    uint64_t work;     /* done: see work_of */
    uint64_t total_work;
    int is_text;           /* nothing else on standard output */
    backend_info infos[2]; /* the zoo, and the rules of selection */
    report_run run;
    report_set reports;
    tally counts;
    progress progress;
} selftest_run;

/* Do the options ask for legal variants alone? */
static int asks_legal(const selftest_options *o)
{
    return o->kind != NULL && strcmp(o->kind, "legal") == 0;
}

/* Do the options ask for it? */
static int is_wanted(const selftest_options *o, const mutant *m)
{
    return cli_matches(o->class_glob, m->class_name) &&
           cli_matches(o->id_glob, m->id) &&
           (o->kind == NULL || asks_legal(o) == m->legal);
}

/* A fate, on standard output if it is to be shown there, and in all files. */
static void tell(selftest_run *s, const backend_info *who,
                 const mutant_fate *fate, int good, int is_shown)
{
    verdict v;
    report_result r;

    s->n_reported++;
    if (is_shown && (s->is_text || s->o->is_tap)) {
        progress_wipe(&s->progress);
        selftest_report(s->o->is_tap, fate, s->n_reported);
    }
    selftest_result(fate, good, &r, &v);
    r.backend = who;
    r.index = (uint64_t)s->n_reported;
    report_set_result(&s->reports, &r);
    tally_add(&s->counts, &r);
}

static mutant_fate fate_of(const selftest_run *s, size_t index,
                           const device_fate *f)
{
    return (mutant_fate){.m = &s->devices[index].m,
                         .red = f->red,
                         .n_cases = f->n_asked,
                         .case_text = f->case_text[0] == '\0' ? "(no case)"
                                                              : f->case_text,
                         .seed = f->seed,
                         .v = &f->v};
}

/* A mutant takes a few cases, a legal variant all that its operation has. */
static uint64_t work_of(const selftest_run *s, const mutant *m)
{
    return m->legal && s->o->level > 1 ? 300 : 1;
}

/* A device has been judged; its turn may come later. */
static void count(void *state, size_t index, const device_fate *f)
{
    selftest_run *s = state;
    const mutant_fate fate = fate_of(s, index, f);

    s->n_judged++;
    s->n_red += !fate_is_good(&fate);
    s->work += work_of(s, fate.m);
    progress_work(&s->progress, s->work, s->total_work);
    progress_show(&s->progress, s->n_judged, s->n_red, f->case_text);
}

/* Its turn has come. */
static void announce(void *state, size_t index, const device_fate *f)
{
    selftest_run *s = state;
    const mutant_fate fate = fate_of(s, index, f);
    const int good = score_add(&s->score, &fate) && fate_is_good(&fate);

    s->n_bad += !good;
    tell(s, &s->infos[0], &fate, good, !good || !s->o->quiet);
}

/* Remember a device that is asked for. 0, or -1 without memory. */
static int want(selftest_run *s, int device, const mutant *m)
{
    const size_t n = (size_t)s->run.n_planned;
    zoo_device *more = realloc(s->devices, (n + 1) * sizeof *more);

    if (more == NULL) {
        return -1;
    }
    s->devices = more;
    more[n] = (zoo_device){device, *m};
    s->total_work += work_of(s, m);
    s->run.n_planned++;
    return 0;
}

/* The devices that are asked for: EXIT_PASS, or what went wrong. */
static int find_wanted(selftest_run *s)
{
    int status = EXIT_PASS;
    mutant m = {.legal = 0};

    for (int device = 0; status == EXIT_PASS; device++) {
        status = zoo_identify(&s->zoo, device, &m);
        if (status == EXIT_PASS && is_wanted(s->o, &m) &&
            want(s, device, &m) != 0) {
            status = EXIT_BROKEN;
        }
    }
    return status == EXIT_SKIP ? EXIT_PASS : status;
}

static void name_rule(char id[16], int number)
{
    (void)snprintf(id, 16, "S%03d", number);
}

/* Can a changed rule have such an id? */
static int may_be_rule(const char *id_glob)
{
    char id[16];
    int number = 0;

    do {
        name_rule(id, number);
    } while (!cli_matches(id_glob, id) && ++number < 1000);
    return number < 1000;
}

/* One changed rule of selection; in text only what survives is a line. */
static void announce_rule(void *ctx, const selection_fate *f)
{
    selftest_run *s = ctx;
    verdict v = {.status = VERDICT_FAIL};
    mutant m = {.class_name = "Selection", .op = "select"};
    const mutant_fate fate = {.m = &m,
                              .red = f->killed,
                              .n_cases = f->n_cases,
                              .case_text = f->case_id,
                              .v = &v};

    name_rule(m.id, f->number);
    (void)snprintf(m.what, sizeof m.what, "%.159s", f->what);
    (void)snprintf(v.reason, sizeof v.reason, "%.300s", f->how);
    if (!is_wanted(s->o, &m)) {
        return;
    }
    const int good = score_add(&s->score, &fate) && fate_is_good(&fate);

    s->n_bad += !good;
    tell(s, &s->infos[1], &fate, good, !good || (!s->o->quiet && s->o->is_tap));
}

/* The rules of selection, by the published decisions. */
static int judge_selection(selftest_run *s)
{
    selection_cases files[SELECTION_FILES];
    char why[1024] = "";
    const mxo_text text = {why, sizeof why};
    int status = EXIT_PASS;

    if (asks_legal(s->o) || !cli_matches(s->o->class_glob, "Selection") ||
        !may_be_rule(s->o->id_glob) || strcmp(s->o->backend, "broken") != 0) {
        return EXIT_PASS;
    }
    if (selection_files_open(files, text) != 0) {
        (void)fprintf(stderr, "mxoracle: selection is left out: %s\n", why);
        return EXIT_PASS;
    }
    if (selection_mutants(files, announce_rule, s, &s->n_chosen, text) != 0) {
        status = cli_refuse("selection fails a published case: %s", why);
    }
    selection_files_close(files);
    return status;
}

static int judge_devices(selftest_run *s)
{
    const hunters_sink sink = {count, announce, s};
    int status = find_wanted(s);

    progress_begin(&s->progress, s->run.n_planned, !s->o->quiet);
    progress_tick(&s->progress);
    if (status == EXIT_PASS && s->run.n_planned > 0) {
        status = hunters_run(&s->zoo, s->devices, (size_t)s->run.n_planned,
                             s->o->jobs, &sink, &s->n_cases);
    }
    return status;
}

static int judge_zoo(selftest_run *s)
{
    int status = judge_devices(s);

    if (status == EXIT_PASS && !stop_requested()) {
        status = judge_selection(s);
    }
    progress_end(&s->progress);
    if (status == EXIT_PASS && s->n_reported == 0 && !stop_requested()) {
        status = cli_refuse("no %s has class %s and id %s",
                            asks_legal(s->o) ? "legal variant" : "mutant",
                            s->o->class_glob, s->o->id_glob);
    }
    if (status != EXIT_PASS) {
        return status;
    }
    if (s->is_text || s->o->is_tap) {
        selftest_summary(s->o->is_tap, &s->score,
                         s->run.n_planned > 0 ? s->n_cases : s->n_chosen,
                         stop_reason());
    }
    return s->n_bad == 0 ? EXIT_PASS : EXIT_RED;
}

/* TAP on standard output has words of its own that other programs read. */
static int open_reports(selftest_run *s)
{
    report_options files = s->o->reports;

    s->is_text = !report_options_stdout(&files);
    files.on_stdout[REPORT_TAP] = 0;
    report_run_begin(&s->run, "selftest");
    s->run.level = s->o->level;
    s->run.n_backends = 2;
    s->run.backends = s->infos;
    (void)snprintf(s->run.seeds, sizeof s->run.seeds, "%" PRIu64, s->o->seed);
    (void)snprintf(s->infos[0].name, sizeof s->infos[0].name, "%s",
                   s->zoo.ref->name);
    (void)snprintf(s->infos[1].name, sizeof s->infos[1].name, "select");
    return report_set_open(&s->reports, &files, NULL);
}

static int selftest(selftest_run *s)
{
    int status = open_reports(s);

    if (status != EXIT_PASS) {
        return status;
    }
    stop_after(s->o->budget_s);
    stop_catch_signals();
    report_set_begin(&s->reports, &s->run);
    status = judge_zoo(s);
    s->run.stopped = stop_reason();
    if (s->run.stopped == NULL) { /* and the rules of selection */
        s->run.n_planned = (uint64_t)s->n_reported;
    }
    report_set_end(&s->reports, &s->counts);
    if (status != EXIT_PASS && status != EXIT_RED) {
        report_set_abandon(&s->reports);
        return status;
    }
    const int closed = report_set_close(&s->reports);

    return closed != EXIT_PASS ? closed
                               : stop_exit_status_of(s->run.stopped, status);
}

int cmd_selftest(int argc, char **argv)
{
    selftest_options options;
    selftest_run s = {.o = &options};
    static backend_list known;
    int status = selftest_options_parse(&options, argc, argv);

    if (status >= 0) {
        return status;
    }
    backends_known(&known);
    s.zoo = (zoo){.ref = backends_find(&known, options.backend),
                  .level = options.level,
                  .seed = options.seed,
                  .legal_part = options.legal_part,
                  .timeout_s = options.timeout_s};
    status = s.zoo.ref == NULL
                 ? cli_refuse("there is no backend %s", options.backend)
                 : selftest(&s);
    tally_clear(&s.counts);
    free(s.devices);
    return status;
}
