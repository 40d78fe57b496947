/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of layouts, from true to hostile: no crash, and the backends, which
 * parse them with code of their own, take none that the emulator refuses.
 */
#include "judges.h"
#include "target.h"

#include <mxoracle/mxoracle.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 200, MOST_OUTPUTS = 16 };

static void check_text(const char *name, const char *backend)
{
    const judge *j = judge_of(backend);

    if (j == NULL) {
        return;
    }
    const mxo_param params[] = {{"layout", name, 0},
                                {"dtype", "u8", 0},
                                {"dir", "forward", 0},
                                {"keep_rows", "0", 0},
                                {"keep_cols", "0", 0}};
    uint8_t bytes[4096] = {0};
    uint8_t image[2 * sizeof bytes];
    char why[512] = "";
    char refusal[512] = "";
    const mxo_text text = {why, sizeof why};
    uint32_t n_out = MOST_OUTPUTS;
    const mxo_tensor x = {.name = "x",
                          .dtype = MXO_U8,
                          .rank = 3,
                          .shape = {1, 64, 64},
                          .n_bytes = sizeof bytes,
                          .buffer = bytes};
    mxo_tensor out[MOST_OUTPUTS];
    mxo_call call = {.struct_size = sizeof call,
                     .n_params = 5,
                     .n_in = 1,
                     .op = "layout.apply",
                     .params = params,
                     .in = &x,
                     .out = out};
    const mxo_backend *emu = j->oracle.table;
    const mxo_status want = emu->infer(j->oracle.ctx, &call, out, &n_out,
                                       (mxo_text){refusal, sizeof refusal});

    for (uint32_t i = 0; i < 2; i++) {
        const char *const names[] = {"y", "valid"};
        out[i].name = names[i];
        out[i].buffer = image + i * sizeof bytes;
        out[i].offset = 0;
        if (want != MXO_OK || out[i].n_bytes != sizeof bytes) {
            out[i] = (mxo_tensor){.name = names[i],
                                  .dtype = MXO_U8,
                                  .rank = 1,
                                  .shape = {sizeof bytes},
                                  .n_bytes = sizeof bytes,
                                  .buffer = image + i * sizeof bytes};
        }
    }
    call.n_out = 2;
    const mxo_status got = j->subject.table->run(j->subject.ctx, &call, text);
    if (want != MXO_OK && got == MXO_OK) {
        (void)fprintf(stderr, "%s takes the layout \"%s\"; the emulator: %s\n",
                      backend, name, refusal);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char name[LONGEST] = "";

    if (n > 0) {
        memcpy(name, bytes, n < LONGEST - 1 ? n : LONGEST - 1);
    }
    check_text(name, "cpu");
    check_text(name, "simt32");
    return 0;
}
