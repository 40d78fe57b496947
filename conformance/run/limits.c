/* SPDX-License-Identifier: Apache-2.0 */
/* See limits.h. */
#include "limits.h"

#include "base/say.h"
#include "base/tensors.h"
#include "case/case_shape.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one declaration says of one key: that of the operation, else "*". */
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

int limits_speak_of(const json_t *limits, const char *op)
{
    return json_object_get(limits, op) != NULL ||
           json_object_get(limits, "*") != NULL;
}

static int no(mxo_text why, const char *what, const char *word)
{
    (void)say(MXO_E_PARAM, why, "its limits: %s \"%.60s\"", what, word);
    return -1;
}

static int has_only(const json_t *o, const char *const keys[], mxo_text why)
{
    const char *key;
    json_t *value;

    if (!json_is_object(o)) {
        return no(why, "an object is wanted that has", keys[0]);
    }
    json_object_foreach((json_t *)o, key, value)
    {
        int i = 0;
        while (keys[i] != NULL && strcmp(keys[i], key) != 0) {
            i++;
        }
        if (keys[i] == NULL) {
            return no(why, "nobody knows the key", key);
        }
    }
    return 0;
}

static int check_texts(const json_t *list, const char *key, mxo_text why)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (!json_is_string(json_array_get(list, i))) {
            return no(why, "no text is among the values of", key);
        }
    }
    return json_array_size(list) > 0 ? 0 : no(why, "no value is left for", key);
}

static int check_param(const json_t *value, const char *key, mxo_text why)
{
    static const char *const ends[] = {"min", "max", NULL};
    const json_t *min = json_object_get(value, "min");
    const json_t *max = json_object_get(value, "max");

    if (json_is_array(value)) {
        return check_texts(value, key, why);
    }
    if (has_only(value, ends, why) != 0) {
        return -1;
    }
    if ((min != NULL && !json_is_number(min)) ||
        (max != NULL && !json_is_number(max)) ||
        (min != NULL && max != NULL &&
         json_number_value(min) > json_number_value(max))) {
        return no(why, "min and max are no range of", key);
    }
    return 0;
}

static int is_count(const json_t *n, json_int_t least)
{
    return n == NULL || (json_is_integer(n) && json_integer_value(n) >= least);
}

static int check_dim(const json_t *value, const char *key, mxo_text why)
{
    static const char *const keys[] = {"multiple", "least", "most", "in", NULL};
    const json_t *least = json_object_get(value, "least");
    const json_t *most = json_object_get(value, "most");
    const json_t *in = json_object_get(value, "in");

    if (has_only(value, keys, why) != 0) {
        return -1;
    }
    if (!is_count(json_object_get(value, "multiple"), 1) ||
        !is_count(least, 0) || !is_count(most, 0)) {
        return no(why, "multiple, least and most are natural numbers, of", key);
    }
    if (least != NULL && most != NULL &&
        json_integer_value(least) > json_integer_value(most)) {
        return no(why, "least is above most of", key);
    }
    if (in != NULL && json_array_size(in) == 0) {
        return no(why, "no extent is left for", key);
    }
    for (size_t i = 0; i < json_array_size(in); i++) {
        if (!is_count(json_array_get(in, i), 0)) {
            return no(why, "extents are natural numbers, of", key);
        }
    }
    return 0;
}

static int check_dtypes(const json_t *value, const char *key, mxo_text why)
{
    if (!json_is_array(value) || check_texts(value, key, why) != 0) {
        return json_is_array(value) ? -1
                                    : no(why, "no list of dtypes has", key);
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *text = json_string_value(json_array_get(value, i));
        if (dtype_by_name(text) == MXO_N_DTYPES) {
            return no(why, "there is no dtype", text);
        }
    }
    return 0;
}

static int has_input(const op_schema *s, const char *name)
{
    int found = strcmp(name, "*") == 0;

    for (int i = 0; i < s->n_inputs && !found; i++) {
        found = strcmp(s->inputs[i].name, name) == 0;
    }
    return found;
}

/* Has the operation this key? For "*" (s is NULL) every key is good. */
static int is_known(const op_schema *s, int part, const char *key)
{
    return s == NULL || (part == 0   ? op_param_index(s, key) >= 0
                         : part == 1 ? op_dim_index(s, key) >= 0
                                     : has_input(s, key));
}

static int check_part(const op_schema *s, int part, const json_t *o,
                      mxo_text why)
{
    static int (*const checks[])(const json_t *, const char *, mxo_text) = {
        check_param, check_dim, check_dtypes};
    const char *key;
    json_t *value;

    if (o != NULL && !json_is_object(o)) {
        return no(why, "params, dims and dtypes are objects, not", "a value");
    }
    json_object_foreach((json_t *)o, key, value)
    {
        if (!is_known(s, part, key)) {
            return no(why, "the operation has no", key);
        }
        if (checks[part](value, key, why) != 0) {
            return -1;
        }
    }
    return 0;
}

int limits_check(const json_t *limits, mxo_text why)
{
    static const char *const keys[] = {"params", "dims", "dtypes", "ids", NULL};
    const char *op;
    json_t *entry;

    if (!json_is_object(limits)) {
        return no(why, "they are no", "object");
    }
    json_object_foreach((json_t *)limits, op, entry)
    {
        const op_schema *s = strcmp(op, "*") == 0 ? NULL : op_by_name(op);
        const json_t *ids = json_object_get(entry, "ids");
        if (s == NULL && strcmp(op, "*") != 0) {
            return no(why, "there is no operation", op);
        }
        if (has_only(entry, keys, why) != 0) {
            return -1;
        }
        if (ids != NULL && (!json_is_string(ids) ||
                            strcmp(json_string_value(ids), "distinct") != 0)) {
            return no(why, "ids can be distinct, in", op);
        }
        for (int part = 0; part < 3; part++) {
            if (check_part(s, part, json_object_get(entry, keys[part]), why) !=
                0) {
                return -1;
            }
        }
    }
    return 0;
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

/* All but the sizes: no other shape makes up for it. */
static int allows_rest(const json_t *limits, const test_case *c)
{
    const op_schema *s = c->schema;
    const char *op = s->info->name;

    for (int i = 0; i < s->n_params; i++) {
        if (s->params[i].kind != PARAM_SIZE &&
            !allows_param(entry_of(limits, op, "params", s->params[i].key), c,
                          i)) {
            return 0;
        }
    }
    for (int i = 0; i < s->n_inputs; i++) {
        if (!allows_input(limits, c, i)) {
            return 0;
        }
    }
    return json_object_get(json_object_get(limits, op), "ids") == NULL ||
           !c->repeats;
}

int limits_allow(const json_t *limits, const test_case *c)
{
    return allows_rest(limits, c) && allows_dims(limits, c);
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

/* Other sizes for a case; 1: it lies within now and is a case. */
static int fit(const json_t *limits, test_case *c)
{
    const op_schema *s = c->schema;
    char text[CASE_TEXT];
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
    case_print(c, 0, text);
    return case_parse(c, text, (mxo_text){why, sizeof why}) == 0 &&
           limits_allow(limits, c);
}

limits_place limits_find(const json_t *limits, test_case *c)
{
    const test_case was = *c;

    if (limits == NULL || limits_allow(limits, c)) {
        return LIMITS_WITHIN;
    }
    if (c->flaw[0] == '\0' && allows_rest(limits, c) && fit(limits, c)) {
        return LIMITS_NEAR;
    }
    *c = was;
    return LIMITS_OUTSIDE;
}
