/* SPDX-License-Identifier: Apache-2.0 */
/* See changes.h. */
#include "changes.h"

#include "base/strbuf.h"

#include <inttypes.h>
#include <string.h>

enum { KEY = 4096, LISTED = 20 };

static const double least_ms = 1; /* error of a clock */

typedef enum change {
    NEW_RED,
    FIXED,
    CHANGED, /* red then and now, in another way */
    NEW_CASE,
    GONE_CASE,
    OTHER, /* neither red: skipped then, judged now, or the reverse */
    SLOWER,
    N_CHANGES
} change;

static const char *const titles[N_CHANGES] = {
    "newly red",  "no longer red",  "red otherwise", "new cases",
    "cases gone", "another status", "slower",
};

typedef struct lists {
    uint64_t n[N_CHANGES];
    strbuf text[N_CHANGES];
} lists;

static void key_of(char key[KEY], const json_t *o)
{
    (void)snprintf(key, KEY, "%s  seed %" PRIu64 "  %s",
                   record_text(o, "backend"), record_count(o, "seed"),
                   record_text(o, "case"));
}

/* Places of cases by their keys. */
static json_t *by_key(const stored_run *run)
{
    json_t *map = json_object();
    char key[KEY];

    for (size_t i = 0; i < run->n_cases; i++) {
        json_t *record = stored_record(run, i);
        key_of(key, record);
        json_object_set_new(map, key, json_integer((json_int_t)i));
        json_decref(record);
    }
    return map;
}

static json_t *record_at(const stored_run *run, const json_t *place)
{
    return place == NULL
               ? NULL
               : stored_record(run, (size_t)json_integer_value(place));
}

static void add(lists *l, change c, const char *key, const char *note)
{
    if (l->n[c]++ < LISTED) {
        strbuf_add(&l->text[c], "  %s%s%s\n", key, note[0] == '\0' ? "" : "  ",
                   note);
    }
}

static int is_red(const json_t *o)
{
    verdict_status status;

    return verdict_by_name(record_text(o, "status"), &status) == 0 &&
           verdict_is_red(status);
}

static void compare(lists *l, const char *key, const json_t *now,
                    const json_t *old, double slower)
{
    const char *a = record_text(old, "status");
    const char *b = record_text(now, "status");
    const double then_ms = json_real_value(json_object_get(old, "ms"));
    const double ms = json_real_value(json_object_get(now, "ms"));
    char note[600];

    if (is_red(now) && !is_red(old)) {
        (void)snprintf(note, sizeof note, "was %s: %.512s", a,
                       record_text(now, "reason"));
        add(l, NEW_RED, key, note);
    } else if (!is_red(now) && is_red(old)) {
        (void)snprintf(note, sizeof note, "is %s", b);
        add(l, FIXED, key, note);
    } else if (is_red(now) &&
               (strcmp(a, b) != 0 || strcmp(record_text(now, "reason"),
                                            record_text(old, "reason")) != 0)) {
        add(l, CHANGED, key, record_text(now, "reason"));
    } else if (strcmp(a, b) != 0) {
        (void)snprintf(note, sizeof note, "was %s, is %s", a, b);
        add(l, OTHER, key, note);
    }
    if (ms > slower * then_ms && ms > then_ms + least_ms && then_ms > 0) {
        (void)snprintf(note, sizeof note, "%.3g ms, was %.3g ms", ms, then_ms);
        add(l, SLOWER, key, note);
    }
}

static void print(FILE *out, lists *l)
{
    uint64_t n = 0;

    fputs("\nsince the older run:\n", out);
    for (int c = 0; c < N_CHANGES; c++) {
        n += l->n[c];
        if (l->n[c] > 0) {
            fprintf(out, "%s: %" PRIu64 "\n%s", titles[c], l->n[c],
                    strbuf_text(&l->text[c]));
        }
        if (l->n[c] > LISTED) {
            fprintf(out, "  and %" PRIu64 " more\n", l->n[c] - LISTED);
        }
        strbuf_clear(&l->text[c]);
    }
    if (n == 0) {
        fputs("nothing has changed\n", out);
    }
}

static void compare_case(lists *l, const char *key, const json_t *now,
                         const json_t *old, double slower)
{
    if (now == NULL) {
        add(l, GONE_CASE, key, is_red(old) ? "was red" : "");
    } else if (old == NULL) {
        add(l, is_red(now) ? NEW_RED : NEW_CASE, key,
            is_red(now) ? record_text(now, "reason") : "");
    } else {
        compare(l, key, now, old, slower);
    }
}

void changes_print(FILE *out, const stored_run *now, const stored_run *old,
                   double slower)
{
    json_t *before = by_key(old);
    json_t *after = by_key(now);
    lists l;
    const char *key;
    json_t *place;

    memset(&l, 0, sizeof l);
    json_object_foreach(after, key, place)
    {
        json_t *a = record_at(now, place);
        json_t *b = record_at(old, json_object_get(before, key));
        compare_case(&l, key, a, b, slower);
        json_decref(a);
        json_decref(b);
    }
    json_object_foreach(before, key, place)
    {
        if (json_object_get(after, key) == NULL) {
            json_t *b = record_at(old, place);
            compare_case(&l, key, NULL, b, slower);
            json_decref(b);
        }
    }
    print(out, &l);
    json_decref(before);
    json_decref(after);
}
