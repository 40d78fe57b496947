/* SPDX-License-Identifier: Apache-2.0 */
/* The reports of mxoracle selftest; see selftest.h. */
#include "selftest.h"

#include "base/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int mutant_parse(mutant *m, const char *text)
{
    char where[2 * OP_WORD] = "";

    memset(m, 0, sizeof *m);
    if (sscanf(text, "%15s %31s %127[^: ]: %159[^\n]", m->id, m->class_name,
               where, m->what) != 4 ||
        sscanf(where, "%63[^(](%63[^)])", m->op, m->near) < 1 ||
        op_by_name(m->op) == NULL) {
        return -1;
    }
    m->legal = strcmp(m->class_name, "Legal") == 0;
    return 0;
}

int fate_is_good(const mutant_fate *f)
{
    return f->red != f->m->legal;
}

int score_add(selftest_score *s, const mutant_fate *f)
{
    int i = 0;

    while (i < s->n_classes &&
           strcmp(s->classes[i].name, f->m->class_name) != 0) {
        i++;
    }
    if (i == SELFTEST_MAX_CLASSES) {
        return 0;
    }
    class_score *c = &s->classes[i];

    if (i == s->n_classes) {
        s->n_classes++;
        (void)snprintf(c->name, sizeof c->name, "%s", f->m->class_name);
        c->legal = f->m->legal;
    }
    c->n++;
    c->n_red += f->red;
    return 1;
}

void score_total(const selftest_score *s, int legal, int *n, int *n_red)
{
    *n = 0;
    *n_red = 0;
    for (int i = 0; i < s->n_classes; i++) {
        if (s->classes[i].legal == legal) {
            *n += s->classes[i].n;
            *n_red += s->classes[i].n_red;
        }
    }
}

/* "CAUGHT", "SURVIVED", "accepted", "REJECTED" */
static const char *word_for(const mutant_fate *f)
{
    if (f->m->legal) {
        return f->red ? "REJECTED" : "accepted";
    }
    return f->red ? "caught" : "SURVIVED";
}

/* The verdict in a few words: the first difference, or the reason. */
static void say_how(const verdict *v, char *text, size_t size)
{
    const char *kind = v->kind[0] == '\0' ? verdict_name(v->status) : v->kind;

    if (v->tensor[0] != '\0') {
        (void)snprintf(text, size, "%s%s want %s got %s (%s)", v->tensor,
                       v->index, v->want, v->got, kind);
    } else {
        (void)snprintf(text, size, "%.300s (%s)", v->reason, kind);
    }
}

static void report_text_line(const mutant_fate *f)
{
    char how[640];

    cli_line(stdout, 9, "%-8s %-4s %s: %s", word_for(f), f->m->id, f->m->op,
             f->m->what);
    if (f->red) {
        say_how(f->v, how, sizeof how);
        cli_line(stdout, 9, "         by case %" PRIu64 ", %s: %s", f->n_cases,
                 f->case_text, how);
    } else {
        printf("         by %" PRIu64 " cases\n", f->n_cases);
    }
}

static void report_tap_line(const mutant_fate *f, int number)
{
    printf("%sok %d - %s %s: %s: %s\n", fate_is_good(f) ? "" : "not ", number,
           f->m->id, f->m->op, f->m->what, word_for(f));
    if (f->red) {
        char how[640];
        say_how(f->v, how, sizeof how);
        printf("# %s: %s\n", f->case_text, how);
    }
}

void selftest_report(int is_tap, const mutant_fate *f, int number)
{
    if (is_tap) {
        report_tap_line(f, number);
    } else {
        report_text_line(f);
    }
}

void selftest_result(const mutant_fate *f, int good, report_result *r,
                     verdict *v)
{
    memset(v, 0, sizeof *v);
    memset(r, 0, sizeof *r);
    if (f->red) {
        *v = *f->v; /* the first difference, the kind */
        v->detail = NULL;
        v->map = NULL;
        memset(&v->use, 0, sizeof v->use);
    }
    v->status = good ? VERDICT_PASS : VERDICT_FAIL;
    (void)snprintf(v->rule, sizeof v->rule, "%s",
                   f->m->legal ? "accepted" : "caught");
    (void)snprintf(v->reason, sizeof v->reason,
                   "%s %s: %s; %s by %" PRIu64 " cases%s%.200s",
                   f->m->class_name, f->m->id, f->m->what, word_for(f),
                   f->n_cases, f->red ? ", the last " : "",
                   f->red ? f->case_text : "");
    r->case_text = f->m->id;
    r->op = f->m->op;
    r->n_cases = 1;
    r->seed = f->red ? f->seed : 1;
    r->judged = v->status;
    r->v = v;
    (void)snprintf(r->repro, sizeof r->repro, "mxoracle selftest --id=%s",
                   f->m->id);
}

void selftest_summary(int is_tap, const selftest_score *s, size_t n_cases,
                      const char *stopped)
{
    const char *mark = is_tap ? "# " : "";
    int n;
    int n_red;
    int n_legal;
    int n_rejected;

    score_total(s, 0, &n, &n_red);
    score_total(s, 1, &n_legal, &n_rejected);
    if (is_tap) {
        printf("1..%d\n", n + n_legal);
    } else {
        printf("\nmutation score on %zu cases\n", n_cases);
    }
    for (int i = 0; i < s->n_classes; i++) {
        const class_score *c = &s->classes[i];
        printf("%s  %-12s %3d of %3d %s\n", mark, c->name, c->n_red, c->n,
               c->legal ? "rejected" : "killed");
    }
    printf("%s%d passed, %d failed\n", mark, n_red + n_legal - n_rejected,
           n - n_red + n_rejected);
    cli_line(stdout, 2,
             "%sselftest: %d of %d mutants killed, %d of %d legal variants "
             "rejected%s%s",
             mark, n_red, n, n_rejected, n_legal,
             stopped == NULL ? "" : ", stopped by ",
             stopped == NULL ? "" : stopped);
    if (is_tap && stopped != NULL) {
        printf("Bail out! stopped by %s\n", stopped);
    }
}
