/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One block of any length by one thread, as quant_rare.h spells its steps:
 * what whole vectors do not fit, and what a layer's rows are quantised by.
 */
#ifndef GPU_QUANT_BLOCK_H
#define GPU_QUANT_BLOCK_H

#include "ops/quant_args.h"
#include "ops/quant_rare.h"
#include "port/device.h"

/* The number that a code stands for. */
GPU_FN double quant_value(const quant_format *f, uint32_t code)
{
    const uint32_t mag = code & ((1u << f->width) - 1);
    const uint32_t field = mag >> f->mbits;
    const uint32_t m = mag & ((1u << f->mbits) - 1);
    const int unit =
        (int)(field == 0 ? 0 : field - 1) - (int)f->emin - (int)f->mbits;
    const double scale = gpu_double((uint64_t)(1023 + unit) << 52);
    double y = (double)(field == 0 ? m : m + (1u << f->mbits)) * scale;

    if (f->fnuz ? code == 1u << f->width : mag > f->max) {
        y = mag == f->inf && f->inf != f->nan ? GPU_INFINITY
                                              : gpu_double(0x7ff8ull << 48);
    }
    return (code >> f->width & 1) != 0 ? -y : y;
}

/* 2^(byte - 127); NaN for 255. */
GPU_FN double quant_unit(uint32_t byte)
{
    return byte == 255 ? gpu_double(0x7ff8ull << 48)
                       : gpu_double((uint64_t)(byte + 896) << 52);
}

#endif
