/* SPDX-License-Identifier: Apache-2.0 */
/* See replay.h. */
#include "replay.h"

#include "base/cli.h"
#include "base/progress.h"
#include "base/stop.h"
#include "cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct session {
    const char *path;
    int verbose;
    int is_text;
    selection_cases cases;
    size_t n[2]; /* passed, failed */
    report_run run;
    backend_info info;
    report_set reports;
    tally counts;
    progress progress;
} session;

static void say_case(session *s, size_t i, const char *id, int failed,
                     const char *why)
{
    if (s->is_text && (failed || s->verbose)) {
        progress_wipe(&s->progress);
        printf("%s case %zu %s%s%s\n", failed ? "FAIL" : "ok  ", i, id,
               failed ? ": " : "", failed ? why : "");
    }
}

static void judge(session *s, size_t i)
{
    char why[2048] = "";
    char name[160];
    json_t *object = selection_case(&s->cases, i);
    const char *id = selection_case_id(object);
    const int failed = selection_case_run(&s->cases, object, NULL,
                                          (mxo_text){why, sizeof why}) != 0;
    verdict v = {.status = failed ? VERDICT_FAIL : VERDICT_PASS, .n_total = 1};
    report_result r = {.backend = &s->info,
                       .case_text = name,
                       .op = "select",
                       .n_cases = 1,
                       .seed = 1,
                       .index = i,
                       .judged = v.status,
                       .v = &v};

    s->n[failed]++;
    v.n_diff = (uint64_t)failed;
    (void)snprintf(v.rule, sizeof v.rule, "bits");
    (void)snprintf(v.reason, sizeof v.reason, "%.500s", failed ? why : "");
    (void)snprintf(name, sizeof name, "%zu %.120s", i, id);
    (void)snprintf(r.repro, sizeof r.repro, "mxoracle select --cases='%.1400s'",
                   s->path);
    say_case(s, i, id, failed, why);
    report_set_result(&s->reports, &r);
    tally_add(&s->counts, &r);
    progress_show(&s->progress, i + 1, s->n[1], name);
    json_decref(object);
}

static int replay(session *s)
{
    const size_t n = selection_cases_count(&s->cases);

    report_set_begin(&s->reports, &s->run);
    progress_begin(&s->progress, n, 1);
    stop_catch_signals();
    for (size_t i = 0; i < n && !stop_requested(); i++) {
        judge(s, i);
    }
    progress_wipe(&s->progress);
    s->run.stopped = stop_reason();
    report_set_end(&s->reports, &s->counts);
    const int closed = report_set_close(&s->reports);

    if (s->is_text) {
        printf("%zu passed, %zu failed%s%s\n", s->n[0], s->n[1],
               s->run.stopped == NULL ? "" : ", stopped by ",
               s->run.stopped == NULL ? "" : s->run.stopped);
    }
    return closed != EXIT_PASS
               ? closed
               : stop_exit_status_of(s->run.stopped,
                                     s->n[1] == 0 ? EXIT_PASS : EXIT_RED);
}

int select_replay(const char *path, int verbose, const report_options *options)
{
    static session s; /* too large for a stack */
    char why[2048] = "";
    int status = EXIT_PASS;

    s = (session){.path = path, .verbose = verbose};
    s.is_text = !report_options_stdout(options);
    if (selection_cases_open(&s.cases, path, (mxo_text){why, sizeof why}) !=
        0) {
        status = cli_refuse("%s: %s", path, why);
    } else if (selection_cases_count(&s.cases) == 0) {
        status = cli_refuse("%s has no case", path);
    }
    report_run_begin(&s.run, "select");
    s.run.n_planned = selection_cases_count(&s.cases);
    s.run.n_backends = 1;
    s.run.backends = &s.info;
    (void)snprintf(s.info.name, sizeof s.info.name, "select");
    if (status == EXIT_PASS) {
        status = report_set_open(&s.reports, options, NULL);
    }
    status = status == EXIT_PASS ? replay(&s) : status;
    tally_clear(&s.counts);
    selection_cases_close(&s.cases);
    return status;
}
