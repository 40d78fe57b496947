/* SPDX-License-Identifier: Apache-2.0 */
/* A second operation beside dequant.mx, format.decode of E2M1 to binary32, and
   what a call of one of them leaves for the next of the other. */
#ifndef MXO_TWO_OPERATIONS_H
#define MXO_TWO_OPERATIONS_H

#include <stdint.h>
#include <string.h>

/* Does this call find what one of the other operation left? */
static int finds_other(const char *fault, int is_decode)
{
    static int last = -1; /* the operation before */
    static int n_behind;  /* calls so far whose operation is another */
    const int is_behind = last >= 0 && last != is_decode;

    last = is_decode;
    if (strcmp(fault, "decode-wrong") == 0) {
        return is_decode;
    }
    n_behind += is_behind;
    return is_behind && (strcmp(fault, "other-operation") == 0 ||
                         strcmp(fault, is_decode ? "decode-behind"
                                                 : "dequant-behind") == 0 ||
                         (strcmp(fault, "first-behind") == 0 && n_behind <= 2));
}

/* Little-endian binary32 of each code. */
static void decode_codes(const uint8_t *code, uint64_t n, uint8_t *y)
{
    static const float values[16] = {0,    0.5f,  1,  1.5f,  2,  3,  4,  6,
                                     -0.F, -0.5f, -1, -1.5f, -2, -3, -4, -6};

    for (uint64_t i = 0; i < n; i++) {
        memcpy(y + 4 * i, &values[code[i] & 15], 4);
    }
}

#endif
