/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of dequant.mx for other operations that read weights. */
#ifndef CPU_DEQUANT_H
#define CPU_DEQUANT_H

#include <stdint.h>

/* BF16 patterns of the 16 E2M1 codes under each scale byte; -1 if there is no
   such rule. */
int cpu_dequant_e2m1(const char *rule, uint16_t bf16[256][16]);

#endif
