/* SPDX-License-Identifier: Apache-2.0 */
/* The table of rules that quantise twice as once, held against every rule. */
#include "base/strbuf.h"
#include "case/opinfo.h"
#include "run/requantise_check.h"
#include "unit/emu_call.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* 64 blocks whose maxima step through a binade, with what rounds to zero,
   what ties, both signs, and three times the smallest code of each format. */
enum { ROWS = 64, COLS = 32 };

static void fill_blocks(uint32_t *x)
{
    static const float three[] = {0x3p-10F, 0x3p-11F, 0x3p-17F, 0x3p-18F};

    for (int i = 0; i < ROWS * COLS; i++) {
        const int row = i / COLS;
        const float top = 1 + (float)row / ROWS;
        const int k = i % COLS;
        float y = k % 3 == 0 ? top / (float)(1 << k % 11) : top * (float)k / 40;

        y = k > 26 && k < 31 ? top * three[k - 27] : y;
        y = k == 0 ? top : k == 31 ? top * 0x1p-20F : y;
        y = k % 2 == 0 ? y : -y;
        memcpy(&x[i], &y, sizeof y);
    }
}

static void quantise(emu_call *c, const char *element, const char *rule,
                     const uint32_t *x)
{
    char params[128];

    (void)snprintf(params, sizeof params, "element=%s,rule=%s,from=f32",
                   element, rule);
    emu_begin(c, "quant.mx", params);
    emu_in(c, "x", MXO_F32, x, 2, ROWS, COLS);
    ck_assert_msg(emu_run(c) == MXO_OK, "%s", c->why);
}

static void dequantise(const emu_call *quantised, const char *element,
                       uint32_t *y)
{
    const mxo_tensor *q = emu_out(quantised, "q");
    emu_call c;
    char params[64];

    (void)snprintf(params, sizeof params, "element=%s,to=f32", element);
    emu_begin(&c, "dequant.mx", params);
    emu_in(&c, "q", q->dtype, emu_bytes(quantised, "q"), 2, ROWS,
           (int)q->shape[1]);
    emu_in(&c, "scale", MXO_E8M0, emu_bytes(quantised, "scale"), 2, ROWS, 1);
    ck_assert_msg(emu_run(&c) == MXO_OK, "%s", c.why);
    memcpy(y, emu_bytes(&c, "y"), 4 * ROWS * COLS);
    emu_end(&c);
}

/* Bits, but the sign of a zero; a NaN, which no rule had to make of these, is
   not the same as anything. */
static int same_numbers(const uint32_t *x, const uint32_t *y)
{
    for (int i = 0; i < ROWS * COLS; i++) {
        if ((x[i] & 0x7fffffff) > 0x7f800000 ||
            (x[i] != y[i] && ((x[i] | y[i]) & 0x7fffffff) != 0)) {
            return 0;
        }
    }
    return 1;
}

static idempotence observed(const char *element, const char *rule)
{
    uint32_t x[ROWS * COLS];
    uint32_t y[2][ROWS * COLS];
    emu_call c[2];

    fill_blocks(x);
    quantise(&c[0], element, rule, x);
    dequantise(&c[0], element, y[0]);
    quantise(&c[1], element, rule, y[0]);
    dequantise(&c[1], element, y[1]);
    const size_t n = (size_t)emu_out(&c[0], "q")->n_bytes;
    const int bytes =
        memcmp(emu_bytes(&c[0], "q"), emu_bytes(&c[1], "q"), n) == 0 &&
        memcmp(emu_bytes(&c[0], "scale"), emu_bytes(&c[1], "scale"), ROWS) == 0;

    emu_end(&c[0]);
    emu_end(&c[1]);
    return !same_numbers(y[0], y[1]) ? IDEMPOTENCE_NOT
           : bytes                   ? IDEMPOTENCE_BYTES
                                     : IDEMPOTENCE_VALUES;
}

/* Every choice of a parameter of quant.mx, cut at its bars. */
static const char *next_choice(word_span *rest, char word[OP_WORD])
{
    return rest->len > 0 && span_copy(span_cut(rest, '|'), word) ? word : NULL;
}

START_TEST(the_table_says_which_rules_quantise_twice_as_once)
{
    const op_schema *schema = op_by_name("quant.mx");
    word_span rules = schema->params[op_param_index(schema, "rule")].choices;
    char rule[OP_WORD];
    strbuf wrong = {0};
    int n = 0;

    while (next_choice(&rules, rule) != NULL) {
        word_span elements =
            schema->params[op_param_index(schema, "element")].choices;
        char element[OP_WORD];
        while (next_choice(&elements, element) != NULL) {
            const idempotence want = idempotence_of("quant.mx", rule, element);
            const idempotence got = observed(element, rule);
            if (got != want) {
                strbuf_add(&wrong, " %s,%s: %d, not %d;", rule, element, got,
                           want);
            }
            n++;
        }
    }
    ck_assert_msg(wrong.used == 0, "%s", strbuf_text(&wrong));
    ck_assert_int_ge(n, 28 * 8);
}
END_TEST

Suite *suite_requantise_check(void);
Suite *suite_requantise_check(void)
{
    Suite *s = suite_create("requantise_check");
    TCase *t = tcase_create("idempotence");

    tcase_set_timeout(t, 0); /* a sanitizer takes its time */
    tcase_add_test(t, the_table_says_which_rules_quantise_twice_as_once);
    suite_add_tcase(s, t);
    return s;
}
