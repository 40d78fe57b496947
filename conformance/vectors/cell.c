/* SPDX-License-Identifier: Apache-2.0 */
/* Forked judging; see cell.h.  Parent and child are one program, so results
   travel as the structures they are. */
#include "cell.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void cell_greet(const vector_subject *who, judge *j, cell_greeting *g)
{
    memset(g, 0, sizeof *g);
    memset(j, 0, sizeof *j);
    g->status = who->open(who->state, j, (mxo_text){g->why, sizeof g->why});
    if (g->status == MXO_OK) {
        (void)snprintf(g->version, sizeof g->version, "%s",
                       j->subject.table->version);
        memcpy(g->device, j->subject.device, sizeof g->device);
    }
}

static int write_all(int fd, const void *thing, size_t size)
{
    const char *p = thing;

    while (size > 0) {
        const ssize_t n = write(fd, p, size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return 0;
        }
        p += n;
        size -= (size_t)n;
    }
    return 1;
}

static void child(const vector_subject *who, const path_list *list,
                  size_t first, int fd)
{
    cell_greeting greeting;
    vector_result result;
    judge j;

    cell_greet(who, &j, &greeting);
    if (!write_all(fd, &greeting, sizeof greeting) ||
        greeting.status != MXO_OK) {
        return;
    }
    for (size_t i = first; i < list->n; i++) {
        vector_judge(list->path[i], &j, &result);
        if (!write_all(fd, &result, sizeof result)) {
            return;
        }
    }
    judge_close(&j);
}

int cell_start(cell *c, const vector_subject *who, const path_list *list,
               size_t first)
{
    int ends[2];

    memset(c, 0, sizeof *c);
    if (fflush(stdout) != 0 || pipe(ends) != 0) {
        return -1;
    }
    c->pid = fork();
    if (c->pid < 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        c->pid = 0;
        return -1;
    }
    if (c->pid == 0) {
        (void)close(ends[0]);
        (void)dup2(2, 1); /* what a backend prints is no report */
        child(who, list, first, ends[1]);
        _exit(0);
    }
    (void)close(ends[1]);
    c->pipe = ends[0];
    return 0;
}

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int cell_read(cell *c, void *thing, size_t size, double timeout_s)
{
    const double end = now() + timeout_s;
    char *p = thing;

    while (size > 0) {
        struct pollfd wait = {c->pipe, POLLIN, 0};
        const double left = end - now();
        const int ready =
            left <= 0
                ? 0
                : poll(&wait, 1, left > 1000 ? 1000000 : (int)(left * 1e3) + 1);
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        const ssize_t n = ready <= 0 ? 0 : read(c->pipe, p, size);
        if (n <= 0) {
            return 0;
        }
        p += n;
        size -= (size_t)n;
    }
    return 1;
}

void cell_stop(cell *c, char *epitaph, size_t size)
{
    int status = 0;

    if (c->pid == 0) {
        return;
    }
    /* A child that has died is told from one that is killed here. */
    struct pollfd wait = {c->pipe, POLLIN, 0};
    const int hangs = poll(&wait, 1, 0) == 0;

    (void)kill(c->pid, SIGKILL);
    (void)waitpid(c->pid, &status, 0);
    (void)close(c->pipe);
    c->pid = 0;
    if (hangs) {
        (void)snprintf(epitaph, size, "gave no answer in time");
    } else if (WIFSIGNALED(status)) {
        (void)snprintf(epitaph, size, "was killed by signal %d (%s)",
                       WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        (void)snprintf(epitaph, size, "exited with status %d",
                       WEXITSTATUS(status));
    }
}
