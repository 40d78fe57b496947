/* SPDX-License-Identifier: Apache-2.0 */
/* See requantise_check.h. */
#include "requantise_check.h"

#include "base/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct idempotence_row {
    const char *op;
    const char *rule;
    const char *element;
    idempotence what;
} idempotence_row;

static const idempotence_row rows[] = {
#define MXO_IDEMPOTENT(op, rule, element, what) \
    {op, rule, element, IDEMPOTENCE_##what},
#include "requantise_check.def"
#undef MXO_IDEMPOTENT
};

idempotence idempotence_of(const char *op, const char *rule,
                           const char *element)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].op, op) == 0 && cli_matches(rows[i].rule, rule) &&
            cli_matches(rows[i].element, element)) {
            return rows[i].what;
        }
    }
    return IDEMPOTENCE_NOT;
}

static int says(const test_case *c, const char *key, const char *value)
{
    return strcmp(case_value(c, key), value) == 0;
}

static int is_layer(const test_case *c)
{
    return strncmp(c->schema->info->name, "moe.layer", 9) == 0;
}

static const char *quantiser(const test_case *c)
{
    return is_layer(c) ? case_value(c, "quant") : c->schema->info->name;
}

static idempotence promise(const test_case *c)
{
    const char *op = quantiser(c);
    const int by_type = strcmp(op, "quant.qdq") == 0;

    return idempotence_of(op,
                          case_value(c, is_layer(c) ? "quant_rule" : "rule"),
                          case_value(c, by_type       ? "from"
                                        : is_layer(c) ? "quant_element"
                                                      : "element"));
}

int idempotence_holds(const test_case *c)
{
    if (is_layer(c)) {
        return promise(c) != IDEMPOTENCE_NOT && !says(c, "from", "e2m1") &&
               !says(c, "routing_at", "input") && says(c, "bounds", "0");
    }
    return promise(c) == IDEMPOTENCE_BYTES && strcmp(c->data, "random") != 0 &&
           strcmp(c->data, "corners") != 0 &&
           (says(c, "sf_layout", "linear") || says(c, "sf_layout", "")) &&
           (says(c, "q_layout", "linear") || says(c, "q_layout", "")) &&
           (says(c, "align", "32") || says(c, "align", "")) &&
           (says(c, "axis", "-1") || says(c, "axis", ""));
}

/* One call of the oracle; 0 if it does not serve it. */
static int run(subject *oracle, const char *text, const tensor_set *in,
               tensor_set *out)
{
    mxo_param params[OP_MAX_PARAMS];
    char sentence[SUBJECT_TEXT];
    const mxo_text why = {sentence, sizeof sentence};
    run_checks doubts;
    test_case c;

    if (case_parse(&c, text, why) != 0) {
        return 0;
    }
    const op_call call = {c.schema->info->name, params,
                          (uint32_t)c.schema->n_params, in};

    case_params(&c, params);
    return subject_infer(oracle, &call, out, why) == MXO_OK &&
           subject_run(oracle, &call, out, &doubts, why) == MXO_OK;
}

/* Put a copy of a tensor into a set under a name; 0 without memory. */
static int keep(tensor_set *set, const char *name, const host_tensor *t)
{
    host_tensor *to;

    if (t == NULL ||
        tensor_set_add(set, name, t->dtype, t->rank, t->shape, &to) != MXO_OK) {
        return 0;
    }
    if (t->n_bytes > 0) {
        memcpy(to->data, t->data, (size_t)t->n_bytes);
    }
    return 1;
}

/* Codes and scales of a set become numbers. */
static int dequantise(subject *oracle, const char *element, const char *to,
                      const tensor_set *quantised, tensor_set *given)
{
    char text[CASE_TEXT];
    tensor_set in = {0};
    tensor_set out = {0};
    const host_tensor *q = tensor_set_find(quantised, "q");
    const int pack = strcmp(element, "e2m1") == 0 ? 2 : 1;
    int good = q != NULL && q->rank == 2 && keep(&in, "q", q) &&
               keep(&in, "scale", tensor_set_find(quantised, "scale"));

    if (good) {
        (void)snprintf(text, sizeof text,
                       "dequant.mx:element=%s,to=%s,rows=%" PRIu64
                       ",cols=%" PRIu64,
                       element, to, q->shape[0], q->shape[1] * (uint64_t)pack);
        good = run(oracle, text, &in, &out) && keep(given, "x", &out.t[0]);
    }
    tensor_set_clear(&in);
    tensor_set_clear(&out);
    return good;
}

/* The input x of a layer, through its quantiser and back. */
static int through_quantiser(subject *oracle, const test_case *c,
                             const host_tensor *x, tensor_set *given)
{
    const char *from = case_value(c, "from");
    const char *element = case_value(c, "quant_element");
    const int is_qdq = says(c, "quant", "quant.qdq");
    char of[2 * OP_WORD] = "";
    char text[CASE_TEXT];
    tensor_set in = {0};
    tensor_set out = {0};

    if (!is_qdq) {
        (void)snprintf(of, sizeof of, "element=%s,", element);
    }
    (void)snprintf(text, sizeof text,
                   "%s:%srule=%s,from=%s,rows=%" PRIu64 ",cols=%" PRIu64,
                   case_value(c, "quant"), of, case_value(c, "quant_rule"),
                   from, x->shape[0], x->shape[1]);
    const int good = keep(&in, "x", x) && run(oracle, text, &in, &out) &&
                     (is_qdq ? keep(given, "x", tensor_set_find(&out, "y"))
                             : dequantise(oracle, element, from, &out, given));

    tensor_set_clear(&in);
    tensor_set_clear(&out);
    return good;
}

int idempotence_inputs(subject *oracle, const test_case *c,
                       const tensor_set *in, const tensor_set *want,
                       tensor_set *given)
{
    const host_tensor *x = tensor_set_find(in, "x");

    if (x == NULL || x->rank != 2) {
        return 0;
    }
    if (is_layer(c)) {
        return through_quantiser(oracle, c, x, given);
    }
    if (strcmp(c->schema->info->name, "quant.qdq") == 0) {
        return keep(given, "x", tensor_set_find(want, "y"));
    }
    return dequantise(oracle, case_value(c, "element"), case_value(c, "from"),
                      want, given);
}
