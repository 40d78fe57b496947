/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of an MoE layer on any bytes, through the emulator's ABI: no
 * crash, and either an answer, the same twice and whole, or one sentence and
 * outputs as they were.  An input is a case text, a zero byte and the bytes of
 * the tensors, or a drawn call (drawn.h).
 */
#include "data/fill_loaded.h"
#include "device/device_under_test.h"
#include "drawn.h"
#include "target.h"

#include <mxoracle/mxoracle.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 14, MOST_MACS = 1 << 16, MOST_OUTPUTS = 16 };

static const char *const operations[] = {
    "moe.layer", "moe.gemm1",   "moe.gemm2",  "gemm.mx",         "moe.finalize",
    "moe.sort",  "moe.permute", "route.topk", "moe.layer_routed"};

enum { N_OPERATIONS = sizeof operations / sizeof operations[0] };

#if defined(__GNUC__)
__attribute__((noreturn))
#endif
static void
die(const test_case *c, const char *what)
{
    char text[CASE_TEXT];

    case_print(c, 0, text);
    (void)fprintf(stderr, "%s: %s\n", text, what);
    abort();
}

static subject *emulator(void)
{
    static subject s;
    char why[SUBJECT_TEXT] = "";

    if (s.table == NULL &&
        subject_open(&s, mxo_emulator(), 0, (mxo_text){why, sizeof why}) !=
            MXO_OK) {
        (void)fprintf(stderr, "the emulator does not open: %s\n", why);
        abort();
    }
    return &s;
}

/* The checkpoint's tensors of the case: zeros. */
static int add_tensors(const test_case *c, tensor_set *set)
{
    char why[SUBJECT_TEXT];
    uint64_t shape[MXO_MAX_RANK];
    uint32_t dtype;

    for (int i = 0; i < c->schema->n_inputs; i++) {
        const op_input *input = &c->schema->inputs[i];
        uint64_t n = 1;
        if (!case_has_input(c, i)) {
            continue;
        }
        if (case_input(c, i, &dtype, shape, (mxo_text){why, sizeof why}) != 0) {
            return -1;
        }
        for (uint32_t k = 0; k < input->rank; k++) {
            n = shape[k] > MOST_BYTES ? MOST_BYTES + 1 : n * shape[k];
            if (n > MOST_BYTES) {
                return -1;
            }
        }
        if (tensor_set_add(set, input->name, dtype, input->rank, shape, NULL) !=
            MXO_OK) {
            return -1;
        }
    }
    return 0;
}

/* Tensors of the case that a text spells, of the bytes behind it.  A loader has
   left bytes that it never leaves. */
static int make_tensors(const test_case *c, const uint8_t *bytes, size_t n,
                        tensor_set *set)
{
    char why[SUBJECT_TEXT];

    if (add_tensors(c, set) != 0 ||
        fill_load_shapes(c, set, (mxo_text){why, sizeof why}) != 0) {
        return -1;
    }
    drawn_take(bytes, n, set);
    return 0;
}

/* Work that takes long is left to the suites. */
static int is_small(const test_case *c)
{
    static const char *const dims[] = {"tokens", "topk", "hidden", "inter",
                                       "rows",   "cols", "k"};
    uint64_t macs = 1;

    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
        const uint64_t n = case_dim(c, dims[i]);
        macs *= n > 1 ? n : 1;
        if (macs > MOST_MACS) {
            return 0;
        }
    }
    return 1;
}

static void check_sentence(const test_case *c, const char *why)
{
    const size_t n = strlen(why);

    if (n == 0 || n > SUBJECT_TEXT - 2 || strchr(why, '\n') != NULL) {
        die(c, n == 0 ? "refused without a sentence" : why);
    }
}

/* Ask for the outputs without making them: a legal call may want gigabytes. */
static mxo_status ask(const test_case *c, const op_call *call, int *fits,
                      mxo_text why)
{
    mxo_tensor in[MXO_MAX_TENSORS];
    mxo_tensor out[MOST_OUTPUTS];
    uint32_t n = MOST_OUTPUTS;
    const mxo_call plain = {.struct_size = sizeof plain,
                            .n_params = call->n_params,
                            .n_in = call->in->n,
                            .op = call->op,
                            .params = call->params,
                            .in = in};

    for (uint32_t i = 0; i < call->in->n; i++) {
        const host_tensor *t = &call->in->t[i];
        in[i] = (mxo_tensor){.name = t->name,
                             .dtype = t->dtype,
                             .rank = t->rank,
                             .n_bytes = t->n_bytes,
                             .buffer = t->data};
        memcpy(in[i].shape, t->shape, sizeof t->shape);
    }
    const mxo_status status =
        emulator()->table->infer(emulator()->ctx, &plain, out, &n, why);

    for (uint32_t i = 0; status == MXO_OK && i < n; i++) {
        *fits = *fits && out[i].n_bytes <= MOST_BYTES * 16;
        if (out[i].n_bytes == 0 && out[i].rank == 0) {
            die(c, "an output without an extent");
        }
    }
    return status;
}

/* run() must refuse too where infer() refuses, on any outputs. */
static void check_refused(const test_case *c, const op_call *call)
{
    const uint64_t shape[] = {64};
    tensor_set out = {0};
    char why[SUBJECT_TEXT] = "";
    run_checks d;

    if (tensor_set_add(&out, "y", MXO_U8, 1, shape, NULL) != MXO_OK) {
        abort();
    }
    if (subject_run(emulator(), call, &out, &d, (mxo_text){why, sizeof why}) ==
        MXO_OK) {
        die(c, "infer() refuses what run() takes");
    }
    if (d.refusal[0] != '\0') {
        die(c, d.refusal);
    }
    check_sentence(c, why);
    tensor_set_clear(&out);
}

static void check_run(const test_case *c, const op_call *call)
{
    tensor_set out = {0};
    char why[SUBJECT_TEXT] = "";
    run_checks d;

    if (subject_infer(emulator(), call, &out, (mxo_text){why, sizeof why}) !=
        MXO_OK) {
        die(c, "infer() changes its mind");
    }
    const mxo_status status =
        subject_run(emulator(), call, &out, &d, (mxo_text){why, sizeof why});

    if (status != MXO_OK) {
        check_sentence(c, why);
    }
    const char *const found[] = {d.guards, d.inputs, d.refusal, d.unwritten,
                                 d.changing};
    for (int i = 0; i < 5; i++) {
        if (found[i][0] != '\0') {
            die(c, found[i]);
        }
    }
    tensor_set_clear(&out);
}

static void check_call(const test_case *c, const tensor_set *in)
{
    mxo_param params[OP_MAX_PARAMS];
    const op_call call = {c->schema->info->name, params,
                          (uint32_t)c->schema->n_params, in};
    char why[SUBJECT_TEXT] = "";
    int fits = 1;

    case_params(c, params);
    if (ask(c, &call, &fits, (mxo_text){why, sizeof why}) != MXO_OK) {
        check_sentence(c, why);
        check_refused(c, &call);
    } else if (fits) {
        check_run(c, &call);
    }
}

/* The bytes behind the text, which ends with a zero byte; NULL if it is no
   case of these steps. */
static const uint8_t *read_case(const uint8_t *bytes, size_t n, test_case *c)
{
    const uint8_t *end = memchr(bytes, 0, n);
    char why[SUBJECT_TEXT];

    if (end == NULL || end - bytes >= CASE_TEXT ||
        case_parse(c, (const char *)bytes, (mxo_text){why, sizeof why}) != 0) {
        return NULL;
    }
    for (size_t i = 0; i < N_OPERATIONS; i++) {
        if (strcmp(operations[i], c->schema->info->name) == 0) {
            return end + 1;
        }
    }
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    tensor_set set = {0};
    drawn_call d;
    int status;

    /* Names of operations start with small letters; groups are fewer. */
    if (n > 1 && bytes[0] >= 'a' && bytes[0] <= 'z' && bytes[1] >= 'a' &&
        bytes[1] <= 'z') {
        const uint8_t *rest = read_case(bytes, n, &d.c);
        status =
            rest != NULL && is_small(&d.c)
                ? make_tensors(&d.c, rest, n - (size_t)(rest - bytes), &set)
                : -1;
    } else {
        drawn_begin(operations, N_OPERATIONS);
        drawn_read(bytes, n, &d);
        status = is_small(&d.c) ? drawn_inputs(&d, &set) : -1;
    }
    if (status == 0) {
        check_call(&d.c, &set);
    }
    tensor_set_clear(&set);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most,
                               unsigned seed)
{
    drawn_begin(operations, N_OPERATIONS);
    return drawn_mutate(bytes, n, most, seed);
}
