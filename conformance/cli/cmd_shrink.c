/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle shrink -b BACKEND CASE: the smallest case found that fails in the
 * same way.  Dimensions go down to the smallest legal size, parameters to
 * their defaults, then data is blanked from both ends; a step is kept only if
 * the kind of failure stays.
 */
#include "base/cli.h"
#include "case/case_shape.h"
#include "data/fill.h"
#include "runopts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct hunt {
    crew *c;
    uint64_t seed;
    test_case best;
    char kind[sizeof((verdict *)0)->kind];
    uint64_t n_tried;
    uint64_t n_kept;
} hunt;

/* Does the candidate fail in the same way?  Then it becomes the best. */
static int keep_if_same(hunt *h, const test_case *candidate)
{
    char text[CASE_TEXT];
    verdict v;
    int same;

    case_print(candidate, 0, text);
    h->n_tried++;
    if (crew_case(h->c, text, h->seed, &v) != 0) {
        return 0;
    }
    same = verdict_is_red(v.status) && strcmp(v.kind, h->kind) == 0;
    verdict_clear(&v);
    if (same) {
        h->best = *candidate;
        h->n_kept++;
    }
    return same;
}

/* A dimension a third of the way and below, on several granules. */
static int shrink_dim(hunt *h, int dim)
{
    static const uint64_t granules[] = {128, 64, 32, 16, 8, 4, 2, 1};
    const uint64_t now = h->best.dim[dim];

    for (uint64_t part = 2; part <= 16; part *= 2) {
        /* The smallest first: 1/16, 1/8, 1/4, 1/2. */
        const uint64_t target = now / (32 / part);
        for (size_t g = 0; g < sizeof granules / sizeof granules[0]; g++) {
            test_case c = h->best;
            case_resize(&c, dim, target / granules[g] * granules[g]);
            if (c.dim[dim] > 0 && c.dim[dim] < now && keep_if_same(h, &c)) {
                return 1;
            }
        }
    }
    for (uint64_t less = 32; less > 0; less /= 32) {
        test_case c = h->best;
        case_resize(&c, dim, now > less ? now - less : now);
        if (c.dim[dim] < now && keep_if_same(h, &c)) {
            return 1;
        }
    }
    return 0;
}

static void shrink_dims(hunt *h)
{
    int changed = 1;

    while (changed) {
        changed = 0;
        for (int d = 0; d < h->best.schema->n_dims; d++) {
            while (case_uses_dim(&h->best, d) && shrink_dim(h, d)) {
                changed = 1;
            }
        }
    }
}

static void shrink_params(hunt *h)
{
    char why[128];

    for (int i = 0; i < h->best.schema->n_params; i++) {
        const op_param *p = &h->best.schema->params[i];
        test_case c = h->best;
        if (strcmp(c.value[i], p->standard) != 0 &&
            case_set(&c, p->key, p->standard, (mxo_text){why, sizeof why}) ==
                0) {
            (void)keep_if_same(h, &c);
        }
    }
}

/* Elements of the first input of the case; 0 if it cannot be filled. */
static uint64_t first_elems(const hunt *h)
{
    tensor_set in = {0};
    char why[256];
    uint64_t n = 0;

    if (fill_inputs(&h->best, h->seed, &in, (mxo_text){why, sizeof why}) == 0 &&
        in.n > 0) {
        n = tensor_elems(&in.t[0]);
    }
    tensor_set_clear(&in);
    return n;
}

/* Move one end of what is kept by ever smaller steps. */
static void narrow(hunt *h, int from_left)
{
    uint64_t step = (h->best.keep_last - h->best.keep_first + 1) / 2;

    while (step > 0) {
        test_case c = h->best;
        c.keep_first += from_left ? step : 0;
        c.keep_last -= from_left ? 0 : step;
        if (c.keep_first > c.keep_last || !keep_if_same(h, &c)) {
            step /= 2;
        }
    }
}

static void shrink_data(hunt *h)
{
    const uint64_t n = first_elems(h);
    test_case whole = h->best;

    if (n == 0 || !case_keeps_all(&whole)) {
        return;
    }
    whole.keep_last = n - 1;
    h->best = whole;
    narrow(h, 1);
    narrow(h, 0);
    if (h->best.keep_first == 0 && h->best.keep_last == n - 1) {
        h->best.keep_last = UINT64_MAX;
    }
}

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

static int conclude(const hunt *h, const run_options *o, const backend_ref *ref)
{
    char text[CASE_TEXT];

    case_print(&h->best, 0, text);
    printf("%" PRIu64 " cases tried, %" PRIu64 " steps kept; still: %s\n",
           h->n_tried, h->n_kept, h->kind);
    char option[2 * BACKEND_COMMAND];

    backend_option(ref, option, sizeof option);
    printf("repro: mxoracle run %s", option);
    if (o->crew.device != 0) {
        printf(" --device=%d", o->crew.device);
    }
    printf(" --seed=%" PRIu64 " %s\n", o->seed, text);
    return o->save == NULL ? EXIT_PASS : save_line(o, text);
}

static int hunt_down(hunt *h, const run_options *o, const backend_ref *ref)
{
    char why[512];
    verdict v;

    if (o->args[0][0] == '@') {
        return cli_refuse("shrink takes one case, not a file of them");
    }
    if (case_parse(&h->best, o->args[0], (mxo_text){why, sizeof why}) != 0) {
        return cli_refuse("%s", why);
    }
    if (crew_case(h->c, o->args[0], o->seed, &v) != 0) {
        return EXIT_BROKEN;
    }
    const int red = verdict_is_red(v.status);

    memcpy(h->kind, v.kind, sizeof h->kind);
    if (!red) {
        const int status = cli_refuse("%s does not fail on %s (%s)", o->args[0],
                                      ref->name, verdict_name(v.status));
        verdict_clear(&v);
        return status;
    }
    verdict_clear(&v);
    shrink_dims(h);
    shrink_params(h);
    shrink_dims(h);
    shrink_data(h);
    return conclude(h, o, ref);
}

static int with_backend(const run_options *o, const backend_ref *ref)
{
    crew_options options = o->crew;
    backend_info info;
    hunt h;
    int status;

    if (options.isolate == ISOLATE_AUTO) {
        options.isolate = ISOLATE_BATCH;
    }
    memset(&h, 0, sizeof h);
    h.seed = o->seed;
    h.c = crew_create(ref, &options, &info);
    if (h.c == NULL || info.why_not[0] != '\0') {
        status = cli_refuse("%s: %s", ref->name, info.why_not);
    } else {
        status = hunt_down(&h, o, ref);
    }
    crew_destroy(&h.c);
    return status;
}

int cmd_shrink(int argc, char **argv)
{
    run_options o;
    int status = run_options_parse(&o, argc, argv);
    backend_list *lists;

    if (status >= 0) {
        return status;
    }
    if (o.n_args != 1 || o.n_backends + o.n_plugins + o.n_commands < 1) {
        return cli_refuse("shrink needs one backend (-b, --plugin or --exec) "
                          "and one case");
    }
    lists = calloc(2, sizeof *lists);
    if (lists == NULL) {
        return EXIT_BROKEN;
    }
    status = run_options_backends(&o, &lists[0]);
    if (status == EXIT_PASS) {
        status = run_options_choose(&o, &lists[0], &lists[1]);
    }
    if (status == EXIT_PASS) {
        status = lists[1].n == 1
                     ? with_backend(&o, &lists[1].ref[0])
                     : cli_refuse("shrink needs exactly one backend");
    }
    free(lists);
    return status;
}
