/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of layouts, and their conversions by the rows of values.def. */
#include "layout.h"

#include <string.h>

uint32_t lay_width(const mxo_tensor *t)
{
    const uint64_t n = broken_elems(t);

    return n == 0 ? 1 : (uint32_t)(t->n_bytes / n);
}

uint64_t lay_load(const mxo_tensor *t, uint64_t i)
{
    const uint8_t *at = tensor_address(t) + i * lay_width(t);
    uint16_t u16;
    uint32_t u32;

    switch (lay_width(t)) {
    case 1:
        return *at;
    case 2:
        memcpy(&u16, at, 2);
        return u16;
    default:
        memcpy(&u32, at, 4);
        return u32;
    }
}

void lay_store(const mxo_tensor *t, uint64_t i, uint64_t code)
{
    uint8_t *at = tensor_address(t) + i * lay_width(t);
    const uint16_t u16 = (uint16_t)code;
    const uint32_t u32 = (uint32_t)code;

    switch (lay_width(t)) {
    case 1:
        *at = (uint8_t)code;
        break;
    case 2:
        memcpy(at, &u16, 2);
        break;
    default:
        memcpy(at, &u32, 4);
        break;
    }
}

/* a * x or a / x of a binary32 pattern x, in binary32. */
static uint64_t times_or_over(double a, uint64_t code, int over)
{
    const uint32_t in = (uint32_t)code;
    uint32_t out;
    float x;

    memcpy(&x, &in, sizeof x);
    x = over ? (float)(a / (double)x) : (float)(a * (double)x);
    memcpy(&out, &x, sizeof out);
    return out;
}

uint64_t lay_changed(const broken *b, const char *values, uint64_t code,
                     int back)
{
    if (strcmp(values, "bf16_to_f32") == 0) {
        return back ? code >> 16 : code << 16;
    }
    if (strcmp(values, "e8m0_to_f32") == 0) {
        return back ? code >> 23 : code << 23;
    }
    if (strcmp(values, "f32_to_e8m0") == 0) {
        return back ? code << 23 : code >> 23;
    }
    if (strcmp(values, "e8m0_plus_6") == 0 && !IS(L36)) {
        return back ? code - 6 : code + 6;
    }
    if (strcmp(values, "e4m3_magnitude") == 0 && !IS(EN01)) {
        return code & 0x7f;
    }
    if (strcmp(values, "e8m0_unbiased") == 0 && !IS(EN02)) {
        return (code + (back ? 127 : 129)) & 0xff;
    }
    if (strcmp(values, "f32_reciprocal") == 0 && !IS(EN03)) {
        return times_or_over(1.0, code, 1);
    }
    if (strcmp(values, "f32_times_2688") == 0 && !IS(EN04)) {
        return back ? times_or_over(1 / 2688.0, code, 0)
                    : times_or_over(2688.0, code, 0);
    }
    return code;
}

int lay_has_image(const char *values, uint64_t code, int back)
{
    const int is_power = (code & 0x7fffff) == 0 && code < 0x80000000u;

    if (strcmp(values, "bf16_to_f32") == 0) {
        return !back || (code & 0xffff) == 0;
    }
    if (strcmp(values, "e8m0_to_f32") == 0) {
        return !back || is_power;
    }
    if (strcmp(values, "f32_to_e8m0") == 0) {
        return back || is_power;
    }
    if (strcmp(values, "e8m0_plus_6") == 0) {
        return back ? code >= 6 : code < 250;
    }
    return strcmp(values, "e4m3_magnitude") != 0 || !back || code < 0x80;
}
