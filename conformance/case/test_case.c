/* SPDX-License-Identifier: Apache-2.0 */
/* See test_case.h. */
#include "test_case.h"

#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *case_value(const test_case *c, const char *key)
{
    const int i = op_param_index(c->schema, key);

    return i < 0 ? "" : c->value[i];
}

static double number_of(const char *text)
{
    return strcmp(text, "none") == 0 ? 0 : number_decimal(text, NULL);
}

/* Of parameter number i. */
static double number_at(const test_case *c, int i)
{
    const param_kind kind = c->schema->params[i].kind;

    return kind == PARAM_CHOICE || kind == PARAM_NAME ? 0
                                                      : number_of(c->value[i]);
}

double case_number(const test_case *c, const char *key)
{
    const int i = op_param_index(c->schema, key);

    return i < 0 ? 0 : number_at(c, i);
}

uint64_t case_count(const test_case *c, const char *key, uint64_t least)
{
    const double n = case_number(c, key);

    return n >= (double)least ? (uint64_t)n : least;
}

uint64_t case_dim(const test_case *c, const char *name)
{
    const int i = op_dim_index(c->schema, name);

    return i < 0 ? 0 : c->dim[i];
}

int case_has_ids(const test_case *c)
{
    for (int i = 0; i < c->schema->n_inputs; i++) {
        if (strcmp(c->schema->inputs[i].name, "topk_ids") == 0) {
            return op_param_index(c->schema, "ids") < 0 &&
                   strcmp(c->schema->info->name, "moe.finalize") != 0;
        }
    }
    return 0;
}

int case_keeps_all(const test_case *c)
{
    return c->keep_first == 0 && c->keep_last == UINT64_MAX;
}

void case_begin(test_case *c, const op_schema *schema)
{
    memset(c, 0, sizeof *c);
    c->schema = schema;
    for (int i = 0; i < schema->n_params; i++) {
        const op_param *p = &schema->params[i];
        memcpy(c->value[i], p->standard, OP_WORD);
        if (p->kind == PARAM_SIZE) {
            memcpy(c->value[i], "0", 2);
        }
    }
    (void)snprintf(c->data, sizeof c->data, CASE_DATA_STANDARD);
    c->keep_last = UINT64_MAX;
}

void case_params(const test_case *c, mxo_param params[OP_MAX_PARAMS])
{
    for (int i = 0; i < c->schema->n_params; i++) {
        params[i].key = c->schema->params[i].key;
        params[i].text = c->value[i];
        params[i].number = number_at(c, i);
    }
}
