/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Lines: a header, an object per case, what has changed since an older
   run, a summary; see record.h. */
#include "changes.h"
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

static json_t *counts_of(const changes *c)
{
    json_t *o = json_pack("{s:s, s:o, s:i, s:f}", "type", "changes", "against",
                          verdict_text_json(c->against), "n_files", c->n_files,
                          "times_as_long", c->slower);

    for (int kind = 0; kind < N_CHANGES; kind++) {
        (void)json_object_set_new(o, change_word((change_kind)kind),
                                  json_integer((json_int_t)c->count[kind]));
    }
    return o;
}

static json_t *status_of(verdict_status status)
{
    return status == N_VERDICTS ? json_null()
                                : json_string(verdict_name(status));
}

static json_t *line_of(const change *c)
{
    json_t *o = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "type", "change",
                          "change", change_word(c->kind), "backend",
                          verdict_text_json(c->backend), "case",
                          verdict_text_json(c->case_text), "was",
                          status_of(c->was), "is", status_of(c->is));

    (void)json_object_set_new(
        o, "seed",
        c->has_no_seed ? json_null() : json_integer((json_int_t)c->seed));
    (void)json_object_set_new(o, "reason", verdict_text_json(c->reason));
    (void)json_object_set_new(
        o, "was_ms", c->was == N_VERDICTS ? json_null() : json_real(c->was_ms));
    (void)json_object_set_new(
        o, "ms", c->is == N_VERDICTS ? json_null() : json_real(c->ms));
    return o;
}

static void json_end(reporter *r, const tally *t)
{
    const changes *c = r->run->changes;

    if (c != NULL) {
        (void)record_write(r->out, counts_of(c));
    }
    for (size_t i = 0; c != NULL && i < c->n; i++) {
        (void)record_write(r->out, line_of(&c->item[i]));
    }
    (void)record_write(r->out, record_summary(r->run, t));
}

const reporter report_json = {
    .begin = json_begin,
    .result = json_result,
    .end = json_end,
};
