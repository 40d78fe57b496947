/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxoracle run --profile NAME: a whole layer and its halves as one backend
 * declares them, on data that are exact in any order of summation.  Where a
 * profile leaves an entry open, the emulator says which one; NAME,key=value
 * declares it.
 */
#include "profile_cases.h"

#include "base/cli.h"
#include "case/profile_fact.h"
#include "data/nearest_legal_shape.h"

#include <mxoracle/mxoracle.h>

#include <stdio.h>
#include <string.h>
#include <strings.h>

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
    "moe.layer:profile=%s,tokens=260,topk=1,experts=300,hidden=64,inter=112,"
    "data=orderfree",
    "moe.layer:profile=%s,tokens=5,topk=2,experts=3,hidden=64,inter=64,"
    "data=corners|poisoned|ordinary",
    "moe.gemm1:profile=%s,stage=gemm|act,tokens=5,topk=2,experts=3,hidden=64,"
    "inter=96,data=corners|ordinary",
    "moe.gemm2:profile=%s,stage=row|sum,tokens=5,topk=2,experts=3,hidden=96,"
    "inter=64,data=corners|ordinary|ties",
    "moe.layer:profile=%s,tokens=24,topk=1|2,experts=7,hidden=160,inter=64,"
    "data=lone",
    "moe.layer:profile=%s,activation=silu,rows=halves,limit=none|10,tokens=24,"
    "topk=2,experts=7,hidden=160,inter=64,data=lone",
    "moe.gemm1:profile=%s,stage=gemm|act,tokens=24,topk=2,experts=7,hidden=160,"
    "inter=24,data=lone",
    "moe.gemm2:profile=%s,stage=row|sum,tokens=24,topk=2,experts=7,hidden=48,"
    "inter=160,data=lone",
    NULL,
};

/* Where weights are NVFP4. */
static const char *const nvfp4_layers[] = {
    "moe.nvfp4_layer:profile=%s,tokens=1|6|17,topk=2|4,experts=6,hidden=96,"
    "inter=64,data=orderfree",
    "moe.nvfp4_layer:profile=%s,activation=swiglu|silu,limit=none|3,rows=*,"
    "tokens=5,topk=2,experts=6,hidden=64,inter=96,data=orderfree",
    "moe.nvfp4_layer:profile=%s,tokens=6,topk=1,experts=1|9,hidden=160,inter="
    "32,"
    "data=orderfree|crowd",
    "moe.nvfp4_layer:profile=%s,tokens=7,topk=1,experts=4,hidden=64,inter=32,"
    "data=thirds",
    "moe.nvfp4_layer:profile=%s,map=1,global=9,tokens=7,topk=3,experts=4,"
    "hidden=64,inter=32,data=orderfree",
    "moe.nvfp4_layer:profile=%s,tokens=5,topk=2,experts=3,hidden=64,inter=64,"
    "data=poisoned",
    "moe.nvfp4_gemm1:profile=%s,stage=gemm|act,tokens=5,topk=2,experts=4,"
    "hidden=160,inter=96,data=orderfree",
    "moe.nvfp4_gemm2:profile=%s,stage=row|sum,tokens=5,topk=4,experts=6,"
    "hidden=96,inter=160,data=orderfree",
    NULL,
};

static int is_nvfp4(const char *profile)
{
    return strcmp(profile_fact(profile, "weight_rule"), "nvfp4") == 0;
}

/* The operation that executes a profile. */
static const op_schema *layer_of(const char *profile)
{
    return op_by_name(is_nvfp4(profile) ? "moe.nvfp4_layer" : "moe.layer");
}

/* The profile of that name, whatever its capitals, into name. */
static int find(const char *profile, char name[OP_WORD])
{
    static const char *const ops[] = {"moe.layer", "moe.nvfp4_layer"};
    cli_nearest near = {NULL, 0};
    char words[2][64][OP_WORD];
    char hint[80];

    for (int i = 0; i < 2; i++) {
        const op_schema *s = op_by_name(ops[i]);
        word_span rest = s->params[op_param_index(s, "profile")].choices;
        for (int n = 0; n < 64 && rest.len > 0; n++) {
            if (!span_copy(span_cut(&rest, '|'), words[i][n])) {
                continue;
            }
            if (strcasecmp(words[i][n], profile) == 0) {
                memcpy(name, words[i][n], OP_WORD);
                return EXIT_PASS;
            }
            cli_offer(&near, profile, words[i][n]);
        }
    }
    return cli_refuse("%s is not a profile%s", profile,
                      cli_suggestion(&near, hint, sizeof hint));
}

/* A grid, and how much of it is the profile's own: what a caller declares
   replaces that, and what he declares twice is refused later. */
typedef struct layer_grid {
    char text[1024];
    size_t own;
} layer_grid;

/* Take ",key=values" out of the template's own part. */
static void drop(layer_grid *t, const char *key)
{
    char wanted[OP_WORD + 3];
    const int n = snprintf(wanted, sizeof wanted, ",%s=", key);
    char *at = strstr(t->text, wanted);

    if (at != NULL && at < t->text + t->own) {
        const size_t gone = (size_t)n + strcspn(at + n, ",");
        memmove(at, at + gone, strlen(at + gone) + 1);
        t->own -= gone;
    }
}

/* Append ",key=value" to a grid whose operation knows the key: halves of a
   layer have half of its entries. */
static int declare(layer_grid *t, const char *profile, const char *entry)
{
    const op_schema *layer = layer_of(profile);
    word_span op = {t->text, strcspn(t->text, ":")};
    word_span left = {entry, strcspn(entry, "=")};
    char name[OP_WORD];
    char key[OP_WORD];

    if (entry[left.len] == '=' && span_copy(left, key) &&
        op_dim_index(layer, key) >= 0) {
        return cli_refuse("--profile=%s,%s: %s is a size, and the cases of a "
                          "profile have their own",
                          profile, entry, key);
    }
    if (entry[left.len] != '=' || !span_copy(left, key) ||
        op_param_index(layer, key) < 0) {
        return cli_refuse("--profile=%s,%s: %s has no such key=value", profile,
                          entry, layer->info->name);
    }
    if (span_copy(op, name) && op_param_index(op_by_name(name), key) >= 0) {
        drop(t, key);
        const size_t used = strlen(t->text);
        const size_t room = sizeof t->text - used;
        if ((size_t)snprintf(t->text + used, room, ",%s", entry) >= room) {
            return cli_refuse("--profile=%s: its entries are too long",
                              profile);
        }
    }
    return EXIT_PASS;
}

static int is(const char *profile, const char *key, const char *value)
{
    return strcmp(profile_fact(profile, key), value) == 0;
}

static int append(case_list *cases, const char *layer, const char *name,
                  const char *entries, uint64_t seed)
{
    layer_grid t;
    char entry[OP_WORD * 2 + 2];
    char why[256];
    int status = EXIT_PASS;

    (void)snprintf(t.text, sizeof t.text, layer, name);
    t.own = strlen(t.text);
    if (!is_nvfp4(name) && (is(name, "quant", "quant.static") ||
                            is(name, "quant", "quant.nvfp4"))) {
        status = declare(&t, name, "input_scale=given");
    }
    if (status == EXIT_PASS && is(name, "swiglu", "none")) {
        status = declare(&t, name, "activation=silu");
    }
    if (status == EXIT_PASS && is(name, "silu", "none")) {
        status = declare(&t, name, "activation=swiglu");
    }
    t.own = strlen(t.text);
    while (status == EXIT_PASS && *entries != '\0') {
        const size_t n = strcspn(entries, ",");

        (void)snprintf(entry, sizeof entry, "%.*s", (int)n, entries);
        status = declare(&t, name, entry);
        entries += n + (entries[n] == ',');
    }
    return status == EXIT_PASS && grid_expand(cases, t.text, 0, seed,
                                              (mxo_text){why, sizeof why}) != 0
               ? cli_refuse("--profile=%s: %s", name, why)
               : status;
}

/* Ordinary layers: what the oracle refuses of them, the entries contradict.
   An entry left open is no contradiction; that is said where it is judged. */
static int check_entries(subject *oracle, const case_list *cases, size_t first,
                         const char *profile)
{
    for (size_t i = first; i < cases->n; i++) {
        char why[256] = "";
        tensor_set out = {0};
        test_case c;
        mxo_status status = MXO_E_PARAM;

        if (case_parse(&c, cases->item[i].text, (mxo_text){why, sizeof why}) ==
            0) {
            status =
                nearest_infer(oracle, &c, &out, (mxo_text){why, sizeof why});
        }
        tensor_set_clear(&out);
        if (status == MXO_E_SHAPE || status == MXO_E_PARAM) {
            return cli_refuse("--profile=%s: %s", profile, why);
        }
    }
    return EXIT_PASS;
}

int profile_cases_append(case_list *cases, const char *profile, uint64_t seed)
{
    const size_t before = cases->n;
    const size_t n = strcspn(profile, ",");
    char word[OP_WORD];
    char name[OP_WORD];
    char why[256];
    subject oracle;

    if (subject_open(&oracle, mxo_emulator(), 0, (mxo_text){why, sizeof why}) !=
        MXO_OK) {
        return EXIT_BROKEN;
    }
    (void)snprintf(word, sizeof word, "%.*s", (int)n, profile);
    int status = find(word, name);

    if (status == EXIT_PASS && is(name, "scale_ends", "open")) {
        (void)fprintf(
            stderr,
            "mxoracle: %s: what scale %s is not known, so the "
            "cases have none\n",
            name, is_nvfp4(name) ? "byte 7f means" : "bytes 0 and 255 mean");
    }
    const char *const *grids = is_nvfp4(name) ? nvfp4_layers : layers;

    for (size_t i = 0; status == EXIT_PASS && grids[i] != NULL; i++) {
        status = append(cases, grids[i], name,
                        profile + n + (profile[n] == ','), seed);
    }
    status = status == EXIT_PASS
                 ? check_entries(&oracle, cases, before, profile)
                 : status;
    subject_close(&oracle);
    return status;
}
