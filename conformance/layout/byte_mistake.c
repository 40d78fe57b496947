/* SPDX-License-Identifier: Apache-2.0 */
/* See byte_mistake.h. */
#include "byte_mistake.h"

#include "base/tensors.h"

#include <inttypes.h>
#include <stdio.h>

/* Fewer wrong bytes fit a change by chance. */
enum { FEWEST_WRONG = 16, LONGEST_WORD = 16 };

static uint8_t one_up(uint8_t b)
{
    return (uint8_t)(b + 1);
}

static uint8_t one_down(uint8_t b)
{
    return (uint8_t)(b - 1);
}

static uint8_t codes_one_up(uint8_t b)
{
    return (uint8_t)(((b + 0x10) & 0xf0) | ((b + 1) & 0x0f));
}

static uint8_t codes_one_down(uint8_t b)
{
    return (uint8_t)(((b - 0x10) & 0xf0) | ((b - 1) & 0x0f));
}

static uint8_t without_bias(uint8_t b)
{
    return (uint8_t)(b - 127);
}

static uint8_t with_bias_twice(uint8_t b)
{
    return (uint8_t)(b + 127);
}

static uint8_t other_top_bit(uint8_t b)
{
    return b ^ 0x80;
}

static uint8_t without_minus_zero(uint8_t b)
{
    const int low = (b & 0x0f) == 8 ? 0 : b & 0x0f;
    const int high = (b & 0xf0) == 0x80 ? 0 : b & 0xf0;

    return (uint8_t)(high | low);
}

static uint8_t without_signs(uint8_t b)
{
    return b & 0x77;
}

static uint8_t other_signs(uint8_t b)
{
    return b ^ 0x88;
}

static uint8_t inverted(uint8_t b)
{
    return (uint8_t)~b;
}

static uint8_t nibbles_swapped(uint8_t b)
{
    return (uint8_t)(b << 4 | b >> 4);
}

const byte_change byte_changes[] = {
    {one_up, "one too high"},
    {one_down, "one too low"},
    {codes_one_up, "two codes, each one too high"},
    {codes_one_down, "two codes, each one too low"},
    {without_bias, "127 too low: the bias of E8M0 is taken off"},
    {with_bias_twice, "127 too high: the bias of E8M0 is added twice"},
    {other_top_bit, "right but for its top bit"},
    {without_minus_zero, "two codes of which minus zero is lost"},
    {without_signs, "two codes without their signs"},
    {other_signs, "two codes of the other sign"},
    {inverted, "inverted bit by bit"},
    {nibbles_swapped, "a byte whose nibbles are swapped"},
};
const size_t n_byte_changes = sizeof byte_changes / sizeof byte_changes[0];

/* Wrong bytes that all should be the same are a pad rather. */
static int accounts_for_all(const pair *p, uint8_t (*of)(uint8_t byte))
{
    uint64_t n_wrong = 0;
    uint8_t should = 0;
    int has_several = 0;

    for (uint64_t i = 0; i < p->n; i++) {
        if (p->actual[i] != p->expected[i]) {
            has_several |= n_wrong > 0 && p->expected[i] != should;
            should = p->expected[i];
            n_wrong++;
            if (p->actual[i] != of(should)) {
                return 0;
            }
        }
    }
    return n_wrong >= FEWEST_WRONG && has_several;
}

static int is_reversed(const pair *p, uint64_t word)
{
    uint64_t i = 0;

    while (i < p->n && p->actual[i] == p->expected[i ^ (word - 1)]) {
        i++;
    }
    return i == p->n;
}

int byte_mistake(const pair *p, char *text, size_t size)
{
    if (p->n < FEWEST_WRONG) {
        return 0;
    }
    for (uint64_t word = 2; word <= LONGEST_WORD; word *= 2) {
        if (p->n % word == 0 && is_reversed(p, word)) {
            (void)snprintf(
                text, size,
                "the bytes of every word of %" PRIu64 " are reversed", word);
            return 1;
        }
    }
    for (size_t k = 0; dtype_bytes(p->dtype) == 1 && k < n_byte_changes; k++) {
        if (accounts_for_all(p, byte_changes[k].of)) {
            (void)snprintf(text, size, "every wrong byte is %s",
                           byte_changes[k].words);
            return 1;
        }
    }
    return 0;
}
