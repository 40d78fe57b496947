/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of dequant.mx for other operations that read weights. */
#ifndef CPU_DEQUANT_H
#define CPU_DEQUANT_H

#include "number.h"

#include <stdint.h>

/* The 16 E2M1 codes under each scale byte as numbers of the type to; -1 if
   there is no such rule, or none into that type. */
int cpu_dequant_e2m1(const char *rule, uint32_t to, float value[256][16]);

/* x rounded to a type of dequant_dialect.h: BF16, F16, binary32. */
static inline float cpu_dequant_round(int to, float x)
{
    return to == 0   ? cpu_from_bf16(cpu_bf16_of(x))
           : to == 1 ? cpu_from_f16(cpu_f16_of(x))
                     : x;
}

#endif
