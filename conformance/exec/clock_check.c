/* SPDX-License-Identifier: Apache-2.0 */
/* See clock_check.h. */
#include "clock_check.h"

#include "base/number.h"
#include "base/say.h"

#include <stdio.h>
#include <string.h>

/* Absurd: a run by its clock is less than this share of one by ours. */
static const double least_share = 0.01;
/* A launch alone may take this long by our clock. */
static const double launch_s = 200e-6;
/* No clock sees less. */
static const double least_s = 1e-9;
/* Of more runs, in all. */
static const double worth_s = 1;
enum { MOST_RUNS = 10 };

mxo_status timed_read(timed *t, const char *text, mxo_text why)
{
    t->seconds = 0;
    if (!number_real(text, 0, 1e9, &t->seconds) || t->seconds < least_s) {
        return say(MXO_E_DEVICE, why, "its time is no time: \"%.60s\"", text);
    }
    if (t->seconds > t->wall) {
        return say(MXO_E_DEVICE, why, "it says %.3g s where %.3g s have passed",
                   t->seconds, t->wall);
    }
    return MXO_OK;
}

int clock_check_is_due(clock_check *c, const char *op, uint64_t n_bytes)
{
    if (strcmp(c->op, op) == 0 && c->n_bytes == n_bytes) {
        return 0;
    }
    (void)snprintf(c->op, sizeof c->op, "%s", op);
    c->n_bytes = n_bytes;
    return 1;
}

uint32_t clock_check_repeat(const timed *few)
{
    const double runs = worth_s / (few->wall > 0 ? few->wall : worth_s);

    return few->repeat + (runs < 1           ? 1
                          : runs > MOST_RUNS ? MOST_RUNS
                                             : (uint32_t)runs);
}

mxo_status clock_check_weigh(const timed *few, const timed *many, mxo_text why)
{
    const double runs = many->repeat - few->repeat;
    const double wall = (many->wall - few->wall) / runs;
    const double said = (many->seconds - few->seconds) / runs;
    const double one = few->seconds / few->repeat;

    if (wall <= launch_s ||
        (said >= least_share * wall && one >= least_share * wall)) {
        return MXO_OK;
    }
    return say(MXO_E_DEVICE, why,
               "it says that a run takes %.3g s, and each further run takes "
               "%.3g s by the clock",
               said < one ? said : one, wall);
}
