/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors and the readable values of codes, against the public formats. */
#include "base/codes.h"
#include "base/tensors.h"

#include <mxoracle/format.h>

#include <check.h>
#include <math.h>
#include <string.h>

START_TEST(sets_refuse_what_does_not_fit)
{
    static const uint64_t huge[] = {UINT64_C(1) << 40, UINT64_C(1) << 40};
    const uint64_t one[] = {1};
    tensor_set set = {0};
    char name[MXO_NAME_SIZE + 1];

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ck_assert_int_eq(tensor_set_add(&set, "x", MXO_F32, 2, huge, NULL),
                     MXO_E_SHAPE);
    ck_assert_int_eq(tensor_set_add(&set, "x", MXO_N_DTYPES, 1, one, NULL),
                     MXO_E_SHAPE);
    ck_assert_int_eq(tensor_set_add(&set, name, MXO_F32, 1, one, NULL),
                     MXO_E_SHAPE);
    ck_assert_int_eq(tensor_set_add(&set, "x", MXO_F32, 7, one, NULL),
                     MXO_E_SHAPE);
    for (int i = 0; i < MXO_MAX_TENSORS; i++) {
        ck_assert_int_eq(tensor_set_add(&set, "x", MXO_U8, 1, one, NULL),
                         MXO_OK);
    }
    ck_assert_int_eq(tensor_set_add(&set, "x", MXO_U8, 1, one, NULL),
                     MXO_E_SHAPE);
    tensor_set_clear(&set);
}
END_TEST

/* More than a machine has, together: nobody writes there and is killed. */
START_TEST(sets_stay_within_the_memory_there_is)
{
    const uint64_t one[] = {1};
    tensor_set set = {0};

    ck_assert_int_eq(tensor_set_add(&set, "x", MXO_U8, 1, one, NULL), MXO_OK);
    set.t[0].n_bytes = UINT64_MAX / 2;
    ck_assert_int_eq(tensor_set_add(&set, "y", MXO_U8, 1, one, NULL),
                     MXO_E_NOMEM);
    ck_assert_uint_eq(set.n, 1);
    tensor_set_clear(&set);
}
END_TEST

/* The emulator's decoder is the other derivation. */
START_TEST(values_agree_with_the_oracle)
{
    static const struct {
        const char *name;
        mxo_format format;
        unsigned n;
    } rows[] = {
        {"e2m1", MXO_FMT_E2M1, 16},          {"e2m3", MXO_FMT_E2M3, 64},
        {"e3m2", MXO_FMT_E3M2, 64},          {"e4m3fn", MXO_FMT_E4M3FN, 256},
        {"e4m3fnuz", MXO_FMT_E4M3FNUZ, 256}, {"e5m2", MXO_FMT_E5M2, 256},
        {"e5m2fnuz", MXO_FMT_E5M2FNUZ, 256}, {"f16", MXO_FMT_F16, 65536},
        {"bf16", MXO_FMT_BF16, 65536},
    };

    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        const code_format *f = code_format_by_name(rows[r].name);
        for (unsigned code = 0; code < rows[r].n; code++) {
            const mxo_real x = mxo_format_decode(rows[r].format, code);
            const double got = code_value(f, code);
            const double size = x.cls == MXO_CLASS_INF ? (double)INFINITY
                                : x.cls == MXO_CLASS_ZERO
                                    ? 0
                                    : ldexp((double)x.mant, x.exp);
            ck_assert_msg(x.cls == MXO_CLASS_NAN
                              ? isnan(got)
                              : fabs(got) == size &&
                                    (signbit(got) != 0) == x.neg,
                          "%s %x: %g", rows[r].name, code, got);
        }
    }
}
END_TEST

START_TEST(nearest_code_of_a_code_is_itself)
{
    static const char *const names[] = {"e2m1", "e3m2", "e4m3",
                                        "e5m2", "f16",  "bf16"};

    for (size_t r = 0; r < sizeof names / sizeof names[0]; r++) {
        const code_format *f = code_format_by_name(names[r]);
        for (uint64_t code = 0; code <= code_last_finite(f); code++) {
            ck_assert_msg(code_nearest(f, code_value(f, code)) == code, "%s %x",
                          names[r], (unsigned)code);
        }
    }
    ck_assert_uint_eq(code_nearest(code_format_by_name("e2m1"), 2.5), 4);
    ck_assert_uint_eq(code_nearest(code_format_by_name("e2m1"), -3.5), 0xe);
    ck_assert_uint_eq(code_nearest(code_format_by_name("e2m1"), 1e9), 7);
}
END_TEST

START_TEST(formats_of_dtypes_are_those_of_their_names)
{
    for (uint32_t i = 0; i <= MXO_N_DTYPES; i++) {
        ck_assert_msg(dtype_format(i) == code_format_by_name(dtype_name(i)),
                      "%s", dtype_name(i));
    }
}
END_TEST

Suite *suite_tensors(void);
Suite *suite_tensors(void)
{
    Suite *s = suite_create("tensors");
    TCase *t = tcase_create("tensors");

    tcase_add_test(t, sets_refuse_what_does_not_fit);
    tcase_add_test(t, sets_stay_within_the_memory_there_is);
    tcase_add_test(t, values_agree_with_the_oracle);
    tcase_add_test(t, nearest_code_of_a_code_is_itself);
    tcase_add_test(t, formats_of_dtypes_are_those_of_their_names);
    suite_add_tcase(s, t);
    return s;
}
