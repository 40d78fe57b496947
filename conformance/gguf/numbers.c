/* SPDX-License-Identifier: Apache-2.0 */
/* Global scales and their factors; see numbers.h. */
#include "numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 8, PROJECTIONS = 3 };

static int is_mlx(const global_style *s)
{
    return strcmp(s->scales, "mlx") == 0;
}

uint64_t gguf_kinds(const global_style *s)
{
    return is_mlx(s) ? 1 : 2;
}

int gguf_is_told(const global_style *s)
{
    return strcmp(s->scales, "modelopt") != 0;
}

uint32_t gguf_factor_of(const global_style *s, uint32_t bits)
{
    float x;

    if (!gguf_is_told(s)) {
        return bits;
    }
    memcpy(&x, &bits, sizeof x);
    x = is_mlx(s) ? x / 2688.0F : 1.0F / x;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

uint32_t gguf_bits_of(const moe_layer *l, uint64_t e, int projection, int kind)
{
    const uint8_t *x = layer_global_of(l, e, projection, kind);

    return (uint32_t)x[0] | (uint32_t)x[1] << 8 | (uint32_t)x[2] << 16 |
           (uint32_t)x[3] << 24;
}

char *gguf_numbers(const moe_layer *l)
{
    const uint64_t kinds = gguf_kinds(l->globals);
    const uint64_t n = l->experts * PROJECTIONS * kinds;
    char *text = malloc((size_t)n * DIGITS + 1);

    for (uint64_t i = 0; i < n && text != NULL; i++) {
        const uint64_t row = i / kinds;
        (void)snprintf(text + i * DIGITS, DIGITS + 1, "%08x",
                       (unsigned)gguf_bits_of(l, row / PROJECTIONS,
                                              (int)(row % PROJECTIONS),
                                              (int)(i % kinds)));
    }
    return text;
}

uint32_t gguf_number(const char *text, uint64_t n, uint64_t i)
{
    char digits[DIGITS + 1] = "";

    if (strlen(text) != n * DIGITS) {
        return 0;
    }
    memcpy(digits, text + i * DIGITS, DIGITS);
    return strspn(digits, "0123456789abcdef") == DIGITS
               ? (uint32_t)strtoul(digits, NULL, 16)
               : 0;
}
