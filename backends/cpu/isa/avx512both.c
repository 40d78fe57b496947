/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VNNI's loop where VBMI is there as well: one instruction takes any eight
 * bits of 64, so that codes need no shuffle and shift before the table.
 */
#include <immintrin.h>

#define MAC_DOT2(sum, w, x) _mm512_dpwssd_epi32(sum, w, x)
#define MAC_PICK(d, i) mac_pick_bits(d, i)

/* Byte i of each 32 bits: its lower and its upper code at the bottom of 16
   bits each, with whatever follows above. */
static inline __m512i mac_pick_bits(__m512i d, int i)
{
    const long long first = 0x2424202004040000LL;
    const long long step = 0x0808080808080808LL;

    return _mm512_multishift_epi64_epi8(_mm512_set1_epi64(first + i * step), d);
}

#include "mac_avx512.h"

void cpu_mac_both(const cpu_mac *job)
{
    mac(job);
}
