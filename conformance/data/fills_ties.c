/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums that lie next to a tie of the type they are rounded to, by so little
 * that binary32, or even a double, would put them on it: who rounds twice
 * takes the even neighbour where the nearest one is odd, or the reverse.
 */
#include "fills.h"

#include <math.h>
#include <string.h>

enum { LEAST = 26, STEP = 5, STEPS = 10 }; /* addends: 2^-26 .. 2^-71 */

/* Half a unit in the last place of 1 in the type of the output. */
static double half_unit(const test_case *c, const char *key)
{
    const char *to = case_value(c, key);

    return strcmp(to, "f32") == 0   ? 0x1p-24
           : strcmp(to, "f16") == 0 ? 0x1p-11
                                    : 0x1p-8;
}

/* Weight number j of a token.  With one slot a product must end next to the
   tie m: m (1 - 2^-13) (1 + 2^-13). */
static double weight_of(uint64_t topk, uint64_t token, uint64_t j)
{
    if (topk == 1) {
        return 1 + 0x1p-13;
    }
    return j == 0 ? 1 : ldexp(1, -LEAST - STEP * (int)((token + j) % STEPS));
}

void fill_tie_weights(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t topk = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, weight_of(topk, i / topk, i % topk));
    }
}

/* Midpoints of every size and sign, odd and even, all over the mantissa. */
void fill_tie_rows(const test_case *c, host_tensor *t, prng *rng)
{
    const char *key =
        strcmp(c->schema->info->name, "moe.finalize") == 0 ? "to" : "out";
    const char *slots = *key == 't' ? "slots" : "topk";
    const double half = half_unit(c, key);
    const uint64_t n = tensor_elems(t);
    const double shift = case_dim(c, slots) == 1 ? 1 - 0x1p-13 : 1;

    for (uint64_t i = 0; i < n; i++) {
        const double units = (double)prng_below(rng, 128);
        const int exponent = (int)prng_below(rng, 7) - 3;
        const double m = ldexp(1 + (2 * units + 1) * half, exponent);
        fill_put(t, i, prng_below(rng, 2) != 0 ? -m * shift : m * shift);
    }
}

/* Every second row of w2 is zero, so that its bias is the output. */
void fill_tie_live(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t row = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    fill_one_live(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        if (i / row % 2 == 0) {
            tensor_store(t, i, 0);
        }
    }
}

/* The four operands of a row that count: 1, half a unit, in odd rows a unit,
   and in the second block what pushes the tie the other way. */
static double operand(uint64_t row, uint64_t k, double half)
{
    const int is_odd = row % 2 != 0;
    const double sign = row / 2 % 2 != 0 ? -1 : 1;

    if (k == 0) {
        return sign;
    }
    if (k == 1) {
        return sign * half;
    }
    if (k == 2) {
        return (is_odd ? 2 * sign * half : 0);
    }
    if (k == 32) {
        return (is_odd ? -sign : sign);
    }
    return 1;
}

void fill_tie_operands(const test_case *c, host_tensor *t, prng *rng)
{
    const double half = half_unit(c, "to");
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        fill_put(t, i, operand(i / cols, i % cols, half));
    }
}

/* 0.5, 1 or 2 for the four, nothing for the rest. */
void fill_tie_codes(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint64_t power[3] = {1, 2, 4};
    const uint64_t row = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t code = power[i / row % 3];
        const uint64_t at = i % row;
        tensor_store(t, i,
                     at == 0               ? code | code << 4
                     : at == 1 || at == 16 ? code
                                           : 0);
    }
}

void fill_tie_scales(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t blocks = t->shape[t->rank - 1];
    const uint64_t n = tensor_elems(t);

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = i / blocks;
        const uint64_t first = 125 + row % 5;
        tensor_store(t, i,
                     i % blocks == 1 ? first - LEAST - STEP * (row % STEPS)
                                     : first);
    }
}
