/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dialects of the gated unit: the worked example of activation-vllm 2, what
 * each does to NaN and infinity, and where they part from one another.
 */
#include <mxoracle/act.h>

#include <check.h>

static mxo_real real(uint32_t f32)
{
    return mxo_format_decode(MXO_FMT_F32, f32);
}

static mxo_glu unit(mxo_glu_dialect dialect, uint32_t limit)
{
    const mxo_glu u = {dialect,          MXO_GLU_NAN_DIALECT,
                       MXO_FMT_BF16,     MXO_FMT_BF16,
                       real(0x3fd9db23), real(0x3f800000),
                       real(limit),      real(0),
                       real(0),          0};

    return u;
}

enum { SEVEN = 0x40e00000, NONE = 0x7f800000 };

START_TEST(swigluoai_worked_example)
{
    /* gate 8, up -9: g = 7, u = -7, -42 / (1 + e^-11.914) = -41.99972 */
    mxo_glu u = unit(MXO_GLU_VLLM_SWIGLUOAI, SEVEN);

    ck_assert_uint_eq(mxo_act_glu(&u, 0x4100, 0xc110), 0xc228);
    u.dialect = MXO_GLU_EXACT;
    ck_assert_uint_eq(mxo_act_glu(&u, 0x4100, 0xc110), 0xc228);
    u.to = MXO_FMT_F32; /* -42 (1 - 6.694e-6) */
    ck_assert_uint_eq(mxo_act_glu(&u, 0x4100, 0xc110), 0xc227ffb6);
}
END_TEST

START_TEST(swigluoai_loses_nan_and_overflows_to_nan)
{
    const mxo_glu u = unit(MXO_GLU_VLLM_SWIGLUOAI, SEVEN);

    /* a NaN gate counts as 7, a NaN up as 7 */
    ck_assert_uint_eq(mxo_act_glu(&u, 0x7fc0, 0x3f80),
                      mxo_act_glu(&u, 0x40e0, 0x3f80));
    ck_assert_uint_eq(mxo_act_glu(&u, 0x3f80, 0xffc0),
                      mxo_act_glu(&u, 0x3f80, 0x40e0));
    /* (u+1)*g overflows while the denominator is infinite */
    ck_assert_uint_eq(mxo_act_glu(&u, 0xff7f, 0x40e0), 0x7fc0);
    /* gate -1e38, up 0.5: -0 */
    ck_assert_uint_eq(mxo_act_glu(&u, 0xfe96, 0x3f00), 0x8000);
    ck_assert_uint_eq(mxo_act_glu(&u, 0xff80, 0x3f80), 0x7fc0);
}
END_TEST

START_TEST(nan_rules_override_the_dialect)
{
    mxo_glu u = unit(MXO_GLU_EXACT, SEVEN);

    ck_assert_uint_eq(mxo_act_glu(&u, 0x7fc0, 0x3f80), 0x7fc0);
    ck_assert_uint_eq(mxo_act_glu(&u, 0x3f80, 0x7fc0), 0x7fc0);
    u.nan = MXO_GLU_NAN_LAUNDER;
    ck_assert_uint_eq(mxo_act_glu(&u, 0x7fc0, 0x3f80),
                      mxo_act_glu(&u, 0x40e0, 0x3f80));
    ck_assert_uint_eq(mxo_act_glu(&u, 0x3f80, 0x7fc0),
                      mxo_act_glu(&u, 0x3f80, 0x40e0));
    u.nan = MXO_GLU_NAN_LAUNDER_LOW;
    ck_assert_uint_eq(mxo_act_glu(&u, 0x3f80, 0x7fc0),
                      mxo_act_glu(&u, 0x3f80, 0xc0e0));
    u.limit = real(NONE); /* no clamp, nothing to launder */
    ck_assert_uint_eq(mxo_act_glu(&u, 0x3f80, 0x7fc0), 0x7fc0);
}
END_TEST

START_TEST(a_limit_of_zero_clamps_to_zero_but_for_swiglu_limit_func)
{
    const mxo_glu exact = unit(MXO_GLU_EXACT, 0);
    const mxo_glu func = unit(MXO_GLU_VLLM_SWIGLU_LIMIT, 0);

    ck_assert_uint_eq(mxo_act_glu(&exact, 0x4100, 0x40e0), 0x0000);
    /* silu(8) * 7 = 55.98 */
    ck_assert_uint_eq(mxo_act_glu(&func, 0x4100, 0x40e0), 0x4260);
}
END_TEST

START_TEST(swiglustep_clamps_after_the_silu)
{
    const mxo_glu u = unit(MXO_GLU_VLLM_SWIGLUSTEP, SEVEN);

    /* silu(7.03125) = 7.0251 -> 7, silu(7) = 6.99363 stays */
    ck_assert_uint_eq(mxo_act_glu(&u, 0x40e1, 0x3f80), 0x40e0);
    ck_assert_uint_eq(mxo_act_glu(&u, 0x7fc0, 0x3f80), 0x40e0);
    ck_assert_uint_eq(mxo_act_glu(&u, 0x4100, 0x7fc0), 0xc244); /* 7 * -7 */
}
END_TEST

START_TEST(vllm_silu_rounds_twice)
{
    /* silu(1) = 0.7310586 -> 187/256; times 2.25 is 1.6435547 -> 1.640625,
       but 0.7310586 * 2.25 = 1.6448818 -> 1.6484375 */
    mxo_glu u = unit(MXO_GLU_VLLM_SILU, NONE);

    ck_assert_uint_eq(mxo_act_glu(&u, 0x3f80, 0x3f80), 0x3f3b);
    ck_assert_uint_eq(mxo_act_glu(&u, 0x3f80, 0x4010), 0x3fd2);
    u.dialect = MXO_GLU_VLLM_SWIGLU_LIMIT;
    ck_assert_uint_eq(mxo_act_glu(&u, 0x3f80, 0x4010), 0x3fd3);
}
END_TEST

START_TEST(cpu_store_flushes_subnormals)
{
    /* silu(-94) = -94 e^-94 = -1.40e-39 = -15.3 * 2^-133 */
    const mxo_glu cpu = unit(MXO_GLU_CPU_SILU, NONE);
    const mxo_glu exact = {MXO_GLU_EXACT,    MXO_GLU_NAN_DIALECT,
                           MXO_FMT_BF16,     MXO_FMT_BF16,
                           real(0x3f800000), real(0),
                           real(NONE),       real(0),
                           real(0),          0};

    ck_assert_uint_eq(mxo_act_glu(&cpu, 0xc2bc, 0x3f80), 0x8000);
    ck_assert_uint_eq(mxo_act_glu(&exact, 0xc2bc, 0x3f80), 0x800f);
}
END_TEST

/* 1.702 and its binary32 neighbour; a limit of 7 or none */
#define ALPHA64 UINT64_C(0x3ffb3b645a1cac08)
#define ALPHA32 UINT64_C(0x3ffb3b6460000000)
#define LIMIT7 UINT64_C(0x401c000000000000)
#define NO_LIMIT UINT64_C(0x7ff0000000000000)
#define NUM1 UINT64_C(0x3ff0000000000000)

/* Single values out of vendors' runs, where the dialects part. */
typedef struct vendor_row {
    mxo_glu_dialect dialect;
    mxo_format from;
    mxo_format to;
    uint64_t alpha;
    uint64_t beta;
    uint64_t limit;
    uint64_t gate;
    uint64_t up;
    uint64_t y;
} vendor_row;

static const vendor_row vendor[] = {
    /* triton.swiglu_torch, bf16, alpha rounded to 1.703125 */
    {MXO_GLU_TRITON_TORCH, MXO_FMT_BF16, MXO_FMT_BF16, ALPHA32, NUM1, LIMIT7,
     0x3fa5, 0x3be6, 0x3f96},
    {MXO_GLU_TRITON_TORCH, MXO_FMT_BF16, MXO_FMT_BF16, ALPHA32, NUM1, LIMIT7,
     0xc1e8, 0xbec9, 0x9dd4},
    {MXO_GLU_EXACT, MXO_FMT_BF16, MXO_FMT_BF16, ALPHA32, NUM1, LIMIT7, 0xc1e8,
     0xbec9, 0x9df4},
    /* the same with alpha as it is: -49.25, 4.08e-22, -1.184e-20, 0.609375 */
    {MXO_GLU_GPT_OSS_TORCH, MXO_FMT_BF16, MXO_FMT_BF16, ALPHA32, NUM1, LIMIT7,
     0xc1e8, 0xbec9, 0x9e08},
    {MXO_GLU_TRITON_TORCH, MXO_FMT_BF16, MXO_FMT_BF16, ALPHA32, NUM1, NO_LIMIT,
     0xbf46, 0xbf20, 0xbd7a},
    /* aiter.triton.swiglu: s * u, and s * (u + 1), in both precisions */
    {MXO_GLU_AITER, MXO_FMT_F32, MXO_FMT_F32, NUM1, 0, LIMIT7, 0xbfea946a,
     0xc0830f37, 0x3f848229},
    {MXO_GLU_AITER, MXO_FMT_F32, MXO_FMT_F64, NUM1, 0, LIMIT7, 0xbf6f8ba5,
     0x405f93ce, 0xbfed793b07449366},
    {MXO_GLU_AITER, MXO_FMT_F32, MXO_FMT_F64, ALPHA64, NUM1, LIMIT7, 0xbfea946a,
     0xc0830f37, 0x3fcebbcee336646f},
    /* triton.swiglu_kernel_special, version 3.6 */
    {MXO_GLU_TRITON, MXO_FMT_F32, MXO_FMT_F64, ALPHA64, NUM1, LIMIT7,
     0x3e47ea08, 0x7fc00000, 0xbfe5d3d0763aa6f8},
    {MXO_GLU_TRITON, MXO_FMT_F32, MXO_FMT_F64, ALPHA64, NUM1, LIMIT7,
     0xbe188686, 0x7f800000, 0xbfe0a96e1f8e3903},
    /* vllm.silu_and_mul_with_clamp, limit 10 */
    {MXO_GLU_VLLM_SILU_CLAMP, MXO_FMT_BF16, MXO_FMT_BF16, NUM1, NUM1,
     UINT64_C(0x4024000000000000), 0x3f9c, 0xfa10, 0xc117},
    {MXO_GLU_VLLM_SILU_CLAMP, MXO_FMT_BF16, MXO_FMT_BF16, NUM1, NUM1,
     UINT64_C(0x4024000000000000), 0x4f88, 0x8817, 0x89bd},
    /* trtllm with beta 1 in binary32 is triton_torch's sum, not an fma:
       silu(1) * (2 + 1) = 0.7310586 * 3 */
    {MXO_GLU_TRTLLM, MXO_FMT_F32, MXO_FMT_F32, NUM1, NUM1, NO_LIMIT, 0x3f800000,
     0x40000000, 0x400c5cfe},
    {MXO_GLU_AITER_TRITON, MXO_FMT_F32, MXO_FMT_F32, NUM1, 0, NO_LIMIT,
     0x3f800000, 0x40000000, 0x3fbb26a8},
    {MXO_GLU_TRITON, MXO_FMT_F32, MXO_FMT_F32, NUM1, NUM1, NO_LIMIT, 0x3f800000,
     0x40000000, 0x400c5cfe},
};

START_TEST(vendor_value)
{
    const vendor_row *r = &vendor[_i];
    const mxo_glu u = {r->dialect,
                       MXO_GLU_NAN_DIALECT,
                       r->from,
                       r->to,
                       mxo_format_decode(MXO_FMT_F64, r->alpha),
                       mxo_format_decode(MXO_FMT_F64, r->beta),
                       mxo_format_decode(MXO_FMT_F64, r->limit),
                       real(0),
                       real(0),
                       0};
    const uint64_t y = mxo_act_glu(&u, r->gate, r->up);

    ck_assert_ptr_null(mxo_glu_check(&u));
    ck_assert_msg(y == r->y, "%s, gate %llx, up %llx: got %llx want %llx",
                  mxo_glu_name(r->dialect), (unsigned long long)r->gate,
                  (unsigned long long)r->up, (unsigned long long)y,
                  (unsigned long long)r->y);
}
END_TEST

START_TEST(unusable_units_are_refused_with_a_sentence)
{
    mxo_glu u = unit(MXO_GLU_AITER_TRITON, SEVEN);

    ck_assert_ptr_null(mxo_glu_check(&u));
    u.beta = real(0x3f000000);
    ck_assert_str_eq(mxo_glu_check(&u), "beta is 0 or 1 in this dialect");
    u = unit(MXO_GLU_TRTLLM, 0xbf800000);
    ck_assert_str_eq(mxo_glu_check(&u), "a limit is not negative");
    u = unit(MXO_GLU_TRTLLM, 0x7fc00000);
    ck_assert_str_eq(mxo_glu_check(&u), "a limit is a number or none");
    u = unit(MXO_GLU_TRTLLM, SEVEN);
    u.from = MXO_FMT_F64;
    ck_assert_str_eq(mxo_glu_check(&u),
                     "only the dialect exact takes binary64");
    ck_assert_ptr_null(mxo_glu_name(MXO_N_GLU));
    ck_assert_str_eq(mxo_glu_name(MXO_GLU_CPU_SWIGLU), "cpu_swiglu");
}
END_TEST

Suite *suite_act_glu(void);
Suite *suite_act_glu(void)
{
    Suite *s = suite_create("act_glu");
    TCase *t = tcase_create("dialects");

    tcase_add_test(t, swigluoai_worked_example);
    tcase_add_test(t, swigluoai_loses_nan_and_overflows_to_nan);
    tcase_add_test(t, nan_rules_override_the_dialect);
    tcase_add_test(t, a_limit_of_zero_clamps_to_zero_but_for_swiglu_limit_func);
    tcase_add_test(t, swiglustep_clamps_after_the_silu);
    tcase_add_test(t, vllm_silu_rounds_twice);
    tcase_add_test(t, cpu_store_flushes_subnormals);
    tcase_add_loop_test(t, vendor_value, 0,
                        (int)(sizeof vendor / sizeof vendor[0]));
    tcase_add_test(t, unusable_units_are_refused_with_a_sentence);
    suite_add_tcase(s, t);
    return s;
}
