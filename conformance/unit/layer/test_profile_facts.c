/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <mxoracle/profiles.def> is what emulator and native backends all read, so a
 * wrong word there would be wrong everywhere.  Here is a second transcription
 * of the sources, made apart from it: a table per backend, words in the order
 * of fields[].
 */
#include <mxoracle/profile.h>

#include <check.h>
#include <string.h>

#define U "unknown"

enum { N_WORDS = 28 };

static const mxo_profile_field fields[N_WORDS] = {
    MXO_FIELD_WEIGHT_RULE,  MXO_FIELD_SCALE_AT,    MXO_FIELD_ORDER,
    MXO_FIELD_BIAS_TYPE,    MXO_FIELD_QUANT,       MXO_FIELD_QUANT_ELEMENT,
    MXO_FIELD_QUANT_RULE,   MXO_FIELD_QUANT_GROUP, MXO_FIELD_REQUANT,
    MXO_FIELD_REQUANT_RULE, MXO_FIELD_BIAS1,       MXO_FIELD_GEMM1_OUT,
    MXO_FIELD_SWIGLU,       MXO_FIELD_SILU,        MXO_FIELD_SILU_LIMIT,
    MXO_FIELD_ALPHA,        MXO_FIELD_BETA,        MXO_FIELD_LIMIT,
    MXO_FIELD_GLU_OUT,      MXO_FIELD_BIAS2,       MXO_FIELD_ROUTING_AT,
    MXO_FIELD_ROUTING_TYPE, MXO_FIELD_ROW_OUT,     MXO_FIELD_SUM,
    MXO_FIELD_OUT,          MXO_FIELD_ABSENT,      MXO_FIELD_SCALE_ENDS,
    MXO_FIELD_GLOBAL_AT,
};

typedef struct transcript {
    const char *name;
    const char *word[N_WORDS];
} transcript;

/* clang-format off */
static const transcript transcripts[] = {
    {"FLASHINFER_TRTLLM_MXFP4_MXFP8",
     {"ocp", "weight", "any", "f32",
      "quant.mx", "e4m3fn", "flashinfer", "32", "same", "trtllm_gen",
      "acc_ftz", "f32",
      "trtllm_gen", "trtllm_gen", "trtllm_gen", "config", "config", "config", "f32",
      "acc_ftz", "sum", "bf16", "bf16sat",
      "fma_ftz", "bf16", "skip", "open", "none"}},
    {"FLASHINFER_TRTLLM_MXFP4_BF16",
     {"ocp_bf16", "weight", "any", "f32",
      "none", "none", "none", "0", "none", "none",
      "acc_ftz", "f32",
      "trtllm_gen", "trtllm_gen", "trtllm_gen", "config", "config", "config", "bf16sat",
      "acc_ftz", "sum", "bf16", "bf16sat",
      "fma_ftz", "bf16", "skip", "declared", "none"}},
    {"FLASHINFER_CUTLASS_MXFP4_MXFP8",
     {"ocp", "weight", "any", "bf16",
      "quant.mx", "e4m3fn", "flashinfer", "32", "same", "same",
      "behind", "bf16",
      "cutlass_swiglu", "swiglu", "swiglu", "1.702", "1", "7", "bf16",
      "behind", "sum", "f32", "bf16",
      "fma_ftz", "bf16", "skip", "open", "none"}},
    {"FLASHINFER_CUTLASS_MXFP4_MXFP8/fused",
     {"ocp", "weight", "any", "bf16",
      "quant.mx", "e4m3fn", "flashinfer", "32", "same", "same",
      "behind", "bf16",
      "cutlass_swiglu", "swiglu", "swiglu", "1.702", "1", "7", "bf16",
      "acc_ftz", "acc", "f32", "bf16",
      "scatter_bf16", "bf16", "skip", "open", "none"}},
    {"FLASHINFER_CUTLASS_MXFP4_BF16",
     {"shift", "block", "block32", "bf16",
      "none", "none", "none", "0", "none", "none",
      "behind", "bf16",
      "cutlass_swiglu", "swiglu", "swiglu", "1.702", "1", "7", "bf16",
      "behind", "sum", "f32", "bf16",
      "fma_ftz", "bf16", "skip", "declared", "none"}},
    {"FLASHINFER_TRTLLM_NVFP4",
     {"nvfp4", "weight", "any", "f32",
      "quant.nvfp4", "e2m1", "vllm", "16", "same", "trtllm_gen",
      "none", "f32",
      "trtllm_gen", "trtllm_gen", "trtllm_gen", "config", "config", "config", "f32",
      "none", "sum", "bf16", "bf16sat",
      "fma_ftz", "bf16", "skip", "open", "glu"}},
    {"FLASHINFER_CUTLASS_NVFP4",
     {"nvfp4", "weight", "any", "bf16",
      "quant.nvfp4", "e2m1", "fast", "16", "same", "same",
      "none", "bf16",
      "cutlass_swiglu", "aiter_silu", "cutlass_swiglu", "config", "config", "config", "bf16",
      "none", "sum", "f32", "bf16",
      "fma_ftz", "bf16", "skip", "open", "acc"}},
    {"TRITON",
     {"triton_matmul", "weight", "any", "f32",
      "none", "none", "none", "0", "none", "none",
      "acc", "f32",
      "triton", "none", "none", "1.702", "1", "7", "bf16",
      "acc", "acc", "bf16", "bf16",
      "slots", "bf16", "skip", "declared", "none"}},
    {"TRITON_UNFUSED",
     {"triton_matmul", "weight", "any", "f32",
      "none", "none", "none", "0", "none", "none",
      "acc", "bf16",
      "vllm_swigluoai", "vllm_silu", "vllm_swiglu_limit", "config", "1", "config", "bf16",
      "acc", "acc", "bf16", "bf16",
      "moe_sum", "bf16", "zero", "declared", "none"}},
    {"AITER_MXFP4_FP8",
     {"ocp", "weight", "any", "f32",
      "quant.static", "e4m3fn", "divide", "0", "same", "same",
      "acc", "f32",
      "aiter_triton", "none", "none", "1.702", "1", "7", "f32",
      "acc", "acc", "bf16", "bf16",
      "by_expert", "bf16", "refuse", "open", "none"}},
    {"AITER_TRITON_MXFP4_BF16",
     {"shift", "weight", "any", "f32",
      "none", "none", "none", "0", "none", "none",
      "acc", "f32",
      "aiter_triton", "aiter_triton", "aiter_triton", "config", "1", "config", "bf16",
      "acc", "acc", "bf16", "bf16",
      "by_expert", "bf16", "refuse", "open", "none"}},
    {"MARLIN",
     {"marlin", "weight", "any", "bf16",
      "none", "none", "none", "0", "none", "none",
      "rounded", "bf16",
      "vllm_swigluoai", "vllm_silu", "vllm_swiglu_limit", "1.702", "1", "7", "bf16",
      "rounded", "rounded", "bf16", "bf16",
      "moe_sum", "bf16", "zero", "declared", "none"}},
    {"BATCHED_MARLIN",
     {"marlin", "weight", "any", "bf16",
      "none", "none", "none", "0", "none", "none",
      "rounded", "bf16",
      "vllm_swigluoai", "vllm_silu", "vllm_swiglu_limit", "1.702", "1", "7", "bf16",
      "rounded", "sum", "f32", "bf16",
      "fma", "bf16", "skip", "declared", "none"}},
    {"BATCHED_MARLIN/naive",
     {"marlin", "weight", "any", "bf16",
      "none", "none", "none", "0", "none", "none",
      "rounded", "bf16",
      "vllm_swigluoai", "vllm_silu", "vllm_swiglu_limit", "1.702", "1", "7", "bf16",
      "rounded", "rounded", "f32", "bf16",
      "experts_bf16", "bf16", "skip", "declared", "none"}},
    {"DEEPGEMM_MXFP4",
     {"ocp", "weight", "any", "bf16",
      "quant.group", "e4m3fn", "vllm_group", "128", "same", "same",
      "none", "bf16",
      "none", "vllm_packed", "vllm_packed", "1", "0", "config", "bf16",
      "none", "sum", "f32", "bf16",
      "fma", "bf16", "skip", "declared", "none"}},
    {"DEEPGEMM_MXFP4/unfused",
     {"ocp", "weight", "any", "bf16",
      "quant.group", "e4m3fn", "vllm_group", "128", "same", "same",
      "none", "bf16",
      "none", "vllm_packed", "vllm_packed", "1", "0", "config", "bf16",
      "none", "sum", "f32", "bf16",
      "product", "bf16", "skip", "declared", "none"}},
    {"HUMMING",
     {"humming", "weight", "any", "bf16",
      "none", "none", "none", "0", "none", "none",
      "rounded", "bf16",
      "vllm_swigluoai", "vllm_silu", "vllm_swiglu_limit", "1.702", "1", "7", "bf16",
      "rounded", "sum", "f32", "bf16",
      "fma", "bf16", "zero", "declared", "none"}},
    {"CPU",
     {"vllm_cpu", "weight", "cpu", "f32",
      "none", "none", "none", "0", "none", "none",
      "order", "down",
      "cpu_swiglu", "cpu_silu", "cpu_silu", "config", "1", "config", "bf16",
      "order", "rounded", "f32", "down",
      "cpu", "bf16", "refuse", "declared", "none"}},
    {"XPU",
     {"xpu", "weight", "any", "bf16",
      "none", "none", "none", "0", "none", "none",
      "acc", "bf16",
      "aiter", "vllm_silu", "vllm_silu", "1.702", "1", "7", "bf16",
      "acc", "sum", "f32", "bf16",
      "fma", "bf16", "skip", "declared", "none"}},
    {"EMULATION",
     {"quark_hip", "weight", "any", "f32",
      "quant.qdq", "e2m1", "quark_hip", "32", "same", "same",
      "acc", "bf16",
      "vllm_swigluoai", "vllm_silu", "vllm_silu", "1.702", "1", "7", "bf16",
      "acc", "acc", "f32", "bf16",
      "moe_sum", "bf16", "zero", "declared", "none"}},
    {"B12X_MXFP4_BF16",
     {"b12x", "weight", "any", "bf16",
      "none", "none", "none", "0", "none", "none",
      "none", "bf16",
      "b12x_oai", "b12x_silu", "b12x_silu", "config", "config", "config", "bf16",
      "none", "rounded", "bf16", "bf16",
      "slots", "bf16", "refuse", "declared", "none"}},
    {"B12X_MXFP4_MXFP8",
     {"b12x_mx", "weight", "any", "bf16",
      "quant.mx", "e4m3fn", "b12x_mxfp8", "32", "same", "same",
      "none", "f32",
      "none", "aiter_silu", "none", "config", "config", "config", "bf16",
      "none", "acc", "f32", "bf16",
      "atomic_bf16", "bf16", "refuse", "open", "none"}},
    {"NONE",
     {U, U, U, U,
      U, U, U, U, U, U,
      U, U,
      U, U, U, U, U, U, U,
      U, U, U, U,
      U, U, U, U, "none"}},
    {"exact",
     {"ocp", "weight", "exact", "f32",
      "none", "none", "none", "0", "none", "none",
      "order", "f32",
      "exact", "exact", "exact", "config", "config", "config", "bf16",
      "order", "sum", "f32", "f32",
      "exact", "bf16", "skip", "declared", "none"}},
    {"AITER_MXFP4_BF16",
     {"shift", "weight", "any", "f32",
      "none", "none", "none", "0", "none", "none",
      "acc", "f32",
      "aiter_ck", "aiter_silu", "aiter_silu", "1.702", "1", "7", "bf16",
      "acc", "acc", "f32", "bf16",
      "atomic_bf16", "bf16", "skip", "open", "none"}},
    {"AITER_MXFP4_MXFP4",
     {"ocp", "weight", "any", "f32",
      "quant.mx", "e2m1", "aiter_dynamic", "32", "same", "same",
      "none", "f32",
      "none", "aiter_silu", "aiter_silu", "1.702", "1", "7", "bf16",
      "none", "acc", "f32", "bf16",
      "atomic_bf16", "bf16", "skip", "open", "none"}},
    {"AITER_MXFP4_MXFP4/roundup",
     {"ocp", "weight", "any", "f32",
      "quant.mx", "e2m1", "aiter_hip_roundup", "32", "same", "same",
      "none", "f32",
      "none", "aiter_silu", "aiter_silu", "1.702", "1", "7", "bf16",
      "none", "acc", "f32", "bf16",
      "atomic_bf16", "bf16", "skip", "open", "none"}},
    {"AITER_MXFP4_MXFP4/flydsl",
     {"ocp", "weight", "any", "f32",
      "quant.mx", "e2m1", "aiter_hip_roundup", "32", "same", "aiter_flydsl",
      "none", "f32",
      "flydsl_swiglu", "flydsl_silu", "flydsl_silu", "1.702", "1", "7", "f32",
      "none", "acc", "f32", "bf16",
      "atomic_bf16", "bf16", "skip", "open", "none"}},
    {"CK",
     {"shift", "weight", "any", "f32",
      "none", "none", "none", "0", "none", "none",
      "acc", "f32",
      "aiter_ck", "aiter_silu", "aiter_silu", "1.702", "1", "7", "bf16",
      "acc", "acc", "f32", "bf16",
      "atomic_bf16", "bf16", "skip", "open", "none"}},
};
/* clang-format on */

enum { N_TRANSCRIPTS = sizeof transcripts / sizeof transcripts[0] };

START_TEST(facts_are_those_of_the_transcription)
{
    const transcript *t = &transcripts[_i];
    const mxo_profile *p = mxo_profile_by_name(t->name);

    ck_assert_msg(p != NULL, "no profile %s", t->name);
    for (int f = 0; f < N_WORDS; f++) {
        ck_assert_msg(strcmp(p->fact[fields[f]].value, t->word[f]) == 0,
                      "%s: %s is %s, transcribed %s", t->name,
                      mxo_profile_question_at((int)fields[f])->key,
                      p->fact[fields[f]].value, t->word[f]);
    }
}
END_TEST

START_TEST(every_profile_is_transcribed)
{
    ck_assert_int_eq(mxo_profile_count(), N_TRANSCRIPTS);
}
END_TEST

Suite *suite_profile_facts(void);
Suite *suite_profile_facts(void)
{
    Suite *s = suite_create("profile_facts");
    TCase *t = tcase_create("transcription");

    tcase_add_loop_test(t, facts_are_those_of_the_transcription, 0,
                        N_TRANSCRIPTS);
    tcase_add_test(t, every_profile_is_transcribed);
    suite_add_tcase(s, t);
    return s;
}
