/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers under every report. */
#include "base/cli.h"
#include "base/grown.h"
#include "base/say.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

tally_row *tally_row_of(const tally *t, const char *backend, const char *op)
{
    for (size_t i = 0; i < t->n_rows; i++) {
        if (strcmp(t->row[i].backend, backend) == 0 &&
            strcmp(t->row[i].op, op) == 0) {
            return &t->row[i];
        }
    }
    return NULL;
}

static tally_row *row_for(tally *t, const char *backend, const char *op)
{
    tally_row *found = tally_row_of(t, backend, op);

    if (found != NULL) {
        return found;
    }
    t->row = grown(t->row, t->n_rows, sizeof *t->row);
    tally_row *row = &t->row[t->n_rows++];

    memset(row, 0, sizeof *row);
    (void)snprintf(row->backend, sizeof row->backend, "%s", backend);
    (void)snprintf(row->op, sizeof row->op, "%s", op);
    return row;
}

static void count_rule(tally_row *row, const char *rule)
{
    for (int i = 0; i < TALLY_RULES; i++) {
        if (row->rule[i][0] == '\0') {
            (void)snprintf(row->rule[i], sizeof row->rule[i], "%s", rule);
        }
        if (strcmp(row->rule[i], rule) == 0) {
            row->n_by_rule[i]++;
            return;
        }
    }
}

static tally_reason *add_reason(tally *t, const report_result *r)
{
    t->reason = grown(t->reason, t->n_reasons, sizeof *t->reason);
    tally_reason *reason = &t->reason[t->n_reasons++];

    memset(reason, 0, sizeof *reason);
    reason->status = r->v->status;
    (void)snprintf(reason->backend, sizeof reason->backend, "%s",
                   r->backend->name);
    say_copy(reason->reason, sizeof reason->reason, r->v->reason);
    return reason;
}

static void count_reason(tally *t, const report_result *r)
{
    char key[BACKEND_NAME + 256];
    char said[TALLY_REASON];

    say_copy(said, sizeof said, r->v->reason);
    (void)snprintf(key, sizeof key, "%d %s %s", (int)r->v->status,
                   r->backend->name, said);
    const json_t *place = json_object_get(t->reasons, key);
    tally_reason *reason = place == NULL
                               ? add_reason(t, r)
                               : &t->reason[json_integer_value(place)];

    reason->n += r->n_cases;
    if (place == NULL) {
        t->reasons = t->reasons == NULL ? json_object() : t->reasons;
        (void)json_object_set_new(t->reasons, key,
                                  json_integer(reason - t->reason));
    }
}

static void count_use(tally_row *row, const verdict_use *use)
{
    for (int i = 0; i < VERDICT_BINS; i++) {
        row->use.n[i] += use->n[i];
    }
    row->use.most = use->most > row->use.most ? use->most : row->use.most;
}

void tally_add(tally *t, const report_result *r)
{
    const verdict_status status = r->v->status;
    char op[64];

    report_op(r, op, sizeof op);
    t->n[status] += r->n_cases;
    t->n_lines++;
    tally_row *row = row_for(t, r->backend->name, op);

    row->n[status] += r->n_cases;
    row->n_declined +=
        status == VERDICT_UNSUPPORTED && strcmp(r->v->kind, "operation") != 0
            ? r->n_cases
            : 0;
    row->n_undeclared +=
        status == VERDICT_UNSUPPORTED && strcmp(r->v->kind, "unsupported") == 0
            ? r->n_cases
            : 0;
    row->n_refused +=
        status == VERDICT_PASS && strcmp(r->v->rule, "refusal") == 0
            ? r->n_cases
            : 0;
    count_use(row, &r->v->use);
    if (r->v->rule[0] != '\0') {
        count_rule(row, r->v->rule);
        row->n_unknown_kernel +=
            r->v->kernel[0] == '\0' && strcmp(r->v->rule, "refusal") != 0;
    }
    if (status == VERDICT_SKIP || status == VERDICT_UNSUPPORTED) {
        count_reason(t, r);
    }
}

uint64_t tally_row_judged(const tally_row *row)
{
    uint64_t n = row->n[VERDICT_PASS] + row->n[VERDICT_EXPECTED];

    for (int i = 0; i < N_VERDICTS; i++) {
        n += verdict_is_red((verdict_status)i) ? row->n[i] : 0;
    }
    return n - row->n_refused;
}

int tally_row_undeclared(const tally_row *row, verdict *v)
{
    if (row->n_undeclared == 0) {
        return 0;
    }
    memset(v, 0, sizeof *v);
    verdict_conclude(v, VERDICT_ERROR, "declined",
                     "it answers %" PRIu64 " cases and declines %" PRIu64
                     ", and declares no limits: declare them, or run with "
                     "--allow-declines",
                     tally_row_judged(row), row->n_undeclared);
    return 1;
}

int tally_is_declined(const tally *t, const char *backend)
{
    uint64_t n_judged = 0;
    uint64_t n_declined = 0;

    for (size_t i = 0; i < t->n_rows; i++) {
        if (strcmp(t->row[i].backend, backend) == 0) {
            n_judged += tally_row_judged(&t->row[i]);
            n_declined += t->row[i].n_declined;
        }
    }
    return n_declined > 0 && n_judged == 0;
}

void tally_clear(tally *t)
{
    free(t->row);
    free(t->reason);
    json_decref(t->reasons);
    memset(t, 0, sizeof *t);
}

uint64_t tally_total(const tally *t)
{
    uint64_t n = 0;

    for (int i = 0; i < N_VERDICTS; i++) {
        n += t->n[i];
    }
    return n;
}

static uint64_t red_of(const uint64_t n[N_VERDICTS])
{
    uint64_t red = 0;

    for (int i = 0; i < N_VERDICTS; i++) {
        red += verdict_is_red((verdict_status)i) ? n[i] : 0;
    }
    return red;
}

uint64_t tally_red(const tally *t)
{
    return red_of(t->n);
}

uint64_t tally_row_red(const tally_row *row)
{
    return red_of(row->n);
}

uint64_t tally_left_out(const tally *t)
{
    return t->n[VERDICT_SKIP] + t->n[VERDICT_UNSUPPORTED];
}

void report_last_words(strbuf *b, const report_run *run, const tally *t)
{
    strbuf_add(b,
               "mxoracle: %" PRIu64 " of %" PRIu64 " failed, %" PRIu64
               " skipped, seed %s",
               tally_red(t), tally_total(t), tally_left_out(t), run->seeds);
    if (t->n[VERDICT_EXPECTED] > 0) {
        strbuf_add(b, ", %" PRIu64 " expected", t->n[VERDICT_EXPECTED]);
    }
    if (run->stopped != NULL) {
        strbuf_add(b, ", stopped by %s", run->stopped);
        if (run->n_planned > t->n_lines) {
            strbuf_add(b, " before %" PRIu64 " more",
                       run->n_planned - t->n_lines);
        }
    }
}

void report_last_line(FILE *out, const report_run *run, const tally *t)
{
    strbuf words = {NULL, 0, 0};

    report_last_words(&words, run, t);
    cli_line(out, 2, "%s", strbuf_text(&words));
    strbuf_clear(&words);
}
