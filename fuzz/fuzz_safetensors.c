/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vector files from strangers: read, and judged by the table if they can be
 * read.  Nothing is trusted, memory stays within the size of the file, and a
 * verdict that is not a pass says why.
 */
#include "target.h"
#include "vectors/vectors.h"

#include <mxoracle/mxoracle.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what)
{
    (void)fprintf(stderr,
                  "%s\nrepro: mxoracle verify on the bytes of this input\n",
                  what);
    abort();
}

static void judge_it(safetensors *file)
{
    static vector_result result;
    char why[256];
    judge j;

    if (judge_open(&j, mxo_emulator(), 0, (mxo_text){why, sizeof why}) !=
        MXO_OK) {
        die("the emulator does not open");
    }
    vector_judge_parsed("input", file, &j, &result);
    judge_close(&j);
    if (result.verdict != VECTOR_PASSED && result.text[0] == '\0') {
        die("a verdict without a reason");
    }
    if (result.verdict == VECTOR_PASSED && result.n_outputs == 0) {
        die("a pass that judged nothing");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    safetensors file;
    char why[512] = "";
    uint64_t total = 0;

    if (safetensors_parse(bytes, n, &file, (mxo_text){why, sizeof why}) !=
        MXO_OK) {
        if (why[0] == '\0' || file.tensors.n != 0) {
            die("refused without a word, or something is left");
        }
        return 0;
    }
    for (uint32_t i = 0; i < file.tensors.n; i++) {
        total += file.tensors.t[i].n_bytes;
    }
    if (total > n) {
        die("more bytes than the file has");
    }
    judge_it(&file);
    safetensors_clear(&file);
    return 0;
}
