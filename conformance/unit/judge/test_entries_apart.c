/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rules_apart is for rules, for the entries of layer profiles: of each
 * field the words that some profile has.  Where a case says word a, a subject
 * that does what word b says is red, or refuses, or the two stand in
 * entries_alike.def with a reason.  The activation's dialects are rules of
 * act.glu; glu_out and out are types of outputs; quant_group is quant.group's,
 * which has one size.
 */
#include "case/grid.h"
#include "data/fill.h"
#include "judge/judge.h"
#include "unit/judge/other_word.h"
#include "unit/part.h"

#include <mxoracle/mxoracle.h>
#include <mxoracle/profile.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 32 };

#define SIZES1 ",tokens=9,topk=2,experts=5,hidden=160,inter=24,"
#define SIZES2 ",tokens=9,topk=2,experts=5,hidden=48,inter=160,"
#define SUM "moe.gemm2:stage=sum,order=exact"

/* The case around the word, which is the last parameter. */
static const struct {
    mxo_profile_field field;
    const char *text;
} fields[] = {
    {MXO_FIELD_WEIGHT_RULE,
     "moe.gemm2:stage=row,order=any,row_out=bf16|f32,tokens=24,"
     "topk=2,experts=7,hidden=48,inter=160,data=lone|corners"},
    {MXO_FIELD_SCALE_AT,
     "moe.gemm1:stage=gemm,order=hopper_wgmma,gemm1_out=f32" SIZES1
     "data=ordinary"},
    {MXO_FIELD_ORDER,
     "moe.gemm1:stage=gemm,gemm1_out=f32" SIZES1 "data=ordinary"},
    {MXO_FIELD_BIAS_TYPE,
     "moe.gemm1:stage=gemm,bias=f32,bias1=acc,gemm1_out=f32" SIZES1
     "data=lone"},
    {MXO_FIELD_QUANT,
     "moe.gemm1:stage=gemm,quant_element=e4m3fn,quant_rule=vllm_group|floor,"
     "quant_group=128,gemm1_out=f32" SIZES1 "data=lone|ordinary"},
    {MXO_FIELD_QUANT_ELEMENT,
     "moe.gemm1:stage=gemm,quant=quant.mx,quant_rule=floor,gemm1_out=f32" SIZES1
     "data=lone"},
    {MXO_FIELD_QUANT_RULE,
     "moe.gemm1:stage=gemm,quant=quant.mx|quant.qdq,quant_element=e2m1|e4m3fn,"
     "gemm1_out=f32" SIZES1 "data=lone|corners"},
    {MXO_FIELD_BIAS1,
     "moe.gemm1:stage=act,order=exact,bias=f32,gemm1_out=bf16|f32,"
     "glu_out=f32" SIZES1 "data=lone|slight|ordinary"},
    {MXO_FIELD_GEMM1_OUT,
     "moe.gemm1:stage=act,glu_out=f32" SIZES1 "data=lone|slight"},
    {MXO_FIELD_REQUANT,
     "moe.gemm2:stage=row,quant=quant.mx,quant_element=e4m3fn,quant_rule=floor,"
     "row_out=f32" SIZES2 "data=lone"},
    {MXO_FIELD_REQUANT_RULE,
     "moe.gemm2:stage=row,from=f32,quant=quant.mx,requant=same,"
     "quant_element=e2m1|e4m3fn,quant_rule=flashinfer,row_out=f32" SIZES2
     "data=lone|corners"},
    {MXO_FIELD_BIAS2, SUM ",sum=exact,bias=f32,row_out=bf16|f32,out=f32" SIZES2
                          "data=lone|slight|ordinary"},
    {MXO_FIELD_ROUTING_AT,
     SUM ",sum=exact,bias=f32,row_out=bf16,out=f32" SIZES2 "data=lone"},
    {MXO_FIELD_ROUTING_TYPE,
     SUM ",routing_at=sum,sum=fma,row_out=f32,out=f32" SIZES2 "data=lone"},
    {MXO_FIELD_ROW_OUT,
     SUM ",routing_at=acc,sum=slots,out=f32" SIZES2 "data=lone|slight"},
    {MXO_FIELD_SUM,
     SUM ",routing_at=acc|sum,row_out=bf16,out=f32,tokens=9,topk=1|3|5,"
         "experts=6,hidden=48,inter=64,data=lone|slight|ordinary"},
    {MXO_FIELD_ABSENT,
     SUM ",routing_at=acc,sum=moe_sum,row_out=bf16,map=1,global=9,tokens=9,"
         "topk=5,experts=5,hidden=48,inter=64,data=lone|ordinary"},
};

typedef struct alike {
    const char *key;
    const char *words[2];
} alike;

static const alike alikes[] = {
#define MXO_ALIKE(key, a, b, reason) {key, {a, b}},
#include "entries_alike.def"
#undef MXO_ALIKE
};

typedef struct table {
    const char *key;
    mxo_profile_field field;
    int n;
    const char *word[MOST];
    uint8_t told[MOST][MOST];
    uint8_t ran[MOST][MOST]; /* b is no contradiction somewhere */
} table;

static int index_of(const table *t, const char *word)
{
    int i = 0;

    while (i < t->n && strcmp(t->word[i], word) != 0) {
        i++;
    }
    return i;
}

/* The words of the profiles of MXFP4. */
static void read_words(table *t)
{
    for (int i = 0; i < mxo_profile_count(); i++) {
        const mxo_profile *p = mxo_profile_at(i);
        const char *word = p->fact[t->field].value;
        const int is_mx = strcmp(mxo_profile_layer(p), "moe.layer") == 0;
        if (is_mx && strcmp(word, "unknown") != 0 &&
            index_of(t, word) == t->n) {
            ck_assert_int_lt(t->n, MOST);
            t->word[t->n++] = word;
        }
    }
}

static int is_settled(const table *t, int a)
{
    int n = 0;

    for (int b = 0; b < t->n; b++) {
        n += b == a || t->told[a][b];
    }
    return n == t->n;
}

static void ask(table *t, judge *j, const case_item *item, int a)
{
    char sentence[SUBJECT_TEXT] = "";
    const mxo_text why = {sentence, sizeof sentence};
    static tensor_set in;
    test_case c;

    if (is_settled(t, a)) {
        return;
    }
    ck_assert_msg(case_parse(&c, item->text, why) == 0, "%s", sentence);
    ck_assert_msg(fill_inputs(&c, item->seed, &in, why) == 0, "%s: %s",
                  item->text, sentence);
    for (int b = 0; b < t->n; b++) {
        verdict v;
        if (b == a || t->told[a][b]) {
            continue;
        }
        other_word_now.word = t->word[b];
        other_word_now.ran = 0;
        judge_inputs(j, &c, &in, &v);
        t->ran[a][b] |= (uint8_t)other_word_now.ran;
        t->told[a][b] = other_word_now.ran && v.status == VERDICT_FAIL;
        verdict_clear(&v);
    }
    tensor_set_clear(&in);
}

static int are_alike(const table *t, int a, int b)
{
    for (size_t i = 0; i < sizeof alikes / sizeof alikes[0]; i++) {
        const char *const *w = alikes[i].words;
        const int is_here = strcmp(alikes[i].key, t->key) == 0;
        if (is_here &&
            ((strcmp(w[0], t->word[a]) == 0 && strcmp(w[1], t->word[b]) == 0) ||
             (strcmp(w[1], t->word[a]) == 0 &&
              strcmp(w[0], t->word[b]) == 0))) {
            return 1;
        }
    }
    return 0;
}

/* A pair is told from either side. */
static void expect_told(const table *t)
{
    int n_bad = 0;

    for (int a = 0; a < t->n; a++) {
        for (int b = a + 1; b < t->n; b++) {
            const int ran = t->ran[a][b] || t->ran[b][a];
            const int told = t->told[a][b] || t->told[b][a];
            const int is_bad = (ran && !told) != are_alike(t, a, b);
            if (is_bad) {
                (void)fprintf(stderr, "# %s: %s and %s %s\n", t->key,
                              t->word[a], t->word[b],
                              told  ? "are told apart: no row of "
                                      "entries_alike.def is due"
                              : ran ? "are told apart by no case"
                                    : "never run: no row is due");
            }
            n_bad += is_bad;
        }
    }
    ck_assert_msg(n_bad == 0, "%s: %d pairs", t->key, n_bad);
}

/* Every case of the text that says word a. */
static void ask_word(table *t, judge *j, const char *around, int a)
{
    char sentence[SUBJECT_TEXT] = "";
    const mxo_text why = {sentence, sizeof sentence};
    char text[CASE_TEXT];
    case_list l = {0};

    (void)snprintf(text, sizeof text, "%s,%s=%s", around, t->key, t->word[a]);
    ck_assert_msg(grid_expand(&l, text, 0, 1, why) == 0, "%s", sentence);
    for (size_t i = 0; i < l.n; i++) {
        ask(t, j, &l.item[i], a);
    }
    case_list_clear(&l);
}

START_TEST(each_entry_is_told_from_each_other)
{
    char sentence[SUBJECT_TEXT] = "";
    const mxo_text why = {sentence, sizeof sentence};
    mxo_backend other = other_word_subject();
    static table t;
    judge j;

    memset(&t, 0, sizeof t);
    t.field = fields[_i].field;
    t.key = other_word_now.key = mxo_profile_question_at((int)t.field)->key;
    read_words(&t);
    ck_assert_int_gt(t.n, 1);
    ck_assert_int_eq(judge_open(&j, &other, 0, why), MXO_OK);
    j.is_brief = 1;
    j.subject.once = 1; /* the emulator, which is believed */
    j.subject.decoy = 0;
    for (int a = 0; a < t.n; a++) {
        if (strcmp(t.word[a], "none") != 0 || strncmp(t.key, "bias", 4) == 0 ||
            strcmp(t.key, "quant") == 0 || strcmp(t.key, "requant") == 0) {
            ask_word(&t, &j, fields[_i].text, a);
        }
    }
    judge_close(&j);
    expect_told(&t);
}
END_TEST

Suite *suite_entries_apart(void);
Suite *suite_entries_apart(void)
{
    Suite *s = suite_create("entries_apart");
    TCase *t = tcase_create("entries_apart");

    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, each_entry_is_told_from_each_other, 0,
                        unit_part() > 1 ? 3 : sizeof fields / sizeof fields[0]);
    suite_add_tcase(s, t);
    return s;
}
