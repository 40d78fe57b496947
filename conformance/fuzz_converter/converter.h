/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody's converter: a command line that makes {out} of {in}.  One drawn
 * checkpoint is written, converted by the command and by the oracle, and the
 * results are compared.
 */
#ifndef MXO_FUZZ_CONVERTER_CONVERTER_H
#define MXO_FUZZ_CONVERTER_CONVERTER_H

#include "drawn.h"
#include "fault.h"

enum { CONVERTER_PATH = 4096 };

typedef struct converter {
    const char *command;
    double timeout_s; /* on the clock */
    int experts_only;
    uint64_t seed; /* of the bytes */
    drawn_rules rules;
    uint64_t n_runs;
} converter;

/* Does the command have {in} and {out}, and no brace that means nothing? 0, or
   -1 and a sentence. */
int converter_check(const char *command, mxo_text why);
/* Does it take what stands between braces? */
int converter_takes(const char *command, const char *key);
/* The command for d in a folder, for /bin/sh; owned by the caller. */
char *converter_command(const converter *c, const drawn *d, const char *folder);
/* In a folder that is there and empty: in/, expected.safetensors, the command's
   got.safetensors and output.txt. f is empty before, and stays so if all is
   right. 0, or -1 and a sentence: it could not be judged. */
int converter_judge(converter *c, const drawn *d, const char *folder,
                    conversion_fault *f, mxo_text why);

#endif
