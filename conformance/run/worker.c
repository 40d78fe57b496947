/* SPDX-License-Identifier: Apache-2.0 */
/* See worker.h. */
#include "worker.h"

#include "base/stop.h"
#include "exec/libraries.h"
#include "system/process.h"
#include "system/system.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LONGEST_LINE = 1 << 22, MAX_ARGS = 16 };

/* For a worker to end that has closed its socket; for one and its subject,
   which it gives up by itself before that. */
enum { GRACE_S = 1, FINISH_S = 120 };

/* out: where it writes. */
static int spawn(worker *w, int end, int out, char *const *args)
{
    const process_plan plan = {.file = system_program(),
                               .args = args,
                               .n_files = 3,
                               .files = {out, out, end}};
    const int status = process_start(&plan, &w->pid);
    const int error = errno;

    close(end);
    errno = error;
    return status;
}

static int start(worker *w, int out, char *const *args)
{
    char *all[MAX_ARGS] = {(char *)system_program_name()};
    int ends[2];

    for (int i = 0; args[i] != NULL && i + 2 < MAX_ARGS; i++) {
        all[i + 1] = args[i];
    }
    memset(w, 0, sizeof *w);
    if (system_socket_pair(ends) != 0) {
        return -1;
    }
    w->socket = ends[0];
    if (spawn(w, ends[1], out, all) != 0) {
        close(w->socket);
        w->pid = 0;
        return -1;
    }
    return 0;
}

int worker_command(worker *w, char *const *args)
{
    return start(w, STDERR_FILENO, args);
}

static int start_silent(worker *w, char *const *args)
{
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const int status = nowhere < 0 ? -1 : start(w, nowhere, args);

    if (nowhere >= 0) {
        close(nowhere);
    }
    return status;
}

int worker_start(worker *w, const backend_ref *ref, const open_options *how)
{
    char text[6][32];
    char *const args[] = {"worker",
                          (char *)ref->name,
                          (char *)ref->path,
                          (char *)ref->command,
                          text[0],
                          text[1],
                          text[2],
                          text[3],
                          text[4],
                          text[5],
                          NULL};

    (void)snprintf(text[0], sizeof text[0], "%d", ref->global_symbols);
    (void)snprintf(text[1], sizeof text[1], "%d", how->device);
    (void)snprintf(text[2], sizeof text[2], "%.17g", how->timeout_s);
    (void)snprintf(text[3], sizeof text[3], "%d", how->in_process);
    (void)snprintf(text[4], sizeof text[4], "%d", how->is_drawn);
    (void)snprintf(text[5], sizeof text[5], "%" PRIu32, how->soak);
    return how->is_silent ? start_silent(w, args) : worker_command(w, args);
}

double worker_cpu_s(const worker *w)
{
    return process_cpu_s(w->pid);
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
        process_end(w->pid, 0, 0, NULL, 0);
        forget(w);
    }
}

void worker_end(worker *w)
{
    (void)worker_send(w->socket, json_pack("{s:b}", "end", 1));
}

void worker_finish(worker *w, verdict *v)
{
    const double until = process_clock() + FINISH_S;
    worker_state state = WORKER_WAIT;
    json_t *answer = NULL;
    char how[WORKER_TEXT + 160] = "";

    memset(v, 0, sizeof *v);
    while (state == WORKER_WAIT && process_clock() < until &&
           !stop_requested()) {
        state = worker_answer(w, 200, &answer);
    }
    if (stop_requested()) { /* the signal may have met it, too */
        json_decref(answer);
        worker_stop(w);
        return;
    }
    if (state == WORKER_LINE && verdict_from_json(v, answer) != 0) {
        verdict_conclude(v, VERDICT_ERROR, "protocol",
                         "the worker's last answer makes no sense");
    }
    json_decref(answer);
    if (state == WORKER_WAIT) {
        worker_stop(w);
        verdict_conclude(v, VERDICT_TIMEOUT, "end",
                         "behind its last call: it does not end within %d s",
                         FINISH_S);
    } else if (!worker_epitaph(w, how, sizeof how) &&
               !verdict_is_red(v->status)) {
        verdict_conclude(v, VERDICT_CRASH, "end", "behind its last call: %s",
                         how);
    }
}

void worker_field(char *to, size_t size, const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));

    (void)snprintf(to, size, "%s", text == NULL ? "" : text);
}

void worker_say_absent(backend_info *info, mxo_status status)
{
    const int no_device = status == MXO_E_DEVICE;

    info->absent = no_device ? VERDICT_SKIP : VERDICT_ERROR;
    if (info->why_not[0] == '\0') {
        (void)snprintf(info->why_not, sizeof info->why_not, "%s",
                       no_device ? "no device" : "it cannot be opened");
    }
}

void worker_say_present(backend_info *info, const opened_judge *o)
{
    const subject *s = &o->j.subject;

    info->why_not[0] = '\0';
    (void)snprintf(info->name, sizeof info->name, "%s", s->table->name);
    (void)snprintf(info->version, sizeof info->version, "%s",
                   s->table->version);
    (void)snprintf(info->device, sizeof info->device, "%s", s->device);
    (void)snprintf(info->driver, sizeof info->driver, "%s", s->driver);
    (void)snprintf(info->left, sizeof info->left, "%s",
                   s->link == NULL ? "" : s->link->left);
    worker_field(info->code, sizeof info->code,
                 o->proxy == NULL ? NULL : proxy_hello(o->proxy), "code");
}

void worker_read_hello(const json_t *o, backend_info *info)
{
    const json_t *status = json_object_get(o, "status");

    worker_field(info->why_not, sizeof info->why_not, o, "why");
    if (!json_is_integer(status) || json_integer_value(status) != MXO_OK) {
        worker_say_absent(info, (mxo_status)json_integer_value(status));
        return;
    }
    info->why_not[0] = '\0';
    worker_field(info->name, sizeof info->name, o, "name");
    worker_field(info->version, sizeof info->version, o, "version");
    worker_field(info->device, sizeof info->device, o, "device");
    worker_field(info->driver, sizeof info->driver, o, "driver");
    worker_field(info->left, sizeof info->left, json_object_get(o, "said"),
                 "left");
    worker_field(info->code, sizeof info->code, json_object_get(o, "said"),
                 "code");
}

const char *worker_hello_difference(const json_t *a, const json_t *b)
{
    const json_t *const said = json_object_get(a, "said");
    const json_t *const again = json_object_get(b, "said");

    if (said == again) {
        return NULL;
    }
    if (!json_equal(json_object_get(said, "file"),
                    json_object_get(again, "file"))) {
        return "in another process it is another file: that was replaced or "
               "written while it was judged";
    }
    if (libraries_other(said, again) != NULL) {
        return "in another process one of its libraries is another file: that "
               "was replaced or written while it was judged";
    }
    return libraries_alone_differ(said, again)
               ? NULL
               : "in another process it says another hello";
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

int worker_ask(worker *w, const char *case_text, uint64_t seed, int is_brief,
               const char *beside)
{
    return worker_send(w->socket,
                       json_pack("{s:s, s:I, s:b, s:s}", "case", case_text,
                                 "seed", (json_int_t)seed, "brief", is_brief,
                                 "beside", beside));
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

int worker_epitaph(worker *w, char *text, size_t size)
{
    const char *colon = w->fault[0] == '\0' ? "" : ": ";
    char how[128];

    /* The worker closed its pipe. */
    const int is_well = process_end(w->pid, 0, GRACE_S, how, sizeof how);

    (void)snprintf(text, size, "%s%s%s", w->fault, colon, how);
    forget(w);
    return is_well;
}
