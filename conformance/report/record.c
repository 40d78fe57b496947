/* SPDX-License-Identifier: Apache-2.0 */
/* See record.h. */
#include "record.h"

#include "base/memory.h"
#include "base/say.h"
#include "case/case_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of a map, down or across, at most. */
enum { MOST_CELLS = 64 };

static json_t *count(uint64_t n)
{
    return json_integer((json_int_t)n);
}

static void set_text(json_t *o, const char *key, const char *text)
{
    json_object_set_new(o, key, verdict_text_json(text));
}

static json_t *text_or_null(const char *text)
{
    return text == NULL || text[0] == '\0' ? json_null()
                                           : verdict_text_json(text);
}

static json_t *backends_of(const report_run *run)
{
    json_t *list = json_array();

    for (int i = 0; i < run->n_backends; i++) {
        const backend_info *b = &run->backends[i];
        json_t *entry = json_object();
        set_text(entry, "name", b->name);
        set_text(entry, "version", b->version);
        set_text(entry, "device", b->device);
        set_text(entry, "driver", b->driver);
        set_text(entry, "why_not", b->why_not);
        json_array_append_new(list, entry);
    }
    return list;
}

json_t *record_header(const report_run *run)
{
    json_t *o = json_object();

    set_text(o, "type", "header");
    json_object_set_new(o, "schema", json_integer(RECORD_SCHEMA));
    set_text(o, "command", run->command);
    set_text(o, "version", run->version);
    set_text(o, "compiler", run->compiler);
    set_text(o, "machine", run->machine);
    set_text(o, "os", run->os);
    set_text(o, "build", report_run_build(run));
    set_text(o, "started", run->started);
    set_text(o, "seed", run->seeds);
    json_object_set_new(o, "level", json_integer(run->level));
    json_object_set_new(o, "planned", count(run->n_planned));
    set_text(o, "plan", run->plan);
    json_object_set_new(o, "shard",
                        run->shard == 0 ? json_null()
                                        : json_pack("{s:I, s:I}", "k",
                                                    (json_int_t)run->shard, "n",
                                                    (json_int_t)run->n_shards));
    json_object_set_new(o, "baseline", text_or_null(run->baseline));
    json_object_set_new(o, "backends", backends_of(run));
    return o;
}

/* Of a backend that is there in both. */
static int same_versions(const json_t *first, const json_t *other, mxo_text why)
{
    const json_t *list = json_object_get(other, "backends");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *a = json_array_get(json_object_get(first, "backends"), i);
        const json_t *b = json_array_get(list, i);
        const char *was = record_text(a, "version");
        const char *is = record_text(b, "version");
        if (record_text(a, "why_not")[0] == '\0' &&
            record_text(b, "why_not")[0] == '\0' && strcmp(was, is) != 0) {
            (void)say(MXO_E_PARAM, why,
                      "its %.40s is of version \"%.60s\", not \"%.60s\"",
                      record_text(b, "name"), is, was);
            return -1;
        }
    }
    return 0;
}

int record_same_run(const json_t *first, const json_t *other, mxo_text why)
{
    static const char *const keys[] = {"command", "version", "build",
                                       "seed",    "plan",    "baseline"};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *was = record_text(first, keys[i]);
        const char *is = record_text(other, keys[i]);
        if (strcmp(was, is) != 0) {
            (void)say(MXO_E_PARAM, why, "its %s is \"%.60s\", not \"%.60s\"%s",
                      keys[i], is, was,
                      strcmp(keys[i], "plan") == 0
                          ? ": other cases, options or files to judge"
                          : "");
            return -1;
        }
    }
    return same_versions(first, other, why);
}

/* Shards may run on many machines: each is named once. */
static void join_text(json_t *to, const json_t *from, const char *key)
{
    const char *so_far = record_text(to, key);
    const char *more = record_text(from, key);
    char text[256];

    if (strstr(so_far, more) == NULL) {
        (void)snprintf(text, sizeof text, "%s%s%s", so_far,
                       so_far[0] == '\0' ? "" : "; ", more);
        (void)json_object_set_new(to, key, json_string(text));
    }
}

void record_join(json_t *header, const json_t *other)
{
    json_t *joined = json_object_get(header, "backends");
    const json_t *list = json_object_get(other, "backends");

    join_text(header, other, "machine");
    join_text(header, other, "os");
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *a = json_array_get(joined, i);
        json_t *b = json_array_get(list, i);
        if (record_text(b, "why_not")[0] != '\0') {
            continue;
        }
        /* What any shard has found is there. */
        if (record_text(a, "why_not")[0] != '\0') {
            (void)json_array_set(joined, i, b);
        } else {
            join_text(a, b, "device");
            join_text(a, b, "driver");
        }
    }
}

static json_t *first_of(const verdict *v)
{
    json_t *o;

    if (v->tensor[0] == '\0') {
        return json_null();
    }
    o = json_object();
    set_text(o, "tensor", v->tensor);
    set_text(o, "index", v->index);
    set_text(o, "want", v->want);
    set_text(o, "got", v->got);
    return o;
}

/* Elements by the share of their bound that they need, and the largest. */
static json_t *use_of(const verdict_use *use)
{
    json_t *bins = json_array();
    uint64_t n = 0;

    for (int i = 0; i < VERDICT_BINS; i++) {
        json_array_append_new(bins, count(use->n[i]));
        n += use->n[i];
    }
    if (n == 0) {
        json_decref(bins);
        return json_null();
    }
    return json_pack("{s:o, s:f}", "bins", bins, "most", use->most);
}

json_t *record_case(const report_result *r)
{
    const verdict *v = r->v;
    json_t *o = json_object();
    char op[96];

    report_op(r, op, sizeof op);
    set_text(o, "type", "case");
    set_text(o, "backend", r->backend->name);
    set_text(o, "op", op);
    set_text(o, "case", r->case_text);
    json_object_set_new(o, "seed",
                        r->has_no_seed ? json_null() : count(r->seed));
    json_object_set_new(o, "index", count(r->index));
    set_text(o, "status", verdict_name(v->status));
    set_text(o, "judged", verdict_name(r->judged));
    set_text(o, "kind", v->kind);
    set_text(o, "reason", v->reason);
    json_object_set_new(o, "n_cases", count(r->n_cases));
    json_object_set_new(o, "n_diff", count(v->n_diff));
    json_object_set_new(o, "n_total", count(v->n_total));
    json_object_set_new(o, "first", first_of(v));
    set_text(o, "rule", v->rule);
    json_object_set_new(o, "bound_used", use_of(&v->use));
    set_text(o, "also_accepted_by", v->also);
    set_text(o, "kernel", v->kernel);
    set_text(o, "called", v->called);
    json_object_set_new(o, "ms", json_real(v->ms));
    json_object_set_new(o, "calls", text_or_null(r->calls));
    json_object_set_new(o, "detail", text_or_null(v->detail));
    json_object_set_new(
        o, "map", v->map == NULL ? json_null() : json_loads(v->map, 0, NULL));
    set_text(o, "repro", r->repro);
    return o;
}

json_t *record_summary(const report_run *run, const tally *t)
{
    json_t *o = json_object();

    set_text(o, "type", "summary");
    json_object_set_new(o, "stopped", text_or_null(run->stopped));
    json_object_set_new(o, "planned", count(run->n_planned));
    json_object_set_new(o, "total", count(tally_total(t)));
    json_object_set_new(o, "failed", count(tally_red(t)));
    json_object_set_new(o, "skipped", count(tally_left_out(t)));
    for (int i = 0; i < N_VERDICTS; i++) {
        json_object_set_new(o, verdict_name((verdict_status)i), count(t->n[i]));
    }
    set_text(o, "seed", run->seeds);
    json_object_set_new(o, "seconds", json_real(report_run_seconds(run)));
    return o;
}

/* Numbers that count something, or are not there. */
static int has_counts(const json_t *record)
{
    static const char *const keys[] = {"index", "n_cases", "n_diff", "n_total"};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const json_t *n = json_object_get(record, keys[i]);
        if (n != NULL && !json_is_null(n) &&
            (!json_is_integer(n) || json_integer_value(n) < 0)) {
            return 0;
        }
    }
    return 1;
}

int record_write(FILE *out, json_t *record)
{
    char *text = record == NULL ? NULL : json_dumps(record, JSON_COMPACT);
    const int bad =
        text == NULL || fputs(text, out) < 0 || fputc('\n', out) == EOF;

    free(text);
    json_decref(record);
    return bad ? -1 : 0;
}

int record_append(int fd, json_t *record)
{
    char *text = json_dumps(record, JSON_COMPACT);
    size_t n = text == NULL ? 0 : strlen(text);
    ssize_t done = -1;

    if (text != NULL) {
        text[n++] = '\n'; /* in place of the end, which is not written */
        done = write(fd, text, n);
        if (done >= 0 && done != (ssize_t)n) {
            errno = ENOSPC;
        }
    }
    free(text);
    json_decref(record);
    return done == (ssize_t)n && n > 0 ? 0 : -1;
}

const char *record_text(const json_t *record, const char *key)
{
    const char *text = json_string_value(json_object_get(record, key));

    return text == NULL ? "" : text;
}

uint64_t record_count(const json_t *record, const char *key)
{
    const json_int_t n = json_integer_value(json_object_get(record, key));

    return n < 0 ? 0 : (uint64_t)n;
}

/* A text of one line, or of many. */
static void clean_text(json_t *text, int has_lines)
{
    char *copy = say_is_printable(json_string_value(text))
                     ? NULL
                     : memory_need_text(json_string_value(text));

    if (copy == NULL) {
        return;
    }
    if (has_lines) {
        say_printable_lines(copy);
    } else {
        say_printable(copy);
    }
    (void)json_string_set(text, copy);
    free(copy);
}

void record_clean(json_t *record)
{
    const char *key;
    json_t *value;
    size_t i;

    json_object_foreach(record, key, value)
    {
        if (json_is_string(value)) {
            clean_text(value, strcmp(key, "detail") == 0);
        } else {
            record_clean(value);
        }
    }
    json_array_foreach(record, i, value)
    {
        if (json_is_string(value)) {
            clean_text(value, 0);
        } else {
            record_clean(value);
        }
    }
}

char *record_key(const char *backend, uint64_t seed, const char *case_text)
{
    const size_t room = strlen(backend) + strlen(case_text) + 24;
    char *key = memory_need(room);

    (void)snprintf(key, room, "%s %" PRIu64 " %s", backend, seed, case_text);
    return key;
}

char *record_case_key(const char *backend, uint64_t seed, const char *case_text)
{
    char full[CASE_TEXT];

    return record_key(backend, seed,
                      case_spell(case_text, full) == 0 ? full : case_text);
}

static void copy_text(char *to, size_t size, const json_t *o, const char *key)
{
    say_copy(to, size, record_text(o, key));
}

static void read_verdict(const json_t *record, verdict *v)
{
    const json_t *first = json_object_get(record, "first");
    const char *detail = record_text(record, "detail");
    const json_t *map = json_object_get(record, "map");

    v->n_diff = record_count(record, "n_diff");
    v->n_total = record_count(record, "n_total");
    v->ms = json_real_value(json_object_get(record, "ms"));
    copy_text(v->reason, sizeof v->reason, record, "reason");
    copy_text(v->kind, sizeof v->kind, record, "kind");
    copy_text(v->rule, sizeof v->rule, record, "rule");
    copy_text(v->kernel, sizeof v->kernel, record, "kernel");
    copy_text(v->called, sizeof v->called, record, "called");
    copy_text(v->also, sizeof v->also, record, "also_accepted_by");
    copy_text(v->tensor, sizeof v->tensor, first, "tensor");
    copy_text(v->index, sizeof v->index, first, "index");
    copy_text(v->want, sizeof v->want, first, "want");
    copy_text(v->got, sizeof v->got, first, "got");
    verdict_use_from_json(&v->use, json_object_get(record, "bound_used"));
    v->detail = detail[0] == '\0' ? NULL : memory_need_text(detail);
    v->map = json_is_object(map) ? json_dumps(map, JSON_COMPACT) : NULL;
}

/* A map of cells is small, and tells of each. */
static int has_fair_map(const json_t *record)
{
    const json_t *map = json_object_get(record, "map");
    const uint64_t down = record_count(map, "down");
    const uint64_t across = record_count(map, "across");
    const uint64_t n = json_array_size(json_object_get(map, "wrong"));

    return !json_is_object(map) ||
           (down > 0 && down <= MOST_CELLS && across > 0 &&
            across <= MOST_CELLS && n == down * across);
}

int record_read(const json_t *record, report_result *result, verdict *v)
{
    const char *calls = record_text(record, "calls");

    memset(v, 0, sizeof *v);
    memset(result, 0, sizeof *result);
    if (!has_fair_map(record)) {
        return -1;
    }
    if (strcmp(record_text(record, "type"), "case") != 0 ||
        record_text(record, "case")[0] == '\0' || !has_counts(record) ||
        strlen(record_text(record, "backend")) >= BACKEND_NAME ||
        verdict_by_name(record_text(record, "status"), &v->status) != 0 ||
        verdict_by_name(record_text(record, "judged"), &result->judged) != 0) {
        return -1;
    }
    result->case_text = record_text(record, "case");
    result->n_cases = record_count(record, "n_cases");
    if (result->n_cases == 0 ||
        (result->n_cases > 1 && strcmp(result->case_text, "*") != 0)) {
        return -1;
    }
    read_verdict(record, v);
    result->op = record_text(record, "op");
    result->calls = calls[0] == '\0' ? NULL : calls;
    result->seed = record_count(record, "seed");
    result->has_no_seed = json_is_null(json_object_get(record, "seed"));
    result->index = record_count(record, "index");
    result->v = v;
    copy_text(result->repro, sizeof result->repro, record, "repro");
    return 0;
}
