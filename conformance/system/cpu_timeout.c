/* SPDX-License-Identifier: Apache-2.0 */
/* See cpu_timeout.h. */
#include "cpu_timeout.h"

/* Less processor time than this share of what has passed between two looks is
   idling: a worker that has one core in a thousand is starved beyond use. */
#define IDLE (1.0 / 1000)

/* Times the limit that may be slept in naps. */
#define NAPS 8

/* Seconds without a question after which whoever asks was stopped meanwhile. */
#define ABSENT 1.0

cpu_timeout cpu_timeout_begin(double limit_s, double now_s, double cpu_s)
{
    const cpu_timeout p = {.limit_s = limit_s,
                           .look_s = limit_s,
                           .until = now_s + limit_s,
                           .asked = now_s,
                           .started = cpu_s,
                           .met = cpu_s,
                           .queued = -1};

    return p;
}

int cpu_timeout_looks(cpu_timeout *p, double now_s)
{
    const double absent = now_s - p->asked;

    p->asked = now_s;
    if (absent > ABSENT) {
        p->until += absent;
        p->looked += absent;
    }
    return now_s > p->until;
}

/* Add what it slept since the last look, where both looks could tell. */
static void count_sleep(cpu_timeout *p, double now_s, double cpu_s,
                        double queue_s)
{
    const double awake = cpu_s - p->met + queue_s - p->queued;

    if (queue_s >= 0 && p->queued >= 0 && now_s - p->looked > awake) {
        p->slept += now_s - p->looked - awake;
    }
    p->looked = now_s;
    p->queued = queue_s;
}

int cpu_timeout_ends(cpu_timeout *p, double now_s, double cpu_s, double queue_s)
{
    const double used = cpu_s - p->started;

    count_sleep(p, now_s, cpu_s, queue_s);
    if (used >= p->limit_s || cpu_s - p->met < p->look_s * IDLE ||
        p->slept >= NAPS * p->limit_s) {
        return 1;
    }
    p->met = cpu_s;
    p->until = now_s + p->look_s;
    return 0;
}
