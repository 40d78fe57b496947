/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Lines: a header, an object per case, a summary. */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>

static json_t *text(const char *s)
{
    json_t *j = json_string(s);

    return j == NULL ? json_string("(not UTF-8)") : j;
}

static void line(FILE *out, json_t *object)
{
    if (object != NULL) {
        (void)json_dumpf(object, out, JSON_COMPACT);
        fputc('\n', out);
    }
    json_decref(object);
}

static json_t *count(uint64_t n)
{
    return json_integer((json_int_t)n);
}

static void json_begin(reporter *r, const report_run *run)
{
    json_t *o = json_object();
    json_t *list = json_array();

    r->run = run;
    for (int i = 0; i < run->n_backends; i++) {
        const backend_info *b = &run->backends[i];
        json_t *entry = json_object();
        json_object_set_new(entry, "name", text(b->name));
        json_object_set_new(entry, "version", text(b->version));
        json_object_set_new(entry, "device", text(b->device));
        json_object_set_new(entry, "driver", text(b->driver));
        json_object_set_new(entry, "why_not", text(b->why_not));
        json_array_append_new(list, entry);
    }
    json_object_set_new(o, "type", text("header"));
    json_object_set_new(o, "version", text(run->version));
    json_object_set_new(o, "compiler", text(run->compiler));
    json_object_set_new(o, "seed", text(run->seeds));
    json_object_set_new(o, "level", json_integer(run->level));
    json_object_set_new(o, "planned", count(run->n_planned));
    json_object_set_new(o, "backends", list);
    line(r->out, o);
}

static json_t *first_of(const verdict *v)
{
    json_t *o = json_object();

    json_object_set_new(o, "tensor", text(v->tensor));
    json_object_set_new(o, "index", text(v->index));
    json_object_set_new(o, "want", text(v->want));
    json_object_set_new(o, "got", text(v->got));
    return o;
}

/* Elements by the share of their bound that they need, and the largest. */
static json_t *use_of(const verdict_use *use)
{
    json_t *bins = json_array();
    uint64_t n = 0;

    for (int i = 0; i < VERDICT_BINS; i++) {
        json_array_append_new(bins, count(use->n[i]));
        n += use->n[i];
    }
    if (n == 0) {
        json_decref(bins);
        return json_null();
    }
    return json_pack("{s:o, s:f}", "bins", bins, "most", use->most);
}

static void json_result(reporter *r, const report_result *result)
{
    const verdict *v = result->v;
    json_t *o = json_object();

    json_object_set_new(o, "type", text("case"));
    json_object_set_new(o, "case", text(result->case_text));
    json_object_set_new(o, "backend", text(result->backend->name));
    json_object_set_new(o, "seed", count(result->seed));
    json_object_set_new(o, "status", text(verdict_name(v->status)));
    json_object_set_new(o, "reason", text(v->reason));
    json_object_set_new(o, "n_cases", count(result->n_cases));
    json_object_set_new(o, "n_diff", count(v->n_diff));
    json_object_set_new(o, "n_total", count(v->n_total));
    json_object_set_new(o, "first",
                        v->tensor[0] == '\0' ? json_null() : first_of(v));
    json_object_set_new(o, "rule", text(v->rule));
    json_object_set_new(o, "bound_used", use_of(&v->use));
    json_object_set_new(o, "also_accepted_by", text(v->also));
    json_object_set_new(o, "kernel", text(v->kernel));
    json_object_set_new(o, "ms", json_real(v->ms));
    json_object_set_new(o, "repro", text(result->repro));
    line(r->out, o);
}

static void json_end(reporter *r, const tally *t)
{
    json_t *o = json_object();

    json_object_set_new(o, "type", text("summary"));
    json_object_set_new(o, "total", count(tally_total(t)));
    json_object_set_new(o, "failed", count(tally_red(t)));
    json_object_set_new(o, "skipped", count(tally_left_out(t)));
    for (int i = 0; i < N_VERDICTS; i++) {
        json_object_set_new(o, verdict_name((verdict_status)i), count(t->n[i]));
    }
    json_object_set_new(o, "seed", text(r->run->seeds));
    line(r->out, o);
}

const reporter report_json = {
    .begin = json_begin,
    .result = json_result,
    .end = json_end,
};
