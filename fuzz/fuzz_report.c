/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of runs, as `mxoracle report`, `baseline` and --against read them:
 * refused by one printable sentence, or every case can be read again, has
 * printable text, and the summary counts what is there.
 *
 * An input is the bytes of RUN.jsonl.
 */
#include "base/say.h"
#include "report/changes.h"
#include "report/stored.h"
#include "scratch.h"
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, const char *text)
{
    (void)fprintf(stderr,
                  "%s: \"%.200s\"\nrepro: mxoracle report on this input\n",
                  what, text);
    abort();
}

/* A case; its verdict's number of cases is added. */
static void check_case(const stored_run *s, size_t i, uint64_t *n)
{
    json_t *record = stored_record(s, i);
    report_result r;
    verdict v;

    if (record == NULL || record_read(record, &r, &v) != 0) {
        die("a case that was taken is none", s->cases[i].line);
    }
    if (r.case_text[0] == '\0' || !say_is_printable(r.case_text) ||
        !say_is_printable(r.op) || !say_is_printable(v.reason) ||
        !say_is_printable(r.repro)) {
        die("text that moves a terminal", s->cases[i].line);
    }
    n[v.status] += r.n_cases;
    verdict_clear(&v);
    json_decref(record);
}

static void check_run(const stored_run *s)
{
    static backend_info infos[BACKEND_MAX];
    uint64_t n[N_VERDICTS] = {0};
    report_run run;

    stored_describe(s, &run, infos);
    for (int i = 0; i < run.n_backends; i++) {
        if (!say_is_printable(infos[i].name) ||
            !say_is_printable(infos[i].why_not)) {
            die("a backend that moves a terminal", infos[i].name);
        }
    }
    for (size_t i = 0; i < s->n_cases; i++) {
        check_case(s, i, n);
    }
    for (int i = 0; i < N_VERDICTS; i++) {
        const char *name = verdict_name((verdict_status)i);
        if (record_count(s->summary, name) != n[i]) {
            die("the summary counts others", name);
        }
    }
}

/* Held against itself nothing has changed, where no case is there twice. */
static void check_unchanged(const stored_run *s)
{
    char text[80];
    changes c = {.old = s};

    if (changes_begin(&c) != 0) {
        die("it is not read again", "");
    }
    for (size_t i = 0; i < s->n_cases; i++) {
        json_t *record = stored_record(s, i);
        backend_info who = {0};
        report_result r;
        verdict v;
        (void)record_read(record, &r, &v);
        say_copy(who.name, sizeof who.name, record_text(record, "backend"));
        r.backend = &who;
        changes_take(&c, &r, text, sizeof text);
        verdict_clear(&v);
        json_decref(record);
    }
    if (c.count[CHANGE_NEW] != 0) {
        die("a case is new to its own report", "");
    }
    changes_clear(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char path[512];
    char *paths[] = {path};
    char why[512] = "";
    stored_run s;

    (void)snprintf(path, sizeof path, "%s",
                   scratch_file("run.jsonl", bytes, n));
    if (stored_read(&s, paths, 1, NULL, (mxo_text){why, sizeof why}) != 0) {
        if (why[0] == '\0' || !say_is_printable(why)) {
            die("refused by no sentence", why);
        }
    } else {
        check_run(&s);
        check_unchanged(&s);
    }
    stored_clear(&s);
    return 0;
}
