/* SPDX-License-Identifier: Apache-2.0 */
/* What a call that a subject of two operations refuses leaves for dequant.mx;
   two_operations.h has the other one. */
#ifndef MXO_REFUSED_CALLS_H
#define MXO_REFUSED_CALLS_H

#include <stdint.h>
#include <string.h>

/* How a call ends; all but the last are statuses of a backend. */
enum { ANSWERED, REFUSED_SHAPE, REFUSED_PARAM, DECLINED, DECLINED_DATA };

/* By which refusals a call is spoilt, and the how many-th behind one: FAULT is
   "first-behind-WHICH" or "second-behind-WHICH". */
static int is_spoilt_behind(const char *fault, const char *which, int n)
{
    const char *const number = n == 1 ? "first-behind-" : "second-behind-";
    const size_t length = strlen(number);

    return (n == 1 || n == 2) && strncmp(fault, number, length) == 0 &&
           strcmp(fault + length, which) == 0;
}

/* Is this call of dequant.mx, which ends so, wrong behind what was refused? */
static int finds_refused(const char *fault, int is_decode, int end)
{
    enum { LONG_AGO = 100 };
    static int any = LONG_AGO; /* calls since one of dequant.mx was refused */
    static int shape = LONG_AGO;
    static int param = LONG_AGO;
    static int data = LONG_AGO;
    static int decode = LONG_AGO;

    if (end != ANSWERED && is_decode) {
        decode = 0;
    } else if (end != ANSWERED) {
        any = 0;
        shape = end == REFUSED_SHAPE ? 0 : shape;
        param = end == REFUSED_PARAM ? 0 : param;
        data = end == DECLINED_DATA ? 0 : data;
    }
    if (end != ANSWERED || is_decode) {
        return 0;
    }
    any++;
    shape++;
    param++;
    data++;
    decode++;
    return is_spoilt_behind(fault, "refused", any) ||
           is_spoilt_behind(fault, "shape", shape) ||
           is_spoilt_behind(fault, "param", param) ||
           is_spoilt_behind(fault, "noise", data) ||
           is_spoilt_behind(fault, "decode", decode);
}

/* Does a subject that declines noise decline these scales?  Those of noise are
   near 1. */
static int declines_scales(const char *fault, const uint8_t *scale, uint64_t n)
{
    int are_near = strcmp(fault, "ok-declines-noise") == 0 ||
                   strcmp(fault, "first-behind-noise") == 0 ||
                   strcmp(fault, "second-behind-noise") == 0;

    for (uint64_t i = 0; are_near && i < n; i++) {
        are_near = scale[i] >= 0x7c && scale[i] < 0x84;
    }
    return are_near;
}

#endif
