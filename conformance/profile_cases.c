/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle run --profile NAME: a whole layer and its halves as one backend
 * declares them, on data that are exact in any order of summation.  Where a
 * profile leaves an entry open, the emulator says which one.
 */
#include "profile_cases.h"

#include "cli.h"

#include <stdio.h>

static const char *const layers[] = {
    "moe.layer:profile=%s,tokens=1|6|17,topk=2|4,experts=6,hidden=96,inter=64,"
    "bias=none|bf16,data=orderfree",
    "moe.layer:profile=%s,activation=silu,rows=halves,limit=none|10,tokens=5,"
    "topk=2|5,experts=6,hidden=64,inter=96,data=orderfree",
    "moe.layer:profile=%s,tokens=6,topk=1,experts=1|9,hidden=2880,inter=32,"
    "data=orderfree|crowd",
    "moe.layer:profile=%s,tokens=7,topk=1,experts=4,hidden=64,inter=32,"
    "bias=none|bf16,data=thirds",
    "moe.layer_routed:profile=%s,dialect=softmax_topk|topk_softmax,top_k=2,"
    "tokens=5,experts=6,hidden=64,inter=96,bias=none|bf16,data=orderfree",
    "moe.gemm1:profile=%s,stage=gemm|act,tokens=5,topk=2,experts=4,hidden=160,"
    "inter=96,bias=none|bf16,data=orderfree",
    "moe.gemm2:profile=%s,stage=row|sum,tokens=5,topk=4,experts=6,hidden=96,"
    "inter=160,bias=none|bf16,data=orderfree",
};

static int check(const char *profile)
{
    const op_schema *s = op_by_name("moe.layer");
    word_span rest = s->params[op_param_index(s, "profile")].choices;
    cli_nearest near = {NULL, 0};
    char words[64][OP_WORD];
    char hint[80];

    for (int n = 0; n < 64 && rest.len > 0; n++) {
        const word_span word = span_cut(&rest, '|');
        if (span_equals(word, profile)) {
            return EXIT_PASS;
        }
        if (span_copy(word, words[n])) {
            cli_offer(&near, profile, words[n]);
        }
    }
    return cli_refuse("%s is not a profile%s", profile,
                      cli_suggestion(&near, hint, sizeof hint));
}

int profile_cases_append(case_list *cases, const char *profile, uint64_t seed)
{
    char text[512];
    char why[256];
    int status = check(profile);

    for (size_t i = 0;
         status == EXIT_PASS && i < sizeof layers / sizeof layers[0]; i++) {
        (void)snprintf(text, sizeof text, layers[i], profile);
        if (grid_expand(cases, text, 0, seed, (mxo_text){why, sizeof why}) !=
            0) {
            fprintf(stderr, "mxoracle: a grid is at fault: %s\n", why);
            status = EXIT_BROKEN;
        }
    }
    return status;
}
