/* SPDX-License-Identifier: Apache-2.0 */
/* See family.h. */
#include "family.h"

#include "case_shape.h"

#include "base/cli.h"
#include "base/memory.h"

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

/* The rows that name an operation, ended by one whose op is NULL. */
static fill_row *find_rows(const char *op)
{
    fill_row *rows = NULL;
    size_t n = 0;

    for (int turn = 0; turn < 2; turn++) {
        rows = turn == 0 ? NULL : memory_need_zeros(n + 1, sizeof *rows);
        n = 0;
        for (int i = 0; i < N_FAMILIES; i++) {
            for (const fill_row *r = families[i]->fills; r->op != NULL; r++) {
                if (!cli_matches(r->op, op)) {
                    continue;
                }
                if (rows != NULL) {
                    rows[n] = *r;
                }
                n++;
            }
        }
    }
    return rows;
}

/* Found once for each operation and never freed, as every case asks. */
static const fill_row *rows_of(const char *op)
{
    static struct {
        const fill_row *rows;
    } * found;
    static const fill_row none[] = {{NULL, NULL, NULL, NULL}};
    const int i = op_index(op);

    if (i < 0) {
        return none;
    }
    if (found == NULL) {
        found = memory_need_zeros((size_t)op_count(), sizeof *found);
    }
    if (found[i].rows == NULL) {
        found[i].rows = find_rows(op);
    }
    return found[i].rows;
}

int fill_has_data(const char *op, const char *data)
{
    const fill_row *r = rows_of(op);

    if (strcmp(data, CASE_DATA_STANDARD) == 0) {
        return 1;
    }
    while (r->op != NULL && strcmp(r->data, data) != 0) {
        r++;
    }
    return r->op != NULL && strcmp(data, "*") != 0;
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
    (void)snprintf(text, size, CASE_DATA_STANDARD);
    for (const fill_row *r = rows_of(op); r->op != NULL; r++) {
        const size_t used = strlen(text);
        if (strcmp(r->data, "*") != 0 && !lists_word(text, r->data)) {
            (void)snprintf(text + used, size - used, ", %s", r->data);
        }
    }
}

static int has_data_of(const fill_row *r, const test_case *c)
{
    return strcmp(r->data, "*") == 0 || strcmp(r->data, c->data) == 0;
}

fill_fn family_fill_of(const test_case *c, const char *tensor)
{
    const fill_row *r = rows_of(c->schema->info->name);

    while (r->op != NULL &&
           !(has_data_of(r, c) && cli_matches(r->tensor, tensor))) {
        r++;
    }
    return r->op != NULL ? r->fill : fill_random;
}

/* Whether a row of one live code is for its data: few are, and every listed
   case asks. */
static int may_stretch(const test_case *c)
{
    const fill_row *r = rows_of(c->schema->info->name);

    while (r->op != NULL && (r->fill != fill_one_live || !has_data_of(r, c))) {
        r++;
    }
    return r->op != NULL;
}

uint64_t fill_stretches(const test_case *c)
{
    uint64_t shape[MXO_MAX_RANK];
    uint32_t dtype;
    char why[128];

    for (int i = 0; may_stretch(c) && i < c->schema->n_inputs; i++) {
        const op_input *in = &c->schema->inputs[i];

        if (family_fill_of(c, in->name) == fill_one_live &&
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
