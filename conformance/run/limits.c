/* SPDX-License-Identifier: Apache-2.0 */
/* See limits.h. */
#include "limits.h"

#include "base/say.h"
#include "base/tensors.h"
#include "case/case_shape.h"
#include "data/nearest_legal_shape.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values of a list that a case is tried with. */
enum { MOST_TRIES = 8 };

/* The declaration of one key: the operation's, else that of "*". */
static const json_t *entry_of(const json_t *limits, const char *op,
                              const char *part, const char *key)
{
    const json_t *own = json_object_get(
        json_object_get(json_object_get(limits, op), part), key);

    return own != NULL
               ? own
               : json_object_get(
                     json_object_get(json_object_get(limits, "*"), part), key);
}

/* The same of a key of the whole operation. */
static const json_t *word_of(const json_t *limits, const char *op,
                             const char *key)
{
    const json_t *own = json_object_get(json_object_get(limits, op), key);

    return own != NULL ? own
                       : json_object_get(json_object_get(limits, "*"), key);
}

int limits_legal_only(const json_t *limits, const char *op)
{
    return word_of(limits, op, "calls") != NULL;
}

int limits_speak_of(const json_t *limits, const char *op)
{
    return json_object_get(limits, op) != NULL ||
           json_object_get(limits, "*") != NULL;
}

static int has_text(const json_t *list, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (strcmp(json_string_value(json_array_get(list, i)), text) == 0) {
            return 1;
        }
    }
    return 0;
}

static int allows_param(const json_t *value, const test_case *c, int i)
{
    const json_t *min = json_object_get(value, "min");
    const json_t *max = json_object_get(value, "max");
    const double x = case_number(c, c->schema->params[i].key);

    if (value == NULL || json_is_array(value)) {
        return value == NULL || has_text(value, c->value[i]);
    }
    return strcmp(c->value[i], "none") != 0 &&
           (min == NULL || x >= json_number_value(min)) &&
           (max == NULL || x <= json_number_value(max));
}

static uint64_t count_of(const json_t *value, const char *key, uint64_t other)
{
    const json_t *n = json_object_get(value, key);

    return n == NULL ? other : (uint64_t)json_integer_value(n);
}

static int allows_extent(const json_t *value, uint64_t n)
{
    const json_t *in = json_object_get(value, "in");
    int found = in == NULL;

    for (size_t i = 0; i < json_array_size(in) && !found; i++) {
        found = (uint64_t)json_integer_value(json_array_get(in, i)) == n;
    }
    return found && n % count_of(value, "multiple", 1) == 0 &&
           n >= count_of(value, "least", 0) &&
           n <= count_of(value, "most", UINT64_MAX);
}

static int allows_input(const json_t *limits, const test_case *c, int i)
{
    const op_input *in = &c->schema->inputs[i];
    const char *op = c->schema->info->name;
    const json_t *named = entry_of(limits, op, "dtypes", in->name);
    const json_t *list =
        named != NULL ? named : entry_of(limits, op, "dtypes", "*");
    uint64_t shape[MXO_MAX_RANK];
    uint32_t dtype = 0;
    char text[128];

    return list == NULL || !case_has_input(c, i) ||
           case_input(c, i, &dtype, shape, (mxo_text){text, sizeof text}) !=
               0 ||
           has_text(list, dtype_name(dtype));
}

/* Does every dimension that the case uses lie within? */
static int allows_dims(const json_t *limits, const test_case *c)
{
    const op_schema *s = c->schema;

    for (int i = 0; i < s->n_dims; i++) {
        if (case_uses_dim(c, i) &&
            !allows_extent(entry_of(limits, s->info->name, "dims", s->dims[i]),
                           c->dim[i])) {
            return 0;
        }
    }
    return 1;
}

/* A size follows from the dimensions. */
static int allows_value(const json_t *limits, const test_case *c, int i)
{
    const op_param *p = &c->schema->params[i];

    return p->kind == PARAM_SIZE ||
           allows_param(
               entry_of(limits, c->schema->info->name, "params", p->key), c, i);
}

static int allows_params(const json_t *limits, const test_case *c)
{
    for (int i = 0; i < c->schema->n_params; i++) {
        if (!allows_value(limits, c, i)) {
            return 0;
        }
    }
    return 1;
}

/* Types of inputs, ids and faults: no other shape makes up for them. */
static int allows_rest(const json_t *limits, const test_case *c)
{
    const op_schema *s = c->schema;

    for (int i = 0; i < s->n_inputs; i++) {
        if (!allows_input(limits, c, i)) {
            return 0;
        }
    }
    return (word_of(limits, s->info->name, "ids") == NULL || !c->repeats) &&
           (c->flaw[0] == '\0' || !limits_legal_only(limits, s->info->name));
}

int limits_allow(const json_t *limits, const test_case *c)
{
    return allows_params(limits, c) && allows_rest(limits, c) &&
           allows_dims(limits, c);
}

/* The nearest extent within, above if there is one; n if there is none. */
static uint64_t nearest(const json_t *value, uint64_t n)
{
    const json_t *in = json_object_get(value, "in");
    const uint64_t multiple = count_of(value, "multiple", 1);
    const uint64_t least = count_of(value, "least", 0);
    const uint64_t most = count_of(value, "most", UINT64_MAX);
    const uint64_t low = n < least ? least : n;
    const uint64_t up = (low / multiple + (low % multiple != 0)) * multiple;
    uint64_t best = up <= most ? up : most / multiple * multiple;
    uint64_t gap = UINT64_MAX;

    for (size_t i = 0; i < json_array_size(in); i++) {
        const uint64_t x = (uint64_t)json_integer_value(json_array_get(in, i));
        const uint64_t away = x > n ? x - n : n - x;
        if (away < gap && x % multiple == 0 && x >= least && x <= most) {
            best = x;
            gap = away;
        }
    }
    return best;
}

/* Other sizes for a case; 0: there are none. */
static int fit_dims(const json_t *limits, test_case *c)
{
    const op_schema *s = c->schema;
    char why[256];

    for (int i = 0; i < s->n_dims; i++) {
        const json_t *value =
            entry_of(limits, s->info->name, "dims", s->dims[i]);
        if (case_uses_dim(c, i) && !case_dim_is_standard(c, i) &&
            !allows_extent(value, c->dim[i])) {
            char number[24];
            (void)snprintf(number, sizeof number, "%" PRIu64,
                           nearest(value, c->dim[i]));
            if (case_vary(c, s->dims[i], number, (mxo_text){why, sizeof why}) !=
                0) {
                return 0;
            }
        }
    }
    return 1;
}

/* The choice-th of the values that are taken, or the nearer end of a range. */
static void value_within(const json_t *value, double x, size_t choice,
                         char text[OP_WORD])
{
    const json_t *min = json_object_get(value, "min");
    const json_t *max = json_object_get(value, "max");
    const json_t *end =
        min == NULL || (max != NULL && x > json_number_value(max)) ? max : min;

    if (json_is_array(value)) {
        (void)snprintf(text, OP_WORD, "%s",
                       json_string_value(json_array_get(
                           value, choice % json_array_size(value))));
    } else {
        (void)snprintf(text, OP_WORD, "%.17g", json_number_value(end));
    }
}

/* Parameters that the subject does not take and that have their defaults get
   values that it takes; another value stands for a case of its own, which is
   none of this subject's, unless it was drawn. 0: there is one of those. */
static int fit_params(const json_t *limits, int is_drawn, size_t choice,
                      test_case *c)
{
    const op_schema *s = c->schema;
    const test_case was = *c;
    char text[OP_WORD];
    char why[256];

    for (int i = 0; i < s->n_params; i++) {
        const op_param *p = &s->params[i];
        if (allows_value(limits, &was, i)) {
            continue;
        }
        if (!is_drawn && strcmp(was.value[i], p->standard) != 0) {
            return 0;
        }
        value_within(entry_of(limits, s->info->name, "params", p->key),
                     case_number(&was, p->key), choice, text);
        if (case_vary(c, p->key, text, (mxo_text){why, sizeof why}) != 0) {
            return 0;
        }
    }
    return 1;
}

/* 1: the case lies within now, is one, and has an answer if it had one. */
static int fit(const json_t *limits, subject *oracle, int is_drawn,
               size_t choice, test_case *c)
{
    const int takes_params = allows_params(limits, c);
    char text[CASE_TEXT];
    char why[256];
    const mxo_text sentence = {why, sizeof why};
    tensor_set out = {0};
    int fits = fit_params(limits, is_drawn, choice, c) && fit_dims(limits, c);

    if (fits) {
        case_print(c, 0, text);
        fits = case_parse(c, text, sentence) == 0 && limits_allow(limits, c);
    }
    if (fits && !takes_params) {
        fits = nearest_infer(oracle, c, &out, sentence) == MXO_OK;
        tensor_set_clear(&out);
    }
    return fits;
}

/* Cases begin with different values of a list, so that all of them come. */
static size_t first_choice(const test_case *c)
{
    char text[CASE_TEXT];
    size_t mix = 5381;

    case_print(c, 0, text);
    for (const char *p = text; *p != '\0'; p++) {
        mix = mix * 33 + (unsigned char)*p;
    }
    return mix % 64;
}

limits_place limits_find(const json_t *limits, subject *oracle, int is_drawn,
                         test_case *c)
{
    const test_case was = *c;

    if (limits == NULL || limits_allow(limits, c)) {
        return LIMITS_WITHIN;
    }
    const size_t first = first_choice(c);
    const size_t n_tries = allows_params(limits, c) ? 1 : MOST_TRIES;
    for (size_t k = 0; c->flaw[0] == '\0' && k < n_tries; k++) {
        if (fit(limits, oracle, is_drawn, first + k, c)) {
            return LIMITS_NEAR;
        }
        *c = was;
    }
    return LIMITS_OUTSIDE;
}
