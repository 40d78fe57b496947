/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Lines: a header, an object per case, a summary; see record.h. */
#include "record.h"

static void json_begin(reporter *r, const report_run *run)
{
    r->run = run;
    (void)record_write(r->out, record_header(run));
}

static void json_result(reporter *r, const report_result *result)
{
    (void)record_write(r->out, record_case(result));
}

static void json_end(reporter *r, const tally *t)
{
    (void)record_write(r->out, record_summary(r->run, t));
}

const reporter report_json = {
    .begin = json_begin,
    .result = json_result,
    .end = json_end,
};
