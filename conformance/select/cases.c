/* SPDX-License-Identifier: Apache-2.0 */
/* See cases.h. */
#include "cases.h"

#include "answer.h"
#include "base/input.h"
#include "base/say.h"
#include "caseconfig.h"
#include "files/json_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_TEXT = 1 << 26, /* more is no list of cases */
    FIRST_TEXT = 1 << 16
};

/* Where a case stands: trees of all would take some twenty times the text. */
struct selection_span {
    uint32_t at;
    uint32_t n;
};

static int not_json(const json_walk *w, mxo_text why)
{
    (void)say(MXO_E_PARAM, why, "not JSON: %.200s", w->error);
    return -1;
}

/* Note where the cases are, once they have been counted. */
static int list_cases(selection_cases *s, const char *list, size_t n,
                      mxo_text why)
{
    json_walk w = json_walk_begin(list, n);
    int more;

    for (s->n = 0; (more = json_walk_next(&w)) > 0; s->n++) {
        if (json_walk_value(&w) == NULL) {
            break;
        }
        if (s->span != NULL) {
            s->span[s->n] = (struct selection_span){
                (uint32_t)(w.text - s->text), (uint32_t)w.n_text};
        }
    }
    const int bad = more == 0 ? 0 : not_json(&w, why);

    json_walk_end(&w);
    return bad;
}

static int take_list(selection_cases *s, const json_walk *root, mxo_text why)
{
    if (root->text[0] != '[') {
        return 0;
    }
    if (list_cases(s, root->text, root->n_text, why) != 0) {
        return -1;
    }
    s->span = calloc(s->n + 1, sizeof *s->span);
    if (s->span == NULL) {
        (void)say(MXO_E_NOMEM, why, "out of memory");
        return -1;
    }
    return list_cases(s, root->text, root->n_text, why);
}

/* One of the file's two members, each once. */
static int take_member(selection_cases *s, json_walk *w, mxo_text why)
{
    const char *key = json_walk_key(w);

    if (strcmp(key, "cases") == 0 && s->span == NULL) {
        return take_list(s, w, why);
    }
    if (strcmp(key, "meta") == 0 && s->meta == NULL) {
        s->meta = json_deep_copy(json_walk_value(w));
        return s->meta == NULL ? not_json(w, why) : 0;
    }
    (void)say(MXO_E_PARAM, why, "%.60s is not a known key, or is there twice",
              key);
    return -1;
}

static int take_text(selection_cases *s, mxo_text why)
{
    json_walk w = json_walk_begin(s->text, s->n_text);
    int more;
    int bad = 0;

    if (w.closer != '}') {
        (void)say(MXO_E_PARAM, why, "not JSON: it is no object");
        return -1;
    }
    while (!bad && (more = json_walk_next(&w)) != 0) {
        bad = more < 0 ? not_json(&w, why) : take_member(s, &w, why);
    }
    json_walk_end(&w);
    if (bad) {
        return -1;
    }
    if (s->span == NULL) {
        (void)say(MXO_E_PARAM, why, "there is no list named cases");
        return -1;
    }
    return case_defaults(&s->defaults, json_object_get(s->meta, "defaults"),
                         why) == MXO_OK
               ? 0
               : -1;
}

/* All that a file holds. 0, or -1 and a sentence. */
static int read_text(selection_cases *s, FILE *f, mxo_text why)
{
    size_t size = 0;

    do {
        size = size == 0 ? FIRST_TEXT : 2 * size;
        char *grown = realloc(s->text, size);
        if (grown == NULL) {
            (void)say(MXO_E_NOMEM, why, "out of memory");
            return -1;
        }
        s->text = grown;
        s->n_text += fread(grown + s->n_text, 1, size - s->n_text, f);
    } while (s->n_text == size && size <= MOST_TEXT);
    if (ferror(f) != 0) {
        (void)say(MXO_E_PARAM, why, "it cannot be read");
        return -1;
    }
    if (s->n_text > MOST_TEXT) {
        (void)say(MXO_E_PARAM, why, "it has more than %d bytes", MOST_TEXT);
        return -1;
    }
    return 0;
}

int selection_cases_open(selection_cases *s, const char *path, mxo_text why)
{
    FILE *f = input_open(path);

    memset(s, 0, sizeof *s);
    if (f == NULL) {
        (void)say(MXO_E_PARAM, why, "it cannot be read");
        return -1;
    }
    const int bad = read_text(s, f, why);

    (void)fclose(f);
    return bad ? -1 : take_text(s, why);
}

int selection_cases_read(selection_cases *s, const char *text, size_t n,
                         mxo_text why)
{
    memset(s, 0, sizeof *s);
    s->text = malloc(n + 1);
    if (s->text == NULL) {
        (void)say(MXO_E_NOMEM, why, "out of memory");
        return -1;
    }
    memcpy(s->text, text, n);
    s->n_text = n;
    return take_text(s, why);
}

void selection_cases_close(selection_cases *s)
{
    json_decref(s->meta);
    free(s->span);
    free(s->text);
    memset(s, 0, sizeof *s);
}

size_t selection_cases_count(const selection_cases *s)
{
    return s->n;
}

json_t *selection_case(const selection_cases *s, size_t i)
{
    return json_loadb(s->text + s->span[i].at, s->span[i].n,
                      JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

const char *selection_case_id(const json_t *object)
{
    return text_of(object, "id");
}

const char *selection_case_profile(const json_t *object)
{
    return text_of(object, "profile");
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

int selection_case_run(const selection_cases *s, const json_t *object,
                       const mxo_select_rules *rules, mxo_text what)
{
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
