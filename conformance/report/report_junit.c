/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JUnit XML: suite = backend, classname = backend.operation, name = case.
 * A wrong answer is a failure; a crash, a time-out or a backend that does not
 * open is an error.  Suites carry totals in their first tag, so everything is
 * kept until the end.
 */
#include "base/memory.h"
#include "base/strbuf.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct suite {
    const backend_info *backend;
    uint64_t n;
    uint64_t n_failed;
    uint64_t n_errors;
    uint64_t n_skipped;
    double ms;
    strbuf cases;
} suite;

typedef struct suites {
    size_t n;
    suite *suite; /* owned */
} suites;

/* XML 1.0 has no way to write most control characters. */
static void add_escaped(strbuf *b, const char *s)
{
    for (; *s != '\0'; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '&') {
            strbuf_add(b, "&amp;");
        } else if (c == '<') {
            strbuf_add(b, "&lt;");
        } else if (c == '>') {
            strbuf_add(b, "&gt;");
        } else if (c == '"') {
            strbuf_add(b, "&quot;");
        } else if (c == '\n') {
            strbuf_add(b, "&#10;");
        } else {
            strbuf_add(b, "%c", c < 0x20 || c > 0x7e ? '?' : c);
        }
    }
}

static void add_attribute(strbuf *b, const char *name, const char *value)
{
    strbuf_add(b, " %s=\"", name);
    add_escaped(b, value);
    strbuf_add(b, "\"");
}

static void junit_begin(reporter *r, const report_run *run)
{
    r->run = run;
    r->state = memory_need_zeros(1, sizeof(suites));
}

static suite *suite_of(suites *all, const backend_info *backend)
{
    for (size_t i = 0; i < all->n; i++) {
        if (strcmp(all->suite[i].backend->name, backend->name) == 0) {
            return &all->suite[i];
        }
    }
    all->suite =
        memory_need_more(all->suite, (all->n + 1) * sizeof *all->suite);
    suite *s = &all->suite[all->n++];

    memset(s, 0, sizeof *s);
    s->backend = backend;
    return s;
}

/* Did the harness or the backend break, rather than answer wrongly? */
static int is_error(verdict_status status)
{
    return status == VERDICT_CRASH || status == VERDICT_TIMEOUT ||
           status == VERDICT_ERROR;
}

static void add_property(strbuf *b, const char *name, const char *value)
{
    strbuf_add(b, "<property");
    add_attribute(b, "name", name);
    add_attribute(b, "value", value);
    strbuf_add(b, "/>");
}

static int has_changed(const report_result *result)
{
    return result->change != NULL && result->change[0] != '\0';
}

/* Since an older run. */
static void add_change(strbuf *b, const report_result *result)
{
    if (has_changed(result)) {
        add_property(b, "change", result->change);
    }
}

/* Attachments that a page of results shows beside the failure: its repro, and
   the first difference. */
static void add_attachments(strbuf *b, const report_result *result)
{
    const verdict *v = result->v;
    char first[320];

    (void)snprintf(first, sizeof first, "%s%s want %s got %s", v->tensor,
                   v->index, v->want, v->got);
    strbuf_add(b, "<properties>");
    add_change(b, result);
    add_property(b, "repro", result->repro);
    if (v->tensor[0] != '\0') {
        add_property(b, "first_difference", first);
    }
    strbuf_add(b, "</properties><system-out>repro: ");
    add_escaped(b, result->repro);
    if (v->tensor[0] != '\0') {
        add_escaped(b, "\nfirst difference: ");
        add_escaped(b, first);
    }
    strbuf_add(b, "</system-out>");
}

static void add_red(suite *s, const report_result *result)
{
    const verdict *v = result->v;
    const int error = is_error(v->status);
    const char *tag = error ? "error" : "failure";

    s->n_errors += (uint64_t)error;
    s->n_failed += (uint64_t)!error;
    strbuf_add(&s->cases, "<%s", tag);
    add_attribute(&s->cases, "type", verdict_name(v->status));
    add_attribute(&s->cases, "message", v->reason);
    strbuf_add(&s->cases, ">");
    add_escaped(&s->cases, v->detail == NULL ? "" : v->detail);
    add_escaped(&s->cases, "\nrepro: ");
    add_escaped(&s->cases, result->repro);
    strbuf_add(&s->cases, "</%s>", tag);
    add_attachments(&s->cases, result);
}

static void add_body(suite *s, const report_result *result)
{
    const verdict *v = result->v;

    if (!verdict_is_red(v->status) && has_changed(result)) {
        strbuf_add(&s->cases, "<properties>");
        add_change(&s->cases, result);
        strbuf_add(&s->cases, "</properties>");
    }
    if (v->status == VERDICT_SKIP || v->status == VERDICT_UNSUPPORTED ||
        v->status == VERDICT_EXPECTED) {
        s->n_skipped++;
        strbuf_add(&s->cases, "<skipped");
        add_attribute(&s->cases, "message", v->reason);
        strbuf_add(&s->cases, "/>");
    } else if (verdict_is_red(v->status)) {
        add_red(s, result);
    }
}

static void junit_result(reporter *r, const report_result *result)
{
    suite *s = suite_of(r->state, result->backend);
    char op[96];
    char classname[160];

    report_op(result, op, sizeof op);
    (void)snprintf(classname, sizeof classname, "%s.%s", result->backend->name,
                   op);
    s->n++;
    s->ms += result->v->ms;
    strbuf_add(&s->cases, "    <testcase");
    add_attribute(&s->cases, "classname", classname);
    add_attribute(&s->cases, "name", result->case_text);
    strbuf_add(&s->cases, " time=\"%.6f\">", result->v->ms / 1e3);
    add_body(s, result);
    strbuf_add(&s->cases, "</testcase>\n");
}

/* XML wants no zone: the time is UTC. */
static void add_tag(strbuf *b, const report_run *run, const char *name,
                    const uint64_t n[4], double ms)
{
    strbuf_add(b, "  <testsuite");
    add_attribute(b, "name", name);
    strbuf_add(b,
               " tests=\"%" PRIu64 "\" failures=\"%" PRIu64
               "\" errors=\"%" PRIu64 "\" skipped=\"%" PRIu64
               "\" time=\"%.6f\" timestamp=\"%.19s\">\n",
               n[0], n[1], n[2], n[3], ms / 1e3, run->started);
}

static void add_suite(strbuf *b, const report_run *run, const suite *s)
{
    const uint64_t n[4] = {s->n, s->n_failed, s->n_errors, s->n_skipped};

    add_tag(b, run, s->backend->name, n, s->ms);
    strbuf_add(b, "    <properties>");
    add_property(b, "version", s->backend->version);
    add_property(b, "device", s->backend->device);
    add_property(b, "seed", run->seeds);
    strbuf_add(b, "</properties>\n%s  </testsuite>\n", strbuf_text(&s->cases));
}

/* A run that was stopped is an error of its own: nobody takes it for whole. */
static void add_stop(strbuf *b, const report_run *run, const tally *t)
{
    static const uint64_t n[4] = {1, 0, 1, 0};
    char message[160];

    (void)snprintf(message, sizeof message,
                   "stopped by %s after %" PRIu64 " of %" PRIu64 " cases",
                   run->stopped, t->n_lines, run->n_planned);
    add_tag(b, run, "mxoracle", n, 0);
    strbuf_add(b,
               "    <testcase classname=\"mxoracle.%s\" name=\"stopped\" "
               "time=\"0\"><error type=\"stopped\"",
               run->command);
    add_attribute(b, "message", message);
    strbuf_add(b, "/></testcase>\n  </testsuite>\n");
}

static void junit_end(reporter *r, const tally *t)
{
    suites *all = r->state;
    strbuf b = {NULL, 0, 0};

    strbuf_add(&b,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for (size_t i = 0; i < all->n; i++) {
        add_suite(&b, r->run, &all->suite[i]);
        strbuf_clear(&all->suite[i].cases);
    }
    if (r->run->stopped != NULL) {
        add_stop(&b, r->run, t);
    }
    strbuf_add(&b, "</testsuites>\n");
    fputs(strbuf_text(&b), r->out);
    strbuf_clear(&b);
    free(all->suite);
    free(all);
}

const reporter report_junit = {
    .begin = junit_begin,
    .result = junit_result,
    .end = junit_end,
};
