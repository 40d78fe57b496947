/* SPDX-License-Identifier: Apache-2.0 */
/* Divisors of our own GGUF files; see divisors.h. */
#include "divisors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 8 };

uint32_t gguf_reciprocal(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    x = 1.0F / x;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

char *gguf_divisors(const moe_layer *l)
{
    const uint64_t n = layer_globals(l);
    char *text = malloc((size_t)n * DIGITS + 1);

    for (uint64_t i = 0; i < n && text != NULL; i++) {
        const uint8_t *x = l->global[i]->bytes;
        (void)snprintf(text + i * DIGITS, DIGITS + 1, "%02x%02x%02x%02x", x[3],
                       x[2], x[1], x[0]);
    }
    return text;
}

uint32_t gguf_divisor(const char *text, uint64_t n, uint64_t i)
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
