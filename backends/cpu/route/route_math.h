/* SPDX-License-Identifier: Apache-2.0 */
/* Types and functions for ../../router_score.h; a token's logits are floats. */
#ifndef CPU_ROUTE_MATH_H
#define CPU_ROUTE_MATH_H

#include "../../common/router.h"
#include "act/act.h"
#include "act/exact.h"
#include "cpu.h"
#include "number.h"

#include <math.h>

#define ROUTE_FN static inline

ROUTE_FN uint32_t route_bits(float x)
{
    return cpu_bits32(x);
}

ROUTE_FN float route_float(uint32_t bits)
{
    return cpu_float(bits);
}

ROUTE_FN uint32_t route_logit(const route_token *t, uint32_t e)
{
    return cpu_bits32(((const float *)t->logits)[e]);
}

ROUTE_FN float route_through(uint32_t type, float x)
{
    if (x != x) {
        return cpu_float(0x7fc00000u);
    }
    if (type == ROUTE_F32) {
        return x;
    }
    return type == ROUTE_BF16 ? cpu_from_bf16(cpu_bf16_of(x))
                              : cpu_from_f16(cpu_f16_of(x));
}

ROUTE_FN float route_exp(float x)
{
    return cpu_float(cpu_exp_one(x, MXO_F32));
}

ROUTE_FN float route_ln(float x)
{
    return cpu_ln_one(x);
}

ROUTE_FN float route_sigmoid(float x)
{
    const cpu_glu c = {
        .alpha = 1, .limit = INFINITY, .no_mul = 1, .to = MXO_F32};

    return cpu_float(cpu_glu_one(&c, x, 1));
}

ROUTE_FN float route_half_tanh(float x)
{
    return cpu_fma32(0.5f, cpu_tanh_one(0.5f * x), 0.5f);
}

ROUTE_FN double route_root(double x)
{
    return sqrt(x);
}

#endif
