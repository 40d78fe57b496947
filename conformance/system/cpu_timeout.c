/* SPDX-License-Identifier: Apache-2.0 */
/* See cpu_timeout.h. */
#include "cpu_timeout.h"

/* Less processor time than this share of what has passed between two looks is
   idling: a worker that has one core in a thousand is starved beyond use. */
#define IDLE (1.0 / 1000)

cpu_timeout cpu_timeout_begin(double limit_s, double now_s, double cpu_s)
{
    const cpu_timeout p = {limit_s, limit_s, now_s + limit_s, cpu_s, cpu_s};

    return p;
}

int cpu_timeout_looks(const cpu_timeout *p, double now_s)
{
    return now_s > p->until;
}

int cpu_timeout_ends(cpu_timeout *p, double now_s, double cpu_s)
{
    const double used = cpu_s - p->started;

    if (used >= p->limit_s || cpu_s - p->met < p->look_s * IDLE) {
        return 1;
    }
    p->met = cpu_s;
    p->until = now_s + p->look_s;
    return 0;
}
