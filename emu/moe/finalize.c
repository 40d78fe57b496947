/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weighted sums over the experts of a token, in the orders and with the
 * roundings of the kernels.  The order is part of the contract: the same
 * terms give other bits in another one.
 */
#include "finalize.h"

static const char *const names[] = {
    [MXO_FINALIZE_FMA] = "fma",           [MXO_FINALIZE_ADD] = "add",
    [MXO_FINALIZE_TYPED] = "typed",       [MXO_FINALIZE_LANES4] = "lanes4",
    [MXO_FINALIZE_PAIRWISE] = "pairwise", [MXO_FINALIZE_VLLM] = "vllm",
};

const char *mxo_finalize_name(mxo_finalize_sum sum)
{
    return sum < MXO_N_FINALIZE_SUMS ? names[sum] : 0;
}

static uint32_t round_to(mxo_format to, uint32_t x)
{
    return (uint32_t)mxo_format_convert(to, MXO_FMT_F32, x, MXO_TIE_RNE,
                                        MXO_NAN_QUIET);
}

/* x through the type of y, as binary32 again. */
static uint32_t narrow(mxo_format to, uint32_t x)
{
    return (uint32_t)mxo_format_convert(MXO_FMT_F32, to, round_to(to, x),
                                        MXO_TIE_RNE, MXO_NAN_QUIET);
}

static uint32_t product(const mxo_finalize_term *t, int weighted)
{
    return weighted ? mxo_f32_mul(t->weight, t->x) : t->x;
}

static uint32_t by_fma(const mxo_finalize_term *t, uint32_t n, int weighted)
{
    uint32_t acc = 0;

    for (uint32_t i = 0; i < n; i++) {
        acc = weighted ? mxo_f32_fma(t[i].weight, t[i].x, acc)
                       : mxo_f32_add(acc, t[i].x);
    }
    return acc;
}

static uint32_t by_lanes(const mxo_finalize_term *t, uint32_t n, int weighted)
{
    uint32_t lane[4] = {0, 0, 0, 0};

    for (uint32_t i = 0; i < n; i++) {
        lane[i % 4] = mxo_f32_add(lane[i % 4], product(&t[i], weighted));
    }
    return mxo_f32_add(mxo_f32_add(mxo_f32_add(lane[0], lane[1]), lane[2]),
                       lane[3]);
}

/* Neighbours are added until one is left; an odd last one is carried over. */
static uint32_t by_pairs(const mxo_finalize_term *t, uint32_t n, int weighted)
{
    uint32_t sum[MXO_FINALIZE_MAX_SLOTS];

    for (uint32_t i = 0; i < n; i++) {
        sum[i] = product(&t[i], weighted);
    }
    for (; n > 1; n = (n + 1) / 2) {
        for (uint32_t i = 0; i < (n + 1) / 2; i++) {
            const size_t left = (size_t)i * 2;

            sum[i] = left + 1 < n ? mxo_f32_add(sum[left], sum[left + 1])
                                  : sum[left];
        }
    }
    return n == 0 ? 0 : sum[0];
}

/* Slot by slot; after each step through format to, if there is one. */
static uint32_t by_adding(const mxo_finalize_term *t, uint32_t n, int weighted,
                          mxo_format to)
{
    uint32_t acc = 0;

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t p = product(&t[i], weighted);

        acc = mxo_f32_add(acc, to == MXO_FMT_F32 ? p : narrow(to, p));
        acc = to == MXO_FMT_F32 ? acc : narrow(to, acc);
    }
    return acc;
}

uint32_t mxo_finalize(mxo_finalize_sum sum, mxo_format to, int weighted,
                      const mxo_finalize_term *terms, uint32_t n)
{
    uint32_t acc;

    if (sum == MXO_FINALIZE_VLLM) {
        sum = n >= 2 && n <= 4 ? MXO_FINALIZE_TYPED : MXO_FINALIZE_LANES4;
    }
    switch (sum) {
    case MXO_FINALIZE_FMA:
        acc = by_fma(terms, n, weighted);
        break;
    case MXO_FINALIZE_TYPED:
        acc = by_adding(terms, n, weighted, to);
        break;
    case MXO_FINALIZE_LANES4:
        acc = by_lanes(terms, n, weighted);
        break;
    case MXO_FINALIZE_PAIRWISE:
        acc = by_pairs(terms, n, weighted);
        break;
    default:
        acc = by_adding(terms, n, weighted, MXO_FMT_F32);
        break;
    }
    return round_to(to, acc);
}
