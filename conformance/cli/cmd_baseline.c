/* SPDX-License-Identifier: Apache-2.0 */
/* mxoracle baseline: write what a run is, as what later ones are held to. */
#include "base/cli.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "report/baseline.h"
#include "report/report_file.h"
#include "report/report_set.h"
#include "report/stored.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct session {
    const char *link;
    const char *reason;
    const char *output;
    stored_run run;
    tally counts;
    backend_info infos[BACKEND_MAX];
    size_t n;
    char **lines; /* owned, each too */
} session;

static int usage(void)
{
    cli_say(
        "usage: mxoracle baseline [OPTION]... RUN.jsonl...\n"
        "Writes the baseline of a run (or of all its shards): what it covers\n"
        "and what it fails, sorted, for mxoracle run --baseline=FILE.\n");
    options_help(OPTIONS_baseline, stdout);
    return EXIT_PASS;
}

static int take_text(const char **to, const char *what, const char *text)
{
    if (*to != NULL) {
        return cli_refuse("--%s is given twice", what);
    }
    if (strpbrk(text, "|\n") != NULL || text[0] == '\0') {
        return cli_refuse("--%s must be a text without '|'", what);
    }
    *to = text;
    return -1;
}

static int take(session *s, int code, char *text)
{
    switch (code) {
    case OPT_baseline_link:
        return take_text(&s->link, "link", text);
    case OPT_baseline_reason:
        return take_text(&s->reason, "reason", text);
    case OPT_baseline_output:
        return take_text(&s->output, "output", text);
    case OPT_baseline_help:
        return usage();
    default:
        return EXIT_USAGE;
    }
}

/* The line is the session's now. */
static void add_line(session *s, char *line)
{
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
    s->lines = memory_need_more(s->lines, (s->n + 1) * sizeof *s->lines);
    s->lines[s->n++] = line;
}

/* A reason on one line, without the sign that ends it. */
static void add_reason(strbuf *line, const char *reason)
{
    for (; *reason != '\0'; reason++) {
        strbuf_add(line, "%c",
                   *reason == '|' || (unsigned char)*reason < 0x20 ? ' '
                                                                   : *reason);
    }
}

/* EXIT_PASS or what went wrong. */
static int add_failure(session *s, const json_t *record, const report_result *r)
{
    strbuf line = {NULL, 0, 0};

    if (s->link == NULL) {
        return cli_refuse("%s of %s is red: --link=URL must say where it is "
                          "tracked",
                          r->case_text, record_text(record, "backend"));
    }
    strbuf_add(&line, "%s %s %" PRIu64 " %s | ", verdict_name(r->judged),
               record_text(record, "backend"), r->seed, r->case_text);
    add_reason(&line, s->reason != NULL         ? s->reason
                      : r->v->reason[0] != '\0' ? r->v->reason
                                                : "no reason is known");
    strbuf_add(&line, " | %s%s%s\n", s->link,
               r->v->kind[0] == '\0' ? "" : " | ", r->v->kind);
    add_line(s, line.text);
    return EXIT_PASS;
}

static int take_case(session *s, const json_t *record)
{
    report_result r;
    verdict v;
    int status = EXIT_PASS;

    if (record_read(record, &r, &v) != 0) {
        return EXIT_BROKEN;
    }
    /* Reds without a case: lost ones, a backend that does not open. */
    const int is_case =
        strchr(r.case_text, ':') != NULL && strcmp(v.kind, "lost case") != 0;

    for (int i = 0; i < BACKEND_MAX && r.backend == NULL; i++) {
        if (strcmp(s->infos[i].name, record_text(record, "backend")) == 0) {
            r.backend = &s->infos[i];
        }
    }
    v.status = r.judged;
    if (is_case && r.backend != NULL) {
        tally_add(&s->counts, &r);
    }
    if (is_case && verdict_is_red(r.judged)) {
        status = add_failure(s, record, &r);
    }
    verdict_clear(&v);
    return status;
}

static void add_coverage(session *s)
{
    for (size_t i = 0; i < s->counts.n_rows; i++) {
        const tally_row *row = &s->counts.row[i];
        strbuf line = {NULL, 0, 0};
        if (tally_row_judged(row) > 0) {
            strbuf_add(&line, "cover %s %s %" PRIu64 "\n", row->backend,
                       row->op, tally_row_judged(row));
            add_line(s, line.text);
        }
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print(session *s, FILE *out)
{
    if (s->n > 0) {
        qsort(s->lines, s->n, sizeof s->lines[0], by_text);
    }
    fprintf(out,
            "# What mxoracle run --baseline holds a run to. mxoracle %s, seed "
            "%s\n%s\n",
            record_text(s->run.header, "version"),
            record_text(s->run.header, "seed"), baseline_magic);
    for (size_t i = 0; i < s->n; i++) {
        if (i == 0 || strcmp(s->lines[i], s->lines[i - 1]) != 0) {
            fputs(s->lines[i], out);
        }
    }
}

static int write_out(session *s)
{
    report_file file;
    char why[REPORT_PATH + 128];
    const mxo_text text = {why, sizeof why};

    if (s->output == NULL) {
        print(s, stdout);
        return EXIT_PASS;
    }
    if (report_file_open(&file, s->output, text) != 0) {
        return cli_refuse("%s", why);
    }
    print(s, file.out);
    if (report_file_commit(&file, text) != 0) {
        (void)cli_refuse("%s", why);
        return EXIT_BROKEN;
    }
    return EXIT_PASS;
}

static int make(session *s, char **paths, int n)
{
    char why[1024];
    progress p;
    report_run run;
    int status = EXIT_PASS;

    for (int i = 0; s->output != NULL && i < n; i++) {
        if (report_same_place(s->output, paths[i])) {
            return cli_refuse("%s cannot be read and written in one run",
                              paths[i]);
        }
    }
    progress_begin_bytes(&p, input_bytes(paths, n));
    const int bad =
        stored_read(&s->run, paths, n, &p, (mxo_text){why, sizeof why});

    progress_end(&p);
    if (bad != 0) {
        return cli_refuse("%s", why);
    }
    if (strcmp(record_text(s->run.header, "command"), "run") != 0) {
        return cli_refuse("%s is a report of %s: a baseline holds runs",
                          paths[0], record_text(s->run.header, "command"));
    }
    stored_missing(&s->run, why, sizeof why);
    if (why[0] != '\0' || s->run.stopped[0] != '\0') {
        return cli_refuse("a baseline needs a whole run: %s%s",
                          why[0] != '\0' ? "there is no shard " : "stopped by ",
                          why[0] != '\0' ? why : s->run.stopped);
    }
    stored_describe(&s->run, &run, s->infos);
    for (size_t i = 0; status == EXIT_PASS && i < s->run.n_cases; i++) {
        json_t *record = stored_record(&s->run, i);
        status = take_case(s, record);
        json_decref(record);
    }
    if (status == EXIT_PASS) {
        add_coverage(s);
    }
    return status == EXIT_PASS ? write_out(s) : status;
}

int cmd_baseline(int argc, char **argv)
{
    session *s = memory_need_zeros(1, sizeof *s);
    char *text = NULL;
    int status = -1;
    int code;

    options_start();
    while (status < 0 &&
           (code = options_next(OPTIONS_baseline, argc, argv, &text)) != -1) {
        status = take(s, code, text);
    }
    if (status < 0) {
        status = optind == argc
                     ? cli_refuse("baseline needs a report of --json=FILE")
                     : make(s, argv + optind, argc - optind);
    }
    for (size_t i = 0; i < s->n; i++) {
        free(s->lines[i]);
    }
    free(s->lines);
    tally_clear(&s->counts);
    stored_clear(&s->run);
    free(s);
    return status;
}
