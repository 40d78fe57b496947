/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzz target for a converter of one's own, in C or C++: 128 x 4 tiles of
 * scale bytes.
 * With -DTAIL_FAULT it leaves out the last rows where their number is no
 * multiple of 128, as a kernel without a tail does.
 *     clang -g -O1 -fsanitize=fuzzer,address fuzz_swizzle.c \
 *         $(pkg-config --cflags --libs --static mxoracle-fuzz)
 * and ./a.out; with AFL++ the same options behind afl-clang-fast, and
 *     afl-fuzz -i SEEDS -o FOUND ./a.out
 * with honggfuzz hfuzz-clang in place of clang -fsanitize, and
 *     honggfuzz -i SEEDS -W FOUND -- ./a.out
 */
#include <mxoracle/fuzz.h>

#include <string.h>

static void swizzle(uint8_t *dst, const uint8_t *src, const uint64_t shape[3])
{
    const uint64_t rows = shape[1];
    const uint64_t cols = shape[2];
    const uint64_t tiles = (cols + 3) / 4;
    const uint64_t bands = (rows + 127) / 128;

    for (uint64_t e = 0; e < shape[0]; e++) {
        for (uint64_t r = 0; r < rows; r++) {
#ifdef TAIL_FAULT
            if (r >= rows / 128 * 128) {
                continue;
            }
#endif
            for (uint64_t c = 0; c < cols; c++) {
                const uint64_t tile = (e * bands + r / 128) * tiles + c / 4;
                dst[tile * 512 + r % 32 * 16 + r / 32 % 4 * 4 + c % 4] =
                    src[(e * rows + r) * cols + c];
            }
        }
    }
}

static mxo_status convert(const mxo_call *call)
{
    const mxo_tensor *x = &call->in[0];
    const mxo_tensor *y = &call->out[0];

    memset(mxo_fuzz_data(y), 0, y->n_bytes);
    swizzle((uint8_t *)mxo_fuzz_data(y), (uint8_t *)mxo_fuzz_data(x), x->shape);
    return MXO_OK;
}

MXO_FUZZ("layout.apply:layout=flashinfer.128x4,dtype=u8,dir=forward,"
         "keep_rows=0,keep_cols=0",
         convert)
