/* SPDX-License-Identifier: Apache-2.0 */
/* See cases.h. */
#include "cases.h"

#include "answer.h"
#include "base/input.h"
#include "base/say.h"
#include "caseconfig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int take_root(selection_cases *s, json_t *root,
                     const json_error_t *error, mxo_text why)
{
    const json_t *meta = json_object_get(root, "meta");

    s->root = root;
    s->list = json_object_get(root, "cases");
    if (root == NULL) {
        (void)say(MXO_E_PARAM, why, "not JSON: %.200s at line %d", error->text,
                  error->line);
        return -1;
    }
    if (!json_is_array(s->list)) {
        (void)say(MXO_E_PARAM, why, "there is no list named cases");
        return -1;
    }
    return case_defaults(&s->defaults, json_object_get(meta, "defaults"),
                         why) == MXO_OK
               ? 0
               : -1;
}

int selection_cases_open(selection_cases *s, const char *path, mxo_text why)
{
    json_error_t error;
    json_t *root;
    FILE *f = input_open(path);

    memset(s, 0, sizeof *s);
    if (f == NULL) {
        (void)say(MXO_E_PARAM, why, "it cannot be read");
        return -1;
    }
    root = json_loadf(f, JSON_REJECT_DUPLICATES, &error);
    const int is_unread = root == NULL && ferror(f) != 0;

    (void)fclose(f);
    if (is_unread) {
        (void)say(MXO_E_PARAM, why, "it cannot be read");
        return -1;
    }
    return take_root(s, root, &error, why);
}

int selection_cases_read(selection_cases *s, const char *text, size_t n,
                         mxo_text why)
{
    json_error_t error;
    json_t *root;

    memset(s, 0, sizeof *s);
    root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    return take_root(s, root, &error, why);
}

void selection_cases_close(selection_cases *s)
{
    json_decref(s->root);
    memset(s, 0, sizeof *s);
}

size_t selection_cases_count(const selection_cases *s)
{
    return json_array_size(s->list);
}

const char *selection_case_id(const selection_cases *s, size_t i)
{
    const char *id =
        json_string_value(json_object_get(json_array_get(s->list, i), "id"));

    return id == NULL ? "" : id;
}

const char *selection_case_profile(const selection_cases *s, size_t i)
{
    const char *profile = json_string_value(
        json_object_get(json_array_get(s->list, i), "profile"));

    return profile == NULL ? "" : profile;
}

/* "what: want ..., got ..." */
static void tell(const char *what, const json_t *want, const json_t *got,
                 mxo_text why)
{
    const size_t flags = JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS;
    char *a = json_dumps(want, flags);
    char *b = json_dumps(got, flags);

    (void)say(MXO_E_PARAM, why, "%s: want %s, got %s", what,
              a == NULL ? "nothing" : a, b == NULL ? "nothing" : b);
    free(a);
    free(b);
}

static int same(const json_t *a, const json_t *b);

static int same_arrays(const json_t *a, const json_t *b)
{
    if (json_array_size(a) != json_array_size(b)) {
        return 0;
    }
    for (size_t i = 0; i < json_array_size(a); i++) {
        if (!same(json_array_get(a, i), json_array_get(b, i))) {
            return 0;
        }
    }
    return 1;
}

static int same_objects(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *value;

    if (json_object_size(a) != json_object_size(b)) {
        return 0;
    }
    json_object_foreach((json_t *)a, key, value)
    {
        if (!same(value, json_object_get(b, key))) {
            return 0;
        }
    }
    return 1;
}

/* Numbers are equal by value: 1 and 1.0 are one number to Python. */
static int same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b)) {
        const double x = json_number_value(a);
        const double y = json_number_value(b);
        return x <= y && x >= y;
    }
    if (json_is_array(a) && json_is_array(b)) {
        return same_arrays(a, b);
    }
    return json_is_object(a) && json_is_object(b) ? same_objects(a, b)
                                                  : json_equal(a, b);
}

static int judge(const json_t *object, const json_t *answer,
                 const json_t *trace, mxo_text what)
{
    const json_t *expect = json_object_get(object, "expect");
    const json_t *wanted = json_object_get(object, "trace");

    if (!same(expect, answer)) {
        tell("expect", expect, answer, what);
        return 1;
    }
    if (wanted != NULL && !same(wanted, trace)) {
        tell("trace", wanted, trace, what);
        return 1;
    }
    return 0;
}

int selection_case_run(const selection_cases *s, size_t i,
                       const mxo_select_rules *rules, mxo_text what)
{
    const json_t *object = json_array_get(s->list, i);
    mxo_select_config config = s->defaults;
    json_t *trace = NULL;
    json_t *answer = NULL;
    int verdict = 2;

    config.rules = rules;
    if (case_config(&config, object, what) == MXO_OK) {
        answer = case_answer(&config, object, &trace, what);
    }
    if (answer != NULL) {
        verdict = judge(object, answer, trace, what);
    }
    json_decref(answer);
    json_decref(trace);
    return verdict;
}
