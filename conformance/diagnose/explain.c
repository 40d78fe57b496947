/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Known mistakes.  Each is tried: on the oracle's answer (nibbles swapped),
 * on the call (another value of a parameter) or on the inputs (a neighbour's
 * scale).  One that gives exactly the actual output everywhere is named.
 */
#include "diagnose.h"

#include "explain_layer.h"
#include "explain_output.h"
#include "explain_work.h"
#include "layout/mistake.h"
#include "output_mistakes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Above this many bytes of outputs, or of inputs, only cheap mistakes are
   tried: the others ask the oracle hundreds of times. */
enum { WORTH_TRYING = 1 << 17, WORTH_READING = 1 << 21 };

/* Do all differing elements expect a NaN, a minus zero, a subnormal? */
static int explain_special(const evidence *e, char *text, size_t size)
{
    const host_tensor *want = &e->want->t[e->output];
    const host_tensor *got = &e->got->t[e->output];
    const uint64_t n = tensor_elems(want);
    uint64_t n_nan = 0;
    uint64_t n_zero = 0;
    uint64_t n_flushed = 0;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t w = tensor_load(want, i);
        const uint64_t g = tensor_load(got, i);
        if (compare_codes(e->rule, want->dtype, w, g)) {
            continue;
        }
        n_nan += (uint64_t)(dtype_is_nan(want->dtype, w) != 0);
        n_zero += w == mistake_sign(want) && g == 0;
        n_flushed += (g & ~mistake_sign(want)) == 0 && w != g;
    }
    const char *says = NULL;

    if (n_nan == e->diff.n_diff) {
        says = "only NaN is wrong";
    } else if (n_zero == e->diff.n_diff) {
        says = "minus zero is lost";
    } else if (n_flushed == e->diff.n_diff) {
        says = "small values are flushed to zero";
    }

    (void)snprintf(text, size, "%s", says == NULL ? "" : says);
    return says != NULL;
}

/* Does the oracle give exactly the actual outputs for this call of case c? */
static int oracle_agrees(const evidence *e, explain_work *work,
                         const test_case *c, const op_call *call)
{
    tensor_set out = {0};
    run_checks d;
    char text[256];
    const mxo_text why = {text, sizeof text};
    int same = explain_work_ask(work, c, call->in, COLUMN_WORK) &&
               subject_infer(&e->j->oracle, call, &out, why) == MXO_OK &&
               out.n == e->got->n &&
               subject_run(&e->j->oracle, call, &out, &d, why) == MXO_OK;

    for (uint32_t o = 0; same && o < out.n; o++) {
        const host_tensor *got = &e->got->t[o];
        const compare_rule *rule =
            compare_rule_for(call, e->j->subject.table->name, got->name);
        same = out.t[o].dtype == got->dtype &&
               out.t[o].n_bytes == got->n_bytes &&
               compare_tensors(rule, &out.t[o], got, NULL).n_diff == 0;
    }
    tensor_set_clear(&out);
    return same;
}

static int try_value(const evidence *e, explain_work *work, int param,
                     const char *value, char *text, size_t size)
{
    test_case other = *e->c;
    mxo_param params[OP_MAX_PARAMS];
    const op_call call = {e->call->op, params, e->call->n_params, e->call->in};
    char why[256];
    const char *key = e->c->schema->params[param].key;

    if (strcmp(e->c->value[param], value) == 0 ||
        case_set(&other, key, value, (mxo_text){why, sizeof why}) != 0) {
        return 0;
    }
    case_params(&other, params);
    if (!oracle_agrees(e, work, &other, &call)) {
        return 0;
    }
    (void)snprintf(text, size, "exactly what %s=%s gives, asked for %s", key,
                   value, e->c->value[param]);
    return 1;
}

/* Other values worth trying of a parameter: "a|b|c". */
static word_span alternatives(const op_param *p)
{
    static const char numbers[] = "0|1|none|7|1.702|128|32";

    switch (p->kind) {
    case PARAM_CHOICE:
        return p->choices;
    case PARAM_NAME:
    case PARAM_SIZE:
        return (word_span){"", 0};
    default:
        return (word_span){numbers, sizeof numbers - 1};
    }
}

static int try_param(const evidence *e, explain_work *work, int param,
                     char *text, size_t size)
{
    word_span rest = alternatives(&e->c->schema->params[param]);
    char value[OP_WORD];

    while (rest.len > 0) {
        if (span_copy(span_cut(&rest, '|'), value) &&
            try_value(e, work, param, value, text, size)) {
            return 1;
        }
    }
    return 0;
}

static size_t n_alternatives(const op_param *p)
{
    word_span rest = alternatives(p);
    size_t n = 0;

    while (rest.len > 0) {
        (void)span_cut(&rest, '|');
        n++;
    }
    return n;
}

/* Parameters with few values first: many rules agree by chance. */
static int explain_params(const evidence *e, explain_work *work, char *text,
                          size_t size)
{
    const op_schema *s = e->c->schema;
    size_t done = 0;

    while (done < SIZE_MAX) {
        size_t next = SIZE_MAX;
        for (int i = 0; i < s->n_params; i++) {
            const size_t n = n_alternatives(&s->params[i]);
            if (n == done && try_param(e, work, i, text, size)) {
                return 1;
            }
            next = n > done && n < next ? n : next;
        }
        done = next;
    }
    return 0;
}

static int same_bytes(const host_tensor *a, const host_tensor *b)
{
    return memcmp(a->data, b->data, a->n_bytes) == 0;
}

/* The oracle on inputs of which number which has gone through a mistake. */
static int try_input(const evidence *e, explain_work *work, uint32_t which,
                     const mistake *m)
{
    tensor_set in = {0};
    op_call call = *e->call;
    int ok = explain_work_edit(work, e->call->in);

    for (uint32_t i = 0; ok && i < e->call->in->n; i++) {
        const host_tensor *from = &e->call->in->t[i];
        host_tensor *to;
        ok = tensor_set_add(&in, from->name, from->dtype, from->rank,
                            from->shape, &to) == MXO_OK;
        for (uint64_t k = 0; ok && k < tensor_elems(from); k++) {
            tensor_store(to, k,
                         i == which ? m->apply(from, k) : tensor_load(from, k));
        }
    }
    call.in = &in;
    ok = ok && e->call->in->t[which].n_bytes > 0 &&
         !same_bytes(&in.t[which], &e->call->in->t[which]) &&
         oracle_agrees(e, work, e->c, &call);
    tensor_set_clear(&in);
    return ok;
}

static const mistake input_mistakes[] = {
    {"is read with swapped nibbles", mistake_swapped_nibbles, 1},
    {"is read one element early", mistake_previous_element, 1},
    {"is read one element late", mistake_next_element, 1},
    {"is read with rows 2r and 2r+1 swapped", mistake_swapped_rows, 1},
    {"is taken one code too high", mistake_one_up, 1},
    {"is taken one code too low", mistake_one_down, 1},
    {"is read without its sign", mistake_without_sign, 1},
};

static int explain_inputs(const evidence *e, explain_work *work, char *text,
                          size_t size)
{
    const size_t n = sizeof input_mistakes / sizeof input_mistakes[0];

    for (uint32_t i = 0; i < e->call->in->n; i++) {
        for (size_t m = 0; m < n; m++) {
            if (try_input(e, work, i, &input_mistakes[m])) {
                (void)snprintf(text, size, "exactly as if %s %s",
                               e->call->in->t[i].name, input_mistakes[m].says);
                return 1;
            }
        }
    }
    return 0;
}

static int worth_trying(const evidence *e)
{
    uint64_t n = 0;

    for (uint32_t o = 0; o < e->want->n; o++) {
        n += e->want->t[o].n_bytes;
    }
    uint64_t in = 0;

    for (uint32_t i = 0; i < e->call->in->n; i++) {
        in += e->call->in->t[i].n_bytes;
    }
    return n <= WORTH_TRYING && in <= WORTH_READING;
}

const host_tensor *explain_moved(const evidence *e, const host_tensor *got,
                                 char layout[160])
{
    const char *name = case_value(e->c, "layout");

    if (strcmp(e->call->op, "layout.apply") == 0 &&
        strcmp(got->name, "y") == 0 &&
        strcmp(case_value(e->c, "dir"), "forward") == 0) {
        (void)snprintf(layout, 160, "%s", name);
        return tensor_set_find(e->call->in, "x");
    }
    if (strcmp(e->call->op, "layout.convert") == 0) {
        name = case_value(e->c, "conversion");
        const size_t id = strcspn(name, "/");
        (void)snprintf(layout, 160, "%.*s.%s%s", (int)id, name, got->name,
                       name + id);
        return tensor_set_find(e->call->in, got->name);
    }
    return NULL;
}

/* A moved tensor: the logical bytes are the input's. */
static int explain_layout(const evidence *e, char *text, size_t size)
{
    const host_tensor *got = &e->got->t[e->output];
    char layout[160];
    const host_tensor *x = explain_moved(e, got, layout);

    if (x == NULL) {
        return 0;
    }
    const layout_evidence about = {
        .table = e->j->oracle.table,
        .ctx = e->j->oracle.ctx,
        .layout = layout,
        .dtype = x->dtype,
        .extent = {x->shape[0], x->shape[1], x->rank < 3 ? 1 : x->shape[2]},
        .logical = x->data,
        .actual = got->data,
        .n_actual = got->n_bytes,
    };

    return layout_mistake(&about, text, size);
}

/* What the work allowed left out. */
static int explain_end(const explain_work *work, char *text, size_t size)
{
    if (work->is_short) {
        (void)snprintf(text, size,
                       "%u known mistakes do not give this; the others were "
                       "left out, as the call is large",
                       work->n_asked);
    }
    return work->is_short;
}

int explain(const evidence *e, char *text, size_t size)
{
    explain_work work = {EXPLAIN_WORK, 0, 0};

    if (explain_nothing(e, text, size)) {
        return 1;
    }
    if (worth_trying(e) && explain_layout(e, text, size)) {
        return 1;
    }
    if (worth_trying(e) && explain_layer(e, &work, text, size)) {
        return 1;
    }
    if (worth_trying(e) && explain_params(e, &work, text, size)) {
        return 1;
    }
    return explain_output(e, text, size) || explain_special(e, text, size) ||
           (worth_trying(e) && explain_inputs(e, &work, text, size)) ||
           explain_end(&work, text, size);
}
