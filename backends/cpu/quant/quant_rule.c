/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of quant.mx, a row each; the meaning of a row is in quant.h, the
 * sources of the rules in docs/ops/quant.mx.md.
 */
#include "number.h"
#include "quant.h"

#include <string.h>

/* Bytes 0..254; a NaN or infinity in the block makes byte 255. */
#define PLAIN(rule, from, up_, bits)                                          \
    {                                                                         \
        .name = rule, .ratio = from, .up = up_, .high = 254, .nan_byte = 255, \
        .inf_byte = 255, .carry_byte = CPU_CARRY_FIELD, .flags = bits         \
    }
#define AITER_TORCH(rule, from, up_, bits)                                    \
    {                                                                         \
        .name = rule, .ratio = from, .up = up_, .high = 255, .nan_byte = 255, \
        .inf_byte = 255, .carry_byte = 255,                                   \
        .flags = CPU_Q_UNSATURATED | (bits), .nan4 = CPU_NAN_ARITHMETIC       \
    }
#define AITER_HIP(rule, from, up_, top, bits)                             \
    {                                                                     \
        .name = rule, .amax = CPU_AMAX_ZERO, .ratio = from, .up = up_,    \
        .high = 255, .nan_byte = 255, .inf_byte = top, .carry_byte = top, \
        .flags = CPU_Q_POSITIVE_0 | (bits), .nan4 = CPU_NAN_ZERO,         \
        .nan8 = CPU_NAN_LARGEST                                           \
    }
#define TRITON(rule, from, up_, nan, tie)                                     \
    {                                                                         \
        .name = rule, .ratio = from, .up = up_, .high = 255, .nan_byte = nan, \
        .inf_byte = 255,                                                      \
        .flags =                                                              \
            CPU_Q_DEAD_0 | CPU_Q_DEAD_255 | CPU_Q_MINUS_NAN | CPU_Q_SHORT,    \
        .tie4 = tie, .nan4 = CPU_NAN_SIGNED                                   \
    }

/* The same as a kernel: NaN drops out of the maximum, no quotient. */
#define TRITON_KERNEL(rule, up_, nan)                                          \
    {                                                                          \
        .name = rule, .amax = CPU_AMAX_SKIP, .ratio = CPU_RATIO_INVERSE,       \
        .up = up_, .high = 255, .nan_byte = nan, .inf_byte = 255,              \
        .flags = CPU_Q_DEAD_0 | CPU_Q_DEAD_255 | CPU_Q_SHORT, .tie4 = CPU_RNA, \
        .nan4 = CPU_NAN_LARGEST, .nan8 = CPU_NAN_ONES                          \
    }

/* The smallest maximum is 1e-10; one of the two kernels has another floor
   behind the division. */
#define VLLM_GROUP(rule, from, floor)                                          \
    {                                                                          \
        .name = rule, .amax = CPU_AMAX_ZERO, .ratio = from, .up = CPU_UP_BITS, \
        .high = 255, .nan_byte = 255, .inf_byte = 255,                         \
        .flags = CPU_Q_DEAD_255 | CPU_Q_224, .amax_floor = 0x2edbe6ffu,        \
        .ratio_floor = floor, .nan4 = CPU_NAN_MINUS, .nan8 = CPU_NAN_MINUS     \
    }

static const cpu_quant_rule rules[] = {
    PLAIN("floor", CPU_RATIO_AMAX, CPU_UP_NEVER, CPU_Q_EMAX),
    PLAIN("ceil", CPU_RATIO_AMAX, CPU_UP_PTX, CPU_Q_EMAX),
    PLAIN("even", CPU_RATIO_AMAX, CPU_UP_HALF, CPU_Q_EMAX),
    PLAIN("rceil", CPU_RATIO_INVERSE, CPU_UP_PTX, 0),
    PLAIN("rceil_div", CPU_RATIO_DIVIDE, CPU_UP_PTX, 0),
    PLAIN("rceil_exact", CPU_RATIO_EXACT, CPU_UP_PTX, 0),
    PLAIN("floor_div", CPU_RATIO_DIVIDE, CPU_UP_NEVER, 0),
    PLAIN("floor_mul", CPU_RATIO_INVERSE, CPU_UP_NEVER, 0),
    PLAIN("floor_nooffset", CPU_RATIO_AMAX, CPU_UP_NEVER, 0),
    {.name = "flashinfer",
     .amax = CPU_AMAX_SKIP,
     .ratio = CPU_RATIO_INVERSE,
     .up = CPU_UP_BITS,
     .high = 254,
     .nan_byte = 255,
     .inf_byte = 254,
     .flags = CPU_Q_DEAD_0 | CPU_Q_DEAD_254 | CPU_Q_DEAD_255 | CPU_Q_FLUSH,
     .nan4 = CPU_NAN_LARGEST,
     .nan8 = CPU_NAN_LARGEST},
    TRITON("triton35_up", CPU_RATIO_DIVIDE, CPU_UP_BITS, 0, CPU_RNA),
    TRITON("triton35_down", CPU_RATIO_DIVIDE, CPU_UP_NEVER, 255, CPU_RNA),
    TRITON_KERNEL("triton35_kernel_up", CPU_UP_BITS, 0),
    TRITON_KERNEL("triton35_kernel_down", CPU_UP_NEVER, 255),
    TRITON("triton36_up", CPU_RATIO_DIVIDE, CPU_UP_BITS, 0, CPU_RNE),
    TRITON("triton36_down", CPU_RATIO_SHIFT, CPU_UP_NEVER, 255, CPU_RNE),
    AITER_TORCH("aiter_torch_rounddown", CPU_RATIO_SHIFT, CPU_UP_NEVER, 0),
    AITER_TORCH("aiter_torch_roundup", CPU_RATIO_DIVIDE, CPU_UP_BITS, 0),
    AITER_TORCH("aiter_torch_even", CPU_RATIO_AMAX, CPU_UP_HALF, CPU_Q_EMAX),
    AITER_TORCH("aiter_torch_ceil", CPU_RATIO_SHIFT, CPU_UP_BITS, 0),
    AITER_HIP("aiter_hip_rounddown", CPU_RATIO_SHIFT, CPU_UP_NEVER, 255,
              CPU_Q_DEAD_0 | CPU_Q_DEAD_255),
    AITER_HIP("aiter_hip_roundup", CPU_RATIO_INVERSE, CPU_UP_BITS, 255,
              CPU_Q_DEAD_0 | CPU_Q_DEAD_255),
    AITER_HIP("aiter_hip_even", CPU_RATIO_AMAX, CPU_UP_HALF, 254, CPU_Q_EMAX),
    /* The shared helper of quant.scale: the formula at overflow. */
    AITER_HIP("aiter_hip_even_helper", CPU_RATIO_AMAX, CPU_UP_HALF,
              CPU_CARRY_FIELD, CPU_Q_EMAX),
    AITER_HIP("aiter_hip_ceil", CPU_RATIO_SHIFT, CPU_UP_BITS, 255,
              CPU_Q_DEAD_0 | CPU_Q_DEAD_255),
    {.name = "aiter_dynamic",
     .amax = CPU_AMAX_SKIP,
     .up = CPU_UP_HALF,
     .high = 254,
     .nan_byte = 254,
     .inf_byte = 254,
     .carry_byte = 254,
     .flags = CPU_Q_EMAX | CPU_Q_UNSATURATED | CPU_Q_SHORT,
     .nan4 = CPU_NAN_ARITHMETIC},
    {.name = "vllm_torch",
     .high = 254,
     .nan_byte = 0,
     .inf_byte = 254,
     .flags = CPU_Q_NAN_AMAX | CPU_Q_UNSATURATED,
     .amax_floor = 0x00800000u},
    {.name = "vllm_torch_ceil",
     .ratio = CPU_RATIO_DIVIDE,
     .up = CPU_UP_PTX,
     .high = 254,
     .nan_byte = 0,
     .inf_byte = 254,
     .flags = CPU_Q_NAN_AMAX,
     .amax_floor = 0x00800000u},
    {.name = "vllm_cuda",
     .amax = CPU_AMAX_SKIP,
     .ratio = CPU_RATIO_INVERSE,
     .high = 255,
     .nan_byte = 255,
     .inf_byte = 255,
     .flags = CPU_Q_DEAD_0 | CPU_Q_DEAD_254 | CPU_Q_DEAD_255,
     .nan4 = CPU_NAN_LARGEST,
     .nan8 = CPU_NAN_LARGEST},
    {.name = "torchao_rceil",
     .ratio = CPU_RATIO_INVERSE,
     .up = CPU_UP_PTX,
     .high = 255,
     .nan_byte = 255,
     .inf_byte = 255,
     .nan4 = CPU_NAN_ARITHMETIC},
    {.name = "ggml",
     .amax = CPU_AMAX_ZERO,
     .high = 254,
     .nan_byte = 0,
     .inf_byte = 254,
     .flags = CPU_Q_EMAX | CPU_Q_NO_MINUS_0,
     .tie4 = CPU_RNZ,
     .tie8 = CPU_RNZ,
     .nan4 = CPU_NAN_ZERO,
     .nan8 = CPU_NAN_ZERO},
    {.name = "quark_triton",
     .amax = CPU_AMAX_SKIP,
     .up = CPU_UP_HALF,
     .high = 254,
     .nan_byte = 254,
     .inf_byte = 254,
     .carry_byte = 254,
     .flags = CPU_Q_EMAX,
     .tie4 = CPU_RNA,
     .tie8 = CPU_RNA,
     .nan4 = CPU_NAN_SIGNED,
     .nan8 = CPU_NAN_SIGNED},
    {.name = "deepgemm",
     .ratio = CPU_RATIO_DIVIDE,
     .up = CPU_UP_BITS,
     .high = 254,
     .nan_byte = 254,
     .inf_byte = 254,
     .flags = CPU_Q_UNSATURATED | CPU_Q_BARE_0 | CPU_Q_BYTE_1 | CPU_Q_INVERSE |
              CPU_Q_PACK_FULL,
     .amax_floor = 0x38d1b717u, /* 1e-4 */
     .tie4 = CPU_RNZ,
     .nan4 = CPU_NAN_ZERO},
    {.name = "deepgemm_mega",
     .amax = CPU_AMAX_ZERO,
     .ratio = CPU_RATIO_INVERSE,
     .up = CPU_UP_BITS,
     .high = 255,
     .nan_byte = 255,
     .inf_byte = 255,
     .flags = CPU_Q_DEAD_255,
     .nan4 = CPU_NAN_LARGEST,
     .nan8 = CPU_NAN_LARGEST},
    {.name = "trtllm_gen",
     .amax = CPU_AMAX_ZERO,
     .high = 254,
     .inf_byte = 254,
     .flags = CPU_Q_EMAX | CPU_Q_DEAD_0 | CPU_Q_TURNED_254 | CPU_Q_FLUSH,
     .nan4 = CPU_NAN_LARGEST,
     .nan8 = CPU_NAN_PLUS},
    {.name = "aiter_flydsl",
     .up = CPU_UP_15,
     .high = 254,
     .nan_byte = CPU_CARRY_FIELD,
     .inf_byte = CPU_CARRY_FIELD,
     .carry_byte = CPU_CARRY_FIELD,
     .flags = CPU_Q_EMAX},
    {.name = "b12x_mxfp8",
     .amax = CPU_AMAX_ZERO,
     .ratio = CPU_RATIO_INVERSE,
     .up = CPU_UP_BITS,
     .high = 254,
     .nan_byte = 255,
     .inf_byte = 255,
     .flags = CPU_Q_DEAD_0 | CPU_Q_LIVE_255,
     .nan4 = CPU_NAN_LARGEST,
     .nan8 = CPU_NAN_LARGEST},
    VLLM_GROUP("vllm_group", CPU_RATIO_DIVIDE, 0x2edbe6ffu),
    VLLM_GROUP("vllm_group_mul", CPU_RATIO_INVERSE, 0),
    AITER_TORCH("aiter_token", CPU_RATIO_DIVIDE, CPU_UP_BITS, CPU_Q_SCALE_1),
    AITER_TORCH("aiter_tensor", CPU_RATIO_DIVIDE, CPU_UP_BITS, 0),
};

const cpu_quant_rule *cpu_quant_rule_of(const char *name)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(rules[i].name, name) == 0) {
            return &rules[i];
        }
    }
    return NULL;
}

static void make_lane(cpu_quant *quant)
{
    const cpu_quant_rule *rule = quant->rule;
    const cpu_element *e = quant->element;
    const int shifts =
        rule->ratio == CPU_RATIO_SHIFT || (rule->flags & CPU_Q_EMAX) != 0;

    quant->lane_may = quant->tie == CPU_RNE && rule->ratio_floor == 0 &&
                      (quant->flags & CPU_Q_BYTE_1) == 0 &&
                      rule->ratio != CPU_RATIO_EXACT && rule->up != CPU_UP_15 &&
                      (quant->flags & CPU_Q_NO_MINUS_0) == 0 &&
                      (e->bits == 8 || (quant->flags & CPU_Q_POSITIVE_0) == 0);
    quant->lane_may = quant->lane_may && e->sign != 0x20 && e->nan != 0x80 &&
                      !quant->twos_complement;
    quant->divides = rule->ratio == CPU_RATIO_DIVIDE;
    quant->by = rule->ratio == CPU_RATIO_INVERSE  ? 1.0f / quant->largest
                : rule->ratio == CPU_RATIO_DIVIDE ? quant->largest
                                                  : 1.0f;
    quant->add = rule->up == CPU_UP_NEVER  ? 0
                 : rule->up == CPU_UP_HALF ? 1u << (22 - e->mbits)
                                           : 0x7fffffu;
    quant->sub = shifts ? (uint32_t)e->emax : 0;
    quant->largest_bits = cpu_bits32(quant->largest);
}

void cpu_quant_make(cpu_quant *quant, const cpu_quant_rule *rule,
                    const cpu_element *element, uint32_t from, cpu_tie tie)
{
    static const cpu_element fnuz_224 = {
        "e4m3fnuz", MXO_E4M3FNUZ, 4, 3, 8, 0x7e, 0x80, 0x80, 0x80, 7, 8};
    const int has_nan = element->nan != 0;
    const int ends_at_224 =
        (rule->flags & CPU_Q_224) != 0 && element->dtype == MXO_E4M3FNUZ;

    memset(quant, 0, sizeof *quant);
    quant->rule = rule;
    quant->element = ends_at_224 ? &fnuz_224 : element;
    element = quant->element;
    quant->from = from;
    quant->flags = rule->flags;
    quant->tie = (uint8_t)(tie != CPU_BY_RULE ? tie
                           : has_nan          ? (cpu_tie)rule->tie8
                                              : (cpu_tie)rule->tie4);
    quant->nan = has_nan ? rule->nan8 : rule->nan4;
    quant->twos_complement = element->mbits == 6;
    quant->nan_is_zero =
        quant->twos_complement &&
        (quant->nan == CPU_NAN_OWN || quant->nan == CPU_NAN_ONES ||
         quant->nan == CPU_NAN_PLUS || quant->nan == CPU_NAN_ARITHMETIC);
    quant->largest = cpu_element_value(element, element->largest);
    if (!has_nan) {
        quant->flags &= ~(uint32_t)CPU_Q_UNSATURATED;
        quant->flags |=
            (quant->flags & CPU_Q_BARE_0) != 0 ? (uint32_t)CPU_Q_NO_MINUS_0 : 0;
    } else {
        quant->flags &= ~(uint32_t)CPU_Q_POSITIVE_0;
    }
    make_lane(quant);
}
