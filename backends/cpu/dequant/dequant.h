/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of dequant.mx for other operations that read weights. */
#ifndef CPU_DEQUANT_H
#define CPU_DEQUANT_H

#include <stdint.h>

/* The 16 E2M1 codes under each scale byte as numbers of the type to; -1 if
   there is no such rule, or none into that type. */
int cpu_dequant_e2m1(const char *rule, uint32_t to, float value[256][16]);

#endif
