/* SPDX-License-Identifier: Apache-2.0 */
/* See stop.h. */
#include "stop.h"

#include "number.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct {
    int number;
    const char *name;
} signals[] = {{SIGINT, "SIGINT"},
               {SIGTERM, "SIGTERM"},
               {SIGHUP, "SIGHUP"},
               {SIGPIPE, "SIGPIPE"}};

enum { N_SIGNALS = sizeof signals / sizeof signals[0] };

/* timeout(1) and shells send one to the process and one to its group: what
   comes so soon behind the first is no second thought. */
static const double same_s = 0.5;

static volatile sig_atomic_t caught;
static volatile double caught_s[N_SIGNALS]; /* 0: not yet */
static double deadline_s;                   /* 0: none */
static const char *own_reason;
static int is_late;

double clock_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A second one ends the process; but nobody sends SIGPIPE: whatever is written
   from now on raises it again. */
static void on_signal(int number)
{
    const double now_s = clock_s();

    caught = number;
    for (int i = 0; i < N_SIGNALS; i++) {
        if (signals[i].number != number || number == SIGPIPE) {
            continue;
        }
        if (caught_s[i] == 0) {
            caught_s[i] = now_s;
        } else if (now_s - caught_s[i] > same_s) {
            (void)signal(number, SIG_DFL);
            (void)raise(number);
        }
    }
}

void stop_catch_signals(void)
{
    struct sigaction action;
    struct sigaction before;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    for (int i = 0; i < N_SIGNALS; i++) {
        /* What is being written is written on, lest it counts as lost. */
        action.sa_flags = signals[i].number == SIGPIPE ? 0 : SA_RESTART;
        if (sigaction(signals[i].number, NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN) {
            (void)sigaction(signals[i].number, &action, NULL);
        }
    }
}

void stop_after(double seconds)
{
    deadline_s = seconds > 0 ? clock_s() + seconds : 0;
}

double stop_left(void)
{
    const double left_s = deadline_s - clock_s();

    return deadline_s <= 0 ? -1 : left_s > 0 ? left_s : 0;
}

void stop_now(const char *reason)
{
    own_reason = reason;
}

int stop_requested(void)
{
    is_late |= deadline_s > 0 && clock_s() >= deadline_s;
    return caught != 0 || is_late || own_reason != NULL;
}

const char *stop_reason(void)
{
    for (int i = 0; i < N_SIGNALS; i++) {
        if (caught == signals[i].number) {
            return signals[i].name;
        }
    }
    return is_late ? "the time budget" : own_reason;
}

int stop_is_unread(void)
{
    return caught == SIGPIPE;
}

int stop_exit_status(int otherwise)
{
    return caught != 0 ? 128 + (int)caught : is_late ? EXIT_BUDGET : otherwise;
}

int stop_exit_status_of(const char *reason, int otherwise)
{
    return reason == NULL ? otherwise : stop_exit_status(otherwise);
}

double stop_parse_budget(const char *text)
{
    const size_t n = strlen(text);
    const char last = n > 0 ? text[n - 1] : '\0';
    const double unit = last == 'h' ? 3600 : last == 'm' ? 60 : 1;
    const size_t digits = n - (last == 'h' || last == 'm' || last == 's');
    char number[32];
    double value;

    if (digits == 0 || digits >= sizeof number) {
        return 0;
    }
    memcpy(number, text, digits);
    number[digits] = '\0';
    return number_real(number, 0, 1e6, &value) ? value * unit : 0;
}
