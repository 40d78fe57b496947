/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages by name: the emulator with a fault planted in one of a layer's six
 * stages, and in any two, in every profile that is known and under every
 * quantiser.  The first of them must be named, and none that has no fault may
 * be called wrong.
 */
#include "data/fill.h"
#include "diagnose/layer_stages.h"
#include "unit/part.h"

#include <mxoracle/mxoracle.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGES = 6, BLOCK = 32, MOST_PARAMS = 48, MOST_INPUTS = 16 };

static const char *const names[STAGES] = {
    "quantisation",   "first GEMM",  "activation",
    "requantisation", "second GEMM", "sum over experts",
};

/* Faults of a GEMM: a block of weights is lost, the last or the first one; a
   block has its neighbour's scale. */
typedef enum gemm_fault {
    LAST_BLOCK,
    FIRST_BLOCK,
    SCALES,
    N_FAULTS
} gemm_fault;

static mxo_backend table;
static int has_fault[STAGES];
static gemm_fault gemm_kind;
static const char *left_out; /* stage= that the backend does not offer */

static const mxo_tensor *input(const mxo_call *call, const char *name)
{
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (strcmp(call->in[i].name, name) == 0) {
            return &call->in[i];
        }
    }
    return NULL;
}

static const char *text(const mxo_call *call, const char *key)
{
    for (uint32_t i = 0; i < call->n_params; i++) {
        if (strcmp(call->params[i].key, key) == 0) {
            return call->params[i].text;
        }
    }
    return "";
}

static uint8_t *bytes_of(const mxo_tensor *t)
{
    return (uint8_t *)t->buffer + t->offset;
}

/* A call whose parameters and inputs may be changed. */
typedef struct changed {
    mxo_call call;
    mxo_param params[MOST_PARAMS];
    mxo_tensor in[MOST_INPUTS];
    void *owned[MOST_INPUTS];
} changed;

static void copy_call(changed *c, const mxo_call *call)
{
    memset(c, 0, sizeof *c);
    ck_assert_uint_le(call->n_params, MOST_PARAMS);
    ck_assert_uint_le(call->n_in, MOST_INPUTS);
    c->call = *call;
    memcpy(c->params, call->params, call->n_params * sizeof *call->params);
    memcpy(c->in, call->in, call->n_in * sizeof *call->in);
    c->call.params = c->params;
    c->call.in = c->in;
}

static void release(changed *c)
{
    for (int i = 0; i < MOST_INPUTS; i++) {
        free(c->owned[i]);
    }
}

static void say(changed *c, const char *key, const char *value)
{
    for (uint32_t i = 0; i < c->call.n_params; i++) {
        if (strcmp(c->params[i].key, key) == 0) {
            c->params[i].text = value;
        }
    }
}

/* An input of its own, to be written to. */
static uint8_t *own(changed *c, const char *name)
{
    for (uint32_t i = 0; i < c->call.n_in; i++) {
        mxo_tensor *t = &c->in[i];
        if (strcmp(t->name, name) != 0) {
            continue;
        }
        if (c->owned[i] == NULL) {
            c->owned[i] = malloc((size_t)t->n_bytes + 1);
            ck_assert_ptr_nonnull(c->owned[i]);
            memcpy(c->owned[i], bytes_of(t), (size_t)t->n_bytes);
            t->buffer = c->owned[i];
            t->offset = 0;
        }
        return c->owned[i];
    }
    ck_abort_msg("%s is no input", name);
    return NULL;
}

/* One block of every row of weights. */
static void lose_block(changed *c, const char *name, int is_last)
{
    const mxo_tensor *t = input(&c->call, name);
    const uint64_t row = t->shape[2];
    const uint64_t block = BLOCK / 2;
    uint8_t *w = own(c, name);

    for (uint64_t i = 0; i < t->shape[0] * t->shape[1]; i++) {
        memset(w + i * row + (is_last ? (row - 1) / block * block : 0), 0,
               is_last ? row - (row - 1) / block * block : block);
    }
}

/* Blocks 2b + 1 have the scale of 2b. */
static void share_scales(changed *c, const char *name)
{
    const uint64_t row = input(&c->call, name)->shape[2];
    const uint64_t n = input(&c->call, name)->n_bytes;
    uint8_t *scale = own(c, name);

    for (uint64_t i = 0; i < n; i++) {
        scale[i] = i % row % 2 == 1 ? scale[i - 1] : scale[i];
    }
}

static void spoil_gemm(changed *c, const char *w, const char *scale)
{
    if (gemm_kind == SCALES) {
        share_scales(c, scale);
    } else {
        lose_block(c, w, gemm_kind == LAST_BLOCK);
    }
}

/* Every third number goes up or down by a factor of two or more. */
static void spoil_numbers(const mxo_tensor *y)
{
    const uint64_t size = y->dtype == MXO_F32 ? 4 : 2;

    for (uint64_t i = size - 1; i < y->n_bytes; i += 3 * size) {
        bytes_of(y)[i] ^= bytes_of(y)[i] % 128 == 0 ? 0 : 1;
    }
}

/* One of the halves with its faults: first is its first stage. */
static mxo_status run_half(void *ctx, const mxo_call *call, int first,
                           mxo_text why)
{
    const int is_through = strcmp(text(call, "stage"), "act") == 0 ||
                           strcmp(text(call, "stage"), "sum") == 0;
    const char *w = first == 0 ? "w13" : "w2";
    const char *scale = first == 0 ? "w13_scale" : "w2_scale";
    changed c;

    if (left_out != NULL && strcmp(text(call, "stage"), left_out) == 0) {
        (void)snprintf(why.ptr, why.size, "not here");
        return MXO_E_UNSUPPORTED;
    }
    copy_call(&c, call);
    if (has_fault[first]) {
        say(&c, "quant", "none");
        say(&c, "requant", "none");
    }
    if (has_fault[first + 1]) {
        spoil_gemm(&c, w, scale);
    }
    const mxo_status status = mxo_emulator()->run(ctx, &c.call, why);

    if (status == MXO_OK && is_through && has_fault[first + 2]) {
        spoil_numbers(&call->out[0]);
    }
    release(&c);
    return status;
}

static mxo_status run_planted(void *ctx, const mxo_call *call, mxo_text why)
{
    return run_half(ctx, call, strcmp(call->op, "moe.gemm1") == 0 ? 0 : 3, why);
}

#define SIZES "tokens=3,topk=2,experts=4,hidden=96,inter=64,"
#define MORE "moe.layer:" SIZES "data=ordinary,"
#define OPEN MORE "order=any,bias1=acc,bias2=acc,requant=same,"
#define GIVEN OPEN "input_scale=given,"

/* Layers, and whether they quantise before their first and second GEMM. */
typedef struct layer_row {
    const char *text;
    int quantises;
} layer_row;

static const layer_row layers[] = {
    {"moe.layer:tokens=3,topk=2,experts=4,hidden=128,inter=128,profile=TRITON,"
     "bias=bf16,conversion=mxo_hopper,data=ordinary",
     0},
    {MORE "profile=exact,bias=f32", 0},
    {MORE "profile=MARLIN,bias=bf16", 0},
    {MORE "profile=MARLIN,activation=silu,rows=halves,limit=10", 0},
    {MORE "profile=TRITON,bias=f32", 0},
    {MORE "profile=TRITON_UNFUSED,bias=bf16", 0},
    {MORE "profile=EMULATION", 1},
    {MORE "profile=CPU,bias=bf16", 0},
    {"moe.layer:" SIZES "profile=TRITON,bias=bf16,data=orderfree", 0},
    {"moe.layer:" SIZES "profile=MARLIN,bias=bf16,data=crowd", 0},
    {MORE "from=f16,glu_out=f16,gemm1_out=f16,row_out=f16,out=f16,order=any,"
          "bias=f16,bias1=acc,bias2=acc",
     0},
    {MORE "order=block,scale_at=block,bias1=acc,bias2=acc", 0},
    {MORE "order=hopper_wgmma,bias1=acc,bias2=acc", 0},
    {MORE "routing_at=sum,sum=fma,order=seq,bias1=acc,bias2=acc", 0},
    {OPEN "quant=quant.mx,quant_element=e4m3fn,quant_rule=rceil,bias=f32", 1},
    {OPEN "quant=quant.mx,quant_element=e2m1,quant_rule=even", 1},
    {OPEN "quant=quant.mx,quant_element=e5m2,quant_rule=floor,glu_out=f32", 1},
    {OPEN "quant=quant.qdq,quant_element=e2m1,quant_rule=quark_hip", 1},
    {OPEN "quant=quant.group,quant_element=e4m3fn,quant_rule=vllm_group,"
          "quant_group=32",
     1},
    {GIVEN "quant=quant.static,quant_element=e4m3fn,quant_rule=divide", 1},
    {GIVEN "quant=quant.nvfp4,quant_element=e2m1,quant_rule=exact", 1},
};

enum { N_LAYERS = sizeof layers / sizeof layers[0] };

/* The lines on a layer whose answer was wrong. */
static void take_apart(const char *layer, strbuf *lines)
{
    char sentence[256] = "";
    const mxo_text why = {sentence, sizeof sentence};
    tensor_set in = {0};
    const op_call call = {"moe.layer", NULL, 0, &in};
    test_case c;
    judge j;
    const evidence e = {.j = &j, .c = &c, .call = &call};

    table = *mxo_emulator();
    table.name = "planted";
    table.run = run_planted;
    ck_assert_msg(case_parse(&c, layer, why) == 0, "%s", sentence);
    ck_assert_msg(judge_open(&j, &table, 0, why) == MXO_OK, "%s", sentence);
    j.subject.once = 1; /* the emulator, with faults that keep nothing */
    j.subject.decoy = 0;
    ck_assert_msg(fill_checkpoint(&c, 1, &in, why) == 0, "%s", sentence);
    j.checkpoint = &in;
    stages_say(&e, lines);
    judge_close(&j);
    tensor_set_clear(&in);
}

static int first_fault(int from)
{
    while (from < STAGES && !has_fault[from]) {
        from++;
    }
    return from;
}

static int is_called(const strbuf *lines, int stage, const char *word)
{
    char line[64];

    (void)snprintf(line, sizeof line, "stage %-17s %s", names[stage], word);
    return strstr(strbuf_text(lines), line) != NULL;
}

static int is_named(const strbuf *lines, int stage)
{
    char line[64];

    (void)snprintf(line, sizeof line, "first wrong stage: %s (", names[stage]);
    return strstr(strbuf_text(lines), line) != NULL;
}

/* A GEMM that is wrong hides its own quantiser: then that is said. */
static int is_hidden(const strbuf *lines, int stage)
{
    return stage % 3 == 0 && has_fault[stage + 1] &&
           is_named(lines, stage + 1) &&
           strstr(strbuf_text(lines), ", of those that could be judged") !=
               NULL;
}

/* Stages that a fault does not hide: a GEMM of numbers that are quantised
   already, and the step after a GEMM that only loses its last block. */
static int is_beside(int stage)
{
    const int is_behind =
        stage % 3 == 2 && has_fault[stage - 1] && gemm_kind == LAST_BLOCK;

    return (is_behind && !has_fault[stage - 2]) ||
           (stage % 3 == 1 && has_fault[stage - 1] && !has_fault[stage]);
}

static void expect_stages(const layer_row *row, const strbuf *lines)
{
    for (int i = 0; i < STAGES; i++) {
        ck_assert_msg(has_fault[i] || !is_called(lines, i, "WRONG"),
                      "%s: %s is right (GEMMs: %d)\n%s", row->text, names[i],
                      (int)gemm_kind, lines->text);
        ck_assert_msg(!is_beside(i) ||
                          is_called(lines, i, has_fault[i] ? "WRONG" : "right"),
                      "%s: %s is not judged (GEMMs: %d)\n%s", row->text,
                      names[i], (int)gemm_kind, lines->text);
    }
}

static void expect_named(const layer_row *row)
{
    const int first = first_fault(0);
    strbuf lines = {NULL, 0, 0};

    take_apart(row->text, &lines);
    ck_assert_msg(is_named(&lines, first) || is_hidden(&lines, first),
                  "%s: %s is wrong (GEMMs: %d)\n%s", row->text, names[first],
                  (int)gemm_kind, strbuf_text(&lines));
    expect_stages(row, &lines);
    strbuf_clear(&lines);
}

static int has_stage(const layer_row *row, int stage)
{
    return stage % 3 != 0 || row->quantises;
}

/* One fault in two; all with WHOLE=1 (ci/nightly). */
START_TEST(a_stage_alone_is_named)
{
    const layer_row *row = &layers[_i];

    for (int s = 0; s < STAGES; s++) {
        memset(has_fault, 0, sizeof has_fault);
        has_fault[s] = 1;
        for (int k = 0; has_stage(row, s) && k < (s % 3 == 1 ? N_FAULTS : 1);
             k++) {
            gemm_kind = (gemm_fault)k;
            if ((uint32_t)(_i * STAGES + s + k) % unit_step(2) == 0) {
                expect_named(row);
            }
        }
    }
}
END_TEST

/* One pair in seven, of each GEMM fault; all with WHOLE=1 (ci/nightly). */
static int is_pair_asked(int row, int s, int r)
{
    return unit_part() > 1
               ? unit_asks((uint32_t)((row * STAGES + s) * STAGES + r))
               : getenv("WHOLE") != NULL || (row * 3 + s * STAGES + r) % 7 == 0;
}

START_TEST(the_first_of_two_is_named)
{
    const layer_row *row = &layers[_i];

    for (int s = 0; s < STAGES; s++) {
        for (int r = s + 1; r < STAGES; r++) {
            memset(has_fault, 0, sizeof has_fault);
            has_fault[s] = 1;
            has_fault[r] = 1;
            gemm_kind = (gemm_fault)((s + r + _i) % N_FAULTS);
            if (has_stage(row, s) && has_stage(row, r) &&
                is_pair_asked(_i, s, r)) {
                expect_named(row);
            }
        }
    }
}
END_TEST

START_TEST(stages_without_a_fault_are_right)
{
    strbuf lines = {NULL, 0, 0};

    memset(has_fault, 0, sizeof has_fault);
    take_apart(layers[_i].text, &lines);
    ck_assert_msg(strstr(strbuf_text(&lines), "WRONG") == NULL &&
                      strstr(strbuf_text(&lines), "right (") != NULL,
                  "%s\n%s", layers[_i].text, strbuf_text(&lines));
    strbuf_clear(&lines);
}
END_TEST

/* Where a GEMM is not offered alone it is still told from what follows it, as
   long as it hands numbers on. */
static void expect_line(const char *stage, gemm_fault kind, int fault,
                        const char *line)
{
    strbuf lines = {NULL, 0, 0};

    memset(has_fault, 0, sizeof has_fault);
    has_fault[fault] = 1;
    gemm_kind = kind;
    left_out = stage;
    take_apart(MORE "profile=TRITON,bias=f32", &lines);
    left_out = NULL;
    ck_assert_msg(strstr(strbuf_text(&lines), line) != NULL, "%s", lines.text);
    strbuf_clear(&lines);
}

START_TEST(what_is_not_offered_alone_is_told_apart)
{
    expect_line("gemm", LAST_BLOCK, 1,
                "first wrong stage: first GEMM (moe.gemm1)\n");
    expect_line("gemm", FIRST_BLOCK, 1,
                "first wrong stage: activation or what comes before it "
                "(moe.gemm1), of those that could be judged\n");
    expect_line("gemm", LAST_BLOCK, 2,
                "first wrong stage: activation or what comes before it "
                "(moe.gemm1), of those that could be judged\n");
    expect_line("row", LAST_BLOCK, 4,
                "first wrong stage: second GEMM (moe.gemm2)\n");
    expect_line("row", LAST_BLOCK, 5,
                "first wrong stage: sum over experts or what comes before it "
                "(moe.gemm2), of those that could be judged\n");
}
END_TEST

Suite *suite_layer_stages(void);

Suite *suite_layer_stages(void)
{
    Suite *s = suite_create("layer_stages");
    TCase *t = tcase_create("stages_say");

    tcase_set_timeout(t, 0); /* a sanitizer takes its time */
    tcase_add_loop_test(t, a_stage_alone_is_named, 0, N_LAYERS);
    tcase_add_loop_test(t, the_first_of_two_is_named, 0, N_LAYERS);
    tcase_add_loop_test(t, stages_without_a_fault_are_right, 0, N_LAYERS);
    tcase_add_test(t, what_is_not_offered_alone_is_told_apart);
    suite_add_tcase(s, t);
    return s;
}
