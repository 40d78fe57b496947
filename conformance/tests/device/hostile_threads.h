/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that a call leaves in its process, or that end it.
 */
#ifndef MXO_TESTS_HOSTILE_THREADS_H
#define MXO_TESTS_HOSTILE_THREADS_H

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void hang(void)
{
    for (;;) {
        (void)pause();
    }
}

static void *thread_exits(void *state)
{
    (void)state;
    exit(0);
}

static void *thread_stays(void *state)
{
    (void)state;
    hang();
    return NULL;
}

static void *thread_works(void *state)
{
    for (;;) {
        (void)usleep(100);
    }
    return state;
}

static void *thread_forges(void *state)
{
    static const char line[] = "00000000000000000000000000000000 0 fine\n";

    (void)state;
    (void)send(3, line, sizeof line - 1, MSG_NOSIGNAL);
    return NULL;
}

/* Posted by a thread that has begun with what it does for good. */
static sem_t has_begun;

/* Lines without end, and without a token. */
static void *thread_floods(void *state)
{
    (void)send(3, "x\n", 2, MSG_NOSIGNAL);
    (void)sem_post(&has_begun);
    while (send(3, "x\n", 2, MSG_NOSIGNAL) > 0) {
    }
    return state;
}

/* The file that a program reads its requests from; NULL: a plugin's worker. */
static FILE *requests;

/* Requests that are not for it.  A program cannot be faster: its file is
 * locked.  A worker has a thread against it that never sleeps, and gives way
 * to every other. */
static void *thread_steals(void *state)
{
    const int flags = requests == NULL ? MSG_DONTWAIT : 0;
    char bytes[4096];

    if (requests != NULL) {
        flockfile(requests);
    }
    (void)sem_post(&has_begun);
    while (recv(3, bytes, sizeof bytes, flags) != 0) {
    }
    return state;
}

static void start_thread(void *(*body)(void *), int waits)
{
    pthread_t thread;

    (void)pthread_create(&thread, NULL, body, NULL);
    (void)(waits ? pthread_join(thread, NULL) : pthread_detach(thread));
}

static void begin_thread(void *(*body)(void *))
{
    (void)sem_init(&has_begun, 0, 0);
    start_thread(body, 0);
    (void)sem_wait(&has_begun);
}

static void steal_requests(void)
{
    const struct sched_param none = {0};

    begin_thread(thread_steals);
    (void)sched_setscheduler(0, requests == NULL ? SCHED_IDLE : SCHED_OTHER,
                             &none);
}

#endif
