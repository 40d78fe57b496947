/* SPDX-License-Identifier: Apache-2.0 */
/* See baseline.h. */
#include "baseline.h"

#include "base/cli.h"
#include "base/grown.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/say.h"
#include "base/stop.h"
#include "record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char baseline_magic[] = "mxoracle-baseline 1";

enum { COVER = BACKEND_NAME + 72, MAX_COVERED = 4096 };

typedef struct reading {
    baseline *b;
    unsigned line;
    mxo_text why;
} reading;

static int refuse(const reading *r, const char *what, const char *text)
{
    (void)say(MXO_E_PARAM, r->why, "%.300s:%u: %s%.120s", r->b->path, r->line,
              what, text);
    return -1;
}

static baseline_entry *add_entry(baseline *b)
{
    b->entry = grown(b->entry, b->n, sizeof *b->entry);
    baseline_entry *entry = &b->entry[b->n++];

    memset(entry, 0, sizeof *entry);
    return entry;
}

/* The text without blanks at its ends. */
static char *trim(char *text)
{
    size_t n;

    text += strspn(text, " \t");
    n = strlen(text);
    while (n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL) {
        text[--n] = '\0';
    }
    return text;
}

/* The next word, ended in place; "" at the end. */
static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " \t");
    const size_t n = strcspn(word, " \t");

    *rest = word + n + (word[n] != '\0');
    word[n] = '\0';
    return word;
}

static void name_covered(char key[COVER], const char *backend, const char *op)
{
    (void)snprintf(key, COVER, "%s %s", backend, op);
}

/* The entry is the last one. */
static int note_cover(const reading *r, const baseline_entry *e)
{
    json_t *covered = r->b->by_operation;
    char key[COVER];

    name_covered(key, e->backend, e->op);
    if (json_object_get(covered, key) != NULL) {
        return refuse(r, "is covered twice: ", e->op);
    }
    if (json_object_size(covered) == MAX_COVERED) {
        return refuse(r, "covers more than 4096 operations", "");
    }
    return json_object_set_new(covered, key,
                               json_integer((json_int_t)r->b->n - 1)) == 0
               ? 0
               : refuse(r, "out of memory", "");
}

static int read_cover(const reading *r, baseline_entry *e, char *rest)
{
    (void)snprintf(e->backend, sizeof e->backend, "%s", next_word(&rest));
    (void)snprintf(e->op, sizeof e->op, "%s", next_word(&rest));
    e->is_cover = 1;
    return number_natural(trim(rest), 1, INT64_MAX, &e->n)
               ? note_cover(r, e)
               : refuse(r, "cover needs BACKEND OPERATION CASES", "");
}

/* The entry is the last one. */
static int note_case(const reading *r, const baseline_entry *e)
{
    char *key = record_case_key(e->backend, e->seed, e->case_text);
    const int is_twice = json_object_get(r->b->by_case, key) != NULL;
    const int is_set =
        !is_twice &&
        json_object_set_new(r->b->by_case, key,
                            json_integer((json_int_t)r->b->n - 1)) == 0;

    free(key);
    return is_set
               ? 0
               : refuse(r,
                        is_twice ? "is there twice: " : "is no text in UTF-8: ",
                        e->case_text);
}

static int read_failure(const reading *r, baseline_entry *e, char *rest)
{
    char *reason = strchr(rest, '|');
    char *link = reason == NULL ? NULL : strchr(reason + 1, '|');

    if (link == NULL) {
        return refuse(r, "an expected failure needs | REASON | LINK", "");
    }
    *reason++ = '\0';
    *link++ = '\0';
    char *kind = strchr(link, '|');

    if (kind != NULL) {
        *kind++ = '\0';
        say_copy(e->kind, sizeof e->kind, trim(kind));
    }
    (void)snprintf(e->backend, sizeof e->backend, "%s", next_word(&rest));
    if (!number_natural(next_word(&rest), 0, INT64_MAX, &e->seed)) {
        return refuse(r, "a seed must follow the backend", "");
    }
    e->case_text = memory_need_text(trim(rest));
    e->reason = memory_need_text(trim(reason));
    e->link = memory_need_text(trim(link));
    if (e->case_text[0] == '\0' || e->reason[0] == '\0' || e->link[0] == '\0') {
        return refuse(r, "case, reason and link may not be empty", "");
    }
    return note_case(r, e);
}

static int read_line(const reading *r, char *line)
{
    char *rest = trim(line);

    if (rest[0] == '\0' || rest[0] == '#') {
        return 0;
    }
    const char *word = next_word(&rest);
    baseline_entry *e = add_entry(r->b);

    e->line = r->line;
    if (strcmp(word, "cover") == 0) {
        return read_cover(r, e, rest);
    }
    return verdict_by_name(word, &e->status) == 0 && verdict_is_red(e->status)
               ? read_failure(r, e, rest)
               : refuse(r, "no entry begins with ", word);
}

static int read_lines(reading *r, FILE *f)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n = 0;
    int has_magic = 0;
    int bad = 0;

    while (!bad && (n = record_next_line(f, &line, &size)) != 0) {
        r->line++;
        if (n < 0 || strlen(line) != strcspn(line, RECORD_ZERO)) {
            bad = refuse(r, "the line is too long, or no text", "");
        } else if (!has_magic && line[0] != '#') {
            has_magic = strcmp(trim(line), baseline_magic) == 0;
            bad = has_magic
                      ? 0
                      : refuse(r, "the first line is not ", baseline_magic);
        } else {
            bad = read_line(r, line);
        }
    }
    free(line);
    if (!bad && ferror(f)) {
        bad = refuse(r, "cannot be read", "");
    }
    if (!bad && !has_magic) {
        bad = refuse(r, "the first line is not ", baseline_magic);
    }
    return bad;
}

int baseline_read(baseline *b, const char *path, mxo_text why)
{
    reading r = {b, 0, why};
    FILE *f = input_open(path);

    memset(b, 0, sizeof *b);
    b->path = path;
    b->by_case = json_object();
    b->by_operation = json_object();
    if (f == NULL) {
        (void)say(MXO_E_PARAM, why, "%.300s: %s", path, input_error());
        return -1;
    }
    stop_work_begin(); /* it may be a pipe without an end */
    const int bad = read_lines(&r, f);

    stop_work_end();
    (void)fclose(f);
    return bad;
}

void baseline_clear(baseline *b)
{
    for (size_t i = 0; i < b->n; i++) {
        free(b->entry[i].case_text);
        free(b->entry[i].reason);
        free(b->entry[i].link);
    }
    free(b->entry);
    json_decref(b->by_case);
    json_decref(b->by_operation);
    memset(b, 0, sizeof *b);
}

static baseline_entry *find(const baseline *b, const report_result *r)
{
    char *key = record_case_key(r->backend->name, r->seed, r->case_text);
    const json_t *place = json_object_get(b->by_case, key);

    free(key);
    return place == NULL ? NULL : &b->entry[json_integer_value(place)];
}

static const char unexpected[] = "unexpected failure: ";

static void set_reason(verdict *v, const char *text)
{
    (void)snprintf(v->reason, sizeof v->reason, "%.500s", text);
    say_printable(v->reason);
}

/* The line that shows it again shows it with the baseline alone. */
static void add_baseline(const baseline *b, report_result *r)
{
    const size_t n = strlen(r->repro);

    if (n > 0) {
        cli_quote(" --baseline=", b->path, r->repro + n, sizeof r->repro - n);
    }
}

/* Cut off behind mark, where it is. */
static void cut_to(verdict *v, const char *mark)
{
    const char *at = strstr(v->reason, mark);

    if (at != NULL) {
        at += strlen(mark);
        memmove(v->reason, at, strlen(at) + 1);
    }
}

void baseline_undo(report_result *r, verdict *v)
{
    char mark[96];
    char *option = strstr(r->repro, " --baseline=");

    if (v->status == VERDICT_EXPECTED) {
        set_reason(v, v->kind[0] == '\0' ? verdict_name(r->judged) : v->kind);
    } else if (r->judged == VERDICT_PASS && v->status != VERDICT_PASS) {
        v->kind[0] = v->reason[0] = '\0';
        if (option != NULL) {
            *option = '\0';
        }
    } else if (strncmp(v->reason, unexpected, sizeof unexpected - 1) == 0) {
        cut_to(v, unexpected);
        (void)snprintf(mark, sizeof mark, ", not %s: ", v->kind);
        cut_to(v, mark);
        (void)snprintf(mark, sizeof mark,
                       ", not %s: ", verdict_name(v->status));
        cut_to(v, mark);
    }
    v->status = r->judged;
}

void baseline_judge(baseline *b, report_result *r, verdict *v)
{
    if (strncmp(v->kind, "lost ", 5) == 0) {
        return; /* a line of a baseline, of no call */
    }
    baseline_undo(r, v);
    baseline_entry *e = find(b, r);
    const int is_red = verdict_is_red(v->status);
    char text[2048];

    if (e == NULL && is_red) {
        (void)snprintf(text, sizeof text, "%s%s", unexpected, v->reason);
        set_reason(v, text);
    }
    if (e == NULL || (!is_red && v->status != VERDICT_PASS)) {
        return;
    }
    if (v->status == e->status &&
        (e->kind[0] == '\0' || strcmp(e->kind, v->kind) == 0)) {
        (void)snprintf(text, sizeof text, "expected: %s (%s)", e->reason,
                       e->link);
        v->status = VERDICT_EXPECTED;
    } else if (is_red) {
        const int is_same = v->status == e->status;
        (void)snprintf(text, sizeof text,
                       "unexpected failure: %s:%u expects %s, not %s: %s",
                       b->path, e->line,
                       is_same ? e->kind : verdict_name(e->status),
                       is_same ? v->kind : verdict_name(v->status), v->reason);
    } else {
        (void)snprintf(text, sizeof text,
                       "unexpected pass: %s:%u expects %s (%s, %s); remove "
                       "the entry",
                       b->path, e->line, verdict_name(e->status), e->reason,
                       e->link);
        v->status = VERDICT_FAIL;
        (void)snprintf(v->kind, sizeof v->kind, "unexpected pass");
        add_baseline(b, r);
    }
    set_reason(v, text);
}

static uint64_t judged_of(const tally *t, const baseline_entry *e)
{
    for (size_t i = 0; i < t->n_rows; i++) {
        if (strcmp(t->row[i].backend, e->backend) == 0 &&
            strcmp(t->row[i].op, e->op) == 0) {
            return tally_row_judged(&t->row[i]);
        }
    }
    return 0;
}

int baseline_lost(const baseline *b, size_t i, const tally *t, verdict *v)
{
    const baseline_entry *e = &b->entry[i];
    const uint64_t n = e->is_cover ? judged_of(t, e) : 0;

    memset(v, 0, sizeof *v);
    if (!e->is_cover || n >= e->n) {
        return 0;
    }
    verdict_conclude(v, VERDICT_FAIL, "lost coverage",
                     "lost coverage: %" PRIu64 " cases of %s were judged on "
                     "%s, %.200s:%u requires %" PRIu64,
                     n, e->op, e->backend, b->path, e->line, e->n);
    return 1;
}

void baseline_lost_case(const baseline *b, size_t i, verdict *v)
{
    const baseline_entry *e = &b->entry[i];

    memset(v, 0, sizeof *v);
    verdict_conclude(v, VERDICT_FAIL, "lost case",
                     "lost case: %.200s:%u expects %s on %s with seed %" PRIu64
                     ", and no grid has the case; rename or remove the entry",
                     b->path, e->line, verdict_name(e->status), e->backend,
                     e->seed);
}

uint64_t baseline_required(const baseline *b, const char *backend,
                           const char *op)
{
    char key[COVER];

    name_covered(key, backend, op);
    const json_t *place = json_object_get(b->by_operation, key);

    return place == NULL ? 0 : b->entry[json_integer_value(place)].n;
}
