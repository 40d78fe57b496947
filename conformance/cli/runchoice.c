/* SPDX-License-Identifier: Apache-2.0 */
/* Choice by a run's options: backends, operations, cases. */
#include "runopts.h"

#include "base/cli.h"
#include "data/fill.h"
#include "profiles/profile_cases.h"
#include "run/open_judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What one calls itself is shown from now on. */
static void learn_name(const run_options *o, backend_list *known, int i)
{
    const open_options how = {.device = o->pool.device,
                              .timeout_s = o->pool.timeout_s};
    backend_ref *ref = &known->ref[i];
    opened_judge opened;
    char why[512];

    if (opened_judge_open(&opened, ref, &how, (mxo_text){why, sizeof why}) ==
        MXO_OK) {
        backends_show(known, i, opened.j.subject.table->name);
        opened_judge_close(&opened);
    } else if (ref->is_given) {
        (void)snprintf(ref->nameless, sizeof ref->nameless, "%.250s", why);
    }
}

/* Does a pattern name it, by its file or by what it is shown as? */
static int is_named(const backend_ref *ref, const char *pattern)
{
    return cli_matches(pattern, ref->name) ||
           (ref->shown[0] != '\0' && cli_matches(pattern, ref->shown));
}

/* Is this NAME-2, or of a higher number, and nobody's so far? */
static int is_number_of_none(const backend_list *known, const char *pattern)
{
    const char *dash = strrchr(pattern, '-');

    for (int i = 0; i < known->n; i++) {
        if (is_named(&known->ref[i], pattern)) {
            return 0;
        }
    }
    return dash != NULL && dash[1] != '\0' &&
           dash[1 + strspn(dash + 1, "0123456789")] == '\0';
}

/* -b may say what a plugin or a program calls itself: it is asked; vectors are
   judged under that name.  Where one is the second of its name behind one of
   the plugin folder, those are asked as well. */
static void learn_names(const run_options *o, backend_list *known)
{
    int is_numbered = 0;

    for (int i = 0; i < known->n; i++) {
        if (known->ref[i].is_given) {
            learn_name(o, known, i);
        }
    }
    for (int k = 0; k < o->n_backends; k++) {
        is_numbered |= is_number_of_none(known, o->backends[k]);
    }
    for (int i = 0; is_numbered && i < known->n; i++) {
        known->ref[i].shown[0] = '\0';
    }
    for (int i = 0; is_numbered && i < known->n; i++) {
        if (known->ref[i].path[0] != '\0' || known->ref[i].is_given) {
            learn_name(o, known, i);
        }
    }
}

int run_options_backends(const run_options *o, backend_list *known)
{
    char why[512];

    if (!backends_folders_exist((mxo_text){why, sizeof why})) {
        return cli_refuse("%s", why);
    }
    backends_known(known);
    for (int i = 0; i < o->n_plugins; i++) {
        if (access(o->plugins[i], R_OK) != 0) {
            return cli_refuse("--plugin=%s cannot be read", o->plugins[i]);
        }
        if (!backends_is_library(o->plugins[i])) {
            return cli_refuse("--plugin=%s is not a shared library",
                              o->plugins[i]);
        }
        backend_ref *ref = backends_add_plugin(known, o->plugins[i]);
        if (ref == NULL) {
            return cli_refuse("there are more than %d backends", BACKEND_MAX);
        }
        ref->global_symbols = o->global_symbols;
    }
    for (int i = 0; i < o->n_commands; i++) {
        if (o->commands[i][strspn(o->commands[i], " \t\n")] == '\0') {
            return cli_refuse("--exec has no command");
        }
        if (backends_add_command(known, o->commands[i]) == NULL) {
            return cli_refuse("--exec takes up to %d bytes, and there are up "
                              "to %d backends",
                              BACKEND_COMMAND - 1, BACKEND_MAX);
        }
    }
    if (o->n_backends > 0 || o->vectors) {
        learn_names(o, known);
    }
    return EXIT_PASS;
}

static int is_chosen(const run_options *o, const backend_list *known, int i)
{
    for (int k = 0; k < o->n_backends; k++) {
        if (is_named(&known->ref[i], o->backends[k])) {
            return 1;
        }
    }
    if (o->n_backends > 0) {
        return 0;
    }
    return o->n_plugins + o->n_commands > 0 ? known->ref[i].is_given
                                            : known->ref[i].by_default;
}

/* By path or command; NULL. */
static const backend_ref *first_given(const backend_list *l)
{
    int i = 0;

    while (i < l->n && !l->ref[i].is_given) {
        i++;
    }
    return i == l->n ? NULL : &l->ref[i];
}

/* Who gives a plugin wants one judged. */
static int refuse_unnamed(const backend_ref *ref)
{
    char option[2 * BACKEND_COMMAND];

    backend_option(ref, option, sizeof option);
    if (ref->nameless[0] != '\0') {
        return cli_refuse("no -b is known to name %s, which does not say what "
                          "it is called: %s",
                          option, ref->nameless);
    }
    return cli_refuse("%s is named by no -b; it is called %s", option,
                      ref->shown[0] == '\0' ? ref->name : ref->shown);
}

/* It may be what a plugin or a program calls itself that could not be asked. */
static int refuse_unknown(const backend_list *known, const char *pattern)
{
    cli_nearest near = {NULL, 0};
    char hint[96];

    for (int i = 0; i < known->n; i++) {
        if (known->ref[i].nameless[0] != '\0') {
            return refuse_unnamed(&known->ref[i]);
        }
        cli_offer(&near, pattern, known->ref[i].name);
    }
    return cli_refuse("no backend matches %s%s", pattern,
                      cli_suggestion(&near, hint, sizeof hint));
}

int run_options_choose(const run_options *o, const backend_list *known,
                       backend_list *chosen)
{
    backends_none(chosen);
    for (int i = 0; i < known->n; i++) {
        if (is_chosen(o, known, i)) {
            chosen->ref[chosen->n++] = known->ref[i];
        }
    }
    for (int k = 0; k < o->n_backends; k++) {
        int n = 0;
        for (int i = 0; i < known->n; i++) {
            n += is_named(&known->ref[i], o->backends[k]);
        }
        if (n == 0) {
            return refuse_unknown(known, o->backends[k]);
        }
    }
    const backend_ref *given = first_given(known);

    if (given != NULL && first_given(chosen) == NULL) {
        return refuse_unnamed(given);
    }
    return chosen->n > 0 ? EXIT_PASS
                         : cli_refuse("no backend besides the emulator was "
                                      "built; -b emu judges it against "
                                      "itself");
}

static int check_ops(const run_options *o)
{
    char hint[96];

    for (int k = 0; k < o->n_ops; k++) {
        cli_nearest near = {NULL, 0};
        int n = 0;
        for (int i = 0; i < op_count(); i++) {
            n += cli_matches(o->ops[k], op_at(i)->info->name);
            cli_offer(&near, o->ops[k], op_at(i)->info->name);
        }
        if (n == 0) {
            return cli_refuse("no operation matches %s%s", o->ops[k],
                              cli_suggestion(&near, hint, sizeof hint));
        }
    }
    return EXIT_PASS;
}

static int add_argument(case_list *cases, const char *arg, uint64_t seed)
{
    char why[512];
    const mxo_text text = {why, sizeof why};
    char spelled[CASE_TEXT];
    test_case c;

    if (arg[0] == '@') {
        return grid_read_file(cases, arg + 1, seed, text) == 0
                   ? EXIT_PASS
                   : cli_refuse("%s", why);
    }
    if (case_parse(&c, arg, text) != 0 || fill_check_memory(&c, text) != 0) {
        return cli_refuse("%s", why);
    }
    case_print(&c, 0, spelled);
    case_list_add(cases, spelled, seed);
    return EXIT_PASS;
}

int run_options_cases(const run_options *o, case_list *cases)
{
    char why[512];
    int status = check_ops(o);

    for (uint64_t r = 0; status == EXIT_PASS && r < o->repeat; r++) {
        const uint64_t seed = o->seed + r;
        for (int i = 0; status == EXIT_PASS && i < o->n_args; i++) {
            status = add_argument(cases, o->args[i], seed);
        }
        for (int i = 0; status == EXIT_PASS && i < o->n_profiles; i++) {
            status = profile_cases_append(cases, o->profiles[i], seed);
        }
        if (status == EXIT_PASS && o->n_profiles == 0 && o->n_args == 0 &&
            grid_append(cases, o->level, o->ops, (size_t)o->n_ops, seed,
                        (mxo_text){why, sizeof why}) != 0) {
            fprintf(stderr, "mxoracle: a grid is at fault: %s\n", why);
            status = EXIT_BROKEN;
        }
    }
    return status == EXIT_PASS && cases->n == 0 ? cli_refuse("no case matches")
                                                : status;
}

static int matches_any(char *const patterns[], int n, const char *name)
{
    int found = n == 0;

    for (int i = 0; i < n; i++) {
        found |= cli_matches(patterns[i], name);
    }
    return found;
}

int run_options_wants(const run_options *o, const char *backend, const char *op)
{
    return matches_any(o->backends, o->n_backends, backend) &&
           matches_any(o->ops, o->n_ops, op) &&
           (o->n_excludes == 0 || !matches_any(o->excludes, o->n_excludes, op));
}

static int is_known(const backend_list *known, const char *backend)
{
    int found = 0;

    for (int i = 0; i < known->n; i++) {
        found |= strcmp(known->ref[i].name, backend) == 0;
    }
    return found;
}

static int is_op(const char *name)
{
    int found = 0;

    for (int i = 0; i < op_count(); i++) {
        found |= strcmp(op_at(i)->info->name, name) == 0;
    }
    return found;
}

int run_options_check_baseline(const run_options *o, const backend_list *known,
                               const baseline *b)
{
    for (size_t i = 0; i < b->n; i++) {
        const baseline_entry *e = &b->entry[i];
        char why[512];
        test_case c;
        /* The name of a subject that is given is known only to the subject. */
        if (o != NULL && o->n_plugins + o->n_commands == 0 &&
            !is_known(known, e->backend)) {
            return cli_refuse("%s:%u: there is no backend %s", b->path, e->line,
                              e->backend);
        }
        if (e->is_cover && !is_op(e->op)) {
            return cli_refuse("%s:%u: there is no operation %s", b->path,
                              e->line, e->op);
        }
        if (!e->is_cover &&
            case_parse(&c, e->case_text, (mxo_text){why, sizeof why}) != 0) {
            return cli_refuse("%s:%u: %s", b->path, e->line, why);
        }
    }
    return EXIT_PASS;
}

int run_options_color(const run_options *o, FILE *stream)
{
    return o->color != 0 ? o->color > 0 : cli_color(stream);
}
