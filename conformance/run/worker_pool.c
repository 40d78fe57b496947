/* SPDX-License-Identifier: Apache-2.0 */
/* See worker_pool.h. */
#include "worker_pool.h"

#include "base/memory.h"
#include "base/stop.h"
#include "system/cpu_timeout.h"
#include "system/process.h"
#include "worker.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_JOBS = 64, NO_CASE = -1 };

typedef struct slot {
    worker w;
    int greeted;  /* its hello has been read */
    ptrdiff_t at; /* index of the case it works on, or NO_CASE */
    cpu_timeout cpu_timeout;
} slot;

struct worker_pool {
    backend_ref ref;
    worker_pool_options options;
    open_options how;
    int is_local;
    int is_brief;
    int is_enough;
    opened_judge local;
    verdict end;   /* of a process that one case had, the first bad one */
    json_t *hello; /* owned; of the first worker that opened */
    slot slots[MAX_JOBS];
};

/* One worker_pool_run. */
typedef struct campaign {
    worker_pool *c;
    const case_list *cases;
    worker_pool_sink sink;
    void *state;
    verdict *done;    /* owned */
    uint8_t *is_done; /* owned */
    size_t next;      /* to be given to a worker */
    size_t reported;
} campaign;

static void open_local(worker_pool *c, backend_info *info)
{
    const mxo_text why = {info->why_not, sizeof info->why_not};
    const mxo_status status =
        opened_judge_open(&c->local, &c->ref, &c->how, why);

    if (status != MXO_OK) {
        worker_say_absent(info, status);
        return;
    }
    worker_say_present(info, &c->local);
    if (c->local.left[0] != '\0') {
        (void)snprintf(info->left, sizeof info->left, "%s", c->local.left);
    }
}

static int start(worker_pool *c, slot *s)
{
    s->greeted = 0;
    s->at = NO_CASE;
    if (worker_start(&s->w, &c->ref, &c->how) != 0) {
        fprintf(stderr, "mxoracle: cannot start a worker: %s\n",
                strerror(errno));
        return -1;
    }
    return 0;
}

static int is_given_up(slot *s)
{
    const double now = process_clock();

    return cpu_timeout_looks(&s->cpu_timeout, now) &&
           cpu_timeout_ends(&s->cpu_timeout, now, worker_cpu_s(&s->w),
                            process_queue_s(s->w.pid));
}

/* Seconds for a case.  A worker that has its subject apart waits for it and
   gives it up by itself: more than one call may take as long as it may. */
static double limit_of(const worker_pool *c)
{
    const double s = c->options.timeout_s;

    return backend_is_apart(&c->ref) && !c->how.in_process ? 64 * s + 600 : s;
}

static void open_remote(worker_pool *c, backend_info *info)
{
    slot *s = &c->slots[0];
    const double limit_s = limit_of(c) + 10;
    json_t *hello = NULL;
    worker_state state = WORKER_WAIT;

    if (start(c, s) != 0) {
        worker_say_absent(info, MXO_E_NOMEM);
        return;
    }
    s->cpu_timeout = cpu_timeout_begin(limit_s, process_clock(), 0);
    while (state == WORKER_WAIT && !is_given_up(s)) {
        state = worker_answer(&s->w, 200, &hello);
    }
    if (state == WORKER_LINE) {
        s->greeted = 1;
        worker_read_hello(hello, info);
        c->hello = hello;
        return;
    }
    info->absent = VERDICT_ERROR;
    if (state == WORKER_GONE && stop_requested()) {
        /* The signal may have met the worker, too. */
        info->absent = VERDICT_SKIP;
        (void)snprintf(info->why_not, sizeof info->why_not,
                       "stopped by %s while opening it", stop_reason());
    } else if (state == WORKER_GONE) {
        char end[128];
        worker_epitaph(&s->w, end, sizeof end);
        (void)snprintf(info->why_not, sizeof info->why_not,
                       "while opening it the worker was %s", end);
    } else {
        worker_stop(&s->w);
        (void)snprintf(info->why_not, sizeof info->why_not,
                       "it does not open within %g s", limit_s);
    }
}

/* Subjects that are judged apart have a process already; workers only make more
   of them. */
static int wants_workers(const worker_pool *c)
{
    if (c->options.isolate == ISOLATE_SHARED && c->ref.command[0] == '\0') {
        return 1;
    }
    if (backend_is_apart(&c->ref)) {
        return c->options.jobs > 1 && c->options.isolate != ISOLATE_NONE;
    }
    return c->options.isolate == ISOLATE_AUTO
               ? c->ref.is_risky || c->options.jobs > 1
               : c->options.isolate != ISOLATE_NONE;
}

worker_pool *worker_pool_create(const backend_ref *ref,
                                const worker_pool_options *options,
                                backend_info *info)
{
    worker_pool *c = memory_need_zeros(1, sizeof *c);

    memset(info, 0, sizeof *info);
    (void)snprintf(info->name, sizeof info->name, "%s", ref->name);
    c->ref = *ref;
    c->options = *options;
    c->options.jobs = options->jobs < 1          ? 1
                      : options->jobs > MAX_JOBS ? MAX_JOBS
                                                 : options->jobs;
    c->is_local = !wants_workers(c);
    c->how = (open_options){.device = options->device,
                            .timeout_s = options->timeout_s,
                            .is_drawn = options->is_drawn,
                            .soak = options->soak,
                            .in_process = options->isolate == ISOLATE_NONE ||
                                          (options->isolate == ISOLATE_SHARED &&
                                           ref->command[0] == '\0'),
                            .is_silent = options->is_silent};
    if (ref->why_not[0] != '\0') {
        (void)snprintf(info->why_not, sizeof info->why_not, "%s", ref->why_not);
        info->absent = VERDICT_SKIP;
    } else if (c->is_local) {
        open_local(c, info);
    } else {
        open_remote(c, info);
    }
    return c;
}

void worker_pool_destroy(worker_pool **c)
{
    if (*c == NULL) {
        return;
    }
    for (int i = 0; i < MAX_JOBS; i++) {
        worker_stop(&(*c)->slots[i].w);
    }
    opened_judge_close(&(*c)->local);
    verdict_clear(&(*c)->end);
    json_decref((*c)->hello);
    free(*c);
    *c = NULL;
}

void worker_pool_finish(worker_pool *c, verdict *v)
{
    verdict one;

    *v = c->end;
    memset(&c->end, 0, sizeof c->end);
    opened_judge_finish(&c->local, &one);
    verdict_keep_red(v, &one);
    for (int i = 0; i < MAX_JOBS; i++) {
        if (c->slots[i].w.pid != 0 && c->slots[i].greeted) {
            worker_end(&c->slots[i].w);
        }
    }
    for (int i = 0; i < MAX_JOBS; i++) {
        if (c->slots[i].w.pid != 0 && c->slots[i].greeted) {
            worker_finish(&c->slots[i].w, &one);
            verdict_keep_red(v, &one);
        }
    }
}

/* Of one case's process: not behind a red one, nor where a bad end is known. */
static int is_asked_to_end(const worker_pool *c, const verdict *v)
{
    return !verdict_is_red(v->status) && !verdict_is_red(c->end.status);
}

static void keep_end(worker_pool *c, const char *text, verdict *end)
{
    const size_t used = strlen(end->reason);

    (void)snprintf(end->reason + used, sizeof end->reason - used,
                   ", in the process of %s", text);
    verdict_keep_red(&c->end, end);
}

static void judge_here(worker_pool *c, const char *text, uint64_t seed,
                       verdict *v)
{
    test_case parsed;

    memset(v, 0, sizeof *v);
    v->status = VERDICT_ERROR;
    if (case_parse(&parsed, text, (mxo_text){v->reason, sizeof v->reason}) ==
        0) {
        memcpy(c->local.j.beside, c->options.beside, sizeof c->local.j.beside);
        opened_judge_case(&c->local, &parsed, seed, v);
    }
    if (c->options.isolate == ISOLATE_CASE && c->local.proxy != NULL) {
        if (is_asked_to_end(c, v)) {
            verdict end;
            opened_judge_end(&c->local, &end);
            keep_end(c, text, &end);
        }
        proxy_renew(c->local.proxy);
    }
}

/* The worker that had one case. */
static void end_worker(campaign *g, slot *s)
{
    verdict end;

    if (is_asked_to_end(g->c, &g->done[s->at])) {
        worker_end(&s->w);
        worker_finish(&s->w, &end);
        keep_end(g->c, g->cases->item[s->at].text, &end);
    } else {
        worker_stop(&s->w);
    }
}

static void finish(campaign *g, slot *s)
{
    if (g->c->options.isolate == ISOLATE_CASE) {
        end_worker(g, s);
    }
    g->is_done[s->at] = 1;
    s->at = NO_CASE;
}

static void conclude(campaign *g, slot *s, verdict_status status,
                     const char *kind, const char *reason)
{
    verdict *v = &g->done[s->at];

    memset(v, 0, sizeof *v);
    v->status = status;
    (void)snprintf(v->kind, sizeof v->kind, "%s", kind);
    (void)snprintf(v->reason, sizeof v->reason, "%s", reason);
    finish(g, s);
}

/* The hello of a further worker, or of one that was started again. */
static void greet(campaign *g, slot *s, const json_t *hello)
{
    const char *const difference = worker_hello_difference(g->c->hello, hello);
    backend_info again;

    memset(&again, 0, sizeof again);
    worker_read_hello(hello, &again);
    s->greeted = 1;
    if (again.why_not[0] == '\0' && difference != NULL) {
        (void)snprintf(again.why_not, sizeof again.why_not, "%s", difference);
    }
    if (again.why_not[0] != '\0') {
        conclude(g, s, VERDICT_ERROR, "open", again.why_not);
        worker_stop(&s->w);
    }
}

static void took_too_long(campaign *g, slot *s)
{
    char text[96];

    (void)snprintf(text, sizeof text, "no answer within %g s",
                   g->c->options.timeout_s);
    worker_stop(&s->w);
    conclude(g, s, VERDICT_TIMEOUT, "timeout", text);
}

static void listen_to(campaign *g, slot *s)
{
    json_t *answer = NULL;
    const worker_state state = worker_answer(&s->w, 0, &answer);
    char end[128];

    if (state == WORKER_GONE) {
        worker_epitaph(&s->w, end, sizeof end);
        conclude(g, s, VERDICT_CRASH, "crash", end);
    } else if (state == WORKER_WAIT) {
        if (is_given_up(s)) {
            took_too_long(g, s);
        }
    } else if (!s->greeted) {
        greet(g, s, answer);
    } else if (verdict_from_json(&g->done[s->at], answer) == 0) {
        finish(g, s);
    } else {
        worker_stop(&s->w);
        conclude(g, s, VERDICT_ERROR, "protocol",
                 "the worker's answer makes no sense");
    }
    json_decref(answer);
}

static int assign(campaign *g, slot *s)
{
    const case_item *item = &g->cases->item[g->next];

    if (s->w.pid == 0 && start(g->c, s) != 0) {
        return -1;
    }
    s->at = (ptrdiff_t)g->next++;
    s->cpu_timeout =
        cpu_timeout_begin(limit_of(g->c), process_clock(), worker_cpu_s(&s->w));
    /* A worker that is gone already is noticed when it is listened to. */
    (void)worker_ask(&s->w, item->text, item->seed, g->c->is_brief,
                     g->c->options.beside);
    return 0;
}

static void wait_for_any(campaign *g)
{
    struct pollfd fds[MAX_JOBS];
    nfds_t n = 0;

    for (int i = 0; i < g->c->options.jobs; i++) {
        const slot *s = &g->c->slots[i];
        if (s->at != NO_CASE) {
            fds[n++] = (struct pollfd){s->w.socket, POLLIN, 0};
        }
    }
    (void)poll(fds, n, 100);
}

static void report_done(campaign *g)
{
    while (g->reported < g->cases->n && g->is_done[g->reported]) {
        verdict *v = &g->done[g->reported];
        g->sink(g->state, g->reported++, v);
        verdict_clear(v);
    }
}

/* Stopped: report what has an answer, and end those at work. */
static void leave_early(campaign *g)
{
    for (int i = 0; i < g->c->options.jobs; i++) {
        worker_stop(&g->c->slots[i].w);
        g->c->slots[i].at = NO_CASE;
    }
    for (; g->reported < g->cases->n; g->reported++) {
        verdict *v = &g->done[g->reported];
        if (g->is_done[g->reported]) {
            g->sink(g->state, g->reported, v);
            verdict_clear(v);
        }
    }
}

static int is_over(const campaign *g)
{
    return stop_requested() || g->c->is_enough;
}

static int run_remote(campaign *g)
{
    for (int i = 0; i < g->c->options.jobs; i++) {
        g->c->slots[i].at = NO_CASE;
    }
    while (g->reported < g->cases->n && !is_over(g)) {
        for (int i = 0; i < g->c->options.jobs; i++) {
            slot *s = &g->c->slots[i];
            if (s->at == NO_CASE && g->next < g->cases->n &&
                assign(g, s) != 0) {
                return -1;
            }
        }
        wait_for_any(g);
        if (is_over(g)) { /* a signal may have met the workers, too */
            break;
        }
        for (int i = 0; i < g->c->options.jobs; i++) {
            if (g->c->slots[i].at != NO_CASE) {
                listen_to(g, &g->c->slots[i]);
            }
        }
        report_done(g);
    }
    if (g->reported < g->cases->n) {
        leave_early(g);
    }
    return 0;
}

static int run_local(campaign *g)
{
    for (size_t i = 0; i < g->cases->n && !is_over(g); i++) {
        verdict v;
        judge_here(g->c, g->cases->item[i].text, g->cases->item[i].seed, &v);
        g->sink(g->state, i, &v);
        verdict_clear(&v);
    }
    return 0;
}

int worker_pool_run(worker_pool *c, const case_list *cases,
                    worker_pool_sink sink, void *state)
{
    campaign g = {.c = c, .cases = cases, .sink = sink, .state = state};

    c->is_enough = 0;
    if (c->is_local) {
        return run_local(&g);
    }
    g.done = memory_need_zeros(cases->n + 1, sizeof *g.done);
    g.is_done = memory_need_zeros(cases->n + 1, 1);
    const int status = run_remote(&g);

    for (size_t i = g.reported; i < cases->n; i++) {
        verdict_clear(&g.done[i]);
    }
    free(g.done);
    free(g.is_done);
    return status;
}

static void keep_verdict(void *state, size_t index, const verdict *v)
{
    (void)index;
    verdict_copy(state, v);
}

void worker_pool_enough(worker_pool *c)
{
    c->is_enough = 1;
}

void worker_pool_set_brief(worker_pool *c, int is_brief)
{
    c->is_brief = is_brief;
    c->local.j.is_brief = is_brief;
}

void worker_pool_set_beside(worker_pool *c, const char *op)
{
    (void)snprintf(c->options.beside, sizeof c->options.beside, "%s", op);
}

int worker_pool_case(worker_pool *c, const char *text, uint64_t seed,
                     verdict *v)
{
    char copy[CASE_TEXT];
    case_item item = {copy, seed};
    const case_list one = {.n = 1, .capacity = 1, .item = &item};

    memset(v, 0, sizeof *v);
    (void)snprintf(copy, sizeof copy, "%s", text);
    return worker_pool_run(c, &one, keep_verdict, v);
}
