/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantisers, dequantisers and codecs on any bytes: the cpu backend and the
 * kernels under the SIMT shim equal the emulator, or say that they do not do
 * it; what the emulator refuses they refuse; guards, fills and the second run
 * are those of the judge.  Quantising what was dequantised changes nothing
 * under the rule of the standard.
 */
#include "drawn.h"
#include "judges.h"
#include "run/case_run.h"
#include "run/native.h"
#include "target.h"

#include <mxoracle/mxoracle.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const operations[] = {"quant.*", "dequant.*", "format.*"};
static const char *const subjects[] = {"emu", "cpu", "simt32"};

enum { N_SUBJECTS = 3 };

static const char repro_file[] = "fuzz-repro.safetensors";

/* Say what broke and how to see it again without the fuzzer. */
static void die(const test_case *c, const tensor_set *in, const char *name,
                const char *what)
{
    char text[CASE_TEXT];
    char why[256];
    native_answer answer;

    memset(&answer, 0, sizeof answer);
    answer.has_bytes = 1;
    case_print(c, 0, text);
    (void)fprintf(stderr, "%s on %s: %s\n", text, name, what);
    if (native_outputs(c, in, &answer.out, (mxo_text){why, sizeof why}) == 0 &&
        native_write(repro_file, c, 0, in, &answer,
                     (mxo_text){why, sizeof why}) == 0) {
        (void)fprintf(stderr, "repro: mxoracle run -b %s --vectors %s\n", name,
                      repro_file);
    }
    abort();
}

/* A call that must be refused is made by its own words; a drawn one is judged
   on the bytes at hand. */
static void check_subject(const drawn_call *d, const tensor_set *in,
                          const char *name)
{
    judge *j = judge_of(name);
    verdict v;

    if (j == NULL) {
        return;
    }
    if (d->c.flaw[0] != '\0') {
        case_run(j, &d->c, d->seed, &v);
    } else {
        judge_inputs(j, &d->c, in, &v);
    }
    if (v.status == VERDICT_FAIL || v.status == VERDICT_ERROR) {
        die(&d->c, in, name, v.reason);
    }
    verdict_clear(&v);
}

static int run_emulator(judge *j, const char *text, const tensor_set *in,
                        tensor_set *out)
{
    mxo_param params[OP_MAX_PARAMS];
    test_case c;
    run_checks d;
    char why[256];
    const mxo_text sentence = {why, sizeof why};

    if (case_parse(&c, text, sentence) != 0) {
        return -1;
    }
    case_params(&c, params);
    const op_call call = {c.schema->info->name, params,
                          (uint32_t)c.schema->n_params, in};

    return subject_infer(&j->oracle, &call, out, sentence) == MXO_OK &&
                   subject_run(&j->oracle, &call, out, &d, sentence) == MXO_OK
               ? 0
               : -1;
}

/* x -> (q, s) -> y -> (q, s): finite x in binary32, rule floor. */
static void check_fixed_point(uint64_t seed)
{
    static const char *const elements[] = {"e2m1", "e2m3", "e3m2", "e4m3fn",
                                           "e5m2"};
    prng rng;

    prng_seed(&rng, seed);
    const char *element = elements[prng_below(&rng, 5)];
    const uint64_t shape[] = {1 + prng_below(&rng, 3), 64};
    char quantise[96];
    char dequantise[96];
    tensor_set x = {0};
    tensor_set q = {0};
    tensor_set y = {0};
    tensor_set again = {0};
    host_tensor *t;
    judge *j = judge_of("emu");

    (void)snprintf(quantise, sizeof quantise,
                   "quant.mx:element=%s,from=f32,rows=1,cols=32", element);
    (void)snprintf(dequantise, sizeof dequantise,
                   "dequant.mx:element=%s,to=f32,rows=1,cols=32", element);
    if (tensor_set_add(&x, "x", MXO_F32, 2, shape, &t) != MXO_OK) {
        return;
    }
    for (uint64_t i = 0; i < tensor_elems(t); i++) {
        /* Exponents below 2^120: nothing overflows on the way back. */
        const uint64_t magnitude = prng_below(&rng, 0x7b800000);
        tensor_store(t, i, magnitude | (prng_next(&rng) & 0x80000000));
    }
    if (run_emulator(j, quantise, &x, &q) != 0 ||
        run_emulator(j, dequantise, &q, &y) != 0) {
        abort();
    }
    memcpy(y.t[0].name, "x", 2);
    if (run_emulator(j, quantise, &y, &again) != 0 ||
        memcmp(q.t[0].data, again.t[0].data, (size_t)q.t[0].n_bytes) != 0 ||
        memcmp(q.t[1].data, again.t[1].data, (size_t)q.t[1].n_bytes) != 0) {
        (void)fprintf(stderr, "%s: quantising its own result changes it\n",
                      quantise);
        abort();
    }
    tensor_set_clear(&x);
    tensor_set_clear(&q);
    tensor_set_clear(&y);
    tensor_set_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    tensor_set in = {0};
    drawn_call d;

    drawn_begin(operations, sizeof operations / sizeof operations[0]);
    drawn_read(bytes, n, &d);
    if (d.seed % 8 == 7) {
        check_fixed_point(d.seed);
    }
    if (drawn_inputs(&d, &in) == 0) {
        for (int i = 0; i < N_SUBJECTS; i++) {
            check_subject(&d, &in, subjects[i]);
        }
    }
    tensor_set_clear(&in);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most,
                               unsigned seed)
{
    return drawn_mutate(bytes, n, most, seed);
}
