/* SPDX-License-Identifier: Apache-2.0 */
/* See worker.h. */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST_LINE = 1 << 22 };

/*
 * dup2 onto itself would keep close-on-exec, and the socket may be number 3
 * already; so it first moves out of the way.  Returns the moved one or -1.
 */
static int plan_files(posix_spawn_file_actions_t *a, int end)
{
    const int high = fcntl(end, F_DUPFD_CLOEXEC, 10);

    close(end);
    if (high >= 0) {
        posix_spawn_file_actions_adddup2(a, high, WORKER_SOCKET);
        posix_spawn_file_actions_adddup2(a, 2, 1);
        posix_spawn_file_actions_addopen(a, 0, "/dev/null", O_RDONLY, 0);
    }
    return high;
}

static int spawn(worker *w, int end, const backend_ref *ref, int device)
{
    posix_spawn_file_actions_t actions;
    char number[16];
    char name[] = "mxoracle";
    char command[] = "worker";
    char *args[] = {name,   command, (char *)ref->name, (char *)ref->path,
                    number, NULL};

    (void)snprintf(number, sizeof number, "%d", device);
    (void)posix_spawn_file_actions_init(&actions);
    const int high = plan_files(&actions, end);
    const int error = high < 0 ? EMFILE
                               : posix_spawn(&w->pid, "/proc/self/exe",
                                             &actions, NULL, args, environ);

    if (high >= 0) {
        close(high);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    errno = error;
    return error == 0 ? 0 : -1;
}

int worker_start(worker *w, const backend_ref *ref, int device)
{
    int ends[2];

    memset(w, 0, sizeof *w);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return -1;
    }
    w->socket = ends[0];
    if (spawn(w, ends[1], ref, device) != 0) {
        close(w->socket);
        w->pid = 0;
        return -1;
    }
    return 0;
}

double worker_cpu_s(const worker *w)
{
    struct timespec t = {0, 0};
    clockid_t clock;

    if (clock_getcpuclockid(w->pid, &clock) != 0 ||
        clock_gettime(clock, &t) != 0) {
        return 0;
    }
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void forget(worker *w)
{
    close(w->socket);
    strbuf_clear(&w->line);
    memset(w, 0, sizeof *w);
}

void worker_stop(worker *w)
{
    if (w->pid != 0) {
        int status;
        (void)kill(w->pid, SIGKILL);
        (void)waitpid(w->pid, &status, 0);
        forget(w);
    }
}

int worker_send(int socket, json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);
    size_t n = text == NULL ? 0 : strlen(text);
    size_t sent = 0;

    if (text != NULL) {
        text[n++] = '\n'; /* in place of the end: sent, never read */
    }
    while (sent < n) {
        const ssize_t k = send(socket, text + sent, n - sent, MSG_NOSIGNAL);
        if (k < 0 && errno != EINTR) {
            break;
        }
        sent += k > 0 ? (size_t)k : 0;
    }
    free(text);
    json_decref(object);
    return n > 0 && sent == n ? 0 : -1;
}

int worker_ask(worker *w, const char *case_text, uint64_t seed)
{
    return worker_send(w->socket, json_pack("{s:s, s:I}", "case", case_text,
                                            "seed", (json_int_t)seed));
}

/* The first complete line as JSON; NULL if there is none yet. */
static json_t *take_line(worker *w)
{
    char *end =
        w->line.used == 0 ? NULL : memchr(w->line.text, '\n', w->line.used);
    json_t *o;

    if (end == NULL) {
        return NULL;
    }
    o = json_loadb(w->line.text, (size_t)(end - w->line.text), 0, NULL);
    const size_t gone = (size_t)(end + 1 - w->line.text);

    memmove(w->line.text, end + 1, w->line.used - gone);
    w->line.used -= gone;
    w->line.text[w->line.used] = '\0';
    /* A line that is no JSON counts as an answer nobody understands. */
    return o == NULL ? json_object() : o;
}

/* The first answer; what it says of its end is kept instead. */
static json_t *take_answer(worker *w)
{
    json_t *o = take_line(w);
    const char *fault = json_string_value(json_object_get(o, "fault"));

    if (fault == NULL) {
        return o;
    }
    (void)snprintf(w->fault, sizeof w->fault, "%s", fault);
    json_decref(o);
    return NULL;
}

worker_state worker_answer(worker *w, int timeout_ms, json_t **answer)
{
    struct pollfd p = {w->socket, POLLIN, 0};
    char chunk[4096];

    *answer = take_answer(w);
    if (*answer != NULL) {
        return WORKER_LINE;
    }
    if (poll(&p, 1, timeout_ms) <= 0) {
        return WORKER_WAIT;
    }
    const ssize_t n = read(w->socket, chunk, sizeof chunk - 1);

    if (n <= 0 || w->line.used > LONGEST_LINE) {
        return WORKER_GONE;
    }
    strbuf_add(&w->line, "%.*s", (int)n, chunk);
    *answer = take_answer(w);
    return *answer == NULL ? WORKER_WAIT : WORKER_LINE;
}

void worker_epitaph(worker *w, char *text, size_t size)
{
    int status = 0;

    (void)kill(w->pid, SIGKILL); /* it closed its pipe: it is over */
    (void)waitpid(w->pid, &status, 0);
    const char *colon = w->fault[0] == '\0' ? "" : ": ";

    if (WIFSIGNALED(status)) {
        (void)snprintf(text, size, "%s%skilled by signal %d (%s)", w->fault,
                       colon, WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        (void)snprintf(text, size, "%s%sexited with status %d", w->fault, colon,
                       WEXITSTATUS(status));
    }
    forget(w);
}
