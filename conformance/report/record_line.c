/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of a stranger's report: their length and their members are those of
 * docs/reports.schema.json, before a tree is made of them; and what they say of
 * themselves and of each other, as a report that contradicts itself is none.
 */
#include "base/memory.h"
#include "base/say.h"
#include "case/grid.h"
#include "case/opinfo.h"
#include "files/json_walk.h"
#include "record.h"
#include "vectors/map/map.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_LINE = 4096 };

static const char *const header_names[] = {
    "type", "schema", "command",  "version",  "compiler", "machine",
    "os",   "build",  "started",  "seed",     "level",    "planned",
    "plan", "shard",  "baseline", "backends", NULL};
static const char *const case_names[] = {
    "type",       "backend",          "op",      "case",   "seed",
    "index",      "status",           "judged",  "kind",   "reason",
    "n_cases",    "n_diff",           "n_total", "first",  "rule",
    "bound_used", "also_accepted_by", "kernel",  "called", "ms",
    "calls",      "detail",           "map",     "repro",  NULL};
static const char *const summary_names[] = {
    "type", "stopped",     "planned",  "total",   "failed",  "skipped",
    "pass", "fail",        "crash",    "timeout", "vacuous", "error",
    "skip", "unsupported", "expected", "seed",    "seconds", NULL};
static const char *const changes_names[] = {
    "type",          "against", "n_files",        "times_as_long",
    "newly_red",     "new",     "no_longer_red",  "gone",
    "red_otherwise", "slower",  "another_status", NULL};
static const char *const change_names[] = {
    "type", "change", "backend", "case", "seed", "was",
    "is",   "reason", "was_ms",  "ms",   NULL};
static const char *const journal_names[] = {"options", "subjects", NULL};
static const char *const shard_names[] = {"k", "n", NULL};
static const char *const backends_names[] = {"name",   "version", "device",
                                             "driver", "why_not", NULL};
static const char *const first_names[] = {"tensor", "index", "want", "got",
                                          NULL};
static const char *const bound_used_names[] = {"bins", "most", NULL};
static const char *const map_names[] = {"tensor", "rows", "cols",   "down",
                                        "across", "tile", "layout", "experts",
                                        "wrong",  NULL};
static const char *const layout_names[] = {"name", "elem_bytes", "shape", NULL};

typedef struct members {
    const char *of; /* a line's type, or the object's name */
    const char *const *names;
} members;

/* All are there. */
static const members lines[] = {
    {"header", header_names},   {"case", case_names},
    {"changes", changes_names}, {"change", change_names},
    {"summary", summary_names}, {NULL, NULL}};

static const members objects[] = {{"shard", shard_names},
                                  {"backends", backends_names},
                                  {"first", first_names},
                                  {"bound_used", bound_used_names},
                                  {"map", map_names},
                                  {"layout", layout_names},
                                  {NULL, NULL}};

static const char *const *names_of(const members *m, const char *of)
{
    while (m->of != NULL && strcmp(m->of, of) != 0) {
        m++;
    }
    return m->names;
}

static int is_among(const char *const *names, const char *name)
{
    while (names != NULL && *names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return names != NULL && *names != NULL;
}

static int is_of_a_line(const char *name)
{
    return is_among(header_names, name) || is_among(case_names, name) ||
           is_among(summary_names, name) || is_among(journal_names, name) ||
           is_among(changes_names, name) || is_among(change_names, name);
}

static int no_member(const char *name, mxo_text why)
{
    (void)say(MXO_E_PARAM, why, "has a member \"%.60s\" that no report has",
              name);
    return -1;
}

/* 0, or -1 and a sentence: objects within a line have their members, too. */
static int check_inside(const char *of, const json_t *value, mxo_text why)
{
    const char *name;
    json_t *part;
    size_t i;
    int bad = 0;

    json_object_foreach((json_t *)value, name, part)
    {
        bad = bad ? bad
              : is_among(names_of(objects, of), name)
                  ? check_inside(name, part, why)
                  : no_member(name, why);
    }
    json_array_foreach(value, i, part)
    {
        bad = bad ? bad : check_inside(of, part, why);
    }
    return bad;
}

static int no_object(mxo_text why)
{
    (void)say(MXO_E_PARAM, why, "is no JSON object");
    return -1;
}

/* A later schema has other members: it is named before they are. */
static int check_schema(const json_t *schema, mxo_text why)
{
    if (json_integer_value(schema) == RECORD_SCHEMA) {
        return 0;
    }
    (void)say(MXO_E_PARAM, why, "has schema %lld, this mxoracle reads %d",
              (long long)json_integer_value(schema), RECORD_SCHEMA);
    return -1;
}

static int take_member(json_t *o, json_walk *w, mxo_text why)
{
    const char *name = json_walk_key(w);

    if (!is_of_a_line(name)) {
        return no_member(name, why);
    }
    json_t *value = (json_t *)json_walk_value(w);

    if (value == NULL || json_object_get(o, name) != NULL) {
        return no_object(why);
    }
    if (strcmp(name, "schema") == 0 && check_schema(value, why) != 0) {
        return -1;
    }
    return check_inside(name, value, why) != 0
               ? -1
               : json_object_set(o, name, value);
}

/* All members of the line's type, and no others but a journal's. */
static int check_members(const json_t *o, mxo_text why)
{
    const char *const *names = names_of(lines, record_text(o, "type"));
    const char *name;
    json_t *value;

    if (names == NULL) {
        return 0; /* whoever reads it says what it should be */
    }
    json_object_foreach((json_t *)o, name, value)
    {
        if (!is_among(names, name) &&
            !(names == header_names && is_among(journal_names, name))) {
            return no_member(name, why);
        }
    }
    for (; *names != NULL; names++) {
        if (json_object_get(o, *names) == NULL) {
            (void)say(MXO_E_PARAM, why, "lacks the member \"%s\"", *names);
            return -1;
        }
    }
    return 0;
}

static int take_members(json_t *o, json_walk *w, mxo_text why)
{
    int more;

    while ((more = json_walk_next(w)) > 0) {
        if (take_member(o, w, why) != 0) {
            return -1;
        }
    }
    return more < 0 ? no_object(why) : check_members(o, why);
}

json_t *record_parse(const char *line, mxo_text why)
{
    json_walk w = json_walk_of(line);
    json_t *o = json_object();
    const int bad = w.closer != '}' ? no_object(why) : take_members(o, &w, why);

    json_walk_end(&w);
    if (bad) {
        json_decref(o);
        return NULL;
    }
    record_clean(o);
    return o;
}

json_t *record_again(const char *line)
{
    json_t *o = line == NULL ? NULL : json_loads(line, 0, NULL);

    record_clean(o);
    return o;
}

static void grow(char **line, size_t *size)
{
    *size = *size == 0 ? FIRST_LINE : 2 * *size;
    *line = memory_need_more(*line, *size);
}

ssize_t record_next_line(FILE *f, char **line, size_t *size)
{
    size_t n = 0;
    int c = 0;

    while (c != '\n' && n <= RECORD_MOST && (c = getc(f)) != EOF) {
        if (n + 1 >= *size) {
            grow(line, size);
        }
        (*line)[n++] = (char)(c == '\0' ? RECORD_ZERO[0] : c);
        (*line)[n] = '\0';
    }
    return n <= RECORD_MOST ? (ssize_t)n : -1;
}

static int is_day(int year, int month, int day)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const int leaps = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return month >= 1 && month <= 12 && day >= 1 &&
           day <= days[month - 1] + (month == 2 && leaps);
}

/* "2026-01-31T23:59:59Z", with a second to leap. */
static int is_utc(const char *text)
{
    static const char form[] = "0000-00-00T00:00:00Z";
    size_t i = 0;

    while (i < sizeof form &&
           (form[i] == '0' ? isdigit((unsigned char)text[i]) != 0
                           : text[i] == form[i])) {
        i++;
    }
    return i == sizeof form &&
           is_day(atoi(text), atoi(text + 5), atoi(text + 8)) &&
           atoi(text + 11) < 24 && atoi(text + 14) < 60 &&
           atoi(text + 17) <= 60;
}

int record_check_header(const json_t *header, mxo_text why)
{
    const json_t *level = json_object_get(header, "level");
    const json_int_t n = json_integer_value(level);

    if (!json_is_integer(level) || n < 0 || n > GRID_LEVELS) {
        (void)say(MXO_E_PARAM, why,
                  "has a header whose level is none from 0 to %d", GRID_LEVELS);
        return -1;
    }
    if (!is_utc(record_text(header, "started"))) {
        (void)say(MXO_E_PARAM, why,
                  "has a header whose begin is no time such as "
                  "2026-01-31T23:59:59Z");
        return -1;
    }
    return 0;
}

static int check_count(const json_t *summary, const char *key, uint64_t n,
                       mxo_text why)
{
    const json_t *number = json_object_get(summary, key);
    const json_int_t said = json_integer_value(number);

    if (json_is_integer(number) && said == (json_int_t)n) {
        return 0;
    }
    (void)say(MXO_E_PARAM, why,
              "holds %" PRIu64 " cases with status %s, its summary counts "
              "%" JSON_INTEGER_FORMAT,
              n, key, said);
    return -1;
}

int record_check_summary(const json_t *summary, const uint64_t n[N_VERDICTS],
                         uint64_t n_lines, mxo_text why)
{
    const json_t *number = json_object_get(summary, "planned");
    const json_int_t planned = json_integer_value(number);
    tally t = {0};
    int bad = 0;

    memcpy(t.n, n, sizeof t.n);
    for (int i = 0; i < N_VERDICTS && !bad; i++) {
        bad = check_count(summary, verdict_name((verdict_status)i), n[i], why);
    }
    bad = bad || check_count(summary, "failed", tally_red(&t), why);
    bad = bad || check_count(summary, "skipped", tally_left_out(&t), why);
    bad = bad || check_count(summary, "total", tally_total(&t), why);
    if (!bad && (!json_is_integer(number) || planned < 0)) {
        (void)say(MXO_E_PARAM, why, "does not say how much was planned");
        bad = -1;
    }
    if (!bad && record_text(summary, "stopped")[0] == '\0' &&
        (uint64_t)planned > n_lines) {
        (void)say(MXO_E_PARAM, why,
                  "holds %" PRIu64 " lines of %" JSON_INTEGER_FORMAT
                  " planned and does not say what stopped it",
                  n_lines, planned);
        bad = -1;
    }
    return bad;
}

/* A caught mutant passes, and its line says what differed. */
static int is_clean(const report_result *r, const json_t *header)
{
    return strcmp(record_text(header, "command"), "selftest") == 0 ||
           (r->v->n_diff == 0 && r->v->tensor[0] == '\0');
}

/* Can what was judged so have this status, whatever the baseline says? */
static int is_likely(const report_result *r, const json_t *header)
{
    return r->v->status == VERDICT_PASS
               ? r->judged == VERDICT_PASS && is_clean(r, header)
           : r->v->status == VERDICT_EXPECTED
               ? verdict_is_red(r->judged) &&
                     record_text(header, "baseline")[0] != '\0'
               : 1;
}

static int is_conversion(const char *name)
{
    static const char *const ids[] = {
#define MXO_CONVERSION(id, params, needs, bias, w13, w13_scale, w13_bias, w2, \
                       w2_scale, w2_bias, source)                             \
    id,
#include <mxoracle/conversions.def>
#undef MXO_CONVERSION
        NULL};
    const size_t n = strcspn(name, "/");
    size_t i = 0;

    while (ids[i] != NULL &&
           (strlen(ids[i]) != n || memcmp(ids[i], name, n) != 0)) {
        i++;
    }
    return ids[i] != NULL;
}

static int is_of_file(const report_result *r, const char *command)
{
    return strcmp(command, "verify") == 0 ||
           strstr(r->repro, " --vectors ") != NULL;
}

/* Files may name any, of which those that are not known pass nothing. */
static int is_operation(const report_result *r, const char *command)
{
    const int is_select = strcmp(r->op, "select") == 0;

    if (strcmp(command, "convert") == 0) {
        return is_conversion(r->op);
    }
    if (strcmp(command, "select") == 0) {
        return is_select;
    }
    if (op_by_name(r->op) != NULL) {
        return 1;
    }
    if (strcmp(command, "selftest") == 0) {
        return is_select;
    }
    return is_of_file(r, command)
               ? r->judged != VERDICT_PASS || map_knows_op(r->op)
               : strcmp(r->op, "*") == 0; /* all cases of an absent backend */
}

/* A case's operation stands before it. */
static int is_own_operation(const report_result *r, const char *command)
{
    const size_t n = strcspn(r->case_text, ":");
    const int has_cases = strcmp(command, "convert") != 0 &&
                          strcmp(command, "select") != 0 &&
                          strcmp(command, "selftest") != 0;

    return !has_cases || is_of_file(r, command) ||
           (strlen(r->op) == n && memcmp(r->op, r->case_text, n) == 0);
}

int record_check_case(const report_result *r, const json_t *header,
                      mxo_text why)
{
    if (!is_likely(r, header)) {
        (void)say(MXO_E_PARAM, why,
                  "holds a case whose status cannot be, as it was judged");
        return -1;
    }
    const char *command = record_text(header, "command");

    if (!is_operation(r, command)) {
        (void)say(MXO_E_PARAM, why, "holds a line of \"%.60s\", which is no %s",
                  r->op,
                  strcmp(command, "convert") == 0 ? "conversion" : "operation");
        return -1;
    }
    if (!is_own_operation(r, command)) {
        (void)say(MXO_E_PARAM, why,
                  "holds a case of another operation than it says");
        return -1;
    }
    return 0;
}
