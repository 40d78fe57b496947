/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drawn calls of layouts and conversions, both ways: the cpu backend, which
 * reads rows with code of its own, moves what the emulator moves and refuses
 * what the emulator refuses.
 */
#include "drawn.h"
#include "judges.h"
#include "run/case_run.h"
#include "target.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const operations[] = {"layout.*"};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    drawn_call d;
    verdict v;

    drawn_begin(operations, 1);
    drawn_read(bytes, n, &d);
    judge *j = judge_of("cpu");

    if (j == NULL) {
        return 0;
    }
    case_run(j, &d.c, d.seed, &v);
    if (v.status == VERDICT_FAIL || v.status == VERDICT_ERROR) {
        char text[CASE_TEXT];
        case_print(&d.c, 0, text);
        (void)fprintf(stderr,
                      "%s\nrepro: mxoracle run -b cpu --seed=%ju '%s'\n",
                      v.reason, (uintmax_t)d.seed, text);
        abort();
    }
    verdict_clear(&v);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most,
                               unsigned seed)
{
    return drawn_mutate(bytes, n, most, seed);
}
