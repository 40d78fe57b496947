/* SPDX-License-Identifier: Apache-2.0 */
/* See clock_check.h. */
#include "clock_check.h"

#include "base/number.h"
#include "base/say.h"

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

int clock_check_is_due(clock_check *c, uint64_t request)
{
    if (c->request == request) {
        return 0;
    }
    *c = (clock_check){.request = request};
    return 1;
}

uint32_t clock_check_repeat(const timed *few)
{
    const double runs = worth_s / (few->wall > 0 ? few->wall : worth_s);

    return few->repeat + (runs < 1           ? 1
                          : runs > MOST_RUNS ? MOST_RUNS
                                             : (uint32_t)runs);
}

static mxo_status refuse(double said, double wall, mxo_text why)
{
    return say(MXO_E_DEVICE, why,
               "it says that a run takes %.3g s, and each further run takes "
               "%.3g s by the clock",
               said, wall);
}

mxo_status clock_check_weigh(clock_check *c, const timed *few,
                             const timed *many, mxo_text why)
{
    const double runs = many->repeat - few->repeat;
    const double wall = (many->wall - few->wall) / runs;
    const double said = (many->seconds - few->seconds) / runs;

    c->wall = 0;
    if (wall <= launch_s) {
        return MXO_OK;
    }
    c->wall = wall;
    return said < least_share * wall ? refuse(said, wall, why)
                                     : clock_check_hold(c, few, why);
}

mxo_status clock_check_hold(const clock_check *c, const timed *t, mxo_text why)
{
    const double one = t->seconds / t->repeat;

    return one < least_share * c->wall ? refuse(one, c->wall, why) : MXO_OK;
}
