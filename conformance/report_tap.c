/* SPDX-License-Identifier: Apache-2.0 */
/* Test Anything Protocol: plan first, one line per case, reasons as notes. */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void tap_begin(reporter *r, const report_run *run)
{
    r->run = run;
    r->state = calloc(1, sizeof(uint64_t));
    fprintf(r->out, "1..%" PRIu64 "\n# mxoracle %s, %s, seed %s\n",
            run->n_planned, run->version, run->compiler, run->seeds);
    for (int i = 0; i < run->n_backends; i++) {
        const backend_info *b = &run->backends[i];
        fprintf(r->out, "# %s %s %s %s %s\n", b->name, b->version, b->device,
                b->driver, b->why_not);
    }
}

static void notes(FILE *out, const char *text)
{
    while (*text != '\0') {
        const size_t n = strcspn(text, "\n");
        fprintf(out, "#   %.*s\n", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static void tap_result(reporter *r, const report_result *result)
{
    const verdict *v = result->v;
    uint64_t *number = r->state;
    const int ok = !verdict_is_red(v->status);
    const int skipped =
        v->status == VERDICT_SKIP || v->status == VERDICT_UNSUPPORTED;

    fprintf(r->out, "%s %" PRIu64 " - %s %s", ok ? "ok" : "not ok",
            number == NULL ? 0 : ++*number, result->backend->name,
            result->case_text);
    if (skipped) {
        fprintf(r->out, " # SKIP %s", v->reason);
    }
    fputc('\n', r->out);
    if (!ok) {
        fprintf(r->out, "# %s: %s\n", verdict_name(v->status), v->reason);
        notes(r->out, v->detail == NULL ? "" : v->detail);
        fprintf(r->out, "#   repro: %s\n", result->repro);
    }
}

static void tap_end(reporter *r, const tally *t)
{
    free(r->state);
    fputs("# ", r->out);
    report_last_line(r->out, r->run, t);
}

const reporter report_tap = {
    .begin = tap_begin,
    .result = tap_result,
    .end = tap_end,
};
