/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A subject that ends is started again, by the words that it was opened with:
 * whoever gave them may have forgotten them since.  While it cannot be started,
 * every case is told the same reason.
 */
#include "exec/proxy.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* It says hello, or that there is no device, and ends at the next request. */
static const char script[] =
    "read -r line <&3; t=${line##*token\\\":\\\"}; t=${t%%\\\"*}; "
    "if [ -n \"$MXO_TEST_GONE\" ]; then printf '%s 5 no device\\n' $t >&3; "
    "else printf '%s 0 {\"name\":\"s\",\"version\":\"1\",\"device\":\"d\","
    "\"driver\":\"\",\"ops\":[\"dequant.mx\"]}\\n' $t >&3; fi; "
    "read -r line <&3; exit 0";

static char text[256];
static const mxo_text why = {text, sizeof text};

static proxy *open_subject(void)
{
    char command[1024];
    proxy *p = NULL;

    (void)snprintf(command, sizeof command, "%s", script);
    ck_assert_msg(
        proxy_open(&p, &(proxy_options){.command = command, .timeout_s = 10},
                   why) == MXO_OK,
        "%s", text);
    memset(command, 0, sizeof command);
    return p;
}

START_TEST(is_started_again)
{
    proxy *p = open_subject();

    for (int i = 0; i < 3; i++) {
        proxy_renew(p);
        text[0] = '\0';
        ck_assert_msg(proxy_link(p)->begin(p, why) == MXO_OK, "%s", text);
        ck_assert_uint_eq(proxy_n_started(p), 2 + (unsigned)i);
    }
    proxy_close(&p);
}
END_TEST

START_TEST(keeps_its_reason)
{
    proxy *p = open_subject();

    proxy_renew(p);
    ck_assert_int_eq(setenv("MXO_TEST_GONE", "1", 1), 0);
    for (int i = 0; i < 3; i++) {
        text[0] = '\0';
        ck_assert_int_eq(proxy_link(p)->begin(p, why), MXO_E_DEVICE);
        ck_assert_str_eq(text, "no device");
    }
    ck_assert_int_eq(unsetenv("MXO_TEST_GONE"), 0);
    ck_assert_int_eq(proxy_link(p)->begin(p, why), MXO_OK);
    proxy_close(&p);
}
END_TEST

Suite *suite_proxy(void);

Suite *suite_proxy(void)
{
    Suite *s = suite_create("proxy");
    TCase *t = tcase_create("proxy");

    tcase_add_test(t, is_started_again);
    tcase_add_test(t, keeps_its_reason);
    suite_add_tcase(s, t);
    return s;
}
