/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gated units of trtllm-gen, CUTLASS, AITER, B12X and SiTU against worked
 * numbers of profiles-nvidia and profiles-other, which were computed apart
 * from this code in rational arithmetic.
 */
#include <mxoracle/act.h>

#include <check.h>

enum { NONE = 0x7f800000 };
#define NAN_F32 0x7fc00000u
#define GPT 0x3fd9db23u /* 1.702 */
#define ONE 0x3f800000u
#define SEVEN 0x40e00000u

typedef struct row {
    mxo_glu_dialect dialect;
    mxo_format from;
    mxo_format to;
    uint32_t gate;
    uint32_t up;
    uint32_t alpha;
    uint32_t beta;
    uint32_t limit;
    uint32_t linear;
    uint32_t y;
    uint32_t room; /* codes: exp and tanh there are a library's */
} row;

#define F MXO_FMT_F32
#define B MXO_FMT_BF16
#define GEN(g, u, alpha, beta, limit, y)                            \
    {                                                               \
        MXO_GLU_TRTLLM_GEN, F, F, g, u, alpha, beta, limit, 0, y, 0 \
    }
#define CUT(g, u, alpha, beta, limit, y)                                \
    {                                                                   \
        MXO_GLU_CUTLASS_SWIGLU, F, F, g, u, alpha, beta, limit, 0, y, 0 \
    }
#define OAI(dialect, g, u, y)                                   \
    {                                                           \
        MXO_GLU_##dialect, B, F, g, u, GPT, ONE, SEVEN, 0, y, 0 \
    }
#define SITU(dialect, g, u, y)                                                 \
    {                                                                          \
        MXO_GLU_##dialect, B, F, g, u, ONE, 0x40800000, NONE, 0x41c80000, y, 4 \
    }

static const row rows[] = {
    /* profiles-nvidia 2.1 */
    GEN(0x40000000, 0x3f800000, GPT, ONE, SEVEN, 0x4077c3a9),
    GEN(0x41000000, 0xc1100000, GPT, ONE, SEVEN, 0xc227ffb6),
    GEN(0xbfa00000, 0x3fc00000, GPT, ONE, SEVEN, 0xbeaa52f8),
    GEN(0xc1200000, 0xc0000000, GPT, ONE, SEVEN, 0x34d9dc2b),
    GEN(0x3f800000, 0x40100000, ONE, 0, NONE, 0x3fd28b7d),
    GEN(0xc2c80000, 0xbf000000, ONE, 0, NONE, 0x00000000),
    GEN(0x3f800000, 0x7f800000, ONE, 0, NONE, 0x7f3b26a7),
    GEN(0x3f800000, NAN_F32, GPT, ONE, SEVEN, NAN_F32),
    GEN(NAN_F32, 0x3f800000, GPT, ONE, SEVEN, NAN_F32),
    GEN(0xff800000, 0x3f800000, GPT, ONE, NONE, 0x80000000),
    /* profiles-nvidia 5.1 */
    CUT(0x40000000, 0x3f800000, GPT, ONE, SEVEN, 0x4077c3a9),
    CUT(0x41000000, 0xc1100000, GPT, ONE, SEVEN, 0xc227ffb6),
    CUT(0xbfa00000, 0x3fc00000, GPT, ONE, SEVEN, 0xbeaa52f8),
    CUT(0x3f800000, 0x40100000, GPT, ONE, SEVEN, 0x402fecef),
    CUT(0x3f800000, 0x40100000, ONE, 0, NONE, 0x3fd28b7d),
    CUT(NAN_F32, 0x3f800000, ONE, 0, NONE, 0x7f800000),
    CUT(0xff800000, 0x3f800000, GPT, ONE, SEVEN, NAN_F32),
    /* profiles-other 13.3 */
    OAI(AITER_CK, 0x3fa0, 0x4049, 0x4093fe69),
    OAI(AITER_CK, 0x7fc0, 0x3f80, 0x415fff9e),
    OAI(AITER_CK, 0x3f80, 0x7fc0, 0x40d88612),
    OAI(AITER_CK, 0x7fc0, 0x7fc0, 0x425fff9e),
    OAI(AITER_CK, 0xff80, 0x3f80, NAN_F32),
    OAI(AITER_HIP, 0x3f80, 0x7fc0, 0xc0a2648e),
    OAI(AITER_HIP, 0x7fc0, 0x7fc0, 0xc227ffb6),
    OAI(FLYDSL_SWIGLU, 0x3fa0, 0x4049, 0x4093fe69),
    OAI(FLYDSL_SWIGLU, 0x4100, 0xc110, 0xc227ffb6),
    OAI(FLYDSL_SWIGLU, 0x7fc0, 0x3f80, NAN_F32),
    OAI(FLYDSL_SWIGLU, 0x3f80, 0x7fc0, NAN_F32),
    OAI(AITER_TRITON, 0x3f80, 0x7fc0, 0x40d88612),
    OAI(AITER_TRITON, 0x7fc0, 0x3f80, 0x415fff9e),
    /* profiles-other 13.2; the limit is 7.01 in one of them */
    {MXO_GLU_VLLM_CLAMP_OAI, B, B, 0x4100, 0xc110, GPT, ONE, SEVEN, 0, 0xc228,
     0},
    {MXO_GLU_VLLM_CLAMP_OAI, B, B, 0x3fa0, 0x4049, GPT, ONE, SEVEN, 0, 0x4094,
     0},
    {MXO_GLU_VLLM_CLAMP_OAI, B, B, 0x7fc0, 0x7fc0, GPT, ONE, SEVEN, 0, 0x4260,
     0},
    {MXO_GLU_VLLM_CLAMP_OAI, B, B, 0x4100, 0x4100, GPT, ONE, 0x40e051ec, 0,
     0x4260, 0},
    {MXO_GLU_VLLM_CLAMP_OAI, B, B, 0xc0e1, 0x3f80, GPT, ONE, SEVEN, 0, 0xb8bb,
     0},
    {MXO_GLU_VLLM_CLAMP_TORCH, B, B, 0xc0e1, 0x3f80, GPT, ONE, SEVEN, 0, 0xb8c0,
     0},
    {MXO_GLU_VLLM_CLAMP_TORCH, B, B, 0xc040, 0xbb47, GPT, ONE, SEVEN, 0, 0xbc95,
     0},
    {MXO_GLU_VLLM_CLAMP_TORCH, B, B, 0xc0ce, 0xc0dc, GPT, ONE, SEVEN, 0, 0x3a30,
     0},
    /* profiles-other 13.1, b 4, l 25 */
    SITU(SITU_VLLM, 0x3f80, 0x3f80, 0x3f373fd6),
    SITU(SITU_VLLM, 0x40e0, 0xc0e0, 0xc1cd5674),
    SITU(SITU_VLLM, 0x4120, 0x42c8, 0x42c52e7a),
    SITU(SITU_VLLM, 0x4040, 0xb89f, 0xb94065fe),
    SITU(SITU_VLLM, 0xff80, 0x3f80, 0x80000000),
    SITU(SITU, 0x3f80, 0x3f80, 0x3f373fd6),
    SITU(SITU, 0x4040, 0xb89f, 0xb94065ff),
    SITU(SITU_AITER, 0x3f80, 0x3f80, 0x3f373fdb),
    SITU(SITU_AITER, 0x0000, 0x3f80, 0x80000000),
    SITU(SITU_AITER, 0x3f80, 0x3800, 0x37b786c0),
    SITU(SITU_AITER, 0x3f80, 0x3727, 0x36e8c3d4),
    SITU(SITU_FLASHINFER, 0x3f80, 0x3800, 0x37b30cc8),
    SITU(SITU_FLASHINFER, 0x3f80, 0x3727, 0x36d6dc23),
    SITU(SITU_FLASHINFER, 0x4040, 0xb89f, 0xb944a233),
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

static mxo_real real(uint32_t x)
{
    return mxo_format_decode(MXO_FMT_F32, x);
}

START_TEST(units_give_the_worked_numbers)
{
    const row *r = &rows[_i];
    const mxo_glu unit = {
        .dialect = r->dialect,
        .nan = MXO_GLU_NAN_DIALECT,
        .from = r->from,
        .to = r->to,
        .alpha = real(r->alpha),
        .beta = real(r->beta),
        .limit = real(r->limit),
        .linear_beta = real(r->linear),
        .scale_gate = real(ONE),
    };
    const uint32_t y = (uint32_t)mxo_act_glu(&unit, r->gate, r->up);
    const uint32_t off = y > r->y ? y - r->y : r->y - y;

    ck_assert_msg(off <= r->room, "%s(%08x, %08x) is %08x, not %08x",
                  mxo_glu_name(r->dialect), r->gate, r->up, y, r->y);
}
END_TEST

/* NVFP4's form: gate, up and beta are sums of codes, and so is the result.
   Twice the scale and half of everything is half the number. */
START_TEST(a_scale_of_two_is_a_power_of_two)
{
    mxo_glu unit = {
        .dialect = MXO_GLU_TRTLLM_GEN,
        .nan = MXO_GLU_NAN_DIALECT,
        .from = F,
        .to = F,
        .alpha = real(ONE),
        .beta = real(ONE),
        .limit = real(NONE),
        .scale_gate = real(ONE),
    };
    const uint64_t y = mxo_act_glu(&unit, 0x40000000, 0x3fa00000);

    unit.beta = real(0x3f000000);
    unit.scale_gate = real(0x40000000);
    ck_assert_uint_eq(mxo_act_glu(&unit, 0x3f800000, 0x3f200000),
                      y - 0x00800000);
}
END_TEST

/* profiles-nvidia 2.1: a given limit of +Inf is not the null pointer, and the
   gate's lower end stays. */
START_TEST(an_infinite_limit_is_not_none)
{
    static const uint32_t rows_of[][4] = {
        /* gate, up; none, infinite */
        {ONE, 0x7f800000, 0x7f3b26a7, 0x7f800000},
        {0x7f800000, ONE, 0x7f7fffff, 0x7f800000},
        {0xff800000, ONE, 0x80000000, 0x80000000}};
    mxo_glu unit = {
        .dialect = MXO_GLU_TRTLLM_GEN,
        .nan = MXO_GLU_NAN_DIALECT,
        .from = F,
        .to = F,
        .alpha = real(ONE),
        .beta = real(0),
        .limit = real(NONE),
        .scale_gate = real(ONE),
    };

    for (int given = 0; given < 2; given++) {
        unit.has_limit = given;
        ck_assert_uint_eq(mxo_act_glu(&unit, rows_of[_i][0], rows_of[_i][1]),
                          rows_of[_i][2 + given]);
    }
}
END_TEST

Suite *suite_act_dialects(void);
Suite *suite_act_dialects(void)
{
    Suite *s = suite_create("act_dialects");
    TCase *t = tcase_create("mxo_act_glu");

    tcase_add_loop_test(t, units_give_the_worked_numbers, 0, N_ROWS);
    tcase_add_test(t, a_scale_of_two_is_a_power_of_two);
    tcase_add_loop_test(t, an_infinite_limit_is_not_none, 0, 3);
    suite_add_tcase(s, t);
    return s;
}
