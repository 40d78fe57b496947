/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every quantiser, one row each.
 *
 * A row is read against mxo_quant_rule in <mxoracle/quant.h>; where a source
 * leaves something undefined, the comment says what this project chose.
 * docs/ops/quant.scale.md and quant.mx.md show the same table for readers.
 */
#include <mxoracle/quant.h>

#include <string.h>

#define F32_1E_4 0x38d1b717u
#define F32_1E_10 0x2edbe6ffu
#define F32_MIN_NORMAL 0x00800000u

/* NaN and infinity get the largest byte. */
#define TOP_255 .high = 255, .nan = 255, .inf = 255

#define CAST(tie, saturates, nan, zero) \
    {                                   \
        tie, saturates, nan, zero       \
    }

/* Nearest even, saturating, NaN as the format says: the OCP default. */
#define OCP CAST(MXO_TIE_RNE, 1, MXO_NAN_FORMAT, MXO_ZERO_KEEP)
/* torch's cast to FP8: beyond the last rounding boundary comes NaN. */
#define TORCH_FP8 CAST(MXO_TIE_RNE, 0, MXO_NAN_FORMAT, MXO_ZERO_KEEP)
/* torch bit arithmetic for formats without NaN (torchao, AITER). */
#define TORCH_FP4 CAST(MXO_TIE_RNE, 1, MXO_NAN_TORCH_BITS, MXO_ZERO_KEEP)
/* fmin(y, max) first, so that a NaN ends as +max (also what cvt does). */
#define CUDA_MAX CAST(MXO_TIE_RNE, 1, MXO_NAN_MAX, MXO_ZERO_KEEP)
/* fmax(y, -max) first. */
#define CUDA_MIN CAST(MXO_TIE_RNE, 1, MXO_NAN_MIN, MXO_ZERO_KEEP)
/* AITER's gfx942 fallback compares val < 0: neither NaN nor -0 has a sign. */
#define HIP_FP4 CAST(MXO_TIE_RNE, 1, MXO_NAN_ZERO, MXO_ZERO_NONZERO)
/* First best of a scan: ties to the smaller magnitude, no -0, NaN never best */
#define FIRST_BEST CAST(MXO_TIE_RNZ, 1, MXO_NAN_ZERO, MXO_ZERO_DROP)
/* Half a quantum added, then truncated. */
#define HALF_UP CAST(MXO_TIE_RNA, 1, MXO_NAN_SIGNED_MAX, MXO_ZERO_KEEP)

/*
 * The nine rules of the exact tables: bytes 0..254, a block with a NaN or an
 * infinity gets 255 (as torchao: isfinite(amax) or 255), elements by OCP.
 */
#define PLAIN(rule, from, exp, bits)                                    \
    {                                                                   \
        .name = (rule), .amax_nan = MXO_AMAX_POISON, .ratio = (from),   \
        .exponent = (exp), .high = 254, .nan = 255, .inf = 255,         \
        .carry = MXO_Q_FORMULA, .flags = (bits), .fp8 = OCP, .fp4 = OCP \
    }

/* AITER utility/fp4_utils.py f32_to_mx_e8m0_scale and per_1x32_*_quant. */
#define AITER_TORCH(rule, from, exp, bits)                            \
    {                                                                 \
        .name = (rule), .amax_nan = MXO_AMAX_POISON, .ratio = (from), \
        .exponent = (exp), TOP_255, .carry = 255, .flags = (bits),    \
        .fp8 = TORCH_FP8, .fp4 = TORCH_FP4                            \
    }

/* AITER csrc/kernels/quant_mxfp4.cu; top is the byte of an infinite amax. */
#define AITER_HIP(rule, from, exp, top, bits)                            \
    {                                                                    \
        .name = (rule), .amax_nan = MXO_AMAX_ZERO, .ratio = (from),      \
        .exponent = (exp), .high = 255, .nan = 255, .inf = (top),        \
        .carry = (top), .flags = (bits), .fp8 = CUDA_MAX, .fp4 = HIP_FP4 \
    }

/* triton_kernels numerics_details/mxfp.py downcast_to_mxfp_torch. */
#define TRITON(rule, from, exp, nan_byte, tie)                               \
    {                                                                        \
        .name = (rule), .amax_nan = MXO_AMAX_POISON, .ratio = (from),        \
        .exponent = (exp), .high = 255, .nan = (nan_byte), .inf = 255,       \
        .flags = MXO_Q_ZERO_AT_0 | MXO_Q_ZERO_AT_255 | MXO_Q_NEGATIVE_NAN |  \
                 MXO_Q_SHORT_TAIL,                                           \
        .fp8 = OCP, .fp4 = CAST((tie), 1, MXO_NAN_SIGNED_MAX, MXO_ZERO_KEEP) \
    }

/*
 * The Triton kernel of the same file, as triton_kernels 3.5.1 runs on an H200:
 * the block maximum drops NaN, the division is a product with RN(1/max), Inf
 * times a zero factor is a NaN, and every NaN is 7f.  A block of NaN alone has
 * the byte that the formula makes of the pattern 7fffffff; no device was asked.
 */
#define TRITON_KERNEL(rule, exp, nan_byte)                                 \
    {                                                                      \
        .name = (rule), .amax_nan = MXO_AMAX_SKIP, .ratio = MXO_RATIO_MUL, \
        .exponent = (exp), .high = 255, .nan = (nan_byte), .inf = 255,     \
        .flags = MXO_Q_ZERO_AT_0 | MXO_Q_ZERO_AT_255 | MXO_Q_SHORT_TAIL,   \
        .fp8 = CAST(MXO_TIE_RNE, 1, MXO_NAN_PLUS_ONES, MXO_ZERO_KEEP),     \
        .fp4 = CAST(MXO_TIE_RNA, 1, MXO_NAN_MAX, MXO_ZERO_KEEP)            \
    }

/*
 * vLLM mxfp8_utils.py _mxfp8_e4m3_quantize_torch.  A NaN maximum is cast to
 * uint8, which gives 0 on x86 and CUDA.  Exponents are exact here; torch's
 * float log2 errs for F32 input next to powers of two, for no other.
 */
#define VLLM_TORCH(rule, from, exp, cast)                                \
    {                                                                    \
        .name = (rule), .amax_floor = F32_MIN_NORMAL,                    \
        .amax_nan = MXO_AMAX_POISON, .ratio = (from), .exponent = (exp), \
        .high = 254, .nan = 0, .inf = 254, .flags = MXO_Q_NAN_AMAX,      \
        .fp8 = cast, .fp4 = OCP                                          \
    }

/* vLLM per_token_group_quant.cu, with a second floor in the UE8M0 branch; its
   Triton fallback: times RN32(1/448), one floor. */
#define VLLM_GROUP(rule, from, second)                                        \
    {                                                                         \
        .name = (rule), .amax_floor = F32_1E_10, .ratio_floor = (second),     \
        .amax_nan = MXO_AMAX_ZERO, .ratio = (from), .exponent = MXO_EXP_BITS, \
        TOP_255, .flags = MXO_Q_ZERO_AT_255, .fnuz_max = 0x7e,                \
        .fp8 = CUDA_MIN, .fp4 = CUDA_MIN                                      \
    }

static const mxo_quant_rule rules[] = {
    PLAIN("floor", MXO_RATIO_NONE, MXO_EXP_FLOOR, MXO_Q_OFFSET),
    PLAIN("ceil", MXO_RATIO_NONE, MXO_EXP_CEIL, MXO_Q_OFFSET),
    PLAIN("even", MXO_RATIO_NONE, MXO_EXP_EVEN, MXO_Q_OFFSET),
    PLAIN("rceil", MXO_RATIO_MUL, MXO_EXP_CEIL, 0),
    PLAIN("rceil_div", MXO_RATIO_DIV, MXO_EXP_CEIL, 0),
    PLAIN("rceil_exact", MXO_RATIO_EXACT, MXO_EXP_CEIL, 0),
    PLAIN("floor_div", MXO_RATIO_DIV, MXO_EXP_FLOOR, 0),
    PLAIN("floor_mul", MXO_RATIO_MUL, MXO_EXP_FLOOR, 0),
    PLAIN("floor_nooffset", MXO_RATIO_NONE, MXO_EXP_FLOOR, 0),

    AITER_TORCH("aiter_torch_rounddown", MXO_RATIO_POW2, MXO_EXP_FLOOR, 0),
    AITER_TORCH("aiter_torch_roundup", MXO_RATIO_DIV, MXO_EXP_BITS, 0),
    AITER_TORCH("aiter_torch_even", MXO_RATIO_NONE, MXO_EXP_EVEN, MXO_Q_OFFSET),
    AITER_TORCH("aiter_torch_ceil", MXO_RATIO_POW2, MXO_EXP_BITS, 0),

    AITER_HIP("aiter_hip_rounddown", MXO_RATIO_POW2, MXO_EXP_FLOOR, 255,
              MXO_Q_ZERO_AT_0 | MXO_Q_ZERO_AT_255),
    AITER_HIP("aiter_hip_roundup", MXO_RATIO_MUL, MXO_EXP_BITS, 255,
              MXO_Q_ZERO_AT_0 | MXO_Q_ZERO_AT_255),
    /* This mode has its own code in the kernel: 254 at overflow, and byte 0
       means 2^-127. */
    AITER_HIP("aiter_hip_even", MXO_RATIO_NONE, MXO_EXP_EVEN, 254,
              MXO_Q_OFFSET),
    AITER_HIP("aiter_hip_ceil", MXO_RATIO_POW2, MXO_EXP_BITS, 255,
              MXO_Q_ZERO_AT_0 | MXO_Q_ZERO_AT_255),
    /* csrc/include/mx_quant_utils.h, the shared helper: 255 - emax there. */
    AITER_HIP("aiter_hip_even_helper", MXO_RATIO_NONE, MXO_EXP_EVEN,
              MXO_Q_FORMULA, MXO_Q_OFFSET),

    /* aiter/ops/triton/quant/quant.py; the twin's byte of a NaN maximum is
       a NaN cast to uint8: Triton's NaN-dropping maximum is used instead. */
    {.name = "aiter_dynamic",
     .amax_nan = MXO_AMAX_SKIP,
     .exponent = MXO_EXP_EVEN,
     .high = 254,
     .nan = 254,
     .inf = 254,
     .carry = 254,
     .flags = MXO_Q_OFFSET | MXO_Q_SHORT_TAIL,
     .fp8 = TORCH_FP8,
     .fp4 = TORCH_FP4},

    /* FlashInfer quantization_utils.cuh >= c2853079, mxfp8 and mxfp4. */
    {.name = "flashinfer",
     .amax_nan = MXO_AMAX_SKIP,
     .ratio = MXO_RATIO_MUL,
     .exponent = MXO_EXP_BITS,
     .high = 254,
     .nan = 255,
     .inf = 254,
     .flags =
         MXO_Q_ZERO_AT_0 | MXO_Q_ZERO_AT_254 | MXO_Q_ZERO_AT_255 | MXO_Q_FTZ,
     .fp8 = CUDA_MAX,
     .fp4 = CUDA_MAX},

    TRITON("triton35_up", MXO_RATIO_DIV, MXO_EXP_BITS, 0, MXO_TIE_RNA),
    TRITON("triton35_down", MXO_RATIO_DIV, MXO_EXP_FLOOR, 255, MXO_TIE_RNA),
    TRITON_KERNEL("triton35_kernel_up", MXO_EXP_BITS, 0),
    TRITON_KERNEL("triton35_kernel_down", MXO_EXP_FLOOR, 255),
    TRITON("triton36_up", MXO_RATIO_DIV, MXO_EXP_BITS, 0, MXO_TIE_RNE),
    TRITON("triton36_down", MXO_RATIO_POW2, MXO_EXP_FLOOR, 255, MXO_TIE_RNE),

    VLLM_TORCH("vllm_torch", MXO_RATIO_NONE, MXO_EXP_FLOOR, TORCH_FP8),
    /* From v0.27.1 on; the cast of its torch (2.13) saturates. */
    VLLM_TORCH("vllm_torch_ceil", MXO_RATIO_DIV, MXO_EXP_CEIL, OCP),

    /* vLLM nvfp4_utils.cuh cvt_warp_fp16_to_fp4<UE8M0_SF=true> with a global
       scale of 1: the exponent field is cut out, rcp.approx.ftz(scale). */
    {.name = "vllm_cuda",
     .amax_nan = MXO_AMAX_SKIP,
     .ratio = MXO_RATIO_MUL,
     .exponent = MXO_EXP_FLOOR,
     TOP_255,
     .flags = MXO_Q_ZERO_AT_0 | MXO_Q_ZERO_AT_254 | MXO_Q_ZERO_AT_255,
     .fp8 = CUDA_MAX,
     .fp4 = CUDA_MAX},

    /* pytorch/ao mx_tensor.py _to_mx_rceil: cvt.rp without satfinite. */
    {.name = "torchao_rceil",
     .amax_nan = MXO_AMAX_POISON,
     .ratio = MXO_RATIO_MUL,
     .exponent = MXO_EXP_CEIL,
     TOP_255,
     .fp8 = OCP,
     .fp4 = TORCH_FP4},

    /* ggml quantize_row_mxfp4_ref.  Its uint8_t cast is undefined for an
       infinite amax and below 2^-125; the byte is clamped to 0..254 here. */
    {.name = "ggml",
     .amax_nan = MXO_AMAX_ZERO,
     .exponent = MXO_EXP_FLOOR,
     .high = 254,
     .nan = 0,
     .inf = 254,
     .flags = MXO_Q_OFFSET,
     .fp8 = FIRST_BEST,
     .fp4 = FIRST_BEST},

    /* amd/Quark kernel/mx/triton.py, scale mode "even". */
    {.name = "quark_triton",
     .amax_nan = MXO_AMAX_SKIP,
     .exponent = MXO_EXP_EVEN,
     .high = 254,
     .nan = 254,
     .inf = 254,
     .carry = 254,
     .flags = MXO_Q_OFFSET,
     .fp8 = HALF_UP,
     .fp4 = HALF_UP},

    /* deep_gemm/utils/math.py per_*_cast_to_fp8 / fp4. */
    {.name = "deepgemm",
     .amax_floor = F32_1E_4,
     .amax_nan = MXO_AMAX_POISON,
     .ratio = MXO_RATIO_DIV,
     .exponent = MXO_EXP_BITS,
     .low = 1,
     .high = 254,
     .nan = 254,
     .inf = 254,
     .flags = MXO_Q_RECIPROCAL | MXO_Q_PACK_FULL,
     .pack_pad = 127,
     .fp8 = TORCH_FP8,
     .fp4 = FIRST_BEST},
    /* DeepGEMM sm100_fp8_fp4_mega_moe.cuh: no floor, times RN32(1/448). */
    {.name = "deepgemm_mega",
     .amax_nan = MXO_AMAX_ZERO,
     .ratio = MXO_RATIO_MUL,
     .exponent = MXO_EXP_BITS,
     TOP_255,
     .flags = MXO_Q_ZERO_AT_255,
     .fp8 = CUDA_MAX,
     .fp4 = CUDA_MAX},

    VLLM_GROUP("vllm_group", MXO_RATIO_DIV, F32_1E_10),
    VLLM_GROUP("vllm_group_mul", MXO_RATIO_MUL, 0),

    /* trtllm-gen behind its activation: floor of the binary32 maximum, FP8
       saturated.  2^-8 of the maximum's power of two, ceiling of the UE8M0
       conversion, its reciprocal by the pattern: of infinity that is -Inf. */
    {.name = "trtllm_gen",
     .amax_nan = MXO_AMAX_ZERO,
     .exponent = MXO_EXP_FLOOR,
     .high = 254,
     .nan = 0,
     .inf = 254,
     .flags = MXO_Q_OFFSET | MXO_Q_ZERO_AT_0 | MXO_Q_MINUS_INF_254 | MXO_Q_FTZ,
     .fp8 = CAST(MXO_TIE_RNE, 1, MXO_NAN_POSITIVE, MXO_ZERO_KEEP),
     .fp4 = CUDA_MAX},

    /* AITER FlyDSL: the exponent goes up from 1.5 on.  A NaN maximum depends
       on the signedness of a shift: the formula is used. */
    {.name = "aiter_flydsl",
     .amax_nan = MXO_AMAX_POISON,
     .exponent = MXO_EXP_HALF,
     .high = 254,
     .nan = MXO_Q_FORMULA,
     .inf = MXO_Q_FORMULA,
     .carry = MXO_Q_FORMULA,
     .flags = MXO_Q_OFFSET,
     .fp8 = OCP,
     .fp4 = OCP},

    /* b12x/_lib/intrinsics.py pow2_ceil_ue8m0 and the kernel around it. */
    {.name = "b12x_mxfp8",
     .amax_nan = MXO_AMAX_ZERO,
     .ratio = MXO_RATIO_MUL,
     .exponent = MXO_EXP_BITS,
     .high = 254,
     .nan = 255,
     .inf = 255,
     .flags = MXO_Q_ZERO_AT_0 | MXO_Q_NUMBER_255,
     .fp8 = CUDA_MAX,
     .fp4 = CUDA_MAX},

    /* AITER aiter/ops/quant.py pertoken_quant and per_tensor_quant. */
    {.name = "aiter_token",
     .amax_nan = MXO_AMAX_POISON,
     .ratio = MXO_RATIO_DIV,
     .exponent = MXO_EXP_BITS,
     TOP_255,
     .flags = MXO_Q_ZERO_SCALE_1,
     .fp8 = TORCH_FP8,
     .fp4 = TORCH_FP4},
    {.name = "aiter_tensor",
     .amax_nan = MXO_AMAX_POISON,
     .ratio = MXO_RATIO_DIV,
     .exponent = MXO_EXP_BITS,
     TOP_255,
     .fp8 = TORCH_FP8,
     .fp4 = TORCH_FP4},
};

const mxo_quant_rule *mxo_quant_rule_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(rules[i].name, name) == 0) {
            return &rules[i];
        }
    }
    return NULL;
}
