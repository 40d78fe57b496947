/* SPDX-License-Identifier: Apache-2.0 */
/* See lanes.h.  The processes are the judge's workers (run/worker.h). */
#include "lanes.h"

#include "base/stop.h"
#include "run/worker.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LANES = 64, NO_FILE = -1, TICK_MS = 200 };

typedef struct lane {
    worker w;
    int is_open; /* its greeting has been read */
    ptrdiff_t at;
} lane;

typedef struct race {
    const vector_subject *who;
    const path_list *list;
    const lane_sink *sink;
    int n_lanes;
    lane lanes[MAX_LANES];
    vector_result **done; /* owned, per file; NULL: not yet, or reported */
    size_t next;          /* file to be given */
    size_t reported;
    int has_greeting;
} race;

json_t *vector_result_json(const vector_result *r)
{
    json_t *o = json_pack(
        "{s:i, s:i, s:i, s:I, s:f, s:o, s:o, s:o, s:o}", "verdict",
        (int)r->verdict, "outputs", (int)r->n_outputs, "by_rule",
        (int)r->n_by_rule, "elements", (json_int_t)r->n_elements, "ms", r->ms,
        "op", verdict_text_json(r->op), "rule", verdict_text_json(r->rule),
        "cases", verdict_text_json(r->cases), "text",
        verdict_text_json(r->text));

    if (r->n_differ > 0) {
        json_object_set_new(o, "differ", json_integer((json_int_t)r->n_differ));
        json_object_set_new(o, "tensor", verdict_text_json(r->tensor));
        json_object_set_new(o, "index", verdict_text_json(r->index));
        json_object_set_new(o, "want", verdict_text_json(r->want));
        json_object_set_new(o, "got", verdict_text_json(r->got));
        json_object_set_new(o, "map", verdict_text_json(r->map));
    }
    return o;
}

int lanes_can(const path_list *list)
{
    int can = 1;

    for (size_t i = 0; can && i < list->n; i++) {
        json_t *text = json_string(list->path[i]);
        can = text != NULL;
        json_decref(text);
    }
    return can;
}

static uint64_t number_field(const json_t *o, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(o, key));
}

static void read_result(const json_t *o, vector_result *r)
{
    memset(r, 0, sizeof *r);
    r->verdict = (vector_verdict)number_field(o, "verdict");
    r->n_outputs = (uint32_t)number_field(o, "outputs");
    r->n_by_rule = (uint32_t)number_field(o, "by_rule");
    r->n_elements = number_field(o, "elements");
    r->ms = json_real_value(json_object_get(o, "ms"));
    worker_field(r->op, sizeof r->op, o, "op");
    worker_field(r->rule, sizeof r->rule, o, "rule");
    worker_field(r->cases, sizeof r->cases, o, "cases");
    worker_field(r->text, sizeof r->text, o, "text");
    r->n_differ = number_field(o, "differ");
    worker_field(r->tensor, sizeof r->tensor, o, "tensor");
    worker_field(r->index, sizeof r->index, o, "index");
    worker_field(r->want, sizeof r->want, o, "want");
    worker_field(r->got, sizeof r->got, o, "got");
    worker_field(r->map, sizeof r->map, o, "map");
    if (!json_is_integer(json_object_get(o, "verdict"))) {
        r->verdict = VECTOR_FAILED;
        (void)snprintf(r->text, sizeof r->text,
                       "the judge's process gave no result");
    }
}

/* The file of a lane has its result; NULL: its process has ended. */
static int settle(race *r, lane *l, const json_t *answer)
{
    vector_result *result = calloc(1, sizeof *result);

    if (result == NULL) {
        return -1;
    }
    if (answer != NULL) {
        read_result(answer, result);
    } else {
        char end[WORKER_TEXT + 160];
        worker_epitaph(&l->w, end, sizeof end);
        result->verdict = VECTOR_FAILED;
        (void)snprintf(result->text, sizeof result->text,
                       "the process that judged it was %s", end);
    }
    r->done[l->at] = result;
    l->at = NO_FILE;
    return 0;
}

static int greet(race *r, lane *l, const json_t *o)
{
    vector_greeting g = {
        .status = (mxo_status)json_integer_value(json_object_get(o, "status"))};

    l->is_open = g.status == MXO_OK;
    if (r->has_greeting) {
        return 0;
    }
    r->has_greeting = 1;
    worker_field(g.why, sizeof g.why, o, "why");
    worker_field(g.version, sizeof g.version, o, "version");
    worker_field(g.device, sizeof g.device, o, "device");
    const int status = r->sink->greeted(r->sink->state, &g);

    return status == 0 && g.status != MXO_OK ? 1 : status;
}

/* The end of a process: of the file it had, or before it could open. */
static int take_end(race *r, lane *l)
{
    if (l->at != NO_FILE) {
        l->is_open = 0;
        return settle(r, l, NULL);
    }
    worker_stop(&l->w);
    return -1;
}

static int listen_to(race *r, lane *l)
{
    json_t *answer = NULL;
    int bad = 0;

    switch (worker_answer(&l->w, 0, &answer)) {
    case WORKER_LINE:
        bad = l->is_open ? settle(r, l, answer) : greet(r, l, answer);
        json_decref(answer);
        return bad;
    case WORKER_GONE:
        return take_end(r, l);
    default:
        return 0;
    }
}

/* Give the lane a file if it is idle, and a process if it has none. */
static int feed(race *r, lane *l)
{
    if (l->at != NO_FILE || r->next == r->list->n) {
        return 0;
    }
    if (l->w.pid == 0) {
        return worker_start(&l->w, &r->who->ref, &r->who->how);
    }
    if (!l->is_open) {
        return 0;
    }
    l->at = (ptrdiff_t)r->next++;
    (void)worker_send(l->w.socket,
                      json_pack("{s:s}", "file", r->list->path[l->at]));
    return 0;
}

static void wait_for_any(race *r)
{
    struct pollfd p[MAX_LANES];
    nfds_t n = 0;

    for (int i = 0; i < r->n_lanes; i++) {
        if (r->lanes[i].w.pid != 0) {
            p[n++] = (struct pollfd){r->lanes[i].w.socket, POLLIN, 0};
        }
    }
    (void)poll(p, n, TICK_MS);
}

static int report_done(race *r)
{
    int bad = 0;

    while (bad == 0 && r->reported < r->list->n &&
           r->done[r->reported] != NULL) {
        bad =
            r->sink->judged(r->sink->state, r->reported, r->done[r->reported]);
        free(r->done[r->reported]);
        r->done[r->reported++] = NULL;
    }
    return bad;
}

static int run(race *r)
{
    int bad = 0;

    while (bad == 0 && !stop_requested() && r->reported < r->list->n) {
        for (int i = 0; bad == 0 && i < r->n_lanes; i++) {
            bad = feed(r, &r->lanes[i]);
        }
        if (bad != 0) {
            break;
        }
        wait_for_any(r);
        for (int i = 0; bad == 0 && i < r->n_lanes; i++) {
            bad = r->lanes[i].w.pid == 0 ? 0 : listen_to(r, &r->lanes[i]);
        }
        bad = bad == 0 ? report_done(r) : bad;
    }
    return bad > 0 ? 0 : bad;
}

int lanes_run(const vector_subject *who, const path_list *list, int jobs,
              const lane_sink *sink)
{
    race r = {.who = who, .list = list, .sink = sink};
    int bad = -1;

    r.n_lanes = jobs < MAX_LANES ? jobs : MAX_LANES;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
    r.done = calloc(list->n + 1, sizeof *r.done);
    for (int i = 0; i < r.n_lanes; i++) {
        r.lanes[i].at = NO_FILE;
    }
    if (r.done != NULL) {
        bad = run(&r);
    }
    for (int i = 0; i < r.n_lanes; i++) {
        worker_stop(&r.lanes[i].w);
    }
    for (size_t i = 0; r.done != NULL && i < list->n; i++) {
        free(r.done[i]);
    }
    free(r.done);
    return bad;
}
