/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVFP4 quantisers in float arithmetic, as the kernels chain them; exact is in
 * double, where the quotients of 24-bit numbers stay on their side of every
 * tie of 4 bits.
 */
#include "quant_nvfp4.h"

#include "number.h"

#include "../../common/rcp_hopper.h"

#include <stddef.h>
#include <string.h>

#define SIXTH 0x1.555556p-3f
#define LARGEST 0x1.fffffep127f

int32_t cpu_nvfp4_scale(uint8_t byte)
{
    const int field = byte >> 3 & 15;
    const int32_t mantissa = byte & 7;

    if ((byte & 0x7f) == 0x7f) {
        return -1;
    }
    return field == 0 ? mantissa : (8 + mantissa) << (field - 1);
}

static float scale_value(uint8_t byte)
{
    const int32_t n = cpu_nvfp4_scale(byte);

    return n < 0         ? cpu_float(0x7fc00000u)
           : byte & 0x80 ? -(float)n * 0x1p-9f
                         : (float)n * 0x1p-9f;
}

/* Nearest even, at most 448. */
static uint8_t e4m3(double x)
{
    const double integers = 0x1.8p52;
    const int sign = (int)(cpu_bits64(x) >> 63) << 7;
    const double size = x < 0 ? -x : x;
    int e = (int)(cpu_bits64(size) >> 52 & 0x7ff) - 1023;

    if (x != x) {
        return 0x7f;
    }
    if (size >= 448) {
        return (uint8_t)(sign | 0x7e);
    }
    e = e < -6 ? -6 : e;
    const double units = size * cpu_pow2(3 - e);

    return (uint8_t)(sign |
                     (((e + 6) << 3) + (int)(units + integers - integers)));
}

/* Ties to the even code; NaN is 6. */
static uint8_t e2m1(double y)
{
    static const double tie[] = {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5};
    const double size = y < 0 ? -y : y;
    uint8_t code = 0;

    if (y != y) {
        return 7;
    }
    for (uint8_t i = 0; i < 7; i++) {
        code = (uint8_t)(code + (size > tie[i] || (size == tie[i] && i % 2)));
    }
    return (uint8_t)(code | (cpu_bits64(y) >> 63 << 3));
}

/* A product of flushed numbers, flushed. */
static float times(float a, float b)
{
    return cpu_flush32(cpu_flush32(a) * cpu_flush32(b));
}

static int is_nought(float x)
{
    return cpu_flush32(x) == 0;
}

/* Of the numbers; NaN if there are none. */
static float largest_of(const cpu_nvfp4 *rule, const float *x)
{
    float most = -1;

    for (int i = 0; i < rule->n; i++) {
        const float size = x[i] < 0 ? -x[i] : x[i];
        most = size > most ? size : most;
    }
    return most < 0 ? cpu_float(0x7fc00000u)
                    : cpu_float(cpu_bits32(most) & 0x7fffffffu);
}

/* rcp.approx.ftz.f32 of Hopper. */
static float rcp(float x)
{
    const uint32_t bits = cpu_bits32(cpu_flush32(x));
    const float sign = bits >> 31 != 0 ? -1 : 1;

    if (x != x) {
        return x;
    }
    if ((bits & 0x7fffffffu) == 0 || (bits & 0x7fffffffu) == 0x7f800000u) {
        return (bits & 0x7fffffffu) == 0 ? sign * cpu_float(0x7f800000u)
                                         : sign * 0.0f;
    }
    return cpu_flush32(sign *
                       (float)((double)rcp_hopper_units(bits & 0x7fffffu) *
                               cpu_pow2(127 - 24 - (int)(bits >> 23 & 255))));
}

/* A scale as its type has it; E8M0: the exponent, rounded up. */
static uint8_t make_scale(const cpu_nvfp4 *rule, float s)
{
    const uint32_t bits = cpu_bits32(s);
    const uint32_t up = (bits >> 23) + ((bits & 0x7fffffu) != 0);

    if (!rule->is_e8m0) {
        return e4m3((double)s);
    }
    return s != s ? 255 : up > 254 ? 254 : (uint8_t)up;
}

/* The stored scale as kernels read it back: E8M0 byte 0 is 0. */
static float read_scale(const cpu_nvfp4 *rule, uint8_t byte)
{
    return rule->is_e8m0 ? cpu_float((uint32_t)byte << 23) : scale_value(byte);
}

static void encode(const cpu_nvfp4 *rule, const float *x, float factor,
                   uint8_t *code)
{
    for (int i = 0; i < rule->n; i++) {
        code[i] = e2m1((double)times(x[i], factor));
    }
}

static uint8_t fast(const cpu_nvfp4 *rule, float global, const float *x,
                    uint8_t *code)
{
    const float amax = largest_of(rule, x);
    const uint8_t byte = make_scale(rule, times(global, times(amax, SIXTH)));

    encode(rule, x,
           is_nought(amax)
               ? 0
               : rule->rcp(times(read_scale(rule, byte), rule->rcp(global))),
           code);
    return byte;
}

float cpu_nvfp4_inverse(float x)
{
    return cpu_flush32(1 / cpu_flush32(x));
}

static uint8_t ieee(const cpu_nvfp4 *rule, float global, const float *x,
                    uint8_t *code)
{
    const float amax = largest_of(rule, x);
    const uint8_t byte = make_scale(rule, times(amax, times(global, SIXTH)));
    const float factor = cpu_nvfp4_inverse(
        times(read_scale(rule, byte), cpu_nvfp4_inverse(global)));

    encode(rule, x,
           is_nought(amax)    ? 0
           : factor < LARGEST ? factor
                              : LARGEST,
           code);
    return byte;
}

static uint8_t vllm(const cpu_nvfp4 *rule, float global, const float *x,
                    uint8_t *code)
{
    const float part = largest_of(rule, x) * SIXTH;
    const uint8_t byte = e4m3((double)(global * part));
    const float scale = scale_value(byte);
    const float factor =
        is_nought(scale) ? 0 : rule->rcp(scale * rule->rcp(global));

    for (int i = 0; i < rule->n; i++) {
        code[i] = e2m1((double)(x[i] * factor));
    }
    return byte;
}

static uint8_t trtllm_gen(const cpu_nvfp4 *rule, float global, const float *x,
                          uint8_t *code)
{
    const float most = largest_of(rule, x);
    const float amax = most != most ? 0 : most;
    const float scaled = amax * global;
    const uint8_t byte = e4m3((double)(scaled * SIXTH));
    const float scale = scale_value(byte);
    const float down = scale == 0 ? 0 : 1 / scale;

    for (int i = 0; i < rule->n; i++) {
        const float own = times(x[i], down);
        code[i] = e2m1((double)(own * global));
    }
    return byte;
}

static uint8_t exact(const cpu_nvfp4 *rule, float global, const float *x,
                     uint8_t *code)
{
    const uint8_t byte = e4m3((double)largest_of(rule, x) * (double)global / 6);
    const double scale = (double)scale_value(byte);

    for (int i = 0; i < rule->n; i++) {
        const double y = (double)x[i] * (double)global;
        code[i] = e2m1(scale == 0 ? (double)x[i] * 0 : y / scale);
    }
    return byte;
}

/* FP8 input: first to FP16 at six times the global scale's inverse. */
static uint8_t from_e4m3(const cpu_nvfp4 *rule, float global, const float *x,
                         uint8_t *code)
{
    const float up = times(6.0f, rule->rcp(global));
    float h[CPU_NVFP4_MOST];

    for (int i = 0; i < rule->n; i++) {
        h[i] = cpu_from_f16(cpu_f16_of(times(x[i], up)));
    }
    const float s = times(global, times(largest_of(rule, h), SIXTH));
    const uint8_t byte = make_scale(rule, s);

    encode(rule, h,
           is_nought(s) ? 0 : times(global, rule->rcp(read_scale(rule, byte))),
           code);
    return byte;
}

const cpu_nvfp4 *cpu_nvfp4_of(const char *name)
{
    static const cpu_nvfp4 rules[] = {
        {"fast", fast, rcp, CPU_NVFP4_BLOCK, 0},
        {"ieee", ieee, rcp, CPU_NVFP4_BLOCK, 0},
        {"exact", exact, rcp, CPU_NVFP4_BLOCK, 0},
        {"vllm", vllm, rcp, CPU_NVFP4_BLOCK, 0},
        {"trtllm_gen", trtllm_gen, rcp, CPU_NVFP4_BLOCK, 0},
        {"from_e4m3", from_e4m3, rcp, CPU_NVFP4_BLOCK, 0}};

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(name, rules[i].name) == 0) {
            return &rules[i];
        }
    }
    return NULL;
}

uint8_t cpu_nvfp4_block(const cpu_nvfp4 *rule, float global, const float *x,
                        uint8_t *code)
{
    return rule->block(rule, global, x, code);
}
