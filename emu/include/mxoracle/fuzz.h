/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz your own converter or kernel, coverage-guided, against the emulator.
 * A whole target:
 *
 *     #include <mxoracle/fuzz.h>
 *     static mxo_status mine(const mxo_call *call)
 *     {
 *         const mxo_tensor *x = &call->in[0];
 *         swizzle((uint8_t *)mxo_fuzz_data(&call->out[0]),
 *                 (uint8_t *)mxo_fuzz_data(x), x->shape[1], x->shape[2]);
 *         return MXO_OK;
 *     }
 *     MXO_FUZZ("layout.apply:layout=flashinfer.128x4,dtype=u8,dir=forward",
 *              mine)
 *
 *     clang -g -O1 -fsanitize=fuzzer,address mine.c \
 *         $(pkg-config --cflags --libs --static mxoracle-fuzz)
 *
 * Any bytes are a call; a mutation changes one dimension, one parameter or the
 * data.  An answer that differs prints the block that mxoracle run prints and
 * aborts.  The same file builds with AFL++ (afl-clang-fast
 * -fsanitize=fuzzer) and honggfuzz (hfuzz-clang).
 */
#ifndef MXORACLE_FUZZ_H
#define MXORACLE_FUZZ_H

#include <mxoracle/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The function under test.  Called with legal calls only; inputs and outputs
 * are host memory of exactly their size, outputs filled with 0xaa.  Outputs
 * named valid or *_valid say which elements of another one are defined: they
 * are filled in already.
 * Errors   MXO_E_UNSUPPORTED passes the call over; any other status but OK on
 *          a call that the emulator serves is a finding
 */
typedef mxo_status (*mxo_fuzz_function)(const mxo_call *call);

/**
 * Elements of a tensor.
 * Needs    a tensor of a call to an mxo_fuzz_function
 */
static inline void *mxo_fuzz_data(const mxo_tensor *t)
{
    return (char *)t->buffer + t->offset;
}

/**
 * Begin: which calls, and who answers them.
 * Shapes   wanted: a pattern of operations, or "op:key=value,..." with keys
 *          that stay as they are
 * Errors   ends the program with a sentence if wanted matches nothing
 * Threads  one, before mxo_fuzz_one()
 */
void mxo_fuzz_begin(const char *wanted, mxo_fuzz_function function);

/**
 * One call from any bytes, judged.
 * Needs    mxo_fuzz_begin()
 * Errors   a wrong answer is printed, then abort()
 * Threads  one
 */
int mxo_fuzz_one(const uint8_t *bytes, size_t n);

/**
 * Another input: one dimension, parameter or the data changed.
 * Shapes   bytes: n of them, room for most; the result is the new n
 * Needs    mxo_fuzz_begin()
 * Threads  one
 */
size_t mxo_fuzz_mutate(uint8_t *bytes, size_t n, size_t most, unsigned seed);

#ifdef __cplusplus
}
#define MXO_FUZZ_ENTRY extern "C"
#else
#define MXO_FUZZ_ENTRY
#endif

/** The entry points of these fuzzers, once in a program. */
#define MXO_FUZZ(wanted, function)                                             \
    MXO_FUZZ_ENTRY int LLVMFuzzerInitialize(int *argc, char ***argv);          \
    MXO_FUZZ_ENTRY int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n); \
    MXO_FUZZ_ENTRY size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n,    \
                                                  size_t most, unsigned seed); \
    MXO_FUZZ_ENTRY int LLVMFuzzerInitialize(int *argc, char ***argv)           \
    {                                                                          \
        (void)argc;                                                            \
        (void)argv;                                                            \
        mxo_fuzz_begin(wanted, function);                                      \
        return 0;                                                              \
    }                                                                          \
    MXO_FUZZ_ENTRY int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)  \
    {                                                                          \
        return mxo_fuzz_one(bytes, n);                                         \
    }                                                                          \
    MXO_FUZZ_ENTRY size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n,    \
                                                  size_t most, unsigned seed)  \
    {                                                                          \
        return mxo_fuzz_mutate(bytes, n, most, seed);                          \
    }

#endif
