/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that are given up, and when: a limit of 5 s, second by second. */
#include "system/cpu_timeout.h"

#include <check.h>

enum { LIMIT_S = 5, FOREVER_S = 1000 };

/* The second at which a worker is given up that has `share` of a core, and
   does nothing after `busy_s` seconds. */
static int given_up_at(double share, int busy_s)
{
    const double before = 100; /* used for other cases */
    cpu_timeout p = cpu_timeout_begin(LIMIT_S, 0, before);

    for (int t = 1; t < FOREVER_S; t++) {
        const double used = before + share * (t < busy_s ? t : busy_s);
        if (cpu_timeout_looks(&p, t) && cpu_timeout_ends(&p, t, used)) {
            return t;
        }
    }
    return FOREVER_S;
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

Suite *suite_cpu_timeout(void);
Suite *suite_cpu_timeout(void)
{
    Suite *s = suite_create("cpu_timeout");
    TCase *t = tcase_create("cpu_timeout");

    tcase_add_test(t, a_spinning_worker_ends_with_the_limit);
    tcase_add_test(t, a_sleeping_worker_ends_with_the_limit);
    tcase_add_test(t, a_starved_worker_gets_its_processor_time);
    tcase_add_test(t, a_worker_that_stops_working_ends_at_the_look_after);
    suite_add_tcase(s, t);
    return s;
}
