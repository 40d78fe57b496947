/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JUnit XML: suite = backend, classname = operation, name = case.  Suites
 * carry totals in their first tag, so everything is kept until the end.
 */
#include "report.h"
#include "strbuf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct suite {
    uint64_t n;
    uint64_t n_failed;
    uint64_t n_skipped;
    double ms;
    strbuf cases;
} suite;

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
    r->state = calloc((size_t)run->n_backends + 1, sizeof(suite));
}

static void add_body(suite *s, const report_result *result)
{
    const verdict *v = result->v;

    if (v->status == VERDICT_SKIP || v->status == VERDICT_UNSUPPORTED) {
        s->n_skipped++;
        strbuf_add(&s->cases, "<skipped");
        add_attribute(&s->cases, "message", v->reason);
        strbuf_add(&s->cases, "/>");
    } else if (verdict_is_red(v->status)) {
        s->n_failed++;
        strbuf_add(&s->cases, "<failure");
        add_attribute(&s->cases, "type", verdict_name(v->status));
        add_attribute(&s->cases, "message", v->reason);
        strbuf_add(&s->cases, ">");
        add_escaped(&s->cases, v->detail == NULL ? "" : v->detail);
        add_escaped(&s->cases, "\nrepro: ");
        add_escaped(&s->cases, result->repro);
        strbuf_add(&s->cases, "</failure>");
    }
}

static void junit_result(reporter *r, const report_result *result)
{
    suite *s = r->state;
    char op[64];

    if (s == NULL) {
        return;
    }
    s += result->backend - r->run->backends;
    (void)snprintf(op, sizeof op, "%.*s", (int)strcspn(result->case_text, ":"),
                   result->case_text);
    s->n++;
    s->ms += result->v->ms;
    strbuf_add(&s->cases, "    <testcase");
    add_attribute(&s->cases, "classname", op);
    add_attribute(&s->cases, "name", result->case_text);
    strbuf_add(&s->cases, " time=\"%.6f\">", result->v->ms / 1e3);
    add_body(s, result);
    strbuf_add(&s->cases, "</testcase>\n");
}

static void junit_end(reporter *r, const tally *t)
{
    suite *suites = r->state;

    (void)t;
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", r->out);
    for (int i = 0; suites != NULL && i < r->run->n_backends; i++) {
        suite *s = &suites[i];
        strbuf name = {NULL, 0, 0};
        add_escaped(&name, r->run->backends[i].name);
        fprintf(r->out,
                "  <testsuite name=\"%s\" tests=\"%" PRIu64
                "\" failures=\"%" PRIu64 "\" errors=\"0\" skipped=\"%" PRIu64
                "\" time=\"%.6f\">\n%s  </testsuite>\n",
                strbuf_text(&name), s->n, s->n_failed, s->n_skipped,
                s->ms / 1e3, strbuf_text(&s->cases));
        strbuf_clear(&name);
        strbuf_clear(&s->cases);
    }
    fputs("</testsuites>\n", r->out);
    free(suites);
}

const reporter report_junit = {
    .begin = junit_begin,
    .result = junit_result,
    .end = junit_end,
};
