/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages by name, of every mutant of backends/broken that a layer can have: its
 * class says which stage may be named first, and a few mutants say it
 * themselves.  The first two layers that show a mutant are taken apart; make
 * check takes one, and of a class every third mutant.
 */
#include "data/fill.h"
#include "diagnose/layer_stages.h"
#include "unit/part.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { STAGES = 6, MOST_DEVICES = 4096 };

static const char *const names[STAGES] = {
    "quantisation",   "first GEMM",  "activation",
    "requantisation", "second GEMM", "sum over experts",
};

/* Sets of stages; none: all are right, and put together wrongly. */
enum {
    NONE = 0,
    FIRST = 1 << 1,
    ACT = 1 << 2,
    SECOND = 1 << 4,
    SUM = 1 << 5,
    GEMMS = FIRST | SECOND,
    QUANT = 1 << 0 | 1 << 3
};

typedef struct place {
    const char *word; /* a mutant, or a class */
    unsigned stages;
} place;

/* The first row that fits counts. */
static const place places[] = {
    {"ML12b", ACT}, /* gate and up are told apart behind the GEMM */
    {"ML13b", ACT},
    {"MG03", SUM}, /* not written at the end of all */
    {"MG21", SUM},
    {"MQ03", NONE}, /* between the halves */
    {"MQ20", NONE},
    {"MQ31", NONE},
    {"MQ04", GEMMS | QUANT}, /* scales are multiplied back in the GEMM */
    /* These three also spoil what is asked to see whether the GEMM hands
       numbers on; the first keeps a row's scales for the next call of any
       stage. */
    {"MQ05", GEMMS | QUANT | SUM},
    {"MQ21", GEMMS | QUANT},
    {"MQ28", GEMMS | QUANT},
    {"MQ32", FIRST}, /* codes that the layer is given are not quantised */
    {"MQ33", FIRST},
    {"MS07", GEMMS},
    {"GEMM", GEMMS},
    {"Activation", ACT},
    {"Bias", GEMMS},
    {"Routing", SECOND | SUM}, /* where the weight is multiplied */
    {"Dispatch", GEMMS},
    {"State", SUM},
    {"LD04", GEMMS | ACT}, /* gates and ups are found behind the GEMM */
    {"Layout", GEMMS},     /* of weights that a loader has laid out */
    {"Quantise", QUANT},
    {"Comparator", SUM},
};

enum { N_PLACES = sizeof places / sizeof places[0] };

#define SIZES "moe.layer:tokens=3,topk=2,experts=4,hidden=64,inter=32,"
#define OPEN SIZES "order=any,bias1=acc,bias2=acc,requant=same,data=ordinary,"
#define GIVEN OPEN "input_scale=given,"
#define HALF "from=f16,glu_out=f16,gemm1_out=f16,row_out=f16,out=f16,"

static const char *const layers[] = {
    "moe.layer:tokens=3,topk=2,experts=4,hidden=96,inter=32,profile=TRITON,"
    "bias=f32,data=ordinary",
    SIZES "profile=MARLIN,bias=bf16,data=orderfree",
    OPEN "bias=f32,quant=quant.mx,quant_element=e4m3fn,quant_rule=rceil",
    OPEN "quant=quant.mx,quant_element=e2m1,quant_rule=floor",
    GIVEN "quant=quant.static,quant_element=e4m3fn,quant_rule=divide",
    GIVEN "quant=quant.nvfp4,quant_element=e2m1,quant_rule=exact",
    OPEN "quant=quant.group,quant_element=e4m3fn,quant_rule=vllm_group,"
         "quant_group=32",
    SIZES HALF "order=any,bias=f16,bias1=acc,bias2=acc,data=ordinary",
    SIZES "alpha=1.25,limit=3,data=ordinary",
    SIZES "activation=silu,rows=halves,limit=none,data=ordinary",
    SIZES "map=1,global=7,absent=zero,data=ordinary",
    SIZES "order=split,splits=3,bias1=acc,bias2=acc,data=ordinary",
    SIZES "order=pairwise,data=ordinary",
    SIZES "order=block,scale_at=block,data=ordinary",
    "moe.layer:tokens=3,topk=1,experts=4,hidden=64,inter=32,profile=TRITON,"
    "data=thirds",
    "moe.layer:tokens=17,topk=4,experts=4,hidden=32,inter=32,profile=MARLIN,"
    "data=ordinary",
    SIZES "profile=TRITON,bias=bf16,conversion=mxo_hopper,data=ordinary",
    SIZES "profile=TRITON,bias=bf16,conversion=mxo_hopper_gate_up,rows=halves,"
          "data=ordinary",
    SIZES "from=e2m1,data=ordinary",
};

/* The last one's rows are so short that State mutants read behind them. */
enum { N_LAYERS = sizeof layers / sizeof layers[0] };

const mxo_backend *broken_backend(void);

/* A mutant as it describes itself: "ID CLASS OPERATION: ...". */
typedef struct mutant {
    judge j;
    char id[16];
    char class[32];
    char op[64];
} mutant;

/* 0: a layer cannot show it, or it is none. */
static int is_of_layers(mutant *m)
{
    static const char *const others[] = {"Legal", "Refusal", "Harness"};

    if (sscanf(m->j.subject.driver, "%15s %31s %63[^:(]", m->id, m->class,
               m->op) != 3 ||
        (strcmp(m->op, "moe.layer") != 0 &&
         strncmp(m->op, "moe.gemm", 8) != 0)) {
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        if (strcmp(m->class, others[i]) == 0) {
            return 0;
        }
    }
    return 1;
}

static const place *place_of(const mutant *m)
{
    for (int i = 0; i < N_PLACES; i++) {
        if (strcmp(places[i].word, m->id) == 0 ||
            strcmp(places[i].word, m->class) == 0) {
            return &places[i];
        }
    }
    ck_abort_msg("%s: nobody says where class %s is", m->id, m->class);
    return NULL;
}

/* The stages whose name stands in a line between the two words. */
static unsigned stages_of(const char *lines, const char *before,
                          const char *behind)
{
    unsigned set = NONE;

    for (unsigned i = 0; i < STAGES; i++) {
        char line[96];
        (void)snprintf(line, sizeof line, before, names[i], behind);
        set |= strstr(lines, line) == NULL ? NONE : 1u << i;
    }
    return set;
}

/* 1 if a stage is named, which must be one of the mutant's place.  What lies in
   the order of calls need not show in a stage's: they are other calls. */
static int expect_place(const mutant *m, const char *layer, const char *lines)
{
    const int may_hide = strcmp(m->class, "State") == 0;
    const unsigned want = place_of(m)->stages;
    const unsigned first = stages_of(lines, "first wrong stage: %s%s", " (");
    const unsigned wrong = stages_of(lines, "stage %-17s %s", "WRONG");

    ck_assert_msg((want == NONE || first != NONE || may_hide) &&
                      (wrong & ~want) == NONE,
                  "%s (%s), %s\n%s", m->id, m->class, layer, lines);
    return want == NONE || first != NONE;
}

/* State shows in later runs; everything else in one. */
static int differs(mutant *m, const test_case *c, const tensor_set *in)
{
    judge *j = &m->j;
    const int decoy = j->subject.decoy;
    tensor_set want = {0};
    tensor_set got = {0};
    judgement g;
    verdict v;

    j->subject.once = strcmp(m->class, "State") != 0;
    j->subject.decoy = j->subject.once ? 0 : decoy;
    judge_answer(j, c, in, &want, &got, &g, &v);
    j->subject.once = 0;
    j->subject.decoy = decoy;
    judgement_clear(&g);
    const int is_wrong = v.status == VERDICT_FAIL && v.n_diff > 0;

    verdict_clear(&v);
    tensor_set_clear(&want);
    tensor_set_clear(&got);
    return is_wrong;
}

/* 1 if the layer shows the mutant, and a stage is named where one must be. */
static int take_apart(mutant *m, const char *layer)
{
    char sentence[256] = "";
    const mxo_text why = {sentence, sizeof sentence};
    tensor_set checkpoint = {0};
    tensor_set in = {0};
    strbuf lines = {NULL, 0, 0};
    const op_call call = {"moe.layer", NULL, 0, &in};
    test_case c;
    const evidence e = {.j = &m->j, .c = &c, .call = &call};

    ck_assert_msg(case_parse(&c, layer, why) == 0, "%s", sentence);
    ck_assert_msg(fill_inputs(&c, 1, &in, why) == 0, "%s", sentence);
    ck_assert_msg(fill_checkpoint(&c, 1, &checkpoint, why) == 0, "%s",
                  sentence);
    int is_shown = differs(m, &c, &in);

    if (is_shown) {
        m->j.subject.once = strcmp(m->class, "State") != 0;
        m->j.checkpoint = &checkpoint;
        stages_say(&e, &lines);
        m->j.checkpoint = NULL;
        m->j.subject.once = 0;
        is_shown = expect_place(m, layer, strbuf_text(&lines));
    }
    strbuf_clear(&lines);
    tensor_set_clear(&checkpoint);
    tensor_set_clear(&in);
    return is_shown;
}

static void judge_mutant(mutant *m, int *n_shown)
{
    const int n = N_LAYERS - (strcmp(m->class, "State") == 0);
    const int enough = unit_step(2) == 1 ? 2 : 1;
    int n_red = 0;

    for (int i = 0; i < n && n_red < enough; i++) {
        n_red += take_apart(m, layers[i]);
    }
    n_shown[place_of(m) - places] += n_red > 0;
}

START_TEST(the_class_of_a_mutant_says_which_stage_is_named)
{
    int n_shown[N_PLACES] = {0};
    mxo_status status = MXO_OK;
    const uint32_t part = unit_part();
    const uint32_t step = unit_step(3);
    uint32_t n_met[N_PLACES] = {0};
    int n = 0;

    for (int device = 0; device < MOST_DEVICES && status != MXO_E_DEVICE;
         device++) {
        char sentence[256];
        mutant m;
        status = judge_open(&m.j, broken_backend(), device,
                            (mxo_text){sentence, sizeof sentence});
        if (status == MXO_OK && is_of_layers(&m) &&
            n_met[place_of(&m) - places]++ % step == 0) {
            judge_mutant(&m, n_shown);
        }
        if (status == MXO_OK) {
            judge_close(&m.j);
        }
    }
    ck_assert_int_eq(status, MXO_E_DEVICE);
    for (int i = 0; i < N_PLACES; i++) {
        n += n_shown[i];
        ck_assert_msg(n_shown[i] > 0 || part > 1, "no layer shows %s",
                      places[i].word);
    }
    /* What is left out may be what layers show: half of the share must do. */
    ck_assert_int_ge(n, step > 1 ? 40 / (int)step : 80);
}
END_TEST

Suite *suite_layer_stages_mutants(void);
Suite *suite_layer_stages_mutants(void)
{
    Suite *s = suite_create("layer_stages_mutants");
    TCase *t = tcase_create("stages_say");

    tcase_set_timeout(t, 0); /* a sanitizer takes its time */
    tcase_add_test(t, the_class_of_a_mutant_says_which_stage_is_named);
    suite_add_tcase(s, t);
    return s;
}
