/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A checkpoint with biases of another type, for convert_biases.test:
 *
 *     make_biases TYPE FROM TO         numbers that BF16, F16 and F32 have
 *     make_biases TYPE:HEX FROM TO     and that code as the last one of the
 * last
 *
 * Number i is the same in every type: zeros, an infinity, else 128 .. 255 times
 * 2^-24 .. 2^8, which in F16 may be subnormal.  No code is shared with the
 * converter.
 */
#include "convert/checkpoint.h"
#include "files/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t bf16_of(uint64_t i)
{
    const uint32_t sign = (uint32_t)(i % 2) << 15;
    const uint32_t mant = (uint32_t)(i * 37 % 128);
    const uint32_t exponent = (uint32_t)(i * 11 % 33); /* of 2^-17 .. 2^15 */

    return i % 64 < 2    ? sign
           : i % 64 == 2 ? 0x7f80
                         : sign | (exponent + 127 - 17) << 7 | mant;
}

/* The same from its parts: normal from 2^-14 on. */
static uint32_t f16_of(uint64_t i)
{
    const uint32_t sign = (uint32_t)(i % 2) << 15;
    const uint32_t mant = (uint32_t)(i * 37 % 128);
    const uint32_t exponent = (uint32_t)(i * 11 % 33);

    if (i % 64 < 3) {
        return i % 64 < 2 ? sign : 0x7c00;
    }
    return exponent > 2 ? sign | (exponent - 2) << 10 | mant << 3
                        : sign | (128 + mant) << exponent;
}

static void put(uint8_t *to, uint32_t width, uint32_t code)
{
    for (uint32_t k = 0; k < width; k++) {
        to[k] = (uint8_t)(code >> 8 * k);
    }
}

static void fill(uint8_t *to, uint64_t n, uint32_t dtype)
{
    for (uint64_t i = 0; i < n; i++) {
        if (dtype == MXO_F32) {
            put(to + 4 * i, 4, bf16_of(i) << 16);
        } else {
            put(to + 2 * i, 2, dtype == MXO_F16 ? f16_of(i) : bf16_of(i));
        }
    }
}

static int is_bias(const char *name)
{
    const size_t n = strlen(name);

    return n > 4 && strcmp(name + n - 4, "bias") == 0;
}

static uint8_t *add(tensor_set *set, const checkpoint_tensor *t, uint32_t dtype)
{
    host_tensor *made;

    if (tensor_set_add(set, t->name, dtype, t->rank, t->shape, &made) !=
        MXO_OK) {
        exit(99);
    }
    return made->data;
}

int main(int argc, char **argv)
{
    char text[400] = "";
    const mxo_text why = {text, sizeof text};
    tensor_set *set = calloc(1, sizeof *set);
    json_t *meta = json_pack("{s:s}", "format", "pt");
    checkpoint c;

    if (argc != 4 || set == NULL || checkpoint_open(argv[2], &c, why) != 0) {
        return 99;
    }
    const char *code = strchr(argv[1], ':');
    const uint32_t dtype = strncmp(argv[1], "F16", 3) == 0   ? MXO_F16
                           : strncmp(argv[1], "F32", 3) == 0 ? MXO_F32
                                                             : MXO_BF16;
    uint8_t *last = NULL;

    for (size_t i = 0; i < c.n; i++) {
        const checkpoint_tensor *t = &c.tensor[i];
        if (!is_bias(t->name)) {
            memcpy(add(set, t, dtype_by_file_name(t->dtype)), t->bytes,
                   (size_t)t->n_bytes);
            continue;
        }
        uint8_t *to = add(set, t, dtype);
        fill(to, t->n_bytes / 2, dtype);
        last = to + (t->n_bytes / 2 - 1) * dtype_bytes(dtype);
    }
    if (code != NULL && last != NULL) {
        put(last, dtype_bytes(dtype), (uint32_t)strtoul(code + 1, NULL, 16));
    }
    return safetensors_write(argv[3], set, meta, why) != MXO_OK;
}
