/* SPDX-License-Identifier: Apache-2.0 */
/* A run over files and folders of vectors.  See vectors.h. */
#include "vectors.h"

#include "cell.h"
#include "cli.h"
#include "report.h"
#include "walk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* In a row, without a verdict between them. */
enum { MAX_DEATHS = 5 };

/* Files in this process. 0, or -1: the harness failed. */
static int judge_here(const vector_subject *who, const path_list *list,
                      vector_report *report)
{
    cell_greeting greeting;
    vector_result result;
    judge j;
    int bad = 0;

    cell_greet(who, &j, &greeting);
    if (greeting.status != MXO_OK) {
        report_absent(report, who, &greeting, list->n);
        return 0;
    }
    report_subject(report, who, &greeting);
    for (size_t i = 0; !bad && i < list->n; i++) {
        vector_judge(list->path[i], &j, &result);
        bad = report_file(report, list->path[i], &result);
    }
    judge_close(&j);
    return bad;
}

/* Read results of a started child until it ends. */
static int read_results(cell *c, const vector_subject *who,
                        const path_list *list, size_t *next,
                        vector_report *report)
{
    vector_result result;
    int bad = 0;

    while (!bad && *next < list->n &&
           cell_read(c, &result, sizeof result, who->timeout_s)) {
        bad = report_file(report, list->path[(*next)++], &result);
    }
    return bad;
}

static int report_dead(const char *text, const path_list *list, size_t *next,
                       vector_report *report)
{
    vector_result result;

    memset(&result, 0, sizeof result);
    result.verdict = VECTOR_FAILED;
    (void)snprintf(result.text, sizeof result.text, "%s", text);
    return report_file(report, list->path[(*next)++], &result);
}

/* One child: from file number *next on until it ends. 0, or -1. */
static int judge_in_cell(const vector_subject *who, const path_list *list,
                         size_t *next, vector_report *report)
{
    cell_greeting greeting;
    char epitaph[128] = "";
    cell c;
    int bad = 0;

    if (cell_start(&c, who, list, *next) != 0) {
        (void)cli_refuse("no process for %s: %s", who->name, strerror(errno));
        return -1;
    }
    memset(&greeting, 0, sizeof greeting);
    if (cell_read(&c, &greeting, sizeof greeting, who->timeout_s) &&
        greeting.status == MXO_OK) {
        if (*next == 0) {
            report_subject(report, who, &greeting);
        }
        bad = read_results(&c, who, list, next, report);
    }
    cell_stop(&c, epitaph, sizeof epitaph);
    if (greeting.status != MXO_OK) {
        report_absent(report, who, &greeting, list->n - *next);
        *next = list->n;
    } else if (!bad && *next < list->n) {
        bad = report_dead(epitaph, list, next, report);
    }
    return bad;
}

/* A subject that dies on every file is not asked about all of them. */
static int judge_subject(const vector_subject *who, const path_list *list,
                         vector_report *report)
{
    size_t next = 0;
    int n_deaths = 0;
    int bad = 0;

    if (!who->isolate) {
        return judge_here(who, list, report);
    }
    while (!bad && !report->refused && next < list->n) {
        const size_t before = next;
        if (n_deaths == MAX_DEATHS) {
            bad = report_dead("not tried: the subject died on those before",
                              list, &next, report);
            continue;
        }
        bad = judge_in_cell(who, list, &next, report);
        n_deaths = next == before + 1 ? n_deaths + 1 : 1;
    }
    return bad;
}

static int judge_all(const vector_subject *subjects, int n,
                     const path_list *list, const vector_options *options)
{
    vector_report report;
    int bad = 0;

    report_start(&report, (size_t)n * list->n, options);
    for (int i = 0; !bad && !report.refused && i < n; i++) {
        bad = judge_subject(&subjects[i], list, &report);
        report_subject_end(&report);
    }
    const int status = bad              ? EXIT_BROKEN
                       : report.refused ? EXIT_USAGE
                                        : report_end(&report);

    report_clear(&report);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        (void)cli_refuse("the report cannot be written");
        return EXIT_BROKEN;
    }
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
