/* SPDX-License-Identifier: Apache-2.0 */
/* See stop.h. */
#include "stop.h"

#include "cli.h"
#include "number.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
static _Atomic int is_late;

/* Whoever leaves work that goes on; see stop_leave_with(). */
enum { IDLE, WORKING, LEAVING };

enum { LEAVE_STACK = 1 << 20, LOOK_MS = 50 };

static const double patience_s = 2;
static _Atomic int phase = IDLE;
static volatile sig_atomic_t is_watched; /* there is a thread that waits */
static sem_t told;                       /* of a signal */
static int (*leave_work)(void *state);
static void *leave_state;

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
    if (is_watched) {
        (void)sem_post(&told);
    }
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

int stop_end(int status)
{
    const int is_lost = fflush(stdout) != 0 || ferror(stdout) != 0;

    if (is_lost && stop_is_unread()) {
        return stop_exit_status(status);
    }
    if (is_lost && status != EXIT_BROKEN) {
        fputs("mxoracle: standard output cannot be written in full\n", stderr);
    }
    return is_lost ? EXIT_BROKEN : status;
}

void stop_work_begin(void)
{
    phase = WORKING;
}

void stop_work_end(void)
{
    int expected = WORKING;

    while (!atomic_compare_exchange_strong(&phase, &expected, IDLE)) {
        (void)pause(); /* the process ends; a second signal does it at once */
        expected = WORKING;
    }
}

static void sleep_s(double seconds)
{
    const time_t whole = (time_t)seconds;
    const struct timespec t = {whole, (long)((seconds - (double)whole) * 1e9)};

    (void)nanosleep(&t, NULL);
}

/* Until there is a reason to stop. */
static void wait_for_reason(void)
{
    struct timespec until;

    while (!stop_requested()) {
        if (deadline_s <= 0) {
            (void)sem_wait(&told);
            continue;
        }
        const double left_s = stop_left();

        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += (time_t)left_s + 1;
        (void)sem_timedwait(&told, &until);
    }
}

/* The work goes on meanwhile, so that no lock stays taken for good. */
static void *watch(void *unused)
{
    int expected = WORKING;

    (void)unused;
    wait_for_reason();
    sleep_s(patience_s);
    while (!atomic_compare_exchange_strong(&phase, &expected, LEAVING)) {
        sleep_s(LOOK_MS / 1e3);
        expected = WORKING;
    }
    const int status = leave_work(leave_state);

    _exit(stop_end(status));
}

void stop_leave_with(int (*leave)(void *state), void *state)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all;
    sigset_t before;

    leave_work = leave;
    leave_state = state;
    if (is_watched || sem_init(&told, 0, 0) != 0 ||
        pthread_attr_init(&attributes) != 0) {
        return;
    }
    /* Signals go to the thread that works. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    (void)pthread_attr_setstacksize(&attributes, LEAVE_STACK);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    is_watched = 1; /* before the thread waits */
    if (pthread_create(&thread, &attributes, watch, NULL) != 0) {
        is_watched = 0;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
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
