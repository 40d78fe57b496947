/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle report: put the shards of a run together, group what is red, hold
 * it against a baseline and against an older run.
 */
#include "base/cli.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"
#include "lost.h"
#include "report/baseline.h"
#include "report/changes.h"
#include "report/report_set.h"
#include "report/stored.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OLD = 4096 };

typedef struct session {
    report_options options;
    const char *baseline_file;
    char *old_paths[MAX_OLD];
    int n_old;
    double slower;
    int verbose;
    int is_matrix;
    stored_run now;
    stored_run old;
    baseline expected;
    report_run run;
    backend_info infos[BACKEND_MAX];
    report_set reports;
    tally counts;
    changes since;
    progress progress;
} session;

static int usage(void)
{
    cli_say(
        "usage: mxoracle report [OPTION]... RUN.jsonl...\n"
        "Puts the shards of a run together (or reads one run), groups what is\n"
        "red by cause, and lists what has changed since an older run.\n");
    options_help(OPTIONS_report, stdout);
    cli_say(
        "\nExit status: 0 passed, 1 red, 2 bad usage, or reports that are cut\n"
        "off, of another schema or of different runs.");
    return EXIT_PASS;
}

static int take(session *s, int code, char *text)
{
    switch (code) {
    case OPT_report_against:
        if (s->n_old == MAX_OLD) {
            return cli_refuse("--against is given more than %d times", MAX_OLD);
        }
        s->old_paths[s->n_old++] = text;
        return -1;
    case OPT_report_baseline:
        return cli_take_once(&s->baseline_file, "baseline", text);
    case OPT_report_slower:
        return number_real(text, 1, 1e6, &s->slower)
                   ? -1
                   : cli_refuse("--slower=%s is no factor from 1", text);
    case OPT_report_matrix:
        s->is_matrix = 1;
        return -1;
    case OPT_report_tap:
        return report_option(&s->options, REPORT_TAP, text);
    case OPT_report_json:
        return report_option(&s->options, REPORT_JSON, text);
    case OPT_report_junit:
        return report_option(&s->options, REPORT_JUNIT, text);
    case OPT_report_html:
        return report_option(&s->options, REPORT_HTML, text);
    case OPT_report_verbose:
        s->verbose = 1;
        return -1;
    case OPT_report_quiet:
        s->verbose = -1;
        return -1;
    case OPT_report_help:
        return usage();
    default:
        return EXIT_USAGE;
    }
}

static void report_one(void *state, report_result *r)
{
    session *s = state;
    char said[64] = "";

    if (s->n_old > 0) {
        changes_take(&s->since, r, said, sizeof said);
        r->change = said;
    }
    if (s->verbose > 0 || verdict_is_red(r->v->status)) {
        progress_wipe(&s->progress);
    }
    report_set_result(&s->reports, r);
    tally_add(&s->counts, r);
    progress_show(&s->progress, s->counts.n_lines, tally_red(&s->counts), NULL);
}

static void replay(session *s, const json_t *record)
{
    report_result r;
    verdict v;

    if (record_read(record, &r, &v) != 0) {
        return; /* all were read once already */
    }
    r.backend =
        report_run_backend(&s->run, s->infos, record_text(record, "backend"));
    if (s->baseline_file != NULL) {
        baseline_judge(&s->expected, &r, &v);
    }
    report_one(s, &r);
    verdict_clear(&v);
}

/* A whole run must have all that the baseline names. */
static void report_lost(session *s)
{
    lost l = {.expected = &s->expected,
              .run = &s->run,
              .infos = s->infos,
              .counts = &s->counts,
              .report = report_one,
              .state = s,
              .n_asked = s->run.n_backends};

    for (size_t i = 0; s->expected.n > 0 && i < s->now.n_cases; i++) {
        json_t *record = stored_record(&s->now, i);
        if (strncmp(record_text(record, "kind"), "lost ", 5) == 0) {
            lost_see_line(&l, record_text(record, "backend"),
                          record_text(record, "case"));
        }
        lost_see_case(&l, record_text(record, "case"));
        json_decref(record);
    }
    if (s->run.stopped == NULL) {
        lost_report(&l);
    }
    lost_clear(&l);
}

static int replay_all(session *s)
{
    char missing[256];
    int status = report_set_open(&s->reports, &s->options,
                                 s->is_matrix ? &report_matrix : &report_text);

    if (status != EXIT_PASS) {
        return status;
    }
    stored_missing(&s->now, missing, sizeof missing);
    if (missing[0] != '\0') {
        (void)snprintf(s->now.stopped, sizeof s->now.stopped,
                       "the lack of shard %.120s", missing);
    }
    report_set_begin(&s->reports, &s->run);
    progress_begin(&s->progress, s->now.n_cases, 1);
    progress_tick(&s->progress);
    for (size_t i = 0; i < s->now.n_cases; i++) {
        json_t *record = stored_record(&s->now, i);
        replay(s, record);
        json_decref(record);
    }
    progress_end(&s->progress);
    s->run.stopped = s->now.stopped[0] == '\0' ? NULL : s->now.stopped;
    report_lost(s);
    if (s->n_old > 0) {
        changes_end(&s->since);
    }
    report_set_end(&s->reports, &s->counts);
    return report_set_close(&s->reports);
}

static int are_one_case(const json_t *a, const json_t *b)
{
    return strcmp(record_text(a, "case"), record_text(b, "case")) == 0 &&
           record_count(a, "seed") == record_count(b, "seed");
}

/* Two lines of one place in the plan would count as two cases. */
static int check_places(const stored_run *run)
{
    int status = EXIT_PASS;

    for (size_t i = 1; status == EXIT_PASS && i < run->n_cases; i++) {
        const stored_case *a = &run->cases[i - 1];
        const stored_case *b = &run->cases[i];
        if (a->rank != b->rank || a->index != b->index || b->is_absent) {
            continue;
        }
        json_t *first = stored_record(run, i - 1);
        json_t *second = stored_record(run, i);
        if (are_one_case(first, second)) {
            status = cli_refuse("%s of %s is there twice, as number %" PRIu64
                                " of the plan",
                                record_text(second, "case"),
                                record_text(second, "backend"), b->index + 1);
        }
        json_decref(first);
        json_decref(second);
    }
    return status;
}

static int open_inputs(session *s, char **paths, int n)
{
    char why[1024];
    const mxo_text text = {why, sizeof why};

    progress_begin_bytes(&s->progress, input_bytes(paths, n) +
                                           input_bytes(s->old_paths, s->n_old));
    const int bad =
        stored_read(&s->now, paths, n, &s->progress, text) != 0 ||
        (s->n_old > 0 && stored_read(&s->old, s->old_paths, s->n_old,
                                     &s->progress, text) != 0) ||
        (s->baseline_file != NULL &&
         baseline_read(&s->expected, s->baseline_file, text) != 0);

    progress_end(&s->progress);
    if (bad) {
        return cli_refuse("%s", why);
    }
    if (run_options_check_baseline(NULL, NULL, &s->expected) != EXIT_PASS ||
        check_places(&s->now) != EXIT_PASS ||
        check_places(&s->old) != EXIT_PASS) {
        return EXIT_USAGE;
    }
    stored_describe(&s->now, &s->run, s->infos);
    s->run.verbose = s->verbose;
    s->run.max_fail = 20;
    s->run.expected = s->baseline_file == NULL ? NULL : &s->expected;
    const char *already = record_text(s->now.header, "baseline");

    s->run.baseline = s->baseline_file != NULL ? s->baseline_file
                      : already[0] == '\0'     ? NULL
                                               : already;
    return EXIT_PASS;
}

/* An older run is held against the baseline that the run is. */
static int open_changes(session *s)
{
    if (s->n_old == 0) {
        return EXIT_PASS;
    }
    s->since = (changes){.against = s->old_paths[0],
                         .n_files = s->n_old,
                         .old = &s->old,
                         .slower = s->slower};
    if (s->baseline_file != NULL) {
        s->since.expected = &s->expected;
    }
    s->run.changes = &s->since;
    return changes_begin(&s->since) == 0 ? EXIT_PASS : EXIT_BROKEN;
}

static int conclude(const session *s)
{
    if (tally_red(&s->counts) > 0) {
        return EXIT_RED;
    }
    if (s->run.stopped != NULL) {
        return cli_refuse("the run is not whole: stopped by %s",
                          s->run.stopped);
    }
    return s->counts.n[VERDICT_PASS] + s->counts.n[VERDICT_EXPECTED] > 0
               ? EXIT_PASS
               : EXIT_SKIP;
}

static int report(session *s, char **paths, int n)
{
    int status = report_options_check(&s->options);

    if (status == EXIT_PASS) {
        status = report_options_spare(&s->options, s->baseline_file);
    }
    for (int i = 0; status == EXIT_PASS && i < n; i++) {
        status = report_options_spare(&s->options, paths[i]);
    }
    for (int i = 0; status == EXIT_PASS && i < s->n_old; i++) {
        status = report_options_spare(&s->options, s->old_paths[i]);
    }
    if (status == EXIT_PASS) {
        status = open_inputs(s, paths, n);
    }
    if (status == EXIT_PASS) {
        status = open_changes(s);
    }
    if (status == EXIT_PASS) {
        status = replay_all(s);
    }
    if (status == EXIT_PASS && s->n_old > 0) {
        changes_print(report_options_stdout(&s->options) ? stderr : stdout,
                      &s->since);
    }
    return status == EXIT_PASS ? conclude(s) : status;
}

int cmd_report(int argc, char **argv)
{
    session *s = memory_need_zeros(1, sizeof *s);
    char *text = NULL;
    int status = -1;
    int code;

    s->slower = 2;
    options_start();
    while (status < 0 &&
           (code = options_next(OPTIONS_report, argc, argv, &text)) != -1) {
        status = take(s, code, text);
    }
    if (status < 0) {
        status = optind == argc
                     ? cli_refuse("report needs a report of --json=FILE")
                     : report(s, argv + optind, argc - optind);
    }
    report_set_abandon(&s->reports);
    tally_clear(&s->counts);
    changes_clear(&s->since);
    stored_clear(&s->now);
    stored_clear(&s->old);
    baseline_clear(&s->expected);
    free(s);
    return status;
}
