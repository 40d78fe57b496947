/* SPDX-License-Identifier: Apache-2.0 */
/* See compare.h. */
#include "compare.h"

#include "base/cli.h"
#include "case/opinfo.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const compare_rule rules[] = {
#define MXO_TOLERANCE(op, backend, tensor, key, values, kind, limit, mask, \
                      reason, source)                                      \
    {op,          backend, tensor, key,    values,                         \
     RULE_##kind, limit,   mask,   reason, source},
#include "tolerance.def"
#undef MXO_TOLERANCE
    {"*", "*", "*", "", "", RULE_BITS, 0, "", "", ""},
};

static int holds(const compare_rule *r, const op_call *call)
{
    const word_span values = {r->values, strlen(r->values)};

    for (uint32_t i = 0; r->key[0] != '\0' && i < call->n_params; i++) {
        if (strcmp(call->params[i].key, r->key) == 0) {
            return span_lists(values, call->params[i].text);
        }
    }
    return r->key[0] == '\0';
}

const compare_rule *compare_rule_for(const op_call *call, const char *backend,
                                     const char *tensor)
{
    const compare_rule *r = rules;

    /* The last row fits everything. */
    while (!cli_matches(r->op, call->op) || !cli_matches(r->backend, backend) ||
           !cli_matches(r->tensor, tensor) || !holds(r, call)) {
        r++;
    }
    return r;
}

const char *compare_rule_name(const compare_rule *rule, char *text, size_t size)
{
    switch (rule->kind) {
    case RULE_EXACT_NAN:
        (void)snprintf(text, size, "exact_nan");
        break;
    case RULE_ULP:
        (void)snprintf(text, size, "ulp=%" PRIu64, rule->limit);
        break;
    case RULE_MASK:
        (void)snprintf(text, size, "mask=%s", rule->mask);
        break;
    default:
        (void)snprintf(text, size, "bits");
        break;
    }
    return text;
}

/* Sign-magnitude patterns in the order of their values; -0 next to +0. */
static int64_t ordered(uint32_t dtype, uint64_t code)
{
    const unsigned bits = 8 * dtype_bytes(dtype);
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    const int64_t magnitude = (int64_t)(code & (sign - 1));

    return (code & sign) != 0 ? -1 - magnitude : magnitude;
}

static uint64_t steps(uint32_t dtype, uint64_t a, uint64_t b)
{
    const int64_t x = ordered(dtype, a);
    const int64_t y = ordered(dtype, b);

    return x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
}

int compare_codes(const compare_rule *rule, uint32_t dtype, uint64_t want,
                  uint64_t got)
{
    const int loose = rule->kind == RULE_EXACT_NAN || rule->kind == RULE_ULP;

    if (want == got) {
        return 1;
    }
    if (loose && (dtype_is_nan(dtype, want) || dtype_is_nan(dtype, got))) {
        return dtype_is_nan(dtype, want) && dtype_is_nan(dtype, got);
    }
    return rule->kind == RULE_ULP && steps(dtype, want, got) <= rule->limit;
}

comparison compare_tensors(const compare_rule *rule, const host_tensor *want,
                           const host_tensor *got, const host_tensor *mask)
{
    comparison c = {tensor_elems(want), 0, 0, 0};

    if (want->n_bytes > 0 && want->n_bytes == got->n_bytes &&
        memcmp(want->data, got->data, want->n_bytes) == 0) {
        return c;
    }
    for (uint64_t i = 0; i < c.n_total; i++) {
        if (mask != NULL && tensor_load(mask, i) == 0) {
            continue;
        }
        if (!compare_codes(rule, want->dtype, tensor_load(want, i),
                           tensor_load(got, i))) {
            c.first = c.n_diff == 0 ? i : c.first;
            c.last = i;
            c.n_diff++;
        }
    }
    return c;
}
