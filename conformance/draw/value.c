/* SPDX-License-Identifier: Apache-2.0 */
/* See value.h. */
#include "value.h"

#include "base/number.h"
#include "base/tensors.h"
#include "case/case_shape.h"
#include "case/family.h"

#include <mxoracle/layout.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t slot16(const draw_record *r, int at)
{
    return (uint32_t)(r->byte[at] | r->byte[at + 1] << 8);
}

uint32_t slot32(const draw_record *r, int at)
{
    return slot16(r, at) | slot16(r, at + 2) << 16;
}

/* A multiple of one of the granules and something around it. */
static uint64_t near_granule(const granules *g, uint32_t kind, uint32_t x)
{
    static const uint8_t times[] = {1, 2, 3, 4, 5, 9, 17, 33};
    const uint64_t granule = g->n == 0 ? 1 : g->size[x % (uint32_t)g->n];
    const uint64_t n = granule * times[x / 16 % sizeof times];

    switch (kind) {
    case 0:
        return n;
    case 1:
        return n + 1;
    case 2:
        return n - 1;
    default:
        return n + x / 128 % granule;
    }
}

/* Shrinking makes slots small, and so sizes: those below are the size. */
enum { SMALL_SLOTS = 64 };

int value_is_long(uint32_t slot)
{
    return slot >= SMALL_SLOTS && slot % 256 == 5;
}

uint64_t value_of_dim(const granules *g, uint32_t slot)
{
    const uint32_t x = slot >> 4;
    const uint64_t largest = g->n == 0 ? 1 : g->size[g->n - 1];
    uint64_t n;

    if (slot < SMALL_SLOTS) {
        return 1 + slot;
    }
    /* Most are beyond 2^16, half of them whole granules. */
    if (value_is_long(slot)) {
        return x / 64 % 2 == 0 ? 65538 - x / 16 % 4 : round_up(65537, largest);
    }
    switch (slot & 15) {
    case 0:
    case 1:
    case 2:
        return 1 + x % 17;
    case 3:
    case 4:
        n = (UINT64_C(1) << x % 10) + x / 16 % 3;
        return n < 2 ? 1 : n - 1;
    case 5:
        return largest * (1 + x % 3);
    default:
        n = near_granule(g, (slot & 15) % 4, x);
        return n < 1 ? 1 : n;
    }
}

/* Entry number at of "a|b" or "a b" or "a, b". */
static int pick(const char *list, size_t len, char separator, uint32_t at,
                char word[OP_WORD])
{
    word_span rest = {list, len};
    uint32_t n = 0;

    while (rest.len > 0) {
        (void)span_cut(&rest, separator);
        n++;
    }
    if (n == 0) {
        return 0;
    }
    rest = (word_span){list, len};
    for (at %= n; at > 0; at--) {
        (void)span_cut(&rest, separator);
    }
    word_span found = span_cut(&rest, separator);

    while (found.len > 0 && *found.ptr == ' ') {
        found.ptr++;
        found.len--;
    }
    return span_copy(found, word);
}

/* An integer: common sizes, or next to a dimension of the case, or below
   it. */
static void pick_int(const test_case *c, uint32_t slot, char word[OP_WORD])
{
    static const int common[] = {0,  1,  2,  3,  4,   7,   8,     16,
                                 22, 32, 64, 96, 128, 256, 65537, -1};
    const uint32_t n_dims = (uint32_t)c->schema->n_dims;

    const uint64_t dim = n_dims > 0 ? c->dim[slot / 4 % n_dims] : 0;

    if (slot % 4 == 3 && n_dims > 0) {
        (void)snprintf(word, OP_WORD, "%" PRId64,
                       (int64_t)(dim % 65536) + (int)(slot / 64 % 3) - 1);
    } else if (slot % 4 == 2 && dim > 0) {
        (void)snprintf(word, OP_WORD, "%" PRIu64, 1 + slot / 64 % dim);
    } else {
        (void)snprintf(word, OP_WORD, "%d", common[slot / 4 % 16]);
    }
}

/* The name with one parameter of its layout set: a power of two. */
static int vary_name(const char *name, uint32_t slot, char word[OP_WORD])
{
    const mxo_layout_row *row = mxo_layout_find(name);
    char entry[OP_WORD];

    if (row == NULL || row->params[0] == '\0' ||
        !pick(row->params, strlen(row->params), ' ', slot, entry)) {
        return 0;
    }
    const int n = snprintf(word, OP_WORD, "%s/%.*s=%u", row->id,
                           (int)strcspn(entry, "="), entry, 1u << slot / 8 % 9);
    return n > 0 && n < OP_WORD;
}

int value_of_param(const test_case *c, int param, uint32_t slot,
                   char word[OP_WORD])
{
    static const char reals[] =
        "1|0|-1|0.5|7|1.702|-1.25|1e-40|3e38|inf|0.1|6|448|none";
    const op_param *p = &c->schema->params[param];

    switch (p->kind) {
    case PARAM_CHOICE:
        return pick(p->choices.ptr, p->choices.len, '|', slot, word);
    case PARAM_BOOL:
        (void)snprintf(word, OP_WORD, "%u", slot % 2);
        return 1;
    case PARAM_INT:
        pick_int(c, slot, word);
        return 1;
    case PARAM_NAME:
        return vary_name(c->value[param], slot, word);
    case PARAM_REAL:
        return pick(reals, sizeof reals - 1 - strlen("|none"), '|', slot, word);
    case PARAM_REAL_OR_NONE:
        return pick(reals, sizeof reals - 1, '|', slot, word);
    default:
        return 0;
    }
}

int value_of_data(const char *kinds, uint32_t slot, char word[OP_WORD])
{
    return pick(kinds, strlen(kinds), ',', slot, word);
}

/* Nothing is spoilt in a tensor of no elements. */
static int is_empty(const test_case *c, int input)
{
    uint64_t shape[MXO_MAX_RANK];
    int any = 1;

    case_shape_up(c, input, shape);
    for (uint32_t i = 0; i < c->schema->inputs[input].rank; i++) {
        any = any && shape[i] != 0;
    }
    return !any;
}

void value_of_invalid_call(const test_case *c, uint32_t kind, uint32_t target,
                           char word[OP_WORD])
{
    static const struct {
        const char *name;
        const char *on;
    } invalid[] = {/* Those that no other parameter or shape makes legal. */
                   {"bytes", "TENSOR"}, {"missing", "TENSOR"},
                   {"unknown", "CALL"}, {"unset", "PARAM"},
                   {"value", "PARAM"},  {"vast", "TENSOR"}};
    const op_schema *s = c->schema;
    const size_t i = kind % (sizeof invalid / sizeof invalid[0]);
    const char *of = "";
    int is_drawn = 1;

    if (strcmp(invalid[i].on, "TENSOR") == 0 && s->n_inputs > 0) {
        const int input = (int)(target % (uint32_t)s->n_inputs);

        is_drawn =
            strcmp(invalid[i].name, "missing") == 0 || !is_empty(c, input);
        of = s->inputs[input].name;
    } else if (strcmp(invalid[i].on, "DIM") == 0 && s->n_dims > 0) {
        of = s->dims[target % (uint32_t)s->n_dims];
    } else if (strcmp(invalid[i].on, "PARAM") == 0 && s->n_params > 0) {
        const op_param *p = &s->params[target % (uint32_t)s->n_params];

        /* A text where a real number is wanted is 0, which may be legal. */
        is_drawn = strcmp(invalid[i].name, "value") != 0 ||
                   (p->kind != PARAM_REAL && p->kind != PARAM_REAL_OR_NONE);
        of = p->key;
    }
    const int n = snprintf(word, OP_WORD, "%s%s%s", invalid[i].name,
                           of[0] == '\0' ? "" : ".", of);

    if (!is_drawn || n < 0 || n >= OP_WORD) {
        word[0] = '\0';
    }
}

int value_padded(const test_case *c, uint64_t extent[3], uint64_t padded[3])
{
    char why[256];

    if (mxo_layout_padded(case_value(c, "layout"),
                          dtype_by_name(case_value(c, "dtype")), extent, padded,
                          (mxo_text){why, sizeof why}) != MXO_OK) {
        return -1;
    }
    if (padded[0] < extent[0]) {
        extent[1] *= extent[0];
        extent[0] = 1;
    }
    return 0;
}
