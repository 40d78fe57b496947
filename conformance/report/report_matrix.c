/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report on one screen: the verdict, operations by backends, the first red
 * case of each backend.  Where there are many operations, those of a family
 * that nobody failed share a line.  Reasons of what was not judged are in the
 * long text.
 */
#include "base/cli.h"
#include "base/memory.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    OP_WIDTH = 20,
    CELL_WIDTH = 12,
    CELL_TEXT = 32,
    VERDICT_WIDTH = 64,
    MOST_LINES = 14 /* of operations one by one */
};

typedef struct matrix_state {
    char *first_repro[BACKEND_MAX]; /* owned; NULL: nothing red */
} matrix_state;

static void matrix_begin(reporter *r, const report_run *run)
{
    r->run = run;
    r->state = memory_need_zeros(1, sizeof(matrix_state));
}

static void matrix_result(reporter *r, const report_result *result)
{
    matrix_state *s = r->state;
    const ptrdiff_t i = result->backend - r->run->backends;

    if (verdict_is_red(result->v->status) && s->first_repro[i] == NULL) {
        s->first_repro[i] = memory_need_text(result->repro);
    }
}

/* A number of judged cases, of red ones, or why there is none. */
static void cell_text(char text[CELL_TEXT], const backend_info *b,
                      const tally_row *row)
{
    if (b->why_not[0] != '\0') {
        const int is_unbuilt = strncmp(b->why_not, "not built", 9) == 0;
        (void)snprintf(text, CELL_TEXT, "%s",
                       is_unbuilt ? "not built" : "no device");
    } else if (row != NULL && tally_row_red(row) > 0) {
        (void)snprintf(text, CELL_TEXT, "%" PRIu64 " RED", tally_row_red(row));
    } else if (row != NULL && tally_row_judged(row) > 0) {
        /* As the verdict counts, with the calls that it rightly refused. */
        (void)snprintf(text, CELL_TEXT, "%" PRIu64,
                       tally_row_judged(row) + row->n_refused);
    } else if (row != NULL && row->n_declined > 0) {
        (void)snprintf(text, CELL_TEXT, "declined");
    } else {
        (void)snprintf(text, CELL_TEXT, "%s",
                       row == NULL ? "not asked" : "not offered");
    }
}

/* Whether this is the first row of its operation. */
static int is_first(const tally *t, size_t i)
{
    size_t k = 0;

    while (strcmp(t->row[k].op, t->row[i].op) != 0) {
        k++;
    }
    return k == i && strcmp(t->row[i].op, "*") != 0;
}

static int is_judged(const tally *t, const char *op)
{
    int n = 0;

    for (size_t i = 0; i < t->n_rows; i++) {
        n +=
            strcmp(t->row[i].op, op) == 0 &&
            (tally_row_judged(&t->row[i]) > 0 || tally_row_red(&t->row[i]) > 0);
    }
    return n > 0;
}

static int is_red(const tally *t, const char *op)
{
    int n = 0;

    for (size_t i = 0; i < t->n_rows; i++) {
        n += strcmp(t->row[i].op, op) == 0 && tally_row_red(&t->row[i]) > 0;
    }
    return n > 0;
}

/* Operations that were judged; of a family, those that nobody failed. */
static int n_operations(const tally *t, const char *family)
{
    const size_t n = family == NULL ? 0 : strcspn(family, ".");
    int found = 0;

    for (size_t i = 0; i < t->n_rows; i++) {
        const char *op = t->row[i].op;
        found +=
            is_first(t, i) && is_judged(t, op) &&
            (family == NULL || (strcspn(op, ".") == n &&
                                strncmp(op, family, n) == 0 && !is_red(t, op)));
    }
    return found;
}

/* Does the operation share a line with others of its family? */
static int is_folded(const tally *t, const char *op)
{
    return n_operations(t, NULL) > MOST_LINES && !is_red(t, op) &&
           n_operations(t, op) > 1;
}

/* Do two operations stand on one line? */
static int is_together(const tally *t, const char *a, const char *b)
{
    const size_t n = strcspn(a, ".") + 1;

    return strcmp(a, b) == 0 || (strncmp(a, b, n) == 0 && is_folded(t, a) &&
                                 !is_red(t, b) && is_judged(t, b));
}

/* What a backend did of the operation's line; 0: it was asked nothing. */
static int add_up(const tally *t, const char *backend, const char *op,
                  tally_row *sum)
{
    int found = 0;

    memset(sum, 0, sizeof *sum);
    for (size_t i = 0; i < t->n_rows; i++) {
        const tally_row *row = &t->row[i];
        if (strcmp(row->backend, backend) == 0 && is_together(t, op, row->op)) {
            found = 1;
            sum->n_refused += row->n_refused;
            sum->n_declined += row->n_declined;
            for (int k = 0; k < N_VERDICTS; k++) {
                sum->n[k] += row->n[k];
            }
        }
    }
    return found;
}

static void say_line(const reporter *r, const tally *t, const char *op,
                     int from, int to)
{
    char label[96];

    (void)snprintf(label, sizeof label, "%.64s", op);
    if (is_folded(t, op)) {
        (void)snprintf(label, sizeof label, "%.*s.* (%d)",
                       (int)strcspn(op, "."), op, n_operations(t, op));
    }
    fprintf(r->out, "%-*s", OP_WIDTH, label);
    for (int i = from; i < to; i++) {
        const backend_info *b = &r->run->backends[i];
        char text[CELL_TEXT];
        tally_row sum;
        cell_text(text, b, add_up(t, b->name, op, &sum) ? &sum : NULL);
        const int red = strstr(text, "RED") != NULL && r->run->color;
        fprintf(r->out, "%s%*s%s", red ? "\033[31m" : "", CELL_WIDTH - 1, text,
                red ? "\033[0m" : "");
        fputs(i + 1 < to ? " " : "", r->out);
    }
    fputc('\n', r->out);
}

/* Whether no operation before row i stands on its line. */
static int is_line(const tally *t, size_t i)
{
    size_t k = 0;

    while (!is_judged(t, t->row[k].op) ||
           !is_together(t, t->row[k].op, t->row[i].op)) {
        k++;
    }
    return k == i && strcmp(t->row[i].op, "*") != 0;
}

/* As many backends side by side as fit, then the others below. */
static void say_table(const reporter *r, const tally *t)
{
    const int columns = cli_columns(r->out);
    const int fit = columns < OP_WIDTH + 2 * CELL_WIDTH
                        ? 1
                        : (columns + 1 - OP_WIDTH) / CELL_WIDTH;

    for (int from = 0; from < r->run->n_backends; from += fit) {
        const int to =
            from + fit < r->run->n_backends ? from + fit : r->run->n_backends;
        fprintf(r->out, "\n%-*s", OP_WIDTH, "cases judged");
        for (int i = from; i < to; i++) {
            fprintf(r->out, "%*.*s%s", CELL_WIDTH - 1, CELL_WIDTH - 1,
                    r->run->backends[i].name, i + 1 < to ? " " : "");
        }
        fputc('\n', r->out);
        for (size_t i = 0; i < t->n_rows; i++) {
            if (is_judged(t, t->row[i].op) && is_line(t, i)) {
                say_line(r, t, t->row[i].op, from, to);
            }
        }
    }
}

static void say_unjudged(const reporter *r, const tally *t)
{
    const int fold = cli_columns(r->out) - 1;
    int column = 0;

    for (size_t i = 0; i < t->n_rows; i++) {
        const char *op = t->row[i].op;
        if (!is_first(t, i) || is_judged(t, op)) {
            continue;
        }
        column += column == 0 ? fprintf(r->out, "judged on none:") : 0;
        if (column + (int)strlen(op) + 1 > fold) {
            fputs("\n   ", r->out);
            column = 3;
        }
        column += fprintf(r->out, " %s", op);
    }
    fputs(column > 0 ? "\n" : "", r->out);
}

static void say_backends(const reporter *r, matrix_state *s)
{
    for (int i = 0; i < r->run->n_backends; i++) {
        const backend_info *b = &r->run->backends[i];
        if (b->why_not[0] != '\0') {
            fprintf(r->out, "%s: %s\n", b->name, b->why_not);
        }
        if (s->first_repro[i] != NULL) {
            fprintf(r->out, "first red of %s:\n    %s\n", b->name,
                    s->first_repro[i]);
            free(s->first_repro[i]);
        }
    }
}

static void say_verdict(const reporter *r, const tally *t)
{
    const uint64_t red = tally_red(t);
    const uint64_t judged = tally_total(t) - tally_left_out(t);

    if (r->run->color) {
        fputs(red > 0                                  ? "\033[31m"
              : r->run->stopped != NULL || judged == 0 ? "\033[33m"
                                                       : "\033[32m",
              r->out);
    }
    if (red > 0) {
        fprintf(r->out, "RED: %" PRIu64 " of %" PRIu64 " cases", red, judged);
    } else if (judged == 0) {
        fputs("NOTHING JUDGED", r->out);
    } else {
        fprintf(r->out, "%s: all of %" PRIu64 " cases",
                r->run->stopped != NULL ? "NOT WHOLE, passed" : "PASSED",
                judged);
    }
    fprintf(r->out, "%s;%s%" PRIu64 " not judged, seed %s\n",
            r->run->color ? "\033[0m" : "",
            cli_columns(r->out) < VERDICT_WIDTH ? "\n    " : " ",
            tally_left_out(t), r->run->seeds);
    if (r->run->stopped != NULL) {
        fprintf(r->out, "not whole: stopped by %s\n", r->run->stopped);
    }
}

static void matrix_end(reporter *r, const tally *t)
{
    say_verdict(r, t);
    say_table(r, t);
    say_unjudged(r, t);
    say_backends(r, r->state);
    free(r->state);
}

const reporter report_matrix = {
    .begin = matrix_begin,
    .result = matrix_result,
    .end = matrix_end,
};
