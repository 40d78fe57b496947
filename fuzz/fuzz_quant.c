/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantisers, dequantisers and codecs on any bytes: the cpu backend and the
 * kernels under the SIMT shim equal the emulator, or say that they do not do
 * it; what the emulator refuses they refuse; guards, fills and the second run
 * are those of the judge.  Quantising what was dequantised changes nothing
 * under the rule of the standard.
 */
#include "input.h"
#include "judge/judge.h"
#include "run/backends.h"
#include "run/native.h"
#include "target.h"

#include <mxoracle/mxoracle.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Those that more than one backend does, and all. */
static const char *const common[] = {"quant.mx", "dequant.mx", NULL};
static const char *const all[] = {"quant.*", "dequant.*", "format.*", NULL};
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

/* The judge of a backend, opened on first use and then kept. */
static judge *judge_of(const char *name)
{
    static backend_list known;
    static judge judges[N_SUBJECTS];
    char why[256] = "";
    const mxo_text text = {why, sizeof why};
    const mxo_backend *table = NULL;
    int i = 0;

    while (strcmp(subjects[i], name) != 0) {
        i++;
    }
    if (judges[i].subject.table != NULL) {
        return &judges[i];
    }
    backends_known(&known);
    const backend_ref *ref = backends_find(&known, name);

    if (ref == NULL || backend_load(ref, &table, text) != MXO_OK ||
        judge_open(&judges[i], table, 0, text) != MXO_OK) {
        (void)fprintf(stderr, "%s does not open: %s\n", name, why);
        abort();
    }
    return &judges[i];
}

/* Must the emulator refuse this?  It must. */
static void check_refusal(judge *j, const test_case *c, const tensor_set *in,
                          const char *what)
{
    mxo_param params[OP_MAX_PARAMS];
    const op_call call = {c->schema->info->name, params,
                          (uint32_t)c->schema->n_params, in};
    tensor_set out;
    char why[256] = "";

    memset(&out, 0, sizeof out);
    case_params(c, params);
    const mxo_status status =
        subject_infer(&j->oracle, &call, &out, (mxo_text){why, sizeof why});

    if (status == MXO_OK || why[0] == '\0') {
        (void)fprintf(stderr, "%s: accepted with %s\n", call.op, what);
        abort();
    }
    tensor_set_clear(&out);
}

static void check_subject(const test_case *c, const tensor_set *in,
                          const char *name)
{
    verdict v;

    judge_inputs(judge_of(name), c, in, &v);
    if (v.status == VERDICT_FAIL || v.status == VERDICT_ERROR) {
        die(c, in, name, v.reason);
    }
    verdict_clear(&v);
}

static int run_emulator(judge *j, const char *text, const tensor_set *in,
                        tensor_set *out)
{
    mxo_param params[OP_MAX_PARAMS];
    test_case c;
    distrust d;
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
static void check_fixed_point(fuzz_input *in)
{
    static const char *const elements[] = {"e2m1", "e2m3", "e3m2", "e4m3fn",
                                           "e5m2"};
    const char *element = elements[input_below(in, 5)];
    const uint64_t shape[] = {1 + input_below(in, 3), 64};
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
        tensor_store(
            t, i, input_bits(in) % 0x7b800000 | (input_bits(in) & 0x80000000));
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
    fuzz_input in;
    tensor_set set = {0};
    test_case c;

    input_start(&in, bytes, n);
    const uint32_t kind = input_below(&in, 8);

    if (kind == 7) {
        check_fixed_point(&in);
        return 0;
    }
    if (input_case(&in, kind < 5 ? common : all, &c) == 0 &&
        input_tensors(&in, &c, &set) == 0) {
        if (kind == 0) {
            const char *what = input_spoil(&in, &c, &set);
            check_refusal(judge_of("emu"), &c, &set, what);
        } else {
            for (int i = 0; i < N_SUBJECTS; i++) {
                check_subject(&c, &set, subjects[i]);
            }
        }
    }
    tensor_set_clear(&set);
    return 0;
}
