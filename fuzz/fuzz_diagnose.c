/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two blobs, a layout's name, a shape and a type, none of which need fit the
 * others: refused by a sentence, or the difference is told.
 *
 * An input is the name, a new line, the shape as --shape takes it, a new line,
 * the type, a new line, two bytes for the place that differs and the bytes of
 * the tensor.  These are repeated to what the layout wants, unless the type
 * stands behind an exclamation mark.
 */
#include "base/number.h"
#include "base/tensors.h"
#include "layout/pair.h"
#include "target.h"

#include <mxoracle/layout.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Known mistakes are looked for in few bytes, and in one input of eight. */
enum { LONGEST = 256, MOST_BYTES = 1 << 12, SEARCHED = 64 };

static void die(const pair *p, const char *what)
{
    (void)fprintf(stderr,
                  "%s\nrepro: mxoracle diagnose -l '%s' -s %ju,%ju,%ju\n", what,
                  p->layout, (uintmax_t)p->extent[0], (uintmax_t)p->extent[1],
                  (uintmax_t)p->extent[2]);
    abort();
}

/* A line into text; the bytes behind it. */
static size_t take_line(const uint8_t *bytes, size_t n, char text[LONGEST])
{
    const uint8_t *end = n == 0 ? NULL : memchr(bytes, '\n', n);
    const size_t length = end == NULL ? n : (size_t)(end - bytes);
    const size_t kept = length < LONGEST ? length : LONGEST - 1;

    if (kept > 0) {
        memcpy(text, bytes, kept);
    }
    text[kept] = '\0';
    return end == NULL ? n : length + 1;
}

/* Bytes that the layout has for the shape; 0: none, or too many for here. */
static uint64_t bytes_wanted(const pair *p)
{
    uint64_t padded[3];
    char text[256];
    uint64_t n = dtype_bytes(p->dtype);

    if (mxo_layout_padded(p->layout, p->dtype, p->extent, padded,
                          (mxo_text){text, sizeof text}) != MXO_OK) {
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        if (padded[i] == 0 || n > MOST_BYTES / padded[i]) {
            return 0;
        }
        n *= padded[i];
    }
    return n;
}

static void compare(pair *p, uint8_t *wrong, size_t at)
{
    char text[400] = "";
    char mistake[400] = "";
    strbuf said = {0};

    if (!pair_is_whole(p, (mxo_text){text, sizeof text})) {
        if (text[0] == '\0') {
            die(p, "no pair, and not a word");
        }
        return;
    }
    if (pair_compare(p, &said, mistake, sizeof mistake) != 0) {
        die(p, "equal bytes differ");
    }
    layout_place(p, at % p->n, &said);
    wrong[at % p->n] ^= 0x21;
    if (p->n <= SEARCHED && at % 8 == 1 &&
        pair_compare(p, &said, mistake, sizeof mistake) &&
        (strbuf_text(&said)[0] == '\0' || mistake[0] == '\0')) {
        die(p, "they differ, and not a word");
    }
    strbuf_clear(&said);
}

/* The bytes, as often as they go into n. */
static uint8_t *repeat(const uint8_t *bytes, size_t n_bytes, size_t n)
{
    uint8_t *to = malloc(n + 1);

    for (size_t i = 0; to != NULL && i < n; i++) {
        to[i] = n_bytes == 0 ? (uint8_t)i : bytes[i % n_bytes];
    }
    return to;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char line[3][LONGEST];
    size_t used = 0;

    for (int i = 0; i < 3; i++) {
        used += take_line(bytes + used, n - used, line[i]);
    }
    if (n - used < 2) {
        return 0;
    }
    const int is_free = line[2][0] == '!';
    pair p = {.name = "actual",
              .layout = line[0],
              .dtype = dtype_by_name(line[2] + is_free)};

    if (p.dtype == MXO_N_DTYPES || !number_triple(line[1], 1, p.extent)) {
        return 0;
    }
    p.n = is_free ? n - used - 2 : bytes_wanted(&p);
    p.n = p.n < MOST_BYTES ? p.n : MOST_BYTES;
    uint8_t *right = repeat(bytes + used + 2, n - used - 2, (size_t)p.n);
    uint8_t *wrong = repeat(bytes + used + 2, n - used - 2, (size_t)p.n);

    if (right != NULL && wrong != NULL) {
        p.expected = right;
        p.actual = wrong;
        compare(&p, wrong, bytes[used] + 256u * bytes[used + 1]);
    }
    free(right);
    free(wrong);
    return 0;
}
