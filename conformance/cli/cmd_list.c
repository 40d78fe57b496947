/* SPDX-License-Identifier: Apache-2.0 */
/* mxoracle list: what there is to judge, by whom, and what was left out. */
#include "base/cli.h"
#include "campaign.h"
#include "listing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 16 };

/* A name and words; of narrow terminals the words have lines of their own. */
static void say_row(int width, const char *name, const char *words)
{
    if (cli_is_narrow(stdout)) {
        printf("%s\n    ", name);
        cli_fold(stdout, words, 4, 4);
    } else {
        printf("%-*s %s\n", width, name, words);
    }
}

static int list_ops(const run_options *o)
{
    int n = 0;

    for (int i = 0; i < op_count(); i++) {
        const mxo_op_info *info = op_at(i)->info;
        int wanted = o->n_ops == 0;
        for (int k = 0; k < o->n_ops; k++) {
            wanted = wanted || cli_matches(o->ops[k], info->name);
        }
        if (wanted) {
            say_row(20, info->name, info->summary);
            n++;
        }
    }
    return n > 0 ? EXIT_PASS : cli_refuse("no operation matches");
}

/* Those of the command line, or all of them: nothing is left unsaid. */
static int choose(const run_options *o, backend_list *known,
                  backend_list *chosen)
{
    const int status = run_options_backends(o, known);

    if (status != EXIT_PASS) {
        return status;
    }
    if (o->n_backends > 0) {
        return run_options_choose(o, known, chosen);
    }
    *chosen = *known;
    return EXIT_PASS;
}

static void say_absent(const backend_info *info)
{
    char words[sizeof info->why_not + 16];

    (void)snprintf(words, sizeof words, "%s: %s",
                   info->absent == VERDICT_SKIP ? "left out" : "broken",
                   info->why_not);
    say_row(12, info->name, words);
}

static void say_present(const backend_ref *ref, const backend_info *info)
{
    char words[sizeof info->version + sizeof info->device + sizeof ref->path +
               64];

    (void)snprintf(words, sizeof words, "%s, %s, %s%s%s", info->version,
                   info->device, ref->linked != NULL ? "linked in" : "plugin ",
                   ref->path,
                   ref->by_default ? "" : " (only when named by -b)");
    say_row(12, info->name, words);
}

static int list_backends(const run_options *o, const backend_list *chosen)
{
    for (int i = 0; i < chosen->n; i++) {
        backend_info info;
        worker_pool *c = worker_pool_create(&chosen->ref[i], &o->pool, &info);
        if (info.why_not[0] != '\0') {
            say_absent(&info);
        } else {
            say_present(&chosen->ref[i], &info);
        }
        worker_pool_destroy(&c);
    }
    return EXIT_PASS;
}

static void say_devices(const char *name, int first, int last, const char *what)
{
    char words[1024];

    (void)snprintf(words, sizeof words, "%2d..%-2d  %s", first, last, what);
    say_row(12, name, words);
}

/* Devices 0.. until one is absent; equal neighbours share a line. */
static void list_devices_of(const run_options *o, const backend_ref *ref)
{
    worker_pool_options options = o->pool;
    backend_info info;
    char last[sizeof info.device + sizeof info.driver + 4] = "";
    int first = 0;
    int d = 0;

    for (; d < MOST_DEVICES; d++) {
        char text[sizeof last];
        options.device = d;
        worker_pool *c = worker_pool_create(ref, &options, &info);
        worker_pool_destroy(&c);
        if (info.why_not[0] != '\0') {
            break;
        }
        (void)snprintf(text, sizeof text, "%s, %s", info.device, info.driver);
        if (d > 0 && strcmp(text, last) != 0) {
            say_devices(ref->name, first, d - 1, last);
            first = d;
        }
        memcpy(last, text, sizeof last);
    }
    if (d == 0) {
        say_absent(&info);
    } else {
        say_devices(ref->name, first, d - 1, last);
    }
}

static int list_cases(const run_options *o)
{
    static const backend_list none;
    campaign_plan plan;
    const int status = campaign_plan_make(&plan, o, &none);
    const case_list cases = plan.cases;

    for (size_t i = 0; status == EXIT_PASS && i < cases.n; i++) {
        char text[CASE_TEXT];
        char why[64];
        test_case c;
        if (case_parse(&c, cases.item[i].text, (mxo_text){why, sizeof why}) ==
            0) {
            case_print(&c, o->canonical, text);
            puts(text);
        }
    }
    campaign_plan_clear(&plan);
    return status;
}

static int list_by_backend(const run_options *o, int devices)
{
    static backend_list known;
    static backend_list chosen;
    int status = choose(o, &known, &chosen);

    if (status == EXIT_PASS && !devices) {
        status = list_backends(o, &chosen);
    }
    for (int i = 0; status == EXIT_PASS && devices && i < chosen.n; i++) {
        list_devices_of(o, &chosen.ref[i]);
    }
    return status;
}

int list_things(const run_options *o, const char *what)
{
    if (strcmp(what, "ops") == 0) {
        return list_ops(o);
    }
    if (strcmp(what, "cases") == 0) {
        return list_cases(o);
    }
    return list_by_backend(o, strcmp(what, "devices") == 0);
}

int cmd_list(int argc, char **argv)
{
    static const char *const things[] = {"ops", "backends", "devices", "cases"};
    run_options o;
    cli_nearest near = {NULL, 0};
    char hint[64];
    const int status = run_options_parse(
        &o, OPTIONS_list,
        "list [ops|backends|devices|cases] [OPTION]... [CASE|@FILE]...\n\n"
        "Names what there is: operations unless another word is said.  "
        "Cases are those\nof a level's grids, of profiles, or those that are "
        "given.",
        argc, argv);

    if (status >= 0) {
        return status;
    }
    if (o.n_args == 0) {
        return list_things(&o, "ops");
    }
    for (int i = 0; i < 4; i++) {
        if (strcmp(o.args[0], things[i]) == 0) {
            o.args++;
            o.n_args--;
            return list_things(&o, things[i]);
        }
        cli_offer(&near, o.args[0], things[i]);
    }
    return cli_refuse("list knows ops, backends, devices and cases, not "
                      "%s%s",
                      o.args[0], cli_suggestion(&near, hint, sizeof hint));
}
