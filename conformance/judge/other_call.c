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

static void other_call_clear(other_call *o)
{
    tensor_set_clear(&o->in);
    tensor_set_clear(&o->out);
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

/* Have both calls inputs of the same types and sizes? */
static int are_alike(const tensor_set *a, const tensor_set *b)
{
    int is_same = a->n == b->n;

    for (uint32_t i = 0; is_same && i < a->n; i++) {
        is_same = a->t[i].dtype == b->t[i].dtype &&
                  a->t[i].n_bytes == b->t[i].n_bytes;
    }
    return is_same;
}

/* Can its inputs be these bytes? */
static int takes_bytes(const test_case *c, const tensor_set *in)
{
    char text[SENTENCE];
    tensor_set own;

    memset(&own, 0, sizeof own);
    const int is =
        nearest_inputs(c, &own, (mxo_text){text, sizeof text}) == MXO_OK &&
        are_alike(&own, in);

    tensor_set_clear(&own);
    return is;
}

/* The words that are legal one after the other, of the case's own sizes; in:
   those alone that leave its inputs as they are, NULL: any. */
static int change_words(judge *j, const test_case *c, const tensor_set *in,
                        other_call *o)
{
    int n_made = 0;

    o->c = *c;
    for (int i = 0; i < c->schema->n_params; i++) {
        test_case tried = o->c;
        if (change_word(&tried, i) && (in == NULL || takes_bytes(&tried, in)) &&
            is_legal(j, &tried, &o->out)) {
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

/* In one of four calls words are others, not numbers; in half of these alone
   such as leave its inputs as they are. */
static int change_all(judge *j, const test_case *c, const tensor_set *in,
                      other_call *o)
{
    const int keeps = (draw(c) >> 2 & 1) != 0;

    if (draw(c) % 4 == 0 && change_words(j, c, keeps ? in : NULL, o) &&
        takes(j, &o->c)) {
        j->subject.other_has = "words";
        return 1;
    }
    j->subject.other_has = "sizes";
    return change_numbers(j, c, o) && takes(j, &o->c);
}

static void describe(other_call *o)
{
    case_params(&o->c, o->params);
    o->call = (op_call){o->c.schema->info->name, o->params,
                        (uint32_t)o->c.schema->n_params, &o->in};
}

/* The inputs' bytes, again and again. */
static void repeat(const tensor_set *from, tensor_set *to)
{
    for (uint32_t i = 0; i < to->n && i < from->n; i++) {
        const uint8_t *const bytes = from->t[i].data;
        uint8_t *const at = to->t[i].data;

        for (uint64_t k = 0; from->t[i].n_bytes > 0 && k < to->t[i].n_bytes;
             k++) {
            at[k] = bytes[k % from->t[i].n_bytes];
        }
    }
}

/* Has the call an answer? */
static int is_answered(judge *j, other_call *o)
{
    char text[SENTENCE];
    const mxo_text why = {text, sizeof text};
    run_checks unused;

    tensor_set_clear(&o->out);
    return subject_infer(&j->oracle, &o->call, &o->out, why) == MXO_OK &&
           subject_run(&j->oracle, &o->call, &o->out, &unused, why) == MXO_OK;
}

/* Are the inputs' bytes those of a call of other words, too, which has an
   answer for them?  What is kept by the bytes of a call alone shows behind it.
 */
static int is_of_same_bytes(judge *j, const tensor_set *in, other_call *o)
{
    const int is_same = are_alike(in, &o->in);

    if (is_same) {
        repeat(in, &o->in);
    }
    return is_same && is_answered(j, o);
}

/* 0: there is none. */
static int make_other(judge *j, const test_case *c, const tensor_set *in,
                      other_call *o)
{
    char text[SENTENCE];

    if (!j->subject.decoy || !is_chosen(in) || !change_all(j, c, in, o) ||
        nearest_inputs(&o->c, &o->in, (mxo_text){text, sizeof text}) !=
            MXO_OK) {
        return 0;
    }
    describe(o);
    j->subject.other_is_own = strcmp(j->subject.other_has, "words") == 0 &&
                              is_of_same_bytes(j, in, o);
    return 1;
}

/* Dimension i so many times as large. */
static int enlarge(judge *j, const test_case *c, int i, int factor,
                   const tensor_set *in, other_call *o)
{
    char text[SENTENCE];

    other_call_clear(o);
    o->c = *c;
    for (int n = 1; n < factor; n *= 2) {
        if (!change_dim(&o->c, i, 1)) {
            return 0;
        }
    }
    if (!is_legal(j, &o->c, &o->out) || !takes(j, &o->c) ||
        nearest_inputs(&o->c, &o->in, (mxo_text){text, sizeof text}) !=
            MXO_OK) {
        return 0;
    }
    repeat(in, &o->in);
    describe(o);
    return is_answered(j, o);
}

/* 0: no dimension can be. */
static int make_larger(judge *j, const test_case *c, const tensor_set *in,
                       int factor, other_call *o)
{
    for (int i = 0; i < c->schema->n_dims; i++) {
        if (enlarge(j, c, i, factor, in, o)) {
            return 1;
        }
    }
    return 0;
}

/* Does memory grow by it, as far as it is the operation's?  Of calls that are
   no larger than those before one in sixteen has them, too: another process or
   a shorter run may begin with it. */
static int wants_larger(const judge *j, const test_case *c,
                        const tensor_set *in)
{
    const uint64_t n = tensor_set_bytes(in);
    const subject *s = &j->subject;
    const int grows =
        s->most_op != c->schema->info->name || n > s->most_bytes / 2;

    return s->decoy && n <= LARGEST && (grows || (draw(c) >> 8 & 15) == 0);
}

void other_calls_make(judge *j, const test_case *c, const tensor_set *in,
                      other_calls *o)
{
    subject *s = &j->subject;
    const int can[N_LARGER] = {s->table->capture != NULL,
                               s->table->stream_open != NULL};

    memset(o, 0, sizeof *o);
    if (make_other(j, c, in, &o->other)) {
        s->other = &o->other.call;
        s->other_out = &o->other.out;
    }
    for (int i = 0; i < N_LARGER && wants_larger(j, c, in); i++) {
        if (can[i] && make_larger(j, c, in, 2 << i, &o->larger[i])) {
            s->larger[i] = &o->larger[i].call;
            s->larger_out[i] = &o->larger[i].out;
        }
    }
}

void other_calls_clear(judge *j, other_calls *o)
{
    j->subject.other = NULL;
    other_call_clear(&o->other);
    for (int i = 0; i < N_LARGER; i++) {
        j->subject.larger[i] = NULL;
        other_call_clear(&o->larger[i]);
    }
}
