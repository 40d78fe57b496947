/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every rule of every table is told from every other: a subject that does what
 * rule b says where a case says rule a is red in a published case, or the two
 * stand in rules_alike.def with a reason.  A rule that is new is asked without
 * anything being added here.
 */
#include "case/grid.h"
#include "data/fill.h"
#include "judge/judge.h"
#include "unit/judge/other_word.h"
#include "unit/part.h"

#include <mxoracle/mxoracle.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 64, ALIKE_PART = 8, SMALL = 1 << 12 /* bytes */ };

static const struct {
    const char *op;
    const char *key;
} tables[] = {
    {"act.glu", "dialect"},           {"dequant.mx", "rule"},
    {"dequant.nvfp4_engine", "rule"}, {"format.e8m0_decode", "rule"},
    {"moe.finalize", "sum"},          {"quant.engine", "rule"},
    {"quant.group", "rule"},          {"quant.mx", "rule"},
    {"quant.nvfp4", "math"},          {"quant.qdq", "rule"},
    {"quant.scale", "rule"},          {"route.topk", "dialect"},
};

typedef struct alike {
    const char *op;
    const char *rules; /* "a b c": none is told from another */
} alike;

static const alike alikes[] = {
#define MXO_ALIKE(op, rules, reason) {op, rules},
#include "rules_alike.def"
#undef MXO_ALIKE
};

typedef struct table {
    const char *op;
    const char *key;
    int n;
    char rule[MOST][OP_WORD];
    uint8_t told[MOST][MOST];
    uint32_t n_cases[MOST]; /* of each rule */
} table;

static void read_rules(table *t, const op_schema *s)
{
    t->n = 0;
    for (int i = 0; i < s->n_params; i++) {
        word_span rest = s->params[i].choices;
        while (strcmp(s->params[i].key, t->key) == 0 && rest.len > 0) {
            ck_assert_int_lt(t->n, MOST);
            ck_assert(span_copy(span_cut(&rest, '|'), t->rule[t->n++]));
        }
    }
}

static int index_of(const table *t, const char *rule)
{
    for (int i = 0; i < t->n; i++) {
        if (strcmp(t->rule[i], rule) == 0) {
            return i;
        }
    }
    return -1;
}

/* Is the word one of those of a list? */
static int lists(const char *words, const char *word)
{
    const size_t n = strlen(word);
    const char *at = strstr(words, word);

    while (at != NULL && !((at == words || at[-1] == ' ') &&
                           (at[n] == ' ' || at[n] == '\0'))) {
        at = strstr(at + 1, word);
    }
    return at != NULL;
}

static int are_alike(const table *t, int a, int b)
{
    for (size_t i = 0; i < sizeof alikes / sizeof alikes[0]; i++) {
        if (strcmp(alikes[i].op, t->op) == 0 &&
            lists(alikes[i].rules, t->rule[a]) &&
            lists(alikes[i].rules, t->rule[b])) {
            return 1;
        }
    }
    return 0;
}

/* Not yet told apart; of those that are known to be alike one case in some is
   asked. */
static int is_asked(const table *t, int a, int b)
{
    return b != a && !t->told[a][b] &&
           (t->n_cases[a] % ALIKE_PART == 0 || !are_alike(t, a, b));
}

static int is_any_asked(const table *t, int a)
{
    int b = 0;

    while (b < t->n && !is_asked(t, a, b)) {
        b++;
    }
    return b < t->n;
}

/* The rules that a case of rule a tells from its own. */
static void ask_others(table *t, judge *j, const test_case *c, uint64_t seed,
                       int a)
{
    char sentence[SUBJECT_TEXT] = "";
    static tensor_set in;

    ck_assert_msg(
        fill_inputs(c, seed, &in, (mxo_text){sentence, sizeof sentence}) == 0,
        "%s", sentence);
    for (int b = 0; b < t->n; b++) {
        verdict v;
        if (!is_asked(t, a, b)) {
            continue;
        }
        other_word_now.word = t->rule[b];
        judge_inputs(j, c, &in, &v);
        t->told[a][b] = v.status == VERDICT_FAIL;
        verdict_clear(&v);
    }
    tensor_set_clear(&in);
}

static void ask(table *t, judge *j, const case_item *item, int is_small)
{
    char sentence[SUBJECT_TEXT] = "";
    test_case c;

    ck_assert_msg(
        case_parse(&c, item->text, (mxo_text){sentence, sizeof sentence}) == 0,
        "%s", sentence);
    const int a = index_of(t, case_value(&c, t->key));

    if (a < 0) {
        return;
    }
    if ((fill_bytes(&c) < SMALL) == is_small && is_any_asked(t, a)) {
        ask_others(t, j, &c, item->seed, a);
    }
    t->n_cases[a]++;
}

/* Is every row of alikes still needed? */
static void expect_told(const table *t)
{
    int n_bad = 0;

    for (int a = 0; a < t->n; a++) {
        for (int b = 0; b < t->n; b++) {
            const int said = a != b && are_alike(t, a, b);
            const int is_bad = a != b && !t->told[a][b] && !said;
            if (is_bad) {
                (void)fprintf(stderr, "# %s: no case of %s=%s turns %s red\n",
                              t->op, t->key, t->rule[a], t->rule[b]);
            }
            if (said && t->told[a][b] && t->told[b][a]) {
                (void)fprintf(stderr,
                              "# %s: %s and %s are told apart, and "
                              "rules_alike.def says that they are not\n",
                              t->op, t->rule[a], t->rule[b]);
                n_bad++;
            }
            n_bad += is_bad;
        }
    }
    ck_assert_msg(n_bad == 0, "%s: %d pairs", t->op, n_bad);
}

START_TEST(each_rule_is_told_from_each_other)
{
    char sentence[SUBJECT_TEXT] = "";
    const mxo_text why = {sentence, sizeof sentence};
    mxo_backend other = other_word_subject();
    static table t;
    char *patterns[1];
    char op[OP_WORD];
    case_list l = {0};
    judge j;

    memset(&t, 0, sizeof t);
    t.op = tables[_i].op;
    t.key = other_word_now.key = tables[_i].key;
    (void)snprintf(op, sizeof op, "%s", t.op);
    patterns[0] = op;
    ck_assert_msg(grid_append(&l, 2, patterns, 1, 1, why) == 0, "%s", sentence);
    ck_assert_uint_gt(l.n, 0);
    ck_assert_int_eq(judge_open(&j, &other, 0, why), MXO_OK);
    j.is_brief = 1;
    j.subject.once = 1; /* the emulator, which is believed */
    j.subject.decoy = 0;
    for (size_t i = 0; i < 2 * l.n; i++) { /* small ones tell most, quickly */
        const case_item *item = &l.item[i % l.n];
        test_case c;
        ck_assert_msg(case_parse(&c, item->text, why) == 0, "%s", sentence);
        if (t.n == 0) {
            read_rules(&t, c.schema);
        }
        ask(&t, &j, item, i < l.n);
    }
    judge_close(&j);
    case_list_clear(&l);
    ck_assert_int_gt(t.n, 1);
    expect_told(&t);
}
END_TEST

Suite *suite_rules_apart(void);
Suite *suite_rules_apart(void)
{
    Suite *s = suite_create("rules_apart");
    TCase *t = tcase_create("rules_apart");

    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, each_rule_is_told_from_each_other, 0,
                        unit_part() > 1 ? 1 : sizeof tables / sizeof tables[0]);
    suite_add_tcase(s, t);
    return s;
}
