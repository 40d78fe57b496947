/* SPDX-License-Identifier: Apache-2.0 */
/* See lost.h. */
#include "lost.h"

#include "base/cli.h"
#include "base/strbuf.h"
#include "campaign.h"
#include "run/mutant_device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY = BACKEND_NAME + CASE_TEXT };

static void add(json_t **set, const char *key)
{
    *set = *set == NULL ? json_object() : *set;
    (void)json_object_set_new(*set, key, json_true());
}

static void key_of(char key[KEY], const char *backend, const char *case_text)
{
    (void)snprintf(key, KEY, "%s %s", backend, case_text);
}

static void spell(const char *case_text, char full[CASE_TEXT])
{
    if (case_spell(case_text, full) != 0) {
        (void)snprintf(full, CASE_TEXT, "%s", case_text);
    }
}

void lost_see_case(lost *l, const char *case_text)
{
    char full[CASE_TEXT];

    if (json_object_size(l->expected->by_case) > 0) {
        spell(case_text, full);
        add(&l->seen, full);
    }
}

void lost_see_line(lost *l, const char *backend, const char *case_text)
{
    char key[KEY];

    key_of(key, backend, case_text);
    add(&l->seen, key);
}

/* Cases of all levels: their draws depend on the seed. */
static json_t *read_grid(char *op, uint64_t seed)
{
    json_t *set = json_object();
    case_list cases = {0};
    char why[512];
    char full[CASE_TEXT];

    if (grid_append(&cases, GRID_LEVELS, &op, 1, seed,
                    (mxo_text){why, sizeof why}) != 0) {
        (void)fprintf(stderr, "mxoracle: a grid is at fault: %s\n", why);
    }
    for (size_t i = 0; i < cases.n; i++) {
        spell(cases.item[i].text, full);
        add(&set, full);
    }
    case_list_clear(&cases);
    return set;
}

static void op_of(const char *case_text, char op[OP_WORD])
{
    (void)snprintf(op, OP_WORD, "%.*s", (int)strcspn(case_text, ":"),
                   case_text);
}

static int is_in_a_grid(lost *l, const char *case_text, uint64_t seed)
{
    char op[OP_WORD];
    char key[OP_WORD + 32];
    char full[CASE_TEXT];

    op_of(case_text, op);
    (void)snprintf(key, sizeof key, "%s %" PRIu64, op, seed);
    l->grids = l->grids == NULL ? json_object() : l->grids;
    if (json_object_get(l->grids, key) == NULL) {
        (void)json_object_set_new(l->grids, key, read_grid(op, seed));
    }
    spell(case_text, full);
    return json_object_get(json_object_get(l->grids, key), full) != NULL;
}

/* "1" or "1..4" */
static int has_seed(const char *seeds, uint64_t seed)
{
    char *dots;
    const uint64_t first = strtoull(seeds, &dots, 10);
    const uint64_t last = dots[0] == '.' ? strtoull(dots + 2, NULL, 10) : first;

    return seed >= first && seed <= last;
}

/* Subjects that are given and no patterns: those alone are asked. */
static int wants_backend(const lost *l, const char *backend)
{
    const run_options *o = l->options;

    for (int i = 0; i < l->n_asked; i++) {
        if (strcmp(l->infos[i].name, backend) == 0) {
            return 1;
        }
    }
    return o == NULL || o->n_backends > 0 || o->n_plugins + o->n_commands == 0;
}

static int wants(const lost *l, const baseline_entry *e)
{
    char op[OP_WORD];

    op_of(e->is_cover ? e->op : e->case_text, op);
    if (!wants_backend(l, e->backend) ||
        (!e->is_cover && !has_seed(l->run->seeds, e->seed))) {
        return 0;
    }
    return l->options == NULL ||
           (run_options_wants(l->options, e->backend, op) &&
            (e->is_cover || !campaign_excludes(l->options, e->case_text)));
}

/* The options that choose it where it was judged. */
static void add_backend(const lost *l, const char *backend, strbuf *line)
{
    char option[2 * BACKEND_COMMAND];

    for (int i = 0; l->chosen != NULL && i < l->n_asked; i++) {
        if (strcmp(l->infos[i].name, backend) == 0) {
            device_option(&l->chosen->ref[i], l->options->pool.device, option,
                          sizeof option);
            strbuf_add(line, " %s", option);
            return;
        }
    }
    strbuf_add(line, " -b %s", backend);
}

/* Those patterns of --exclude that leave out cases of the operation: one that
   meets nothing is refused. */
static void add_excludes(const run_options *o, const char *op, strbuf *line)
{
    run_options one = *o;
    char name[OP_WORD];
    char word[REPORT_PATH];
    case_list cases = {0};

    (void)snprintf(name, sizeof name, "%s", op);
    one.ops[0] = name;
    one.n_ops = 1;
    one.n_excludes = 1;
    (void)run_options_cases(&one, &cases);
    for (int k = 0; k < o->n_excludes; k++) {
        size_t i = 0;
        one.excludes[0] = o->excludes[k];
        while (i < cases.n && !campaign_excludes(&one, cases.item[i].text)) {
            i++;
        }
        if (i < cases.n) {
            cli_quote(" --exclude=", o->excludes[k], word, sizeof word);
            strbuf_add(line, "%s", word);
        }
    }
    case_list_clear(&cases);
}

/* The run of that backend and operation, which loses as much. */
static void write_repro(const lost *l, const char *backend, const char *op,
                        report_result *r)
{
    strbuf line = {NULL, 0, 0};
    char word[REPORT_PATH];

    strbuf_add(&line, "mxoracle run");
    add_backend(l, backend, &line);
    strbuf_add(&line, " -o %s", op);
    if (l->run->level > 0) {
        strbuf_add(&line, " --level=%d", l->run->level);
    }
    strbuf_add(&line, " --seed%s=%s",
               strchr(l->run->seeds, '.') != NULL ? "s" : "", l->run->seeds);
    if (l->options != NULL && l->options->n_excludes > 0) {
        add_excludes(l->options, op, &line);
    }
    cli_quote(" --baseline=", l->expected->path, word, sizeof word);
    strbuf_add(&line, "%s", word);
    (void)snprintf(r->repro, sizeof r->repro, "%s", strbuf_text(&line));
    strbuf_clear(&line);
}

static void say(lost *l, report_result *r, const char *backend)
{
    char key[KEY];

    key_of(key, backend, r->case_text);
    if (json_object_get(l->seen, key) != NULL) {
        return;
    }
    r->n_cases = 1;
    r->judged = r->v->status;
    r->backend = report_run_backend(l->run, l->infos, backend);
    l->report(l->state, r);
}

static void report_coverage(lost *l)
{
    for (size_t i = 0; i < l->expected->n; i++) {
        const baseline_entry *e = &l->expected->entry[i];
        verdict v;
        report_result r = {.case_text = e->op, .has_no_seed = 1, .v = &v};
        if (wants(l, e) && baseline_lost(l->expected, i, l->counts, &v)) {
            write_repro(l, e->backend, e->op, &r);
            say(l, &r, e->backend);
        }
    }
}

/* Cases of a run that was given them by name are of no grid. */
static void report_cases(lost *l)
{
    for (size_t i = 0; l->run->level > 0 && i < l->expected->n; i++) {
        const baseline_entry *e = &l->expected->entry[i];
        verdict v = {.status = VERDICT_PASS};
        char op[OP_WORD];
        char full[CASE_TEXT];
        if (e->is_cover || !wants(l, e)) {
            continue;
        }
        spell(e->case_text, full);
        if (json_object_get(l->seen, full) != NULL ||
            is_in_a_grid(l, e->case_text, e->seed)) {
            continue;
        }
        report_result r = {.case_text = e->case_text, .seed = e->seed, .v = &v};
        baseline_lost_case(l->expected, i, &v);
        op_of(e->case_text, op);
        write_repro(l, e->backend, op, &r);
        say(l, &r, e->backend);
    }
}

void lost_report(lost *l)
{
    report_coverage(l);
    report_cases(l);
}

void lost_clear(lost *l)
{
    json_decref(l->seen);
    json_decref(l->grids);
    l->seen = l->grids = NULL;
}
