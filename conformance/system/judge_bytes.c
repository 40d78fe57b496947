/* SPDX-License-Identifier: Apache-2.0 */
/* See judge_bytes.h. */
#include "judge_bytes.h"

#include "system.h"

#include <mxoracle/abi.h>

#include <stddef.h>
#include <string.h>

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

/* In the byte order of this machine: nobody keeps them. */
static void store_word(uint8_t *to, uint64_t word)
{
    memcpy(to, &word, sizeof word);
}

/* s: NULL for a fill. */
static uint64_t drawn_word(const judge_secret *s, uint64_t salt,
                           enum purpose purpose, uint64_t word)
{
    return s == NULL ? fill_word(salt, word)
                     : secret_word(s, salt, purpose, word);
}

/* Some bytes of a word, from its byte number from on. */
static void draw_part(const judge_secret *s, uint64_t salt,
                      enum purpose purpose, uint64_t flip, uint8_t *to,
                      uint64_t n, uint64_t at)
{
    uint8_t bytes[8];

    store_word(bytes, drawn_word(s, salt, purpose, at / 8) ^ flip);
    for (uint64_t i = 0; i < n; i++) {
        to[i] = bytes[at % 8 + i];
    }
}

static void draw_bytes(const judge_secret *s, uint64_t salt,
                       enum purpose purpose, int is_flipped, uint8_t *to,
                       uint64_t n, uint64_t at)
{
    const judge_secret own = s == NULL ? (judge_secret){0, 0} : *s;
    const uint64_t flip = is_flipped ? UINT64_MAX : 0;
    const uint64_t left = -at % 8;
    const uint64_t head = left < n ? left : n;
    const uint64_t n_words = (n - head) / 8;
    const uint64_t first = (at + head) / 8;
    const uint64_t tail = (n - head) % 8;

    draw_part(s, salt, purpose, flip, to, head, at);
    to += head;
    for (uint64_t i = 0; s == NULL && i < n_words; i++) {
        store_word(to + 8 * i, fill_word(salt, first + i) ^ flip);
    }
    for (uint64_t i = 0; s != NULL && i < n_words; i++) {
        store_word(to + 8 * i,
                   secret_word(&own, salt, purpose, first + i) ^ flip);
    }
    draw_part(s, salt, purpose, flip, to + 8 * n_words, tail,
              at + head + 8 * n_words);
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
    const unsigned code = dtype == MXO_E8M0 ? 7 : 0x3f;
    const unsigned mask = dtype == MXO_U8 ? 0xff : is_index ? 0 : code;
    const unsigned base = dtype == MXO_E8M0 ? 0x7c : 0;
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t drawn = (at + 1 + (salt << 40)) * golden;

    for (uint64_t i = 0; i < n; i++) {
        to[i] = (uint8_t)(base + (drawn >> 48 & mask));
        drawn += golden;
    }
}

judge_span judge_bytes_sample(uint64_t n_bytes, uint64_t salt, uint64_t i)
{
    enum { END = 1 << 20, PART = 4 << 20, PAGES = 16 << 10 };

    const uint64_t n_parts = n_bytes / PART + 1;
    const uint64_t part = n_bytes / n_parts;
    const uint64_t drawn =
        (salt * (n_parts + 1) + i) * UINT64_C(0x9e3779b97f4a7c15) >> 24;

    if (i > n_parts + 1) {
        return (judge_span){n_bytes, 0};
    }
    return i == 0 ? (judge_span){0, END}
           : i <= n_parts
               ? (judge_span){(i - 1) * part + drawn % (part - PAGES + 1),
                              PAGES}
               : (judge_span){n_bytes - END, END};
}
