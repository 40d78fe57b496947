/* SPDX-License-Identifier: Apache-2.0 */
/* See limits.h: is what a subject declares what the protocol says? */
#include "limits.h"

#include "base/say.h"
#include "base/tensors.h"
#include "case/case_shape.h"

#include <stdio.h>
#include <string.h>

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

/* A key of the whole operation, which can only say one word. */
static int check_word(const json_t *entry, const char *key, const char *word,
                      const char *op, mxo_text why)
{
    const json_t *value = json_object_get(entry, key);
    char sentence[64];

    if (value == NULL || (json_is_string(value) &&
                          strcmp(json_string_value(value), word) == 0)) {
        return 0;
    }
    (void)snprintf(sentence, sizeof sentence, "%s can be %s, in", key, word);
    return no(why, sentence, op);
}

int limits_check(const json_t *limits, mxo_text why)
{
    static const char *const keys[] = {"params", "dims",  "dtypes",
                                       "ids",    "calls", NULL};
    const char *op;
    json_t *entry;

    if (!json_is_object(limits)) {
        return no(why, "they are no", "object");
    }
    json_object_foreach((json_t *)limits, op, entry)
    {
        const op_schema *s = strcmp(op, "*") == 0 ? NULL : op_by_name(op);
        if (s == NULL && strcmp(op, "*") != 0) {
            return no(why, "there is no operation", op);
        }
        if (has_only(entry, keys, why) != 0 ||
            check_word(entry, "ids", "distinct", op, why) != 0 ||
            check_word(entry, "calls", "legal", op, why) != 0) {
            return -1;
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
