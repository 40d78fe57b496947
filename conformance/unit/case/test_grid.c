/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parameter's value that no default case meets is a fault nobody sees: a
 * backend may ignore it and pass.  Refused calls do not count.
 */
#include "base/strbuf.h"
#include "case/grid.h"
#include "served.h"

#include <mxoracle/layout.h>
#include <mxoracle/mxoracle.h>

#include <check.h>
#include <stdio.h>
#include <string.h>

enum { MAX_VALUES = 64 };

extern const case_family cases_layout;

/* Values of the parameters of one operation that some served case has. */
typedef struct met {
    uint8_t value[OP_MAX_PARAMS][MAX_VALUES];
} met;

static word_span domain_of(const op_param *p)
{
    static const char yes_or_no[] = "0|1";
    const word_span all = {yes_or_no, sizeof yes_or_no - 1};

    return p->kind == PARAM_BOOL ? all : p->choices;
}

static int is_listed(const op_param *p)
{
    return p->kind == PARAM_BOOL || p->kind == PARAM_CHOICE;
}

static void note(met *m, const test_case *c)
{
    for (int i = 0; i < c->schema->n_params; i++) {
        word_span rest = domain_of(&c->schema->params[i]);

        for (int k = 0; is_listed(&c->schema->params[i]) && rest.len > 0; k++) {
            ck_assert_int_lt(k, MAX_VALUES);
            m->value[i][k] |=
                (uint8_t)span_equals(span_cut(&rest, '|'), c->value[i]);
        }
    }
}

static void complain_of_unmet(const op_schema *s, const met *m)
{
    strbuf unmet = {0};

    for (int i = 0; i < s->n_params; i++) {
        word_span rest = domain_of(&s->params[i]);

        for (int k = 0; is_listed(&s->params[i]) && rest.len > 0; k++) {
            const word_span value = span_cut(&rest, '|');
            if (!m->value[i][k]) {
                strbuf_add(&unmet, " %s=%.*s", s->params[i].key, (int)value.len,
                           value.ptr);
            }
        }
    }
    ck_assert_msg(unmet.used == 0, "no case of level 2 has %s:%s",
                  s->info->name, strbuf_text(&unmet));
    strbuf_clear(&unmet);
}

START_TEST(level_2_meets_every_value_of_every_parameter)
{
    const op_schema *s = op_at(_i);
    char *patterns[] = {(char *)s->info->name};
    case_list l = {0};
    subject emu;
    met m = {0};
    char text[400];
    const mxo_text why = {text, sizeof text};

    ck_assert_msg(grid_append(&l, 2, patterns, 1, 1, why) == 0, "%s", text);
    ck_assert_int_eq(subject_open(&emu, mxo_emulator(), 0, why), MXO_OK);
    for (size_t i = 0; i < l.n; i++) {
        test_case c;
        ck_assert_msg(case_parse(&c, l.item[i].text, why) == 0, "%s", text);
        met more = m;
        note(&more, &c);
        if (memcmp(&more, &m, sizeof m) != 0 && is_served(&emu, &c)) {
            m = more;
        }
    }
    complain_of_unmet(s, &m);
    subject_close(&emu);
    case_list_clear(&l);
}
END_TEST

static const char *const conversion_ids[] = {
#define MXO_CONVERSION(id, params, needs, bias, w13, w13_scale, w13_bias, w2, \
                       w2_scale, w2_bias, source)                             \
    id,
#include <mxoracle/conversions.def>
#undef MXO_CONVERSION
};

/* Does a default case of the operation have key=id, with parameters or not? */
static int has_case(const char *op, const char *key, const char *id)
{
    char prefix[160];
    const size_t n =
        (size_t)snprintf(prefix, sizeof prefix, "%s:%s=%s", op, key, id);
    int found = 0;

    for (const grid_row *r = cases_layout.grid; r->text != NULL; r++) {
        found = found || (strncmp(r->text, prefix, n) == 0 &&
                          strchr(",/", r->text[n]) != NULL);
    }
    return found;
}

START_TEST(every_layout_and_every_conversion_has_cases)
{
    for (uint32_t i = 0; mxo_layout_at(i) != NULL; i++) {
        const char *id = mxo_layout_at(i)->id;
        ck_assert_msg(has_case("layout.apply", "layout", id) &&
                          has_case("layout.index", "layout", id),
                      "layout.cases has no line for %s", id);
    }
    for (size_t i = 0; i < sizeof conversion_ids / sizeof conversion_ids[0];
         i++) {
        ck_assert_msg(
            has_case("layout.convert", "conversion", conversion_ids[i]),
            "layout.cases has no line for %s", conversion_ids[i]);
    }
}
END_TEST

Suite *suite_grid(void);

Suite *suite_grid(void)
{
    Suite *s = suite_create("grid");
    TCase *t = tcase_create("coverage");

    tcase_add_loop_test(t, level_2_meets_every_value_of_every_parameter, 0,
                        op_count());
    tcase_add_test(t, every_layout_and_every_conversion_has_cases);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return s;
}
