/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of a run over vectors.  See report.h. */
#include "report.h"

#include "base/citation.h"

#include "base/cli.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/stop.h"
#include "vectors/map/map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"passed", "failed", "unknown",
                                    "unsupported"};

/* In place of a file's path: a line on the process. */
#define END "(end)"

int report_start(vector_report *r, const vector_subject *subjects, int n,
                 size_t n_files, const vector_options *options)
{
    memset(r, 0, sizeof *r);
    r->options = *options;
    r->is_text = !report_options_stdout(options->reports);
    report_run_begin(&r->run, options->command);
    r->run.n_planned = (uint64_t)n * n_files;
    r->run.may_lack = n > 1;
    r->run.n_backends = n;
    r->run.backends = r->infos;
    for (int i = 0; i < n; i++) {
        (void)snprintf(r->infos[i].name, sizeof r->infos[i].name, "%s",
                       subjects[i].name);
    }
    const int status = report_set_open(&r->reports, options->reports, NULL);

    if (status == EXIT_PASS) {
        stop_catch_signals();
        progress_begin(&r->progress, r->run.n_planned, !options->quiet);
        progress_tick(&r->progress);
    }
    return status;
}

static op_tally *tally_of(vector_report *r, const char *op)
{
    for (size_t i = 0; i < r->n_ops; i++) {
        if (strcmp(r->ops[i].op, op) == 0) {
            return &r->ops[i];
        }
    }
    if (r->n_ops == r->room) {
        r->room = r->room == 0 ? 64 : 2 * r->room;
        r->ops = memory_need_more(r->ops, r->room * sizeof *r->ops);
    }
    op_tally *t = &r->ops[r->n_ops++];

    memset(t, 0, sizeof *t);
    (void)snprintf(t->op, sizeof t->op, "%s", op);
    return t;
}

/* Print every line of text behind a prefix. */
static void indented(const char *prefix, const char *text)
{
    while (*text != '\0') {
        const size_t n = strcspn(text, "\n");
        printf("%s%.*s\n", prefix, (int)n, text);
        text += n + (text[n] == '\n');
    }
}

/* The path as reports have it. */
static const char *show(const char *path, char shown[REPORT_PATH])
{
    (void)snprintf(shown, REPORT_PATH, "%s", path);
    say_printable(shown);
    return shown;
}

static int is_red(const vector_report *r, vector_verdict v)
{
    return v == VECTOR_FAILED || (v != VECTOR_PASSED && r->options.strict);
}

static void file_as_text(const vector_report *r, const char *path,
                         const vector_result *v)
{
    char shown[REPORT_PATH];

    if (v->verdict == VECTOR_FAILED) {
        printf("FAIL %s%s%s\n", show(path, shown), v->op[0] == '\0' ? "" : "  ",
               v->op);
        indented("  ", v->text);
    } else if (r->options.verbose) {
        printf("%-7s %s  %s\n",
               v->verdict == VECTOR_PASSED ? "pass" : words[v->verdict],
               show(path, shown), v->op);
        indented("  ", v->text);
    }
}

/* The verdict of a file in the words of all reports. */
static verdict_status status_of(const vector_report *r, vector_verdict v)
{
    static const verdict_status statuses[] = {
        VERDICT_PASS, VERDICT_FAIL, VERDICT_SKIP, VERDICT_UNSUPPORTED};

    return is_red(r, v) && v != VECTOR_FAILED ? VERDICT_ERROR : statuses[v];
}

/* Files of reports begin with the first backend: it has opened then. */
static void begin(vector_report *r)
{
    if (!r->has_begun) {
        report_set_begin(&r->reports, &r->run);
        r->has_begun = 1;
    }
}

/* A file, or ("*") all n_files of an absent subject: those are skipped; or
   END. */
static void report_one(vector_report *r, const char *path, uint64_t n_files,
                       const vector_result *f)
{
    const size_t first = strcspn(f->text, "\n");
    const int is_absent = strcmp(path, "*") == 0;
    char head[2 * BACKEND_COMMAND + 32];
    char shown[REPORT_PATH];
    verdict v = {.status = is_absent ? VERDICT_SKIP : status_of(r, f->verdict),
                 .n_diff = f->n_differ,
                 .n_total = f->n_elements,
                 .ms = f->ms};
    report_result result = {.backend = &r->infos[r->current],
                            .case_text = show(path, shown),
                            .op = f->op[0] == '\0' ? "(none)" : f->op,
                            .calls = f->cases[0] == '\0' ? NULL : f->cases,
                            .n_cases = n_files,
                            .seed = 1,
                            .index = r->n_done,
                            .judged = v.status,
                            .v = &v};

    (void)snprintf(v.reason, sizeof v.reason, "%.*s", (int)first, f->text);
    if (f->verdict == VECTOR_PASSED || f->verdict == VECTOR_FAILED) {
        (void)snprintf(v.rule, sizeof v.rule, "%s",
                       f->n_by_rule > 0 ? f->rule : "bits");
    }
    (void)snprintf(v.tensor, sizeof v.tensor, "%s", f->tensor);
    (void)snprintf(v.index, sizeof v.index, "%s", f->index);
    (void)snprintf(v.want, sizeof v.want, "%s", f->want);
    (void)snprintf(v.got, sizeof v.got, "%s", f->got);
    v.map = f->map[0] == '\0' ? NULL : memory_need_text(f->map);
    v.detail =
        f->text[first] == '\n' ? memory_need_text(f->text + first + 1) : NULL;
    const int is_verify = strcmp(r->run.command, "verify") == 0;
    char option[2 * BACKEND_COMMAND];

    backend_option(&r->subject->ref, option, sizeof option);
    if (is_verify && strcmp(r->subject->name, "emu") == 0) {
        option[0] = '\0'; /* the one that it asks by itself */
    }
    (void)snprintf(head, sizeof head, "mxoracle %s%s%s%s ", r->run.command,
                   option[0] == '\0' ? "" : " ", option,
                   is_verify ? "" : " --vectors");
    cli_quote(head, strcmp(path, END) == 0 ? r->last : path, result.repro,
              sizeof result.repro);
    say_printable(result.repro);
    begin(r);
    report_set_result(&r->reports, &result);
    tally_add(&r->counts, &result);
    verdict_clear(&v);
}

void report_turn(vector_report *r, const vector_subject *who)
{
    r->subject = who;
    r->last[0] = '\0';
    for (int i = 0; i < r->run.n_backends; i++) {
        r->current = strcmp(r->infos[i].name, who->name) == 0 ? i : r->current;
    }
}

void report_subject(vector_report *r, const vector_subject *who,
                    const vector_greeting *greeting)
{
    backend_info *info = &r->infos[r->current];

    (void)snprintf(info->version, sizeof info->version, "%.127s",
                   greeting->version);
    (void)snprintf(info->device, sizeof info->device, "%.255s",
                   greeting->device);
    if (r->is_text && !r->options.quiet) {
        cli_line(stdout, 4, "%s %s on %s", who->name, greeting->version,
                 greeting->device);
    }
}

void report_absent(vector_report *r, const vector_subject *who,
                   const vector_greeting *greeting, size_t n_files)
{
    vector_result nothing;

    if (who->required && greeting->status == MXO_E_UNSUPPORTED) {
        r->refused = 1;
        (void)cli_refuse("%s: %s", who->name, greeting->why);
        return;
    }
    memset(&nothing, 0, sizeof nothing);
    nothing.verdict = VECTOR_UNKNOWN;
    (void)snprintf(nothing.text, sizeof nothing.text, "%s", greeting->why);
    r->run.n_planned -= n_files - 1;
    progress_total(&r->progress, r->run.n_planned);
    r->n_done++;
    report_one(r, "*", n_files, &nothing);
    if (r->is_text) {
        cli_line(stdout, 4, "skip: %s: %s", who->name, greeting->why);
    }
}

static void count(op_tally *t, const vector_result *v)
{
    t->n[v->verdict]++;
    t->n_outputs += v->n_outputs;
    t->n_elements += v->n_elements;
    if (v->n_by_rule > 0) {
        t->n_by_rule += v->n_by_rule;
        memcpy(t->rule, v->rule, sizeof t->rule);
    }
    if (v->verdict >= VECTOR_UNKNOWN && t->reason[0] == '\0') {
        (void)snprintf(t->reason, sizeof t->reason, "%.*s",
                       (int)strcspn(v->text, "\n"), v->text);
    }
}

void report_judged(vector_report *r, const char *path, const vector_result *v)
{
    op_tally *t = tally_of(r, v->op[0] == '\0' ? "(no operation)" : v->op);

    r->n_done++;
    r->n[v->verdict]++;
    count(t, v);
    say_copy(r->last, sizeof r->last, path);
    if (r->is_text && (v->verdict == VECTOR_FAILED || r->options.verbose)) {
        progress_wipe(&r->progress);
        file_as_text(r, path, v);
    }
    report_one(r, path, 1, v);
    /* The end of a path says more than its beginning. */
    progress_show(&r->progress, r->n_done, tally_red(&r->counts),
                  strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1);
}

void report_ended(vector_report *r, const verdict *v)
{
    vector_result end = {.verdict = VECTOR_FAILED};

    if (!verdict_is_red(v->status)) {
        return;
    }
    (void)snprintf(end.text, sizeof end.text, "%s%s%s", v->reason,
                   v->detail == NULL ? "" : "\n",
                   v->detail == NULL ? "" : v->detail);
    r->n[VECTOR_FAILED]++;
    progress_wipe(&r->progress);
    if (r->is_text) {
        file_as_text(r, END, &end);
    }
    report_one(r, END, 1, &end);
}

static int by_op(const void *a, const void *b)
{
    return strcmp(((const op_tally *)a)->op, ((const op_tally *)b)->op);
}

/* Per operation: files, outputs, elements, and which of them by a rule. */
static void print_tally(const vector_report *r)
{
    /* Narrow terminals get the names on a line of their own. */
    const int is_narrow = cli_is_narrow(stdout);
    const int width = is_narrow ? 2 : 45;

    printf("\n%-*s%s%*s%6s %6s %7s %10s\n", is_narrow ? 0 : width, "operation",
           is_narrow ? "\n" : "", is_narrow ? width : 0, "", "passed", "failed",
           "outputs", "elements");
    for (size_t i = 0; i < r->n_ops; i++) {
        const op_tally *t = &r->ops[i];
        if (t->n[VECTOR_PASSED] + t->n[VECTOR_FAILED] == 0) {
            continue;
        }
        printf("%-*s%s%*s%6" PRIu64 " %6" PRIu64 " %7" PRIu64 " %10" PRIu64
               "\n",
               is_narrow ? 0 : width, t->op, is_narrow ? "\n" : "",
               is_narrow ? width : 0, "", t->n[VECTOR_PASSED],
               t->n[VECTOR_FAILED], t->n_outputs, t->n_elements);
        if (t->n_by_rule > 0) {
            printf("    %" PRIu64 " outputs by rule %s\n", t->n_by_rule,
                   t->rule);
        }
    }
}

static void print_rules(const vector_report *r)
{
    for (size_t i = 0; i < r->n_ops; i++) {
        const map_rule *rule =
            r->ops[i].n_by_rule > 0 ? map_find_rule(r->ops[i].rule) : NULL;
        int seen = 0;
        for (size_t k = 0; rule != NULL && k < i; k++) {
            seen |= r->ops[k].n_by_rule > 0 &&
                    strcmp(r->ops[k].rule, rule->name) == 0;
        }
        if (rule != NULL && !seen) {
            strbuf source = {0};
            citation_add(&source, rule->source, CITATION_PATH);
            cli_line(stdout, 4, "rule %s: %s (%s)", rule->name, rule->reason,
                     strbuf_text(&source));
            strbuf_clear(&source);
        }
    }
}

/* Files with verdict v that ops i.. share a first reason for; *n_ops of them.
   0 if an earlier operation has said it. */
static uint64_t of_reason(const vector_report *r, size_t i, int v,
                          size_t *n_ops)
{
    uint64_t n = 0;

    *n_ops = 0;
    for (size_t k = 0; k < r->n_ops; k++) {
        const op_tally *t = &r->ops[k];
        if (t->n[v] == 0 || strcmp(t->reason, r->ops[i].reason) != 0) {
            continue;
        }
        if (k < i) {
            return 0;
        }
        n += t->n[v];
        ++*n_ops;
    }
    return n;
}

static void print_not_judged(const vector_report *r)
{
    for (size_t i = 0; i < r->n_ops; i++) {
        const op_tally *t = &r->ops[i];
        for (int v = VECTOR_UNKNOWN; v <= VECTOR_UNSUPPORTED; v++) {
            size_t n_ops;
            const uint64_t n = t->n[v] > 0 ? of_reason(r, i, v, &n_ops) : 0;
            if (n > 0 && n_ops == 1) {
                cli_line(stdout, 4, "%s: %" PRIu64 " of %s: %s", words[v], n,
                         t->op, t->reason);
            } else if (n > 0) {
                cli_line(stdout, 4,
                         "%s: %" PRIu64 " of %s and %zu more operations: %s",
                         words[v], n, t->op, n_ops - 1, t->reason);
            }
        }
    }
}

void report_subject_end(vector_report *r)
{
    if (r->n_ops > 0) {
        qsort(r->ops, r->n_ops, sizeof r->ops[0], by_op);
    }
    progress_wipe(&r->progress);
    if (r->is_text) {
        if (!r->options.quiet && r->n_ops > 0) {
            print_tally(r);
            putchar('\n');
            print_rules(r);
        }
        print_not_judged(r);
    }
    r->n_ops = 0;
}

static int exit_status(const vector_report *r)
{
    const uint64_t open = r->n[VECTOR_UNKNOWN] + r->n[VECTOR_UNSUPPORTED];

    if (r->n[VECTOR_FAILED] > 0 || (r->options.strict && open > 0)) {
        return EXIT_RED;
    }
    return r->n[VECTOR_PASSED] > 0 ? EXIT_PASS : EXIT_SKIP;
}

static void print_end(const vector_report *r)
{
    if (r->n[VECTOR_UNSUPPORTED] > 0) {
        printf("%" PRIu64 " unsupported\n", r->n[VECTOR_UNSUPPORTED]);
    }
    char stopped[128] = "";

    if (r->run.stopped != NULL) {
        (void)snprintf(stopped, sizeof stopped,
                       ", stopped by %.40s before %" PRIu64 " more",
                       r->run.stopped, r->run.n_planned - r->counts.n_lines);
    }
    cli_line(stdout, 2,
             "%" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64 " unknown%s",
             r->n[VECTOR_PASSED], r->n[VECTOR_FAILED], r->n[VECTOR_UNKNOWN],
             stopped);
}

int report_end(vector_report *r)
{
    progress_end(&r->progress);
    r->run.stopped = stop_reason();
    begin(r);
    report_set_end(&r->reports, &r->counts);
    const int status = report_set_close(&r->reports);

    if (r->is_text) {
        print_end(r);
    }
    return status != EXIT_PASS
               ? status
               : stop_exit_status_of(r->run.stopped, exit_status(r));
}

void report_clear(vector_report *r)
{
    progress_end(&r->progress);
    report_set_abandon(&r->reports);
    tally_clear(&r->counts);
    free(r->ops);
    r->ops = NULL;
}
