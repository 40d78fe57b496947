/* SPDX-License-Identifier: Apache-2.0 */
/* See case_shape.h. */
#include "case_shape.h"

#include "base/number.h"
#include "base/tensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct dim_rule {
    const char *op;
    const char *dim;
    const char *of;
    const char *by;
} dim_rule;

static const dim_rule dim_rules[] = {
#define MXO_DIM(op, dim, of, by) {op, dim, of, by},
#include "dims.def"
#undef MXO_DIM
};

static const dim_rule *rule_of(const test_case *c, int dim)
{
    const char *op = c->schema->info->name;
    const char *name = c->schema->dims[dim];

    /* First letters, since this is asked for every dimension of a draw. */
    for (size_t i = 0; i < sizeof dim_rules / sizeof dim_rules[0]; i++) {
        const dim_rule *r = &dim_rules[i];
        if (r->op[0] == op[0] && r->dim[0] == name[0] &&
            strcmp(r->op, op) == 0 && strcmp(r->dim, name) == 0) {
            return r;
        }
    }
    return NULL;
}

int case_dim_follows(const test_case *c, int dim)
{
    return rule_of(c, dim) != NULL;
}

uint64_t case_standard_dim(const test_case *c, int dim)
{
    const dim_rule *rule = rule_of(c, dim);
    const uint64_t of = case_dim(c, rule->of);
    const double by = rule->by[0] >= '1' && rule->by[0] <= '9'
                          ? number_decimal(rule->by, NULL)
                          : case_number(c, rule->by);

    if (rule->of[0] == '\0' || !(by >= 1)) {
        return 1;
    }
    return (of + (uint64_t)by - 1) / (uint64_t)by;
}

int case_dim_is_standard(const test_case *c, int dim)
{
    return case_dim_follows(c, dim) && case_standard_dim(c, dim) == c->dim[dim];
}

void case_resize(test_case *c, int dim, uint64_t n)
{
    c->dim[dim] = n;
    for (int i = 0; i < c->schema->n_params; i++) {
        const op_param *p = &c->schema->params[i];
        if (p->kind == PARAM_SIZE &&
            strcmp(p->standard, c->schema->dims[dim]) == 0) {
            (void)snprintf(c->value[i], OP_WORD, "%" PRIu64, n);
        }
    }
}

int case_has_input(const test_case *c, int i)
{
    const op_input *in = &c->schema->inputs[i];

    return in->when < 0 || span_lists(in->values, c->value[in->when]);
}

int case_uses_dim(const test_case *c, int dim)
{
    for (int i = 0; i < c->schema->n_inputs; i++) {
        const op_input *in = &c->schema->inputs[i];
        uint32_t r = 0;
        while (r < in->rank && in->shape[r].dim != dim) {
            r++;
        }
        if (r < in->rank && case_has_input(c, i)) {
            return 1;
        }
    }
    return 0;
}

/* multiple * dim, and what it is divided by. */
static void parts_of(const test_case *c, const op_extent *e, uint64_t *n,
                     uint64_t *divisor)
{
    const uint64_t dim = e->dim < 0 ? 1 : c->dim[e->dim];
    const int packed = e->pack && strcmp(case_value(c, "element"), "e2m1") == 0;
    const double by = e->by < 0 ? 1 : number_decimal(c->value[e->by], NULL);

    /* Sizes are at most 2^40 and multiples are small: no overflow. */
    *n = dim * e->multiple;
    *divisor = e->divisor * (packed ? 2 : 1) * (by >= 1 ? (uint64_t)by : 1);
}

void case_shape_up(const test_case *c, int i, uint64_t shape[MXO_MAX_RANK])
{
    for (uint32_t r = 0; r < c->schema->inputs[i].rank; r++) {
        uint64_t n;
        uint64_t divisor;

        parts_of(c, &c->schema->inputs[i].shape[r], &n, &divisor);
        shape[r] = (n + divisor - 1) / divisor;
    }
}

int case_input(const test_case *c, int i, uint32_t *dtype,
               uint64_t shape[MXO_MAX_RANK], mxo_text why)
{
    const op_input *in = &c->schema->inputs[i];

    *dtype = dtype_by_name(in->dtype[0] == '$' ? case_value(c, in->dtype + 1)
                                               : in->dtype);
    for (uint32_t r = 0; r < in->rank; r++) {
        const int dim = in->shape[r].dim;
        uint64_t n;
        uint64_t divisor;

        parts_of(c, &in->shape[r], &n, &divisor);
        if (n % divisor != 0) {
            (void)snprintf(why.ptr, why.size,
                           "%s=%" PRIu64 " is not a multiple of %" PRIu64,
                           c->schema->dims[dim], c->dim[dim], divisor);
            return -1;
        }
        shape[r] = n / divisor;
    }
    return 0;
}
