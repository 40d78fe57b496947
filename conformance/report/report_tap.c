/* SPDX-License-Identifier: Apache-2.0 */
/* Test Anything Protocol: plan first, one line per case, reasons as notes. */
#include "report.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct tap_state {
    uint64_t n; /* tests until now */
    int has_plan;
} tap_state;

/* Lost coverage adds lines that nobody could count before. */
static int is_plan_known(const report_run *run)
{
    int is_given = 0; /* a line more for each operation that it declines */

    for (int i = 0; i < run->n_backends; i++) {
        is_given |= run->backends[i].is_given;
    }
    return run->baseline == NULL && !is_given && !run->may_lack &&
           run->n_planned > 0;
}

static void tap_begin(reporter *r, const report_run *run)
{
    r->run = run;
    tap_state *s = memory_need_zeros(1, sizeof *s);

    r->state = s;
    if (is_plan_known(run)) {
        s->has_plan = 1;
        fprintf(r->out, "1..%" PRIu64 "\n", run->n_planned);
    }
    fprintf(r->out, "# mxoracle %s, %s, seed %s, %s\n", run->version,
            run->compiler, run->seeds, run->started);
    for (int i = 0; i < run->n_backends; i++) {
        const backend_info *b = &run->backends[i];
        fprintf(r->out, "# %s %s %s %s %s\n", b->name, b->version, b->device,
                b->driver, b->why_not);
    }
}

/* TAP's directive for a failure that is known. */
static const char known_failure[] = " # TO"
                                    "DO ";

/* A '#' begins a directive and a line ends a test: neither may stand in a
   name. */
static void description(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        fputc(*text == '#' || (unsigned char)*text < 0x20 ? '?' : *text, out);
    }
}

/* Lines of a text, the first behind its head. */
static void notes(FILE *out, const char *head, const char *text)
{
    while (*text != '\0') {
        const size_t n = strcspn(text, "\n");
        fprintf(out, "#   %s%.*s\n", head, (int)n, text);
        text += n + (text[n] == '\n');
        head = "";
    }
}

static void tap_result(reporter *r, const report_result *result)
{
    const verdict *v = result->v;
    tap_state *s = r->state;
    const int expected = v->status == VERDICT_EXPECTED;
    const int ok = !verdict_is_red(v->status) && !expected;
    const int skipped =
        v->status == VERDICT_SKIP || v->status == VERDICT_UNSUPPORTED;

    fprintf(r->out, "%s %" PRIu64 " - %s ", ok ? "ok" : "not ok", ++s->n,
            result->backend->name);
    description(r->out, result->case_text);
    if (skipped) {
        fputs(" # SKIP ", r->out);
        description(r->out, v->reason);
    }
    if (expected) {
        fputs(known_failure, r->out);
        description(r->out, v->reason);
    }
    fputc('\n', r->out);
    if (!ok && !expected) {
        fprintf(r->out, "# %s: %s\n", verdict_name(v->status), v->reason);
        notes(r->out, "", v->detail == NULL ? "" : v->detail);
        notes(r->out, "repro: ", result->repro);
    }
}

static void tap_end(reporter *r, const tally *t)
{
    const tap_state *s = r->state;
    strbuf words = {NULL, 0, 0};

    if (r->run->stopped != NULL) {
        fprintf(r->out, "Bail out! stopped by %s\n", r->run->stopped);
    } else if (!s->has_plan) {
        fprintf(r->out, "1..%" PRIu64 "\n", s->n);
    }
    free(r->state);
    report_last_words(&words, r->run, t);
    fprintf(r->out, "# %s\n", strbuf_text(&words));
    strbuf_clear(&words);
}

const reporter report_tap = {
    .begin = tap_begin,
    .result = tap_result,
    .end = tap_end,
};
