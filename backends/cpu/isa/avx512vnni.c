/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one loop that VNNI makes faster: products of 16-bit integers, added in
 * the same instruction.  The AVX-512 lane takes it where the CPU has it.
 */
#include <immintrin.h>

#define MAC_DOT2(sum, w, x) _mm512_dpwssd_epi32(sum, w, x)

#include "mac_avx512.h"

void cpu_mac_vnni(const cpu_mac *job)
{
    mac(job);
}
