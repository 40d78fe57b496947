/* SPDX-License-Identifier: Apache-2.0 */
/* See progress.h. */
#include "progress.h"

#include "cli.h"
#include "stop.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 256 };

static const double quiet_s = 2; /* before the first line */
static const double interval_s = 0.1;

void progress_begin(progress *p, uint64_t total, int is_wanted)
{
    *p = (progress){.is_shown = is_wanted && isatty(STDERR_FILENO),
                    .total = total,
                    .start_s = clock_s()};
}

/* "0:07", "1:02:03" */
static int clock_text(char *buf, size_t size, double seconds)
{
    const uint64_t s = seconds > 0 ? (uint64_t)(seconds + 0.5) : 0;

    return s < 3600
               ? snprintf(buf, size, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60)
               : snprintf(buf, size, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64,
                          s / 3600, s / 60 % 60, s % 60);
}

void progress_line(char *buf, size_t columns, const uint64_t done_total_red[3],
                   double elapsed_s, const char *what)
{
    const uint64_t done = done_total_red[0];
    const uint64_t total = done_total_red[1];
    char line[LONGEST];
    char spent[32];
    char left[48] = "";
    char of[32] = "";

    (void)clock_text(spent, sizeof spent, elapsed_s);
    if (total > 0) {
        (void)snprintf(of, sizeof of, "/%" PRIu64, total);
    }
    if (done > 0 && total > done) {
        char rest[32];
        (void)clock_text(rest, sizeof rest,
                         elapsed_s * (double)(total - done) / (double)done);
        (void)snprintf(left, sizeof left, " left %s", rest);
    }
    (void)snprintf(line, sizeof line, "%" PRIu64 "%s %" PRIu64 " red %s%s  %s",
                   done, of, done_total_red[2], spent, left,
                   what == NULL ? "" : what);
    (void)snprintf(buf, columns + 1, "%s", line);
}

void progress_show(progress *p, uint64_t done, uint64_t red, const char *what)
{
    const double t = p->is_shown ? clock_s() : 0;
    const uint64_t numbers[3] = {done, p->total, red};
    char line[LONGEST];

    if (!p->is_shown || t - p->start_s < quiet_s ||
        t - p->last_s < interval_s) {
        return;
    }
    const int columns = cli_columns(stderr);
    const size_t room = columns < 2         ? 1
                        : columns > LONGEST ? LONGEST - 1
                                            : (size_t)columns - 1;

    progress_line(line, room, numbers, t - p->start_s, what);
    (void)fprintf(stderr, "\r\033[K%s", line);
    (void)fflush(stderr);
    p->last_s = t;
    p->is_drawn = 1;
}

void progress_wipe(progress *p)
{
    if (p->is_drawn) {
        (void)fputs("\r\033[K", stderr);
        (void)fflush(stderr);
        p->is_drawn = 0;
        p->last_s = 0;
    }
}
