/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small element formats as data, and their codes as floats.  Every value
 * of every format is a float exactly.
 */
#include "element.h"

#include "number.h"

#include <stddef.h>
#include <string.h>

static const cpu_element elements[] = {
    {"e2m1", MXO_U8, 2, 1, 1, 0x07, 0x08, 0x00, 0x07, 2, 4},
    {"e2m3", MXO_U8, 2, 3, 1, 0x1f, 0x20, 0x00, 0x1f, 2, 8},
    {"e3m2", MXO_U8, 3, 2, 3, 0x1f, 0x20, 0x00, 0x1f, 4, 8},
    {"e4m3fn", MXO_E4M3, 4, 3, 7, 0x7e, 0x80, 0x7f, 0x7f, 8, 8},
    {"e4m3fnuz", MXO_E4M3FNUZ, 4, 3, 8, 0x7f, 0x80, 0x80, 0x80, 7, 8},
    {"e5m2", MXO_E5M2, 5, 2, 15, 0x7b, 0x80, 0x7e, 0x7e, 15, 8},
    {"int8", MXO_U8, 1, 6, 1, 0x7f, 0x80, 0x00, 0x7f, 0, 8},
    {"e5m2fnuz", MXO_E5M2FNUZ, 5, 2, 16, 0x7f, 0x80, 0x80, 0x80, 15, 8},
};

const cpu_element *cpu_element_of(const char *name)
{
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
        if (strcmp(elements[i].name, name) == 0) {
            return &elements[i];
        }
    }
    return NULL;
}

static int is_fnuz(const cpu_element *e)
{
    return e->nan == 0x80;
}

static int is_int8(const cpu_element *e)
{
    return e->mbits == 6;
}

float cpu_element_value(const cpu_element *e, uint8_t code)
{
    const unsigned m = code & (e->sign - 1u);

    if (is_int8(e)) {
        return (float)(int8_t)code * 0x1p-6f;
    }
    const unsigned field = m >> e->mbits;
    const unsigned part = m & ((1u << e->mbits) - 1u);
    const float nan = cpu_float(0x7fc00000u);
    const int normal = field > 0;
    const int exponent = (normal ? (int)field : 1) - e->bias - e->mbits;
    float x = (float)(part + (normal ? 1u << e->mbits : 0u)) *
              (float)cpu_pow2(exponent);

    if (is_fnuz(e)) {
        return code == 0x80 ? nan : (code & e->sign) != 0 ? -x : x;
    }
    if (m > e->largest) {
        x = e->mbits == 2 && m == 0x7c ? cpu_float(0x7f800000u) : nan;
    }
    return (code & e->sign) != 0 ? -x : x;
}
