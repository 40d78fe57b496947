/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing and printing of case text; see case_text.h. */
#include "case_text.h"

#include "base/cli.h"
#include "base/number.h"
#include "case_invalid.h"
#include "case_shape.h"
#include "family.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Dimensions above this are typing errors: 2^40. */
#define LARGEST_DIM (UINT64_C(1) << 40)

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static int
refuse(mxo_text why, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why.ptr, why.size, format, args);
    va_end(args);
    return -1;
}

/* strtod() alone would take blanks, hexadecimal, "infinity(...)" and for an
   infinity what is too large. */
static int read_real(const char *text, double *x)
{
    char *end;
    const size_t n = strspn(text, "0123456789+-.eEinfa");

    *x = number_decimal(text, &end);
    return text[0] != '\0' && text[n] == '\0' && *end == '\0' &&
           !(isinf(*x) && strpbrk(text, "0123456789") != NULL);
}

static int read_count(const char *text, uint64_t *n)
{
    const size_t digits = strspn(text, "0123456789");

    if (digits == 0 || digits > 13 || text[digits] != '\0') {
        return 0;
    }
    *n = strtoull(text, NULL, 10);
    return *n <= LARGEST_DIM;
}

static int set_number(test_case *c, int i, const char *value, mxo_text why)
{
    const op_param *p = &c->schema->params[i];
    double x;

    if (!read_real(value, &x)) {
        return refuse(why, "%s=%s is not a number", p->key, value);
    }
    if (p->kind == PARAM_BOOL && x != 0 && x != 1) {
        return refuse(why, "%s=%s is neither 0 nor 1", p->key, value);
    }
    if (p->kind == PARAM_INT && !(fabs(x) <= INT32_MAX && x == trunc(x))) {
        return refuse(why, "%s=%s is not an integer of 32 bits", p->key, value);
    }
    if (p->kind == PARAM_SIZE && !(x >= 0 && x <= LARGEST_DIM)) {
        return refuse(why, "%s=%s is not a size", p->key, value);
    }
    if (p->kind == PARAM_INT || p->kind == PARAM_BOOL ||
        p->kind == PARAM_SIZE) {
        (void)snprintf(c->value[i], OP_WORD, "%" PRId64, (int64_t)x);
    } else {
        number_spell(x, c->value[i], OP_WORD);
    }
    return 0;
}

static int set_choice(test_case *c, int i, const char *value, mxo_text why)
{
    const op_param *p = &c->schema->params[i];
    word_span rest = p->choices;
    cli_nearest near = {NULL, 0};
    char words[64][OP_WORD];
    char hint[80];

    const size_t n_bytes = strlen(value) + 1;

    if (n_bytes <= OP_WORD && span_lists(p->choices, value)) {
        memcpy(c->value[i], value, n_bytes);
        return 0;
    }
    for (int n = 0; n < 64 && rest.len > 0; n++) {
        if (span_copy(span_cut(&rest, '|'), words[n])) {
            cli_offer(&near, value, words[n]);
        }
    }
    return refuse(why, "%s=%s is not one of %.*s%s", p->key, value,
                  (int)p->choices.len, p->choices.ptr,
                  cli_suggestion(&near, hint, sizeof hint));
}

/* The operation itself knows which names there are. */
static int set_name(test_case *c, int i, const char *value, mxo_text why)
{
    const size_t n = strspn(value, "abcdefghijklmnopqrstuvwxyz"
                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789._-+/=");

    if (n == 0 || n >= OP_WORD || value[n] != '\0') {
        return refuse(why, "%s=%.60s is not a name", c->schema->params[i].key,
                      value);
    }
    (void)snprintf(c->value[i], OP_WORD, "%s", value);
    return 0;
}

static int set_param(test_case *c, int i, const char *value, mxo_text why)
{
    const param_kind kind = c->schema->params[i].kind;

    if (kind == PARAM_CHOICE) {
        return set_choice(c, i, value, why);
    }
    if (kind == PARAM_NAME) {
        return set_name(c, i, value, why);
    }
    if (kind == PARAM_REAL_OR_NONE && strcmp(value, "none") == 0) {
        (void)snprintf(c->value[i], OP_WORD, "none");
        return 0;
    }
    return set_number(c, i, value, why);
}

static int set_data(test_case *c, const char *value, mxo_text why)
{
    char kinds[256];

    if (!fill_has_data(c->schema->info->name, value)) {
        fill_data_kinds(c->schema->info->name, kinds, sizeof kinds);
        return refuse(why, "%s has no data=%s; it has %s",
                      c->schema->info->name, value, kinds);
    }
    (void)snprintf(c->data, sizeof c->data, "%s", value);
    return 0;
}

/* "FIRST-LAST" */
static int set_keep(test_case *c, const char *value, mxo_text why)
{
    char first[OP_WORD];
    word_span rest = {value, strlen(value)};

    if (!span_copy(span_cut(&rest, '-'), first) ||
        !read_count(first, &c->keep_first) || rest.len == 0 ||
        !read_count(rest.ptr, &c->keep_last) || c->keep_first > c->keep_last) {
        return refuse(why, "keep=%s is not FIRST-LAST", value);
    }
    return 0;
}

static int set_ids(test_case *c, const char *value, mxo_text why)
{
    c->repeats = strcmp(value, "repeated") == 0;
    return c->repeats || strcmp(value, "distinct") == 0
               ? 0
               : refuse(why, "ids=%.60s is neither distinct nor repeated",
                        value);
}

static int set_word(char word[OP_WORD], const char *key, const char *value,
                    mxo_text why)
{
    if (strlen(value) >= OP_WORD) {
        return refuse(why, "%s=%.60s... is too long", key, value);
    }
    (void)snprintf(word, OP_WORD, "%s", value);
    return 0;
}

static int unknown_key(const test_case *c, const char *key, mxo_text why)
{
    cli_nearest near = {NULL, 0};
    char hint[80];

    for (int i = 0; i < c->schema->n_params; i++) {
        cli_offer(&near, key, c->schema->params[i].key);
    }
    for (int i = 0; i < c->schema->n_dims; i++) {
        cli_offer(&near, key, c->schema->dims[i]);
    }
    cli_offer(&near, key, "data");
    return refuse(why, "%s has no key %s%s", c->schema->info->name, key,
                  cli_suggestion(&near, hint, sizeof hint));
}

int case_set(test_case *c, const char *key, const char *value, mxo_text why)
{
    const int param = op_param_index(c->schema, key);
    const int dim = op_dim_index(c->schema, key);

    if (strcmp(key, "data") == 0) {
        return set_data(c, value, why);
    }
    if (strcmp(key, "ids") == 0 && case_has_ids(c)) {
        return set_ids(c, value, why);
    }
    if (strcmp(key, "keep") == 0) {
        return set_keep(c, value, why);
    }
    if (strcmp(key, "stretch") == 0) {
        return read_count(value, &c->stretch)
                   ? 0
                   : refuse(why, "stretch=%s is not a number", value);
    }
    if (strcmp(key, "flaw") == 0) {
        /* Its legal targets depend on keys that may follow. */
        return set_word(c->flaw, key, value, why);
    }
    if (param >= 0) {
        return set_param(c, param, value, why);
    }
    if (dim < 0) {
        return unknown_key(c, key, why);
    }
    uint64_t n;

    if (!read_count(value, &n)) {
        return refuse(why, "%s=%s is not a size between 0 and 2^40", key,
                      value);
    }
    case_resize(c, dim, n);
    return 0;
}

/* Fill in dimensions that were not given; refuse those nothing decides. */
static int complete_dims(test_case *c, const uint8_t *given, mxo_text why)
{
    for (int d = 0; d < c->schema->n_dims; d++) {
        const int used = case_uses_dim(c, d);

        if (given[d] && !used) {
            return refuse(why, "%s: %s means nothing with these parameters",
                          c->schema->info->name, c->schema->dims[d]);
        }
        if (given[d] || !used) {
            continue;
        }
        if (!case_dim_follows(c, d)) {
            return refuse(why, "%s needs %s=N", c->schema->info->name,
                          c->schema->dims[d]);
        }
        case_resize(c, d, case_standard_dim(c, d));
    }
    return 0;
}

static int find_op(const op_schema **schema, word_span name, mxo_text why)
{
    char word[OP_WORD];
    char hint[80];
    cli_nearest near = {NULL, 0};

    if (!span_copy(name, word)) {
        return refuse(why, "%.30s... is not an operation", name.ptr);
    }
    *schema = op_by_name(word);
    if (*schema != NULL) {
        return 0;
    }
    for (int i = 0; i < op_count(); i++) {
        cli_offer(&near, word, op_at(i)->info->name);
    }
    return refuse(why, "%s is not an operation%s", word,
                  cli_suggestion(&near, hint, sizeof hint));
}

/* Do the sizes of every tensor come out whole? */
static int check_sizes(const test_case *c, mxo_text why)
{
    uint64_t shape[MXO_MAX_RANK];
    uint32_t dtype;
    int bad = 0;

    for (int i = 0; i < c->schema->n_inputs && !bad; i++) {
        bad = case_has_input(c, i) && case_input(c, i, &dtype, shape, why) != 0;
    }
    return bad ? -1 : 0;
}

/* The oracle looks at every choice of an expert for each of them. */
static int check_work(const test_case *c, mxo_text why)
{
    const uint64_t most = UINT64_C(1) << 28;
    const int param = op_param_index(c->schema, "num_experts");

    if (param < 0 || op_dim_index(c->schema, "top_k") < 0) {
        return 0;
    }
    const uint64_t experts = case_count(c, "num_experts", 0);
    const uint64_t tokens = case_dim(c, "tokens");
    const uint64_t top_k = case_dim(c, "top_k");

    return experts <= most / (tokens + 1) / (top_k + 1)
               ? 0
               : refuse(why,
                        "num_experts=%" PRIu64 " with %" PRIu64
                        " tokens and top_k=%" PRIu64
                        " is more than the oracle computes: their product is "
                        "2^28 at most",
                        experts, tokens, top_k);
}

int case_parse(test_case *c, const char *text, mxo_text why)
{
    word_span rest = {text, strlen(text)};
    uint8_t given[OP_MAX_DIMS + OP_MAX_PARAMS + 5] = {0};
    const op_schema *schema;

    if (rest.len >= CASE_TEXT) {
        return refuse(why, "the case is longer than %d bytes", CASE_TEXT - 1);
    }
    if (find_op(&schema, span_cut(&rest, ':'), why) != 0) {
        return -1;
    }
    case_begin(c, schema);
    while (rest.len > 0) {
        const word_span entry = span_cut(&rest, ',');
        word_span value = entry;
        char key[OP_WORD];
        char word[OP_WORD];

        if (!span_copy(span_cut(&value, '='), key) || value.len == 0 ||
            !span_copy(value, word)) {
            return refuse(why, "\"%.*s\" is not key=value",
                          entry.len < 60 ? (int)entry.len : 60, entry.ptr);
        }
        const int dim = op_dim_index(c->schema, key);
        const int param = op_param_index(c->schema, key);
        if (param >= 0 && schema->params[param].kind == PARAM_SIZE) {
            return refuse(why, "%s: %s= says it", key,
                          schema->params[param].standard);
        }
        if (case_set(c, key, word, why) != 0) {
            return -1;
        }
        const int other = OP_MAX_DIMS + OP_MAX_PARAMS + (key[0] == 'k') +
                          2 * (key[0] == 's') + 3 * (key[0] == 'f') +
                          4 * (key[0] == 'i');

        if (given[dim >= 0     ? dim
                  : param >= 0 ? OP_MAX_DIMS + param
                               : other]++ != 0) {
            return refuse(why, "%s is given twice", key);
        }
    }
    if (complete_dims(c, given, why) != 0 || check_sizes(c, why) != 0 ||
        check_work(c, why) != 0 ||
        (c->flaw[0] != '\0' && case_check_invalid(c, why) != 0)) {
        return -1;
    }
    return fill_check_ids(c, why) != 0 ? -1 : fill_check_stretch(c, why);
}

typedef struct printer {
    char *text;
    size_t used;
    char separator;
} printer;

static void print_key(printer *p, const char *key, const char *value)
{
    const size_t n_key = strlen(key);
    const size_t n_value = strlen(value);
    char *to = p->text + p->used;

    if (n_key + n_value + 3 > CASE_TEXT - p->used) {
        return;
    }
    *to++ = p->separator;
    memcpy(to, key, n_key);
    to[n_key] = '=';
    memcpy(to + n_key + 1, value, n_value);
    to[n_key + 1 + n_value] = '\0';
    p->used += n_key + n_value + 2;
    p->separator = ',';
}

void case_print(const test_case *c, int canonical, char text[CASE_TEXT])
{
    const op_schema *s = c->schema;
    printer p = {text, 0, ':'};
    char word[OP_WORD];

    p.used = (size_t)snprintf(text, CASE_TEXT, "%s", s->info->name);
    for (int d = 0; d < s->n_dims; d++) {
        if (case_uses_dim(c, d) && (canonical || !case_dim_is_standard(c, d))) {
            (void)snprintf(word, sizeof word, "%" PRIu64, c->dim[d]);
            print_key(&p, s->dims[d], word);
        }
    }
    for (int i = 0; i < s->n_params; i++) {
        if (s->params[i].kind != PARAM_SIZE && c->value[i][0] != '\0' &&
            (canonical || strcmp(c->value[i], s->params[i].standard) != 0)) {
            print_key(&p, s->params[i].key, c->value[i]);
        }
    }
    if (canonical || strcmp(c->data, CASE_DATA_STANDARD) != 0) {
        print_key(&p, "data", c->data);
    }
    if (c->repeats) {
        print_key(&p, "ids", "repeated");
    }
    if (c->stretch > 0) {
        (void)snprintf(word, sizeof word, "%" PRIu64, c->stretch);
        print_key(&p, "stretch", word);
    }
    if (c->flaw[0] != '\0') {
        print_key(&p, "flaw", c->flaw);
    }
    if (!case_keeps_all(c)) {
        (void)snprintf(word, sizeof word, "%" PRIu64 "-%" PRIu64, c->keep_first,
                       c->keep_last);
        print_key(&p, "keep", word);
    }
}

/* Dimensions that follow others go with what was changed since. */
static void follow(test_case *c, const test_case *before)
{
    for (int d = 0; d < c->schema->n_dims; d++) {
        if (c->dim[d] == before->dim[d] && case_dim_is_standard(before, d)) {
            case_resize(c, d, case_standard_dim(c, d));
        }
    }
}

int case_vary(test_case *c, const char *key, const char *value, mxo_text why)
{
    const test_case before = *c;

    if (case_set(c, key, value, why) != 0) {
        return -1;
    }
    follow(c, &before);
    return 0;
}

void case_vary_dim(test_case *c, int dim, uint64_t n)
{
    const test_case before = *c;

    case_resize(c, dim, n);
    follow(c, &before);
}

int case_spell(const char *text, char full[CASE_TEXT])
{
    const mxo_text nowhere = {NULL, 0};
    test_case c;

    if (case_parse(&c, text, nowhere) != 0) {
        return -1;
    }
    case_print(&c, 1, full);
    return 0;
}
