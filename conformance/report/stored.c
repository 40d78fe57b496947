/* SPDX-License-Identifier: Apache-2.0 */
/* See stored.h. */
#include "stored.h"

#include "base/grown.h"
#include "base/input.h"
#include "base/memory.h"
#include "base/say.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SHARDS = 65536, MAX_OPERATIONS = 4096 };

/* A file at work. */
typedef struct reading {
    stored_run *s;
    const char *path;
    unsigned line;
    int is_cut;     /* the line ends within an object: so does the file */
    json_t *header; /* borrowed by cases; owned here or by the run */
    json_t *summary;
    uint64_t n[N_VERDICTS]; /* cases so far, by status */
    uint64_t n_lines;       /* of cases so far */
    uint64_t n_joined;      /* lines that those of absent backends stand for */
    int has_changes;        /* since a run that is not at hand: passed over */
    uint64_t n_changes;     /* lines of them that are still to come */
    progress *progress;
    mxo_text why;
} reading;

static int refuse(const reading *r, const char *sentence)
{
    (void)say(MXO_E_PARAM, r->why, "%.300s: %.300s", r->path, sentence);
    return -1;
}

static int check_same_run(const reading *r)
{
    char why[256] = "";
    char text[300];

    if (record_same_run(r->s->header, r->header, (mxo_text){why, sizeof why}) ==
        0) {
        return 0;
    }
    (void)snprintf(text, sizeof text, "is a shard of another run: %s", why);
    return refuse(r, text);
}

/* Names of ours have room. */
static int has_long_name(const json_t *header)
{
    const json_t *backends = json_object_get(header, "backends");
    int has = 0;

    for (size_t i = 0; i < json_array_size(backends); i++) {
        has |= strlen(record_text(json_array_get(backends, i), "name")) >=
               BACKEND_NAME;
    }
    return has;
}

static int mark_shard(const reading *r)
{
    const json_t *shard = json_object_get(r->header, "shard");
    const uint64_t k = record_count(shard, "k");
    const uint64_t n = record_count(shard, "n");
    stored_run *s = r->s;

    if (n > MAX_SHARDS || k > n || (n > 0 && k == 0) ||
        has_long_name(r->header)) {
        return refuse(r, "has a header that makes no sense");
    }
    if (s->n_files == 1) {
        s->n_shards = n;
        s->is_there = memory_need_zeros(n + 1, 1);
    } else if (n == 0 || s->n_shards == 0) {
        return refuse(r, "cannot be joined: of several reports each must be "
                         "a shard");
    } else if (n != s->n_shards) {
        return refuse(r, "is a shard of a run in another number of parts");
    }
    if (n > 0 && s->is_there[k]) {
        return refuse(r, "is a shard that is there already");
    }
    s->is_there[k] = 1;
    return 0;
}

static int take_header(reading *r, json_t *o)
{
    char why[160] = "";

    if (strcmp(record_text(o, "type"), "header") != 0) {
        json_decref(o);
        return refuse(r, "is no report of mxoracle (no header)");
    }
    r->header = o;
    if (record_check_header(o, (mxo_text){why, sizeof why}) != 0) {
        return refuse(r, why);
    }
    r->s->n_files++;
    if (r->s->header == NULL) {
        r->s->header = json_incref(o);
    }
    if (check_same_run(r) != 0 || mark_shard(r) != 0) {
        return -1;
    }
    record_join(r->s->header, o);
    return 0;
}

/* Lines that were lost or changed are not those that the summary counted. */
static int check_counts(const reading *r)
{
    char why[160] = "";

    return record_check_summary(r->summary, r->n, r->n_lines,
                                (mxo_text){why, sizeof why}) == 0
               ? 0
               : refuse(r, why);
}

/* How many lines of changes follow. */
static int take_changes(reading *r, json_t *o)
{
    static const char *const kinds[] = {
        "newly_red", "no_longer_red",  "red_otherwise", "new",
        "gone",      "another_status", "slower"};
    const int is_first = !r->has_changes;

    r->has_changes = 1;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        r->n_changes += record_count(o, kinds[i]);
    }
    json_decref(o);
    return is_first ? 0 : refuse(r, "counts its changes twice");
}

static int take_change(reading *r, json_t *o)
{
    json_decref(o);
    if (r->n_changes == 0) {
        return refuse(r, "holds more changes than it counts");
    }
    r->n_changes--;
    return 0;
}

/* What begins and ends a report plan as much.  A header that cannot count has
   0, and of vectors one that has not seen yet which backends are absent. */
static int has_same_plan(const reading *r)
{
    const uint64_t before = record_count(r->header, "planned");
    const uint64_t behind = record_count(r->summary, "planned");

    return before == 0 || behind == before || behind + r->n_joined == before;
}

static int take_summary(reading *r, json_t *o)
{
    const char *stopped = record_text(o, "stopped");

    r->summary = o;
    if (check_counts(r) != 0) {
        return -1;
    }
    if (!has_same_plan(r)) {
        return refuse(r, "plans another number of lines in its summary than "
                         "in its header");
    }
    if (r->n_changes > 0) {
        return refuse(r, "holds fewer changes than it counts");
    }
    r->s->planned += record_count(o, "planned");
    if (stopped[0] != '\0' && r->s->stopped[0] == '\0') {
        (void)snprintf(r->s->stopped, sizeof r->s->stopped, "%.40s (%.100s)",
                       stopped, r->path);
    }
    return 0;
}

static size_t rank_of(const json_t *backends, const char *name)
{
    size_t i = 0;

    while (i < json_array_size(backends) &&
           strcmp(record_text(json_array_get(backends, i), "name"), name) !=
               0) {
        i++;
    }
    return i;
}

static void add_case(stored_run *s, const json_t *o, const char *line)
{
    s->cases = grown(s->cases, s->n_cases, sizeof *s->cases);
    s->cases[s->n_cases++] =
        (stored_case){.line = memory_need_text(line),
                      .rank = rank_of(json_object_get(s->header, "backends"),
                                      record_text(o, "backend")),
                      .index = record_count(o, "index"),
                      .is_absent = strcmp(record_text(o, "case"), "*") == 0};
}

/* Each has a row in the summary.  0, or -1: they are too many. */
static int note_operation(stored_run *s, const json_t *o)
{
    char name[512];

    (void)snprintf(name, sizeof name, "%.200s %.200s",
                   record_text(o, "backend"), record_text(o, "op"));
    (void)json_object_set_new(s->operations, name, json_true());
    return json_object_size(s->operations) > MAX_OPERATIONS ? -1 : 0;
}

static int take_case(reading *r, json_t *o, const char *line)
{
    report_result result;
    verdict v;

    if (record_read(o, &result, &v) != 0) {
        json_decref(o);
        return refuse(r, "holds a line that is no case");
    }
    char why[160] = "";
    const int bad =
        record_check_case(&result, r->header, (mxo_text){why, sizeof why});

    r->n[v.status] += result.n_cases;
    r->n_lines++;
    r->n_joined += strcmp(result.case_text, "*") == 0 ? result.n_cases - 1 : 0;
    verdict_clear(&v);
    if (bad) {
        json_decref(o);
        return refuse(r, why);
    }
    const int is_too_much = note_operation(r->s, o) != 0;

    add_case(r->s, o, line);
    const int is_of_header =
        r->s->cases[r->s->n_cases - 1].rank <
        json_array_size(json_object_get(r->s->header, "backends"));

    json_decref(o);
    return is_too_much     ? refuse(r, "names more than 4096 operations")
           : !is_of_header ? refuse(r, "holds a case of a backend that its "
                                       "header does not name")
                           : 0;
}

static json_t *parse(const reading *r, const char *line)
{
    char why[160] = "";
    char text[240];
    json_t *o = record_parse(line, (mxo_text){why, sizeof why});

    if (o == NULL) {
        (void)snprintf(text, sizeof text, "%sline %u %s",
                       r->is_cut ? "is truncated: " : "", r->line, why);
        (void)refuse(r, text);
    }
    return o;
}

static int take_line(reading *r, const char *line)
{
    json_t *o = parse(r, line);
    const char *type = o == NULL ? "" : record_text(o, "type");

    if (o == NULL) {
        return -1;
    }
    if (r->header == NULL) {
        return take_header(r, o);
    }
    if (r->summary != NULL) {
        json_decref(o);
        return refuse(r, "goes on behind its summary");
    }
    if (strcmp(type, "summary") == 0) {
        return take_summary(r, o);
    }
    return strcmp(type, "changes") == 0  ? take_changes(r, o)
           : strcmp(type, "change") == 0 ? take_change(r, o)
                                         : take_case(r, o, line);
}

static int refuse_line(const reading *r)
{
    (void)say(MXO_E_PARAM, r->why, "%s: line %u has more than %d bytes",
              r->path, r->line + 1, RECORD_MOST);
    return -1;
}

static int read_file(reading *r, FILE *f)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    int bad = 0;

    while (!bad && (n = record_next_line(f, &line, &size)) != 0) {
        progress_bytes(r->progress, n < 0 ? 0 : (uint64_t)n);
        r->is_cut = n > 0 && line[n - 1] != '\n' && line[n - 1] != '}';
        bad = n < 0 ? refuse_line(r) : (r->line++, take_line(r, line));
    }
    free(line);
    if (!bad && r->summary == NULL) {
        bad = refuse(r, "is truncated: there is no summary");
    }
    if (r->s->summary == NULL && r->summary != NULL) {
        r->s->summary = json_incref(r->summary);
    }
    json_decref(r->summary);
    json_decref(r->header);
    return bad;
}

/* Backends as in the header, cases as in the plan; equal ones as they were. */
typedef struct ranked {
    stored_case c;
    size_t place;
} ranked;

static int by_rank(const void *a, const void *b)
{
    const ranked *x = a;
    const ranked *y = b;

    if (x->c.rank != y->c.rank) {
        return x->c.rank < y->c.rank ? -1 : 1;
    }
    if (x->c.index != y->c.index) {
        return x->c.index < y->c.index ? -1 : 1;
    }
    return x->place < y->place ? -1 : x->place > y->place;
}

static void sort_cases(stored_run *s)
{
    ranked *list = memory_need_zeros(s->n_cases + 1, sizeof *list);

    for (size_t i = 0; i < s->n_cases; i++) {
        list[i] = (ranked){s->cases[i], i};
    }
    qsort(list, s->n_cases, sizeof *list, by_rank);
    for (size_t i = 0; i < s->n_cases; i++) {
        s->cases[i] = list[i].c;
    }
    free(list);
}

json_t *stored_record(const stored_run *s, size_t i)
{
    return record_again(s->cases[i].line);
}

/* Rows "*" of one backend and reason: those of b become a's. */
static int join_rows(stored_run *s, size_t a, size_t b)
{
    json_t *x = stored_record(s, a);
    json_t *y = stored_record(s, b);
    const int are_one =
        strcmp(record_text(x, "backend"), record_text(y, "backend")) == 0 &&
        strcmp(record_text(x, "reason"), record_text(y, "reason")) == 0;

    if (are_one) {
        const uint64_t n =
            record_count(x, "n_cases") + record_count(y, "n_cases");
        (void)json_object_set_new(x, "n_cases", json_integer((json_int_t)n));
        free(s->cases[a].line);
        s->cases[a].line = json_dumps(x, JSON_COMPACT);
    }
    json_decref(x);
    json_decref(y);
    return are_one;
}

/* Rows "*" of absent backends, one of each shard, become one. */
static void join_absent(stored_run *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_cases; i++) {
        if (n > 0 && s->cases[n - 1].is_absent && s->cases[i].is_absent &&
            join_rows(s, n - 1, i)) {
            free(s->cases[i].line);
            s->planned--;
        } else {
            s->cases[n++] = s->cases[i];
        }
    }
    s->n_cases = n;
}

int stored_read(stored_run *s, char *const paths[], int n, progress *p,
                mxo_text why)
{
    int bad = 0;

    *s = (stored_run){.operations = json_object()};
    for (int i = 0; !bad && i < n; i++) {
        reading r = {.s = s, .path = paths[i], .progress = p, .why = why};
        FILE *f = input_open(paths[i]);
        bad = f == NULL ? refuse(&r, input_error()) : read_file(&r, f);
        if (f != NULL) {
            (void)fclose(f);
        }
    }
    if (!bad && n > 1) {
        sort_cases(s);
    }
    if (!bad) {
        join_absent(s);
    }
    return bad;
}

void stored_clear(stored_run *s)
{
    json_decref(s->header);
    json_decref(s->summary);
    json_decref(s->operations);
    for (size_t i = 0; i < s->n_cases; i++) {
        free(s->cases[i].line);
    }
    free(s->cases);
    free(s->is_there);
    memset(s, 0, sizeof *s);
}

void stored_missing(const stored_run *s, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint64_t k = 1; k <= s->n_shards && used < size; k++) {
        if (!s->is_there[k]) {
            used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64,
                                     used == 0 ? "" : ", ", k);
        }
    }
}

/* Red or skipped? The row "*" of an absent backend tells. */
static verdict_status absence_of(const stored_run *s, size_t backend)
{
    size_t i = 0;

    while (i < s->n_cases &&
           !(s->cases[i].is_absent && s->cases[i].rank == backend)) {
        i++;
    }
    if (i == s->n_cases) {
        return VERDICT_SKIP;
    }
    json_t *o = stored_record(s, i);
    const int is_skipped =
        strcmp(record_text(o, "judged"), verdict_name(VERDICT_SKIP)) == 0;

    json_decref(o);
    return is_skipped ? VERDICT_SKIP : VERDICT_ERROR;
}

void stored_describe(const stored_run *s, report_run *run,
                     backend_info infos[BACKEND_MAX])
{
    const json_t *h = s->header;
    const json_t *backends = json_object_get(h, "backends");

    report_run_begin(run, record_text(h, "command"));
    run->version = record_text(h, "version");
    run->compiler = record_text(h, "compiler");
    say_copy(run->machine, sizeof run->machine, record_text(h, "machine"));
    say_copy(run->os, sizeof run->os, record_text(h, "os"));
    say_copy(run->build, sizeof run->build, record_text(h, "build"));
    say_copy(run->started, sizeof run->started, record_text(h, "started"));
    say_copy(run->plan, sizeof run->plan, record_text(h, "plan"));
    say_copy(run->seeds, sizeof run->seeds, record_text(h, "seed"));
    run->level = (int)record_count(h, "level");
    run->n_planned = s->stopped[0] == '\0' ? s->n_cases : s->planned;
    run->backends = infos;
    memset(infos, 0, BACKEND_MAX * sizeof infos[0]);
    for (size_t i = 0; i < json_array_size(backends) && i < BACKEND_MAX; i++) {
        const json_t *b = json_array_get(backends, i);
        backend_info *info = &infos[run->n_backends++];
        say_copy(info->name, sizeof info->name, record_text(b, "name"));
        say_copy(info->version, sizeof info->version,
                 record_text(b, "version"));
        say_copy(info->device, sizeof info->device, record_text(b, "device"));
        say_copy(info->driver, sizeof info->driver, record_text(b, "driver"));
        say_copy(info->why_not, sizeof info->why_not,
                 record_text(b, "why_not"));
        info->absent = absence_of(s, i);
    }
}
