/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the Check suites of the list SUITES, which the build makes from the
 * names of the sources, MXO_SUITE(name) a line, and speaks TAP on standard
 * output. A filter in CK_RUN_SUITE or CK_RUN_CASE that matches nothing exits
 * 77, not 0.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define MXO_SUITE(name) Suite *suite_##name(void);
#include SUITES
#undef MXO_SUITE

int main(void)
{
    SRunner *runner = srunner_create(NULL);

#define MXO_SUITE(name) srunner_add_suite(runner, suite_##name());
#include SUITES
#undef MXO_SUITE
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);

    const int n_run = srunner_ntests_run(runner);
    const int n_failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    if (n_run == 0) {
        fputs("no test matches the filter\n", stderr);
        return 77;
    }
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
