/* SPDX-License-Identifier: Apache-2.0 */
/* See channel.h. */
#include "channel.h"

#include "base/say.h"
#include "base/stop.h"
#include "system/cpu_timeout.h"
#include "system/system.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Between two looks at a clock; for a process that has closed its channel. */
static const int look_ms = 100;
static const double grace_s = 2;
/* For one that has nothing to do but to end: the limit of a reply, but not
   less, as all of it ends here, nor more. */
static const double least_patience_s = 3;
static const double most_patience_s = 10;
static const double fresh_s = 0.01;

int channel_start(channel *c, const process_plan *plan, int memory)
{
    process_plan p = *plan;
    const double timeout_s = c->timeout_s;
    int ends[2] = {-1, -1};
    int noise[2] = {-1, -1};
    int status = -1;

    memset(c, 0, sizeof *c);
    c->timeout_s = timeout_s;
    /* Its user may neither read this process's memory nor trace it. */
    system_hide_memory();
    if (system_socket_pair(ends) == 0 && system_ask_sender(ends[0]) == 0 &&
        system_pipe(noise) == 0 && fcntl(noise[0], F_SETFL, O_NONBLOCK) == 0) {
        p.own_group = 1;
        p.n_files = 4;
        p.files[0] = p.files[1] = noise[1];
        p.files[2] = ends[1];
        p.files[3] = memory;
        status = process_start(&p, &c->pid);
    }
    const int error = errno;

    (void)(ends[1] >= 0 && close(ends[1]));
    (void)(noise[1] >= 0 && close(noise[1]));
    c->socket = ends[0];
    c->noise.file = noise[0];
    if (status != 0) {
        (void)(ends[0] >= 0 && close(ends[0]));
        (void)(noise[0] >= 0 && close(noise[0]));
        c->pid = 0;
    }
    errno = error;
    return status;
}

/* Who replies, where that is not the process that was started; 0. */
static pid_t other_speaker(const channel *c)
{
    return c->speaker == c->pid || c->speaker == getpid() ? 0 : c->speaker;
}

/* Forget the process, not what it said.  Did it end well? */
static int reap(channel *c, double grace, char *text, size_t size)
{
    const pid_t other = other_speaker(c);

    (void)close(c->socket);
    const int is_well = process_end(c->pid, 1, grace, text, size);

    (void)(other != 0 && kill(other, SIGKILL));
    (void)close(c->noise.file);
    c->pid = 0;
    return is_well;
}

void channel_stop(channel *c)
{
    const double timeout_s = c->timeout_s;

    (void)(c->pid != 0 && reap(c, 0, NULL, 0));
    strbuf_clear(&c->line);
    strbuf_clear(&c->reply);
    noise_clear(&c->noise);
    memset(c, 0, sizeof *c);
    c->timeout_s = timeout_s;
}

static void take_noise(channel *c)
{
    if (c->pid != 0) {
        noise_take(&c->noise);
    }
}

void channel_begin(channel *c)
{
    take_noise(c);
    noise_clear(&c->noise);
}

void channel_say_noise(channel *c, strbuf *lines)
{
    take_noise(c);
    noise_say(&c->noise, lines);
}

/* Why it is over, behind what it said itself when it gave up. */
static void add_end(channel *c, const char *how)
{
    const size_t said = strlen(c->end);

    (void)snprintf(c->end + said, sizeof c->end - said, "%s%s",
                   said > 0 ? ": " : "", how);
    say_printable(c->end);
}

/* The channel was closed: how did the process end? */
static void bury(channel *c)
{
    char how[128];

    c->is_well = reap(c, grace_s, how, sizeof how) && c->end[0] == '\0';
    add_end(c, how);
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static int
end_it(channel *c, const char *format, ...)
{
    char how[sizeof c->end];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(how, sizeof how, format, args);
    va_end(args);
    add_end(c, how);
    take_noise(c);
    (void)reap(c, 0, NULL, 0);
    return -1;
}

/* Bytes from the channel to c->line: how many, 0: none now, -1: it is over. */
static ssize_t receive(channel *c)
{
    char chunk[4096];
    _Alignas(struct cmsghdr) char control[256];
    struct iovec part = {chunk, sizeof chunk};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    const ssize_t n =
        recvmsg(c->socket, &message, MSG_DONTWAIT | system_receive_flags());

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (n <= 0) {
        take_noise(c);
        bury(c);
        return -1;
    }
    const pid_t who = system_sender(&message);

    if (c->speaker != 0 && who != c->speaker) {
        return end_it(c, "another process than the one that said hello "
                         "replies: did a child return from fork()?");
    }
    c->speaker = who;
    if (memchr(chunk, '\0', (size_t)n) != NULL) {
        return end_it(c, "its reply holds a byte 00");
    }
    strbuf_add(&c->line, "%.*s", (int)n, chunk);
    return c->line.used <= CHANNEL_LINE
               ? n
               : end_it(c, "its reply has more than %d bytes", CHANNEL_LINE);
}

/* Of who replies; before a first reply a shell may stand before it. */
static double cpu_s(const channel *c)
{
    return c->speaker != 0 ? process_cpu_s(c->speaker)
                           : process_group_cpu_s(c->pid);
}

/* To ask of a group is to read all of /proc: not for every question. */
static cpu_timeout begin_timeout(channel *c)
{
    const double now = process_clock();

    if (c->speaker != 0 || now > c->asked_at + fresh_s) {
        c->asked_at = now;
        c->used_s = cpu_s(c);
    }
    cpu_timeout p = cpu_timeout_begin(c->timeout_s, now, c->used_s);

    p.limit_s += c->speaker == 0 ? c->start_s : 0;
    return p;
}

/* Is it given up, or the judge stopped? -1: then it is over. */
static int look_at(channel *c, cpu_timeout *p)
{
    const double now = process_clock();
    double used;

    if (cpu_timeout_looks(p, now) &&
        cpu_timeout_ends(p, now, (used = cpu_s(c)),
                         c->speaker != 0 ? process_queue_s(c->speaker) : -1)) {
        c->is_late = 1;
        return end_it(c, "no answer within %g s",
                      used - p->started < p->limit_s ? p->look_s : p->limit_s);
    }
    if (c->speaker == 0 && stop_requested()) { /* nothing is judged yet */
        return end_it(c, "stopped by %s", stop_reason());
    }
    return 0;
}

/* Wait for more. As receive(). */
static ssize_t wait_for_more(channel *c, cpu_timeout *p)
{
    struct pollfd fds[2] = {{c->socket, POLLIN, 0}, {c->noise.file, POLLIN, 0}};

    if (look_at(c, p) != 0) {
        return -1;
    }
    (void)poll(fds, 2, look_ms);
    if (fds[1].revents & POLLIN) {
        take_noise(c);
    } else if (fds[1].revents != 0 && fds[0].revents == 0) {
        /* Its output is closed: poll() would come back at once. */
        (void)poll(fds, 1, look_ms);
    }
    return fds[0].revents != 0 ? receive(c) : 0;
}

/* Only what a terminal shows as itself is left. */
static void undo_escapes(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; from++) {
        if (*from == '\\' && (from[1] == 'n' || from[1] == '\\')) {
            from++;
            *to++ = *from == 'n' ? '\n' : '\\';
        } else {
            *to++ = (unsigned char)*from < 0x20 ? '?' : *from;
        }
    }
    *to = '\0';
    say_printable_lines(text);
}

static int status_of(const char *word, size_t n)
{
    if (n == 1 && word[0] >= '0' && word[0] <= '0' + MXO_E_DEVICE) {
        return word[0] - '0';
    }
    if (n == 4 && memcmp(word, "left", n) == 0) {
        return REPLY_LEFT;
    }
    return n == 5 && memcmp(word, "fault", n) == 0 ? REPLY_FAULT : -1;
}

/* A whole line: its status, or -1: it is over. */
static int take_reply(channel *c, size_t n)
{
    char *line = c->line.text;

    line[n] = '\0';
    if (n >= 34 && strncmp(line, c->token_before, 32) == 0) {
        return end_it(c, "it replies twice to one request");
    }
    if (n < 32 || memcmp(line, c->token, 32) != 0) {
        return end_it(c,
                      "its reply has not the token of the request: "
                      "\"%.120s\"",
                      line);
    }
    const char *said = line + 32 + (line[32] == ' ');
    const size_t word = strcspn(said, " ");
    const int status = said == line + 32 ? -1 : status_of(said, word);
    const char *text = said + word;

    if (status < 0) {
        return end_it(c, "its reply has no status: \"%.120s\"", said);
    }
    strbuf_clear(&c->reply);
    strbuf_add(&c->reply, "%s", text[0] == '\0' ? text : text + 1);
    if (c->reply.text == NULL) {
        return end_it(c, "there is no memory for its reply");
    }
    undo_escapes(c->reply.text);
    if (c->line.used > n + 1 && status != REPLY_FAULT) {
        return end_it(c, "it replies twice to one request");
    }
    c->line.used = 0;
    return status;
}

static int listen_to(channel *c, const char **text)
{
    cpu_timeout p = begin_timeout(c);
    ssize_t n = 0;
    int is_dying = 0; /* what it says after a fault counts for nothing */

    while (n >= 0) {
        c->line.used = is_dying ? 0 : c->line.used;
        const char *end =
            c->line.used == 0 ? NULL : memchr(c->line.text, '\n', c->line.used);
        if (end != NULL) {
            const int status = take_reply(c, (size_t)(end - c->line.text));
            if (status != REPLY_FAULT) {
                *text = strbuf_text(&c->reply);
                return status;
            }
            is_dying = 1;
            (void)snprintf(c->end, sizeof c->end, "%.300s",
                           strbuf_text(&c->reply));
            say_printable(c->end);
        }
        const int is_first = c->speaker == 0;
        n = wait_for_more(c, &p);
        if (n > 0 && is_first) {
            p = begin_timeout(c);
        }
    }
    return -1;
}

static int draw_token(char token[33])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[16];

    if (system_random(bytes, sizeof bytes) != 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        token[2 * i] = digits[bytes[i] >> 4];
        token[2 * i + 1] = digits[bytes[i] & 15];
    }
    token[32] = '\0';
    return 0;
}

int channel_is_over(channel *c)
{
    if (c->pid != 0 && (c->line.used > 0 || receive(c) > 0)) {
        (void)end_it(c, "it replies twice, or to what nobody asked");
    }
    return c->pid == 0;
}

/* Wait until the channel has room; what it prints meanwhile is read. */
static void wait_for_room(channel *c)
{
    struct pollfd fds[2] = {{c->socket, POLLOUT, 0},
                            {c->noise.file, POLLIN, 0}};

    (void)poll(fds, 2, look_ms);
    if (fds[1].revents & POLLIN) {
        take_noise(c);
    } else if (fds[1].revents != 0 && fds[0].revents == 0) {
        (void)poll(fds, 1, look_ms);
    }
}

/* -1: it is over, as it reads nothing for as long as an answer may take. */
static int send_all(channel *c, const char *text, size_t n)
{
    size_t sent = 0;
    int has_waited = 0;
    cpu_timeout p;

    while (sent < n) {
        const ssize_t k =
            send(c->socket, text + sent, n - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (k < 0 && errno == EAGAIN) {
            p = has_waited ? p : begin_timeout(c);
            has_waited = 1;
            if (look_at(c, &p) != 0) {
                return -1;
            }
            wait_for_room(c);
        } else if (k < 0 && errno != EINTR) {
            return 0; /* its end is read from the channel */
        }
        sent += k > 0 ? (size_t)k : 0;
    }
    return 0;
}

int channel_ask(channel *c, json_t *request, const char **text)
{
    char *line;

    *text = "";
    if (channel_is_over(c)) {
        json_decref(request);
        return -1;
    }
    memcpy(c->token_before, c->token, sizeof c->token);
    if (draw_token(c->token) != 0) {
        json_decref(request);
        return end_it(c, "the system gives no random bytes for a token");
    }
    (void)json_object_set_new(request, "token", json_string(c->token));
    line = json_dumps(request, JSON_COMPACT);
    json_decref(request);
    if (line == NULL) {
        return end_it(c, "a request could not be written");
    }
    const size_t n = strlen(line);

    line[n] = '\n'; /* in place of the end: sent, never read */
    const int is_over = send_all(c, line, n + 1) != 0;

    free(line);
    return is_over ? -1 : listen_to(c, text);
}

/* What it wrote since its last reply: why it ends, or a break of the
   protocol. */
static void read_last(channel *c)
{
    if (c->line.used == 0 && receive(c) <= 0) {
        return;
    }
    const char *end = memchr(c->line.text, '\n', c->line.used);
    const int status =
        end == NULL ? MXO_OK : take_reply(c, (size_t)(end - c->line.text));

    if (status == REPLY_FAULT) {
        (void)snprintf(c->end, sizeof c->end, "%.300s", strbuf_text(&c->reply));
        say_printable(c->end);
    } else if (status >= 0) {
        (void)end_it(c, "it replies twice, or to what nobody asked");
    }
}

static int has_ended(const channel *c)
{
    return process_has_ended(c->pid) && !process_is_there(other_speaker(c));
}

int channel_finish(channel *c)
{
    const double limit_s = c->timeout_s < least_patience_s  ? least_patience_s
                           : c->timeout_s > most_patience_s ? most_patience_s
                                                            : c->timeout_s;
    cpu_timeout p = cpu_timeout_begin(limit_s, process_clock(), cpu_s(c));
    int ms = 1;

    if (c->pid == 0) { /* its last case has told */
        return 0;
    }
    (void)shutdown(c->socket, SHUT_WR);
    while (!has_ended(c)) {
        const double now = process_clock();
        if (stop_requested()) {
            channel_stop(c);
            return 0;
        }
        if (cpu_timeout_looks(&p, now) &&
            cpu_timeout_ends(&p, now, cpu_s(c),
                             c->speaker != 0 ? process_queue_s(c->speaker)
                                             : -1) &&
            !has_ended(c)) { /* it may just have */
            c->is_late = 1;
            return end_it(c, "it does not end within %g s", limit_s);
        }
        struct pollfd printed = {c->noise.file, POLLIN, 0};
        if (poll(&printed, 1, ms) > 0 && (printed.revents & POLLIN) == 0) {
            (void)poll(NULL, 0, ms); /* it is closed */
        }
        take_noise(c);
        ms = ms < 50 ? 2 * ms : ms;
    }
    read_last(c);
    if (c->pid != 0) {
        take_noise(c);
        bury(c);
    }
    return c->is_well ? 0 : -1;
}
