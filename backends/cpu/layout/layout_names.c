/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of the names in a layout's row: parameters from the text that
 * names the layout, extents of the tensor, and names derived from both.  The
 * text comes from a user, so every length and every product is checked.
 */
#include "layout.h"

#include <stdio.h>
#include <string.h>

static const cpu_row rows[] = {
#define MXO_LAYOUT(id, bits, values, params, where, needs, map, summary, \
                   source)                                               \
    {id, bits, values, params, where, needs, map},
#include <mxoracle/layouts.def>
#undef MXO_LAYOUT
};

const cpu_row *cpu_row_of(const char *text)
{
    const size_t n = strcspn(text, "/");

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strlen(rows[i].id) == n && memcmp(rows[i].id, text, n) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

uint64_t cpu_times(uint64_t a, uint64_t b)
{
    const uint64_t most = (uint64_t)1 << 62;

    return b != 0 && a > most / b ? UINT64_MAX : a * b;
}

const int64_t *cpu_name_find(const cpu_names *names, const char *name,
                             size_t length)
{
    for (int i = 0; i < names->n; i++) {
        if (strlen(names->at[i].name) == length &&
            memcmp(names->at[i].name, name, length) == 0) {
            return &names->at[i].value;
        }
    }
    return NULL;
}

mxo_status cpu_name_add(cpu_names *names, const char *name, size_t length,
                        int64_t value, mxo_text why)
{
    if (length == 0 || length >= CPU_NAME || names->n == CPU_NAMES) {
        return cpu_fail(MXO_E_PARAM, why, "too many or too long names");
    }
    memcpy(names->at[names->n].name, name, length);
    names->at[names->n].name[length] = '\0';
    names->at[names->n].value = value;
    names->n++;
    return MXO_OK;
}

/* Decimal digits at *at, at most 18 of them. */
static int take_number(const char **at, int64_t *value)
{
    const size_t n = strspn(*at, "0123456789");

    if (n == 0 || n > 18) {
        return -1;
    }
    *value = 0;
    for (size_t i = 0; i < n; i++) {
        *value = *value * 10 + ((*at)[i] - '0');
    }
    *at += n;
    return 0;
}

static size_t word_length(const char *at)
{
    return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                      "0123456789_");
}

/* A number or $name. */
static mxo_status take_value(const cpu_names *names, const char **at,
                             int64_t *value, mxo_text why)
{
    if (**at != '$') {
        return take_number(at, value) == 0
                   ? MXO_OK
                   : cpu_fail(MXO_E_PARAM, why, "no number at \"%.24s\"", *at);
    }
    const size_t n = word_length(*at + 1);
    const int64_t *found = cpu_name_find(names, *at + 1, n);
    if (found == NULL) {
        return cpu_fail(MXO_E_PARAM, why, "no name at \"%.24s\"", *at);
    }
    *value = *found;
    *at += n + 1;
    return MXO_OK;
}

static int64_t common(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int product(int64_t *a, int64_t b)
{
    const uint64_t p = cpu_times((uint64_t)*a, (uint64_t)b);

    *a = (int64_t)p;
    return p == UINT64_MAX ? -1 : 0;
}

/* The operators of whole, non-negative numbers. */
static int combine_whole(char op, int64_t *a, int64_t b)
{
    if (*a < 0 || b < 0 || (b == 0 && op != '*')) {
        return -1;
    }
    switch (op) {
    case '*':
        return product(a, b);
    case '/':
        *a /= b;
        return 0;
    case '%':
        *a %= b;
        return 0;
    case '^':
        *a = *a / b + (*a % b != 0);
        return product(a, b);
    case '|':
        *a /= common(*a, b);
        return product(a, b);
    default:
        return -1;
    }
}

static int combine(char op, int64_t *a, int64_t b)
{
    const int64_t most = (int64_t)1 << 62;

    switch (op) {
    case '+':
        *a += b;
        break;
    case '-':
        *a -= b;
        break;
    case '<':
        *a = b < *a ? b : *a;
        break;
    case '>':
        *a = b > *a ? b : *a;
        break;
    default:
        return combine_whole(op, a, b);
    }
    return *a > most || *a < -most ? -1 : 0;
}

static const char *skip(const char *at)
{
    return at + strspn(at, " ");
}

/* "name=value op value ..." until the next name or the end. */
static mxo_status take_name(cpu_names *names, const char **at, mxo_text why)
{
    const char *name = *at;
    const size_t length = word_length(name);
    int64_t value = 0;

    if (length == 0 || name[length] != '=') {
        return cpu_fail(MXO_E_PARAM, why, "no name at \"%.24s\"", name);
    }
    *at = name + length + 1;

    MXO_TRY(take_value(names, at, &value, why));
    for (*at = skip(*at); **at != '\0' && word_length(*at) == 0;
         *at = skip(*at)) {
        const char op = *(*at)++;
        int64_t right = 0;

        *at = skip(*at);
        MXO_TRY(take_value(names, at, &right, why));
        if (combine(op, &value, right) != 0) {
            return cpu_fail(MXO_E_PARAM, why, "%.*s has no value", (int)length,
                            name);
        }
    }
    return cpu_name_add(names, name, length, value, why);
}

static mxo_status take_names(cpu_names *names, const char *at, mxo_text why)
{
    for (at = skip(at); *at != '\0'; at = skip(at)) {
        MXO_TRY(take_name(names, &at, why));
    }
    return MXO_OK;
}

int cpu_is_given_again(const char *name, size_t length)
{
    for (const char *at = strchr(name, '/'); at != NULL; at = strchr(at, '/')) {
        at++;
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            return 1;
        }
    }
    return 0;
}

/* "/name=value..." after the id: each overrides a parameter, once. */
static mxo_status set_params(cpu_names *names, int first, const char *text,
                             mxo_text why)
{
    const char *at = text + strcspn(text, "/");

    while (*at == '/') {
        const char *name = at + 1;
        const size_t length = word_length(name);
        int64_t value = 0;

        at = name + length + (name[length] == '=');
        if (name[length] != '=' || take_number(&at, &value) != 0 ||
            (*at != '/' && *at != '\0')) {
            return cpu_fail(MXO_E_PARAM, why, "no name=value in \"%.40s\"",
                            name);
        }
        int i = first;
        while (i < names->n && (strlen(names->at[i].name) != length ||
                                memcmp(names->at[i].name, name, length) != 0)) {
            i++;
        }
        if (i == names->n) {
            return cpu_fail(MXO_E_PARAM, why,
                            "the layout has no parameter \"%.24s\"", name);
        }
        if (cpu_is_given_again(name, length)) {
            return cpu_fail(MXO_E_PARAM, why, "%.*s is given twice",
                            (int)length, name);
        }
        names->at[i].value = value;
    }
    return MXO_OK;
}

/* A vendor's sentence with the values of the {names} in it. */
static mxo_status refuse(const cpu_names *names, const char *at, size_t length,
                         mxo_text why)
{
    char text[256];
    size_t n = 0;

    for (size_t i = 0; i < length && n + 24 < sizeof text; i++) {
        const size_t word = at[i] == '{' ? word_length(at + i + 1) : 0;
        const int64_t *value =
            word == 0 ? NULL : cpu_name_find(names, at + i + 1, word);
        if (value != NULL && at[i + 1 + word] == '}') {
            n += (size_t)snprintf(text + n, 24, "%lld", (long long)*value);
            i += word + 1;
        } else {
            text[n++] = at[i];
        }
    }
    return cpu_fail(MXO_E_SHAPE, why, "%.*s", (int)n, text);
}

/* "value%value: sentence; ...": each must divide. */
static mxo_status check_needs(const cpu_names *names, const char *at,
                              mxo_text why)
{
    for (at = skip(at); *at != '\0'; at = skip(at)) {
        const char *start = at;
        const size_t length = strcspn(at, ";");
        int64_t a = 0;
        int64_t b = 0;
        MXO_TRY(take_value(names, &at, &a, why));
        if (*at++ != '%') {
            return cpu_fail(MXO_E_PARAM, why, "no %% in \"%.24s\"", start);
        }
        MXO_TRY(take_value(names, &at, &b, why));
        if ((b <= 0 || a % b != 0) && *at == ':') {
            at = skip(at + 1);
            return refuse(names, at, length - (size_t)(at - start), why);
        }
        if (b <= 0 || a % b != 0) {
            return cpu_fail(
                MXO_E_SHAPE, why, "%.*s: %lld is no multiple of %lld",
                (int)(at - start), start, (long long)a, (long long)b);
        }
        at = start + length + (start[length] == ';');
    }
    return MXO_OK;
}

mxo_status cpu_names_of(cpu_names *names, const cpu_row *row, const char *text,
                        const uint64_t extent[3], uint64_t elem_bytes,
                        mxo_text why)
{
    static const char *const fixed[] = {"experts", "rows", "cols"};

    names->n = 0;
    for (int i = 0; i < 3; i++) {
        if (extent[i] > (uint64_t)1 << 62) {
            return cpu_fail(MXO_E_SHAPE, why, "%s is too large", fixed[i]);
        }
        MXO_TRY(cpu_name_add(names, fixed[i], strlen(fixed[i]),
                             (int64_t)extent[i], why));
    }
    MXO_TRY(cpu_name_add(names, "elem_bytes", 10, (int64_t)elem_bytes, why));
    const int first = names->n;
    MXO_TRY(take_names(names, row->params, why));
    MXO_TRY(set_params(names, first, text, why));
    MXO_TRY(take_names(names, row->where, why));
    return check_needs(names, row->needs, why);
}
