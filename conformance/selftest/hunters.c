/* SPDX-License-Identifier: Apache-2.0 */
/* See hunters.h. */
#include "hunters.h"

#include "base/cli.h"
#include "base/stop.h"
#include "run/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HUNTERS = 64, NO_DEVICE = -1, TICK_MS = 200 };

typedef struct hunter {
    worker w;
    int is_open;  /* its greeting has been read */
    ptrdiff_t at; /* index of the device it judges, or NO_DEVICE */
} hunter;

/* One hunters_run. */
typedef struct chase {
    const zoo *z;
    const zoo_device *device;
    size_t n;
    int n_hunters;
    hunter hunters[MAX_HUNTERS];
    device_fate **done; /* owned, per device; NULL: not yet, or reported */
    size_t *turn;       /* owned: indices of devices as they are given */
    size_t next;        /* turn to be given to a hunter */
    size_t reported;
    size_t n_cases;
    hunters_sink sink;
    void *state;
} chase;

static int start(const chase *c, hunter *h)
{
    const zoo *z = c->z;
    char text[4][32];
    char *const args[] = {
        "hunter", (char *)z->ref->name, text[0], text[1], text[2], text[3],
        NULL};

    (void)snprintf(text[0], sizeof text[0], "%d", z->level);
    (void)snprintf(text[1], sizeof text[1], "%" PRIu64, z->seed);
    (void)snprintf(text[2], sizeof text[2], "%" PRIu64, z->legal_part);
    (void)snprintf(text[3], sizeof text[3], "%.17g", z->timeout_s);
    h->at = NO_DEVICE;
    h->is_open = 0;
    if (worker_command(&h->w, args) != 0) {
        fprintf(stderr, "mxoracle: cannot start a hunter: %s\n",
                strerror(errno));
        return EXIT_BROKEN;
    }
    return EXIT_PASS;
}

static int status_of(const json_t *o)
{
    const json_t *status = json_object_get(o, "status");

    return json_is_integer(status) ? (int)json_integer_value(status)
                                   : EXIT_BROKEN;
}

/* The words that explain a verdict are not kept. */
static void drop_detail(verdict *v)
{
    free(v->detail);
    free(v->map);
    free(v->asked);
    v->detail = v->map = v->asked = NULL;
}

static int settle(chase *c, hunter *h, const json_t *o)
{
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
    c->done[h->at] = f;
    h->at = NO_DEVICE;
    return EXIT_PASS;
}

static int greet(chase *c, hunter *h, const json_t *o)
{
    h->is_open = 1;
    c->n_cases = (size_t)json_integer_value(json_object_get(o, "cases"));
    return status_of(o);
}

/* A signal to all of the group has ended it, or something that must not. */
static int take_end(hunter *h)
{
    char end[WORKER_TEXT + 160];

    worker_epitaph(&h->w, end, sizeof end);
    if (!stop_requested()) {
        fprintf(stderr, "mxoracle: a hunter was %s\n", end);
    }
    return EXIT_BROKEN;
}

static int listen_to(chase *c, hunter *h)
{
    json_t *o = NULL;
    int status = EXIT_PASS;

    switch (worker_answer(&h->w, 0, &o)) {
    case WORKER_LINE:
        status = h->is_open ? settle(c, h, o) : greet(c, h, o);
        json_decref(o);
        return status;
    case WORKER_GONE:
        return take_end(h);
    default:
        return EXIT_PASS;
    }
}

/* Give the hunter a device if it is idle, and a process if it has none. */
static int feed(chase *c, hunter *h)
{
    if (h->w.pid == 0) {
        return c->next < c->n ? start(c, h) : EXIT_PASS;
    }
    if (!h->is_open || h->at != NO_DEVICE || c->next == c->n) {
        return EXIT_PASS;
    }
    h->at = (ptrdiff_t)c->turn[c->next++];
    (void)worker_send(h->w.socket,
                      json_pack("{s:i}", "device", c->device[h->at].number));
    return EXIT_PASS;
}

static void wait_for_any(chase *c)
{
    struct pollfd p[MAX_HUNTERS];
    nfds_t n = 0;

    for (int i = 0; i < c->n_hunters; i++) {
        if (c->hunters[i].w.pid != 0) {
            p[n++] = (struct pollfd){c->hunters[i].w.socket, POLLIN, 0};
        }
    }
    (void)poll(p, n, TICK_MS);
}

static void report(chase *c, size_t i)
{
    c->sink(c->state, i, c->done[i]);
    free(c->done[i]);
    c->done[i] = NULL;
}

static int run(chase *c)
{
    int status = EXIT_PASS;

    while (status == EXIT_PASS && !stop_requested() && c->reported < c->n) {
        for (int i = 0; status == EXIT_PASS && i < c->n_hunters; i++) {
            status = feed(c, &c->hunters[i]);
        }
        wait_for_any(c);
        for (int i = 0; status == EXIT_PASS && i < c->n_hunters; i++) {
            if (c->hunters[i].w.pid != 0) {
                status = listen_to(c, &c->hunters[i]);
            }
        }
        while (c->reported < c->n && c->done[c->reported] != NULL) {
            report(c, c->reported++);
        }
    }
    return stop_requested() ? EXIT_PASS : status;
}

static void set_turns(chase *c)
{
    size_t n = 0;

    for (int legal = 1; legal >= 0; legal--) {
        for (size_t i = 0; i < c->n; i++) {
            if (c->device[i].m.legal == legal) {
                c->turn[n++] = i;
            }
        }
    }
}

int hunters_run(const zoo *z, const zoo_device *device, size_t n, int jobs,
                hunters_sink sink, void *state, size_t *n_cases)
{
    chase c = {.z = z, .device = device, .n = n, .sink = sink, .state = state};
    int status = EXIT_BROKEN;

    c.n_hunters = jobs < MAX_HUNTERS ? jobs : MAX_HUNTERS;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
    c.done = calloc(n + 1, sizeof *c.done);
    c.turn = calloc(n + 1, sizeof *c.turn);
    if (c.done != NULL && c.turn != NULL) {
        set_turns(&c);
        status = run(&c);
    }
    for (int i = 0; i < c.n_hunters; i++) {
        worker_stop(&c.hunters[i].w);
    }
    /* Stopped: those that were done before the first that was not. */
    for (size_t i = 0; c.done != NULL && i < n; i++) {
        if (c.done[i] != NULL) {
            report(&c, i);
        }
    }
    free(c.done);
    free(c.turn);
    *n_cases = c.n_cases;
    return status;
}
