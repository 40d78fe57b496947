/* SPDX-License-Identifier: Apache-2.0 */
/* See process_pool.h. */
#include "process_pool.h"

#include "base/stop.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, IDLE = -1, TICK_MS = 200 };

typedef struct member {
    worker w;
    int is_open;    /* its greeting has been read */
    ptrdiff_t task; /* that it has, or IDLE */
} member;

/* One process_pool_run. */
typedef struct pool_run {
    const process_pool *p;
    int n_members;
    member members[MOST];
    void **done; /* owned, per task; NULL: not yet, or told */
    size_t next; /* turn to be given */
    size_t told;
} pool_run;

static int fail(const pool_run *r, const char *why)
{
    r->p->failed(r->p->state, why);
    return PROCESS_POOL_FAILED;
}

/* Give it a task if it is idle, and a process if it has none. */
static int feed(pool_run *r, member *m)
{
    const process_pool *p = r->p;

    if (m->task != IDLE || r->next == p->n_tasks) {
        return 0;
    }
    if (m->w.pid == 0) {
        m->is_open = 0;
        return p->start(p->state, &m->w) == 0 ? 0 : fail(r, strerror(errno));
    }
    if (m->is_open) {
        const size_t turn = r->next++;
        m->task = (ptrdiff_t)(p->turn == NULL ? turn : p->turn[turn]);
        (void)worker_send(m->w.socket, p->request(p->state, (size_t)m->task));
    }
    return 0;
}

static void wait_for_any(pool_run *r)
{
    struct pollfd fds[MOST];
    nfds_t n = 0;

    for (int i = 0; i < r->n_members; i++) {
        if (r->members[i].w.pid != 0) {
            fds[n++] = (struct pollfd){r->members[i].w.socket, POLLIN, 0};
        }
    }
    (void)poll(fds, n, TICK_MS);
}

static int take_line(pool_run *r, member *m, const json_t *o)
{
    const process_pool *p = r->p;

    if (!m->is_open) {
        m->is_open = 1;
        return p->greeted(p->state, o);
    }
    if (m->task == IDLE) {
        return fail(r, "it answers what nobody asked");
    }
    const int status =
        p->answered(p->state, (size_t)m->task, o, &r->done[m->task]);

    m->task = IDLE;
    return status;
}

static int take_end(pool_run *r, member *m)
{
    const process_pool *p = r->p;
    const ptrdiff_t task = m->task;
    char how[WORKER_TEXT + 160];

    worker_epitaph(&m->w, how, sizeof how);
    m->task = IDLE;
    if (stop_requested()) { /* the signal may have met all of the group */
        return 0;
    }
    return task == IDLE ? fail(r, how)
                        : p->lost(p->state, (size_t)task, how, &r->done[task]);
}

static int listen_to(pool_run *r, member *m)
{
    json_t *o = NULL;
    int status = 0;

    if (m->w.pid == 0) {
        return 0;
    }
    switch (worker_answer(&m->w, 0, &o)) {
    case WORKER_LINE:
        status = take_line(r, m, o);
        json_decref(o);
        return status;
    case WORKER_GONE:
        return take_end(r, m);
    default:
        return 0;
    }
}

static int tell(pool_run *r, size_t task)
{
    const int status = r->p->told(r->p->state, task, r->done[task]);

    free(r->done[task]);
    r->done[task] = NULL;
    return status;
}

static int run(pool_run *r)
{
    int status = 0;

    while (status == 0 && !stop_requested() && r->told < r->p->n_tasks) {
        for (int i = 0; status == 0 && i < r->n_members; i++) {
            status = feed(r, &r->members[i]);
        }
        if (status == 0) {
            wait_for_any(r);
        }
        for (int i = 0; status == 0 && i < r->n_members; i++) {
            status = listen_to(r, &r->members[i]);
        }
        while (status == 0 && r->told < r->p->n_tasks &&
               r->done[r->told] != NULL) {
            status = tell(r, r->told++);
        }
    }
    return status;
}

/* All are asked before the first is waited for. */
static void finish(pool_run *r)
{
    for (int i = 0; i < r->n_members; i++) {
        if (r->members[i].w.pid != 0) {
            worker_end(&r->members[i].w);
        }
    }
    for (int i = 0; i < r->n_members; i++) {
        verdict v;
        if (r->members[i].w.pid != 0 && r->members[i].is_open) {
            worker_finish(&r->members[i].w, &v);
            r->p->ended(r->p->state, &v);
            verdict_clear(&v);
        }
    }
}

int process_pool_run(const process_pool *p)
{
    pool_run r = {.p = p};
    int status = PROCESS_POOL_FAILED;

    r.n_members = p->n_processes < MOST ? p->n_processes : MOST;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
    r.done = calloc(p->n_tasks + 1, sizeof *r.done);
    for (int i = 0; i < r.n_members; i++) {
        r.members[i].task = IDLE;
    }
    if (r.done != NULL) {
        status = run(&r);
    }
    if (status == 0 && p->ended != NULL && !stop_requested()) {
        finish(&r);
    }
    for (int i = 0; i < r.n_members; i++) {
        worker_stop(&r.members[i].w);
    }
    /* Stopped: what was done after the first that was not. */
    for (size_t i = 0; r.done != NULL && i < p->n_tasks; i++) {
        if (r.done[i] != NULL && status == 0) {
            status = tell(&r, i);
        }
        free(r.done[i]);
    }
    free(r.done);
    return status;
}
