/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summation orders; see order.h.  Operands are the exact scaled numbers, so
 * one operation is one rounding: fma rounds a_k b_k + sum once, otherwise the
 * product is rounded first.
 */
#include "order.h"

#include <mxoracle/mma.h>

#include <string.h>

enum { DEPTH = 64 };

int mxo_order_is_exact(mxo_order order)
{
    return order <= MXO_ORDER_TC13;
}

mxo_order mxo_order_by_name(const char *name)
{
    static const char *const names[] = {"exact",  "f32",      "tc25",  "tc13",
                                        "seq",    "pairwise", "split", "block",
                                        "dpbf16", "amx",      "wgmma"};
    int i = 0;

    while (i < MXO_N_ORDERS && strcmp(names[i], name) != 0) {
        i++;
    }
    return (mxo_order)i;
}

/* Both operands of 32 products. */
typedef struct pair {
    mxo_real a[MXO_DOT_BLOCK]; /* zeros keep their signs */
    mxo_real b[MXO_DOT_BLOCK];
    int n;
} pair;

static void load(pair *p, const mxo_order_job *job, uint64_t r, uint64_t c,
                 uint64_t block)
{
    static const mxo_real zero = {0, 0, MXO_CLASS_ZERO, 0, 0};
    const uint64_t first = block * MXO_DOT_BLOCK;
    const uint64_t left = job->a->k - first;

    p->n = left < MXO_DOT_BLOCK ? (int)left : MXO_DOT_BLOCK;
    for (int i = 0; i < MXO_DOT_BLOCK; i++) {
        const uint64_t k = first + (uint64_t)i;
        p->a[i] = i < p->n ? mxo_dot_element(job->a, r, k) : zero;
        p->b[i] = i < p->n ? mxo_dot_element(job->b, c, k) : zero;
    }
}

static mxo_real product(const pair *p, int i)
{
    return mxo_real_mul(p->a[i], p->b[i]);
}

/* sum + product number i, one rounding or two. */
static uint32_t add(const mxo_order_job *job, uint32_t sum, const pair *p,
                    int i)
{
    const mxo_real x = product(p, i);

    return job->fma ? mxo_f32_add_real(sum, x) : mxo_f32_add(sum, dot_f32(x));
}

static uint32_t blocks_seq(const mxo_order_job *job, uint64_t r, uint64_t c,
                           uint64_t first, uint64_t end, uint32_t sum)
{
    pair p;

    for (uint64_t block = first; block < end; block++) {
        load(&p, job, r, c, block);
        for (int i = 0; i < p.n; i++) {
            sum = add(job, sum, &p, i);
        }
    }
    return sum;
}

static uint32_t dot_split(const mxo_order_job *job, uint64_t r, uint64_t c)
{
    const uint64_t blocks = dot_blocks(job->a->k);
    const uint64_t part =
        blocks / job->splits + (blocks % job->splits != 0 ? 1 : 0);
    uint32_t sum = 0;

    for (uint64_t first = 0; first < blocks; first += part) {
        const uint64_t end = first + part < blocks ? first + part : blocks;
        const uint32_t partial = blocks_seq(job, r, c, first, end, 0);
        sum = first == 0 ? partial : mxo_f32_add(sum, partial);
    }
    return sum;
}

/*
 * Node i of level l sums the products i 2^l .. (i + 1) 2^l - 1.  The stack
 * holds the finished nodes that wait for their right neighbour: one for every
 * bit set in the number of products seen.
 */
static uint32_t dot_pairwise(const mxo_order_job *job, uint64_t r, uint64_t c)
{
    uint32_t stack[DEPTH];
    int top = 0;
    uint64_t seen = 0;
    pair p;

    for (uint64_t block = 0; block < dot_blocks(job->a->k); block++) {
        load(&p, job, r, c, block);
        for (int i = 0; i < p.n; i++) {
            stack[top++] = dot_f32(product(&p, i));
            for (uint64_t n = ++seen; n % 2 == 0; n /= 2) {
                top--;
                stack[top - 1] = mxo_f32_add(stack[top - 1], stack[top]);
            }
        }
    }
    while (top > 1) {
        top--;
        stack[top - 1] = mxo_f32_add(stack[top - 1], stack[top]);
    }
    return top == 0 ? 0 : stack[0];
}

/* The products of a block without their scales, then once with them. */
static uint32_t dot_block(const mxo_order_job *job, uint64_t r, uint64_t c)
{
    mxo_dot_matrix a = *job->a;
    mxo_dot_matrix b = *job->b;
    mxo_order_job inner = *job;
    uint32_t sum = job->start;

    a.scale = NULL;
    b.scale = NULL;
    inner.a = &a;
    inner.b = &b;
    for (uint64_t n = 0; n < dot_blocks(a.k); n++) {
        const mxo_real scale = mxo_real_mul(mxo_dot_block_scale(job->a, r, n),
                                            mxo_dot_block_scale(job->b, c, n));
        const uint32_t part = blocks_seq(&inner, r, c, n, n + 1, 0);
        const mxo_real x =
            mxo_real_mul(mxo_format_decode(MXO_FMT_F32, part), scale);
        sum =
            job->fma ? mxo_f32_add_real(sum, x) : mxo_f32_add(sum, dot_f32(x));
    }
    return sum;
}

/* The bf16 dot product instructions: subnormal inputs count as zero of their
   sign, and so does a subnormal result. */
static uint32_t flushed_fma(uint32_t sum, const pair *p, int i)
{
    const uint32_t a = mxo_f32_ftz(dot_f32(p->a[i]));
    const uint32_t b = mxo_f32_ftz(dot_f32(p->b[i]));

    return mxo_f32_ftz(mxo_f32_fma(a, b, mxo_f32_ftz(sum)));
}

static uint32_t dot_dpbf16(const mxo_order_job *job, uint64_t r, uint64_t c)
{
    uint32_t sum = job->start;
    pair p;

    for (uint64_t n = 0; n < dot_blocks(job->a->k); n++) {
        load(&p, job, r, c, n);
        for (int i = 0; i < p.n; i += 2) {
            sum = flushed_fma(sum, &p, i + 1); /* zero if K is odd */
            sum = flushed_fma(sum, &p, i);
        }
    }
    return sum;
}

static uint32_t dot_amx(const mxo_order_job *job, uint64_t r, uint64_t c)
{
    uint32_t sum = 0;
    pair p;

    for (uint64_t n = 0; n < dot_blocks(job->a->k); n++) {
        uint32_t even = 0;
        uint32_t odd = 0;
        load(&p, job, r, c, n);
        for (int i = 0; i < MXO_DOT_BLOCK; i += 2) {
            even = flushed_fma(even, &p, i);
            odd = flushed_fma(odd, &p, i + 1);
        }
        const uint32_t both = mxo_f32_ftz(mxo_f32_add(even, odd));
        sum = mxo_f32_ftz(mxo_f32_add(sum, both));
    }
    return sum;
}

/* Both operands in a's type; zeros after the end take no part in a step. */
static uint32_t dot_wgmma(const mxo_order_job *job, uint64_t r, uint64_t c)
{
    const mxo_format f = job->a->format;
    const mxo_mma *m = mxo_mma_find(
        "hopper_wgmma", f == MXO_FMT_F16 ? MXO_MMA_F16 : MXO_MMA_BF16);
    uint32_t a[MXO_DOT_BLOCK];
    uint32_t b[MXO_DOT_BLOCK];
    uint32_t sum = job->start;
    pair p;

    for (uint64_t n = 0; n < dot_blocks(job->a->k); n++) {
        load(&p, job, r, c, n);
        for (int i = 0; i < MXO_DOT_BLOCK; i++) {
            a[i] = (uint32_t)mxo_format_round(f, p.a[i]);
            b[i] = (uint32_t)mxo_format_round(f, p.b[i]);
        }
        for (int i = 0; i < p.n; i += m->step) {
            sum = mxo_mma_step(m, (mxo_mma_operand){a + i, NULL, 1, 0},
                               (mxo_mma_operand){b + i, NULL, 1, 0}, sum);
        }
    }
    return sum;
}

uint32_t mxo_order_part(const mxo_order_job *job, uint64_t r, uint64_t c,
                        uint64_t block)
{
    return blocks_seq(job, r, c, block, block + 1, 0);
}

uint32_t mxo_order_dot(const mxo_order_job *job, uint64_t r, uint64_t c)
{
    switch (job->order) {
    case MXO_ORDER_PAIRWISE:
        return dot_pairwise(job, r, c);
    case MXO_ORDER_SPLIT:
        return dot_split(job, r, c);
    case MXO_ORDER_BLOCK:
        return dot_block(job, r, c);
    case MXO_ORDER_DPBF16:
        return dot_dpbf16(job, r, c);
    case MXO_ORDER_AMX:
        return dot_amx(job, r, c);
    case MXO_ORDER_WGMMA:
        return dot_wgmma(job, r, c);
    default:
        return blocks_seq(job, r, c, 0, dot_blocks(job->a->k), job->start);
    }
}
