/* SPDX-License-Identifier: Apache-2.0 */
/* A layout's conversions of element values, by the rows of values.def. */
#include "layout.h"

#include <string.h>

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
