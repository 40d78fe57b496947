/* SPDX-License-Identifier: Apache-2.0 */
/* See other_call.h. */
#include "other_call.h"

#include "case/case_shape.h"
#include "data/nearest_legal_shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE = 256 };

/* Calls up to SMALL bytes have another beside them, one in four of the rest up
   to LARGEST. */
enum { SMALL = 1 << 12, LARGEST = 1 << 16 };

static int vary(test_case *c, const char *key, const char *value)
{
    char text[SENTENCE];

    return case_vary(c, key, value, (mxo_text){text, sizeof text}) == 0;
}

/* A dimension that is given becomes half, or one that cannot, double. */
static int change_dim(test_case *c, int i, int is_double)
{
    const uint64_t n = c->dim[i];
    char text[OP_WORD];

    if (n == 0 || !case_uses_dim(c, i) || case_dim_follows(c, i)) {
        return 0;
    }
    (void)snprintf(text, sizeof text, "%" PRIu64,
                   is_double || n == 1 ? 2 * n : n / 2);
    return vary(c, c->schema->dims[i], text);
}

/* A constant becomes another of the same size. */
static int change_constant(test_case *c, int i)
{
    const op_param *p = &c->schema->params[i];
    char text[OP_WORD];
    double x;

    if ((p->kind != PARAM_REAL && p->kind != PARAM_REAL_OR_NONE) ||
        strcmp(c->value[i], "none") == 0) {
        return 0;
    }
    x = case_number(c, p->key);
    if (x == 0) {
        return 0;
    }
    (void)snprintf(text, sizeof text, "%g",
                   x > 1 || x < 0 ? 0.75 * x : 1.25 * x);
    return vary(c, p->key, text);
}

/* A word becomes the one behind it. */
static int change_word(test_case *c, int i)
{
    const op_param *p = &c->schema->params[i];
    word_span rest = p->choices;
    char word[OP_WORD];
    int is_next = 0;

    if (p->kind != PARAM_CHOICE) {
        return 0;
    }
    while (rest.len > 0) {
        const word_span choice = span_cut(&rest, '|');
        if (is_next && span_copy(choice, word)) {
            return vary(c, p->key, word);
        }
        is_next = span_equals(choice, c->value[i]);
    }
    rest = p->choices;
    return span_copy(span_cut(&rest, '|'), word) &&
           strcmp(word, c->value[i]) != 0 && vary(c, p->key, word);
}

static int is_legal(judge *j, const test_case *c, tensor_set *out)
{
    char text[SENTENCE];

    tensor_set_clear(out);
    return nearest_infer(&j->oracle, c, out, (mxo_text){text, sizeof text}) ==
           MXO_OK;
}

/* Number i of the changes: dimensions, then constants. */
static int change(test_case *c, int i, int is_double)
{
    return i < c->schema->n_dims ? change_dim(c, i, is_double)
                                 : change_constant(c, i - c->schema->n_dims);
}

/* The words that are legal one after the other, of the case's own sizes. */
static int change_words(judge *j, const test_case *c, other_call *o)
{
    int n_made = 0;

    o->c = *c;
    for (int i = 0; i < c->schema->n_params; i++) {
        test_case tried = o->c;
        if (change_word(&tried, i) && is_legal(j, &tried, &o->out)) {
            o->c = tried;
            n_made++;
        }
    }
    return n_made > 0 && is_legal(j, &o->c, &o->out);
}

/* All changes of numbers at once, or those that are legal one after the other.
 */
static int change_numbers(judge *j, const test_case *c, other_call *o)
{
    const int n = c->schema->n_dims + c->schema->n_params;
    int n_made = 0;

    o->c = *c;
    for (int i = 0; i < n; i++) {
        n_made += change(&o->c, i, 0);
    }
    if (n_made > 0 && is_legal(j, &o->c, &o->out)) {
        return 1;
    }
    o->c = *c;
    n_made = 0;
    for (int i = 0; i < n; i++) {
        for (int is_double = 0; is_double < 2; is_double++) {
            test_case tried = o->c;
            if (change(&tried, i, is_double) && is_legal(j, &tried, &o->out)) {
                o->c = tried;
                n_made++;
                break;
            }
        }
    }
    return n_made > 0 && is_legal(j, &o->c, &o->out);
}

static int is_chosen(const tensor_set *in)
{
    const uint64_t n = tensor_set_bytes(in);

    return n <= SMALL ||
           (n <= LARGEST && n * UINT64_C(0x9e3779b97f4a7c15) >> 62 == 0);
}

/* A number drawn by the case. */
static uint64_t draw(const test_case *c)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (int i = 0; i < c->schema->n_dims; i++) {
        h = (h ^ c->dim[i]) * UINT64_C(0x100000001b3);
    }
    for (int i = 0; i < c->schema->n_params; i++) {
        for (const char *at = c->value[i]; *at != '\0'; at++) {
            h = (h ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
        }
    }
    return h ^ h >> 32;
}

static int takes(const judge *j, const test_case *c)
{
    return j->takes == NULL || j->takes(j->taker, c);
}

/* In one of four calls words are others, not numbers. */
static int change_all(judge *j, const test_case *c, other_call *o)
{
    if (draw(c) % 4 == 0 && change_words(j, c, o) && takes(j, &o->c)) {
        j->subject.other_has = "words";
        return 1;
    }
    j->subject.other_has = "sizes";
    return change_numbers(j, c, o) && takes(j, &o->c);
}

int other_call_make(judge *j, const test_case *c, const tensor_set *in,
                    other_call *o)
{
    char text[SENTENCE];

    memset(o, 0, sizeof *o);
    if (!j->subject.decoy || !is_chosen(in) || !change_all(j, c, o) ||
        nearest_inputs(&o->c, &o->in, (mxo_text){text, sizeof text}) !=
            MXO_OK) {
        return -1;
    }
    case_params(&o->c, o->params);
    o->call = (op_call){c->schema->info->name, o->params,
                        (uint32_t)c->schema->n_params, &o->in};
    return 0;
}

void other_call_clear(other_call *o)
{
    tensor_set_clear(&o->in);
    tensor_set_clear(&o->out);
}
