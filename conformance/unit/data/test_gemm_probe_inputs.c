/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes: the oracle's GEMM gives exactly the rows that it was to give, in
 * every type, whatever quantiser is before it, wherever an expert is, and in
 * orders that round; and the unit matrix gives the activations.
 */
#include "case/case_text.h"
#include "data/fill.h"
#include "data/gemm_probe_inputs.h"
#include "device/device_under_test.h"

#include <mxoracle/mxoracle.h>

#include <check.h>
#include <string.h>

#define ONE "moe.gemm1:stage=gemm,tokens=4,topk=2,experts=3,hidden=64,inter=32,"
#define TWO "moe.gemm2:stage=row,tokens=4,topk=2,experts=3,hidden=48,inter=64,"
#define MX "order=any,quant=quant.mx,bias1=acc,"
#define MX2 "order=any,quant=quant.mx,requant=same,bias2=acc,routing_at=sum,"
#define GIVEN "order=any,input_scale=given,"

static const char *const calls[] = {
    ONE "bias=f32,data=ordinary",
    ONE "map=1,data=ordinary",
    ONE "profile=MARLIN,bias=bf16,data=ordinary",
    ONE "order=seq,data=ordinary",
    ONE "order=pairwise,data=ordinary",
    ONE "order=hopper_wgmma,data=ordinary",
    ONE "order=block,scale_at=block,data=ordinary",
    ONE "from=f16,gemm1_out=f16,order=any,data=ordinary",
    ONE "from=f32,data=ordinary",
    ONE "from=e2m1,order=any,data=ordinary",
    ONE MX "quant_element=e4m3fn,quant_rule=rceil,data=ordinary",
    ONE MX "quant_element=e2m1,quant_rule=floor,data=ordinary",
    ONE GIVEN "quant=quant.static,quant_element=e4m3fn,quant_rule=divide,"
              "data=ordinary",
    ONE GIVEN "quant=quant.nvfp4,quant_element=e2m1,quant_rule=exact,"
              "data=ordinary",
    TWO "bias=f32,data=ordinary",
    TWO "profile=MARLIN,data=ordinary",
    TWO "profile=TRITON,data=ordinary",
    TWO MX2 "quant_element=e5m2,quant_rule=even,data=ordinary",
};

enum { N_CALLS = sizeof calls / sizeof calls[0] };

typedef struct asked {
    test_case c;
    subject oracle;
    const probe_half *h;
    tensor_set in;
    tensor_set rows;
} asked;

static void run(asked *a, const tensor_set *in, tensor_set *out)
{
    char sentence[256] = "";
    const mxo_text why = {sentence, sizeof sentence};
    mxo_param params[OP_MAX_PARAMS];
    const op_call call = {a->c.schema->info->name, params,
                          (uint32_t)a->c.schema->n_params, in};
    run_checks d;

    case_params(&a->c, params);
    ck_assert_msg(subject_infer(&a->oracle, &call, out, why) == MXO_OK, "%s",
                  sentence);
    ck_assert_msg(subject_run(&a->oracle, &call, out, &d, why) == MXO_OK, "%s",
                  sentence);
}

static void begin(asked *a, const char *text)
{
    char sentence[256] = "";
    const mxo_text why = {sentence, sizeof sentence};

    memset(a, 0, sizeof *a);
    ck_assert_msg(case_parse(&a->c, text, why) == 0, "%s", sentence);
    ck_assert_int_eq(fill_inputs(&a->c, 1, &a->in, why), 0);
    ck_assert_int_eq(subject_open(&a->oracle, mxo_emulator(), 0, why), MXO_OK);
    a->h = &probe_halves[strcmp(a->c.schema->info->name, "moe.gemm2") == 0];
    run(a, &a->in, &a->rows);
}

static void end(asked *a)
{
    tensor_set_clear(&a->in);
    tensor_set_clear(&a->rows);
    subject_close(&a->oracle);
}

START_TEST(the_rows_are_those_asked_for)
{
    tensor_set made = {0};
    tensor_set out = {0};
    asked a;

    begin(&a, calls[_i]);
    ck_assert_int_eq(
        probe_rows(&made, a.h, &a.in, &a.rows.t[0], PROBE_KEEP_NONE), 0);
    run(&a, &made, &out);
    for (uint64_t i = 0; i < tensor_elems(&out.t[0]); i++) {
        ck_assert_msg(tensor_load(&out.t[0], i) == tensor_load(&a.rows.t[0], i),
                      "%s: number %d is %08x, not %08x", calls[_i], (int)i,
                      (unsigned)tensor_load(&out.t[0], i),
                      (unsigned)tensor_load(&a.rows.t[0], i));
    }
    ck_assert_uint_eq(probe_depth(a.h, &made) % 64, 0);
    tensor_set_clear(&made);
    tensor_set_clear(&out);
    end(&a);
}
END_TEST

/* 1025 tokens had K of 98,432 here, and 6.5e9 products. */
START_TEST(many_tokens_do_not_make_a_huge_probe)
{
    tensor_set made = {0};
    asked a;

    begin(&a, "moe.gemm1:stage=gemm,tokens=1025,topk=1,experts=2,hidden=32,"
              "inter=32,data=ordinary");
    ck_assert_int_eq(
        probe_rows(&made, a.h, &a.in, &a.rows.t[0], PROBE_KEEP_NONE), 0);
    ck_assert_uint_ge(probe_depth(a.h, &made), 64);
    ck_assert_uint_le(1025 * 64 * probe_depth(a.h, &made), 1 << 26);
    tensor_set_clear(&made);
    end(&a);
}
END_TEST

static const char *const plain[] = {ONE "data=ordinary",
                                    TWO "row_out=f32,data=ordinary"};

/* Every slot's row is its token's or its own. */
START_TEST(the_unit_matrix_hands_activations_on)
{
    tensor_set made = {0};
    tensor_set out = {0};
    asked a;

    begin(&a, plain[_i]);
    ck_assert_int_eq(probe_identity(&made, a.h, &a.in, PROBE_KEEP_NONE), 0);
    run(&a, &made, &out);
    const host_tensor *act = tensor_set_find(&a.in, a.h->in);
    const uint64_t k = probe_depth(a.h, &a.in);
    const uint64_t n = out.t[0].shape[2];
    const uint64_t each = act->rank == 3 ? 1 : 2;

    ck_assert_uint_ge(n, k);
    for (uint64_t i = 0; i < 8 * n; i++) {
        const double x =
            i % n < k ? dtype_value(act->dtype,
                                    tensor_load(act, i / n / each * k + i % n))
                      : 0;
        ck_assert_double_eq(
            dtype_value(out.t[0].dtype, tensor_load(&out.t[0], i)), x);
    }
    tensor_set_clear(&made);
    tensor_set_clear(&out);
    end(&a);
}
END_TEST

Suite *suite_gemm_probe_inputs(void);
Suite *suite_gemm_probe_inputs(void)
{
    Suite *s = suite_create("gemm_probe_inputs");
    TCase *t = tcase_create("probe");

    tcase_add_loop_test(t, the_rows_are_those_asked_for, 0, N_CALLS);
    tcase_add_test(t, many_tokens_do_not_make_a_huge_probe);
    tcase_add_loop_test(t, the_unit_matrix_hands_activations_on, 0, 2);
    suite_add_tcase(s, t);
    return s;
}
