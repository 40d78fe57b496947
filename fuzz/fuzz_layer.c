/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of an MoE layer on any bytes, through the emulator's ABI: no
 * crash, and either an answer, the same twice and whole, or one sentence and
 * outputs as they were.  An input is a case text, a zero byte and the bytes of
 * the tensors, or choices from which text and tensors are drawn.
 */
#include "data/fill_loaded.h"
#include "device/device_under_test.h"
#include "input.h"
#include "target.h"

#include <mxoracle/layout.h>
#include <mxoracle/mxoracle.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 14, MOST_MACS = 1 << 16, MOST_OUTPUTS = 16 };

static const char *const operations[] = {
    "moe.layer", "moe.gemm1",   "moe.gemm2",  "gemm.mx",         "moe.finalize",
    "moe.sort",  "moe.permute", "route.topk", "moe.layer_routed"};

enum { N_OPERATIONS = sizeof operations / sizeof operations[0] };

/* Small dimensions that fit each other more often than not. */
typedef struct extent_row {
    const char *dim; /* "": every other */
    uint8_t of[16];
} extent_row;

static const extent_row extents[] = {
    {"experts", {4, 8, 5, 4, 16, 8, 4, 6, 8, 4, 32, 4, 3, 2, 1, 0}},
    {"hidden", {32, 64, 32, 96, 32, 64, 2, 34, 32, 48, 80, 32, 64, 32, 1, 0}},
    {"inter", {32, 16, 64, 32, 32, 64, 2, 34, 1, 48, 80, 32, 3, 16, 33, 0}},
    {"k", {32, 64, 32, 96, 128, 192, 2, 33, 16, 48, 80, 64, 32, 3, 1, 0}},
    {"one", {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 0}},
    {"slots", {4, 2, 4, 1, 3, 4, 2, 4, 2, 1, 4, 2, 8, 5, 4, 0}},
    {"topk", {2, 1, 2, 1, 3, 4, 2, 1, 2, 1, 4, 2, 3, 2, 5, 0}},
    {"", {1, 2, 3, 4, 8, 5, 16, 1, 2, 3, 4, 17, 20, 4, 7, 0}},
};

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

static unsigned draw_extent(fuzz_input *in, const char *dim)
{
    const extent_row *row = extents;

    while (row->dim[0] != '\0' && strcmp(row->dim, dim) != 0) {
        row++;
    }
    return row->of[input_below(in, sizeof row->of)];
}

/* The dimensions its inputs have, as text; most of those that follow from
   others are left to follow. */
static void draw_dims(fuzz_input *in, const test_case *c, char *text, size_t n)
{
    const op_schema *s = c->schema;

    for (int i = 0; i < s->n_dims; i++) {
        const char *dim = s->dims[i];
        const unsigned extent = draw_extent(in, dim);
        const int follows =
            strstr(dim, "blocks") != NULL || strcmp(dim, "global") == 0;
        const size_t used = strlen(text);
        if (case_uses_dim(c, i) && (!follows || input_below(in, 16) == 0)) {
            (void)snprintf(text + used, n - used, ",%s=%u", dim, extent);
        }
    }
}

/* A loader's name, often with a parameter, sometimes with a letter changed. */
static void draw_conversion(fuzz_input *in, char *word)
{
    static const char letters[] = "/=019azAZ_.+-$:%";
    uint32_t rows = 0;

    while (mxo_conversion_at(rows) != NULL) {
        rows++;
    }
    const mxo_conversion_row *row = mxo_conversion_at(input_below(in, rows));
    const size_t key = strcspn(row->params, "=");
    size_t n = (size_t)snprintf(word, OP_WORD, "%s", row->id);

    if (key > 0 && input_below(in, 2) == 0) {
        (void)snprintf(word + n, OP_WORD - n, "/%.*s=%u", (int)key, row->params,
                       (unsigned)input_below(in, 4));
    }
    if (input_below(in, 8) == 0) {
        n = strlen(word);
        word[input_below(in, (uint32_t)n)] =
            letters[input_below(in, sizeof letters - 1)];
    }
}

static int is_conversion(const op_param *p)
{
    return p->kind == PARAM_NAME && strcmp(p->key, "conversion") == 0;
}

static void draw_value(fuzz_input *in, const op_param *p, char *word)
{
    if (is_conversion(p)) {
        draw_conversion(in, word);
    } else {
        input_value(in, p, word);
    }
}

/* Parameters away from their defaults: few or many. */
static int draw_case(fuzz_input *in, test_case *c)
{
    static const uint32_t rates[] = {1, 4, 12, 48};
    const op_schema *s = op_by_name(operations[input_below(in, N_OPERATIONS)]);
    const uint32_t rate = rates[input_below(in, 4)];
    char text[CASE_TEXT];
    char why[SUBJECT_TEXT];
    size_t n =
        (size_t)snprintf(text, sizeof text, "%s:data=random", s->info->name);

    memset(c, 0, sizeof *c);
    c->schema = s;
    for (int i = 0; i < s->n_params; i++) {
        memcpy(c->value[i], s->params[i].standard, OP_WORD);
        if (input_below(in, 128) < (is_conversion(&s->params[i]) ? 32 : rate)) {
            draw_value(in, &s->params[i], c->value[i]);
            n += (size_t)snprintf(text + n, sizeof text - n, ",%s=%s",
                                  s->params[i].key, c->value[i]);
        }
    }
    draw_dims(in, c, text, sizeof text);
    return case_parse(c, text, (mxo_text){why, sizeof why});
}

/* A pattern of the type whose value lies near 1. */
static uint64_t gentle(uint32_t dtype, uint64_t bits)
{
    const uint64_t step = bits >> 32 & 7;

    switch (dtype) {
    case MXO_F32:
        return (bits & 0x807fffff) | (0x78 + step) << 23;
    case MXO_BF16:
        return (bits & 0x807f) | (0x78 + step) << 7;
    case MXO_F16:
        return (bits & 0x83ff) | (8 + step) << 10;
    case MXO_E8M0:
        return 0x78 + step;
    default:
        return bits;
    }
}

/* How many things an index of the call may name. */
static uint32_t index_bound(fuzz_input *in, const test_case *c)
{
    static const char *const dims[] = {"experts", "sources", "rows",
                                       "vocabulary"};
    uint64_t bound = 0;

    for (int i = 0; i < 4 && bound == 0; i++) {
        bound = case_dim(c, dims[i]);
    }
    if (bound == 0 && case_number(c, "num_experts") > 0) {
        bound = (uint64_t)case_number(c, "num_experts");
    }
    return input_below(in, 8) == 0 ? 1 + input_below(in, 9) : (uint32_t)bound;
}

static void fill_indices(fuzz_input *in, const test_case *c, host_tensor *t)
{
    const uint32_t bound = index_bound(in, c);
    const uint32_t kind = input_below(in, 4);
    uint32_t at = input_below(in, bound);

    for (uint64_t i = 0; i < tensor_elems(t); i++) {
        /* Neighbours differ: no expert twice in a token, if they suffice. */
        at = kind == 1    ? input_below(in, bound)
             : bound == 0 ? 0
                          : (at + 1) % bound;
        const int absent = kind == 2 && input_below(in, 4) == 0;
        tensor_store(t, i,
                     kind == 3 ? input_bits(in)
                     : absent  ? UINT64_MAX
                               : at);
    }
}

static void fill(fuzz_input *in, const test_case *c, host_tensor *t)
{
    const int wild = input_below(in, 8) == 0;

    if (t->dtype == MXO_I32) {
        fill_indices(in, c, t);
        return;
    }
    for (uint64_t i = 0; i < tensor_elems(t); i++) {
        const uint64_t bits = input_bits(in);
        tensor_store(t, i, wild ? bits : gentle(t->dtype, bits));
    }
}

/* The next of the bytes. */
static void take(fuzz_input *in, host_tensor *t)
{
    const size_t n = t->n_bytes < in->n ? (size_t)t->n_bytes : in->n;

    if (n > 0) {
        memcpy(t->data, in->bytes, n);
    }
    in->bytes += n;
    in->n -= n;
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

/* The tensors of the call, of bytes as they come (raw) or drawn.  A loader is
   given what was drawn, or has left bytes that it never leaves. */
static int make_tensors(fuzz_input *in, const test_case *c, int raw,
                        tensor_set *set)
{
    const int is_wild = raw || (fill_has_loader(c) && input_below(in, 2) == 0);
    char why[SUBJECT_TEXT];
    const mxo_text text = {why, sizeof why};

    if (add_tensors(c, set) != 0 ||
        (is_wild && fill_load_shapes(c, set, text) != 0)) {
        return -1;
    }
    for (uint32_t i = 0; i < set->n; i++) {
        if (raw) {
            take(in, &set->t[i]);
        } else {
            fill(in, c, &set->t[i]);
        }
    }
    return is_wild ? 0 : fill_load(c, set, text);
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
    const mxo_call plain = {sizeof plain, call->n_params, call->in->n, 0,
                            call->op,     call->params,   in,          NULL};

    for (uint32_t i = 0; i < call->in->n; i++) {
        const host_tensor *t = &call->in->t[i];
        in[i] = (mxo_tensor){t->name,    t->dtype, t->rank, {0},
                             t->n_bytes, 0,        t->data};
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

/* What infer() refuses, run() must refuse too, whatever it is given. */
static void check_refused(const test_case *c, const op_call *call)
{
    const uint64_t shape[] = {64};
    tensor_set out = {0};
    char why[SUBJECT_TEXT] = "";
    distrust d;

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
    distrust d;

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

/* The text before the first zero byte, 0 if it is a case of these steps. */
static int read_case(fuzz_input *in, test_case *c)
{
    const uint8_t *end = in->n == 0 ? NULL : memchr(in->bytes, 0, in->n);
    char why[SUBJECT_TEXT];

    if (end == NULL || end - in->bytes >= CASE_TEXT ||
        case_parse(c, (const char *)in->bytes, (mxo_text){why, sizeof why}) !=
            0) {
        return -1;
    }
    in->n -= (size_t)(end + 1 - in->bytes);
    in->bytes = end + 1;
    for (int i = 0; i < N_OPERATIONS; i++) {
        if (strcmp(operations[i], c->schema->info->name) == 0) {
            return 0;
        }
    }
    return -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    fuzz_input in;
    tensor_set set = {0};
    test_case c;
    /* Names of operations start with small letters. */
    const int raw = n > 0 && bytes[0] >= 'a' && bytes[0] <= 'z';

    input_start(&in, bytes, n);
    if ((raw ? read_case(&in, &c) : draw_case(&in, &c)) == 0 && is_small(&c) &&
        make_tensors(&in, &c, raw, &set) == 0) {
        check_call(&c, &set);
    }
    tensor_set_clear(&set);
    return 0;
}
