/* SPDX-License-Identifier: Apache-2.0 */
/* A run over files and folders of vectors.  See vectors.h. */
#include "vectors.h"

#include "base/cli.h"
#include "base/stop.h"
#include "lanes.h"
#include "report.h"
#include "walk.h"

#include <stdio.h>
#include <string.h>

static void greet(const vector_subject *who, opened_judge *o,
                  vector_greeting *g)
{
    memset(g, 0, sizeof *g);
    g->status = opened_judge_open(o, &who->ref, &who->how,
                                  (mxo_text){g->why, sizeof g->why});
    if (g->status == MXO_OK) {
        (void)snprintf(g->version, sizeof g->version, "%s",
                       o->j.subject.table->version);
        memcpy(g->device, o->j.subject.device, sizeof g->device);
    }
}

/* Receiver of a run's results. */
typedef struct turn {
    const vector_subject *who;
    const path_list *list;
    vector_report *report;
} turn;

static int take_greeting(void *state, const vector_greeting *g)
{
    const turn *t = state;

    if (g->status != MXO_OK) {
        report_absent(t->report, t->who, g, t->list->n);
    } else {
        report_subject(t->report, t->who, g);
    }
    return 0;
}

static int take_result(void *state, size_t file, const vector_result *result)
{
    const turn *t = state;

    report_judged(t->report, t->list->path[file], result);
    return 0;
}

static void take_end(void *state, verdict *v)
{
    const turn *t = state;

    report_ended(t->report, v);
}

static int judge_in_lanes(const vector_subject *who, const path_list *list,
                          int jobs, vector_report *report)
{
    turn t = {who, list, report};
    const lane_sink sink = {take_greeting, take_result, take_end, &t};

    report_turn(report, who);
    return lanes_run(who, list, jobs, &sink);
}

/* How many processes are worth starting. */
static int lanes_for(const vector_subject *who, const path_list *list, int jobs)
{
    const int n = list->n < (size_t)jobs ? (int)list->n : jobs;

    return who->how.in_process || who->ref.why_not[0] != '\0' ||
                   !lanes_can(list)
               ? 1
               : n;
}

/* 0, or -1: the harness failed. */
static int judge_subject(const vector_subject *who, const path_list *list,
                         int jobs, vector_report *report)
{
    if (lanes_for(who, list, jobs) > 1) {
        return judge_in_lanes(who, list, lanes_for(who, list, jobs), report);
    }
    vector_greeting greeting;
    vector_result result;
    opened_judge o;

    report_turn(report, who);
    greet(who, &o, &greeting);
    if (greeting.status != MXO_OK) {
        report_absent(report, who, &greeting, list->n);
        return 0;
    }
    report_subject(report, who, &greeting);
    for (size_t i = 0; !stop_requested() && i < list->n; i++) {
        stop_work_begin();
        vector_judge(list->path[i], &o.j, &result);
        stop_work_end();
        report_judged(report, list->path[i], &result);
    }
    if (stop_requested()) {
        opened_judge_close(&o);
        return 0;
    }
    verdict v;

    opened_judge_finish(&o, &v);
    report_ended(report, &v);
    verdict_clear(&v);
    return 0;
}

/* In the middle of a file, which is not judged. */
static int leave(void *state)
{
    report_subject_end(state);
    return report_end(state);
}

static int judge_all(const vector_subject *subjects, int n,
                     const path_list *list, const vector_options *options)
{
    static vector_report report; /* too large for a stack */
    const int opened = report_start(&report, subjects, n, list->n, options);
    int bad = 0;

    stop_leave_with(leave, &report);
    for (int i = 0; opened == EXIT_PASS && !bad && !report.refused &&
                    !stop_requested() && i < n;
         i++) {
        bad = judge_subject(&subjects[i], list, options->jobs, &report);
        report_subject_end(&report);
    }
    int status;

    if (opened != EXIT_PASS) {
        status = opened;
    } else if (bad) {
        status = EXIT_BROKEN;
    } else if (report.refused) {
        status = EXIT_USAGE;
    } else {
        status = report_end(&report);
    }

    report_clear(&report);
    return status;
}

int vectors_run(const vector_subject *subjects, int n, char *const paths[],
                int n_paths, const vector_options *options)
{
    path_list list = {0, 0, NULL};
    char sentence[512];
    int status = EXIT_PASS;

    for (int i = 0; status == EXIT_PASS && i < n_paths; i++) {
        if (walk_path(paths[i], &list, (mxo_text){sentence, sizeof sentence}) !=
            MXO_OK) {
            status = cli_refuse("%s", sentence);
        }
    }
    if (status == EXIT_PASS && list.n == 0) {
        status = cli_refuse("there is no vector (*.safetensors) in %s",
                            n_paths == 1 ? paths[0] : "these folders");
    }
    if (status == EXIT_PASS) {
        status = judge_all(subjects, n, &list, options);
    }
    walk_clear(&list);
    return status;
}
