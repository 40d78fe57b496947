/* SPDX-License-Identifier: Apache-2.0 */
/* See family.h. */
#include "family.h"

#include "case_shape.h"

#include "base/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MXO_FAMILY(name) extern const case_family cases_##name;
#include "families.def"
#undef MXO_FAMILY

static const case_family *const families[] = {
#define MXO_FAMILY(name) &cases_##name,
#include "families.def"
#undef MXO_FAMILY
};

enum { N_FAMILIES = sizeof families / sizeof families[0] };

int family_count(void)
{
    return N_FAMILIES;
}

const case_family *family_at(int i)
{
    return i >= 0 && i < N_FAMILIES ? families[i] : NULL;
}

int family_is_refused(int i)
{
    return family_at(i) == &cases_bad_input;
}

/* The row after *family, *row that names this operation; NULL at the end. */
static const fill_row *next_row(const char *op, int *family, int *row)
{
    for (; *family < N_FAMILIES; ++*family, *row = 0) {
        const fill_row *rows = families[*family]->fills;
        while (rows[*row].op != NULL) {
            const fill_row *r = &rows[(*row)++];
            /* Patterns do not begin with a letter, and few rows are op's. */
            const int may_be = r->op[0] == op[0] || r->op[0] < 'a';
            if (may_be && cli_matches(r->op, op)) {
                return r;
            }
        }
    }
    return NULL;
}

int fill_has_data(const char *op, const char *data)
{
    int family = 0;
    int row = 0;
    const fill_row *r;

    if (strcmp(data, CASE_DATA_STANDARD) == 0) {
        return 1;
    }
    while ((r = next_row(op, &family, &row)) != NULL) {
        if (strcmp(r->data, data) == 0 && strcmp(data, "*") != 0) {
            return 1;
        }
    }
    return 0;
}

static int lists_word(const char *list, const char *word)
{
    const size_t n = strlen(word);
    const char *at = list;

    while ((at = strstr(at, word)) != NULL) {
        const int starts = at == list || at[-1] == ' ';
        if (starts && (at[n] == '\0' || at[n] == ',')) {
            return 1;
        }
        at += n;
    }
    return 0;
}

void fill_data_kinds(const char *op, char *text, size_t size)
{
    int family = 0;
    int row = 0;
    const fill_row *r;

    (void)snprintf(text, size, CASE_DATA_STANDARD);
    while ((r = next_row(op, &family, &row)) != NULL) {
        const size_t used = strlen(text);
        if (strcmp(r->data, "*") != 0 && !lists_word(text, r->data)) {
            (void)snprintf(text + used, size - used, ", %s", r->data);
        }
    }
}

fill_fn family_fill_of(const test_case *c, const char *tensor)
{
    int family = 0;
    int row = 0;
    const fill_row *r;

    while ((r = next_row(c->schema->info->name, &family, &row)) != NULL) {
        if (cli_matches(r->tensor, tensor) &&
            (strcmp(r->data, "*") == 0 || strcmp(r->data, c->data) == 0)) {
            return r->fill;
        }
    }
    return fill_random;
}

/* Whether a row of one live cell fits: few do, and every listed case asks. */
static int may_stretch(const test_case *c, const char *tensor)
{
    for (int family = 0; family < N_FAMILIES; family++) {
        const fill_row *r = families[family]->fills;

        for (; r->op != NULL; r++) {
            if (r->fill == fill_one_live &&
                (strcmp(r->data, "*") == 0 || strcmp(r->data, c->data) == 0) &&
                cli_matches(r->op, c->schema->info->name) &&
                cli_matches(r->tensor, tensor)) {
                return 1;
            }
        }
    }
    return 0;
}

uint64_t fill_stretches(const test_case *c)
{
    uint64_t shape[MXO_MAX_RANK];
    uint32_t dtype;
    char why[128];

    for (int i = 0; i < c->schema->n_inputs; i++) {
        const op_input *in = &c->schema->inputs[i];

        if (may_stretch(c, in->name) &&
            family_fill_of(c, in->name) == fill_one_live &&
            case_input(c, i, &dtype, shape, (mxo_text){why, sizeof why}) == 0) {
            const uint64_t rows = shape[in->rank - 2];
            const uint64_t cols = 2 * shape[in->rank - 1];

            return rows == 0 || cols <= rows ? 1 : (cols + rows - 1) / rows;
        }
    }
    return 1;
}

int fill_check_stretch(const test_case *c, mxo_text why)
{
    const uint64_t n = c->stretch == 0 ? 1 : fill_stretches(c);

    if (c->stretch < n) {
        return 0;
    }
    (void)snprintf(why.ptr, why.size,
                   "stretch=%" PRIu64 " is not 0 .. %" PRIu64
                   " with this shape and data",
                   c->stretch, n - 1);
    return -1;
}

/* Experts a token may choose from. */
static uint64_t experts_of(const test_case *c)
{
    if (op_param_index(c->schema, "num_experts") >= 0) {
        return case_count(c, "num_experts", 0) + case_count(c, "n_shared", 0);
    }
    return case_dim(c, case_value(c, "map")[0] == '1' ? "global" : "experts");
}

int fill_check_ids(const test_case *c, mxo_text why)
{
    const uint64_t slots =
        case_dim(c, op_dim_index(c->schema, "topk") >= 0 ? "topk" : "top_k");
    const uint64_t experts = case_has_ids(c) ? experts_of(c) : 0;

    /* A call that must be refused for its sizes is a case too. */
    if (c->repeats || experts == 0 || slots <= experts || c->flaw[0] != '\0') {
        return 0;
    }
    (void)snprintf(why.ptr, why.size,
                   "%" PRIu64 " ids of a token among %" PRIu64
                   " experts need ids=repeated",
                   slots, experts);
    return -1;
}
