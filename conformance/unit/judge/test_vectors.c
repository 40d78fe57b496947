/* SPDX-License-Identifier: Apache-2.0 */
/* The language of map.def: templates, conditions, steps, and the table. */
#include "case/case_text.h"
#include "vectors/map/glue.h"
#include "vectors/map/map.h"
#include "vectors/vector_compare.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static char sentence[512];
static const mxo_text why = {sentence, sizeof sentence};
static safetensors file;
static scope s;

static host_tensor *add(const char *name, uint32_t dtype, uint64_t rows,
                        uint64_t cols)
{
    const uint64_t shape[] = {rows, cols};
    host_tensor *t;

    ck_assert_int_eq(tensor_set_add(&file.tensors, name, dtype, 2, shape, &t),
                     MXO_OK);
    for (uint64_t i = 0; i < rows * cols; i++) {
        tensor_store(t, i, i);
    }
    return t;
}

static void open_file(void)
{
    memset(&file, 0, sizeof file);
    file.header.metadata =
        "params\0"
        "{\"tk\":\"3.5\",\"limit\":7.0,\"none\":null,\"flag\":true,"
        "\"alpha\":1.702,\"impl\":\"triton (X=1)\",\"big\":240.0}\0";
    ck_assert_int_eq(scope_open(&s, "test", &file, why), MXO_OK);
    add("in.x", MXO_BF16, 2, 8);
    add("in.rows", MXO_I32, 1, 3);
    add("in.none", MXO_BF16, 0, 8);
}

static void close_file(void)
{
    scope_close(&s);
    safetensors_clear(&file);
}

typedef struct expansion {
    const char *template;
    const char *text; /* NULL: refused */
} expansion;

static const expansion expansions[] = {
    {"axis=-1", "axis=-1"},
    {"rule=triton$tk{3.5:35,3.6:36}_up", "rule=triton35_up"},
    {"limit=$limit", "limit=7"},
    {"limit=$none", "limit=none"},
    {"pow2=$flag", "pow2=1"},
    {"alpha=$alpha", "alpha=1.702"},
    {"max=$big", "max=240"},
    {"out.$(tk)_y", "out.3.5_y"},
    {"scale=$absent?0{1:packed,0:f32}", "scale=f32"},
    {"scale=$flag?0{1:packed,0:f32}", "scale=packed"},
    {"from=$dtype(in.x)", "from=bf16"},
    {"x=$value(in.rows)", "x=0"},
    {"keep=$rows(in.x)x$cols(in.x)", "keep=2x8"},
    {"keep=$rows(in.rows)x$cols(in.rows)", "keep=1x3"},
    {"rule=$impl{hip:=,triton*:triton}", "rule=triton"},
    {"rule=$tk{*:=}", "rule=3.5"},
    {"rule=$absent", NULL},
    {"rule=$tk{3.6:36}", NULL},
    {"rule=$impl", NULL},
    {"from=$dtype(in.y)", NULL},
};

START_TEST(templates_expand)
{
    const expansion *e = &expansions[_i];
    char text[TEXT_SIZE] = "";

    open_file();
    const mxo_status status = scope_expand(&s, e->template, strlen(e->template),
                                           text, sizeof text, why);
    if (e->text == NULL) {
        ck_assert_msg(status == MXO_E_PARAM, "%s gave %s", e->template, text);
    } else {
        ck_assert_msg(status == MXO_OK && strcmp(text, e->text) == 0,
                      "%s gave %s", e->template, text);
    }
    close_file();
}
END_TEST

typedef struct condition {
    const char *text;
    int holds;
} condition;

static const condition conditions[] = {
    {"", 1},
    {"tk=3.5", 1},
    {"tk=3.6|3.5", 1},
    {"tk=3.6", 0},
    {"tk!=3.6 flag=1", 1},
    {"tk!=3.5", 0},
    {"impl=triton*", 1},
    {"absent=1", 0},
    {"absent!=1 ~absent", 1},
    {"dtype(in.x)=bf16|f16", 1},
    {"dtype(in.x)!=bf16", 0},
    {"has(in.x) !has(in.y)", 1},
    {"has(in.y)", 0},
};

START_TEST(conditions_hold)
{
    const condition *c = &conditions[_i];

    open_file();
    ck_assert_msg(scope_holds(&s, c->text) == c->holds, "\"%s\"", c->text);
    close_file();
}
END_TEST

typedef struct step_case {
    const char *expr;
    const char
        *want; /* elements, "x" where one does not count; NULL: refused */
} step_case;

/* in.x is 0..15 as [2,8]; what the steps do to its indices, by hand. */
static const step_case step_cases[] = {
    {"in.x>perm(1,0)", "0 8 1 9 2 10 3 11 4 12 5 13 6 14 7 15"},
    {"in.x>view(2|*,4)>perm(1,0,2)", "0 1 2 3 8 9 10 11 4 5 6 7 12 13 14 15"},
    {"in.x>view(*,2|3,*)", NULL},
    {"in.x>view(2|4,2)>rows>perm(1,0)",
     "0 2 4 6 8 10 12 14 1 3 5 7 9 11 13 15"},
    {"in.x>cols(0,3)", "0 1 2 8 9 10"},
    {"in.x>cols(0,9)", NULL},
    {"in.x>cols(6,8)", "6 7 14 15"},
    {"in.x>cols(2,1)", NULL},
    {"in.x>where(in.x)>cols(0,2)>valid", "0 1 1 1"},
    {"in.x>pad(2,0,1)", NULL},
    {"in.x>cols(0,3)>pad(2,4,127)", "0 1 2 127 8 9 10 127"},
    {"in.x>pack4", "16 50 84 118 152 186 220 254"},
    {"in.x>cols(0,2)>pack4>unpack4", "0 1 8 9"},
    {"in.x>cols(0,2)>bytes", "0 0 1 0 8 0 9 0"},
    {"in.x>bytes>words(in.x)", "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"},
    {"in.x>bytes>words(in.rows)", NULL},
    {"in.x>take(in.rows)", NULL},
    {"in.x>where(in.x)>cols(0,2)", "x 1 8 9"},
    {"in.x>delta2(in.x)", "0 0 0 0"},
    {"mantissas(in.rows)>cols(0,2)", NULL},
    {"positions(in.rows)", "0 1 2"},
    {"positions(in.y)", NULL},
    {"in.x>perm(1,0)>shaped(in.x)>cols(0,2)", "0 8 4 12"},
    {"in.x>pad(4,1,9)>shaped(in.x,4,1)>cols(0,1)", "0 8 9 9"},
    {"in.x>pad(4,1,9)>shaped(in.x)", NULL},
    {"in.x>shaped(in.y)", NULL},
    {"in.none>perm(1,0)>shaped(in.none)", ""},
    {"in.x>shaped(in.none)", NULL},
    {"in.x>frobnicate", NULL},
    {"in.y", NULL},
};

static void show(const glue *g, char *text, size_t size)
{
    size_t n = 0;

    text[0] = '\0';
    for (uint64_t i = 0; i < g->n; i++) {
        const int counts = g->valid == NULL || g->valid[i];
        n += (size_t)snprintf(text + n, size - n, counts ? "%s%d" : "%sx",
                              i == 0 ? "" : " ", (int)glue_load(g, i));
    }
}

START_TEST(steps_move_elements)
{
    const step_case *c = &step_cases[_i];
    const glue_source source = {&s, NULL};
    char text[256];
    glue g;

    open_file();
    const mxo_status status =
        glue_eval(&source, (piece){c->expr, strlen(c->expr)}, &g, why);

    show(&g, text, sizeof text);
    ck_assert_msg((status == MXO_OK) == (c->want != NULL), "%s: %s", c->expr,
                  sentence);
    ck_assert_msg(c->want == NULL || strcmp(text, c->want) == 0, "%s gave %s",
                  c->expr, text);
    glue_clear(&g);
    close_file();
}
END_TEST

/* 0 * Inf makes the other columns of a row NaN; -0 becomes +0. */
START_TEST(identity_shows_rows_as_a_product_does)
{
    const glue_source source = {&s, NULL};
    glue g;

    open_file();
    host_tensor *t = add("in.w", MXO_BF16, 2, 3);
    const uint64_t codes[] = {0x8000, 0x3f80, 0xbf80, 0x3f80, 0x7f80, 0};
    const uint64_t want[] = {0, 0x3f80, 0xbf80, 0x7fff, 0x7f80, 0x7fff};

    for (uint64_t i = 0; i < 6; i++) {
        tensor_store(t, i, codes[i]);
    }
    ck_assert_int_eq(glue_eval(&source, (piece){"in.w>identity", 13}, &g, why),
                     MXO_OK);
    for (uint64_t i = 0; i < 6; i++) {
        ck_assert_msg(glue_load(&g, i) == want[i], "element %d: %04x", (int)i,
                      (unsigned)glue_load(&g, i));
    }
    glue_clear(&g);
    close_file();
}
END_TEST

/* Does a key name a parameter of this operation? */
static int is_key(const op_schema *schema, const char *word)
{
    char key[OP_WORD];
    const size_t n = strcspn(word, "=");

    (void)snprintf(key, sizeof key, "%.*s", (int)n, word);
    return op_param_index(schema, key) >= 0;
}

START_TEST(rows_name_what_exists)
{
    const map_row *last = NULL;

    for (const map_row *r = map_rows(); r->vector_op != NULL; r++) {
        const op_schema *schema = op_by_name(r->op);
        ck_assert_msg(schema != NULL, "%s: no operation %s", r->vector_op,
                      r->op);
        ck_assert_msg(map_find_rule(r->rule) != NULL, "%s: no rule %s",
                      r->vector_op, r->rule);
        ck_assert_msg(last == NULL ||
                          strcmp(last->vector_op, r->vector_op) <= 0,
                      "%s is not in its place", r->vector_op);
        piece rest = {r->params, strlen(r->params)};
        while (rest.len > 0) {
            char word[TEXT_SIZE];
            ck_assert_int_eq(
                piece_copy(piece_cut(&rest, ' '), word, sizeof word), 1);
            ck_assert_msg(is_key(schema, word), "%s: %s has no %s",
                          r->vector_op, r->op, word);
        }
        last = r;
    }
}
END_TEST

START_TEST(combinations_are_all_and_once)
{
    const map_row row = {"", "", "a:1|2|3 b:x|y", "", "", "", "", "bits"};
    char seen[64] = "";
    uint32_t n = 0;

    open_file();
    while (map_combination(&row, n, &s)) {
        strcat(seen, s.variables[0].text);
        strcat(seen, s.variables[1].text);
        strcat(seen, " ");
        n++;
    }
    ck_assert_str_eq(seen, "1x 2x 3x 1y 2y 3y ");
    s.n_variables = 0;
    close_file();
}
END_TEST

typedef struct pair {
    const char *rule;
    uint32_t dtype;
    uint64_t a;
    uint64_t b;
    int equal;
} pair;

static const pair pairs[] = {
    {"bits", MXO_F32, 0x3f800000, 0x3f800001, 0},
    {"bits", MXO_F32, 0x7fc00000, 0xffc00001, 1},
    {"bits", MXO_F32, 0, 0x80000000, 0},
    {"bits", MXO_U32, 0x7fc00000, 0x7fc00001, 0},
    {"bits", MXO_E4M3, 0x7f, 0xff, 0},
    {"strict", MXO_F32, 0x7fc00000, 0x7fc00001, 0},
    {"nan_class", MXO_E4M3, 0x7f, 0xff, 1},
    {"nan_class", MXO_E4M3, 0x7e, 0xfe, 0},
    {"nan_class", MXO_U8, 0x7f, 0xff, 0},
    {"ulp_torch", MXO_F32, 0x3f800000, 0x3f800008, 1},
    {"ulp_torch", MXO_F32, 0x3f800000, 0x3f800009, 0},
    {"ulp_torch", MXO_F32, 0x3f7fffff, 0x3f800007, 1},
    {"ulp_torch", MXO_F32, 0, 1, 0},
    {"ulp_torch", MXO_F32, 0x7f7fffff, 0x7f800000, 0},
    {"ulp_torch", MXO_F32, 0x3f800000, 0xbf800000, 0},
    {"ulp_double", MXO_F64, 0x3ff0000000000000, 0x3ff0000000000008, 1},
    {"ex2_ftz", MXO_F32, 0, 0x007fffff, 1},
    {"ex2_ftz", MXO_F32, 0, 0x00800000, 0},
    {"ex2_ftz", MXO_F32, 0x80000000, 1, 0},
    {"expf_fast", MXO_F32, 0x3f800000, 0x3f800002, 1},
    {"expf_fast", MXO_F32, 0x3f800000, 0x3f800003, 0},
    {"expf_fast", MXO_F32, 0x7e800000, 0x7e800068, 1},
    {"expf_fast", MXO_F32, 0x7e800000, 0x7e800069, 0},
};

START_TEST(rules_tell_equal_from_different)
{
    const pair *p = &pairs[_i];
    vector_difference d;
    const uint64_t shape = 1;
    tensor_set set = {0};
    host_tensor *t;
    uint8_t data[8];
    glue g = {.dtype = p->dtype, .rank = 1, .shape = {1}, .n = 1, .data = data};

    ck_assert_int_eq(tensor_set_add(&set, "a", p->dtype, 1, &shape, &t),
                     MXO_OK);
    tensor_store(t, 0, p->b);
    memcpy(data, t->data, t->n_bytes);
    tensor_store(t, 0, p->a);
    vector_compare(t, &g, map_find_rule(p->rule), &d, NULL);
    ck_assert_msg((d.n_differ == 0) == p->equal, "%s %s: %llx and %llx",
                  p->rule, dtype_name(p->dtype), (unsigned long long)p->a,
                  (unsigned long long)p->b);
    tensor_set_clear(&set);
}
END_TEST

#define COUNT(table) (int)(sizeof(table) / sizeof(table)[0])

Suite *suite_vectors(void);
Suite *suite_vectors(void)
{
    Suite *suite = suite_create("vectors");
    TCase *text = tcase_create("text");
    TCase *glue_case = tcase_create("glue");
    TCase *table = tcase_create("table");

    tcase_add_loop_test(text, templates_expand, 0, COUNT(expansions));
    tcase_add_loop_test(text, conditions_hold, 0, COUNT(conditions));
    tcase_add_loop_test(glue_case, steps_move_elements, 0, COUNT(step_cases));
    tcase_add_test(glue_case, identity_shows_rows_as_a_product_does);
    tcase_add_test(table, rows_name_what_exists);
    tcase_add_test(table, combinations_are_all_and_once);
    tcase_add_loop_test(table, rules_tell_equal_from_different, 0,
                        COUNT(pairs));
    suite_add_tcase(suite, text);
    suite_add_tcase(suite, glue_case);
    suite_add_tcase(suite, table);
    return suite;
}
