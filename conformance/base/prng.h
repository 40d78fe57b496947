/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random numbers of the judge, documented so that anyone can make the
 * same inputs in another language.
 *
 * seed_of():  FNV-1a over 64 bits of the seed in decimal, the case text in
 *             canonical form and the tensor's name, each followed by a zero
 *             byte; then one step of SplitMix64.
 * prng_seed(): four steps of SplitMix64 fill the state of xoshiro256**.
 * prng_below(n): the high half of the 128-bit product of a draw and n.
 * prng_skip(n): a step is linear over GF(2), so n steps are one matrix.
 *
 * Sources: Fowler/Noll/Vo, FNV-1a; Steele, Lea, Flood, "Fast splittable
 * pseudorandom number generators" (2014); Blackman, Vigna, "Scrambled linear
 * pseudorandom number generators" (2021).
 */
#ifndef MXO_PRNG_H
#define MXO_PRNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct prng {
    uint64_t s[4];
} prng;

/* Advance *state, return the next number of SplitMix64. */
uint64_t splitmix64(uint64_t *state);

void prng_seed(prng *p, uint64_t seed);
uint64_t prng_next(prng *p);
/* The low bytes of the next n numbers. */
void prng_bytes(prng *p, uint8_t *to, size_t n);
/* As after n numbers; some milliseconds for any n. */
void prng_skip(prng *p, uint64_t n);
/* Uniform in 0..n-1; n > 0. */
uint64_t prng_below(prng *p, uint64_t n);

/* FNV-1a goes on from a digest; the first is FNV_START. */
#define FNV_START UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)
uint64_t fnv_bytes(uint64_t digest, const void *bytes, size_t n);
/* The end of the text included. */
uint64_t fnv_text(uint64_t digest, const char *text);

/* Seed of a buffer: depends on nothing but its arguments. */
uint64_t seed_of(uint64_t seed, const char *case_text, const char *tensor);

#endif
