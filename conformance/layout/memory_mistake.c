/* SPDX-License-Identifier: Apache-2.0 */
/* See memory_mistake.h. */
#include "memory_mistake.h"

#include "base/tensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_EXPERTS = 64, FEWEST_BYTES = 16 };

/* From byte `from` on every byte is the last one; 1 if there are enough. */
static int constant_tail(const pair *p, uint64_t *from)
{
    const uint8_t last = p->actual[p->n - 1];

    *from = p->n;
    while (*from > 0 && p->actual[*from - 1] == last) {
        (*from)--;
    }
    return p->n - *from >= FEWEST_BYTES;
}

/* All is one byte, or right up to a tail of one byte. */
static int unwritten(const pair *p, char *text, size_t size)
{
    uint64_t from;

    if (!constant_tail(p, &from)) {
        return 0;
    }
    if (from == 0) {
        (void)snprintf(text, size, "every byte is %02x: nothing was written",
                       p->actual[0]);
        return 1;
    }
    if (memcmp(p->expected, p->actual, (size_t)from) != 0) {
        return 0;
    }
    while (from < p->n && p->expected[from] == p->actual[from]) {
        from++; /* right by chance, or as a pad */
    }
    (void)snprintf(text, size,
                   "it is right up to byte %" PRIu64
                   ", from there on every byte is %02x: the tail is missing",
                   from, p->actual[p->n - 1]);
    return 1;
}

static uint8_t no_high(uint8_t byte)
{
    return byte & 15;
}

static uint8_t no_low(uint8_t byte)
{
    return byte & 0xf0;
}

static uint8_t low_twice(uint8_t byte)
{
    return (uint8_t)((byte & 15) * 17);
}

static uint8_t high_twice(uint8_t byte)
{
    return (uint8_t)((byte >> 4) * 17);
}

/* Packed codes of which one is lost. */
static int lost_nibble(const pair *p, char *text, size_t size)
{
    static const struct {
        uint8_t (*of)(uint8_t byte);
        const char *words;
    } known[] = {
        {no_high, "the high nibble of every byte is 0"},
        {no_low, "the low nibble of every byte is 0"},
        {low_twice, "the high nibble of every byte is a copy of the low one"},
        {high_twice, "the low nibble of every byte is a copy of the high one"},
    };

    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        uint64_t i = 0;
        while (i < p->n && known[k].of(p->expected[i]) == p->actual[i]) {
            i++;
        }
        if (i == p->n && p->dtype == MXO_U8) {
            (void)snprintf(text, size, "%s", known[k].words);
            return 1;
        }
    }
    return 0;
}

/* The right expert whose bytes lie in slot k; experts if none. */
static uint64_t expert_in(const pair *p, uint64_t k, uint64_t each)
{
    uint64_t e = 0;

    while (e < p->extent[0] &&
           memcmp(p->expected + e * each, p->actual + k * each, (size_t)each) !=
               0) {
        e++;
    }
    return e;
}

/* Every slot holds the bytes of some expert, but not of its own. */
static int expert_order(const pair *p, char *text, size_t size)
{
    const uint64_t experts = p->extent[0];
    const uint64_t each = experts == 0 ? 0 : p->n / experts;
    size_t used;

    if (experts < 2 || experts > MOST_EXPERTS || each < FEWEST_BYTES) {
        return 0;
    }
    if (expert_in(p, 0, each) == 0 &&
        memcmp(p->actual, p->actual + each, (size_t)(p->n - each)) == 0) {
        (void)snprintf(text, size, "every expert holds expert 0");
        return 1;
    }
    used = (size_t)snprintf(text, size, "experts are in another order:");
    for (uint64_t k = 0; k < experts; k++) {
        const uint64_t e = expert_in(p, k, each);
        if (e == experts) {
            return 0;
        }
        if (used < size) {
            used += (size_t)snprintf(text + used, size - used, " %" PRIu64, e);
        }
    }
    return 1;
}

int memory_mistake(const pair *p, char *text, size_t size)
{
    return p->n > 0 &&
           (unwritten(p, text, size) || lost_nibble(p, text, size) ||
            expert_order(p, text, size));
}
