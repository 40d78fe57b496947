/* SPDX-License-Identifier: Apache-2.0 */
/* Reading mxo_op_info; the notation is described in <mxoracle/abi.h>. */
#include "opinfo.h"

#include "base/memory.h"

#include <mxoracle/mxoracle.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

word_span span_cut(word_span *rest, char separator)
{
    const char *at =
        rest->len == 0 ? NULL : memchr(rest->ptr, separator, rest->len);
    const size_t len = at == NULL ? rest->len : (size_t)(at - rest->ptr);
    const word_span head = {rest->ptr, len};

    rest->ptr += at == NULL ? len : len + 1;
    rest->len -= at == NULL ? len : len + 1;
    return head;
}

int span_equals(word_span s, const char *text)
{
    return strlen(text) == s.len &&
           (s.len == 0 || memcmp(s.ptr, text, s.len) == 0);
}

int span_lists(word_span list, const char *text)
{
    while (list.len > 0) {
        if (span_equals(span_cut(&list, '|'), text)) {
            return 1;
        }
    }
    return 0;
}

int span_copy(word_span s, char *word)
{
    if (s.len >= OP_WORD) {
        return 0;
    }
    if (s.len > 0) {
        memcpy(word, s.ptr, s.len);
    }
    word[s.len] = '\0';
    return 1;
}

static int bad(const op_schema *s, word_span entry, mxo_text why)
{
    (void)snprintf(why.ptr, why.size, "%s describes itself badly at \"%.*s\"",
                   s->info->name, (int)entry.len, entry.ptr);
    return -1;
}

static param_kind kind_of(word_span domain)
{
    static const struct {
        const char *name;
        param_kind kind;
    } kinds[] = {
        {"int", PARAM_INT},
        {"real", PARAM_REAL},
        {"real?", PARAM_REAL_OR_NONE},
        {"bool", PARAM_BOOL},
        {"name", PARAM_NAME},
        {"size", PARAM_SIZE},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (span_equals(domain, kinds[i].name)) {
            return kinds[i].kind;
        }
    }
    return PARAM_CHOICE;
}

static int parse_text(op_schema *s, const char *text, mxo_text why)
{
    word_span rest = {text, strlen(text)};

    while (rest.len > 0) {
        const word_span entry = span_cut(&rest, ' ');
        word_span tail = entry;
        op_param *p = &s->params[s->n_params];

        if (entry.len == 0) {
            continue;
        }
        if (s->n_params == OP_MAX_PARAMS ||
            !span_copy(span_cut(&tail, ':'), p->key)) {
            return bad(s, entry, why);
        }
        const word_span domain = span_cut(&tail, '=');

        p->kind = kind_of(domain);
        p->choices = domain;
        if (tail.len == 0 || !span_copy(tail, p->standard) ||
            (p->kind == PARAM_CHOICE && !span_lists(domain, p->standard))) {
            return bad(s, entry, why);
        }
        s->n_params++;
    }
    return 0;
}

static int parse_params(op_schema *s, mxo_text why)
{
    const char *const *text = s->info->params;

    for (int i = 0; i < MXO_PARAM_TEXTS && text[i] != NULL; i++) {
        if (parse_text(s, text[i], why) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Index of a dimension name, new or known; -1 if there is no room. */
static int intern_dim(op_schema *s, word_span name)
{
    for (int i = 0; i < s->n_dims; i++) {
        if (span_equals(name, s->dims[i])) {
            return i;
        }
    }
    if (s->n_dims == OP_MAX_DIMS || !span_copy(name, s->dims[s->n_dims])) {
        return -1;
    }
    return s->n_dims++;
}

static int is_number(word_span s)
{
    return s.len > 0 && s.ptr[0] >= '0' && s.ptr[0] <= '9';
}

/* Digits alone; 0 if there is anything else, or more than a factor is. */
static uint64_t number_of(word_span s)
{
    const uint64_t largest = UINT64_C(1) << 15;
    uint64_t n = 0;

    for (size_t i = 0; i < s.len; i++) {
        n = 10 * n + (uint64_t)(s.ptr[i] - '0');
        if (s.ptr[i] < '0' || s.ptr[i] > '9' || n > largest) {
            return 0;
        }
    }
    return n;
}

/* A divisor that is not a number: "pack" or an integer parameter. */
static int parse_divisor(const op_schema *s, op_extent *e, word_span word)
{
    char key[OP_WORD];

    e->pack = span_equals(word, "pack");
    if (!e->pack && span_copy(word, key)) {
        e->by = op_param_index(s, key);
    }
    return e->pack || (e->by >= 0 && s->params[e->by].kind == PARAM_INT) ? 0
                                                                         : -1;
}

/* One factor of an extent: a number, a divisor, or a dimension. */
static int parse_factor(op_schema *s, op_extent *e, word_span word, int divide)
{
    if (word.len == 0) {
        return -1;
    }
    if (is_number(word)) {
        const uint64_t n = number_of(word);
        e->divisor *= divide ? n : 1;
        e->multiple *= divide ? 1 : n;
        return n == 0 || e->multiple > UINT32_MAX ? -1 : 0;
    }
    if (divide) {
        return parse_divisor(s, e, word);
    }
    if (e->dim >= 0) {
        return -1;
    }
    e->dim = intern_dim(s, word);
    return e->dim < 0 ? -1 : 0;
}

static int parse_extent(op_schema *s, op_extent *e, word_span text)
{
    word_span over = text;
    word_span product = span_cut(&over, '/');

    *e = (op_extent){-1, 1, 1, 0, -1};
    while (product.len > 0) {
        if (parse_factor(s, e, span_cut(&product, '*'), 0) != 0) {
            return -1;
        }
    }
    return over.len == 0 ? 0 : parse_factor(s, e, over, 1);
}

static int parse_shape(op_schema *s, op_input *in, word_span dims)
{
    if (dims.len == 0 || dims.ptr[dims.len - 1] != ']') {
        return -1;
    }
    dims.len--;
    while (dims.len > 0) {
        if (in->rank == MXO_MAX_RANK ||
            parse_extent(s, &in->shape[in->rank], span_cut(&dims, ',')) != 0) {
            return -1;
        }
        in->rank++;
    }
    return 0;
}

static int parse_condition(op_schema *s, op_input *in, word_span condition)
{
    char key[OP_WORD];

    in->when = -1;
    if (condition.len == 0) {
        return 0;
    }
    if (!span_copy(span_cut(&condition, '='), key)) {
        return -1;
    }
    in->when = op_param_index(s, key);
    in->values = condition;
    return in->when < 0 || condition.len == 0 ? -1 : 0;
}

/* "name" or "name@key" */
static int parse_name(const op_schema *s, op_input *in, word_span name)
{
    char key[OP_WORD];

    in->conversion = -1;
    if (!span_copy(span_cut(&name, '@'), in->name) || !span_copy(name, key)) {
        return -1;
    }
    if (name.len > 0) {
        in->conversion = op_param_index(s, key);
    }
    return name.len == 0 || in->conversion >= 0 ? 0 : -1;
}

static int parse_input(op_schema *s, word_span entry)
{
    op_input *in = &s->inputs[s->n_inputs];
    word_span tail = entry;
    word_span head = span_cut(&tail, '?');

    if (parse_name(s, in, span_cut(&head, ':')) != 0 ||
        !span_copy(span_cut(&head, '['), in->dtype) ||
        (in->dtype[0] == '$' && op_param_index(s, in->dtype + 1) < 0)) {
        return -1;
    }
    return parse_shape(s, in, head) != 0 || parse_condition(s, in, tail) != 0
               ? -1
               : 0;
}

static int parse_inputs(op_schema *s, mxo_text why)
{
    word_span rest = {s->info->in, strlen(s->info->in)};

    while (rest.len > 0) {
        const word_span entry = span_cut(&rest, ' ');

        if (entry.len == 0) {
            continue;
        }
        if (s->n_inputs == OP_MAX_INPUTS || parse_input(s, entry) != 0) {
            return bad(s, entry, why);
        }
        s->n_inputs++;
    }
    return 0;
}

/* A parameter that is a size names a dimension. */
static int check_sizes(const op_schema *s, mxo_text why)
{
    for (int i = 0; i < s->n_params; i++) {
        const op_param *p = &s->params[i];
        if (p->kind == PARAM_SIZE && op_dim_index(s, p->standard) < 0) {
            return bad(s, (word_span){p->key, strlen(p->key)}, why);
        }
    }
    return 0;
}

int op_schema_parse(op_schema *s, const mxo_op_info *info, mxo_text why)
{
    memset(s, 0, sizeof *s);
    s->info = info;
    return parse_params(s, why) != 0 || parse_inputs(s, why) != 0
               ? -1
               : check_sizes(s, why);
}

/* Most pairs differ in their first letter, and this is asked often. */
static int is_same(const char *a, const char *b)
{
    return a[0] == b[0] && strcmp(a, b) == 0;
}

int op_param_index(const op_schema *s, const char *key)
{
    for (int i = 0; i < s->n_params; i++) {
        if (is_same(s->params[i].key, key)) {
            return i;
        }
    }
    return -1;
}

int op_dim_index(const op_schema *s, const char *name)
{
    for (int i = 0; i < s->n_dims; i++) {
        if (is_same(s->dims[i], name)) {
            return i;
        }
    }
    return -1;
}

/* The program's one cache: what the emulator says about itself is constant. */
static op_schema *schemas;
static int n_schemas;

static void load(void)
{
    const mxo_op_info *info = mxo_emulator()->op_info;
    char sentence[256];
    const mxo_text why = {sentence, sizeof sentence};
    int n = 0;

    while (info[n].name != NULL) {
        n++;
    }
    schemas = memory_need_zeros((size_t)n, sizeof schemas[0]);
    for (int i = 0; i < n; i++) {
        if (op_schema_parse(&schemas[i], &info[i], why) != 0) {
            fprintf(stderr, "mxoracle: %s\n", sentence);
            exit(99);
        }
    }
    n_schemas = n;
}

int op_count(void)
{
    if (schemas == NULL) {
        load();
    }
    return n_schemas;
}

const op_schema *op_at(int i)
{
    return i >= 0 && i < op_count() ? &schemas[i] : NULL;
}

int op_index(const char *name)
{
    for (int i = 0; i < op_count(); i++) {
        if (is_same(schemas[i].info->name, name)) {
            return i;
        }
    }
    return -1;
}

const op_schema *op_by_name(const char *name)
{
    return op_at(op_index(name));
}
