/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report for people: a header, a block per failure, a table of what was
 * judged by which rule and what was not, the failures again, one last line.
 */
#include "base/cli.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "causes.h"
#include "judge/third_party_tolerances.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { REASONS_SHOWN = 12, LIST_SHOWN = 200, CAUSES_SHOWN = 12 };

typedef struct text_state {
    uint64_t n_shown;
    uint64_t n_red;
    strbuf list; /* the failures, for the end */
    cause_list causes;
} text_state;

static const char *paint(const reporter *r, const char *code)
{
    return r->run->color ? code : "";
}

#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define PLAIN "\033[0m"

static void say_backend(FILE *out, const backend_info *b)
{
    if (b->why_not[0] != '\0') {
        cli_line(out, 4, "  %-8s %s: %s", b->name,
                 b->absent == VERDICT_SKIP ? "skipped" : "error", b->why_not);
        return;
    }
    cli_line(out, 4, "  %-8s %s%s%s%s%s", b->name, b->version,
             b->device[0] == '\0' ? "" : ", ", b->device,
             b->driver[0] == '\0' ? "" : ", ", b->driver);
}

static void text_begin(reporter *r, const report_run *run)
{
    r->run = run;
    r->state = memory_need_zeros(1, sizeof(text_state));
    if (run->verbose < 0) {
        return;
    }
    char level[32] = "";

    if (run->level > 0) {
        (void)snprintf(level, sizeof level, "level %d, ", run->level);
    }
    cli_line(r->out, 4, "mxoracle %s, %s, seed %s, %s%" PRIu64 " case%s",
             run->version, run->compiler, run->seeds, level, run->n_planned,
             run->n_planned == 1 ? "" : "s");
    for (int i = 0; i < run->n_backends; i++) {
        say_backend(r->out, &run->backends[i]);
    }
}

static const char *word_of(verdict_status status)
{
    static const char *const words[N_VERDICTS] = {
        "pass",  "FAIL", "CRASH",       "TIMEOUT", "VACUOUS",
        "ERROR", "skip", "unsupported", "expected"};

    return words[status];
}

/* Every line of a text, indented; a terminal has sentences folded, but not rows
   of a table, which begin with an index or a blank. */
static void indent(FILE *out, const char *text)
{
    while (*text != '\0') {
        const size_t n = strcspn(text, "\n");
        if (*text == ' ' || *text == '[') {
            fprintf(out, "  %.*s\n", (int)n, text);
        } else {
            cli_line(out, 4, "  %.*s", (int)n, text);
        }
        text += n + (text[n] == '\n');
    }
}

static void say_red(const reporter *r, const report_result *result)
{
    const verdict *v = result->v;

    fprintf(r->out, "%s%s%s %-5s %s\n", paint(r, RED), word_of(v->status),
            paint(r, PLAIN), result->backend->name, result->case_text);
    indent(r->out, v->reason);
    if (v->detail != NULL) {
        indent(r->out, v->detail);
    }
    if (r->run->also != NULL) {
        char names[sizeof v->also];
        tolerance_choose(v->also, r->run->also, names, sizeof names);
        cli_line(r->out, 4, "  would have passed by: %s",
                 names[0] == '\0' ? "none of the rules asked for" : names);
    }
    if (v->kernel[0] != '\0') {
        cli_line(r->out, 4, "  kernel: %s", v->kernel);
    }
    fprintf(r->out, "  repro: %s\n", result->repro);
}

static void add_to_list(strbuf *list, const report_result *result)
{
    char seed[40] = "";

    if (!result->has_no_seed) {
        (void)snprintf(seed, sizeof seed, "seed %" PRIu64 "  ", result->seed);
    }
    strbuf_add(list, "  %-7s %-6s %s%s\n", word_of(result->v->status),
               result->backend->name, seed, result->case_text);
}

static void text_result(reporter *r, const report_result *result)
{
    text_state *s = r->state;
    const verdict *v = result->v;

    if (verdict_is_red(v->status)) {
        s->n_red++;
        causes_add(&s->causes, result);
        if (r->run->max_fail == 0 || s->n_red <= r->run->max_fail) {
            say_red(r, result);
            s->n_shown++;
        }
        if (s->n_red <= LIST_SHOWN) {
            add_to_list(&s->list, result);
        }
    } else if (r->run->verbose > 0) {
        fprintf(r->out, "%-11s %-6s %s%s%s  (%s%s%.1f ms%s%s)\n",
                word_of(v->status), result->backend->name, result->case_text,
                v->reason[0] == '\0' ? "" : "  ", v->reason, v->kernel,
                v->kernel[0] == '\0' ? "" : ", ", v->ms,
                v->called[0] == '\0' ? "" : "; again ", v->called);
    }
}

static void say_rules(FILE *out, const tally_row *row)
{
    for (int i = 0; i < TALLY_RULES && row->rule[i][0] != '\0'; i++) {
        fprintf(out, "%s%s %" PRIu64, i == 0 ? "" : ", ", row->rule[i],
                row->n_by_rule[i]);
    }
    fputc('\n', out);
}

/* Nothing of this operation was judged on this backend. */
static int is_blank(const tally_row *row)
{
    return row->n[VERDICT_PASS] + row->n[VERDICT_EXPECTED] +
               tally_row_red(row) ==
           0;
}

/* "cpu, nothing judged of: a b": one folded line instead of rows of zeros.  Of
   a backend that is not there the first lines have said so. */
static void say_blank_rows(FILE *out, const tally *t)
{
    const char *backend = "";
    const int fold = cli_columns(out) - 2;
    int column = 0;

    for (size_t i = 0; i < t->n_rows; i++) {
        const tally_row *row = &t->row[i];
        if (!is_blank(row) || strcmp(row->op, "*") == 0) {
            continue;
        }
        if (strcmp(row->backend, backend) != 0) {
            fprintf(out, "%s%s, nothing judged of:", column > 0 ? "\n" : "",
                    row->backend);
            column = (int)strlen(row->backend) + 20;
            backend = row->backend;
        }
        if (column + (int)strlen(row->op) + 1 > fold) {
            fputs("\n   ", out);
            column = 3;
        }
        column += fprintf(out, " %s", row->op);
    }
    fputs(column > 0 ? "\n" : "", out);
}

static int is_all_blank(const tally *t)
{
    size_t i = 0;

    while (i < t->n_rows && is_blank(&t->row[i])) {
        i++;
    }
    return i == t->n_rows;
}

static void say_table(FILE *out, const tally *t)
{
    /* Narrow terminals get the numbers, and the rules, on lines of their own.
     */
    const int is_narrow = cli_is_narrow(out);
    const char *numbers = is_narrow ? "\n   " : "";
    const char *rules = is_narrow ? "\n    by rule: " : "  ";
    const int name = is_narrow ? 7 : 10;
    const int known = t->n[VERDICT_EXPECTED] > 0;

    fprintf(out, "\n%-*s %-*s%s %7s %7s %7s %7s%s%s\n", name, "backend",
            is_narrow ? 0 : 20, "operation", numbers, "pass", "red", "unsupp.",
            "skip", known && !is_narrow ? " expect." : "",
            is_narrow ? "" : "  judged by rule");
    for (size_t i = 0; i < t->n_rows; i++) {
        const tally_row *row = &t->row[i];
        if (is_blank(row)) {
            continue;
        }
        fprintf(out,
                "%-*s %-*s%s %7" PRIu64 " %7" PRIu64 " %7" PRIu64 " %7" PRIu64,
                name, row->backend, is_narrow ? 0 : 20, row->op, numbers,
                row->n[VERDICT_PASS], tally_row_red(row),
                row->n[VERDICT_UNSUPPORTED], row->n[VERDICT_SKIP]);
        if (known) {
            fprintf(out, "%s %7" PRIu64, is_narrow ? "\n    expected:" : "",
                    row->n[VERDICT_EXPECTED]);
        }
        fputs(rules, out);
        say_rules(out, row);
    }
}

static int by_count(const void *a, const void *b)
{
    const tally_reason *x = a;
    const tally_reason *y = b;

    return x->n == y->n ? strcmp(x->reason, y->reason) : x->n < y->n ? 1 : -1;
}

static void say_reasons(FILE *out, const tally *t)
{
    uint64_t rest = 0;

    if (t->n_reasons == 0) {
        return;
    }
    fputs("\nnot judged:\n", out);
    qsort(t->reason, t->n_reasons, sizeof t->reason[0], by_count);
    for (size_t i = 0; i < t->n_reasons; i++) {
        const tally_reason *r = &t->reason[i];
        if (i < REASONS_SHOWN) {
            cli_line(out, 9, "  %6" PRIu64 " %s, %s: %s", r->n, r->backend,
                     verdict_name(r->status), r->reason);
        } else {
            rest += r->n;
        }
    }
    if (rest > 0) {
        fprintf(out, "  %6" PRIu64 " for %zu more reasons\n", rest,
                t->n_reasons - REASONS_SHOWN);
    }
}

/* Operations that a backend offers and did not answer once. */
static void say_declined(const reporter *r, const tally *t)
{
    for (size_t i = 0; i < t->n_rows; i++) {
        const tally_row *row = &t->row[i];
        if (row->n_declined > 0 && tally_row_judged(row) == 0) {
            fputs(paint(r, YELLOW), r->out);
            cli_line(r->out, 4,
                     "%s offers %s and declined all %" PRIu64
                     " calls of it: nothing of it was judged",
                     row->backend, row->op, row->n_declined);
            fputs(paint(r, PLAIN), r->out);
        }
    }
}

/* How much of the bounds was needed: a kernel that gets worse shows here. */
static void say_use(FILE *out, const tally *t)
{
    static const char *const upto[VERDICT_BINS] = {
        "none", "1/64", "1/16", "1/4", "1/2", "all", "beyond"};

    for (size_t i = 0; i < t->n_rows; i++) {
        const tally_row *row = &t->row[i];
        uint64_t n = 0;
        for (int k = 0; k < VERDICT_BINS; k++) {
            n += row->use.n[k];
        }
        if (n == 0) {
            continue;
        }
        strbuf bins = {NULL, 0, 0};
        for (int k = 0; k < VERDICT_BINS; k++) {
            strbuf_add(&bins, " %s %" PRIu64, upto[k], row->use.n[k]);
        }
        cli_line(out, 4, "bound used, %s %s:%s; most %.3g", row->backend,
                 row->op, strbuf_text(&bins), row->use.most);
        strbuf_clear(&bins);
    }
}

static void say_loose(FILE *out, const tally *t)
{
    uint64_t n_loose = 0;
    uint64_t n_kernel = 0;

    for (size_t i = 0; i < t->n_rows; i++) {
        n_kernel += t->row[i].n_unknown_kernel;
        for (int k = 0; k < TALLY_RULES; k++) {
            n_loose += strcmp(t->row[i].rule[k], "bits") != 0 &&
                               strcmp(t->row[i].rule[k], "refusal") != 0
                           ? t->row[i].n_by_rule[k]
                           : 0;
        }
    }
    if (n_loose > 0) {
        cli_line(out, 4, "%" PRIu64 " case%s judged by rows of tolerance.def",
                 n_loose, n_loose == 1 ? "" : "s");
    }
    if (n_kernel > 0) {
        cli_line(out, 4,
                 "%" PRIu64 " cases: the backend could not tell which kernel "
                 "ran",
                 n_kernel);
    }
}

static void text_end(reporter *r, const tally *t)
{
    text_state *s = r->state;

    if (r->run->verbose >= 0) {
        if (!is_all_blank(t)) {
            say_table(r->out, t);
        }
        say_blank_rows(r->out, t);
        say_reasons(r->out, t);
        say_use(r->out, t);
        say_loose(r->out, t);
    }
    if (s->n_red > 0) {
        if (s->n_red > s->n_shown) {
            cli_line(r->out, 4,
                     "%" PRIu64 " more failures are not shown in full "
                     "(--max-fail=0 shows all)",
                     s->n_red - s->n_shown);
        }
        fprintf(r->out, "\nfailed:\n%s", strbuf_text(&s->list));
        if (s->n_red > LIST_SHOWN) {
            fprintf(r->out, "  and %" PRIu64 " more\n", s->n_red - LIST_SHOWN);
        }
        if (s->n_red > s->causes.n) {
            fputc('\n', r->out);
            causes_print(r->out, &s->causes, CAUSES_SHOWN);
        }
    }
    strbuf_clear(&s->list);
    causes_clear(&s->causes);
    say_declined(r, t);
    free(s);
    const int is_part = r->run->stopped != NULL || tally_left_out(t) > 0;
    fputs(paint(r, tally_red(t) > 0 ? RED : is_part ? YELLOW : GREEN), r->out);
    report_last_line(r->out, r->run, t);
    fputs(paint(r, PLAIN), r->out);
}

const reporter report_text = {
    .begin = text_begin,
    .result = text_result,
    .end = text_end,
};
