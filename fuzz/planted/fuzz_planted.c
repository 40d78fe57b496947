/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of planted.def under libFuzzer: PLANTED_ROW is its number,
 * PLANTED_CALLS what is drawn.  planted-faults builds and runs it.
 */
#include <mxoracle/fuzz.h>

#include <stdlib.h>

const mxo_backend *mxo_backend_entry(uint32_t abi_version);

static const mxo_backend *table;
static void *row;

static mxo_status convert(const mxo_call *call)
{
    char why[256] = "";

    return table->run(row, call, (mxo_text){why, sizeof why});
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most,
                               unsigned seed);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char why[256] = "";
    const char *number = getenv("PLANTED_ROW");
    const char *calls = getenv("PLANTED_CALLS");

    (void)argc;
    (void)argv;
    table = mxo_backend_entry(MXO_ABI_VERSION);
    if (number == NULL || calls == NULL ||
        table->open(&row, (int)strtol(number, NULL, 10),
                    (mxo_text){why, sizeof why}) != MXO_OK) {
        exit(2);
    }
    mxo_fuzz_begin(calls, convert);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    return mxo_fuzz_one(bytes, n);
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most,
                               unsigned seed)
{
    return mxo_fuzz_mutate(bytes, n, most, seed);
}
