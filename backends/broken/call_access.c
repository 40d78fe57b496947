/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of tensors by index. */
#include "broken.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

uint64_t broken_elems(const mxo_tensor *t)
{
    uint64_t n = 1;

    for (uint32_t i = 0; i < t->rank; i++) {
        n *= t->shape[i];
    }
    return n;
}

double broken_load(const mxo_tensor *t, uint64_t i)
{
    static const broken faultless;
    const uint8_t *at = tensor_address(t);
    uint16_t half;
    float single;
    double value;

    switch (t->dtype) {
    case MXO_BF16:
    case MXO_F16:
        memcpy(&half, at + 2 * i, 2);
        return broken_decode(&faultless, broken_format_of(t->dtype), half);
    case MXO_F32:
        memcpy(&single, at + 4 * i, 4);
        return (double)single;
    case MXO_F64:
        memcpy(&value, at + 8 * i, 8);
        return value;
    default:
        return broken_decode(&faultless, broken_format_of(t->dtype), at[i]);
    }
}

double broken_read(const broken *b, const mxo_tensor *t, uint64_t i)
{
    const double x = broken_load(t, i);
    uint32_t bits = 0;

    if ((IS(C76) && t->dtype == MXO_F16 && fabs(x) < 0x1p-14) ||
        (IS(C77) && t->dtype == MXO_BF16 && fabs(x) < 0x1p-126)) {
        return copysign(0, x);
    }
    if (IS(C78) && t->dtype == MXO_F32 && isnan(x)) {
        memcpy(&bits, tensor_address(t) + 4 * i, 4);
        return (bits & 0x7f0000) == 0 ? copysign(INFINITY, x) : x;
    }
    return x;
}

double broken_load_half(const mxo_tensor *t, uint64_t i)
{
    static const broken faultless;
    uint16_t half;

    memcpy(&half, tensor_address(t) + 2 * i, 2);
    return broken_decode(&faultless, broken_format_of(MXO_BF16), half);
}

int32_t broken_load_i32(const mxo_tensor *t, uint64_t i)
{
    int32_t value;

    memcpy(&value, tensor_address(t) + 4 * i, 4);
    return value;
}

/* The faults of narrowing a result. */
static dd narrow_fault(const broken *b, const mxo_tensor *t, dd x)
{
    const double a = fabs(x.hi);

    if (IS(A40) && t->dtype == MXO_BF16) {
        return broken_dd((double)(float)x.hi);
    }
    if (IS(C07) && a < (t->dtype == MXO_F16 ? 0x1p-14 : 0x1p-126)) {
        return broken_dd(copysign(0, x.hi));
    }
    if (IS(C58) && a > broken_largest(broken_format_of(t->dtype)) &&
        !isnan(a)) {
        return broken_dd(
            copysign(broken_largest(broken_format_of(t->dtype)), x.hi));
    }
    if (IS(C59) && t->dtype == MXO_F16 && a < 0x1p-14) {
        return broken_dd(copysign(floor(a * 0x1p24) * 0x1p-24, x.hi));
    }
    return x;
}

void broken_store(const broken *b, const mxo_tensor *t, uint64_t i, dd x)
{
    const dd y = narrow_fault(b, t, x);
    const uint32_t code = broken_round(broken_format_of(t->dtype), y);
    const uint16_t half = (uint16_t)code;
    uint8_t *at = tensor_address(t);

    if (t->dtype == MXO_F32) {
        memcpy(at + 4 * i, &code, 4);
    } else if (t->dtype == MXO_BF16 || t->dtype == MXO_F16) {
        memcpy(at + 2 * i, &half, 2);
    } else {
        memcpy(at + 8 * i, &y.hi, 8);
    }
}

void broken_set_code(const broken *b, const mxo_tensor *t, int packed,
                     uint64_t i, uint32_t code)
{
    uint8_t *at = tensor_address(t);
    const unsigned shift = 4 * (unsigned)((i + IS(C08)) % 2);

    if (!packed) {
        at[i] = (uint8_t)code;
        return;
    }
    at[i / 2] = (uint8_t)((at[i / 2] & ~(0xfu << shift)) | code << shift);
}

mxo_status broken_fail(mxo_status status, mxo_text why, const char *sentence)
{
    if (why.ptr != NULL && why.size > 0) {
        (void)snprintf(why.ptr, why.size, "%s", sentence);
    }
    return status;
}
