/* SPDX-License-Identifier: Apache-2.0 */
/* See hunters.h. */
#include "hunters.h"

#include "base/cli.h"
#include "run/process_pool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A device's cases, or a share of them. */
typedef struct hunter_task {
    size_t device; /* its place in the list */
    case_share share;
} hunter_task;

/* A device some of whose shares are done. */
typedef struct gathering {
    device_fate *fate; /* owned: of the shares so far; NULL: none yet */
    uint64_t n_answered;
    uint64_t n_told;
} gathering;

/* One hunters_run. */
typedef struct chase {
    const zoo *z;
    const zoo_device *device;
    const hunters_sink *sink;
    size_t n_cases;
    size_t n_tasks;
    hunter_task *task; /* owned; a device's shares stand together */
    gathering *of;     /* owned, per device */
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
    const hunter_task *t = &c->task[task];

    return json_pack("{s:i, s:I, s:I}", "device", c->device[t->device].number,
                     "share", (json_int_t)t->share.number, "of",
                     (json_int_t)t->share.of);
}

/* The words that explain a verdict are not kept. */
static void drop_detail(verdict *v)
{
    free(v->detail);
    free(v->map);
    free(v->asked);
    v->detail = v->map = v->asked = NULL;
}

static int read_fate(device_fate *f, const json_t *o)
{
    if (verdict_from_json(&f->v, json_object_get(o, "verdict")) != 0) {
        return EXIT_BROKEN;
    }
    drop_detail(&f->v);
    f->n_asked = (uint64_t)json_integer_value(json_object_get(o, "asked"));
    f->red = json_is_true(json_object_get(o, "red"));
    f->at = (uint64_t)json_integer_value(json_object_get(o, "at"));
    f->seed = (uint64_t)json_integer_value(json_object_get(o, "seed"));
    worker_field(f->case_text, sizeof f->case_text, o, "case");
    return EXIT_PASS;
}

/* Add a share: of two that are red the one whose case comes first counts. */
static void add_share(device_fate *sum, const device_fate *f)
{
    const uint64_t n_asked = sum->n_asked + f->n_asked;

    if (f->red && (!sum->red || f->at < sum->at)) {
        *sum = *f;
    }
    sum->n_asked = n_asked;
}

static int gather(chase *c, const hunter_task *t, const device_fate *f)
{
    gathering *g = &c->of[t->device];

    if (g->fate == NULL) {
        g->fate = malloc(sizeof *g->fate);
        if (g->fate == NULL) {
            return EXIT_BROKEN;
        }
        *g->fate = *f;
    } else {
        add_share(g->fate, f);
    }
    if (++g->n_answered == t->share.of) {
        c->sink->done(c->sink->state, t->device, g->fate);
    }
    return EXIT_PASS;
}

static int settle(void *state, size_t task, const json_t *o, void **result)
{
    chase *c = state;
    device_fate *f = calloc(1, sizeof *f);
    int status = f == NULL ? EXIT_BROKEN : status_of(o);

    status = status == EXIT_PASS ? read_fate(f, o) : status;
    if (status == EXIT_PASS) {
        status = gather(c, &c->task[task], f);
    }
    if (status != EXIT_PASS) {
        free(f);
        return status;
    }
    *result = f;
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

/* A device is judged when all its shares are: a stop may come between them. */
static int tell(void *state, size_t task, const void *fate)
{
    chase *c = state;
    const hunter_task *t = &c->task[task];
    gathering *g = &c->of[t->device];

    (void)fate;
    if (++g->n_told == t->share.of) {
        c->sink->judged(c->sink->state, t->device, g->fate);
        free(g->fate);
        g->fate = NULL;
    }
    return EXIT_PASS;
}

/* The tasks of n devices. 0, or -1 without memory. */
static int set_tasks(chase *c, size_t n)
{
    size_t n_tasks = 0;

    for (size_t i = 0; i < n; i++) {
        n_tasks += zoo_shares(c->z, &c->device[i]);
    }
    c->task = calloc(n_tasks + 1, sizeof *c->task);
    c->of = calloc(n + 1, sizeof *c->of);
    if (c->task == NULL || c->of == NULL) {
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t of = zoo_shares(c->z, &c->device[i]);
        for (uint64_t k = 0; k < of; k++) {
            c->task[c->n_tasks++] = (hunter_task){i, {k, of}};
        }
    }
    return 0;
}

static void set_turns(size_t *turn, const chase *c)
{
    size_t k = 0;

    for (int legal = 1; legal >= 0; legal--) {
        for (size_t i = 0; i < c->n_tasks; i++) {
            if (c->device[c->task[i].device].m.legal == legal) {
                turn[k++] = i;
            }
        }
    }
}

static int chase_devices(chase *c, int jobs)
{
    size_t *turn = calloc(c->n_tasks + 1, sizeof *turn);
    const process_pool pool = {.n_tasks = c->n_tasks,
                               .n_processes = jobs,
                               .turn = turn,
                               .start = start,
                               .greeted = greet,
                               .request = ask,
                               .answered = settle,
                               .lost = lose,
                               .failed = fail,
                               .told = tell,
                               .state = c};
    int status = PROCESS_POOL_FAILED;

    if (turn != NULL) {
        set_turns(turn, c);
        status = process_pool_run(&pool);
    }
    free(turn);
    return status == PROCESS_POOL_FAILED ? EXIT_BROKEN : status;
}

int hunters_run(const zoo *z, const zoo_device *device, size_t n, int jobs,
                const hunters_sink *sink, size_t *n_cases)
{
    chase c = {.z = z, .device = device, .sink = sink};
    const int status =
        set_tasks(&c, n) == 0 ? chase_devices(&c, jobs) : EXIT_BROKEN;

    for (size_t i = 0; c.of != NULL && i < n; i++) {
        free(c.of[i].fate); /* of one that a stop left unfinished */
    }
    free(c.of);
    free(c.task);
    *n_cases = c.n_cases;
    return status;
}
