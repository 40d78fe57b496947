/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reciprocal of NVIDIA's Hopper: a parabola over each of 128 intervals,
 * whose square leaves out what is below 2^17.  docs/ops/math.rcp.md.  C that
 * CUDA C++ and HIP C++ also accept.
 */
#ifndef BACKENDS_RCP_HOPPER_H
#define BACKENDS_RCP_HOPPER_H

#include <stdint.h>

#if !defined(RCP_FN)
#define RCP_FN static inline
#define RCP_TABLE static const
#endif

/* By the mantissa's top 7 bits. */
RCP_TABLE uint32_t rcp_hopper_rows[128][3] = {
#define MXO_RCP(c0, c1, c2) {c0, c1, c2},
#include <mxoracle/rcp_hopper.def>
#undef MXO_RCP
};

/* 1 / 1.mantissa in units of 2^-24. */
RCP_FN uint32_t rcp_hopper_units(uint32_t mantissa)
{
    const uint32_t *const c = rcp_hopper_rows[mantissa >> 16 & 127];
    const uint32_t t = mantissa & 0xffff;
    int64_t square = 0;

    for (int i = 0; i < 16; i++) {
        const int64_t both = (int64_t)(t >> i >> 1) * 2 * 2 + 1;
        square += (t >> i & 1) != 0 ? both * ((int64_t)1 << 2 * i) >> 17 : 0;
    }
    return (uint32_t)(((int64_t)c[0] * 8192 + 2023 - (int64_t)c[1] * t +
                       (int64_t)c[2] * square) >>
                      15);
}

#endif
