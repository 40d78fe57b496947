/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weighted sums over the experts of a token, in the orders and with the
 * roundings of the kernels.  The order is part of the contract: the same
 * terms give other bits in another one.
 */
#include "finalize.h"

#include "../dot/dot.h"

static uint32_t round_to(mxo_format to, uint32_t x)
{
    return (uint32_t)mxo_format_convert(to, MXO_FMT_F32, x, MXO_TIE_RNE,
                                        MXO_NAN_QUIET);
}

/* x through a type, as binary32 again. */
static uint32_t narrow(mxo_format to, uint32_t x)
{
    return (uint32_t)mxo_format_convert(MXO_FMT_F32, to, round_to(to, x),
                                        MXO_TIE_RNE, MXO_NAN_QUIET);
}

static uint32_t product(const mxo_finalize_job *job, const mxo_finalize_term *t)
{
    return job->weighted ? mxo_f32_mul(t->weight, t->x) : t->x;
}

/* The functions of the orders: a binary32 pattern that is rounded to the type
   of y afterwards. */
typedef uint32_t (*order_fn)(const mxo_finalize_job *job,
                             const mxo_finalize_term *t, uint32_t n);

static uint32_t by_fma(const mxo_finalize_job *job, const mxo_finalize_term *t,
                       uint32_t n)
{
    uint32_t acc = 0;

    for (uint32_t i = 0; i < n; i++) {
        acc = job->weighted ? mxo_f32_fma(t[i].weight, t[i].x, acc)
                            : mxo_f32_add(acc, t[i].x);
    }
    return acc;
}

/* Operands and results of each fma are flushed. */
static uint32_t by_flushed(const mxo_finalize_job *job,
                           const mxo_finalize_term *t, uint32_t n)
{
    uint32_t acc = 0;

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t x = mxo_f32_ftz(t[i].x);
        const uint32_t w =
            job->weighted ? mxo_f32_ftz(t[i].weight) : 0x3f800000u;
        acc = mxo_f32_ftz(mxo_f32_fma(w, x, acc));
    }
    return acc;
}

static uint32_t by_adding(const mxo_finalize_job *job,
                          const mxo_finalize_term *t, uint32_t n)
{
    uint32_t acc = 0;

    for (uint32_t i = 0; i < n; i++) {
        acc = mxo_f32_add(acc, product(job, &t[i]));
    }
    return acc;
}

/* Every term and every sum through the type of the steps. */
static uint32_t by_steps(const mxo_finalize_job *job,
                         const mxo_finalize_term *t, uint32_t n)
{
    uint32_t acc = 0;

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t p = product(job, &t[i]);

        acc = mxo_f32_add(acc, job->as_is ? p : narrow(job->step, p));
        acc = narrow(job->step, acc);
    }
    return acc;
}

static uint32_t by_lanes(const mxo_finalize_job *job,
                         const mxo_finalize_term *t, uint32_t n)
{
    uint32_t lane[4] = {0, 0, 0, 0};

    for (uint32_t i = 0; i < n; i++) {
        lane[i % 4] = mxo_f32_add(lane[i % 4], product(job, &t[i]));
    }
    return mxo_f32_add(mxo_f32_add(mxo_f32_add(lane[0], lane[1]), lane[2]),
                       lane[3]);
}

/* Neighbours are added until one is left; an odd last one is carried over. */
static uint32_t by_pairs(const mxo_finalize_job *job,
                         const mxo_finalize_term *t, uint32_t n)
{
    uint32_t sum[MXO_FINALIZE_MAX_SLOTS];

    for (uint32_t i = 0; i < n; i++) {
        sum[i] = product(job, &t[i]);
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

static uint32_t by_vllm(const mxo_finalize_job *job, const mxo_finalize_term *t,
                        uint32_t n)
{
    return n >= 2 && n <= 4 ? by_steps(job, t, n) : by_lanes(job, t, n);
}

static uint32_t by_cpu(const mxo_finalize_job *job, const mxo_finalize_term *t,
                       uint32_t n)
{
    return n == 1 ? product(job, t)
                  : narrow(job->step, mxo_f32_ftz(by_adding(job, t, n)));
}

/* The real sum is no binary32: it is rounded where it is made. */
static uint32_t exact_to(const mxo_finalize_job *job,
                         const mxo_finalize_term *t, uint32_t n)
{
    mxo_dot sum;

    mxo_dot_reset(&sum);
    for (uint32_t i = 0; i < n; i++) {
        const mxo_real x = mxo_format_decode(MXO_FMT_F32, t[i].x);

        if (job->weighted) {
            mxo_dot_add_product(&sum, x,
                                mxo_format_decode(MXO_FMT_F32, t[i].weight));
        } else {
            mxo_dot_add(&sum, x);
        }
    }
    return (uint32_t)mxo_format_round(job->to, mxo_dot_value(&sum));
}

static const struct {
    const char *name;
    order_fn order; /* NULL: exact */
} sums[] = {
    [MXO_FINALIZE_FMA] = {"fma", by_fma},
    [MXO_FINALIZE_FMA_FTZ] = {"fma_ftz", by_flushed},
    [MXO_FINALIZE_ADD] = {"add", by_adding},
    [MXO_FINALIZE_TYPED] = {"typed", by_steps},
    [MXO_FINALIZE_LANES4] = {"lanes4", by_lanes},
    [MXO_FINALIZE_PAIRWISE] = {"pairwise", by_pairs},
    [MXO_FINALIZE_VLLM] = {"vllm", by_vllm},
    [MXO_FINALIZE_CPU] = {"cpu", by_cpu},
    [MXO_FINALIZE_EXACT] = {"exact", NULL},
};

const char *mxo_finalize_name(mxo_finalize_sum sum)
{
    return sum < MXO_N_FINALIZE_SUMS ? sums[sum].name : 0;
}

uint32_t mxo_finalize(const mxo_finalize_job *job,
                      const mxo_finalize_term *terms, uint32_t n)
{
    const order_fn order = sums[job->sum].order;

    return order == NULL ? exact_to(job, terms, n)
                         : round_to(job->to, order(job, terms, n));
}
