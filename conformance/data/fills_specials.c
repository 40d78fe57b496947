/* SPDX-License-Identifier: Apache-2.0 */
/* data=specials: special numbers in tensors that other kinds leave ordinary. */
#include "fills.h"

#include <string.h>

/* Weights of tokens by turns: above zero, below it, of both signs; with a zero,
   -0, an infinity or a NaN among them; subnormal ones below zero. */
void fill_signed_weights(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t topk = t->rank == 1 ? 1 : t->shape[t->rank - 1];
    const uint64_t sign = dtype_sign(t->dtype);
    const uint64_t n = tensor_elems(t);

    fill_positive(c, t, rng);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t turn = i / topk / 8;
        const uint64_t slot = i % topk;
        const uint64_t once[] = {0, sign, dtype_infinity(t->dtype),
                                 dtype_nan(t->dtype) | 1};
        const uint64_t kind = i / topk % 8;

        if (kind == 1 || (kind == 2 && slot % 2 == 0)) {
            tensor_store(t, i, tensor_load(t, i) | sign);
        } else if (kind >= 3 && kind < 7 && slot == turn % topk) {
            tensor_store(
                t, i, once[kind - 3] | (turn % 2 == 1 && kind > 4 ? sign : 0));
        } else if (kind == 7) {
            tensor_store(t, i, sign | (1 + i % 3));
        }
    }
}

/* Biases of one expert in four ordinary; of the others each has an infinity, a
   -0 and a subnormal number, but one a NaN, too. */
void fill_expert_biases(const test_case *c, host_tensor *t, prng *rng)
{
    const uint64_t cols = t->shape[t->rank - 1];
    const uint64_t inf = dtype_infinity(t->dtype);
    const uint64_t sign = dtype_sign(t->dtype);
    const uint64_t n = inf == 0 || cols < 3 ? 0 : tensor_elems(t);

    fill_ordinary(c, t, rng);
    for (uint64_t e = 1; e * cols < n; e++) {
        const uint64_t at = e * cols + prng_below(rng, cols - 2);

        if (e % 4 != 0) {
            tensor_store(t, at, inf | (e % 4 == 2 ? sign : 0));
            tensor_store(t, at + 1, e % 4 == 3 ? dtype_nan(t->dtype) : sign);
            tensor_store(t, at + 2, sign | 3);
        }
    }
}

/* Blocks of activations by tokens in turn: of numbers as ever, under byte 0,
   under 254 and under NaN. */
void fill_end_scales(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint8_t ends[] = {0, 254, 255};
    const uint64_t blocks = t->shape[t->rank - 1];

    fill_scale_ordinary(c, t, rng);
    for (uint64_t r = 0; r < tensor_elems(t) / blocks; r++) {
        if (r % 4 != 0) {
            tensor_store(t, r * blocks + r / 4 % blocks, ends[r % 4 - 1]);
        }
    }
}

/* Of experts' constants: zeros of both signs, ones, subnormal numbers. */
void fill_rare_constants(const test_case *c, host_tensor *t, prng *rng)
{
    static const uint32_t bits[] = {0x3f800000, 0,          0x80000000,
                                    0x00000001, 0x3fb33333, 0x7f7fffff};
    const uint64_t is_limit = strstr(t->name, "limit") != NULL;

    (void)c;
    (void)rng;
    for (uint64_t i = 0; i < tensor_elems(t); i++) {
        tensor_store(t, i, bits[(i + is_limit) % (5 + is_limit)]);
    }
}
