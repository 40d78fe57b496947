/* SPDX-License-Identifier: Apache-2.0 */
/* See judge_bytes.h. */
#include "judge_bytes.h"

#include "system/system.h"

#include <mxoracle/abi.h>

#include <stddef.h>

/* Purpose of the bytes of a buffer: bits above any place in it. */
enum { PURPOSE_AT = 38 };
enum purpose { FOR_FILL, FOR_GUARD, FOR_SCRUB };

int judge_bytes_draw(judge_secret *s)
{
    uint8_t bytes[2 * sizeof(uint64_t)];

    if (s->before != 0 || s->after != 0) {
        return 0;
    }
    if (system_random(bytes, sizeof bytes) != 0) {
        return -1;
    }
    for (unsigned i = 0; i < sizeof bytes / 2; i++) {
        s->before = s->before << 8 | bytes[2 * i];
        s->after = s->after << 8 | bytes[2 * i + 1];
    }
    return 0;
}

static uint64_t fill_word(uint64_t salt, uint64_t word)
{
    uint64_t x = (salt << 40 ^ word) * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

/* A secret number goes in before the mixing and another after it: what is seen
   of one buffer does not tell the bytes of the next. */
static uint64_t secret_word(const judge_secret *s, uint64_t salt,
                            enum purpose purpose, uint64_t word)
{
    uint64_t x = salt << 40 ^ (uint64_t)purpose << PURPOSE_AT ^ word;

    x = (x ^ s->before) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 32) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31 ^ s->after;
}

/* Said byte by byte, so that a compiler makes one store of it. */
static void store_word(uint8_t *to, uint64_t word)
{
    to[0] = (uint8_t)word;
    to[1] = (uint8_t)(word >> 8);
    to[2] = (uint8_t)(word >> 16);
    to[3] = (uint8_t)(word >> 24);
    to[4] = (uint8_t)(word >> 32);
    to[5] = (uint8_t)(word >> 40);
    to[6] = (uint8_t)(word >> 48);
    to[7] = (uint8_t)(word >> 56);
}

/* s: NULL for a fill. */
static uint64_t drawn_word(const judge_secret *s, uint64_t salt,
                           enum purpose purpose, uint64_t word)
{
    return s == NULL ? fill_word(salt, word)
                     : secret_word(s, salt, purpose, word);
}

static void draw_bytes(const judge_secret *s, uint64_t salt,
                       enum purpose purpose, int is_flipped, uint8_t *to,
                       uint64_t n, uint64_t at)
{
    const uint64_t flip = is_flipped ? UINT64_MAX : 0;
    uint8_t bytes[8];
    uint64_t i = 0;

    while (i < n) {
        const uint64_t word = drawn_word(s, salt, purpose, (at + i) / 8) ^ flip;
        unsigned from = (unsigned)((at + i) % 8);
        if (from == 0 && n - i >= 8) {
            store_word(to + i, word);
            i += 8;
            continue;
        }
        store_word(bytes, word);
        while (from < 8 && i < n) {
            to[i++] = bytes[from++];
        }
    }
}

void judge_bytes_guard(const judge_secret *s, uint64_t salt, int is_flipped,
                       uint8_t *to, uint64_t n, uint64_t at)
{
    draw_bytes(s, salt, FOR_GUARD, is_flipped, to, n, at);
}

void judge_bytes_scrub(const judge_secret *s, uint64_t salt, uint8_t *to,
                       uint64_t n, uint64_t at)
{
    draw_bytes(s, salt, FOR_SCRUB, 0, to, n, at);
}

void judge_bytes_fill(uint64_t salt, int run, uint8_t *to, uint64_t n,
                      uint64_t at)
{
    draw_bytes(NULL, salt, FOR_FILL, run != 0, to, n, at);
}

void judge_bytes_noise(uint32_t dtype, uint64_t salt, uint8_t *to, uint64_t n,
                       uint64_t at)
{
    const int is_index = dtype < MXO_F16 || dtype == MXO_BOOL;
    const unsigned mask = dtype == MXO_U8     ? 0xff
                          : is_index          ? 0
                          : dtype == MXO_E8M0 ? 7
                                              : 0x3f;
    const unsigned base = dtype == MXO_E8M0 ? 0x7c : 0;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t drawn =
            (at + i + 1 + (salt << 40)) * 0x9e3779b97f4a7c15u >> 48;
        to[i] = (uint8_t)(base + (drawn & mask));
    }
}
