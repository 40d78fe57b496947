/* SPDX-License-Identifier: Apache-2.0 */
/* Output without end is read in part: it is not waited for. */
#include "exec/channel.h"

#include <check.h>
#include <fcntl.h>
#include <unistd.h>

START_TEST(output_without_end_is_cut)
{
    channel c = {.pid = getpid(), .noise.file = open("/dev/zero", O_RDONLY)};
    strbuf said = {NULL, 0, 0};

    ck_assert_int_ge(c.noise.file, 0);
    (void)alarm(20); /* where no process of its own gives the test up */
    channel_begin(&c);
    channel_say_noise(&c, &said);
    (void)alarm(0);
    ck_assert_uint_gt(c.noise.n_dropped, 0);
    ck_assert_uint_le(c.noise.first.used + c.noise.last.used,
                      (size_t)4 * NOISE_KEPT);
    c.pid = 0; /* this one is not to be killed */
    channel_stop(&c);
    strbuf_clear(&said);
}
END_TEST

Suite *suite_channel(void);
Suite *suite_channel(void)
{
    Suite *s = suite_create("channel");
    TCase *t = tcase_create("channel");

    tcase_add_test(t, output_without_end_is_cut);
    suite_add_tcase(s, t);
    return s;
}
