/* SPDX-License-Identifier: Apache-2.0 */
/* See prng.h, which is the specification. */
#include "prng.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void prng_seed(prng *p, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        p->s[i] = splitmix64(&seed);
    }
}

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline uint64_t next_of(uint64_t s[4])
{
    const uint64_t result = rotate(s[1] * 5, 7) * 9;
    const uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t prng_next(prng *p)
{
    return next_of(p->s);
}

void prng_bytes(prng *p, uint8_t *to, size_t n)
{
    prng own = *p; /* in registers: weights are gigabytes */

    for (size_t i = 0; i < n; i++) {
        to[i] = (uint8_t)next_of(own.s);
    }
    *p = own;
}

enum { STATE_BITS = 256 };

/* Steps of the state as a matrix over GF(2): the state each bit alone leads
   to. */
typedef struct steps {
    prng of[STATE_BITS];
} steps;

static prng apply(const steps *m, const prng *p)
{
    prng sum = {{0, 0, 0, 0}};

    for (int i = 0; i < STATE_BITS; i++) {
        const uint64_t mask = 0 - (p->s[i / 64] >> i % 64 & 1);
        for (int k = 0; k < 4; k++) {
            sum.s[k] ^= m->of[i].s[k] & mask;
        }
    }
    return sum;
}

static void one_step(steps *m)
{
    memset(m, 0, sizeof *m);
    for (int i = 0; i < STATE_BITS; i++) {
        m->of[i].s[i / 64] = UINT64_C(1) << i % 64;
        (void)next_of(m->of[i].s);
    }
}

static void twice(steps *m)
{
    const steps once = *m;

    for (int i = 0; i < STATE_BITS; i++) {
        m->of[i] = apply(&once, &once.of[i]);
    }
}

void prng_skip(prng *p, uint64_t n)
{
    steps m;

    one_step(&m);
    for (; n != 0; n >>= 1) {
        if ((n & 1) != 0) {
            *p = apply(&m, p);
        }
        twice(&m);
    }
}

/* High 64 bits of a 64 by 64 bit product, by halves: portable. */
static uint64_t multiply_high(uint64_t a, uint64_t b)
{
    const uint64_t a0 = a & UINT32_MAX;
    const uint64_t a1 = a >> 32;
    const uint64_t b0 = b & UINT32_MAX;
    const uint64_t b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    const uint64_t cross = a0 * b1 + (middle & UINT32_MAX);

    return a1 * b1 + (middle >> 32) + (cross >> 32);
}

uint64_t prng_below(prng *p, uint64_t n)
{
    return multiply_high(prng_next(p), n);
}

uint64_t fnv_bytes(uint64_t digest, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < n; i++) {
        digest = (digest ^ at[i]) * FNV_PRIME;
    }
    return digest;
}

uint64_t fnv_text(uint64_t digest, const char *text)
{
    return fnv_bytes(digest, text, strlen(text) + 1);
}

uint64_t seed_of(uint64_t seed, const char *case_text, const char *tensor)
{
    char decimal[24];

    (void)snprintf(decimal, sizeof decimal, "%" PRIu64, seed);
    uint64_t hash = fnv_text(FNV_START, decimal);

    hash = fnv_text(hash, case_text);
    hash = fnv_text(hash, tensor);
    return splitmix64(&hash);
}
