/* SPDX-License-Identifier: Apache-2.0 */
/* See stored.h. */
#include "stored.h"

#include "base/input.h"
#include "base/say.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SHARDS = 65536 };

/* A file at work. */
typedef struct reading {
    stored_run *s;
    const char *path;
    unsigned line;
    json_t *header; /* borrowed by cases; owned here or by the run */
    json_t *summary;
    uint64_t n[N_VERDICTS]; /* cases so far, by status */
    mxo_text why;
} reading;

static int refuse(const reading *r, const char *sentence)
{
    (void)say(MXO_E_PARAM, r->why, "%s: %.300s", r->path, sentence);
    return -1;
}

json_t *stored_line(const char *path, unsigned line, const char *text,
                    mxo_text why)
{
    json_error_t error;
    json_t *o = json_loads(text, JSON_REJECT_DUPLICATES, &error);

    if (!json_is_object(o)) {
        (void)say(MXO_E_PARAM, why, "%s: line %u is no JSON object", path,
                  line);
        json_decref(o);
        return NULL;
    }
    record_clean(o);
    return o;
}

static int check_schema(const reading *r, const json_t *header)
{
    const json_t *schema = json_object_get(header, "schema");
    char text[128];

    if (strcmp(record_text(header, "type"), "header") != 0 ||
        !json_is_integer(schema)) {
        return refuse(r, "is no report of mxoracle (no header)");
    }
    if (json_integer_value(schema) != RECORD_SCHEMA) {
        (void)snprintf(text, sizeof text,
                       "has schema %lld, this mxoracle reads %d",
                       (long long)json_integer_value(schema), RECORD_SCHEMA);
        return refuse(r, text);
    }
    return 0;
}

/* Check the fields that shards of one run have in common. */
static int check_same_run(const reading *r)
{
    static const char *const keys[] = {"command", "version", "build",
                                       "seed",    "plan",    "baseline"};
    const json_t *first = r->s->header;
    char text[256];

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *a = record_text(first, keys[i]);
        const char *b = record_text(r->header, keys[i]);
        if (strcmp(a, b) != 0) {
            (void)snprintf(text, sizeof text,
                           "is a shard of another run: its %s is \"%.60s\", "
                           "not \"%.60s\"",
                           keys[i], b, a);
            return refuse(r, text);
        }
    }
    return 0;
}

static int mark_shard(const reading *r)
{
    const json_t *shard = json_object_get(r->header, "shard");
    const uint64_t k = record_count(shard, "k");
    const uint64_t n = record_count(shard, "n");
    stored_run *s = r->s;

    if (n > MAX_SHARDS || k > n || (n > 0 && k == 0)) {
        return refuse(r, "has a header that makes no sense");
    }
    if (s->n_files == 1) {
        s->n_shards = n;
        s->is_there = calloc(n + 1, 1);
    } else if (n == 0 || s->n_shards == 0) {
        return refuse(r, "cannot be joined: of several reports each must be "
                         "a shard");
    } else if (n != s->n_shards) {
        return refuse(r, "is a shard of a run in another number of parts");
    }
    if (s->is_there == NULL) {
        return refuse(r, "is too large for the memory");
    }
    if (n > 0 && s->is_there[k]) {
        return refuse(r, "is a shard that is there already");
    }
    s->is_there[k] = 1;
    return 0;
}

/* Shards may run on many machines: each is named once. */
static void join_text(json_t *to, const json_t *from, const char *key)
{
    const char *so_far = record_text(to, key);
    const char *more = record_text(from, key);
    char text[256];

    if (strstr(so_far, more) == NULL) {
        (void)snprintf(text, sizeof text, "%s; %s", so_far, more);
        json_object_set_new(to, key, json_string(text));
    }
}

static int take_header(reading *r, json_t *o)
{
    if (check_schema(r, o) != 0) {
        json_decref(o);
        return -1;
    }
    r->header = o;
    r->s->n_files++;
    if (r->s->header == NULL) {
        r->s->header = json_incref(o);
    }
    join_text(r->s->header, o, "machine");
    join_text(r->s->header, o, "os");
    r->s->planned += record_count(o, "planned");
    return check_same_run(r) != 0 ? -1 : mark_shard(r);
}

/* Lines that were lost or changed are not those that the summary counted. */
static int check_counts(const reading *r)
{
    char text[128];

    for (int i = 0; i < N_VERDICTS; i++) {
        const char *name = verdict_name((verdict_status)i);
        const uint64_t n = record_count(r->summary, name);
        if (n != r->n[i]) {
            (void)snprintf(text, sizeof text,
                           "holds %" PRIu64 " cases with status %s, its "
                           "summary counts %" PRIu64,
                           r->n[i], name, n);
            return refuse(r, text);
        }
    }
    return 0;
}

static int take_summary(reading *r, json_t *o)
{
    const char *stopped = record_text(o, "stopped");

    r->summary = o;
    if (check_counts(r) != 0) {
        return -1;
    }
    if (stopped[0] != '\0' && r->s->stopped[0] == '\0') {
        (void)snprintf(r->s->stopped, sizeof r->s->stopped, "%.40s (%.100s)",
                       stopped, r->path);
    }
    return 0;
}

static int take_case(reading *r, json_t *o)
{
    report_result result;
    verdict v;

    if (record_read(o, &result, &v) != 0) {
        json_decref(o);
        return refuse(r, "holds a line that is no case");
    }
    r->n[v.status] += result.n_cases;
    verdict_clear(&v);
    return json_array_append_new(r->s->cases, o);
}

static int take_line(reading *r, const char *text)
{
    json_t *o = stored_line(r->path, r->line, text, r->why);
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
    return strcmp(type, "summary") == 0 ? take_summary(r, o) : take_case(r, o);
}

static int read_file(reading *r, FILE *f)
{
    char *line = NULL;
    size_t size = 0;
    int bad = 0;

    while (!bad && getline(&line, &size, f) > 0) {
        r->line++;
        bad = take_line(r, line);
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

/* Backends in the order of the header, cases in that of the plan. */
typedef struct ranked {
    size_t backend;
    uint64_t index;
    size_t place; /* where it was read: keeps equal ones in order */
    json_t *record;
} ranked;

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

static int by_rank(const void *a, const void *b)
{
    const ranked *x = a;
    const ranked *y = b;

    if (x->backend != y->backend) {
        return x->backend < y->backend ? -1 : 1;
    }
    if (x->index != y->index) {
        return x->index < y->index ? -1 : 1;
    }
    return x->place < y->place ? -1 : x->place > y->place;
}

static int sort_cases(stored_run *s)
{
    const json_t *backends = json_object_get(s->header, "backends");
    const size_t n = json_array_size(s->cases);
    ranked *list = calloc(n + 1, sizeof *list);
    json_t *sorted = json_array();

    for (size_t i = 0; list != NULL && i < n; i++) {
        json_t *o = json_array_get(s->cases, i);
        list[i] = (ranked){rank_of(backends, record_text(o, "backend")),
                           record_count(o, "index"), i, o};
    }
    if (list != NULL) {
        qsort(list, n, sizeof *list, by_rank);
    }
    for (size_t i = 0; list != NULL && i < n; i++) {
        json_array_append(sorted, list[i].record);
    }
    json_decref(s->cases);
    s->cases = sorted;
    const int bad = list == NULL;

    free(list);
    return bad ? -1 : 0;
}

/* Rows "*" of absent backends, one of each shard, become one. */
static void join_absent(stored_run *s)
{
    for (size_t i = 1; i < json_array_size(s->cases);) {
        json_t *a = json_array_get(s->cases, i - 1);
        json_t *b = json_array_get(s->cases, i);
        if (strcmp(record_text(a, "case"), "*") == 0 &&
            strcmp(record_text(b, "case"), "*") == 0 &&
            strcmp(record_text(a, "backend"), record_text(b, "backend")) == 0 &&
            strcmp(record_text(a, "reason"), record_text(b, "reason")) == 0) {
            const uint64_t n =
                record_count(a, "n_cases") + record_count(b, "n_cases");
            json_object_set_new(a, "n_cases", json_integer((json_int_t)n));
            json_array_remove(s->cases, i);
        } else {
            i++;
        }
    }
}

int stored_read(stored_run *s, char *const paths[], int n, mxo_text why)
{
    int bad = 0;

    memset(s, 0, sizeof *s);
    s->cases = json_array();
    for (int i = 0; !bad && i < n; i++) {
        reading r = {.s = s, .path = paths[i], .why = why};
        FILE *f = input_open(paths[i]);
        bad = f == NULL ? refuse(&r, input_error()) : read_file(&r, f);
        if (f != NULL) {
            (void)fclose(f);
        }
    }
    if (!bad && n > 1 && sort_cases(s) != 0) {
        (void)say(MXO_E_NOMEM, why, "out of memory");
        bad = -1;
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
    json_decref(s->cases);
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

/* Red or skipped? The rows "*" of absent backends tell. */
static verdict_status absence_of(const stored_run *s, const char *backend)
{
    for (size_t i = 0; i < json_array_size(s->cases); i++) {
        const json_t *o = json_array_get(s->cases, i);
        if (strcmp(record_text(o, "case"), "*") == 0 &&
            strcmp(record_text(o, "backend"), backend) == 0) {
            return strcmp(record_text(o, "judged"),
                          verdict_name(VERDICT_SKIP)) == 0
                       ? VERDICT_SKIP
                       : VERDICT_ERROR;
        }
    }
    return VERDICT_SKIP;
}

void stored_describe(const stored_run *s, report_run *run,
                     backend_info infos[BACKEND_MAX])
{
    const json_t *h = s->header;
    const json_t *backends = json_object_get(h, "backends");

    report_run_begin(run, record_text(h, "command"));
    run->version = record_text(h, "version");
    run->compiler = record_text(h, "compiler");
    (void)snprintf(run->machine, sizeof run->machine, "%s",
                   record_text(h, "machine"));
    (void)snprintf(run->os, sizeof run->os, "%s", record_text(h, "os"));
    (void)snprintf(run->build, sizeof run->build, "%s",
                   record_text(h, "build"));
    (void)snprintf(run->started, sizeof run->started, "%s",
                   record_text(h, "started"));
    (void)snprintf(run->plan, sizeof run->plan, "%s", record_text(h, "plan"));
    (void)snprintf(run->seeds, sizeof run->seeds, "%s", record_text(h, "seed"));
    run->level = (int)record_count(h, "level");
    run->n_planned = s->planned;
    run->backends = infos;
    memset(infos, 0, BACKEND_MAX * sizeof infos[0]);
    for (size_t i = 0; i < json_array_size(backends) && i < BACKEND_MAX; i++) {
        const json_t *b = json_array_get(backends, i);
        backend_info *info = &infos[run->n_backends++];
        (void)snprintf(info->name, sizeof info->name, "%s",
                       record_text(b, "name"));
        (void)snprintf(info->version, sizeof info->version, "%s",
                       record_text(b, "version"));
        (void)snprintf(info->device, sizeof info->device, "%s",
                       record_text(b, "device"));
        (void)snprintf(info->driver, sizeof info->driver, "%s",
                       record_text(b, "driver"));
        (void)snprintf(info->why_not, sizeof info->why_not, "%s",
                       record_text(b, "why_not"));
        info->absent = absence_of(s, info->name);
    }
}
