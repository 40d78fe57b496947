/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subjects that keep their last answer and know the call again by a part of its
 * inputs: a plugin and a program alike.
 */
#ifndef MXO_TESTS_KEPT_ANSWER_H
#define MXO_TESTS_KEPT_ANSWER_H

#include <stdint.h>
#include <string.h>

typedef struct bytes {
    uint8_t *at;
    uint64_t n;
} bytes;

static uint64_t add_to_key(uint64_t key, const uint8_t *at, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        key = (key ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return key;
}

/* The first and last bytes of both, their middle, and one of seventeen. */
static uint64_t key_of_samples(uint64_t key, bytes x)
{
    key = add_to_key(add_to_key(key, x.at, 16), x.at + x.n - 16, 16);
    key = add_to_key(key, x.at + x.n / 2, 8);
    for (uint64_t i = 0; i < x.n; i += 17) {
        key = add_to_key(key, x.at + i, 1);
    }
    return key;
}

/* Whatever the order of the bytes. */
static uint64_t sum_of(bytes x)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < x.n; i++) {
        sum += x.at[i];
    }
    return sum;
}

/* What it looks at; 0: everything, as nothing of the kind is asked for. */
static uint64_t key_of(const char *fault, bytes codes, bytes scales)
{
    const struct {
        const char *fault;
        uint64_t code, n_codes, scale, n_scales;
    } rows[] = {
        {"keeps-head", 0, 16, 0, 16},
        {"keeps-tail", codes.n - 16, 16, scales.n - 16, 16},
        {"keeps-first-half", 0, codes.n / 2, 0, scales.n / 2},
        {"keeps-last-half", codes.n / 2, codes.n / 2, scales.n / 2,
         scales.n / 2},
        {"keeps-codes", 0, codes.n, 0, 0},
        {"keeps-scales", 0, 0, 0, scales.n},
    };
    const uint64_t sizes = codes.n << 32 ^ scales.n;

    if (strcmp(fault, "keeps-samples") == 0) {
        return key_of_samples(key_of_samples(sizes, codes), scales);
    }
    if (strcmp(fault, "keeps-sums") == 0) {
        return (sizes << 24) + (sum_of(codes) << 16) + sum_of(scales) + 1;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].fault, fault) == 0) {
            return add_to_key(
                add_to_key(sizes, codes.at + rows[i].code, rows[i].n_codes),
                scales.at + rows[i].scale, rows[i].n_scales);
        }
    }
    return 0;
}

/* Inputs of calls of other words, for good. */
static uint64_t noted[4096];
static unsigned n_noted;

static void note_bytes(bytes x)
{
    noted[n_noted++ % 4096] = add_to_key(x.n, x.at, x.n);
}

static int is_noted(bytes x)
{
    for (unsigned i = 0; i < 4096 && i < n_noted; i++) {
        if (noted[i] == add_to_key(x.n, x.at, x.n)) {
            return 1;
        }
    }
    return 0;
}

/* The right answer y, or the one that it knows. */
static void keep_answer(const char *fault, bytes codes, bytes scales, bytes y)
{
    static uint8_t kept[1 << 20];
    static uint64_t kept_key;

    if (codes.n < 16 || scales.n < 16 || y.n > sizeof kept) {
        return;
    }
    const uint64_t key = key_of(fault, codes, scales);

    if (key != 0 && key == kept_key) {
        memcpy(y.at, kept, (size_t)y.n);
    } else {
        memcpy(kept, y.at, (size_t)y.n);
        kept_key = key;
    }
}

#endif
