/* SPDX-License-Identifier: Apache-2.0 */
/* See subject_lines.h. */
#include "subject_lines.h"

#include "base/cli.h"

#include <stdio.h>
#include <string.h>

static void say(const subject_lines *l, report_result *r, verdict *v)
{
    r->n_cases = 1;
    r->has_no_seed = 1;
    r->backend = l->who;
    r->judged = v->status;
    r->v = v;
    l->report(l->state, r);
}

void subject_lines_undeclared(const subject_lines *l, const tally *counts,
                              const baseline *expected)
{
    char option[2 * BACKEND_COMMAND];
    verdict v;

    if (!l->who->is_given || tally_is_declined(counts, l->who->name)) {
        return;
    }
    backend_option(l->ref, option, sizeof option);
    for (size_t i = 0; i < counts->n_rows; i++) {
        const tally_row row = counts->row[i];
        report_result r = {.case_text = row.op};
        if (strcmp(row.backend, l->who->name) != 0 ||
            baseline_required(expected, row.backend, row.op) > 0 ||
            !tally_row_undeclared(&row, &v)) {
            continue;
        }
        (void)snprintf(r.repro, sizeof r.repro, "mxoracle run %s -o %s", option,
                       row.op);
        say(l, &r, &v);
    }
}

void subject_lines_end(const subject_lines *l, verdict *v, const char *repro)
{
    report_result r = {.case_text = "(end)"};

    if (verdict_is_red(v->status)) {
        (void)snprintf(r.repro, sizeof r.repro, "%s", repro);
        say(l, &r, v);
    }
}

void subject_lines_left(const backend_info *who)
{
    if (who->left[0] != '\0') {
        cli_line(stderr, 2,
                 "note: loading %s leaves something behind: %s. That is undone "
                 "before calls are judged.",
                 who->name, who->left);
    }
}

void subject_lines_outside(const backend_info *who, size_t n, size_t n_near,
                           size_t n_asked)
{
    if (n > 0) {
        (void)fprintf(stderr,
                      "mxoracle: %s: %zu of %zu cases lie outside its declared "
                      "limits; %zu of these were judged as the nearest "
                      "within\n",
                      who->name, n, n_asked, n_near);
    }
}
