/* SPDX-License-Identifier: Apache-2.0 */
/* See changes.h. */
#include "changes.h"

#include "base/grown.h"
#include "base/memory.h"
#include "base/say.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LISTED = 20 };

static const double least_ms = 1; /* error of a clock */

static const struct {
    const char *word;
    const char *title;
} names[N_CHANGES] = {
    [CHANGE_NEWLY_RED] = {"newly_red", "newly red"},
    [CHANGE_NO_LONGER_RED] = {"no_longer_red", "no longer red"},
    [CHANGE_RED_OTHERWISE] = {"red_otherwise", "red otherwise"},
    [CHANGE_NEW] = {"new", "new cases"},
    [CHANGE_GONE] = {"gone", "cases gone"},
    [CHANGE_ANOTHER_STATUS] = {"another_status", "another status"},
    [CHANGE_SLOWER] = {"slower", "slower"},
};

const char *change_word(change_kind kind)
{
    return names[kind].word;
}

const char *change_title(change_kind kind)
{
    return names[kind].title;
}

int changes_begin(changes *c)
{
    int bad = 0;

    c->before = json_object();
    c->is_met = memory_need_zeros(c->old->n_cases + 1, 1);
    for (size_t i = 0; i < c->old->n_cases; i++) {
        json_t *record = stored_record(c->old, i);
        char *key = record_case_key(record_text(record, "backend"),
                                    record_count(record, "seed"),
                                    record_text(record, "case"));
        bad |= json_object_set_new(c->before, key,
                                   json_integer((json_int_t)i)) != 0;
        free(key);
        json_decref(record);
    }
    return bad ? -1 : 0;
}

/* Case i of the older run, held against the same baseline. */
static void read_old(const changes *c, const json_t *record, report_result *r,
                     verdict *v, backend_info *who)
{
    memset(who, 0, sizeof *who);
    if (record_read(record, r, v) != 0) {
        return; /* all were read once already */
    }
    say_copy(who->name, sizeof who->name, record_text(record, "backend"));
    r->backend = who;
    if (c->expected != NULL) {
        baseline_judge(c->expected, r, v);
    }
}

static void add(changes *c, change_kind kind, const report_result *now,
                const report_result *old)
{
    const report_result *r = now != NULL ? now : old;

    c->count[kind]++;
    c->item = grown(c->item, c->n, sizeof *c->item);
    c->item[c->n++] = (change){
        .kind = kind,
        .backend = memory_need_text(r->backend->name),
        .case_text = memory_need_text(r->case_text),
        .reason = memory_need_text(r->v->reason),
        .seed = r->seed,
        .has_no_seed = r->has_no_seed,
        .was = old == NULL ? N_VERDICTS : old->v->status,
        .is = now == NULL ? N_VERDICTS : now->v->status,
        .was_ms = old == NULL ? 0 : old->v->ms,
        .ms = now == NULL ? 0 : now->v->ms,
    };
}

/* How much of the reason is of what was judged: of the line of a baseline none,
   or what stands before the line is named. */
static size_t judged_part(const verdict *v)
{
    return strcmp(v->kind, "lost case") == 0       ? 0
           : strcmp(v->kind, "lost coverage") == 0 ? strcspn(v->reason, ",")
                                                   : strlen(v->reason);
}

/* Of a failure that a baseline expected the kind alone is left. */
static int has_no_sentence(const verdict *v)
{
    return strcmp(v->reason,
                  v->kind[0] == '\0' ? verdict_name(v->status) : v->kind) == 0;
}

/* What was judged, without what the baselines of both made of it. */
static int is_red_alike(report_result now, report_result old)
{
    verdict a = *now.v; /* whose own texts stay where they are */
    verdict b = *old.v;

    baseline_undo(&now, &a);
    baseline_undo(&old, &b);
    const size_t n = judged_part(&a);

    return a.status == b.status && strcmp(a.kind, b.kind) == 0 &&
           (has_no_sentence(&a) || has_no_sentence(&b) ||
            (n == judged_part(&b) && strncmp(a.reason, b.reason, n) == 0));
}

/* How the status has changed; N_CHANGES: it has not. */
static change_kind compare(const report_result *now, const report_result *old)
{
    const int is_red = verdict_is_red(now->v->status);
    const int was_red = verdict_is_red(old->v->status);

    if (is_red != was_red) {
        return is_red ? CHANGE_NEWLY_RED : CHANGE_NO_LONGER_RED;
    }
    if (is_red) {
        return is_red_alike(*now, *old) ? N_CHANGES : CHANGE_RED_OTHERWISE;
    }
    return now->v->status == old->v->status ? N_CHANGES : CHANGE_ANOTHER_STATUS;
}

static int is_slower(const changes *c, const verdict *now, const verdict *old)
{
    return now->ms > c->slower * old->ms && now->ms > old->ms + least_ms &&
           old->ms > 0;
}

static void take_both(changes *c, const report_result *now,
                      const report_result *old, char *text, size_t size)
{
    const change_kind kind = compare(now, old);
    const int slower = is_slower(c, now->v, old->v);

    if (kind != N_CHANGES) {
        add(c, kind, now, old);
    }
    if (slower) {
        add(c, CHANGE_SLOWER, now, old);
    }
    (void)snprintf(text, size, "%s%s%s",
                   kind == N_CHANGES ? "" : change_title(kind),
                   kind != N_CHANGES && slower ? ", " : "",
                   slower ? change_title(CHANGE_SLOWER) : "");
}

void changes_take(changes *c, const report_result *r, char *text, size_t size)
{
    char *key = record_case_key(r->backend->name, r->seed, r->case_text);
    const json_t *place = json_object_get(c->before, key);

    free(key);

    if (place == NULL) {
        const change_kind kind =
            verdict_is_red(r->v->status) ? CHANGE_NEWLY_RED : CHANGE_NEW;
        add(c, kind, r, NULL);
        (void)snprintf(text, size, "%s",
                       kind == CHANGE_NEW ? "new" : change_title(kind));
        return;
    }
    const size_t i = (size_t)json_integer_value(place);
    json_t *record = stored_record(c->old, i);
    report_result old;
    verdict v;
    backend_info who;

    read_old(c, record, &old, &v, &who);
    take_both(c, r, &old, text, size);
    c->is_met[i] = 1;
    verdict_clear(&v);
    json_decref(record);
}

void changes_end(changes *c)
{
    const char *key;
    json_t *place;

    json_object_foreach(c->before, key, place)
    {
        const size_t i = (size_t)json_integer_value(place);
        if (c->is_met[i]) {
            continue;
        }
        json_t *record = stored_record(c->old, i);
        report_result old;
        verdict v;
        backend_info who;
        read_old(c, record, &old, &v, &who);
        add(c, CHANGE_GONE, NULL, &old);
        verdict_clear(&v);
        json_decref(record);
    }
}

static void print_one(FILE *out, const change *c)
{
    fprintf(out, "  %s  ", c->backend);
    if (!c->has_no_seed) {
        fprintf(out, "seed %" PRIu64 "  ", c->seed);
    }
    fputs(c->case_text, out);
    if (c->kind == CHANGE_SLOWER) {
        fprintf(out, "  %.3g ms, was %.3g ms", c->ms, c->was_ms);
    } else if (c->kind == CHANGE_NEWLY_RED && c->was != N_VERDICTS) {
        fprintf(out, "  was %s: %s", verdict_name(c->was), c->reason);
    } else if (c->kind == CHANGE_NO_LONGER_RED) {
        fprintf(out, "  is %s", verdict_name(c->is));
    } else if (c->kind == CHANGE_NEWLY_RED || c->kind == CHANGE_RED_OTHERWISE) {
        fprintf(out, "  %s", c->reason);
    } else if (c->kind == CHANGE_ANOTHER_STATUS) {
        fprintf(out, "  was %s, is %s", verdict_name(c->was),
                verdict_name(c->is));
    } else if (c->kind == CHANGE_GONE && verdict_is_red(c->was)) {
        fputs("  was red", out);
    }
    fputc('\n', out);
}

void changes_print(FILE *out, const changes *c)
{
    fputs("\nsince the older run:\n", out);
    for (int kind = 0; kind < N_CHANGES; kind++) {
        uint64_t n = 0;
        if (c->count[kind] > 0) {
            fprintf(out, "%s: %" PRIu64 "\n", names[kind].title,
                    c->count[kind]);
        }
        for (size_t i = 0; i < c->n; i++) {
            if ((int)c->item[i].kind == kind && n++ < LISTED) {
                print_one(out, &c->item[i]);
            }
        }
        if (n > LISTED) {
            fprintf(out, "  and %" PRIu64 " more\n", n - LISTED);
        }
    }
    if (c->n == 0) {
        fputs("nothing has changed\n", out);
    }
}

void changes_clear(changes *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->item[i].backend);
        free(c->item[i].case_text);
        free(c->item[i].reason);
    }
    free(c->item);
    free(c->is_met);
    json_decref(c->before);
    memset(c, 0, sizeof *c);
}
