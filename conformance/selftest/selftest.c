/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle selftest: judge every mutant until something kills it, every legal
 * variant on many cases, and the published decisions on changed rules.
 */
#include "selftest.h"

#include "base/cli.h"
#include "base/progress.h"
#include "base/stop.h"
#include "select/mutants.h"
#include "selftest_hunt.h"
#include "selftest_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct selftest_run {
    const selftest_options *o;
    const backend_ref *ref;
    case_pool pool;  /* of the grids */
    size_t n_chosen; /* published decisions of selection */
    selftest_score score;
    int n_reported;
    int n_bad;
    int is_text;           /* nothing else on standard output */
    backend_info infos[2]; /* the zoo, and the rules of selection */
    report_run run;
    report_set reports;
    tally counts;
    progress progress;
} selftest_run;

enum { JOBS = 2 }; /* workers, where many cases are asked */

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

static void announce(selftest_run *s, const mutant *m, const hunt *h)
{
    const mutant_fate fate = {
        .m = m,
        .red = h->red,
        .n_cases = h->n,
        .case_text = h->killer.text == NULL ? "(no case)" : h->killer.text,
        .seed = h->killer.seed,
        .v = &h->first};
    const int good = score_add(&s->score, &fate) && fate_is_good(&fate);

    s->n_bad += !good;
    tell(s, &s->infos[0], &fate, good, !good || !s->o->quiet);
}

/* 0, or -1 if the harness failed. */
static int judge_device(selftest_run *s, crew *c, const mutant *m, hunt *h)
{
    int status;

    if (c == s->pool.faultless) {
        status = hunt_faultless(&s->pool, s->o->legal_part, h);
    } else if (m->legal) {
        status = hunt_legal(&s->pool, c, m, s->o->legal_part, h);
    } else {
        status = hunt_mutant(&s->pool, c, m, h);
    }
    if (status == 0 && !m->legal && !hunt_concludes(&s->pool, h)) {
        (void)cli_refuse("%s passes no case: nothing can be concluded",
                         s->ref->name);
        status = -1;
    }
    return status;
}

/*
 * Read a device's description of its fault, in this process: opening and
 * describing are safe.  EXIT_PASS, EXIT_SKIP if there is no such device.
 */
static int identify(const selftest_run *s, int device, mutant *m)
{
    char text[2][256] = {"", ""};
    const mxo_text why = {text[0], sizeof text[0]};
    const mxo_text driver = {text[1], sizeof text[1]};
    const mxo_backend *table = NULL;
    void *ctx = NULL;
    mxo_status status = backend_load(s->ref, &table, why);

    if (status == MXO_OK) {
        status = table->open(&ctx, device, why);
    }
    if (status == MXO_E_DEVICE && device > 0) {
        return EXIT_SKIP;
    }
    if (status != MXO_OK) {
        return cli_refuse("%s, device %d: %s", s->ref->name, device, text[0]);
    }
    table->describe(ctx, why, driver);
    table->close(ctx);
    if (mutant_parse(m, text[1]) != 0) {
        return cli_refuse("%s, device %d does not say what is wrong: \"%s\"",
                          s->ref->name, device, text[1]);
    }
    return EXIT_PASS;
}

/* A case has been asked. */
static void tick(void *state, const char *case_text)
{
    selftest_run *s = state;

    progress_show(&s->progress, (uint64_t)s->n_reported, (uint64_t)s->n_bad,
                  case_text);
}

/* EXIT_PASS, EXIT_SKIP if there is no such device, or what went wrong. */
static int try_device(selftest_run *s, int device)
{
    crew_options how = {.isolate = ISOLATE_BATCH,
                        .device = device,
                        .timeout_s = s->o->timeout_s};
    hunt h = {.tick = tick, .state = s};
    backend_info info;
    mutant m = {.legal = 0};
    int status = identify(s, device, &m);

    if (status != EXIT_PASS) {
        return status;
    }
    const int wanted = is_wanted(s->o, &m);

    if (!wanted && device > 0) {
        return EXIT_PASS;
    }
    how.jobs = m.legal ? JOBS : 1;
    crew *c = crew_create(s->ref, &how, &info);

    if (c == NULL) {
        return EXIT_BROKEN;
    }
    if (device == 0) {
        s->pool.faultless = c;
    }
    if (info.why_not[0] != '\0') { /* the judge would not even begin */
        h.red = 1;
        h.first.status = VERDICT_ERROR;
        (void)snprintf(h.first.kind, sizeof h.first.kind, "open");
        (void)snprintf(h.first.reason, sizeof h.first.reason, "%.500s",
                       info.why_not);
        status = device == 0 ? cli_refuse("%s, device 0: %s", s->ref->name,
                                          info.why_not)
                             : EXIT_PASS;
    } else if (wanted && judge_device(s, c, &m, &h) != 0) {
        status = EXIT_BROKEN;
    }
    /* A hunt that was cut short has shown nothing. */
    if (wanted && status == EXIT_PASS && !stop_requested()) {
        announce(s, &m, &h);
    }
    if (device > 0) {
        crew_destroy(&c);
    }
    return status;
}

/* The grids' cases of the operations that the backend has. */
static int plan(selftest_run *s)
{
    char text[512];
    const mxo_text why = {text, sizeof text};
    const mxo_backend *table;
    size_t n = 0;

    if (backend_load(s->ref, &table, why) != MXO_OK) {
        return cli_refuse("%s: %s", s->o->backend, text);
    }
    while (table->ops[n] != NULL) {
        n++;
    }
    if (grid_append(&s->pool.cases, s->o->level, (char *const *)table->ops, n,
                    s->o->seed, why) != 0) {
        return cli_refuse("%s", text);
    }
    return case_pool_begin(&s->pool) == 0 ? EXIT_PASS : EXIT_BROKEN;
}

/* How many devices are asked for: EXIT_PASS, EXIT_SKIP if none is, or what
   went wrong. */
static int find_wanted(selftest_run *s)
{
    int status = EXIT_PASS;
    mutant m = {.legal = 0};

    for (int device = 0; status == EXIT_PASS; device++) {
        status = identify(s, device, &m);
        s->run.n_planned += status == EXIT_PASS && is_wanted(s->o, &m);
    }
    return s->run.n_planned > 0 && status == EXIT_SKIP ? EXIT_PASS : status;
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
    int status = plan(s);

    status = status == EXIT_PASS ? find_wanted(s) : status;
    progress_begin(&s->progress, s->run.n_planned, !s->o->quiet);
    progress_tick(&s->progress);
    for (int device = 0; status == EXIT_PASS && !stop_requested(); device++) {
        status = try_device(s, device);
    }
    return status == EXIT_SKIP ? EXIT_PASS : status;
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
                         s->run.n_planned > 0 ? s->pool.cases.n : s->n_chosen);
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
                   s->ref->name);
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
    report_set_end(&s->reports, &s->counts);
    if (status != EXIT_PASS && status != EXIT_RED) {
        report_set_abandon(&s->reports);
        return status;
    }
    if (s->run.stopped != NULL) {
        (void)fprintf(stderr, "mxoracle: stopped by %s after %d\n",
                      s->run.stopped, s->n_reported);
    }
    const int closed = report_set_close(&s->reports);

    return closed != EXIT_PASS ? closed : stop_exit_status(status);
}

int cmd_selftest(int argc, char **argv)
{
    selftest_options options;
    selftest_run s = {.o = &options};
    backend_list *known;
    int status = selftest_options_parse(&options, argc, argv);

    if (status >= 0) {
        return status;
    }
    known = calloc(1, sizeof *known);
    if (known == NULL) {
        (void)fputs("mxoracle: out of memory\n", stderr);
        return EXIT_BROKEN;
    }
    backends_known(known);
    s.ref = backends_find(known, options.backend);
    status = s.ref == NULL
                 ? cli_refuse("there is no backend %s", options.backend)
                 : selftest(&s);
    tally_clear(&s.counts);
    case_pool_clear(&s.pool);
    free(known);
    return status;
}
