/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a vector's metadata on behalf of map.def.  See scope.h. */
#include "scope.h"

#include "base/cli.h"
#include "base/number.h"
#include "base/say.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tree takes some twenty times its text. */
enum { MOST_PARAMS = 1 << 16 };

mxo_status scope_open(scope *s, const char *path, safetensors *file,
                      mxo_text why)
{
    const char *text = safetensors_meta(file, "params");
    json_error_t error;

    memset(s, 0, sizeof *s);
    s->path = path;
    s->file = file;
    if (text == NULL) {
        return say(MXO_E_SHAPE, why, "has no params in its metadata");
    }
    if (strlen(text) > MOST_PARAMS) {
        return say(MXO_E_SHAPE, why, "has params of more than %d bytes",
                   MOST_PARAMS);
    }
    s->params = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(s->params)) {
        return say(MXO_E_SHAPE, why, "has params that are no JSON object");
    }
    return MXO_OK;
}

void scope_close(scope *s)
{
    json_decref(s->params);
    s->params = NULL;
}

const host_tensor *scope_tensor(scope *s, const char *name)
{
    const host_tensor *t = tensor_set_find(&s->file->tensors, name);

    if (t != NULL) {
        s->read[t - s->file->tensors.t]++;
    }
    return t;
}

static void json_text(const json_t *value, char *text, size_t size)
{
    char *dump;

    switch (json_typeof(value)) {
    case JSON_STRING:
        (void)snprintf(text, size, "%s", json_string_value(value));
        break;
    case JSON_INTEGER:
        (void)snprintf(text, size, "%lld",
                       (long long)json_integer_value(value));
        break;
    case JSON_REAL:
        number_spell(json_real_value(value), text, size);
        break;
    case JSON_NULL:
        (void)snprintf(text, size, "none");
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        (void)snprintf(text, size, json_is_true(value) ? "1" : "0");
        break;
    default:
        dump = json_dumps(value, JSON_COMPACT);
        (void)snprintf(text, size, "%s", dump == NULL ? "" : dump);
        free(dump);
        break;
    }
}

int scope_text(const scope *s, const char *name, char *text, size_t size)
{
    const json_t *value = json_object_get(s->params, name);

    text[0] = '\0';
    for (uint32_t i = 0; i < s->n_variables; i++) {
        if (strcmp(s->variables[i].name, name) == 0) {
            (void)snprintf(text, size, "%s", s->variables[i].text);
            return 1;
        }
    }
    if (value == NULL && strcmp(name, "file") == 0) {
        const char *slash = strrchr(s->path, '/');

        (void)snprintf(text, size, "%s", slash == NULL ? s->path : slash + 1);
        return 1;
    }
    if (value == NULL) {
        return 0;
    }
    json_text(value, text, size);
    return 1;
}

piece piece_cut(piece *rest, char separator)
{
    int depth = 0;
    size_t len = 0;

    while (len < rest->len) {
        const char c = rest->ptr[len];
        depth += (c == '{' || c == '(') - (c == '}' || c == ')');
        if (c == separator && depth == 0) {
            break;
        }
        len++;
    }
    const piece head = {rest->ptr, len};
    const size_t step = len < rest->len ? len + 1 : len;

    rest->ptr += step;
    rest->len -= step;
    return head;
}

int piece_copy(piece p, char *out, size_t size)
{
    if (p.len >= size) {
        return 0;
    }
    memcpy(out, p.ptr, p.len);
    out[p.len] = '\0';
    return 1;
}

static size_t word_length(piece p)
{
    size_t n = 0;

    while (n < p.len && (isalnum((unsigned char)p.ptr[n]) || p.ptr[n] == '_')) {
        n++;
    }
    return n;
}

static void advance(piece *p, size_t n)
{
    p->ptr += n;
    p->len -= n;
}

/* Text of the first element; infinite and absent limits read alike. */
static void value_text(const host_tensor *t, char *text, size_t size)
{
    const double value =
        t->n_bytes == 0 ? 0 : dtype_value(t->dtype, tensor_load(t, 0));

    if (isinf(value)) {
        (void)snprintf(text, size, "none");
    } else {
        number_spell(value, text, size);
    }
}

/* function(in.x): 1 if known and the tensor is there. */
static int function_text(scope *s, const char *function, const char *argument,
                         char *text, size_t size)
{
    /* Looking at the type alone does not count as reading the tensor. */
    const host_tensor *t = tensor_set_find(&s->file->tensors, argument);

    text[0] = '\0';
    if (t == NULL) {
        return 0;
    }
    if (strcmp(function, "dtype") == 0) {
        (void)snprintf(text, size, "%s", dtype_name(t->dtype));
        return 1;
    }
    if (strcmp(function, "rows") == 0 || strcmp(function, "cols") == 0) {
        const uint32_t back = function[0] == 'r' ? 2 : 1;
        (void)snprintf(text, size, "%llu",
                       t->rank < back
                           ? 1ULL
                           : (unsigned long long)t->shape[t->rank - back]);
        return 1;
    }
    value_text(scope_tensor(s, argument), text, size);
    return strcmp(function, "value") == 0;
}

/* The name after '$' (or in a condition), with its argument if it has one. */
static mxo_status look_up(scope *s, piece *rest, char *text, size_t size,
                          mxo_text why)
{
    char name[TEXT_SIZE] = "";
    char argument[TEXT_SIZE] = "";
    const size_t n = word_length(*rest);
    int found;

    if (!piece_copy((piece){rest->ptr, n}, name, sizeof name)) {
        return say(MXO_E_PARAM, why, "map.def: a name is too long");
    }
    advance(rest, n);
    if (rest->len > 0 && rest->ptr[0] == '(') {
        const char *end = memchr(rest->ptr, ')', rest->len);
        const size_t inside = (size_t)(end - rest->ptr) - 1;
        (void)piece_copy((piece){rest->ptr + 1, inside}, argument,
                         sizeof argument);
        advance(rest, inside + 2);
    }
    if (name[0] == '\0') {
        found = scope_text(s, argument, text, size);
    } else if (argument[0] != '\0') {
        found = function_text(s, name, argument, text, size);
    } else {
        found = scope_text(s, name, text, size);
    }
    if (!found && rest->len > 0 && rest->ptr[0] == '?') {
        advance(rest, 1);
        (void)piece_copy((piece){rest->ptr, word_length(*rest)}, text, size);
        found = 1;
        advance(rest, word_length(*rest));
    } else if (found && rest->len > 0 && rest->ptr[0] == '?') {
        advance(rest, 1);
        advance(rest, word_length(*rest));
    }
    return found ? MXO_OK
                 : say(MXO_E_PARAM, why, "has no %s %s",
                       argument[0] == '\0' ? "parameter" : "tensor",
                       argument[0] == '\0' ? name : argument);
}

/* {a:x,b*:y} */
static mxo_status translate(piece *rest, char *text, size_t size, mxo_text why)
{
    const char *end = memchr(rest->ptr, '}', rest->len);
    piece inside = {rest->ptr + 1, (size_t)(end - rest->ptr) - 1};

    advance(rest, inside.len + 2);
    while (inside.len > 0) {
        piece to = piece_cut(&inside, ',');
        char pattern[TEXT_SIZE];
        (void)piece_copy(piece_cut(&to, ':'), pattern, sizeof pattern);
        if (cli_matches(pattern, text)) {
            if (to.len != 1 || to.ptr[0] != '=') {
                (void)piece_copy(to, text, size);
            }
            return MXO_OK;
        }
    }
    return say(MXO_E_PARAM, why,
               "has the parameter value %.60s, which the "
               "table does not know",
               text);
}

mxo_status scope_expand(scope *s, const char *text, size_t len, char *out,
                        size_t size, mxo_text why)
{
    piece rest = {text, len};
    size_t n = 0;

    while (rest.len > 0) {
        char word[TEXT_SIZE] = {rest.ptr[0], '\0'};
        const int is_name = rest.ptr[0] == '$';

        advance(&rest, 1);
        if (is_name) {
            MXO_TRY(look_up(s, &rest, word, sizeof word, why));
        }
        if (is_name && rest.len > 0 && rest.ptr[0] == '{') {
            MXO_TRY(translate(&rest, word, sizeof word, why));
        }
        if (is_name && word[strcspn(word, ">()|{}, ")]) {
            /* It would be read as grammar. */
            return say(MXO_E_PARAM, why,
                       "has the parameter value %.60s, "
                       "which the table does not know",
                       word);
        }
        if (n + strlen(word) >= size) {
            return say(MXO_E_PARAM, why, "has a parameter that is too long");
        }
        memcpy(out + n, word, strlen(word));
        n += strlen(word);
    }
    out[n] = '\0';
    return MXO_OK;
}

static int matches_any(piece alternatives, const char *text)
{
    while (alternatives.len > 0) {
        char pattern[TEXT_SIZE];
        (void)piece_copy(piece_cut(&alternatives, '|'), pattern,
                         sizeof pattern);
        if (cli_matches(pattern, text)) {
            return 1;
        }
    }
    return 0;
}

static int has_tensor(const scope *s, piece word)
{
    char name[MXO_NAME_SIZE];
    const char *open = memchr(word.ptr, '(', word.len);
    const size_t at = (size_t)(open - word.ptr) + 1;

    return piece_copy((piece){word.ptr + at, word.len - at - 1}, name,
                      sizeof name) &&
           tensor_set_find(&s->file->tensors, name) != NULL;
}

static int word_holds(scope *s, piece word)
{
    const int negated = word.ptr[0] == '!';
    char text[TEXT_SIZE];

    if (word.ptr[0] == '~') {
        if (piece_copy((piece){word.ptr + 1, word.len - 1}, text,
                       sizeof text)) {
            (void)scope_tensor(s, text);
        }
        return 1;
    }
    advance(&word, (size_t)negated);
    if (word.len > 4 && memcmp(word.ptr, "has(", 4) == 0) {
        return has_tensor(s, word) != negated;
    }
    if (look_up(s, &word, text, sizeof text, (mxo_text){NULL, 0}) != MXO_OK) {
        text[0] = '\0';
    }
    const int differs = word.len > 0 && word.ptr[0] == '!';

    advance(&word, (size_t)differs + 1);
    return matches_any(word, text) != differs;
}

int scope_holds(scope *s, const char *condition)
{
    piece rest = {condition, strlen(condition)};

    while (rest.len > 0) {
        const piece word = piece_cut(&rest, ' ');
        if (word.len > 0 && !word_holds(s, word)) {
            return 0;
        }
    }
    return 1;
}
