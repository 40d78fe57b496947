/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check writes the place of every assertion that holds to a file: 3.7 million
 * times in suite grid. These note a place when they fail. The build includes
 * this before each file of the suites.
 */
#ifndef MXO_UNIT_QUICK_CHECK_H
#define MXO_UNIT_QUICK_CHECK_H

#include <check.h>

#undef ck_assert
#undef ck_assert_msg
#define ck_assert_msg(holds, ...) \
    ((holds) ? (void)0 : ck_abort_msg(__VA_ARGS__))
#define ck_assert(holds) ck_assert_msg(holds, "Assertion '%s' failed", #holds)

#endif
