/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One page in one file: no script, no network.  The verdict, operations by
 * backends, each cause with its first case and where it is wrong, what has
 * changed since an older run, how much of the bounds was needed, what was not
 * judged, where it ran.
 */
#include "html_page.h"

#include "base/memory.h"

#include <stdlib.h>

static void html_begin(reporter *r, const report_run *run)
{
    r->run = run;
    r->state = memory_need_zeros(1, sizeof(cause_list));
}

static void html_result(reporter *r, const report_result *result)
{
    causes_add(r->state, result);
}

static void html_end(reporter *r, const tally *t)
{
    cause_list *causes = r->state;

    html_open(r->out, r->run, t);
    causes_sort(causes);
    html_causes(r->out, causes);
    causes_clear(causes);
    if (r->run->changes != NULL) {
        html_changes(r->out, r->run->changes);
    }
    html_matrix(r->out, r->run, t);
    html_bounds(r->out, t);
    html_left_out(r->out, t);
    html_environment(r->out, r->run);
    fputs("</main></html>\n", r->out);
    free(causes);
}

const reporter report_html = {
    .begin = html_begin,
    .result = html_result,
    .end = html_end,
};
