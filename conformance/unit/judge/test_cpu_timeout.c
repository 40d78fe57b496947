/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that are given up, and when: a limit of 5 s, second by second. */
#include "system/cpu_timeout.h"

#include <check.h>

enum { LIMIT_S = 5, FOREVER_S = 1000 };

/* The second at which a worker is given up that has `share` of a core, waits
   for one for `queue` of its time (below 0: nobody tells), and does nothing
   after `busy_s` seconds. */
static int given_up_beside(double share, double queue, int busy_s)
{
    const double before = 100; /* used for other cases */
    cpu_timeout p = cpu_timeout_begin(LIMIT_S, 0, before);

    for (int t = 1; t < FOREVER_S; t++) {
        const double used = before + share * (t < busy_s ? t : busy_s);
        if (cpu_timeout_looks(&p, t) &&
            cpu_timeout_ends(&p, t, used, queue < 0 ? -1 : queue * t)) {
            return t;
        }
    }
    return FOREVER_S;
}

static int given_up_at(double share, int busy_s)
{
    return given_up_beside(share, -1, busy_s);
}

START_TEST(a_spinning_worker_ends_with_the_limit)
{
    ck_assert_int_eq(given_up_at(1, FOREVER_S), 6);
    ck_assert_int_eq(given_up_at(16, FOREVER_S), 6);
}
END_TEST

START_TEST(a_sleeping_worker_ends_with_the_limit)
{
    ck_assert_int_eq(given_up_at(0, 0), 6);
}
END_TEST

START_TEST(a_starved_worker_gets_its_processor_time)
{
    const int at = given_up_at(0.1, FOREVER_S);

    ck_assert_msg(at >= 50 && at <= 56, "at %d s, not after 5 s of work", at);
}
END_TEST

START_TEST(a_worker_that_stops_working_ends_at_the_look_after)
{
    ck_assert_int_eq(given_up_at(0.5, 5), 12);
}
END_TEST

START_TEST(a_worker_that_naps_ends_after_eight_limits)
{
    const int at = given_up_beside(0.005, 0, FOREVER_S);

    ck_assert_msg(at > 8 * LIMIT_S && at <= 60, "at %d s", at);
}
END_TEST

/* It would run, and gets its limit of processor time. */
START_TEST(waiting_for_a_processor_is_no_sleep)
{
    const int at = given_up_beside(0.01, 0.99, FOREVER_S);

    ck_assert_msg(at >= 500 && at < 510, "at %d s", at);
}
END_TEST

/* A job that is held and goes on: an hour without a look, in which the worker
   did nothing, is neither a hang nor a nap. */
START_TEST(time_in_which_nobody_looked_does_not_count)
{
    enum { HELD_S = 3600 };
    cpu_timeout p = cpu_timeout_begin(LIMIT_S, 0, 0);

    for (int t = 1; t < FOREVER_S; t++) {
        const double now = t + (t < LIMIT_S ? 0 : HELD_S);
        if (cpu_timeout_looks(&p, now) &&
            cpu_timeout_ends(&p, now, 0.02 * t, 0)) {
            ck_assert_int_gt(t, 8 * LIMIT_S);
            return;
        }
    }
    ck_abort_msg("it is never given up");
}
END_TEST

START_TEST(a_sleeper_of_a_job_that_was_held_ends_with_the_limit)
{
    cpu_timeout p = cpu_timeout_begin(LIMIT_S, 0, 0);

    ck_assert(!cpu_timeout_looks(&p, 0.5));
    ck_assert(!cpu_timeout_looks(&p, 100));
    ck_assert(!cpu_timeout_looks(&p, 100.9));
    for (int half = 202; half <= 209; half++) {
        ck_assert(!cpu_timeout_looks(&p, half / 2.0));
    }
    ck_assert(cpu_timeout_looks(&p, 104.75));
    ck_assert(cpu_timeout_ends(&p, 104.75, 0, 0));
}
END_TEST

Suite *suite_cpu_timeout(void);
Suite *suite_cpu_timeout(void)
{
    Suite *s = suite_create("cpu_timeout");
    TCase *t = tcase_create("cpu_timeout");

    tcase_add_test(t, a_spinning_worker_ends_with_the_limit);
    tcase_add_test(t, a_sleeping_worker_ends_with_the_limit);
    tcase_add_test(t, a_starved_worker_gets_its_processor_time);
    tcase_add_test(t, a_worker_that_stops_working_ends_at_the_look_after);
    tcase_add_test(t, a_worker_that_naps_ends_after_eight_limits);
    tcase_add_test(t, waiting_for_a_processor_is_no_sleep);
    tcase_add_test(t, time_in_which_nobody_looked_does_not_count);
    tcase_add_test(t, a_sleeper_of_a_job_that_was_held_ends_with_the_limit);
    suite_add_tcase(s, t);
    return s;
}
