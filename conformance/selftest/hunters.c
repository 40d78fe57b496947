/* SPDX-License-Identifier: Apache-2.0 */
/* See hunters.h. */
#include "hunters.h"

#include "base/cli.h"
#include "run/process_pool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One hunters_run. */
typedef struct chase {
    const zoo *z;
    const zoo_device *device;
    const hunters_sink *sink;
    size_t n_cases;
} chase;

static int start(void *state, worker *w)
{
    const chase *c = state;
    const zoo *z = c->z;
    char text[4][32];
    char *const args[] = {
        "hunter", (char *)z->ref->name, text[0], text[1], text[2], text[3],
        NULL};

    (void)snprintf(text[0], sizeof text[0], "%d", z->level);
    (void)snprintf(text[1], sizeof text[1], "%" PRIu64, z->seed);
    (void)snprintf(text[2], sizeof text[2], "%" PRIu64, z->legal_part);
    (void)snprintf(text[3], sizeof text[3], "%.17g", z->timeout_s);
    return worker_command(w, args);
}

static int status_of(const json_t *o)
{
    const json_t *status = json_object_get(o, "status");

    return json_is_integer(status) ? (int)json_integer_value(status)
                                   : EXIT_BROKEN;
}

static int greet(void *state, const json_t *o)
{
    chase *c = state;

    c->n_cases = (size_t)json_integer_value(json_object_get(o, "cases"));
    return status_of(o);
}

static json_t *ask(void *state, size_t task)
{
    const chase *c = state;

    return json_pack("{s:i}", "device", c->device[task].number);
}

/* The words that explain a verdict are not kept. */
static void drop_detail(verdict *v)
{
    free(v->detail);
    free(v->map);
    free(v->asked);
    v->detail = v->map = v->asked = NULL;
}

static int settle(void *state, size_t task, const json_t *o, void **result)
{
    const chase *c = state;
    device_fate *f = calloc(1, sizeof *f);
    const int status = f == NULL ? EXIT_BROKEN : status_of(o);

    if (status != EXIT_PASS ||
        verdict_from_json(&f->v, json_object_get(o, "verdict")) != 0) {
        free(f);
        return status == EXIT_PASS ? EXIT_BROKEN : status;
    }
    drop_detail(&f->v);
    f->n_asked = (uint64_t)json_integer_value(json_object_get(o, "asked"));
    f->red = json_is_true(json_object_get(o, "red"));
    f->seed = (uint64_t)json_integer_value(json_object_get(o, "seed"));
    worker_field(f->case_text, sizeof f->case_text, o, "case");
    *result = f;
    c->sink->done(c->sink->state, task, f);
    return EXIT_PASS;
}

/* Something ended it that must not. */
static int lose(void *state, size_t task, const char *how, void **result)
{
    (void)state;
    (void)task;
    (void)result;
    fprintf(stderr, "mxoracle: a hunter was %s\n", how);
    return EXIT_BROKEN;
}

static void fail(void *state, const char *why)
{
    (void)state;
    fprintf(stderr, "mxoracle: no hunter: %s\n", why);
}

static int tell(void *state, size_t task, const void *fate)
{
    const chase *c = state;

    c->sink->judged(c->sink->state, task, fate);
    return EXIT_PASS;
}

static void set_turns(size_t *turn, const zoo_device *device, size_t n)
{
    size_t k = 0;

    for (int legal = 1; legal >= 0; legal--) {
        for (size_t i = 0; i < n; i++) {
            if (device[i].m.legal == legal) {
                turn[k++] = i;
            }
        }
    }
}

int hunters_run(const zoo *z, const zoo_device *device, size_t n, int jobs,
                const hunters_sink *sink, size_t *n_cases)
{
    chase c = {.z = z, .device = device, .sink = sink};
    size_t *turn = calloc(n + 1, sizeof *turn);
    const process_pool pool = {.n_tasks = n,
                               .n_processes = jobs,
                               .turn = turn,
                               .start = start,
                               .greeted = greet,
                               .request = ask,
                               .answered = settle,
                               .lost = lose,
                               .failed = fail,
                               .told = tell,
                               .state = &c};
    int status = PROCESS_POOL_FAILED;

    if (turn != NULL) {
        set_turns(turn, device, n);
        status = process_pool_run(&pool);
    }
    free(turn);
    *n_cases = c.n_cases;
    return status == PROCESS_POOL_FAILED ? EXIT_BROKEN : status;
}
