/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle shrink -b BACKEND CASE: the smallest case found that fails in the
 * same way (run/shrink.h).
 */
#include "base/cli.h"
#include "run/mutant_device.h"
#include "run/shrink.h"
#include "runopts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int save_line(const run_options *o, const char *text)
{
    FILE *f = fopen(o->save, "a");

    if (f == NULL || fprintf(f, "%s\n", text) < 0) {
        if (f != NULL) {
            fclose(f);
        }
        return cli_refuse("%s: %s", o->save, strerror(errno));
    }
    return fclose(f) == 0 ? EXIT_PASS
                          : cli_refuse("%s: %s", o->save, strerror(errno));
}

static int conclude(const shrinking *h, const run_options *o,
                    const backend_ref *ref)
{
    char text[CASE_TEXT];

    case_print(&h->best, 0, text);
    cli_line(stdout, 2,
             "%" PRIu64 " cases tried, %" PRIu64 " steps kept; still: %s",
             h->n_tried, h->n_kept, h->kind);
    if (h->n_hangs >= SHRINK_HANGS) {
        cli_line(stdout, 2,
                 "%d calls hung, each for all of --timeout: no more are asked, "
                 "and the case may not be the smallest",
                 SHRINK_HANGS);
    }
    char option[2 * BACKEND_COMMAND];

    device_option(ref, o->pool.device, option, sizeof option);
    printf("repro: mxoracle run %s%s%s --seed=%" PRIu64 " %s\n", option,
           h->beside[0] == '\0' ? "" : " --beside=", h->beside, o->seed, text);
    return o->save == NULL ? EXIT_PASS : save_line(o, text);
}

static int hunt_down(shrinking *h, const run_options *o, const backend_ref *ref,
                     const char *name)
{
    char why[512];

    if (o->args[0][0] == '@') {
        return cli_refuse("shrink takes one case, not a file of them");
    }
    if (case_parse(&h->best, o->args[0], (mxo_text){why, sizeof why}) != 0) {
        return cli_refuse("%s", why);
    }
    progress p;

    progress_begin(&p, 0, o->verbose >= 0);
    progress_tick(&p);
    h->progress = &p;
    const verdict_status status = shrink_case(h);

    progress_end(&p);

    if (!verdict_is_red(status)) {
        return cli_refuse("%s does not fail on %s (%s)", o->args[0], name,
                          verdict_name(status));
    }
    return conclude(h, o, ref);
}

static int with_backend(const run_options *o, const backend_ref *ref)
{
    worker_pool_options options = o->pool;
    backend_info info;
    shrinking h;
    int status;

    if (options.isolate == ISOLATE_AUTO) {
        options.isolate = ISOLATE_BATCH;
    }
    memset(&h, 0, sizeof h);
    h.seed = o->seed;
    memcpy(h.beside, o->pool.beside, sizeof h.beside);
    h.c = worker_pool_create(ref, &options, &info);
    if (info.why_not[0] != '\0') {
        status = cli_refuse("%s: %s", info.name, info.why_not);
    } else {
        status = hunt_down(&h, o, ref, info.name);
    }
    worker_pool_destroy(&h.c);
    return status;
}

int cmd_shrink(int argc, char **argv)
{
    run_options o;
    int status = run_options_parse(
        &o, OPTIONS_shrink,
        "shrink [OPTION]... CASE\n\n"
        "The smallest case found that fails in the same way on one backend.",
        argc, argv);
    static backend_list known;
    static backend_list chosen;

    if (status >= 0) {
        return status;
    }
    if (o.n_args != 1 || o.n_backends + o.n_plugins + o.n_commands < 1) {
        return cli_refuse("shrink needs one backend (-b, --plugin or --exec) "
                          "and one case");
    }
    status = run_options_backends(&o, &known);
    if (status == EXIT_PASS) {
        status = run_options_choose(&o, &known, &chosen);
    }
    if (status == EXIT_PASS) {
        status = chosen.n == 1 ? with_backend(&o, &chosen.ref[0])
                               : cli_refuse("shrink needs exactly one backend");
    }
    return status;
}
