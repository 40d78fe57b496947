/* SPDX-License-Identifier: Apache-2.0 */
/* See progress.h. */
#include "progress.h"

#include "cli.h"
#include "stop.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST = 256, CLOCK = 32 };

static const double quiet_s = 2; /* before the first line */
static const double interval_s = 0.1;
static const double silence_s = 0.9; /* before a tick draws */

void progress_begin(progress *p, uint64_t total, int is_wanted)
{
    *p = (progress){.is_shown = is_wanted && isatty(STDERR_FILENO),
                    .total = total,
                    .start_s = clock_s()};
}

/* "0:07", "1:02:03" */
static void clock_text(char *buf, size_t size, double seconds)
{
    const uint64_t s = seconds > 0 ? (uint64_t)(seconds + 0.5) : 0;

    if (s < 3600) {
        (void)snprintf(buf, size, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
    } else {
        (void)snprintf(buf, size, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64,
                       s / 3600, s / 60 % 60, s % 60);
    }
}

/* The earlier of two times to the end, each -1 if not known. */
static double earlier(double a, double b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* Time to the end: by the work that is left, and no later than a limit. */
static double left_of(const progress *p, double elapsed_s)
{
    const int by_work = p->total_work > 0;
    const uint64_t done = by_work ? p->work : p->done;
    const uint64_t total = by_work ? p->total_work : p->total;
    const double work_s =
        done > 0 && total > done
            ? elapsed_s * (double)(total - done) / (double)done
            : -1;
    const double limit_s = p->limit_s > 0 ? p->limit_s - elapsed_s : -1;

    return earlier(work_s, earlier(limit_s, stop_left()));
}

/* The line of p in buf, at most columns characters. */
static void line_of(char *buf, size_t columns, const progress *p,
                    double elapsed_s)
{
    const double seconds_left = left_of(p, elapsed_s);
    char line[LONGEST];
    char spent[CLOCK];
    char left[48] = "";
    char of[32] = "";

    clock_text(spent, sizeof spent, elapsed_s);
    if (p->total > 0) {
        (void)snprintf(of, sizeof of, "/%" PRIu64, p->total);
    }
    if (seconds_left >= 0) {
        char rest[CLOCK];
        clock_text(rest, sizeof rest, seconds_left);
        (void)snprintf(left, sizeof left, " left %s", rest);
    }
    (void)snprintf(
        line, sizeof line, "%" PRIu64 "%s%s %" PRIu64 " red %s%s  %s", p->done,
        of, p->unit == NULL ? "" : p->unit, p->red, spent, left, p->what);
    (void)snprintf(buf, columns + 1, "%s", line);
}

static void draw(progress *p)
{
    const double t = clock_s();
    const int columns = cli_columns(stderr);
    const size_t room = columns < 2         ? 1
                        : columns > LONGEST ? LONGEST - 1
                                            : (size_t)columns - 1;
    char line[LONGEST];

    if (t - p->start_s < quiet_s) {
        return;
    }
    line_of(line, room, p, t - p->start_s);
    (void)fprintf(stderr, "\r\033[K%s", line);
    (void)fflush(stderr);
    p->last_s = t;
    p->is_drawn = 1;
}

static void enter(progress *p)
{
    if (p->ticks) {
        (void)pthread_mutex_lock(&p->lock);
    }
}

static void leave(progress *p)
{
    if (p->ticks) {
        (void)pthread_mutex_unlock(&p->lock);
    }
}

void progress_total(progress *p, uint64_t total)
{
    enter(p);
    p->total = total;
    leave(p);
}

void progress_work(progress *p, uint64_t work, uint64_t total)
{
    enter(p);
    p->work = work;
    p->total_work = total;
    leave(p);
}

void progress_show(progress *p, uint64_t done, uint64_t red, const char *what)
{
    if (!p->is_shown) {
        return;
    }
    enter(p);
    p->done = done;
    p->red = red;
    (void)snprintf(p->what, sizeof p->what, "%s", what == NULL ? "" : what);
    if (clock_s() - p->last_s >= interval_s) {
        draw(p);
    }
    leave(p);
}

void progress_begin_bytes(progress *p, uint64_t total)
{
    progress_begin(p, total / 1000000, 1);
    p->unit = " MB";
    p->total_work = total;
    progress_tick(p);
}

void progress_bytes(progress *p, uint64_t n)
{
    if (p != NULL) {
        progress_work(p, p->work + n, p->total_work);
        progress_show(p, p->work / 1000000, 0, NULL);
    }
}

void progress_wipe(progress *p)
{
    if (!p->is_shown) {
        return;
    }
    enter(p);
    if (p->is_drawn) {
        (void)fputs("\r\033[K", stderr);
        (void)fflush(stderr);
        p->is_drawn = 0;
        /* Other output has the terminal for a while. */
        p->last_s = p->ticks ? clock_s() : 0;
    }
    leave(p);
}

static void *tick(void *state)
{
    progress *p = state;

    (void)pthread_mutex_lock(&p->lock);
    while (!p->is_over) {
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        (void)pthread_cond_timedwait(&p->over, &p->lock, &until);
        if (!p->is_over && clock_s() - p->last_s >= silence_s) {
            draw(p);
        }
    }
    (void)pthread_mutex_unlock(&p->lock);
    return NULL;
}

void progress_tick(progress *p)
{
    sigset_t all;
    sigset_t before;

    if (!p->is_shown) {
        return;
    }
    (void)pthread_mutex_init(&p->lock, NULL);
    (void)pthread_cond_init(&p->over, NULL);
    /* Signals go to the thread that waits for them. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    p->ticks = pthread_create(&p->thread, NULL, tick, p) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void progress_end(progress *p)
{
    progress_wipe(p);
    if (p->ticks) {
        (void)pthread_mutex_lock(&p->lock);
        p->is_over = 1;
        (void)pthread_cond_signal(&p->over);
        (void)pthread_mutex_unlock(&p->lock);
        (void)pthread_join(p->thread, NULL);
        p->ticks = 0;
    }
    p->is_shown = 0;
}
