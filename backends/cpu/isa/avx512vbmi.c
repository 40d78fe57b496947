/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AVX-512 with byte permutes (VBMI) and bit matrices (GFNI): the inner loop of
 * layouts that keeps whole groups of vectors in registers.  Everything else of
 * this lane is avx512.c's.
 */
#include "isa_ops.h"

#include <immintrin.h>

enum { MOST = 1 << CPU_TRANSPOSE_REGS, LANES = 6 };

/* Vectors stay in registers only if every loop over them disappears. */
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 8")
#else
#define UNROLL
#endif

typedef struct exchange {
    int in_lanes; /* the bit is in the number of a 64-bit lane */
    __m512i low;
    __m512i high;
    __m128i by;
} exchange;

/* y where mask is set, x elsewhere. */
CPU_INLINE __m512i choose(__m512i mask, __m512i x, __m512i y)
{
    return _mm512_ternarylogic_epi64(mask, x, y, 0xac);
}

static exchange exchange_of(uint32_t bit)
{
    exchange e = {.in_lanes = bit >= LANES};

    if (e.in_lanes) {
        uint64_t low[8];
        uint64_t high[8];
        const uint64_t one = (uint64_t)1 << (bit - LANES);
        for (uint64_t i = 0; i < 8; i++) {
            low[i] = (i & one) == 0 ? i : 8 + i - one;
            high[i] = (i & one) == 0 ? i + one : 8 + i;
        }
        e.low = _mm512_loadu_si512(low);
        e.high = _mm512_loadu_si512(high);
    } else {
        e.low = _mm512_set1_epi64((long long)cpu_low_mask(bit));
        e.by = _mm_cvtsi32_si128(1 << bit);
    }
    return e;
}

/* x keeps what has the bit clear, and gets that of y. */
CPU_INLINE void exchange_pair(const exchange *e, __m512i *x, __m512i *y)
{
    const __m512i a = *x;
    const __m512i b = *y;

    if (e->in_lanes) {
        *x = _mm512_permutex2var_epi64(a, e->low, b);
        *y = _mm512_permutex2var_epi64(a, e->high, b);
    } else {
        *x = choose(e->low, _mm512_sll_epi64(b, e->by), a);
        *y = choose(e->low, b, _mm512_srl_epi64(a, e->by));
    }
}

CPU_INLINE __m512i term(const cpu_inner *n, int t, __m512i v)
{
    return _mm512_gf2p8affine_epi64_epi8(
        _mm512_permutexvar_epi8(_mm512_loadu_si512(n->from[t]), v),
        _mm512_loadu_si512(n->matrix[t]), 0);
}

CPU_INLINE __m512i network(const cpu_inner *n, const int terms, __m512i v)
{
    if (terms > 0) {
        __m512i sum = term(n, 0, v);
        UNROLL
        for (int t = 1; t < terms; t++) {
            sum = _mm512_xor_si512(sum, term(n, t, v));
        }
        v = sum;
    }
    return n->ordered ? _mm512_permutexvar_epi8(_mm512_loadu_si512(n->order), v)
                      : v;
}

CPU_INLINE void fetch(const cpu_transpose *w, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++) {
        CPU_FETCH_L2(w->next + w->next_at[i]);
    }
}

CPU_INLINE void put(const cpu_transpose *w, uint64_t at, __m512i v)
{
    if (w->stream) {
        _mm512_stream_si512((void *)(w->dst + w->dst_at[at]), v);
    } else {
        _mm512_storeu_si512(w->dst + w->dst_at[at], v);
    }
}

/* Constant numbers of registers and terms leave straight code. */
CPU_INLINE void transpose_with(const cpu_transpose *w, const int n_reg,
                               const int terms)
{
    const int n_vectors = 1 << n_reg;
    const uint64_t share = w->next == NULL ? 0 : (w->n_next + w->n - 1) / w->n;
    uint64_t asked = 0;
    exchange e[CPU_TRANSPOSE_REGS];

    for (int r = 0; r < n_reg; r++) {
        e[r] = exchange_of(w->bit[r]);
    }
    for (uint64_t i = 0; i < w->n; i++) {
        __m512i v[MOST];
        const uint64_t ask =
            asked + share < w->n_next ? asked + share : w->n_next;

        if (w->next != NULL) {
            fetch(w, asked, ask);
            asked = ask;
        }
        UNROLL
        for (int k = 0; k < n_vectors; k++) {
            v[k] =
                _mm512_loadu_si512(w->src + w->src_at[(uint64_t)k * w->n + i]);
            v[k] = w->backward ? network(w->inner, terms, v[k]) : v[k];
        }
        UNROLL
        for (int r = 0; r < n_reg; r++) {
            UNROLL
            for (int k = 0; k < n_vectors; k++) {
                if ((k >> r & 1) == 0) {
                    exchange_pair(&e[r], &v[k], &v[k | 1 << r]);
                }
            }
        }
        UNROLL
        for (int k = 0; k < n_vectors; k++) {
            v[k] = w->backward ? v[k] : network(w->inner, terms, v[k]);
            put(w, (uint64_t)k * w->n + i, v[k]);
        }
    }
}

CPU_INLINE void transpose_terms(const cpu_transpose *w, const int n_reg)
{
    switch (w->inner->n_terms) {
    case 0:
        transpose_with(w, n_reg, 0);
        break;
    case 1:
        transpose_with(w, n_reg, 1);
        break;
    case 2:
        transpose_with(w, n_reg, 2);
        break;
    case 3:
        transpose_with(w, n_reg, 3);
        break;
    default:
        transpose_with(w, n_reg, CPU_TRANSPOSE_TERMS);
    }
}

void cpu_transpose_vbmi(const cpu_transpose *w)
{
    switch (w->n_reg) {
    case 0:
        transpose_terms(w, 0);
        break;
    case 1:
        transpose_terms(w, 1);
        break;
    case 2:
        transpose_terms(w, 2);
        break;
    default:
        transpose_terms(w, CPU_TRANSPOSE_REGS);
    }
}
