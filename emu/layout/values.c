/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of values.def, as operations on bit patterns. */
#include "values.h"

#include <string.h>

static int there_keep(uint64_t *code)
{
    (void)code;
    return 1;
}

static int back_keep(uint64_t *code)
{
    (void)code;
    return 1;
}

static int there_bf16_to_f32(uint64_t *code)
{
    *code <<= 16;
    return 1;
}

static int back_bf16_to_f32(uint64_t *code)
{
    const int exact = (*code & 0xffff) == 0;

    *code >>= 16;
    return exact;
}

static int there_e8m0_to_f32(uint64_t *code)
{
    *code <<= 23;
    return 1;
}

static int there_f32_to_e8m0(uint64_t *code)
{
    const int clean = (*code & 0x807fffff) == 0;

    *code >>= 23;
    return clean;
}

static int back_e8m0_to_f32(uint64_t *code)
{
    return there_f32_to_e8m0(code);
}

static int back_f32_to_e8m0(uint64_t *code)
{
    return there_e8m0_to_f32(code);
}

static int there_e8m0_plus_6(uint64_t *code)
{
    *code += 6;
    return *code <= 255;
}

static int back_e8m0_plus_6(uint64_t *code)
{
    const int exact = *code >= 6;

    *code -= exact ? 6 : 0;
    return exact;
}

static int there_e4m3_magnitude(uint64_t *code)
{
    *code &= 0x7f;
    return 1;
}

static int back_e4m3_magnitude(uint64_t *code)
{
    return *code <= 0x7f;
}

static int there_e8m0_unbiased(uint64_t *code)
{
    *code = (*code - 127) & 0xff;
    return 1;
}

static int back_e8m0_unbiased(uint64_t *code)
{
    *code = (*code + 127) & 0xff;
    return 1;
}

static int there_f32_reciprocal(uint64_t *code)
{
    *code = mxo_f32_div(0x3f800000u, (uint32_t)*code);
    return 1;
}

static int back_f32_reciprocal(uint64_t *code)
{
    return there_f32_reciprocal(code);
}

#define F32_2688 0x45280000u

static int there_f32_times_2688(uint64_t *code)
{
    *code = mxo_f32_mul((uint32_t)*code, F32_2688);
    return 1;
}

static int back_f32_times_2688(uint64_t *code)
{
    *code = mxo_f32_div((uint32_t)*code, F32_2688);
    return 1;
}

static const layout_values rows[] = {
#define MXO_VALUES(name, from, to, rule, source) \
    {#name, from, to, there_##name, back_##name},
#include <mxoracle/values.def>
#undef MXO_VALUES
};

const layout_values *layout_values_find(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (mxo_same(rows[i].name, name)) {
            return &rows[i];
        }
    }
    return NULL;
}

static uint32_t change(const char *from, const char *to, uint32_t dtype)
{
    if (strcmp(from, "*") == 0) {
        return dtype;
    }
    return mxo_dtype_by_name(from, strlen(from)) == dtype
               ? mxo_dtype_by_name(to, strlen(to))
               : MXO_N_DTYPES;
}

uint32_t layout_values_to(const layout_values *v, uint32_t dtype)
{
    return change(v->from, v->to, dtype);
}

uint32_t layout_values_from(const layout_values *v, uint32_t dtype)
{
    return change(v->to, v->from, dtype);
}
