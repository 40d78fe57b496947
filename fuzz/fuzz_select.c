/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ways a configuration is written: a file of cases (JSON) and lines
 * KEY=VALUE.  Either is refused by a sentence, or the decision is a choice
 * with sizes or an error with a text, and the same a second time.
 */
#include "select/cases.h"
#include "select/options.h"
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 8192, MOST_LINES = 64 };

static void die(const char *input, const char *what)
{
    (void)fprintf(stderr, "select: %s\nrepro: mxoracle select, with\n%s\n",
                  what, input);
    abort();
}

static int same(const mxo_select_result *a, const mxo_select_result *b)
{
    return a->failure.error == b->failure.error && a->backend == b->backend &&
           a->experts == b->experts && a->key == b->key &&
           a->hidden == b->hidden && a->intermediate == b->intermediate &&
           a->n_trace == b->n_trace &&
           memcmp(a->trace, b->trace, a->n_trace * sizeof a->trace[0]) == 0;
}

static void check_decision(const mxo_select_config *c, const char *input)
{
    static mxo_select_result r[2];
    char text[LONGEST];
    size_t n;

    mxo_select(c, &r[0]);
    mxo_select(c, &r[1]);
    if (!same(&r[0], &r[1])) {
        die(input, "a second answer differs");
    }
    n = mxo_select_failure_text(c, &r[0].failure,
                                (mxo_text){text, sizeof text});
    if ((r[0].failure.error == MXO_SEL_ERROR_NONE) != (n == 0)) {
        die(input, "an error without a text, or a text without one");
    }
    if (n == 0 &&
        (r[0].hidden < c->hidden || r[0].intermediate < c->intermediate)) {
        die(input, "sizes shrink");
    }
    for (uint32_t i = 0; i < r[0].n_trace; i++) {
        n = mxo_select_reason_text(c, &r[0].trace[i],
                                   (mxo_text){text, sizeof text});
        if ((r[0].trace[i].reason == MXO_SEL_BECAUSE_NONE) != (n == 0)) {
            die(input, "a reason without a text");
        }
    }
}

/* One KEY=VALUE, cut in place; -1 if it is refused. */
static int try_line(select_question *q, char *line, const char *input)
{
    char why[512] = "";
    char *value = strchr(line, '=');

    if (value == NULL) {
        return 0;
    }
    *value++ = '\0';
    if (select_set(q, line, value, (mxo_text){why, sizeof why}) == 0) {
        return 0;
    }
    if (why[0] == '\0') {
        die(input, "a key is refused without a word");
    }
    return -1;
}

/* Splits text in place. */
static void try_lines(char *text, const char *input)
{
    char why[512] = "";
    select_question q;
    char *line = text;

    select_question_init(&q);
    for (int i = 0; i < MOST_LINES && line != NULL; i++) {
        char *next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        if (try_line(&q, line, input) != 0) {
            return;
        }
        line = next;
    }
    if (select_finish(&q, (mxo_text){why, sizeof why}) == 0) {
        check_decision(&q.config, input);
    } else if (why[0] == '\0') {
        die(input, "a question is refused without a word");
    }
}

static void try_cases(const char *text, size_t n)
{
    char why[512] = "";
    const mxo_text say_why = {why, sizeof why};
    selection_cases s;

    if (selection_cases_read(&s, text, n, say_why) != 0) {
        if (why[0] == '\0') {
            die(text, "a file is refused without a word");
        }
        selection_cases_close(&s);
        return;
    }
    for (size_t i = 0; i < selection_cases_count(&s); i++) {
        json_t *object = selection_case(&s, i);
        why[0] = '\0';
        if (selection_case_run(&s, object, NULL, say_why) != 0 &&
            why[0] == '\0') {
            die(text, "a case fails without a word");
        }
        json_decref(object);
    }
    selection_cases_close(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char text[LONGEST];
    char input[LONGEST];

    n = n < LONGEST ? n : LONGEST - 1;
    if (n > 0) {
        memcpy(text, bytes, n);
    }
    text[n] = '\0';
    memcpy(input, text, n + 1);
    if (text[0] == '{' || text[0] == '[') {
        try_cases(text, n);
    } else {
        try_lines(text, input);
    }
    return 0;
}
